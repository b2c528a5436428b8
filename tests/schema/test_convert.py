"""JSON arguments become what live annotations say."""

from __future__ import annotations

import collections
import datetime as dt
import enum
import ipaddress
import os
import subprocess
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple, Optional
from uuid import UUID

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field, HttpUrl, SecretStr
from typing_extensions import TypedDict

from sutler.errors import InvalidArguments
from sutler.schema.convert import converter
from sutler.schema.from_callable import describe_callable


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Point:
    x: int
    when: dt.date | None = None
    near: Optional[Point] = None  # noqa: UP045 - a name in quotes takes no bar
    tags: set[str] = field(default_factory=set)


class Spot(NamedTuple):
    lat: float
    color: Color = Color.RED


class Part(typing.TypedDict):  # typing's own, which pydantic refuses before Python 3.12
    one: int
    place: Path


class Flat(TypedDict, total=False):
    one: int


class Model(BaseModel):
    size: int = Field(ge=1)
    via: str = Field("x", alias="from")
    kids: list[Model] = []


def taking(annotation: Any) -> Callable[[Any], Any]:
    """What a parameter of this annotation receives for a JSON value."""

    def tool_it(a: Any) -> Any:
        return a

    tool_it.__annotations__["a"] = annotation
    convert = converter(tool_it)
    return (lambda value: convert({"a": value})["a"]) if convert else (lambda value: value)


@pytest.mark.requirement("SCH-04")
@pytest.mark.parametrize(
    ("annotation", "given", "wanted"),
    [
        (Path, "a/b", Path("a/b")),
        (PurePosixPath, "a", PurePosixPath("a")),
        (os.PathLike, "a", Path("a")),
        (dt.datetime, "2026-01-02T03:04:05Z", dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
        (dt.date, "2026-01-02", dt.date(2026, 1, 2)),
        (dt.time, "03:04", dt.time(3, 4)),
        (dt.timedelta, "PT90S", dt.timedelta(seconds=90)),
        (Decimal, "1.10", Decimal("1.10")),
        (Decimal, 0.1, Decimal("0.1")),
        (Decimal, 3, Decimal(3)),
        (UUID, "12345678123456781234567812345678", UUID("12345678-1234-5678-1234-567812345678")),
        (bytes, "h\u00e9", "h\u00e9".encode()),
        (bytes, "base64:aGk=", b"hi"),
        (bytearray, "hi", bytearray(b"hi")),
        (ipaddress.IPv4Address, "127.0.0.1", ipaddress.IPv4Address("127.0.0.1")),
        (Color, "red", Color.RED),
        (Level, 1, Level.LOW),
        (Literal[Color.RED], "red", Color.RED),
        (set[str], ["a", "b"], {"a", "b"}),
        (frozenset, ["a"], frozenset({"a"})),
        (AbstractSet[int], [1], frozenset({1})),
        (tuple, [1, "a"], (1, "a")),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[Path, int], ["a", 1], (Path("a"), 1)),
        (collections.deque, [1], collections.deque([1])),
        (list[Path], ["a"], [Path("a")]),
        (Sequence[dt.date], ["2026-01-02"], [dt.date(2026, 1, 2)]),
        (dict[str, Path], {"k": "a"}, {"k": Path("a")}),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (dict[Color, float], {"red": 1.5}, {Color.RED: 1.5}),
        (collections.OrderedDict[str, int], {"a": 1}, collections.OrderedDict(a=1)),
        (Optional[Path], None, None),  # noqa: UP045
        (Path | None, "a", Path("a")),
        (dt.date | dt.datetime, "2026-01-02T03:04:05", dt.datetime(2026, 1, 2, 3, 4, 5)),
        (dt.datetime | str, "soon", "soon"),
        (int | Path, 3, 3),
        (Point | Path, {"x": 1}, Point(1)),
        (Annotated[Path, "where"], "a", Path("a")),
        (Point, {"x": 1, "when": "2026-01-02", "tags": ["a"]}, Point(1, dt.date(2026, 1, 2), None, {"a"})),
        (Point, {"x": 1, "near": {"x": 2, "near": {"x": 3}}}, Point(1, near=Point(2, near=Point(3)))),
        (Spot, {"lat": 1.5, "color": "blue"}, Spot(1.5, Color.BLUE)),
        (Part, {"one": 1, "place": "a"}, {"one": 1, "place": Path("a")}),
        (list[Part], [{"one": 1, "place": "a"}], [{"one": 1, "place": Path("a")}]),
        (Model, {"size": 2, "from": "y"}, Model(**{"size": 2, "from": "y"})),
        (Model, {"size": 2, "kids": [{"size": 3}]}, Model(size=2, kids=[Model(size=3)])),
        (SecretStr, "s", SecretStr("s")),
        (HttpUrl, "https://example.org/", HttpUrl("https://example.org/")),
    ],
)  # fmt: skip
def test_a_value_that_the_schema_takes_becomes_the_type(annotation: Any, given: Any, wanted: Any) -> None:
    def tool_it(a: Any) -> None: ...

    tool_it.__annotations__["a"] = annotation
    schema = describe_callable(tool_it).input_schema
    assert jsonschema_rs.is_valid(schema, {"a": given})
    received = taking(annotation)(given)
    assert received == wanted
    assert type(received) is type(wanted)
    if wanted is not None and annotation not in (dict[int, str], collections.deque):
        assert taking(annotation)(wanted) == wanted  # what already is of the type stays


@pytest.mark.requirement("SCH-04")
@pytest.mark.parametrize("value", [Path("a"), dt.datetime(2026, 1, 2), Color.RED, Point(1), Model(size=1), {1, 2}])
def test_a_value_that_already_is_of_its_type_is_the_very_same(value: Any) -> None:
    assert taking(type(value))(value) is value


@pytest.mark.requirement("SCH-04")
def test_a_function_of_plain_json_types_has_no_converter() -> None:
    def tool_it(
        a: int, b: str | None, c: list[int], d: dict[str, Any], e: Literal["x", 1], f: Flat, g, *h: Path, i: Any = 1,
        j: list[Flat] | None = None, k: Sequence[str] = (), m: Mapping[str, int] = {}, tool_context: Path | None = None,
        **n: Path,
    ) -> None: ...  # fmt: skip

    assert converter(tool_it) is None
    assert converter(max) is None


@pytest.mark.requirement("SCH-09")
def test_an_annotation_without_a_json_form_leaves_the_value_untouched() -> None:
    def tool_it(a: Callable[[], int], b: list[re.Pattern], c: Path) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    convert = converter(tool_it)
    assert convert is not None
    value = object()
    assert convert({"a": value, "b": [value], "c": "x", "more": 1}) == {
        "a": value, "b": [value], "c": Path("x"), "more": 1
    }  # fmt: skip


@pytest.mark.requirement("SCH-04")
@pytest.mark.parametrize(
    ("annotation", "given", "message"),
    [
        (dt.datetime, "soon", r"the argument `a` must be a date-time \(datetime\), not 'soon' \(Invalid isoformat"),
        (dt.date, 3, "`a` must be a date"),
        (Path, True, "`a` must be a path"),
        (Decimal, "x", "`a` must be a decimal"),
        (UUID, "x", "`a` must be a uuid"),
        (bytes, "base64:?", "not base64"),
        (Color, "green", "`a` must be one of 'red', 'blue', not 'green'"),
        (Level, True, "`a` must be one of 1, not True"),
        (set[str], "abc", "`a` must be a list, not 'abc'"),
        (set, [[1]], "unhashable"),
        (list[dt.date], ["2026-01-02", "x"], r"`a\[1\]` must be a date"),
        (dict[str, Path], {"k": 3}, "`a.k` must be a path"),
        (dict[int, str], {"x": "a"}, "`a.x` must be a number"),
        (tuple[int, Path], ["a"], "`a` must be a list of 2 items"),
        (Point, {"x": 1, "when": "x"}, "`a.when` must be a date"),
        (Point, {"x": 1, "near": {"x": 1, "near": {"x": 1, "when": "bad"}}}, "`a.near.near.when` must be a date"),
        (Point, {"x": 1, "unknown": 2}, "`a` must be Point, .*unknown"),
        (Point, {}, "`a` must be Point, .*missing"),
        (Point, [1], r"`a` must be an object \(Point\)"),
        (Model, {"size": 0}, "`a` must be Model, .*greater than or equal to 1"),
        (Path | dt.date, 3, "`a` must be path or date, not 3"),
        (dt.date | None, "x", "`a` must be a date"),
        (HttpUrl, "nothing", "`a` must be a uri"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_become_the_type_is_an_error_naming_the_place(
    annotation: Any, given: Any, message: str
) -> None:
    with pytest.raises(InvalidArguments, match=message):
        taking(annotation)(given)


@pytest.mark.requirement("SCH-05")
def test_field_fh07_defaults_of_field_arrive_as_values_and_never_as_field() -> None:
    def tool_w(
        city: str = Field(default="Oslo"),
        tags: list[str] = Field(default_factory=list),  # noqa: B008
        must: int = Field(...),
        place: Path = Field(default=Path("x")),  # noqa: B008
        last: Annotated[list[int], Field(default_factory=list)] = [7],  # noqa: B006
    ) -> Any:
        return [city, tags, must, place, last]

    convert = converter(tool_w)
    assert convert is not None
    assert describe_callable(tool_w).input_schema["required"] == ["must"]
    first, second = convert({"must": 1}), convert({"must": 1})
    assert tool_w(**first) == ["Oslo", [], 1, Path("x"), [7]]
    assert first["tags"] is not second["tags"]
    assert convert({"must": 1, "city": "Rome"})["city"] == "Rome"
    with pytest.raises(InvalidArguments, match="`must` is missing"):
        convert({})


@pytest.mark.requirement("SCH-05")
def test_a_default_inside_annotated_is_filled_in_because_python_has_none() -> None:
    def tool_it(a: Annotated[list[int], Field(default_factory=list)]) -> Any:
        return a

    convert = converter(tool_it)
    assert convert is not None
    assert "required" not in describe_callable(tool_it).input_schema
    assert convert({}) == {"a": []}


@pytest.mark.requirement("SCH-05")
def test_the_default_shown_in_the_schema_converts_back_to_what_python_would_use() -> None:
    def tool_it(a: Color = Color.RED, b: tuple[int, ...] = (1, 2), c: set[str] = {"x"}) -> None: ...  # noqa: B006

    convert = converter(tool_it)
    assert convert is not None
    properties = describe_callable(tool_it).input_schema["properties"]
    shown = {name: schema["default"] for name, schema in properties.items()}
    assert convert(shown) == {"a": Color.RED, "b": (1, 2), "c": {"x"}}


@pytest.mark.requirement("SCH-04")
def test_the_arguments_given_are_not_changed() -> None:
    def tool_it(a: list[Path]) -> None: ...

    convert = converter(tool_it)
    assert convert is not None
    given = {"a": ["x"]}
    assert convert(given) == {"a": [Path("x")]}
    assert given == {"a": ["x"]}


@pytest.mark.requirement("SCH-04")
def test_pydantic_is_not_imported_for_what_the_standard_library_can_make() -> None:
    code = (
        "import sys, pathlib, datetime, enum, dataclasses\n"
        "from sutler.schema.convert import converter\n"
        "def tool_it(a: pathlib.Path, b: datetime.datetime, c: set): pass\n"
        "print(converter(tool_it)({'a': 'x', 'b': '2026-01-02', 'c': [1]})['a'], 'pydantic' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["x", "False"]
