"""A host's config with `sutler serve` in it as a server, every other byte of it as it was."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .dialects import DIALECTS
from .jsonc import Document, JsoncError
from .toml import table

HOSTS = ("claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini")
_TYPED = frozenset(("claude-code", "cursor", "vscode"))


def with_server(text: str, host: str, name: str, command: str, args: Sequence[str]) -> str:
    """The text of the host's file with this server. ValueError says why it cannot be put in."""
    key = DIALECTS[host].key
    if host == "codex":
        return _in_toml(text, key, name, {"command": command, "args": list(args)})
    entry: dict[str, Any] = {"type": "stdio"} if host in _TYPED else {}
    entry |= {"command": command, "args": list(args)}
    try:
        before: Any = Document(text).value if text.strip() else None
        servers: object = cast("dict[str, Any]", before).get(key) if isinstance(before, dict) else None
        if isinstance(servers, dict) and cast("dict[str, Any]", servers).get(name) == entry:
            return text
        return Document(text).with_member([key, name], entry)
    except JsoncError as error:
        raise ValueError(f"line {error.line}: {error}") from None


def _in_toml(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    try:
        held = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no TOML: {error}") from None
    servers: object = held.get(key, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{key} is no table")  # noqa: TRY004 - what is wrong is the file, not a type of ours
    present = cast("dict[str, Any]", servers).get(name)
    if present == entry:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    written = table([key, name], entry, newline)
    header = written.partition(newline)[0]
    if present is None:
        if key in held and not re.search(rf"(?m)^\s*\[\s*{key}\s*[.\]]", text):
            raise ValueError(f"{key} is written in a way that cannot be added to; write {header} by hand")
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        return text + gap + written
    return _replaced(text, header, written)


def _replaced(text: str, header: str, written: str) -> str:
    """The text with one table's lines in the place of its old ones, up to the next table."""
    rows = text.splitlines(keepends=True)
    at = next((number for number, row in enumerate(rows) if row.strip().partition("#")[0].strip() == header), None)
    if at is None:
        raise ValueError(f"{header} is there in a form that cannot be replaced; change it by hand")
    end = at + 1
    while end < len(rows) and not rows[end].lstrip().startswith("["):
        end += 1
    while end > at + 1 and (not rows[end - 1].strip() or rows[end - 1].lstrip().startswith("#")):
        end -= 1
    changed = "".join(rows[:at]) + written + "".join(rows[end:])
    before, after = tomllib.loads(text), tomllib.loads(changed)
    path = [part.strip('"') for part in header.strip("[]").split(".", 1)]
    for held in (before, after):
        cast("dict[str, Any]", held[path[0]]).pop(path[1], None)
    if before != after:
        raise ValueError(f"{header} cannot be replaced without changing something else; change it by hand")
    return changed
