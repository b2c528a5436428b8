from __future__ import annotations

import ast
from typing import Any

import pytest

from sutler.schema.stubs import signature, stub, type_text
from tests.schema.specs import TREE, recorded_tools, spec


def test_a_signature_is_one_line_of_python() -> None:
    tool = spec(
        {"path": {"type": "string"}, "encoding": {"type": "string", "default": "utf-8"}},
        ["path"],
        name="read_file",
        output_schema={"type": "string"},
    )
    assert signature(tool) == "read_file(path: str, encoding: str = 'utf-8') -> str"
    assert signature(tool, "fs__read_file").startswith("fs__read_file(")
    assert signature(spec()) == "tool()"


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        (True, "Any"),
        (False, "Never"),
        ({}, "Any"),
        ({"type": "integer"}, "int"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"type": ["null", "string"]}, "str | None"),
        ({"enum": [1, "auto"]}, "Literal[1, 'auto']"),
        ({"enum": ["a", None]}, "Literal['a'] | None"),
        ({"enum": list(range(20))}, "Literal[0, 1, 2, 3, 4, 5, 6, 7, ...]"),
        ({"const": "x"}, "Literal['x']"),
        ({"type": "array"}, "list"),
        ({"type": "array", "items": {"type": "integer"}}, "list[int]"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "dict[str, float]"),
        ({"type": "object", "properties": {"a": {}}}, "dict"),
        (
            {"anyOf": [{"type": "array", "items": {"type": ["string", "integer"]}}, {"type": "null"}]},
            "list[str | int] | None",
        ),
        ({"anyOf": [{"enum": ["a | b"]}, {"type": "null"}]}, "Literal['a | b'] | None"),
        ({"oneOf": [{"type": "string"}, {}]}, "Any"),
        ({"allOf": [{"type": "string"}]}, "str"),
        ({"$ref": "#/$defs/N"}, "dict"),
        ({"$ref": "#/nowhere"}, "Any"),
        ({"$ref": "http://example.com/x"}, "Any"),
        ({"type": {"odd": 1}}, "Any"),
    ],
)
def test_types_read_as_annotations(schema: Any, wanted: str) -> None:
    assert type_text(TREE, schema) == wanted


def test_parameters_keep_their_order_their_python_spelling_and_what_may_be_left_out() -> None:
    tool = spec(
        {
            "max": {"type": "integer", "default": 3},
            "from": {"type": "string"},
            "cik-A": {"type": "string"},
            "never": False,
            "long": {"type": "string", "default": "x" * 100},
        },
        ["from"],
        hidden=frozenset(("**",)),
        untyped=frozenset(("cik-A",)),
    )
    assert signature(tool) == "tool(max: int = 3, *, from_: str, cik_A: Any = ..., long: str = ..., **extra)"


def test_every_recorded_tool_has_a_stub_that_python_reads() -> None:
    for where, tool in recorded_tools():
        made = spec(
            schema=tool["inputSchema"],
            name=tool["name"],
            description=tool.get("description") or "",
            output_schema=tool.get("outputSchema"),
            kind="mcp",
        )
        (function,) = ast.parse(stub(made, "f")).body
        assert isinstance(function, ast.FunctionDef), where
        taken = [arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)]
        assert len(taken) == len(tool["inputSchema"].get("properties") or {})


def test_a_docstring_survives_quotes_and_backslashes() -> None:
    tool = spec(
        {"p": {"type": "string", "description": 'ends in a quote "'}}, description='Say """hi""" and \\n stay. "quoted"'
    )
    (function,) = ast.parse(stub(tool)).body
    assert isinstance(function, ast.FunctionDef)
    text = ast.get_docstring(function)
    assert text is not None
    assert text.startswith("Say '''hi''' and \\n stay.")
    assert 'p: ends in a quote "' in text
