"""Servers from the config files of other hosts: `[mcp] host_configs` (RFC 0002 section 3, MCP-02, TRU-01)."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from ..policy.trust import TrustStore
from ..servers import ServerSpec
from ..sources.base import host_config_precedence
from .hosts.dialects import MAPS, Dialect, dialect_of, label, needs_trust
from .hosts.entry import Given, read_entry
from .hosts.jsonc import Document, JsoncError, duplicates
from .hosts.text import decode, read
from .hosts.variables import Scope

Lines = Callable[[Sequence[str]], "int | None"]
_PROJECT_FOLDERS = frozenset((".cursor", ".vscode", ".zed", ".gemini", ".codex"))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFile:
    """What one file gave. problem: why it gave nothing, "" when it could be read. notes: one sentence each.

    trusted: False for a project's file that nobody has said yes to: its servers are listed and never started.
    """

    path: Path
    host: str = "other"
    title: str = ""
    servers: tuple[ServerSpec, ...] = ()
    trusted: bool = True
    problem: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What reading depends on. trust: None counts every file as trusted. project: the folder of sutler.toml."""

    env: Mapping[str, str]
    home: Path
    project: Path | None = None
    trust: TrustStore | None = None

    @classmethod
    def here(cls, project: Path | None = None, trust: TrustStore | None = None) -> Surroundings:
        return cls(env=os.environ, home=Path.home(), project=project, trust=trust)


def read_host_files(paths: Iterable[Path], around: Surroundings) -> list[HostFile]:
    """Every file in order, earlier ones with the higher precedence; ids are made unique over all of them.

    Never raises for what a file holds: a file or a server that cannot be used says why.
    """
    files: list[HostFile] = []
    taken: set[str] = set()
    for index, path in enumerate(dict.fromkeys(Path(path) for path in paths)):
        file = read_host_file(path, around, precedence=host_config_precedence(index))
        servers: list[ServerSpec] = []
        notes = list(file.notes)
        for server in file.servers:
            unique, number = server.id, 2
            while unique in taken:
                unique, number = f"{server.id}#{number}", number + 1
            if unique != server.id:
                notes.append(f"there is a server {server.id!r} already; the one of {path} is {unique!r}")
            taken.add(unique)
            servers.append(server if unique == server.id else replace(server, id=unique))
        files.append(replace(file, servers=tuple(servers), notes=tuple(notes)))
    return files


def read_host_file(path: Path, around: Surroundings, *, precedence: float = host_config_precedence(0)) -> HostFile:
    """One file's servers, whatever dialect it is written in."""
    try:
        text, _, _ = decode(read(path))
        value, lines, notes = _parsed(path, text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return HostFile(path=path, problem=f"{path}: {reason}")
    dialect = dialect_of(path, value)
    about = HostFile(path=path, host=dialect.host, title=dialect.title)
    asks = needs_trust(path, home=around.home, project=around.project, env=around.env)
    trusted = not asks or around.trust is None or around.trust.trusted(path, text)
    if not isinstance(value, dict):
        return replace(about, problem=f"{path}: it holds no object", trusted=trusted)
    base = _base(path, around, asks)
    found = list(_entries(cast("dict[str, Any]", value), dialect, around.project))
    if not found:
        known = ", ".join(MAPS)
        return replace(about, notes=(*notes, f"{path}: it names no servers (looked for {known})"), trusted=trusted)
    scope = Scope(env=around.env, home=around.home, workspace=base)
    servers: dict[str, ServerSpec] = {}
    for keys, raw, enabled in found:
        line = lines(keys)
        given = Given(
            id=f"{label(path)}/{keys[-1].replace('::', ':')}",
            where=f"{path}:{line}" if line is not None else str(path),
            provenance=f"host:{path}",
            precedence=precedence,
            base=base,
            dialect=dialect,
            enabled=enabled,
        )
        server = read_entry(raw, given, scope)
        if not trusted:
            reason = f"{path} is not trusted; look at it, then say yes to it with `sutler trust {path}`"
            server = replace(server, unavailable=reason)
        if given.id in servers:
            notes.append(f"{servers[given.id].where}: the entry at {given.where} takes its place")
        servers[given.id] = server
    return replace(about, servers=tuple(servers.values()), trusted=trusted, notes=tuple(notes))


def host_secrets(path: Path) -> frozenset[str]:
    """Every value in a host's file that is not to be shown, whatever state the file is in."""
    held = read_host_file(path, Surroundings.here())
    return frozenset(secret for server in held.servers for secret in server.secrets)


def read_host_text(path: Path) -> str:
    """The text that trust in a host's file is bound to. OSError or ValueError as they come."""
    return decode(read(path))[0]


def _parsed(path: Path, text: str) -> tuple[Any, Lines, list[str]]:
    """The value, where its keys stand, and what is odd about it. ValueError names line and column."""
    if path.suffix == ".toml":
        return _toml(text)
    document = Document(text)
    try:
        value = document.value
    except JsoncError as error:
        raise ValueError(f"it is no JSON: line {error.line}, column {error.column}: {error}") from None
    notes = [f"{path}: {key!r} stands twice; the last counts" for keys in MAPS for key in duplicates(document, [keys])]
    return value, document.line, notes


def _toml(text: str) -> tuple[Any, Lines, list[str]]:
    try:
        value = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no TOML: {error}") from None
    rows = text.split("\n")

    def line(keys: Sequence[str]) -> int | None:
        wanted = {f"[{'.'.join(keys)}]", f"[{keys[0]}.{_quoted(keys[-1])}]"}
        return next((number for number, row in enumerate(rows, 1) if row.strip() in wanted), None)

    return value, line, []


def _quoted(key: str) -> str:
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _base(path: Path, around: Surroundings, of_project: bool) -> Path:
    """Where relative paths of a file start: the project it lies in, else the person's home for a host's own file."""
    if of_project:
        return path.parent.parent if path.parent.name in _PROJECT_FOLDERS else path.parent
    return around.home if path.is_relative_to(around.home) else path.parent


def _entries(
    value: dict[str, Any], dialect: Dialect, project: Path | None
) -> Iterable[tuple[tuple[str, ...], Any, bool]]:
    """(path of keys, entry, enabled) for every server of a file; of Claude Code's own file also this project's."""
    for key in dict.fromkeys((dialect.key, *MAPS)):
        servers = value.get(key)
        if not isinstance(servers, dict) or (key != dialect.key and _is_other(key, value, dialect)):
            continue
        for name, entry in cast("dict[str, Any]", servers).items():
            yield (key, name), entry, _is_on(name, value, dialect)
    if dialect.host == "claude-code" and project is not None:
        held = _object(_object(value.get("projects")).get(str(project)))
        off: object = held.get("disabledMcpServers")
        for name, entry in _object(held.get("mcpServers")).items():
            enabled = not (isinstance(off, list) and name in off)
            yield ("projects", str(project), "mcpServers", name), entry, enabled


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _is_other(key: str, value: dict[str, Any], dialect: Dialect) -> bool:
    """A map that this host does not read: `servers` of a settings file may be anything."""
    return key == "servers" and (dialect.host not in ("other", "vscode") or "mcpServers" in value)


def _is_on(name: str, value: dict[str, Any], dialect: Dialect) -> bool:
    """Gemini CLI names in [mcp] which servers are allowed and which are excluded."""
    if dialect.host != "gemini":
        return True
    held = _object(value.get("mcp"))
    allowed, excluded = held.get("allowed"), held.get("excluded")
    return (not isinstance(allowed, list) or name in allowed) and not (isinstance(excluded, list) and name in excluded)
