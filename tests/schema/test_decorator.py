"""The public decorator, and the grade that its hints come to."""

from __future__ import annotations

from typing import Any

import pytest

from sutler import tool
from sutler.schema.decorator import Declared, grade_of
from sutler.spec import UNDECLARED, Grade


@pytest.mark.requirement("SRC-11")
def test_the_decorator_gives_the_function_itself_back_with_what_was_declared() -> None:
    def fn(a: int) -> int:
        return a

    assert tool(fn) is fn
    assert tool(read_only=True, timeout=3)(fn) is fn
    declared: Declared = fn.__sutler_tool__
    assert (declared.read_only, declared.timeout, declared.destructive) == (True, 3, None)
    assert declared.annotations.to_mcp() == {"readOnlyHint": True}
    assert fn(2) == 2


@pytest.mark.requirement("SRC-11")
@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"read_only": "yes"}, TypeError, "read_only must be True or False, not 'yes'"),
        ({"destructive": 1}, TypeError, "destructive"),
        ({"idempotent": 0}, TypeError, "idempotent"),
        ({"open_world": "no"}, TypeError, "open_world"),
        ({"name": 3}, TypeError, "name must be a text"),
        ({"name": " "}, ValueError, "name is empty"),
        ({"name": "a::b"}, ValueError, "name 'a::b'"),
        ({"name": "a\nb"}, ValueError, "name"),
        ({"description": b"x"}, TypeError, "description"),
        ({"title": ""}, ValueError, "title is empty"),
        ({"timeout": "3"}, TypeError, "timeout must be a number of seconds"),
        ({"timeout": True}, TypeError, "timeout"),
        ({"timeout": 0}, ValueError, "timeout must be a positive number"),
        ({"timeout": float("inf")}, ValueError, "timeout"),
        ({"timeout": float("nan")}, ValueError, "timeout"),
        ({"isolation": "container"}, ValueError, "isolation must be 'thread' or 'process'"),
        ({"confirm_with": 3}, TypeError, "confirm_with must be a text"),
        ({"affinity": "process"}, ValueError, "affinity must be 'thread'"),
        ({"asks_itself": "yes"}, TypeError, "asks_itself must be True or False"),
        ({"read_only": True, "destructive": True}, ValueError, "read_only=True and destructive=True"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_by_the_keywords_name(
    keywords: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        tool(**keywords)


@pytest.mark.requirement("SRC-11")
@pytest.mark.parametrize("thing", [3, "name"])
def test_marking_what_is_no_function_says_how_it_is_written(thing: Any) -> None:
    with pytest.raises(TypeError, match="options are keywords"):
        tool(thing)
    with pytest.raises(TypeError, match="wrap it in a function"):
        tool(len)


@pytest.mark.requirement("GRD-01")
@pytest.mark.parametrize(
    ("declared", "grade", "origin"),
    [
        (None, UNDECLARED, "undeclared"),
        (Declared(), UNDECLARED, "undeclared"),
        (Declared(name="n", timeout=3), UNDECLARED, "undeclared"),
        (Declared(read_only=True), Grade(1, 0), "declared"),
        (Declared(read_only=True, open_world=False), Grade(1, 0), "declared"),
        (Declared(read_only=True, open_world=True), Grade(2, 1), "declared"),
        (Declared(read_only=False, destructive=False, idempotent=True), Grade(3, 2), "declared"),
        (Declared(read_only=False, destructive=False, idempotent=False), Grade(3, 3), "declared"),
        (Declared(read_only=False, destructive=False), Grade(3, 3), "declared"),
        (Declared(read_only=False, idempotent=True), Grade(3, 3), "declared"),
        (Declared(destructive=False, idempotent=True), Grade(3, 3), "declared"),
        (Declared(read_only=True, destructive=True), Grade(3, 3), "declared"),
        (Declared(open_world=False), Grade(3, 3), "declared"),
    ],
)
def test_hints_come_to_a_grade_and_say_where_it_came_from(declared: Declared | None, grade: Grade, origin: str) -> None:
    assert grade_of(declared) == (grade, origin)
