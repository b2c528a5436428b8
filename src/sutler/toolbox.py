"""Merges sources into one inventory: who keeps a bare name, what lost it, what is broken (RFC 0002 section 4)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from .errors import SutlerError
from .inventory import Inventory, Row, Shadowed, screened
from .merging import Answer, merge
from .schema.validate import check_schema
from .sources.base import PLUGINS, Duplicate, Quarantined, ToolSource
from .sources.functions import FunctionSource
from .spec import Grade, ToolSpec

__all__ = ["Inventory", "Quarantined", "Row", "Shadowed", "Toolbox"]

log = logging.getLogger("sutler.toolbox")
_MEMBERS = ("name", "available", "discover", "resolve")  # isinstance with a protocol costs 15 us for each source
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(slots=True, eq=False)
class _Member:
    source: ToolSource
    given_id: str
    id: str
    precedence: float | None
    answer: Answer | None = None


class Toolbox:
    """Sources by precedence. Safe to use from several threads; an Inventory once given never changes.

    says(rows) -> {source::tool: text}: what libraries add to a prompt.
    grade_overrides: {"source::tool": Grade}, as [grades] has them; they win over what a tool declares (GRD-01).
    hold(spec): why a tool must not be offered as it is now, or None (POL-06).
    screen(spec) -> why a tool is not to be seen by anybody, "" when it is (POL-09). Its bare name goes to no other.
    """

    def __init__(
        self,
        *,
        grade_overrides: Mapping[str, Grade] | None = None,
        hold: Callable[[ToolSpec], Quarantined | None] | None = None,
        screen: Callable[[ToolSpec], str] | None = None,
    ) -> None:
        self._overrides = dict(grade_overrides or {})
        self._hold = hold
        self._screen = screen
        self._members: list[_Member] = []
        self._moving: list[_Member] = []  # those that are looked at for every inventory
        self._stale = True
        self._ids: dict[tuple[int, str], str] = {}
        self._taken: set[str] = set()
        self._built: tuple[list[Answer], Inventory] | None = None
        self._logged: set[str] = set()
        self._lock = threading.RLock()
        self.says: Callable[[Sequence[Row]], Mapping[str, str]] | None = None

    # ------------------------------------------------------------------ what is in it

    def add_source(self, source: ToolSource, precedence: float | None = None) -> None:
        """Add a source; it is asked for its tools when the next inventory is. TypeError for what is no ToolSource.

        precedence: higher wins the bare name; when left out, the source's own. A source id that is taken gets `#2`.
        """
        missing = [member for member in _MEMBERS if not hasattr(source, member)]
        if missing:
            raise TypeError(f"{type(source).__name__} is no ToolSource: it has no {', '.join(missing)}")
        rank: Any = precedence if precedence is not None else getattr(source, "precedence", None)
        if not isinstance(cast("object", source.name), str) or not source.name:
            raise TypeError(f"the name of a source is its id, a text, not {source.name!r}")
        if rank is not None and not _is_rank(rank):
            raise TypeError(f"the precedence of source {source.name!r} is a number, not {rank!r}")
        with self._lock:
            member = _Member(source, source.name, "", rank)
            member.id = self._id(member, source.name)
            self._members.append(member)
            if not getattr(source, "steady", False):
                self._moving.append(member)
            self._stale = True

    def remove_source(self, source: ToolSource | str) -> None:
        """Take a source out, itself or by its id. KeyError when it is not there."""
        with self._lock:
            for member in self._members:
                if member.source is source or member.id == source:
                    self._members.remove(member)
                    self._moving = [one for one in self._moving if one is not member]
                    self._stale = True
                    for key in [key for key in self._ids if key[0] == id(member)]:
                        self._taken.discard(self._ids.pop(key))
                    return
            ids = ", ".join(member.id for member in self._members)
            raise KeyError(f"there is no source {source!r} in the toolbox; there are: {ids or 'none'}")

    def exchange(
        self,
        old: Sequence[ToolSource],
        new: Sequence[ToolSource],
        *,
        before: ToolSource,
        settle: Callable[[], object] = lambda: None,
    ) -> None:
        """Put `new` in the place of `old`, right before a source that stays.

        What is in both stays as it is; a new one of the name of one that goes takes over its id. settle: done when the
        new ones have their ids and none of their tools can be found yet.
        """
        with self._lock:
            held = {id(source) for source in old}
            mine = [member for member in self._members if id(member.source) in held]
            stay = {id(source) for source in new}
            going = [member for member in mine if id(member.source) not in stay]
            known = {id(member.source): member for member in mine}
            made: list[_Member] = []
            for source in new:
                member = known.get(id(source))
                if member is None:
                    member = _Member(source, source.name, "", getattr(source, "precedence", None))
                    heir = next((one for one in going if one.given_id == source.name), None)
                    if heir is not None:
                        going.remove(heir)
                        member.id = heir.id
                        for key in [key for key in self._ids if key[0] == id(heir)]:
                            self._ids[id(member), key[1]] = self._ids.pop(key)
                made.append(member)
            for member in going:
                for key in [key for key in self._ids if key[0] == id(member)]:
                    self._taken.discard(self._ids.pop(key))
            for member in made:
                member.id = member.id or self._id(member, member.given_id)
            rest = [member for member in self._members if member not in mine]
            at = next(index for index, member in enumerate(rest) if member.source is before)
            self._members = [*rest[:at], *made, *rest[at:]]
            self._moving = [member for member in self._members if not getattr(member.source, "steady", False)]
            settle()
            self._stale = True

    def sources(self) -> tuple[tuple[str, ToolSource], ...]:
        """Every source with its id, in the order they were added."""
        with self._lock:
            return tuple((member.id, member.source) for member in self._members)

    def add(self, function: Function) -> Function:
        """Register a function, sync or async, above every source (SRC-11). Gives it back: it serves as a decorator."""
        self._functions().add(function)
        return function

    def register_tool(self, spec: ToolSpec, function: Callable[..., Any]) -> ToolSpec:
        """Register a callable under a spec written by hand, above every source (RFC 0002 section 4)."""
        return self._functions().register(spec, function)

    def refresh(self, source_id: str | None = None) -> None:
        """Have every source, or one, asked anew for the next inventory."""
        with self._lock:
            for member in self._members:
                if source_id in (None, member.id, member.given_id):
                    member.answer = None
            self._stale = True

    def reconsider(self) -> None:
        """Have the next inventory built anew, of the same answers: what is held may be other than before."""
        with self._lock:
            self._built = None

    # ------------------------------------------------------------------ what it gives

    def inventory(self) -> Inventory:
        """What there is now: the same object as before unless a source says otherwise (SRC-08, SRC-13)."""
        current = self.current()
        if current is not None:
            return current
        with self._lock:
            members = list(self._members)
            self._stale = False
        # Asked without the lock: a source may take its time, or wait for a thread that waits for an inventory.
        answers = [self._answer(member) for member in members]
        with self._lock:
            for member, answer in zip(members, answers, strict=True):
                member.answer = answer
            if self._built is not None and _same(self._built[0], answers):
                return self._built[1]
            inventory = merge([member.source for member in members], answers, self._overrides, self._hold)
            if self._screen is not None:
                inventory = screened(inventory, self._screen)
            self._built = (answers, inventory)
            self._tell(inventory)
            return inventory

    def is_current(self) -> bool:
        """Whether the next inventory is the one given last: nothing was added, and no source says otherwise."""
        return self._built is not None and not self._stale and all(map(self._is_as_it_was, self._moving))

    def current(self) -> Inventory | None:
        """The inventory given last, if the next one is the same."""
        built = self._built
        return built[1] if built is not None and self.is_current() else None

    def resolve(self, name: str) -> Callable[..., Any]:
        """What runs a tool, from the source that owns it (SRC-03). ToolNotFound names the closest."""
        row = self.inventory().find(name)
        return row.source.resolve(row.spec)

    def format_description(self) -> str:
        """The tools as a prompt shows them, one line each, with what their libraries say of themselves now (LIB-06)."""
        inventory = self.inventory()
        return inventory.format_description(self.says(list(inventory.tools.values())) if self.says is not None else {})

    # ------------------------------------------------------------------ asking

    def _is_as_it_was(self, member: _Member) -> bool:
        try:
            return member.answer is not None and member.answer.state == _state(member.source)
        except Exception:
            return False

    def _answer(self, member: _Member) -> Answer:
        source, last = member.source, member.answer
        try:
            state = _state(source)
            available, reason, _ = state
        except Exception as error:
            reason = f"it cannot say whether it is available: {_said(error)}"
            failed = ("failed", reason)
            if last is not None and last.state == failed:
                return last
            return Answer(state=failed, quarantined=(Quarantined(source=member.id, reason=reason),))
        if last is not None and last.state == state:
            return last
        if not available:
            return Answer(state=state, unavailable=((member.id, reason),))
        try:
            return self._sorted(member, state, list(cast("Iterable[object]", source.discover())))
        except Exception as error:
            reason = f"it cannot be asked for its tools: {_said(error)}"
            return Answer(state=state, quarantined=(Quarantined(source=member.id, reason=reason),))

    def _sorted(self, member: _Member, state: object, found: Sequence[object]) -> Answer:
        """The items a source gave: specs under their final identity, and what cannot be offered (SRC-10, SRC-13)."""
        source: Any = member.source
        specs: dict[tuple[str, str], ToolSpec] = {}
        bad: list[Quarantined] = list(getattr(source, "quarantined", ()))
        duplicates: list[Duplicate] = list(getattr(source, "duplicates", ()))
        notes = [str(note) for note in getattr(source, "notes", ())]
        if found and member.id != member.given_id:
            notes.append(f"there is a source {member.given_id!r} already; the one added later is {member.id!r}")
        for item in found:
            if not isinstance(item, ToolSpec):
                reason = f"it gave a {type(item).__name__}, which is no ToolSpec"
                bad.append(Quarantined(source=member.id, reason=reason))
                continue
            try:
                spec, read = self._usable(member, item)
            except Exception as error:
                bad.append(_quarantined(member, item, error))
                continue
            notes.extend(f"{spec.qualified}: {sentence}" for sentence in read)
            key = (spec.origin.source, spec.name)
            other = specs.setdefault(key, spec)
            if other is not spec:
                winner, loser = (other, spec) if spec.origin.kind == "library" else (spec, other)
                specs[key] = winner
                duplicates.append(
                    Duplicate(source=key[0], tool=key[1], where=loser.origin.where, winner=winner.origin.where)
                )
        missing: Sequence[tuple[str, str]] = getattr(source, "missing", ())
        return Answer(
            state=state,
            specs=tuple(specs.values()),
            quarantined=tuple(bad),
            duplicates=tuple(duplicates),
            unavailable=tuple((f"{member.id}::{tool}", reason) for tool, reason in missing),
            notes=tuple(notes),
        )

    def _usable(self, member: _Member, spec: ToolSpec) -> tuple[ToolSpec, Sequence[str]]:
        """One spec under its final id, rank and grade, and what of its schema is read otherwise than written.

        Of a tool folder only name and origin are touched: its schemas are made when somebody looks at them.
        """
        if type(spec.name) is not str or not spec.name:
            raise ValueError(f"its name is {spec.name!r}")
        origin = spec.origin
        if type(origin.source) is not str or not origin.source:
            raise ValueError(f"the id of its source is {origin.source!r}")
        source = self._id(member, origin.source)
        rank = member.precedence if member.precedence is not None else origin.precedence or PLUGINS
        if not _is_rank(rank):
            raise ValueError(f"its precedence is {rank!r}")
        if source != origin.source or rank != origin.precedence:
            spec = spec.with_origin(source=source, precedence=rank)
        grade = self._overrides.get(spec.qualified) if self._overrides else None
        if grade is not None:
            spec = spec.with_grade(grade, "override")
        return spec, check_schema(spec.input_schema) if origin.kind != "library" else ()

    def _id(self, member: _Member, given: str) -> str:
        """The id of a source among all sources: as given, with `#2` and so on when another has it. It stays."""
        key = (id(member), given)
        found = self._ids.get(key)
        if found is None:
            with self._lock:
                found, number = given, 2
                while found in self._taken:
                    found, number = f"{given}#{number}", number + 1
                self._ids[key] = found
                self._taken.add(found)
        return found

    def _functions(self) -> FunctionSource:
        """The source that `add` fills: the one that is in the toolbox, else a new one."""
        with self._lock:
            for member in self._members:
                if isinstance(member.source, FunctionSource):
                    return member.source
            source = FunctionSource()
            self.add_source(source)
            return source

    def _tell(self, inventory: Inventory) -> None:
        """Log what is new; the data stays in the inventory."""
        for shadowed in inventory.shadowed:
            self._log(logging.INFO, str(shadowed))
        for item in inventory.quarantined:
            self._log(logging.WARNING, f"quarantined: {item}")
        for note in inventory.notes:
            self._log(logging.WARNING, note)

    def _log(self, level: int, text: str) -> None:
        if text not in self._logged:
            self._logged.add(text)
            log.log(level, text)


def _state(source: ToolSource) -> tuple[bool, str, object]:
    """What a source says of itself: whether it can be asked, why not, and the version of its answer."""
    available = bool(source.available())
    reason = "" if available else str(getattr(source, "reason", "") or "it says that it is not available")
    return available, reason, getattr(source, "version", None)


def _same(one: Sequence[Answer], other: Sequence[Answer]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _quarantined(member: _Member, spec: ToolSpec, error: Exception) -> Quarantined:
    reason = str(error) if isinstance(error, SutlerError | ValueError) else _said(error)
    return Quarantined(source=member.id, tool=str(spec.name), reason=reason, where=getattr(spec.origin, "where", ""))


def _is_rank(value: object) -> bool:
    return isinstance(value, int | float) and value == value  # NaN ranks nowhere


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
