"""Looking tools up and describing them, for every command that names one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ToolNotFound, ToolUnavailable
from ..policy.levels import LEVELS, Policy
from ..spec import Decision, ToolSpec

if TYPE_CHECKING:
    from ..config import Config
    from ..inventory import Inventory, Row

_SAID = 4  # the weight of a description
_WEAKER = 5  # a match that scores this many times less than the best is left out
_MOST = 10  # matches that are shown
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def find(inventory: Inventory, name: str, config: Config) -> Row:
    """The tool of a name. ToolUnavailable when one is known by it that cannot be used now, else ToolNotFound."""
    try:
        return inventory.find(name)
    except ToolNotFound as error:
        known = troubles(inventory, name)
        if known:
            raise ToolUnavailable(f"{name} cannot be called now: {'; '.join(known)}") from error
        # A folder that cannot be read may well be where the tool is.
        folders = [one.reason for one in inventory.quarantined if one.tool is None and Path(one.source).is_absolute()]
        if folders:
            raise ToolUnavailable(f"{error}; and a tool folder is unavailable: {'; '.join(folders)}") from error
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
            return "server" if origin.precedence >= 5 else "server of a host config"
        case "code":
            return "code text"


def at_each_level(spec: ToolSpec, policy: Policy) -> dict[str, Decision]:
    """What each level would say of a call of this tool."""
    return {level: Policy(level=level, network=policy.network).preview(spec) for level in LEVELS}


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
            return "undeclared, which counts as (3, 3); declare it with @tool(...) or in [grades]"


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


def best(found: Sequence[tuple[int, int, Row]]) -> tuple[list[tuple[int, Row]], int]:
    """Of ranked tools those worth showing, and how many are left out.

    Where a tool has all the words that any has, those with fewer are left out, and so is what hardly has to do with it.
    """
    if not found:
        return [], 0
    most, top, _ = found[0]
    kept = [(score, row) for hits, score, row in found if hits == most and score * _WEAKER >= top][:_MOST]
    return kept, len(found) - len(kept)


def ranked(rows: Iterable[Row], words: Sequence[str]) -> list[tuple[int, int, Row]]:
    """The tools that have to do with the words, the best first: (words it has, score, row); equals by name.

    A word counts most in the name, then in a parameter's name, then in the source, then in a description; at the
    beginning of a word of the tool's half as much. A tool that has all the words stands before one that has some.
    """
    wanted = [word for text in words for word in _words(text)]
    found: list[tuple[int, int, Row]] = []
    for row in rows:
        fields = _fields(row.spec)
        scores = [_score(word, fields) for word in wanted]
        hits = sum(score > 0 for score in scores)
        if hits:
            found.append((hits, sum(scores), row))
    found.sort(key=lambda one: (-one[0], -one[1], one[2].spec.name, one[2].spec.origin.source))
    return found


def _fields(spec: ToolSpec) -> list[tuple[int, frozenset[str]]]:
    """(weight, words) of each part of a tool."""
    texts = [
        (16, [spec.name]),
        (6, [arg.name for arg in spec.args]),
        (4, [spec.origin.source]),
        (_SAID, [spec.description, spec.annotations.title or ""]),
        (2, [arg.description for arg in spec.args]),
    ]
    return [(weight, frozenset(word for text in several for word in _words(text))) for weight, several in texts]


def _score(word: str, fields: Sequence[tuple[int, frozenset[str]]]) -> int:
    best = 0
    for weight, words in fields:
        if word in words:
            best += weight
        elif any(one.startswith(word) for one in words):
            best += weight // 2
        elif any(word.startswith(one) and len(one) >= (3 if weight > _SAID else 4) for one in words):
            best += weight // 4  # `dir` for directory; of a description's short words that would say nothing
    return best


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text))]
