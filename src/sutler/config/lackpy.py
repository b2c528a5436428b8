"""A `.lackpy/config.toml` (RFC 0002) read as what a sutler.toml can hold of it; all the rest is named (SRC-04)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from ..errors import ConfigError, Problem
from ..mcp.hosts.dialects import Dialect
from ..mcp.hosts.entry import Given, read_entry
from ..mcp.hosts.variables import Scope
from ..servers import ServerSpec, ToolOverride
from ..tables import type_schema
from .check import WRONG, Check, Checker, kind_of
from .find import read_config
from .load import parse_toml
from .locate import KeyPath, dotted, locate
from .tools import TOOL_KEYS, axis, grade, tool_table, virtual_table

Kind = Literal["tools", "virtual_tools"]

_PLACE = (".lackpy", "config.toml")
_COMMON = ("name", "description", "args", "returns", "grade_w", "effects_ceiling", "examples", "docs")
_READ: Mapping[Kind, tuple[str, ...]] = {"tools": (*_COMMON, "module", "function"), "virtual_tools": _COMMON}
_ARG = frozenset(("name", "type", "description", "default"))
_SERVER = frozenset(("transport", "command", "args", "env", "cwd", "url", "headers", "tools"))
_DIALECT = Dialect(host="lackpy", title="lackpy", key="mcp_servers", unit="s")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")

# Why a table or key has no place here, and what to write instead.
_NO_TABLE: Mapping[str, str] = {
    "profiles": "write [profiles.<name>] by hand: `tools` is the same, `level`, `policy` and `limits` say the rest",
    "sandbox": "programs always run in a sandbox; [limits] wall_seconds and memory_mb say how much they may use",
    "kit": "write [profiles.<name>] with `tools`",
}
_NO_EFFECT = "it has no effect there and is not taken; write it in sutler.toml if it is meant"
_NO_KEY: Mapping[str, str] = {
    "provider_config": "a tool is found by `module` and `function` alone",
    "effect_kind": "write `grade` and `annotations`",
    "path_arg": "write a rule over that argument in [policy]",
    "path_index": "write a rule over that argument in [policy]",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTool:
    """A table that is right in a sutler.toml as it stands in `keys`, `name` among them. where: `file:line`."""

    file: Path
    kind: Kind
    name: str
    keys: Mapping[str, Any]
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LackpyFile:
    """What of one file can be taken. servers: ids as they are written here. host_configs: absolute.

    left: what cannot be taken, or not as it stands, and why: one sentence each, with `file:line`.
    problem: why the file gave nothing at all.
    """

    path: Path
    tools: tuple[DeclaredTool, ...] = ()
    servers: tuple[ServerSpec, ...] = ()
    host_configs: tuple[Path, ...] = ()
    left: tuple[str, ...] = ()
    problem: str = ""


def find_lackpy(start: Path) -> Path | None:
    """The nearest .lackpy/config.toml in `start` or a folder above it, or None."""
    here = start.resolve()
    for folder in (here, *here.parents):
        candidate = folder.joinpath(*_PLACE)
        if os.path.isfile(candidate):  # noqa: PTH113 - false, not an error, in a folder that cannot be read
            return candidate
    return None


def is_lackpy(path: Path) -> bool:
    """Whether a file is one: by its place, or by the tables that only it has."""
    if path.parts[-2:] == _PLACE:
        return True
    if path.suffix != ".toml":
        return False
    try:
        raw = parse_toml(read_config(path), path)
    except ConfigError:
        return False
    return isinstance(raw.get("tools"), list) or "virtual_tools" in raw


def read_lackpy(path: Path, env: Mapping[str, str]) -> LackpyFile:
    """Never raises for what the file holds. Nothing of it is imported or started; values stay as they are written."""
    try:
        text = read_config(path)
        raw = parse_toml(text, path)
    except ConfigError as error:
        return LackpyFile(path=path, problem=str(error))
    folder = path.parent.parent if path.parts[-2:] == _PLACE else path.parent
    reader = _Reader(Checker(str(path), locate(text), folder, None), env)
    for key in raw:
        if key not in ("tools", "virtual_tools", "mcp_servers", "mcp"):
            what = "table" if isinstance(raw[key], (dict, list)) else "key"
            reader.leave((key,), _NO_TABLE.get(key, f"no such {what} is known here"))
    return LackpyFile(
        path=path,
        tools=(
            *reader.tools("tools", raw.get("tools", [])),
            *reader.tools("virtual_tools", raw.get("virtual_tools", [])),
        ),
        servers=tuple(reader.servers(raw.get("mcp_servers", {}))),
        host_configs=tuple(reader.host_configs(raw.get("mcp", {}))),
        left=tuple(reader.left),
    )


@dataclass(slots=True)
class _Reader:
    cx: Checker
    env: Mapping[str, str]
    left: list[str] = field(default_factory=list[str])
    plain: list[KeyPath] = field(default_factory=list[KeyPath])  # a `provider` that says what is so anyway

    def leave(self, path: KeyPath, why: str) -> None:
        self.left.append(f"{self.cx.where(path)}: {dotted(path)}: {why}")

    def passes(self, check: Check, path: KeyPath, value: Any, then: str = "") -> bool:
        """Whether a sutler.toml would take it; if not, each of its problems is left with what `then` says."""
        before = len(self.cx.problems)
        checked = check(self.cx, path, value)
        for problem in self.cx.problems[before:]:
            hint = f" ({problem.hint})" if problem.hint else ""
            self.left.append(f"{_place(problem)}{problem.key}: {problem.message}{hint}{then}")
        return checked is not WRONG and len(self.cx.problems) == before

    # ------------------------------------------------------------------ tools

    def tools(self, kind: Kind, value: Any) -> Sequence[DeclaredTool]:
        found: dict[str, DeclaredTool] = {}
        for path, entry in self._tables(kind, value):
            tool = self._tool(kind, path, entry)
            if tool is None:
                continue
            if (earlier := found.pop(tool.name, None)) is not None:
                self.left.append(f"{earlier.where}: {kind}: {tool.name!r} stands twice; the one at {tool.where} counts")
            found[tool.name] = tool
        if self.plain:
            more = f" (nor in {len(self.plain) - 1} more)" if len(self.plain) > 1 else ""
            self.leave(self.plain[0], f"not needed here{more}: `module` and `function` say it")
            self.plain.clear()
        return list(found.values())

    def _tables(self, kind: Kind, value: Any) -> Sequence[tuple[KeyPath, dict[str, Any]]]:
        """Every table of a kind; virtual tools may stand as [virtual_tools.<name>] too."""
        if isinstance(value, list):
            pairs = [((kind, index), item) for index, item in enumerate(cast("list[Any]", value))]
        elif isinstance(value, dict) and kind == "virtual_tools":
            pairs = [
                ((kind, key), {"name": key, **cast("dict[str, Any]", item)} if isinstance(item, dict) else item)
                for key, item in cast("dict[str, Any]", value).items()
            ]
        else:
            self.leave((kind,), f"must be an array of tables, [[{kind}]], not {kind_of(cast('object', value))}")
            return []
        tables: list[tuple[KeyPath, dict[str, Any]]] = []
        for path, item in pairs:
            if isinstance(item, dict):
                tables.append((path, cast("dict[str, Any]", item)))
            else:
                self.leave(path, f"must be a table, not {kind_of(item)}")
        return tables

    def _tool(self, kind: Kind, path: KeyPath, raw: dict[str, Any]) -> DeclaredTool | None:
        provider: object = raw.get("provider")
        if kind == "tools" and provider not in (None, "python"):
            self.leave((*path, "provider"), f"{provider!r} is none that is known here, so this tool is not taken")
            return None
        keys: dict[str, Any] = {}
        for key, item in raw.items():
            if key in _READ[kind]:
                keys[key] = item
            elif key == "provider" and kind == "tools":
                self.plain.append((*path, key))
            else:
                self.leave((*path, key), _why_not(key, kind))
        self._grade(path, keys)
        if isinstance(keys.get("args"), list):
            args = cast("list[Any]", keys["args"])
            keys["args"] = [self._arg((*path, "args", index), arg) for index, arg in enumerate(args)]
        check = tool_table if kind == "tools" else virtual_table
        if not self.passes(check, path, keys, "; so this tool is not taken"):
            return None
        return DeclaredTool(file=Path(self.cx.file), kind=kind, name=keys["name"], keys=keys, where=self.cx.where(path))

    def _grade(self, path: KeyPath, keys: dict[str, Any]) -> None:
        """Both numbers of a grade or none: what is missing counts as 3 there."""
        given = [key for key in ("grade_w", "effects_ceiling") if key in keys]
        right = [self.passes(axis, (*path, key), keys[key], "; so it has no grade here") for key in given]
        if not all(right):
            for key in given:
                del keys[key]
        elif len(given) == 1:
            other = "effects_ceiling" if given == ["grade_w"] else "grade_w"
            keys[other] = 3
            self.leave((*path, given[0]), f"{other} is not given beside it and is written as 3, which it is there")

    def _arg(self, path: KeyPath, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        keys = dict(cast("dict[str, Any]", raw))
        for key in [key for key in keys if key not in _ARG]:
            del keys[key]
            self.leave((*path, key), "no such key is known of an argument; one with a `default` is optional")
        kind: object = keys.get("type")
        if isinstance(kind, str):
            try:
                type_schema(kind)
            except ValueError as error:
                keys["type"] = "Any"
                self.leave((*path, "type"), f"{error}; it is written as Any")
        return keys

    # ------------------------------------------------------------------ servers

    def servers(self, value: Any) -> Sequence[ServerSpec]:
        if not isinstance(value, dict):
            self.leave(("mcp_servers",), f"must be a table, not {kind_of(value)}")
            return []
        scope = Scope(env=self.env, home=Path.home(), workspace=self.cx.folder)
        found: dict[str, ServerSpec] = {}
        for key, raw in cast("dict[str, Any]", value).items():
            path: KeyPath = ("mcp_servers", key)
            name = key.replace("::", ":").replace("/", ":").strip()
            if name != key:
                self.leave(path, f"an id holds no `::`, `/` or outer blanks here; it is written as {name!r}")
            if not name or name in found:
                self.leave(path, "there is such an id already, or it is empty; so this server is not taken")
                continue
            entry: dict[str, Any] = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
            for one in [one for one in entry if one not in _SERVER]:
                self.leave((*path, one), _NO_EFFECT)
            given = Given(
                id=name,
                where=self.cx.where(path),
                provenance="own",
                precedence=5,
                base=self.cx.folder,
                dialect=_DIALECT,
            )
            kept = {one: item for one, item in entry.items() if one in _SERVER and one != "tools"}
            server = read_entry(kept if isinstance(raw, dict) else raw, given, scope)
            found[name] = replace(server, tools=self._overrides((*path, "tools"), entry.get("tools", {})))
        return list(found.values())

    def _overrides(self, path: KeyPath, value: Any) -> Mapping[str, ToolOverride]:
        """`tools.<name>.grade`, the one thing that is said of a server's tool there."""
        if not isinstance(value, dict):
            self.leave(path, f"must be a table, not {kind_of(value)}")
            return {}
        found: dict[str, ToolOverride] = {}
        for tool, raw in cast("dict[str, Any]", value).items():
            if not isinstance(raw, dict):
                self.leave((*path, tool), f"must be a table, not {kind_of(raw)}")
                continue
            for key, item in cast("dict[str, Any]", raw).items():
                if key != "grade":
                    self.leave((*path, tool, key), "no such key is known of a server's tool there")
                elif self.passes(grade, (*path, tool, key), item, "; so the server's own hints count"):
                    found[tool] = ToolOverride(grade=grade(self.cx, (*path, tool, key), item))
        return found

    def host_configs(self, value: Any) -> Sequence[Path]:
        if not isinstance(value, dict):
            self.leave(("mcp",), f"must be a table, not {kind_of(value)}")
            return []
        table = cast("dict[str, Any]", value)
        for key in table:
            if key != "host_configs":
                self.leave(("mcp", key), "no such key is known in [mcp]")
        listed: object = table.get("host_configs", [])
        if not isinstance(listed, list):
            self.leave(("mcp", "host_configs"), f"must be an array of paths, not {kind_of(listed)}")
            return []
        found: list[Path] = []
        for index, item in enumerate(cast("list[Any]", listed)):
            path: KeyPath = ("mcp", "host_configs", index)
            if not isinstance(item, str) or not item.strip():
                self.leave(path, "must be the path of a file")
            elif (given := _path(item, self.env)) is None:
                self.leave(path, f"{item!r} names a variable or a user that is not there")
            else:
                found.append(self.cx.folder / given)
        return list(dict.fromkeys(found))


def _place(problem: Problem) -> str:
    return f"{problem.file}:{problem.line}: " if problem.line else f"{problem.file}: "


def _why_not(key: str, kind: Kind) -> str:
    if key == "provider":
        return "a virtual tool is supplied by the host here"
    if kind == "virtual_tools" and key in ("module", "function"):
        return "a virtual tool has no code of its own"
    if key in TOOL_KEYS:
        return _NO_EFFECT
    return _NO_KEY.get(key, f"no such key is known in [[{kind}]]")


def _path(text: str, env: Mapping[str, str]) -> Path | None:
    """A path with `$VAR`, `${VAR}` and `~` put in; None where one of them has no value."""
    names = [one or two for one, two in _VARIABLE.findall(text)]
    if any(name not in env for name in names):
        return None

    def put(match: re.Match[str]) -> str:
        return env[match.group(1) or match.group(2)]

    try:
        return Path(_VARIABLE.sub(put, text)).expanduser()
    except RuntimeError:
        return None
