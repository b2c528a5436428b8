"""One rule of a policy: which calls it is about, and what it says of them (POL-01, POL-03).

What a rule says of the tool is settled once for each definition; what it says of the call (its arguments, and whether
a program makes it) at each call.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import translate
from functools import cached_property
from typing import Any, Literal, cast, get_args

from ..spec import Decision, Grade, GradeFrom, SourceKind, ToolSpec, Trust
from .patterns import Pattern, Place, Test, leaves, names_it

Verdict = Literal["allow", "ask", "deny"]
Provenance = Literal["own", "host_config"]
Via = Literal["direct", "run"]
HINTS = ("read_only", "destructive", "idempotent", "open_world")
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

_WORDS: Mapping[str, Sequence[str]] = {
    "kind": get_args(SourceKind),
    "trust": get_args(Trust),
    "provenance": get_args(Provenance),
    "grade_from": get_args(GradeFrom),
}
_PLAIN = re.compile(r"[^.*?\[]+")
_NUMBERED = re.compile(r"(.+)#\d+")  # what a source is called when another has its id
_Named = Callable[[Sequence[str], Sequence[str]], bool]
_SCALARS = (str, int, float)
_PYTHON = ("config", "library", "code", "function")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """[[policy.rules]]. Whatever is given must hold; of several words any one will do.

    tool: globs over `name` and `source::name`; source: over the source's id; one that begins with ! takes out.
    provenance: `own`, or `host_config` for a server of another host's file. at_least, at_most: bounds of the grade.
    annotations: hints that the tool must give so. arguments: by the name of the parameter, which may be a glob and, for
    a value inside another, dotted. via: only calls that a program makes (`run`), or only others (`direct`).
    where: `file:line`, or what else names it.
    """

    decision: Verdict
    reason: str = ""
    tool: Sequence[str] = ()
    source: Sequence[str] = ()
    kind: Sequence[SourceKind] = ()
    trust: Sequence[Trust] = ()
    provenance: Sequence[Provenance] = ()
    at_least: Grade = field(default_factory=lambda: Grade(0, 0))
    at_most: Grade = field(default_factory=lambda: Grade(3, 3))
    grade_from: Sequence[GradeFrom] = ()
    annotations: Mapping[str, bool] = field(default_factory=lambda: dict[str, bool]())
    arguments: Mapping[str, Pattern] = field(default_factory=lambda: dict[str, Pattern]())
    via: Via | None = None
    where: str = "a rule of the host"

    def __post_init__(self) -> None:
        for name in ("tool", "source", *_WORDS):
            given: Any = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
            wrong = [one for one in getattr(self, name) if name in _WORDS and one not in _WORDS[name]]
            if wrong:
                raise ValueError(f"{name} of a rule is one of {', '.join(_WORDS[name])}, not {wrong[0]!r}")
        for name, given, known in (("decision", self.decision, VERDICTS), ("via", self.via, (None, *get_args(Via)))):
            if given not in known:
                raise ValueError(f"{name} of a rule is one of {', '.join(map(str, known))}, not {given!r}")
        if unknown := [hint for hint in self.annotations if hint not in HINTS]:
            raise ValueError(f"a rule knows the annotations {', '.join(HINTS)}, not {unknown[0]!r}")
        for name, pattern in self.arguments.items():
            if not isinstance(cast("object", pattern), Pattern):
                raise TypeError(f"what a rule says of the argument {name!r} is a Pattern, not {pattern!r}")

    @property
    def eager(self) -> bool:
        """Whether it holds in doubt: it asks or denies."""
        return self.decision != "allow"

    @property
    def is_of_calls(self) -> bool:
        """Whether it looks at more than the tool."""
        return bool(self.arguments) or self.via is not None

    @property
    def looks_at_files(self) -> bool:
        return any(pattern.looks_at_files for pattern in self.arguments.values())

    @cached_property
    def fingerprint(self) -> str:
        """The same for rules that say the same, wherever they stand: what a standing approval remembers of one."""
        said = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("reason", "where")}
        return hashlib.blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    @cached_property
    def answer(self) -> Decision:
        """The decision when this rule decides."""
        return Decision(outcome=self.decision, reason=self.reason, by=f"rule {self.where}")

    def is_of(self, spec: ToolSpec) -> bool:
        """Whether it is about calls of this tool at all."""
        origin, grade = spec.origin, spec.grade
        own = origin.provenance == "own"
        names, sources = _might_be_called(spec) if self.eager else ((), ())
        return (
            self._names([spec.name, spec.qualified], names)
            and self._sources([origin.source], sources)
            and (not self.kind or origin.kind in self.kind)
            and (not self.trust or origin.trust in self.trust)
            and (not self.provenance or ("own" if own else "host_config") in self.provenance)
            and (not self.grade_from or spec.grade_from in self.grade_from)
            and grade.covers(self.at_least)
            and self.at_most.covers(grade)
            and all(getattr(spec.annotations, hint) is value for hint, value in self.annotations.items())
        )

    def holds(self, call: Arguments) -> bool | None:
        """Whether it is about this call, of a tool that it `is_of`; None when that is not known yet."""
        known = True
        if self.via is not None:
            if call.via is None:
                known = False
            elif self.via != call.via:
                return False
        for condition in self._conditions:
            found = condition.holds(call, self.eager)
            if found is False:
                return False
            known = known and found is not None
        return True if known else None

    @cached_property
    def _conditions(self) -> tuple[Condition, ...]:
        return tuple(Condition(name, pattern.tests()) for name, pattern in self.arguments.items())

    @cached_property
    def _names(self) -> _Named:
        return _any_of(self.tool)

    @cached_property
    def _sources(self) -> _Named:
        return _any_of(self.source)


class Arguments:
    """A call as rules look at it. `via` None: not known. `partial`: arguments that are not there may yet come.

    names: the parameters that there are, when there can be no other. unseen: those whose default nobody can see.
    """

    __slots__ = ("_leaves", "given", "left", "names", "partial", "place", "via")

    def __init__(
        self,
        given: Mapping[str, Any],
        place: Place,
        *,
        via: Via | None = "direct",
        partial: bool = False,
        names: Container[str] | None = None,
        unseen: Sequence[str] = (),
    ) -> None:
        self.given = given
        self.place = place
        self.via = via
        self.partial = partial
        self.names = names
        self.left = (
            [name for name in unseen if name not in given] if unseen else ()
        )  # will have a value that is not seen
        self._leaves: dict[bool, list[tuple[str, Any]] | None] = {}

    def leaves(self, eager: bool) -> list[tuple[str, Any]] | None:
        """Every value with its dotted name; an eager rule looks at the keys of objects too."""
        if eager not in self._leaves:
            self._leaves[eager] = leaves(self.given, keys=eager)
        return self._leaves[eager]


class Condition:
    """What a rule says of the values of one name: any of them must fit for an eager rule, else all."""

    __slots__ = ("_head", "_is_meant", "_name", "_plain", "_tests")

    def __init__(self, name: str, tests: tuple[Test, ...]) -> None:
        self._name = name
        self._tests = tests
        self._plain = _PLAIN.fullmatch(name) is not None
        self._head = name.partition(".")[0]
        self._is_meant = names_it(name)

    def values(self, call: Arguments, *, eager: bool) -> Sequence[Any] | None:
        """The values that are meant, but for nulls; None when there are too many to look at."""
        if self._plain:
            given = call.given.get(self._name)
            if isinstance(given, _SCALARS):
                return (given,)
            if given is None:
                return ()
        held = call.leaves(eager)
        return None if held is None else [value for where, value in held if self._is_meant(where)]

    def holds(self, call: Arguments, eager: bool) -> bool | None:
        """None: not known yet. No value at all, or null, is none that fits."""
        place, tests = call.place, self._tests
        values = self.values(call, eager=eager)
        if values is None:
            return eager
        if len(values) == 1 and len(tests) == 1:  # most often
            fits = tests[0](values[0], eager, place)
        elif eager:
            fits = any(all(test(value, True, place) for test in tests) for value in values)
        else:
            fits = bool(values) and all(test(value, False, place) for value in values for test in tests)
        if call.partial and self._may_come(call):
            # what is still to come may fit where nothing does yet, or, for a rule that allows, not fit
            unsettled = not fits if eager else fits or not values
            return None if unsettled else fits
        return eager if self.is_left(call) else fits

    def is_left(self, call: Arguments) -> bool:
        """Whether it is about a parameter that the call leaves to a default which nobody can see: that is in doubt."""
        return any(self._is_meant(name) or name == self._head for name in call.left)

    def _may_come(self, call: Arguments) -> bool:
        """Whether a value of this name, or one more, may yet be given."""
        if self._plain and self._name in call.given:
            return False
        return call.names is None or self._head in call.names or _PLAIN.fullmatch(self._head) is None


def _might_be_called(spec: ToolSpec) -> tuple[Sequence[str], Sequence[str]]:
    """The names that a tool and its source do not have, and that one who wants it out of reach may know them by: what a
    server calls a tool that has an alias, and the id of a source that only came second."""
    source, own = spec.origin.source, spec.meta.get("tool")
    numbered = _NUMBERED.fullmatch(source)
    first = [numbered.group(1)] if numbered else []
    aliased = [own] if isinstance(own, str) and own != spec.name else []
    tools = [spec.name, *aliased]
    named = [f"{one}::{tool}" for one in (source, *first) for tool in tools]
    return [*aliased, *named], first


def unseen_defaults(spec: ToolSpec) -> tuple[str, ...]:
    """The parameters whose value, when a call leaves them out, only Python knows: their default is an expression."""
    if spec.origin.kind not in _PYTHON:
        return ()
    schema = spec.input_schema
    required: Container[str] = schema.get("required") or ()
    properties: Mapping[str, Any] = schema.get("properties") or {}
    return tuple(name for name, said in properties.items() if name not in required and "default" not in said)


def _any_of(globs: Sequence[str]) -> _Named:
    """Whether something is meant by its names, or the names it might have: by any of the globs, or by none being there.

    One that takes out looks at the names it has.
    """
    wanted = [re.compile(translate(one)).match for one in globs if not one.startswith("!")]
    unwanted = [re.compile(translate(one[1:])).match for one in globs if one.startswith("!")]

    def test(names: Sequence[str], perhaps: Sequence[str]) -> bool:
        return (not wanted or any(fits(name) for fits in wanted for name in (*names, *perhaps))) and not any(
            fits(name) for fits in unwanted for name in names
        )

    return test
