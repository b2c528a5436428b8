"""From arguments as they came to arguments a tool can be called with (DESIGN: Binding arguments).

The one place where arguments are judged, before anything has an effect (RUN-02, RUN-05, RUN-06, RUN-11).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from ..errors import InvalidArguments, SchemaError, ToolUnavailable
from ..spec import Repair, ToolSpec
from .argtext import parse_arguments
from .explain import faults, short
from .names import parameter_names
from .repair import DEPTH, Mender, has_whole_float
from .stubs import parameters
from .validate import Validator
from .walk import children, follow, is_list, readable

# What only the host may hand a tool (LCP 4.5 and 7.5).
HOST_ONLY: Final = frozenset(
    ("tool_context", "lollms_client_instance", "discussion_instance", "user_interaction_handler")
)
# Kinds whose tools are Python functions here: their defaults are what Python would apply in any case.
_LOCAL: Final = frozenset(("config", "library", "code", "function"))
_kind = cast("Callable[[object], type[object]]", type)  # plain `type` is of an unknown type to the checker
_SCALARS: Final = frozenset((str, int, bool, type(None)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Arguments ready for a call. `arguments` is a fresh dict of plain data; values that needed no change are shared.

    repairs: every change made, dropped keys included (rules: see repair.py; also json_text, dropped, host_only).
    notes: what the schema could not say exactly, one sentence each.
    """

    arguments: dict[str, Any]
    repairs: tuple[Repair, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What one schema asks for, worked out at the first call."""

    validator: Validator
    fits: Callable[[Any], bool]
    names: frozenset[str]
    required: tuple[str, ...]
    defaults: tuple[tuple[str, Any, bool], ...]
    integers: bool
    forbidden: frozenset[str]
    spellings: Mapping[str, str]
    notes: tuple[str, ...]


class Binder:
    """Binds the calls of one tool. Cheap to make; its schema is read at the first call. Safe to share between threads.

    strict: an unknown argument is always an error, never dropped.
    """

    __slots__ = ("_plan", "_spec", "_strict")

    def __init__(self, spec: ToolSpec, *, strict: bool = False) -> None:
        self._spec = spec
        self._strict = strict
        self._plan: _Plan | None = None

    def bind(self, arguments: Mapping[str, Any] | str | bytes | None, *, program: bool = False) -> Bound:
        """The arguments repaired, checked and completed. The given ones are never changed.

        program: they come from a program, where an unknown argument is always an error.
        Raises InvalidArguments naming parameter, what came and what is wanted; ToolUnavailable when the tool's own
        schema cannot be used.
        """
        plan = self._plan or self._compile()
        given: Any = arguments
        if _kind(given) is dict and given.keys() <= plan.names and self._is_common(plan, given):
            filled: dict[str, Any] = dict(given)
            for name, value, mutable in plan.defaults:
                if name not in filled:
                    filled[name] = copy.deepcopy(value) if mutable else value
            return Bound(arguments=filled, notes=plan.notes)
        return self._carefully(plan, given, program)

    def positional(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call in a program, under the schema's names, still to be bound.

        Positions follow the order of properties; a keyword is the real name or its Python spelling (`from_`, `cik_A`).
        Raises InvalidArguments when there are too many positions, or a parameter is given twice.
        """
        plan = self._plan or self._compile()
        spellings = plan.spellings
        if len(args) > len(spellings):
            few = f"{len(spellings)} argument{'' if len(spellings) == 1 else 's'}"
            raise self._invalid([f"takes {few} by position, got {len(args)}"])
        given = dict(zip(spellings.values(), args, strict=False))
        for name, value in kwargs.items():
            real = spellings.get(name, name)
            if real in given:
                raise self._invalid([f"{real!r} is given twice"])
            given[real] = value
        return given

    def _is_common(self, plan: _Plan, arguments: Mapping[Any, Any]) -> bool:
        """Whether the arguments are plain data that fit as they are: the way nearly every call takes."""
        for value in arguments.values():
            kind = _kind(value)
            if kind in _SCALARS:
                continue
            if kind is float:
                if plan.integers and value.is_integer():
                    return False
            elif not _is_plain(value, 0) or (plan.integers and has_whole_float(value)):
                return False
        try:
            return plan.fits(arguments)
        except ValueError:
            return False

    def _carefully(self, plan: _Plan, arguments: Any, program: bool) -> Bound:
        repairs: list[Repair] = []
        given = self._read(arguments, repairs)
        self._drop_unknown(plan, given, program, repairs)
        mender = Mender(plan.validator)
        given = mender.mend(given)
        repairs += mender.repairs
        filled = dict(given)
        for name, value, mutable in plan.defaults:
            if name not in filled:
                filled[name] = copy.deepcopy(value) if mutable else value
        checked = given if all(name in given for name in plan.required) else _with(given, filled, plan.required)
        found = faults(plan.validator, checked)
        if found:
            raise self._invalid(found)
        return Bound(arguments=filled, repairs=tuple(repairs), notes=plan.notes)

    def _read(self, arguments: Any, repairs: list[Repair]) -> dict[str, Any]:
        if arguments is None or isinstance(arguments, (str, bytes, bytearray)):
            try:
                given, repair = parse_arguments(arguments)
            except InvalidArguments as error:
                raise self._invalid([str(error)]) from None
            if repair is not None:
                repairs.append(repair)
        elif isinstance(arguments, Mapping):
            given = cast(Mapping[str, Any], arguments)
        else:
            raise self._invalid([f"the arguments must be an object, not {short(arguments)}"])
        try:
            return cast(dict[str, Any], _plain(given, ()))
        except _NotPlainError as error:
            raise self._invalid([str(error)]) from None

    def _drop_unknown(self, plan: _Plan, given: dict[str, Any], program: bool, repairs: list[Repair]) -> None:
        for name in plan.forbidden & given.keys():
            repairs.append(Repair(path=name, rule="host_only", before=short(given.pop(name))))
        if self._spec.accepts_extra or "patternProperties" in self._spec.input_schema:
            return
        unknown = [name for name in given if name not in plan.names]
        if not unknown:
            return
        absent = [name for name in plan.spellings.values() if name not in given]
        found: list[str] = []
        for name in unknown:
            meant = _nearest(name, absent)
            if meant:
                found.append(f"unknown parameter {name!r}: did you mean {meant!r}?")
            elif self._strict or program:
                found.append(f"unknown parameter {name!r}")
        if found:
            raise self._invalid(found)
        for name in unknown:
            repairs.append(Repair(path=readable((name,)), rule="dropped", before=given.pop(name)))

    def _invalid(self, found: Iterable[str]) -> InvalidArguments:
        takes = parameters(self._spec)
        return InvalidArguments(f"{'; '.join(found)}\n{self._spec.name} takes: {takes or 'no arguments'}")

    def _compile(self) -> _Plan:
        spec = self._spec
        validator = Validator(spec.input_schema, spec.untyped)
        try:
            schema, fits = validator.schema, validator.fits
        except SchemaError as error:
            raise ToolUnavailable(f"{spec.qualified} cannot be called: its schema cannot be used: {error}") from error
        properties = cast(Mapping[str, Any], schema.get("properties") or {})
        required = cast(Sequence[str], schema["required"]) if is_list(schema.get("required")) else ()
        names = _known(schema)
        plan = _Plan(
            validator=validator,
            fits=fits,
            names=names,
            required=tuple(required),
            defaults=tuple(self._defaults(validator)),
            integers="integer" in repr(schema),
            forbidden=(HOST_ONLY | (spec.hidden - {"**"})) - names,
            spellings=parameter_names(properties),
            notes=validator.notes,
        )
        self._plan = plan
        return plan

    def _defaults(self, validator: Validator) -> Iterable[tuple[str, Any, bool]]:
        """Every default to fill in: the value, and whether it needs a copy for each call (RUN-02).

        A default that does not fit its own schema is not sent to a tool that runs elsewhere, which would refuse it.
        """
        known = cast(Mapping[str, Any], self._spec.input_schema.get("properties") or {})
        for name, schema in known.items():
            if not isinstance(schema, Mapping) or "default" not in schema:
                continue
            value = cast(Any, schema["default"])
            if self._spec.origin.kind in _LOCAL or validator.fits_at(("properties", name), value) is not False:
                yield name, value, type(value) not in _SCALARS and type(value) is not float


def _with(given: dict[str, Any], filled: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {**given, **{name: filled[name] for name in names if name in filled}}


def _known(schema: Mapping[str, Any]) -> frozenset[str]:
    """Every property a schema speaks of at its top level, through references and combinations."""
    names: set[str] = set()
    pending: list[Any] = [schema]
    seen: set[int] = set()
    while pending:
        node, _ = follow(schema, pending.pop(), ())
        if not isinstance(node, Mapping) or id(cast(Any, node)) in seen:
            continue
        found = cast(Mapping[str, Any], node)
        seen.add(id(found))
        names.update(cast(Mapping[str, Any], found.get("properties") or {}))
        pending += [
            child
            for place, child in children(found)
            if place[0] in ("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")
        ]
    return frozenset(names)


def _nearest(name: str, candidates: Sequence[str]) -> str | None:
    """The parameter that this name was meant to be: a close spelling, or one that contains it or is contained by it."""
    import difflib

    folded = {candidate: _letters(candidate) for candidate in candidates}
    wanted = _letters(name)
    for candidate, text in folded.items():
        shorter, longer = sorted((text, wanted), key=len)
        # three letters at least: "a" stands in nearly every word; a shorter one must be a whole word of the other
        one, other = _words(name), _words(candidate)
        if (len(shorter) >= 3 and shorter in longer) or one <= other or other <= one:
            return candidate
    close = difflib.get_close_matches(wanted, list(folded.values()), n=1, cutoff=0.7)
    return next(candidate for candidate, text in folded.items() if text == close[0]) if close else None


def _letters(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _words(name: str) -> set[str]:
    spaced = "".join(f" {letter}" if letter.isupper() else letter if letter.isalnum() else " " for letter in name)
    return set(spaced.casefold().split())


class _NotPlainError(Exception):
    """An argument that no JSON text could hold."""


def _is_plain(value: Any, depth: int) -> bool:
    kind = _kind(value)
    if kind in _SCALARS:
        return True
    if kind is float:
        return math.isfinite(value)
    if depth < DEPTH:
        if kind is list:
            return all(_is_plain(item, depth + 1) for item in value)
        if kind is dict:
            return all(type(key) is str and _is_plain(item, depth + 1) for key, item in value.items())
    return False


def _plain(value: Any, path: tuple[str | int, ...]) -> Any:
    """Plain data: tuples as lists, subclasses of plain types as these, containers fresh. Raises _NotPlainError."""
    kind = _kind(value)
    if kind in _SCALARS or kind is float:
        return value
    if len(path) > DEPTH:
        raise _NotPlainError(f"{readable(path[:3])}...: nested deeper than {DEPTH} levels")
    if isinstance(value, Mapping):
        found: dict[str, Any] = {}
        for key, item in cast(Mapping[Any, Any], value).items():
            if not isinstance(key, str):
                raise _NotPlainError(f"{readable(path) or 'the arguments'}: the key {short(key)} is not text")
            found[str.__str__(key)] = _plain(item, (*path, key))
        return found
    if isinstance(value, (list, tuple)):
        return [_plain(item, (*path, index)) for index, item in enumerate(cast(Sequence[Any], value))]
    if isinstance(value, str):
        return str.__str__(value)  # str() would ask an Enum for its name
    if isinstance(value, (int, float)):
        return int(value) if isinstance(value, int) else float(value)
    raise _NotPlainError(f"{readable(path)}: {short(value)} is of type {type(value).__name__}, which JSON cannot hold")
