"""JSON values -> what the live annotation says: Path, datetime, Enum, set, dataclass, pydantic model (SCH-04, FH07).

The same shapes that made the schema make the values, so what the schema lets in can be converted. A value that is
already of its type is left alone. A text for bytes is its UTF-8; one that begins with `base64:` is decoded.
"""

from __future__ import annotations

import base64
import binascii
import collections
import datetime
from collections.abc import Callable, Mapping, MutableSet, Set
from pathlib import Path
from typing import Any, cast

from ..errors import InvalidArguments
from .from_callable import namespace_of, signature_of, target_of
from .live import Reader, is_field_info, limits_of_object
from .shapes import (
    NO_LIMITS,
    Anything,
    Array,
    Choice,
    Either,
    Fixed,
    Keyed,
    Marked,
    Record,
    Refined,
    Scalar,
    Shape,
    Unknown,
    bare,
    limits_of,
)
from .signature import HOST_PARAMETERS
from .values import spelled

Convert = Callable[[Any], Any]
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


class _MisfitError(Exception):
    """A value that cannot become what is wanted. `path` is where it stands below the parameter."""

    def __init__(self, wanted: str, value: Any, why: str = "", path: str = "") -> None:
        self.wanted, self.value, self.why, self.path = wanted, value, why, path
        super().__init__(wanted)

    def below(self, step: str) -> _MisfitError:
        return _MisfitError(self.wanted, self.value, self.why, f"{step}{self.path}")


def converter(fn: Callable[..., Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]] | None:
    """What turns the arguments of `fn`, by name, into what its annotations say; None when all of them are plain JSON.

    `Field(default=...)` and `Field(default_factory=...)` are filled in for arguments that are not there. The result
    raises InvalidArguments naming the parameter, what came and what is wanted.
    """
    try:
        parameters = signature_of(fn)
    except TypeError:
        return None
    reader = Reader(namespace_of(target_of(fn)))
    plans = _Plans()
    converts: dict[str, Convert] = {}
    fills: dict[str, Callable[[Mapping[str, Any]], Any] | None] = {}
    for one in parameters.values():
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) or one.name in HOST_PARAMETERS:
            continue
        shape = Anything() if one.annotation is one.empty else reader.read(one.annotation)
        plan = plans.of(shape)
        if plan is not None:
            converts[one.name] = plan
        limits = limits_of_object(one.default) if is_field_info(one.default) else NO_LIMITS
        if is_field_info(one.default) or (one.default is one.empty and limits_of(shape).fill is not None):
            fills[one.name] = limits.fill or limits_of(shape).fill
    if not converts and not fills:
        return None

    def convert(arguments: Mapping[str, Any]) -> dict[str, Any]:
        given = dict(arguments)
        for name, plan in converts.items():
            if name in given:
                given[name] = _converted(name, given[name], plan)
        for name, fill in fills.items():
            if name not in given:
                if fill is None:
                    raise InvalidArguments(f"the argument `{name}` is missing")
                given[name] = fill(given)
        return given

    return convert


def _converted(name: str, value: Any, plan: Convert) -> Any:
    try:
        return plan(value)
    except _MisfitError as misfit:
        why = f" ({misfit.why})" if misfit.why else ""
        raise InvalidArguments(
            f"the argument `{name}{misfit.path}` must be {misfit.wanted}, not {spelled(misfit.value)}{why}"
        ) from None


class _Plans:
    """The conversions of one function's shapes; None stands for a shape whose JSON value is its value."""

    def __init__(self) -> None:
        self._records: dict[int, Convert | None] = {}

    def of(self, shape: Shape) -> Convert | None:
        match shape:
            case Anything() | Unknown():
                return None
            case Scalar():
                return None if shape.make is None else _leaf(shape)
            case Choice():
                return None if shape.make is None else _member(shape)
            case Array():
                return self._array(shape)
            case Fixed():
                return self._fixed(shape)
            case Keyed():
                return self._keyed(shape)
            case Either():
                return self._either(shape)
            case Refined() | Marked():
                return self.of(shape.inner)
            case Record():
                return self._record(shape)

    def _array(self, shape: Array) -> Convert | None:
        item = None if shape.items is None else self.of(shape.items)
        make = CONTAINERS.get(shape.make)
        if item is None and make is None:
            return None

        def array(value: Any) -> Any:
            if make is not None and item is None and isinstance(value, make):
                return value
            if isinstance(value, str | Mapping) or not hasattr(value, "__iter__"):
                raise _MisfitError("a list", value)
            items = [_at(item, one, f"[{index}]") for index, one in enumerate(value)]
            try:
                return items if make is None else make(items)
            except TypeError as error:  # what cannot be in a set
                raise _MisfitError(f"a {make.__name__ if make else 'list'}", value, str(error)) from None

        return array

    def _fixed(self, shape: Fixed) -> Convert:
        plans = [self.of(item) for item in shape.items]

        def fixed(value: Any) -> Any:
            if not isinstance(value, list | tuple) or len(cast("list[Any]", value)) != len(plans):
                raise _MisfitError(f"a list of {len(plans)} items", value)
            items = cast("list[Any]", value)
            return tuple(
                _at(plan, one, f"[{index}]") for index, (plan, one) in enumerate(zip(plans, items, strict=True))
            )

        return fixed

    def _keyed(self, shape: Keyed) -> Convert | None:
        values = None if shape.values is None else self.of(shape.values)
        keys = None if shape.keys is None else _key(shape.keys) or self.of(shape.keys)
        make = MAPPINGS.get(shape.make)
        if values is None and keys is None and make is None:
            return None

        def keyed(value: Any) -> Any:
            if not isinstance(value, Mapping):
                raise _MisfitError("an object", value)
            pairs = cast("Mapping[Any, Any]", value).items()
            made = {_at(keys, key, f".{key}"): _at(values, one, f".{key}") for key, one in pairs}
            return made if make is None else make(made)

        return keyed

    def _either(self, shape: Either) -> Convert | None:
        plans = [(option, self.of(option)) for option in shape.options]
        if all(plan is None for _, plan in plans):
            return None
        names = " or ".join(_words(option) for option in shape.options)

        def either(value: Any) -> Any:
            misfit: _MisfitError | None = None
            for option, plan in plans:
                if not fits(option, value):
                    continue
                try:
                    return value if plan is None else plan(value)
                except _MisfitError as error:
                    misfit = misfit or error
            raise misfit or _MisfitError(names, value)

        return either

    def _record(self, shape: Record) -> Convert | None:
        key = id(shape)
        if key in self._records:  # also while it is being planned: a class that holds itself
            return self._records[key]
        self._records[key] = lambda value: made(value)
        plans = {field.name: (field.attribute, self.of(field.shape)) for field in shape.fields}
        if shape.kind == "typeddict" and not any(
            plan is not None and plan is not self._records[key] for _, plan in plans.values()
        ):
            self._records[key] = None
            return None

        def made(value: Any) -> Any:
            if shape.kind != "typeddict" and isinstance(value, shape.make):
                return value
            if not isinstance(value, Mapping):
                raise _MisfitError(f"an object ({shape.name})", value)
            given = cast("Mapping[str, Any]", value)
            if shape.kind == "model":
                return _validated(shape.make.model_validate, given, shape.name)
            fields: dict[str, Any] = {}
            for name, one in given.items():
                attribute, plan = plans.get(name, (name, None))
                fields[attribute] = _at(plan, one, f".{name}")
            if shape.kind == "typeddict":
                return fields
            return _validated(lambda _: shape.make(**fields), value, shape.name)

        return self._records[key]


CONTAINERS: dict[Any, Any] = {
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    collections.deque: collections.deque,
    Set: frozenset,
    MutableSet: set,
}
MAPPINGS: dict[Any, Any] = {
    collections.OrderedDict: collections.OrderedDict,
    collections.Counter: collections.Counter,
    collections.ChainMap: collections.ChainMap,
    collections.defaultdict: lambda value: collections.defaultdict(None, value),  # type: ignore[reportUnknownLambdaType]
}


def fits(shape: Shape, value: Any) -> bool:
    """Whether a JSON value, or one that is already converted, may be of a shape: the outside of it only."""
    shape = bare(shape)
    match shape:
        case Scalar():
            if isinstance(value, bool):
                return shape.type == "boolean"
            made = shape.make is not None and isinstance(shape.make, type) and isinstance(value, shape.make)
            return (
                made
                or isinstance(value, PYTHON_TYPES[shape.type])
                or (shape.format == "decimal" and isinstance(value, str))
            )
        case Choice():
            if shape.make is not None and isinstance(value, shape.make):
                return True
            return any(type(one) is type(value) and one == value for one in shape.values)
        case Array() | Fixed():
            return isinstance(value, list | tuple | set | frozenset | collections.deque)
        case Keyed():
            return isinstance(value, Mapping)
        case Record():
            if not isinstance(value, Mapping):
                return shape.kind != "typeddict" and isinstance(value, shape.make)
            given = cast("Mapping[str, Any]", value)
            known = {field.name for field in shape.fields}
            enough = all(field.name in given for field in shape.fields if field.required)
            return enough and (shape.extra is not False or known.issuperset(given))
        case Either():
            return any(fits(option, value) for option in shape.options)
        case _:
            return True


def _leaf(shape: Scalar) -> Convert:
    make: Any = shape.make
    read: Any = _READERS.get(shape.format or "", make)
    if getattr(make, "__module__", "").startswith("pydantic") or shape.format == "duration":
        read = _adapted(make)
    elif shape.format == "path":
        read = make if isinstance(make, type) and make.__module__.startswith("pathlib") else Path
    elif shape.format == "binary":
        read = _bytes if make is bytes else _bytearray
    taken = (str, int, float) if shape.format == "decimal" else (str,)
    wanted = f"a {shape.format} ({getattr(make, '__name__', make)})"

    def leaf(value: Any) -> Any:
        if isinstance(make, type) and isinstance(value, make):
            return value
        if isinstance(value, bool) or not isinstance(value, taken):
            raise _MisfitError(wanted, value)
        return _validated(read, str(value) if shape.format == "decimal" else value, wanted)

    return leaf


_READERS: dict[str, Convert] = {
    "date-time": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
}


def _bytes(text: str) -> bytes:
    if not text.startswith("base64:"):
        return text.encode("utf-8")
    try:
        return base64.b64decode(text.removeprefix("base64:"), validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from None


def _bytearray(text: str) -> bytearray:
    return bytearray(_bytes(text))


def _adapted(make: Any) -> Convert:
    adapters: list[Any] = []

    def read(value: Any) -> Any:
        if not adapters:
            from pydantic import TypeAdapter

            adapters.append(TypeAdapter(make))
        return adapters[0].validate_python(value)

    return read


def _member(shape: Choice) -> Convert:
    make = shape.make
    words = "one of " + ", ".join(spelled(value) for value in shape.values)

    def member(value: Any) -> Any:
        if isinstance(value, make):
            return value
        if not any(type(one) is type(value) and one == value for one in shape.values):
            raise _MisfitError(words, value)
        return make(value)

    return member


def _key(shape: Shape) -> Convert | None:
    """Keys are always text in JSON; those of dict[int, ...] become numbers again."""
    match bare(shape):
        case Scalar(type="integer" | "number" as kind, format=None):
            number: type[int] | type[float] = int if kind == "integer" else float
            return lambda key: _validated(number, key, "a number") if isinstance(key, str) else key
        case _:
            return None


def _at(plan: Convert | None, value: Any, step: str) -> Any:
    if plan is None:
        return value
    try:
        return plan(value)
    except _MisfitError as misfit:
        raise misfit.below(step) from None


def _validated(read: Convert, value: Any, wanted: str) -> Any:
    try:
        return read(value)
    except _MisfitError:
        raise
    except Exception as error:  # the author's own class may refuse a value in any way
        why = str(error) or type(error).__name__
        raise _MisfitError(wanted, value, " ".join(why.split())[:500]) from None


def _words(shape: Shape) -> str:
    shape = bare(shape)
    match shape:
        case Scalar():
            return shape.format or shape.type
        case Record():
            return shape.name
        case Choice():
            return "one of " + ", ".join(spelled(value) for value in shape.values)
        case Array() | Fixed():
            return "a list"
        case _:
            return "an object"
