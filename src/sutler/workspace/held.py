"""Secrets that a person typed for this session: named by a handle, in this process's memory and nowhere else (LCP-13).

A tool that asks for a secret gives the model the handle; a tool that needs the value looks it up by that. They belong
to one runtime and go with it.
"""

from __future__ import annotations

import re

from .root import current

PREFIX = "secret:"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")

_without: dict[str, str] = {}  # for hosts whose calls have no workspace


def check_name(name: str) -> str:
    """The name itself. ValueError unless it is letters, digits and _, a letter first, 64 at most."""
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"a secret's name is letters, digits and _, a letter first, at most 64: not {name!r}")
    return name


def hold(name: str, value: str) -> str:
    """Keeps the value, over one of the same name; gives its handle, `secret:<name>`."""
    _held()[check_name(name)] = value
    return PREFIX + name


def reveal(handle: str) -> str:
    """The value behind a handle, or behind its bare name. LookupError, naming what is held, when there is none."""
    held = _held()
    name = handle.removeprefix(PREFIX)
    if name not in held:
        known = ", ".join(PREFIX + one for one in sorted(held)) or "none"
        raise LookupError(f"no secret is held as {handle!r} in this session (held: {known})")
    return held[name]


def _held() -> dict[str, str]:
    workspace = current.get()
    return _without if workspace is None else workspace.secrets
