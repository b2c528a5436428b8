from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import json
import math
import pathlib
import re
import types
import uuid
from typing import Any, NamedTuple

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.errors import ToolError
from sutler.results import json_text, to_plain
from sutler.results.plain import MAX_ITEMS


class Color(enum.Enum):
    RED = "r"


class Level(enum.IntEnum):
    LOW = 1


class Name(enum.StrEnum):
    A = "a"


@dataclasses.dataclass
class Point:
    x: int
    inner: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    a: int = 3


class Pair(NamedTuple):
    left: int
    right: Any


class Model(pydantic.BaseModel):
    day: datetime.date
    color: Color


class Text(str):
    __slots__ = ()


class Attrs:
    """As the attrs package marks its classes."""

    __attrs_attrs__ = (types.SimpleNamespace(name="a"), types.SimpleNamespace(name="b"))

    def __init__(self) -> None:
        self.a, self.b = 1, {2}


class Array:
    """As numpy's arrays and scalars look from outside."""

    dtype = "float64"

    def __init__(self, value: Any) -> None:
        self.value = value

    def tolist(self) -> Any:
        return self.value


class NoRepr:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_a_result_full_of_python_values_becomes_plain_data() -> None:
    value = {
        "t": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
        "d": decimal.Decimal("1.10"),
        "p": pathlib.Path("x"),
        "b": b"\xff",
        "s": {2, 1},
        "c": Color.RED,
        1: "intkey",
        "o": object(),
    }
    plain, notes = to_plain(value)
    shown = plain.pop("o")
    assert plain == {
        "t": "2026-01-02T00:00:00+00:00",
        "d": "1.10",
        "p": "x",
        "b": "data:application/octet-stream;base64,/w==",
        "s": [1, 2],
        "c": "r",
        "1": "intkey",
    }
    assert shown.startswith("<object object at")
    (note,) = notes
    assert note.startswith("output.o: object has no plain form")


@pytest.mark.requirement("RUN-09")
@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0, 0),
        (False, False),
        ("", ""),
        ([], []),
        ({}, {}),
        (None, None),
        (2**100, 2**100),
        ((1, (2,)), [1, [2]]),
        (Pair(1, {2}), {"left": 1, "right": [2]}),
        (Point(1, Slotted()), {"x": 1, "inner": {"a": 3}}),
        (Model(day=datetime.date(2026, 1, 1), color=Color.RED), {"day": "2026-01-01", "color": "r"}),
        (Attrs(), {"a": 1, "b": [2]}),
        (Array([1.0, 2.0]), [1.0, 2.0]),
        (Array(5), 5),
        ({Array(1): 1}.values(), [1]),
        (Level.LOW, 1),
        (Name.A, "a"),
        (Text("x"), "x"),
        (datetime.time(1, 2), "01:02:00"),
        (datetime.timedelta(seconds=90), 90.0),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (fractions.Fraction(1, 3), "1/3"),
        (1 + 2j, "(1+2j)"),
        (ipaddress.ip_address("::1"), "::1"),
        (re.compile("a+"), "a+"),
        (ValueError("bad"), "ValueError: bad"),
        (bytearray(b"ab"), "data:application/octet-stream;base64,YWI="),
        (memoryview(b"ab"), "data:application/octet-stream;base64,YWI="),
        (range(3), [0, 1, 2]),
        (collections.deque([1]), [1]),
        (collections.OrderedDict(a=Color.RED), {"a": "r"}),
        (collections.ChainMap({"a": 1}), {"a": 1}),
        (types.MappingProxyType({"a": (1,)}), {"a": [1]}),
        ({"a": 1}.keys(), ["a"]),
        ({"a": 1}.items(), [["a", 1]]),
        ({"a": 1}.values(), [1]),
        (frozenset({(2, 1)}), [[2, 1]]),
        ({1, "a", None}, [None, 1, "a"]),
        ((i * i for i in range(3)), [0, 1, 4]),
        (map(str, (1, 2)), ["1", "2"]),
        ({None: 1, True: 2, (1, 2): 3, Color.RED: 4, 1.5: 5}, {"null": 1, "true": 2, "[1, 2]": 3, "r": 4, "1.5": 5}),
    ],
)
def test_values_with_a_plain_form_take_it_without_a_note(value: Any, wanted: Any) -> None:
    plain, notes = to_plain(value)
    assert (plain, notes) == (wanted, ())
    assert type(plain) is type(wanted)


@pytest.mark.requirement("RUN-09")
@pytest.mark.parametrize("value", [int, Point, ..., NoRepr(), len, json, Color])
def test_what_has_no_plain_form_is_a_short_repr_with_a_note(value: Any) -> None:
    plain, notes = to_plain([value])
    assert isinstance(plain[0], str)
    assert len(plain[0]) < 250
    assert len(notes) == 1
    assert notes[0].startswith("output[0]: ")


def test_bytes_can_be_read_back() -> None:
    plain, _ = to_plain(bytes(range(256)))
    assert base64.b64decode(plain.partition(",")[2]) == bytes(range(256))


@pytest.mark.requirement("RUN-09")
def test_two_keys_that_are_one_as_text_both_survive_and_it_is_noted() -> None:
    for value in ({1: "a", "1": "b"}, {"1": "b", 1: "a"}):
        plain, notes = to_plain(value)
        assert plain == {"1 (int)": "a", "1": "b"}
        assert "are the same as text" in notes[0]


def test_the_tools_own_containers_are_never_shared() -> None:
    constant = {"rows": [{"a": 1}], "n": [1, 2]}
    plain, _ = to_plain(constant)
    plain["rows"][0]["a"] = 2
    plain["n"].append(3)
    assert constant == {"rows": [{"a": 1}], "n": [1, 2]}


@pytest.mark.requirement("RUN-09")
def test_a_value_that_holds_itself_or_has_no_end_is_a_named_error() -> None:
    loop: dict[str, Any] = {"a": [1]}
    loop["a"].append(loop)
    with pytest.raises(ToolError, match=r"output\.a\[1\]\.a\[1\].*refers to itself"):
        to_plain(loop)
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    with pytest.raises(ToolError, match="nested deeper than 100 levels"):
        to_plain(deep)
    wide: list[Any] = [1]
    for _ in range(60):
        wide = [wide, wide]
    with pytest.raises(ToolError, match="more than 2000000 values"):
        to_plain(wide)


@pytest.mark.requirement("RUN-09")
def test_a_generator_is_taken_to_a_bound_and_its_failure_is_the_tools() -> None:
    def endless() -> Any:
        while True:
            yield 1

    def failing(error: BaseException) -> Any:
        yield 1
        raise error

    plain, notes = to_plain({"g": endless()})
    assert len(plain["g"]) == MAX_ITEMS
    assert notes == (f"output.g: only the first {MAX_ITEMS} items of a generator were taken",)
    for error in (ValueError("x"), SystemExit(3)):
        with pytest.raises(ToolError, match=r"output: the generator failed after 1 items"):
            to_plain(failing(error))
    with pytest.raises(KeyboardInterrupt):
        to_plain(failing(KeyboardInterrupt()))


@pytest.mark.requirement("RUN-09")
def test_what_nobody_awaits_is_an_error_that_says_so() -> None:
    async def later() -> None: ...

    async def many() -> Any:
        yield 1

    with pytest.raises(ToolError, match=r"output\[0\]: the tool returned coroutine, which nobody awaits"):
        to_plain([later()])
    with pytest.raises(ToolError, match="nobody awaits"):
        to_plain(many())


def test_a_mapping_whose_own_methods_fail_is_still_an_answer() -> None:
    class Broken(dict[str, int]):
        def items(self) -> Any:
            raise RuntimeError("boom")

    plain, notes = to_plain({"b": Broken(a=1), "c": 2})
    assert plain == {"b": "{'a': 1}", "c": 2}
    assert "boom" in notes[0]


def test_numbers_that_json_has_not_are_floats_for_programs_and_named_text_at_the_boundary() -> None:
    value = {"m": math.nan, "x": [1, -math.inf], "y": math.inf}
    plain, notes = to_plain(value)
    assert math.isnan(plain["m"])
    assert plain["x"] == [1, -math.inf]
    assert notes == ()
    text, notes = json_text(plain)
    assert json.loads(text) == {"m": "NaN", "x": [1, "-Infinity"], "y": "Infinity"}
    assert [note.split(":")[0] for note in notes] == ["m", "x[1]", "y"]
    _, notes = json_text([math.nan] * 100)
    assert notes[-1] == "and 95 more such numbers"


def test_json_text_is_strict_utf8_whatever_comes() -> None:
    assert json_text({"é": "日本"}) == ('{"é": "日本"}', ())
    text, _ = json_text({"s": "\ud800é"})
    text.encode()
    assert json.loads(text) == {"s": "\ud800é"}
    text, notes = json_text({"big": 10**5000})
    assert json.loads(text) == {"big": hex(10**5000)}
    assert "hexadecimal" in notes[0]
    assert json.loads(json_text({1: {2}, "d": decimal.Decimal(1)})[0]) == {"1": [2], "d": "1"}


LIVE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.dates()
    | st.decimals()
    | st.uuids()
    | st.complex_numbers()
    | st.sampled_from([Color.RED, Level.LOW, object(), int, Point(1), ...]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 3) | st.booleans() | st.none(), inner, max_size=4)
        | st.builds(Point, st.integers(), inner)
        | st.builds(lambda items: iter(items), st.lists(inner, max_size=3))
        | st.builds(collections.deque, st.lists(inner, max_size=3))
    ),
    max_leaves=15,
)


def _is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) is str and _is_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(map(_is_plain, value))
    return value is None or type(value) in (str, int, float, bool)


@pytest.mark.requirement("RUN-09")
@given(value=LIVE)
@settings(max_examples=300, deadline=None)
def test_any_value_becomes_plain_data_that_json_can_hold(value: Any) -> None:
    plain, _ = to_plain(value)
    assert _is_plain(plain)
    text, _ = json_text(plain)
    json.loads(text, parse_constant=lambda name: pytest.fail(f"bare {name}"))
    text.encode()
