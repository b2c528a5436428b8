"""Schemas of live functions of every kind."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from sutler import tool
from sutler.schema.from_callable import describe_callable

if TYPE_CHECKING:
    from fractions import Fraction

MAX = 10
A_AND_B = {"a": {"type": "integer"}, "b": {"type": "string", "default": "x"}}


def plain(a: int, b: str = "x") -> str:
    """Does it.

    Args:
        a: the a
    """
    return b * a


def hiding(fn: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return wrapper


def wrapping(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return wrapper


class Bag:
    """A bag of tools."""

    def __init__(self, size: int) -> None:
        """Makes a bag."""

    def method(self, a: int, b: str = "x") -> None:
        """A method."""

    @staticmethod
    def static(a: int, b: str = "x") -> None:
        """A static one."""

    @classmethod
    def of_class(cls, a: int, b: str = "x") -> None:
        """A class one."""

    async def __call__(self, a: int, b: str = "x") -> None:
        """A call."""


@pytest.mark.requirement("SCH-08", "SRC-11")
@pytest.mark.parametrize(
    ("fn", "name", "description", "is_async"),
    [
        (Bag(1).method, "method", "A method.", False),
        (Bag.static, "static", "A static one.", False),
        (vars(Bag)["static"], "static", "A static one.", False),
        (Bag.of_class, "of_class", "A class one.", False),
        (Bag(1), "Bag", "A bag of tools.", True),
    ],
)
def test_methods_and_objects_that_can_be_called_are_described(
    fn: Callable[..., Any], name: str, description: str, is_async: bool
) -> None:
    found = describe_callable(fn)
    assert (found.name, found.description, found.is_async) == (name, description, is_async)
    assert found.input_schema["properties"] == A_AND_B
    assert found.input_schema["required"] == ["a"]


@pytest.mark.requirement("SCH-08")
def test_field_fs12_a_decorator_with_wraps_is_looked_through() -> None:
    found = describe_callable(wrapping(wrapping(functools.cache(plain))))
    assert found == describe_callable(plain)
    assert found.notes == ()


@pytest.mark.requirement("SCH-08")
def test_field_fs12_a_decorator_without_wraps_is_noted() -> None:
    found = describe_callable(hiding(plain))
    assert found.input_schema["properties"] == {}
    assert any("functools.wraps" in note for note in found.notes)


@pytest.mark.requirement("SCH-08")
def test_a_partial_shows_what_is_left_to_give() -> None:
    found = describe_callable(functools.partial(plain, 3))
    assert (found.name, found.description) == ("plain", "Does it.")
    assert found.input_schema["properties"] == {"b": A_AND_B["b"]}
    nested = describe_callable(functools.partial(functools.partial(plain), b="y"))
    assert nested.input_schema["properties"]["b"]["default"] == "y"
    assert nested.input_schema["required"] == ["a"]


@pytest.mark.requirement("SRC-11")
def test_async_functions_are_known_as_such_also_in_a_partial() -> None:
    async def later(a: int) -> None:
        """Later."""

    assert describe_callable(later).is_async
    assert describe_callable(functools.partial(later, 1)).is_async
    assert not describe_callable(plain).is_async


@pytest.mark.requirement("SCH-04", "SCH-09")
def test_field_fh08_a_name_under_type_checking_leaves_its_parameter_untyped_with_a_note() -> None:
    def tool_it(much: Fraction, place: Path, many: list[Fraction] | None = None) -> None: ...

    found = describe_callable(tool_it)
    assert found.untyped == {"much"}
    assert found.input_schema["properties"]["much"] == {"type": "string"}
    assert found.input_schema["properties"]["place"] == {"type": "string", "format": "path"}
    assert found.input_schema["properties"]["many"]["anyOf"] == [{"type": "array"}, {"type": "null"}]
    assert any("`Fraction`" in note for note in found.notes)


@pytest.mark.requirement("SCH-04")
def test_classes_made_inside_a_function_are_found_by_their_closure() -> None:
    @dataclass
    class Local:
        x: int

    def tool_it(a: Local) -> Any:
        return Local(a.x)

    assert describe_callable(tool_it).input_schema["properties"]["a"]["properties"] == {"x": {"type": "integer"}}


@pytest.mark.requirement("SCH-05")
def test_a_default_that_is_an_expression_is_not_shown_as_its_value() -> None:
    secret = "s3cret"

    def tool_it(a: int = MAX, key: str = secret, b: int = 3) -> None: ...

    properties = describe_callable(tool_it).input_schema["properties"]
    assert properties["a"] == {"type": "integer", "description": "(default: MAX)"}
    assert properties["key"] == {"type": "string", "description": "(default: secret)"}
    assert properties["b"] == {"type": "integer", "default": 3}


@pytest.mark.requirement("SCH-05")
def test_a_default_without_source_and_json_form_shows_no_address_and_no_content() -> None:
    class Token:
        def __repr__(self) -> str:
            return "Token(s3cret)"

    names: dict[str, Any] = {"value": Token(), "other": object()}
    exec("def tool_it(a=value, b=other, c=print, d=[1], *, e=(1, 2)): pass", names)
    properties = describe_callable(names["tool_it"]).input_schema["properties"]
    assert properties["a"]["description"] == "(default: a Token)"
    assert properties["b"]["description"] == "(default: a object)"
    assert properties["c"]["description"] == "(default: print)"
    assert properties["d"]["default"] == [1]
    assert properties["e"]["description"] == "(default: (1, 2))"


@pytest.mark.requirement("SCH-05")
def test_a_mutable_default_is_shown_as_written_whatever_calls_did_to_it() -> None:
    def tool_it(acc: list[int] = []) -> list[int]:  # noqa: B006
        acc.append(1)
        return acc

    tool_it()
    assert describe_callable(tool_it).input_schema["properties"]["acc"]["default"] == []


@pytest.mark.requirement("SCH-06", "SCH-07")
def test_kinds_of_parameters_and_hidden_ones_are_as_in_a_file() -> None:
    def tool_it(a: int, /, args: int, *rest: int, kwargs: int, tool_context: Any = None, **more: int) -> None: ...

    found = describe_callable(tool_it)
    assert list(found.input_schema["properties"]) == ["a", "args", "kwargs"]
    assert found.hidden == {"tool_context", "**"}
    assert found.positional_only == ("a",)


@pytest.mark.requirement("SRC-11")
def test_what_the_decorator_says_travels_through_wraps_and_partial() -> None:
    @tool(name="renamed", read_only=True, description="Said.")
    def fn(a: int) -> None:
        """Doc."""

    for one in (fn, wrapping(fn), functools.partial(fn)):
        found = describe_callable(one)
        assert (found.name, found.description) == ("renamed", "Said.")
        assert found.declared is not None
        assert found.declared.read_only is True


@pytest.mark.requirement("SRC-11")
@pytest.mark.parametrize("thing", [3, "text", None, max, dict])
def test_what_is_no_function_or_has_no_signature_is_refused_with_a_reason(thing: Any) -> None:
    with pytest.raises(TypeError, match="function"):
        describe_callable(thing)


@pytest.mark.requirement("SCH-04")
def test_annotations_that_fail_when_read_leave_the_tool_usable() -> None:
    class Hostile:
        def __class_getitem__(cls, item: Any) -> Any:
            raise RuntimeError("no")

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("no")

    def tool_it(a: Hostile[int], b: int) -> None: ...

    tool_it.__annotations__["c"] = 3

    found = describe_callable(tool_it)
    assert found.input_schema["properties"]["b"] == {"type": "integer"}
    assert found.untyped == {"a"}

    def other(a, b=1): ...

    other.__annotations__.update(a=Hostile(), b=types.SimpleNamespace())
    assert describe_callable(other).untyped == {"a", "b"}


@pytest.mark.requirement("SCH-04")
def test_metadata_of_other_libraries_is_passed_over() -> None:
    def tool_it(a: Annotated[int, object(), {"ge": 1}, functools.partial]) -> None: ...

    assert describe_callable(tool_it).input_schema["properties"]["a"] == {"type": "integer"}
