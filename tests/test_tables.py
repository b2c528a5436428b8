"""Type names of declared arguments as JSON Schema, and the nearest word."""

from __future__ import annotations

from typing import Any

import pytest

from sutler.closest import closest
from sutler.tables import ArgTable, ToolTable, to_input_schema, type_schema


@pytest.mark.requirement("SRC-14")
@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("str", {"type": "string"}),
        ("string", {"type": "string"}),
        ("int", {"type": "integer"}),
        ("integer", {"type": "integer"}),
        ("float", {"type": "number"}),
        ("number", {"type": "number"}),
        ("bool", {"type": "boolean"}),
        ("boolean", {"type": "boolean"}),
        ("list", {"type": "array"}),
        ("array", {"type": "array"}),
        ("dict", {"type": "object"}),
        ("object", {"type": "object"}),
        ("Any", {}),
        ("list[str]", {"type": "array", "items": {"type": "string"}}),
        (
            "dict[str, list[int]]",
            {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
        ),
        ("str | None", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ],
)
def test_a_type_name_becomes_a_schema(name: str, schema: dict[str, Any]) -> None:
    assert type_schema(name) == schema


@pytest.mark.parametrize(
    "name",
    [
        "",
        "strr",
        "List",
        "list[",
        "list[strr]",
        "dict[int, str]",
        "a.b",
        "f()",
        "1",
        "str, int",
        "\x00",
        "(" * 500,
        "-" * 9_000,
    ],
)
def test_an_unknown_type_name_is_an_error_that_lists_the_types(name: str) -> None:
    with pytest.raises(ValueError, match="the types are str, int, float, bool, list, dict, Any, string"):
        type_schema(name)


def test_arguments_become_a_schema_in_their_order_and_share_nothing() -> None:
    args = [ArgTable(name="b", type="int", default=None, has_default=True), ArgTable(name="a", description="d")]
    schema = to_input_schema(args)
    assert list(schema["properties"]) == ["b", "a"]
    assert schema == {
        "type": "object",
        "properties": {"b": {"type": "integer", "default": None}, "a": {"description": "d"}},
        "required": ["a"],
    }
    schema["properties"]["b"]["type"] = "changed"
    assert to_input_schema(args)["properties"]["b"]["type"] == "integer"
    assert to_input_schema([]) == {"type": "object", "properties": {}}


def test_a_given_schema_is_used_as_it_is_with_its_type() -> None:
    table = ToolTable(name="t", input_schema={"properties": {"x": {}}, "additionalProperties": False})
    assert table.schema == {"type": "object", "properties": {"x": {}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("foldr", ["folders", "root"], "folders"),
        ("Read-Only", ["read_only", "title"], "read_only"),
        ("readOnlyHint", ["read_only", "title"], "read_only"),
        ("wall", ["wall_seconds", "calls"], "wall_seconds"),
        ("zzz", ["wall_seconds", "calls"], None),
        ("", ["a"], None),
        ("x", [], None),
    ],
)
def test_the_word_that_was_meant_is_found(word: str, known: list[str], meant: str | None) -> None:
    assert closest(word, known) == meant
