"""The names both readers know: builtins, typing, and the library types that have a JSON form (SCH-03, SCH-04).

`bare` answers for a name alone (`list`), `generic` for a name with arguments (`list[int]`). A name is written in full,
`module.name`; where the same type has several homes (typing, typing_extensions, collections.abc) all are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .shapes import NULL, Anything, Array, Fixed, Keyed, Limits, Mark, Marked, Scalar, Shape, Unknown, either, refined

ABSTRACT_HOMES = {"builtins", "typing", "typing_extensions", "collections", "collections.abc", "_collections_abc"}

ARRAYS = {
    "list", "List", "Sequence", "MutableSequence", "Iterable", "Collection", "Container", "Reversible", "deque", "Deque"
}  # fmt: skip
SETS = {"set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"}
MAPS = {
    "dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict", "Counter", "ChainMap"
}  # fmt: skip
TUPLES = {"tuple", "Tuple"}
MARKS: dict[str, Mark] = {
    "Required": "required",
    "NotRequired": "not_required",
    "ClassVar": "class_var",
    "InitVar": "init_var",
    "KW_ONLY": "kw_only",
}
PASS_THROUGH = {"Final", "ReadOnly", "Unpack"}

# a JSON type, or (JSON type, format); the live class then makes the value
SCALARS: dict[str, str | tuple[str, str]] = {
    "builtins.int": "integer",
    "builtins.float": "number",
    "builtins.bool": "boolean",
    "builtins.str": "string",
    "builtins.bytes": ("string", "binary"),
    "builtins.bytearray": ("string", "binary"),
    "typing.Text": "string",
    "typing.LiteralString": "string",
    "typing.AnyStr": "string",
    "numbers.Number": "number",
    "numbers.Complex": "number",
    "numbers.Real": "number",
    "numbers.Rational": "number",
    "numbers.Integral": "integer",
    "datetime.datetime": ("string", "date-time"),
    "datetime.date": ("string", "date"),
    "datetime.time": ("string", "time"),
    "datetime.timedelta": ("string", "duration"),
    "decimal.Decimal": ("number", "decimal"),
    "uuid.UUID": ("string", "uuid"),
    "os.PathLike": ("string", "path"),
    "ipaddress.IPv4Address": ("string", "ipv4"),
    "ipaddress.IPv6Address": ("string", "ipv6"),
    "pydantic.EmailStr": ("string", "email"),
    "pydantic.SecretStr": ("string", "password"),
    "pydantic.AnyUrl": ("string", "uri"),
    "pydantic.AnyHttpUrl": ("string", "uri"),
    "pydantic.HttpUrl": ("string", "uri"),
    "pydantic.FilePath": ("string", "path"),
    "pydantic.DirectoryPath": ("string", "path"),
    "pydantic.NewPath": ("string", "path"),
    "pydantic.StrictStr": "string",
    "pydantic.StrictInt": "integer",
    "pydantic.StrictFloat": "number",
    "pydantic.StrictBool": "boolean",
    **{
        f"pathlib.{name}": ("string", "path")
        for name in ("Path", "PurePath", "PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")
    },
}
BOUNDED: dict[str, tuple[str, dict[str, Any]]] = {
    f"pydantic.{sign}{kind}": (json, dict(bounds))
    for kind, json in (("Int", "integer"), ("Float", "number"))
    for sign, bounds in (
        ("Positive", {"gt": 0}),
        ("Negative", {"lt": 0}),
        ("NonNegative", {"ge": 0}),
        ("NonPositive", {"le": 0}),
    )
}
CONSTRAINED = {"pydantic.conint": "integer", "pydantic.confloat": "number", "pydantic.constr": "string"}

# names the readers ask for that are no types by themselves
SPECIAL = {
    *(f"typing.{name}" for name in ("Literal", "Annotated", "Optional", "Union", "NewType", "TypeVar")),
    *(f"typing.{name}" for name in ("NamedTuple", "TypedDict")),
    *(f"enum.{name}" for name in ("Enum", "IntEnum", "StrEnum", "ReprEnum", "Flag", "IntFlag", "auto", "nonmember")),
    *("dataclasses.dataclass", "dataclasses.field", "collections.namedtuple"),
    *("pydantic.BaseModel", "pydantic.RootModel", "pydantic.Field", *CONSTRAINED),
}

# LCP's words for types that Python does not have (SCH-03); annotations that are not evaluated may use them
LOOSE = {"number": "numbers.Number", "array": "builtins.list"}


def canonical(name: str) -> str:
    """One spelling for a type with several homes."""
    module, _, last = name.rpartition(".")
    if module == "typing_extensions":
        return f"typing.{last}"
    if module.startswith("pathlib"):  # pathlib._local from 3.13
        return f"pathlib.{last}"
    if module.startswith("pydantic.") and not module.startswith("pydantic.dataclasses"):
        return f"pydantic.{last}"
    return name


def bare(name: str, make: Any = None) -> Shape | None:
    """The shape of a name without arguments; None when this module does not know it."""
    name = canonical(name)
    scalar = SCALARS.get(name)
    if scalar is not None:
        kind, form = (scalar, None) if isinstance(scalar, str) else scalar
        return Scalar(kind, form, make if form else None)
    if name in BOUNDED:
        kind, bounds = BOUNDED[name]
        return refined(Scalar(kind), Limits(bounds=bounds))
    module, _, last = name.rpartition(".")
    if name == "builtins.object":
        return Keyed()
    if name in ("typing.Any", "typing.Hashable"):
        return Anything()
    if module in ABSTRACT_HOMES or module == "dataclasses":
        if last in MARKS and module != "builtins":
            return Marked(Anything(), MARKS[last])
        if last in PASS_THROUGH and module != "builtins":
            return Anything()
        if last in ARRAYS:
            return Array(make=make)
        if last in SETS:
            return Array(unique=True, make=make)
        if last in TUPLES:
            return Array(make=tuple)
        if last == "Counter":
            return Keyed(values=Scalar("integer"), make=make)
        if last in MAPS:
            return Keyed(make=make)
    return NULL if name in ("builtins.None", "types.NoneType") else None


def generic(name: str, args: Sequence[Shape | None], make: Any = None) -> Shape | None:
    """The shape of `name[args]`, an Ellipsis among the args being None; None when this module does not know it."""
    name = canonical(name)
    module, _, last = name.rpartition(".")
    shapes = [Anything() if arg is None else arg for arg in args]
    if module == "typing" and last == "Optional":
        return either([*shapes, NULL])
    if module == "typing" and last == "Union":
        return either(shapes)
    plain = bare(name, make)
    if plain is None:
        return None
    first = shapes[0] if shapes else None
    if last in TUPLES and module in ABSTRACT_HOMES:
        if len(args) == 2 and args[1] is None:
            return Array(shapes[0], make=tuple)
        return Unknown(name) if None in args else Fixed(tuple(shapes))
    if isinstance(plain, Marked):
        return Marked(first, plain.mark) if first else plain
    if last in PASS_THROUGH:
        return first
    if isinstance(plain, Array):
        return Array(first, plain.unique, make)
    if isinstance(plain, Keyed) and last != "object":
        return Keyed(plain.values or (shapes[1] if len(shapes) > 1 else None), first, make)
    return plain
