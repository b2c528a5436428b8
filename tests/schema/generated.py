"""Python source of functions with arbitrary signatures, for the property that files and live functions agree."""

from __future__ import annotations

import functools
import sys
import types

from hypothesis import strategies as st

PRELUDE = '''
import collections
import datetime
import datetime as dt
import decimal
import enum
import functools
import os
import typing
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import (
    TYPE_CHECKING, Annotated, Any, Callable, ClassVar, Dict, FrozenSet, List, Literal, NamedTuple, NewType, Optional,
    Tuple, TypeAlias, TypeVar, Union,
)
from uuid import UUID

import annotated_types
from pydantic import BaseModel, ConfigDict, Field, PositiveInt, conint
from typing_extensions import Doc, NotRequired, Required, TypedDict

if TYPE_CHECKING:
    from fractions import Fraction

MAX = 10
SENT = object()
Ids = list[int]
Json: TypeAlias = "dict[str, Json] | list[Json] | str"
UserId = NewType("UserId", int)
T = TypeVar("T", bound=int)
Open = TypeVar("Open")
Pair = collections.namedtuple("Pair", "left right")
Shade = Enum("Shade", "DARK LIGHT")
Opts = TypedDict("Opts", {"a": int, "b-c": NotRequired[str]}, total=True)


class Color(Enum):
    RED = "red"
    BLUE = "blue"
    CRIMSON = "red"

    def shout(self):
        return self.name


class Level(IntEnum):
    LOW = enum.auto()
    HIGH = enum.auto()


class Planet(Enum):
    EARTH = (1.0, 2.0)


class Odd(Enum):
    NAN = float("nan")


class Mode(enum.StrEnum):
    READ = enum.auto()


class Bits(enum.Flag):
    A = 1
    B = 2


class Plain:
    """Nothing a schema could say."""


@dataclass
class Point:
    """A place.

    Not part of the description.
    """

    x: int
    y: "float" = 2.0
    tags: list[str] = field(default_factory=list)
    hidden: int = field(default=0, init=False)
    count: ClassVar[int] = 0
    start: InitVar[int] = 1
    _: KW_ONLY
    label: Annotated[str, "what it is called"] = "here"


@dataclass
class Deep(Point):
    color: Color = Color.RED
    near: "Optional[Deep]" = None
    plain: Plain | None = None


class Spot(NamedTuple):
    lat: float
    lon: float = 0.0
    kind: "Color" = Color.BLUE


class Base(TypedDict):
    one: int


class Part(Base, total=False):
    """Some of it."""

    two: "Required[list[Point]]"
    three: NotRequired[Annotated[int, Field(ge=3)]]
    four: Color


class Model(BaseModel):
    """A model.

    More of it."""

    model_config = ConfigDict(extra="forbid")
    size: int = Field(ge=1, lt=9, description="how big", examples=[3])
    name: Annotated[str, Field(min_length=2, pattern="^a")] = "ab"
    kids: "list[Model]" = Field(default_factory=list)
    other: dict[str, Point] = {}
    via: str = Field("x", alias="from")
    maybe: Optional[datetime.date] = None
    _secret: int = 3


class Wider(Model):
    model_config = {"extra": "ignore"}
    more: set[Decimal]


class Taker(BaseModel):
    model_config = ConfigDict(extra="allow")
    kind: Literal["t"]
'''

ATOMS = [
    "int", "float", "bool", "str", "bytes", "list", "dict", "tuple", "set", "frozenset", "object", "None", "complex",
    "Any", "typing.Any", "List", "Dict", "Tuple", "Sequence", "Mapping", "Callable", "Callable[[int], str]", "type",
    "Path", "datetime.datetime", "dt.date", "datetime.timedelta", "Decimal", "decimal.Decimal", "UUID", "uuid.UUID",
    "os.PathLike", "Literal['a', 'b']", "Literal[1, 'x', None]", "Literal[True, 1]", "Literal[Color.RED]",
    "Literal[Literal['q'], 'r']", "Color", "Level", "Planet", "Odd", "Mode", "Bits", "Shade", "Plain", "Point", "Deep",
    "Spot",
    "Pair", "Part", "Opts", "Model", "Wider", "Taker", "Ids", "Json", "UserId", "T", "Open", "PositiveInt",
    "conint(ge=2, lt=MAX)",
    "tuple[()]", "collections.OrderedDict", "collections.deque", "type[int]", "functools.partial",
]  # fmt: skip
WRAPPERS = [
    "list[{0}]", "List[{0}]", "Optional[{0}]", "{0} | None", "Union[{0}, {1}]", "dict[str, {0}]", "Dict[{1}, {0}]",
    "tuple[{0}, {1}]", "tuple[{0}, ...]", "Tuple[{0}]", "set[{0}]", "FrozenSet[{0}]", "Iterable[{0}]",
    "Mapping[str, {0}]",
    "Annotated[{0}, 'some words']", "Annotated[{0}, Field(ge=1, le=MAX, description='in the annotation')]",
    "Annotated[{0}, annotated_types.Gt(0), annotated_types.Len(1, 5), Doc('documented')]",
    "Annotated[{0}, annotated_types.Interval(ge=0, lt=2.5), object()]",
    "Annotated[{0}, Field(min_length=1, max_length=4, pattern='^x', examples=['xx'], title='T')]",
    "collections.defaultdict[str, {0}]", "collections.Counter[str]", "typing.Union[{0}, {1}, None]",
]  # fmt: skip
# names that do not exist when the file runs: only legal in annotations that are not evaluated
LOOSE = ["number", "array", "Fraction", "Missing", "missing.Thing", "list[Missing]", "Optional[Fraction]", "Later"]
LATER = """

@dataclass
class Later:
    when: datetime.datetime
    parts: "list[Later]" = field(default_factory=list)
"""

DEFAULTS = [
    "None", "1", "-5", "1e3", "'x'", "''", "True", "[]", "{}", "[1, 'a', None]", "{'a': [1]}", "()", "(1, 2)", "{1, 2}",
    "b'by'", "1j", "...", "Color.RED", "Level.HIGH", "Mode.READ", "Planet.EARTH", "MAX", "-MAX", "10 ** 6", "'a' + 'b'",
    "f'{1}'", "SENT", "Point(1)", "Path('x')", "os.getcwd()", "lambda x: x", "float('nan')", "len", "Plain", "{1: 2}",
    "Field(3, ge=1)", "Field(default='x', description='in the field')", "Field(default_factory=list, max_length=3)",
    "Field(MAX)", "Field(..., description='must be given')", "frozenset()", "((1, 2), 3)", "'it\\'s'", "\"a\\nb\"",
]  # fmt: skip

DOCSTRINGS = [
    "",
    '"""One line."""',
    '"""First.\n\n    Args:\n        a (int): the a\n            goes on\n        b: the b\n    """',
    '"""First\n    goes on.\n    Args:\n        a: the a\n        k: no\n    Returns:\n        b: no\n    """',
    '"""First.\n\n    Parameters\n    ----------\n    a : int\n        the a\n    b, c : str\n        both\n    """',
    '"""First.\n\n    :param a: the a\n        goes on\n    :param int b: the b\n    :returns: c: no\n    """',
    '"""First.\n   \n    a: the a\n    b - the b\n    Note: this is prose\n    """',
    '"""a: the first line."""',
    '"""\n\n    Args:\n        a: only this\n    """',
    "'''Single.\\n\\n:param a: escaped'''",
]


def annotations(loose: bool) -> st.SearchStrategy[str]:
    atoms = st.sampled_from(ATOMS + LOOSE if loose else ATOMS)
    quoted = atoms.filter(lambda text: "'" not in text and "|" not in text).map(repr)
    nested = st.recursive(
        atoms | quoted,
        lambda inner: st.tuples(st.sampled_from(WRAPPERS), inner, inner).map(
            lambda parts: parts[0].format(parts[1], parts[2])
        ),
        max_leaves=4,
    )
    return nested if loose else nested.filter(_evaluates)


def _evaluates(text: str) -> bool:
    """Whether the text is legal as an annotation that Python evaluates: `"A" | None` is not."""
    try:
        eval(text, _names())
    except TypeError:
        return False
    return True


@functools.cache
def _names() -> dict[str, object]:
    module = types.ModuleType("sutler_generated_names")
    sys.modules[module.__name__] = module  # dataclass looks its strings up there
    exec(PRELUDE, module.__dict__)
    return module.__dict__


@st.composite
def functions(draw: st.DrawFn) -> str:
    """The text of a file with one function `tool_it`."""
    future = draw(st.booleans())
    names = iter(["a", "b", "c", "d", "e", "args", "kwargs"])
    groups = [draw(st.integers(0, 2)), draw(st.integers(0, 3)), draw(st.integers(0, 2))]
    defaulted = False
    parts: list[str] = []

    def parameter(keyword_only: bool) -> str:
        nonlocal defaulted
        text = next(names)
        annotation = draw(st.none() | annotations(future))
        text += f": {annotation}" if annotation is not None else ""
        if draw(st.booleans()) or (defaulted and not keyword_only):
            defaulted = defaulted or not keyword_only
            text += f" = {draw(st.sampled_from(DEFAULTS))}"
        return text

    parts.extend(parameter(False) for _ in range(groups[0]))
    if parts:
        parts.append("/")
    parts.extend(parameter(False) for _ in range(groups[1]))
    if draw(st.booleans()):
        parts.append("tool_context=None")
        defaulted = True
    keywords = [parameter(True) for _ in range(groups[2])]
    if draw(st.booleans()):
        parts.append("*rest")
    elif keywords:
        parts.append("*")
    parts.extend(keywords)
    if draw(st.booleans()):
        parts.append("**more")
    returns = draw(st.sampled_from(["", " -> int", " -> dict", " -> Point", " -> 'Model'", " -> Part", " -> Spot"]))
    head = draw(st.sampled_from(["def", "async def"]))
    decorator = draw(
        st.sampled_from(["", "", "@sutler.tool\n", "@sutler.tool(read_only=True, name='renamed', timeout=3)\n"])
    )
    document = draw(st.sampled_from(DOCSTRINGS))
    body = f"    {document or 'pass'}\n"
    function = f"{decorator}{head} tool_it({', '.join(parts)}){returns}:\n{body}"
    start = "from __future__ import annotations\n" if future else ""
    return f"{start}import sutler\n{PRELUDE}{function}{LATER}"
