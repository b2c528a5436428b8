from __future__ import annotations

import datetime
import decimal
import enum
import math
import uuid
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sutler.errors import ToolDenied
from sutler.workspace import wire


def there_and_back(value: Any) -> Any:
    line = wire.dump({"v": value})
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    return wire.load(line)["v"]


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.datetimes().filter(lambda moment: not moment.fold)
    | st.dates()
    | st.times().filter(lambda moment: not moment.fold)
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.booleans(), inner) | st.tuples(inner)
    ),
    max_leaves=20,
)


@given(plain)
def test_plain_data_comes_back_equal_and_of_the_same_types(value: Any) -> None:
    back = there_and_back(value)
    assert back == value
    assert repr(back) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        {"$sutler": "bytes", "v": "x"},
        {(1, 2): {3: frozenset({4})}},
        {1, 2},
        "\ud800\n\r\u2028",
        10**6000,
        -(10**6000),
        Path("a/b"),
        math.inf,
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        uuid.uuid4(),
        decimal.Decimal("NaN"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_lacks_comes_back_as_it_was(value: Any) -> None:
    back = there_and_back(value)
    assert type(back) is type(value)
    assert back == value or value != value


class Colour(enum.IntEnum):
    RED = 1


class Name(str):
    __slots__ = ()


class Weight(float):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (Colour.RED, 1),
        (Name("n"), "n"),
        (Weight(1.5), 1.5),
        (OrderedDict(a=1), {"a": 1}),
        (bytearray(b"x"), b"x"),
    ],
)
def test_a_subclass_of_plain_data_crosses_as_its_plain_value(value: Any, wanted: Any) -> None:
    back = there_and_back(value)
    assert back == wanted
    assert type(back) is type(wanted)


@pytest.mark.requirement("LCP-16")
def test_what_cannot_cross_is_named_with_its_place() -> None:
    with pytest.raises(wire.Uncarried, match=r"^args\.rows\[1\]\[0\] is a builtins\.object, which cannot leave"):
        wire.dump({"args": {"rows": [1, (object(),)]}})
    with pytest.raises(wire.Uncarried, match=r"^args\[1\] is a builtins\.function"):
        wire.dump({"args": {1: lambda: 1}})


def test_what_contains_itself_or_is_very_deep_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    for value in (loop, deep):
        with pytest.raises(wire.Uncarried, match="more than 200 deep, or contains itself"):
            wire.dump({"v": value})


def test_an_exception_crosses_as_text_and_known_ones_are_raised_as_themselves() -> None:
    try:
        raise ToolDenied("not you")
    except ToolDenied as error:
        described = there_and_back(wire.describe(error))
    assert described["type"] == "ToolDenied"
    assert 'raise ToolDenied("not you")' in described["traceback"]
    assert isinstance(wire.revive(described), ToolDenied)
    assert isinstance(wire.revive({"type": "KeyError", "message": "k"}), KeyError)
    for odd in ("UnicodeDecodeError", "SomethingOfATool", "KeyboardInterrupt", "dict", "__name__"):
        revived = wire.revive({"type": odd, "message": "m"})
        assert isinstance(revived, wire.RemoteError)
        assert (revived.type, str(revived)) == (odd, f"{odd}: m")


def test_an_exception_that_cannot_show_itself_is_described_all_the_same() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    described = wire.describe(Mute())
    assert described["type"] == "Mute"
    assert described["message"]
    assert described["traceback"]
