"""`${VAR}` and `${VAR:-x}` in strings, from a mapping that is handed in; `$${` stands for a plain `${`."""

from __future__ import annotations

import re
from collections.abc import Mapping

_USE = re.compile(r"\$?\$\{")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class UnsetError(ValueError):
    """A variable that is not set, and has no default."""


def expand(text: str, env: Mapping[str, str]) -> str:
    """`text` with its variables put in. `:-` also covers an empty one. ValueError says which is unset or ill-formed."""
    parts: list[str] = []
    at = 0
    while use := _USE.search(text, at):
        parts.append(text[at : use.start()])
        if use.group() == "$${":
            parts.append("${")
            at = use.end()
            continue
        close = text.find("}", use.end())
        if close < 0:
            raise ValueError("`${` is never closed; write `$${` for a plain `${`")
        parts.append(_look_up(text[use.end() : close], env))
        at = close + 1
    parts.append(text[at:])
    return "".join(parts)


def variables(text: str) -> set[str]:
    """The names of the variables that `text` uses."""
    return {
        name.group()
        for use in _USE.finditer(text)
        if use.group() == "${" and (name := _NAME.match(text, use.end())) is not None
    }


def _look_up(inner: str, env: Mapping[str, str]) -> str:
    name, marker, default = inner.partition(":-")
    if not _NAME.fullmatch(name):
        raise ValueError(f"`${{{inner}}}` is not a variable; write ${{NAME}} or ${{NAME:-default}}")
    if "${" in default:
        raise ValueError(f"the default of `${{{name}}}` holds another variable, which is not supported")
    value = env.get(name)
    if marker:
        return value or default
    if value is None:
        raise UnsetError(f"the environment variable {name} is not set; set it, or write ${{{name}:-default}}")
    return value
