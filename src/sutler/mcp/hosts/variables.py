"""How each host writes variables in its config (MCP-02). One that cannot be put in is named; it is never sent as is."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ...policy.masking import is_secret_name
from .text import SMALL, decode, read

_BRACED = re.compile(r"\$\{([^}]*)\}")
_SHELL = re.compile(r"\$(?:\{([^}]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Unset(Exception):
    """A variable that has no value here; the message names it and says what to do."""


@dataclass(slots=True)
class Scope:
    """What variables of one file stand for. `secrets` gathers the values that are not to be shown."""

    env: Mapping[str, str]
    home: Path
    workspace: Path
    secrets: set[str] = field(default_factory=set[str])

    def variable(self, name: str, default: str | None = None) -> str:
        """An environment variable. With a default an empty one counts as unset, as in a shell."""
        value = self.env.get(name)
        if default is not None:
            value = value or default
        if value is None:
            raise Unset(f"the environment variable {name} is not set")
        if is_secret_name(name) and len(value.strip()) >= 4:
            self.secrets.add(value)
        return value

    def place(self, name: str) -> str | None:
        """The folders and signs that editors know by name."""
        match name:
            case "userHome":
                return str(self.home)
            case "workspaceFolder" | "cwd":
                return str(self.workspace)
            case "workspaceFolderBasename" | "workspaceRootFolderName":
                return self.workspace.name
            case "pathSeparator" | "/":
                return os.sep
            case _:
                return None

    def file(self, name: str) -> str:
        path = Path(name).expanduser()
        try:
            text = decode(read(path, SMALL))[0].strip()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise Unset(f"the file {name} cannot be read: {reason}") from None
        if len(text) >= 4:
            self.secrets.add(text)
        return text


Expand = Callable[[str, Scope], str]


def literal(text: str, scope: Scope) -> str:
    """A host that puts nothing in: what is written is what is meant."""
    del scope
    return text


def claude_code(text: str, scope: Scope) -> str:
    """`${VAR}` and `${VAR:-default}`; a bare `$VAR` is text."""
    return _BRACED.sub(lambda match: _plain(match.group(1), scope), text)


def gemini(text: str, scope: Scope) -> str:
    """`$VAR`, `${VAR}` and `${VAR:-default}`."""
    return _SHELL.sub(lambda match: _plain(match.group(1) or match.group(2) or "", scope), text)


def editor(text: str, scope: Scope) -> str:
    """Cursor and VS Code: `${env:VAR}`, `${workspaceFolder}`, `${userHome}`...; VS Code asks for `${input:id}`."""

    def put(match: re.Match[str]) -> str:
        kind, colon, rest = match.group(1).partition(":")
        if colon and kind == "env":
            return scope.variable(rest)
        if colon and kind == "input":
            raise Unset(f"${{input:{rest}}} is a value that VS Code asks its user for; there is none here")
        place = scope.place(match.group(1))
        if place is None:
            raise Unset(f"${{{match.group(1)}}} has no value outside of its editor")
        return place

    return _BRACED.sub(put, text)


def windsurf(text: str, scope: Scope) -> str:
    """`${env:VAR}` and `${file:/path}`."""

    def put(match: re.Match[str]) -> str:
        kind, _, rest = match.group(1).partition(":")
        if kind == "env":
            return scope.variable(rest)
        if kind == "file":
            return scope.file(rest)
        raise Unset(f"{match.group()} is nothing that Windsurf puts in; it knows ${{env:NAME}} and ${{file:/path}}")

    return _BRACED.sub(put, text)


def generic(text: str, scope: Scope) -> str:
    """A file of no known host: `${VAR}`, `${VAR:-default}`, `${env:VAR}` and the editors' places."""

    def put(match: re.Match[str]) -> str:
        inner = match.group(1)
        if inner.startswith("env:"):
            return scope.variable(inner[4:])
        return scope.place(inner) or _plain(inner, scope)

    return _BRACED.sub(put, text)


def _plain(inner: str, scope: Scope) -> str:
    name, mark, default = inner.partition(":-")
    if not _NAME.fullmatch(name):
        raise Unset(f"${{{inner}}} is no variable that can be put in here")
    return scope.variable(name, default if mark else None)
