"""What an annotation means, before it becomes JSON Schema: the one model both readers fill and one emitter reads.

A file that is never imported and a live function meet here, which is why they give the same schema (SCH-08).
`make` on a shape is the live class that a JSON value becomes (None when the shape was read from a file).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

JsonScalar: TypeAlias = "str | int | float | bool | None"
Mark = Literal["required", "not_required", "class_var", "init_var", "kw_only"]


@dataclass(frozen=True, slots=True)
class Anything:
    """Any, and what can only be called any: the empty schema."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """An annotation without a JSON form; `text` is how it was written."""

    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Scalar:
    type: str
    format: str | None = None
    make: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """A closed set of JSON scalars: a Literal, or an Enum (then `enum` is its class name)."""

    values: tuple[JsonScalar, ...]
    enum: str = ""
    make: Any = field(default=None, compare=False)

    def __eq__(self, other: object) -> bool:
        # 1 == True in Python, not in JSON
        return isinstance(other, Choice) and (self.enum, self._typed) == (other.enum, other._typed)

    def __hash__(self) -> int:
        return hash((self.enum, self._typed))

    @property
    def _typed(self) -> tuple[tuple[type, JsonScalar], ...]:
        return tuple((type(value), value) for value in self.values)


@dataclass(frozen=True, slots=True)
class Array:
    items: Shape | None = None
    unique: bool = False
    make: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A tuple of known length."""

    items: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Keyed:
    values: Shape | None = None
    keys: Shape | None = None
    make: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Either:
    options: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Refined:
    """A shape with limits and words of its own (Annotated, Field)."""

    inner: Shape
    limits: Limits


@dataclass(frozen=True, slots=True)
class Marked:
    """A shape with a note to the class it stands in (NotRequired, ClassVar, ...)."""

    inner: Shape
    mark: Mark


@dataclass(eq=False, slots=True)
class Record:
    """A class with named fields. Compared by identity: it may hold itself, so `fields` is filled after it exists."""

    name: str
    kind: Literal["dataclass", "namedtuple", "typeddict", "model"]
    fields: list[RecordField]
    doc: str = ""
    extra: bool | None = None
    make: Any = None


Shape = Anything | Unknown | Scalar | Choice | Array | Fixed | Keyed | Either | Refined | Marked | Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """A default value. `known` says whether `value` is it; else only its source text is.

    The value may hold tuples, sets and EnumMember: `as_json` decides whether it has a JSON form for its parameter.
    """

    text: str
    value: Any = None
    known: bool = False


@dataclass(frozen=True, slots=True)
class EnumMember:
    enum: str
    name: str
    value: Any

    def __repr__(self) -> str:
        return f"{self.enum}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordField:
    """`name` is the key in JSON, `attribute` what Python calls it."""

    name: str
    attribute: str
    shape: Shape
    required: bool
    default: Default | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What Annotated metadata and Field(...) say. `bounds` has pydantic's words (ge, max_length, pattern, ...)."""

    description: str = ""
    bounds: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    examples: tuple[Any, ...] = ()
    title: str = ""
    alias: str | None = None
    default: Default | None = None
    fill: Any = field(default=None, compare=False)  # live only: makes the value of an argument left out

    def __hash__(self) -> int:
        return hash((self.description, repr(self.bounds)))

    def then(self, later: Limits) -> Limits:
        """Both, the later one winning."""
        return Limits(
            description=later.description or self.description,
            bounds={**self.bounds, **later.bounds},
            examples=later.examples or self.examples,
            title=later.title or self.title,
            alias=later.alias or self.alias,
            default=later.default or self.default,
            fill=later.fill or self.fill,
        )


NULL = Scalar("null")
NO_LIMITS = Limits()


def either(options: Iterable[Shape]) -> Shape:
    """A union: flat, without repeats; any of it is any, and one unknown option leaves the whole unknown."""
    flat: list[Shape] = []
    for option in options:
        for part in option.options if isinstance(option, Either) else (option,):
            if part not in flat:
                flat.append(part)
    for part in flat:
        if isinstance(bare(part), Anything):
            return Anything()
    for part in flat:
        if isinstance(bare(part), Unknown):
            return bare(part)
    return flat[0] if len(flat) == 1 else Either(tuple(flat))


def refined(shape: Shape, limits: Limits) -> Shape:
    if limits == NO_LIMITS:
        return shape
    if isinstance(shape, Refined):
        return Refined(shape.inner, shape.limits.then(limits))
    return Refined(shape, limits)


def bare(shape: Shape) -> Shape:
    """The shape without limits and marks."""
    while isinstance(shape, Refined | Marked):
        shape = shape.inner
    return shape


def limits_of(shape: Shape) -> Limits:
    """The limits around a shape, outermost winning."""
    found = NO_LIMITS
    while isinstance(shape, Refined | Marked):
        if isinstance(shape, Refined):
            found = shape.limits.then(found)
        shape = shape.inner
    return found


def marks_of(shape: Shape) -> set[Mark]:
    found: set[Mark] = set()
    while isinstance(shape, Refined | Marked):
        if isinstance(shape, Marked):
            found.add(shape.mark)
        shape = shape.inner
    return found
