"""Functions that the host registers."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from sutler.errors import ToolUnavailable
from sutler.schema.decorator import tool
from sutler.sources.base import DIRECT
from sutler.sources.functions import FunctionSource
from sutler.spec import Grade, Origin, ToolSpec


def resolve(source: FunctionSource, name: str) -> Callable[..., Any]:
    return source.resolve(next(spec for spec in source.discover() if spec.name == name))


@dataclass
class Point:
    x: int
    y: int = 0


def add(a: int, b: int = 2) -> int:
    """Add two numbers.

    Args:
        a: the first
    """
    return a + b


async def fetch(url: str) -> str:
    """Fetch it."""
    return f"got {url}"


@pytest.mark.requirement("SRC-11")
def test_a_plain_function_is_a_tool_by_its_signature() -> None:
    source = FunctionSource([add, fetch])
    spec, later = source.discover()
    assert (spec.name, spec.description) == ("add", "Add two numbers.")
    assert spec.input_schema["properties"]["a"] == {"type": "integer", "description": "the first"}
    assert spec.input_schema["required"] == ["a"]
    assert (spec.grade, spec.grade_from) == (Grade(3, 3), "undeclared")
    assert (spec.origin.source, spec.origin.kind, spec.origin.precedence) == ("functions", "function", DIRECT)
    assert spec.origin.where == f"{__file__}:{add.__code__.co_firstlineno}"
    assert resolve(source, "add")(a=1) == 3
    assert later.name == "fetch"
    call = resolve(source, "fetch")
    assert inspect.iscoroutinefunction(call)
    assert asyncio.run(call(url="u")) == "got u"


@pytest.mark.requirement("SRC-11", "GRD-01")
def test_the_decorator_says_what_the_function_does() -> None:
    @tool(name="look-up", read_only=True, open_world=True, timeout=3, title="Look up", isolation="thread")
    def look(q: str) -> str:
        return q

    (spec,) = FunctionSource([look]).discover()
    assert (spec.name, spec.timeout, spec.isolation) == ("look-up", 3, "thread")
    assert (spec.grade, spec.grade_from) == (Grade(2, 1), "declared")
    assert spec.annotations.to_mcp() == {"title": "Look up", "readOnlyHint": True, "openWorldHint": True}


@pytest.mark.requirement("SRC-11", "SCH-04")
def test_values_arrive_as_the_annotations_say() -> None:
    def where(at: Point, file: Path, tags: set[str], limit: int = Field(default=7)) -> list[Any]:
        return [type(at), at.x, type(file).__name__ != "str", tags, limit]

    source = FunctionSource([where])
    assert resolve(source, "where")(at={"x": 1}, file="a", tags=["b", "b"]) == [Point, 1, True, {"b"}, 7]


@pytest.mark.requirement("SRC-11", "SCH-07", "RUN-02")
def test_positional_only_and_mutable_defaults_are_handled() -> None:
    def collect(item: str, /, into: list[str] = []) -> list[str]:  # noqa: B006 - the trap under test
        into.append(item)
        return into

    source = FunctionSource([collect])
    assert [resolve(source, "collect")(item=x) for x in "ab"] == [["a"], ["b"]]


@pytest.mark.requirement("SRC-11")
def test_methods_partials_and_callable_objects_are_tools_too() -> None:
    class Shop:
        def price(self, item: str) -> str:
            return f"price of {item}"

        def __call__(self, item: str) -> str:
            return f"shop {item}"

    def scale(factor: int, x: int) -> int:
        return factor * x

    source = FunctionSource([Shop().price, partial(scale, 3)])
    assert resolve(source, "price")(item="tea") == "price of tea"
    assert resolve(source, "scale")(x=2) == 6
    spec = source.add(Shop())
    assert source.resolve(spec)(item="x") == "shop x"


@pytest.mark.requirement("SRC-11")
def test_what_is_no_function_is_refused() -> None:
    source = FunctionSource()
    for wrong in (3, None, "add"):
        with pytest.raises(TypeError):
            source.add(wrong)  # type: ignore[arg-type]
    assert source.discover() == []


@pytest.mark.requirement("SRC-11")
def test_a_name_registered_again_is_the_new_function_and_said() -> None:
    source = FunctionSource([add])
    before = source.version

    def again(a: int) -> str:
        return "new"

    again.__name__ = "add"
    source.add(again)
    assert resolve(source, "add")(a=1) == "new"
    assert len(source.discover()) == 1
    assert source.version != before
    assert source.notes == ("functions::add was registered again; the later function is the tool",)


@pytest.mark.requirement("SRC-11")
def test_a_removed_function_says_so_when_it_is_called() -> None:
    source = FunctionSource([add])
    (spec,) = source.discover()
    source.remove("add")
    assert source.discover() == []
    with pytest.raises(ToolUnavailable, match="'add' is not registered any more"):
        source.resolve(spec)
    with pytest.raises(KeyError):
        source.remove("add")


def test_a_spec_written_by_hand_is_taken_as_it_is() -> None:
    source = FunctionSource()
    by_hand = ToolSpec(name="x y", description="Mine.", origin=Origin(source="other", kind="mcp", trust="mcp"))
    spec = source.register(by_hand, lambda **given: given)
    assert (spec.name, spec.description, spec.origin.source, spec.origin.trust) == (
        "x y",
        "Mine.",
        "functions",
        "local",
    )
    assert source.resolve(spec)(a=1) == {"a": 1}
    with pytest.raises(TypeError, match="a callable"):
        source.register(by_hand, 3)  # type: ignore[arg-type]


@pytest.mark.requirement("LCP-01")
def test_the_parameter_to_confirm_with_is_kept_and_one_that_is_none_is_noted() -> None:
    @tool(confirm_with="code")
    def run_code(code: str) -> str:
        return code

    @tool(confirm_with="kode")
    def misspelt(code: str) -> str:
        return code

    source = FunctionSource()
    assert source.add(run_code).meta == {"confirm_with": "code"}
    assert "confirm_with names 'kode'" in source.add(misspelt).notes[-1]
