"""What there is to call: one immutable answer that the prompt, the checker, policy and a run all share (SRC-08)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property

from .errors import ToolNotFound, ToolUnavailable
from .schema.names import program_name, qualified_program_name
from .schema.stubs import signature
from .sources.base import Duplicate, Quarantined, ToolSource
from .spec import Grade, ToolSpec, compute_grade

_CLOSEST = 3
_HOST_PREFIX = "mcp__"  # how MCP hosts spell a server's tool: mcp__<server>__<tool>


@dataclass(frozen=True, slots=True)
class Row:
    """One tool with the source that runs it. Without its bare name, program_name is the qualified one."""

    spec: ToolSpec
    source: ToolSource
    program_name: str
    qualified_program_name: str


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A tool that lost its bare name; still reached as source::tool, in a program as source__tool (SRC-07)."""

    row: Row
    winner: Row
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.row.spec.qualified} is shadowed by {self.winner.spec.qualified}: {self.reason}; "
            f"programs reach it as {self.row.qualified_program_name}"
        )


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """A snapshot: a run keeps the one it started with, whatever its sources do meanwhile.

    rows: every tool. tools: the winners by bare name. duplicates: definitions hidden inside their own source.
    unavailable: (source or source::tool, why); they are asked again for the next inventory. notes: one sentence each.
    hidden: (source::tool, why) of what policy lets nobody see; a call of it finds no tool.
    """

    rows: tuple[Row, ...] = ()
    tools: Mapping[str, Row] = field(default_factory=lambda: dict[str, Row]())
    shadowed: tuple[Shadowed, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()
    unavailable: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    hidden: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Inventory: {len(self.tools)} tools, {len(self.shadowed)} shadowed, {len(self.quarantined)} quarantined,"
            f" {len(self.unavailable)} unavailable>"
        )

    @cached_property
    def program(self) -> Mapping[str, Row]:
        """The winners by the name that programs call them."""
        return {row.program_name: row for row in self.tools.values()}

    @cached_property
    def qualified_program(self) -> Mapping[str, Row]:
        """Every tool by its <source>__<tool>, shadowed ones included."""
        return {row.qualified_program_name: row for row in self.rows}

    @cached_property
    def qualified(self) -> Mapping[str, Row]:
        """Every tool by source::tool."""
        return {row.spec.qualified: row for row in self.rows}

    @property
    def grade(self) -> Grade:
        """The least grade that covers every tool that a bare name reaches."""
        return compute_grade(row.spec for row in self.tools.values())

    def find(self, name: str) -> Row:
        """The tool of a bare name, source::tool, program name, source__tool, or mcp__source__tool.

        Raises ToolNotFound that names the closest, or, for a folded name that several tools have, all of them;
        ToolUnavailable for one whose definition has changed and that is held.
        """
        row = self.tools.get(name) or self.qualified.get(name)
        return row or self.program.get(name) or self.qualified_program.get(name) or self._find_spelled(name)

    def format_description(self, more: Mapping[str, str] | None = None) -> str:
        """One line for each tool a bare name reaches, as a prompt shows it: `name(arg: type) -> type: description`.

        more: text to go on with, by source::tool.
        """
        said = more or {}
        return "\n".join(
            f"{signature(row.spec, row.program_name)}: "
            + " ".join(f"{row.spec.description} {said.get(row.spec.qualified, '')}".split())
            for row in self.tools.values()
        )

    def _find_spelled(self, name: str) -> Row:
        plain = name.removeprefix(_HOST_PREFIX)
        exact = self.qualified_program.get(plain)
        found = (exact,) if exact is not None else self._unfolded.get(plain) or self._folded.get(plain) or ()
        if len(found) == 1:
            return found[0]
        if found:
            both = " or ".join(f"{row.spec.qualified} (in programs {row.program_name})" for row in found)
            raise ToolNotFound(f"{name!r} could be {both}; use one of these names")
        self._check_held(plain)
        raise ToolNotFound(f"there is no tool {name!r}{self._known_trouble(name)}{self._closest(name)}")

    def _check_held(self, name: str) -> None:
        for item in self.quarantined:
            if item.held and item.tool is not None:
                spellings = (item.tool, f"{item.source}::{item.tool}", qualified_program_name(item.source, item.tool))
                if name in (*spellings, program_name(item.tool), f"{item.source}__{item.tool}"):
                    raise ToolUnavailable(str(item))

    # Further spellings, built at the first miss. Hosts write source__tool with the tool's own name.

    @cached_property
    def _unfolded(self) -> Mapping[str, tuple[Row, ...]]:
        pairs = [(f"{row.spec.origin.source}__{row.spec.name}", row) for row in self.rows]
        pairs += [(f"{row.spec.origin.source}::{row.program_name}", row) for row in self.tools.values()]
        return _grouped(pairs)

    @cached_property
    def _folded(self) -> Mapping[str, tuple[Row, ...]]:
        """Names as they fold when no other tool is near: what somebody writes who does not know of the others."""
        pairs = [(program_name(name), row) for name, row in self.tools.items()]
        for row in self.rows:
            source, name = row.spec.origin.source, row.spec.name
            pairs.append((qualified_program_name(source, name), row))
            pairs.append((f"{source}::{program_name(name)}", row))
        return _grouped(pairs)

    def _known_trouble(self, name: str) -> str:
        """Why a tool of this name is not there, when that is known."""
        for where, reason in self.unavailable:
            if name in (where, where.partition("::")[2]):
                return f": {where} is unavailable now ({reason})"
        for item in self.quarantined:
            if item.tool is not None and name in (item.tool, f"{item.source}::{item.tool}"):
                return f": {item.source}::{item.tool} is quarantined ({item.reason})"
        return ""

    def _closest(self, name: str) -> str:
        known = self.qualified if "::" in name else {**self.program, **self.tools}
        near = get_close_matches(name, known, n=_CLOSEST, cutoff=0.6)
        return f"; the closest {'is' if len(near) == 1 else 'are'} {', '.join(near)}" if near else ""


def screened(whole: Inventory, screen: Callable[[ToolSpec], str]) -> Inventory:
    """The inventory without the tools that `screen` gives a reason for. What lost a name to one does not get it."""
    hidden = {row.spec.qualified: reason for row in whole.rows if (reason := screen(row.spec))}
    if not hidden:
        return whole
    return replace(
        whole,
        rows=tuple(row for row in whole.rows if row.spec.qualified not in hidden),
        tools={name: row for name, row in whole.tools.items() if row.spec.qualified not in hidden},
        shadowed=tuple(
            one for one in whole.shadowed if not {one.row.spec.qualified, one.winner.spec.qualified} & hidden.keys()
        ),
        hidden=tuple(hidden.items()),
    )


def _grouped(pairs: Iterable[tuple[str, Row]]) -> dict[str, tuple[Row, ...]]:
    groups: dict[str, tuple[Row, ...]] = {}
    for spelling, row in pairs:
        groups[spelling] = (*groups.get(spelling, ()), row)
    return groups
