"""Looking tools up and describing them, for every command that names one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ToolNotFound, ToolUnavailable
from ..policy.levels import LEVELS
from ..spec import Decision, ToolSpec

if TYPE_CHECKING:
    from ..config import Config
    from ..inventory import Inventory, Row
    from ..policy.gate import Policy


def find(inventory: Inventory, name: str, config: Config) -> Row:
    """The tool of a name. ToolUnavailable when one is known by it that cannot be used now, else ToolNotFound."""
    try:
        return inventory.find(name)
    except ToolNotFound as error:
        for tool, reason in inventory.hidden:
            if _same(name, tool):
                raise ToolNotFound(f"there is no tool {name!r} to be called: {reason}") from error
        known = troubles(inventory, name)
        if known:
            raise ToolUnavailable(f"{name} cannot be called now: {'; '.join(known)}") from error
        # A folder that cannot be read may well be where the tool is.
        folders = [one.reason for one in inventory.quarantined if one.tool is None and Path(one.source).is_absolute()]
        if folders:
            raise ToolUnavailable(f"{error}; and a tool folder is unavailable: {'; '.join(folders)}") from error
        away = [where for where, _ in inventory.unavailable if "::" not in where]
        if away:  # what a server lists is not known before it has answered once
            them = "which is" if len(away) == 1 else "which are"
            raise ToolNotFound(
                f"{error}; it may be of {', '.join(away)}, {them} unavailable: see `sutler doctor`"
            ) from error
        hidden = withheld_words(config)
        if hidden:
            raise ToolNotFound(f"{error}; it may be in {hidden}") from error
        raise


def withheld_words(config: Config) -> str:
    """Where tools may be that nobody can see, or nothing: in a config that is not trusted."""
    if config.trusted or not config.withheld:
        return ""
    return f"{config.file}, which is not trusted: look at it with `sutler trust --show`"


def troubles(inventory: Inventory, name: str) -> list[str]:
    """Why a tool or source of this name cannot be used, where that is known."""
    said = [f"{where} is unavailable: {reason}" for where, reason in inventory.unavailable if _same(name, where)]
    for item in inventory.quarantined:
        place = item.source if item.tool is None else f"{item.source}::{item.tool}"
        if _same(name, place):
            said.append(f"quarantined: {item}")
    return said


def _same(name: str, place: str) -> bool:
    """Whether a name means this source::tool, or a tool of this whole source."""
    source, _, tool = place.partition("::")
    return name in (place, tool or source) or (not tool and name.startswith((f"{source}::", f"{source}__")))


def row_of_policy(spec: ToolSpec) -> str:
    """The row of the table of levels that a tool falls under (docs/cli.md, Who may do what)."""
    origin = spec.origin
    match origin.kind:
        case "function":
            return "function of the host's own code"
        case "config" if origin.source == "default":
            return "shipped tool"
        case "config":
            return "[[tools]] of the config"
        case "library":
            return "tool folder"
        case "virtual":
            return "virtual tool"
        case "mcp" | "openapi":
            return "server" if origin.provenance == "own" else "server of a host config"
        case "code":
            return "code text"


def at_each_level(spec: ToolSpec, policy: Policy) -> dict[str, Decision]:
    """What would be said of a call of this tool, were each level the one in force."""
    return {level: replace(policy, level=level, sources={}).preview(spec) for level in LEVELS}


def grade_words(spec: ToolSpec) -> str:
    """A grade in a list, so that a grade nobody gave explains itself."""
    return f"undeclared {spec.grade}" if spec.grade_from == "undeclared" else str(spec.grade)


def graded_where(spec: ToolSpec, config: Config) -> str:
    """Where a tool's grade comes from, in words."""
    match spec.grade_from:
        case "override":
            place = config.where.get(f'grades."{spec.qualified}"', "")
            return f"override: [grades] of the config{f' ({place})' if place else ''}"
        case "declared":
            return f"declared by the tool{f' ({spec.origin.where})' if spec.origin.where else ''}"
        case "hints":
            return "the hints that its server gives"
        case "undeclared":
            how = "give it one" if spec.origin.kind == "mcp" else "declare it with @tool(...) or"
            return f"undeclared, which counts as (3, 3); {how} in [grades]"


def library_of(row: Row) -> dict[str, Any] | None:
    """What the tool's library says of itself (LIB-05); None for a tool of no library."""
    return library_document(getattr(row.source, "info", None))


def library_document(info: Any) -> dict[str, Any] | None:
    if info is None:
        return None
    return {
        "name": info.name,
        "description": info.description,
        "icon": info.icon,
        "aliases": list(info.aliases),
        "load_flag": info.load_flag,
        "directory": str(info.directory),
        "files": [str(file) for file in info.files],
    }


def library_line(library: Mapping[str, Any]) -> str:
    """A library's word on itself in one line."""
    parts = [f"{library['icon']} {library['name']}".strip()]
    if library["aliases"]:
        parts.append(f"also {', '.join(library['aliases'])}")
    if library["load_flag"]:
        parts.append(f"turned on by {library['load_flag']}")
    line = "; ".join(parts)
    return f"{line}: {library['description']}" if library["description"] else line


def is_shipped(row: Row) -> bool:
    return row.spec.origin.kind == "config" and row.spec.origin.source == "default"
