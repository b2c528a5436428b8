from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.schema.bind import Binder
from sutler.schema.dialects import Dialect, export, restore, strict_reason
from sutler.schema.strict import strict_schema
from sutler.schema.walk import children
from sutler.spec import ToolAnnotations
from tests.schema.specs import TREE, recorded_tools, spec

DIALECTS: list[Dialect] = ["openai", "anthropic", "gemini", "mcp"]
FETCH: dict[str, Any] = {
    "type": "object",
    "properties": {"url": {"type": "string", "format": "uri"}, "max": {"type": "integer", "default": 5000}},
    "required": ["url"],
}


def schemas(schema: Any) -> list[dict[str, Any]]:
    """A schema and every schema inside it."""
    found = [schema] if isinstance(schema, dict) else []
    for one in found:
        found += [child for _, child in children(one) if isinstance(child, dict)]
    return found


def assert_strict(schema: dict[str, Any]) -> None:
    jsonschema_rs.validator_for(schema)
    assert schema["type"] == "object"
    for one in schemas(schema):
        assert set(one) <= {
            *("type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "description"),
            *("$ref", "$defs"),
        }
        if "properties" in one:
            assert one["required"] == list(one["properties"])
            assert one["additionalProperties"] is False
        if "$ref" in one:
            assert list(one) == ["$ref"]
        assert one.get("anyOf") or one.get("type") or one.get("$ref")


def test_a_strict_schema_requires_all_closes_objects_and_says_refused_keywords_in_words() -> None:
    before = copy.deepcopy(FETCH)
    (tool,) = export([spec(schema=FETCH)], "openai", strict=True)
    assert tool == {
        "type": "function",
        "function": {
            "name": "tool",
            "description": "No description provided.",
            "strict": True,
            "parameters": {
                "type": "object",
                "properties": {
                    "url": {"type": "string", "description": "(format: uri)"},
                    "max": {"type": ["integer", "null"], "description": "(default: 5000)"},
                },
                "required": ["url", "max"],
                "additionalProperties": False,
            },
        },
    }
    assert before == FETCH


def test_a_tool_without_arguments_is_strict_too() -> None:
    (tool,) = export([spec(schema={})], "anthropic", strict=True)
    assert tool["strict"] is True
    assert tool["input_schema"] == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def test_null_sent_under_strict_means_left_out_and_the_default_follows() -> None:
    tool = spec(schema=FETCH)
    sent = {"url": "x", "max": None}
    assert restore(sent, tool, "openai", strict=True) == {"url": "x"}
    assert sent == {"url": "x", "max": None}
    assert Binder(tool).bind(restore(sent, tool, "openai", strict=True)).arguments == {"url": "x", "max": 5000}
    assert restore(sent, tool, "openai") == sent
    assert restore(sent, tool, "gemini") == sent


def test_null_that_means_itself_stays_and_nested_ones_are_restored() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": ["integer", "null"]}}}
    tool = spec({"x": inner, "xs": {"type": "array", "items": inner}, "y": {"anyOf": [inner, {"type": "null"}]}})
    sent = {"x": {"a": None, "b": None}, "xs": [{"a": 1, "b": None}, {"a": None, "b": 2}], "y": {"a": None, "b": 1}}
    assert restore(sent, tool, "anthropic", strict=True) == {
        "x": {"b": None},
        "xs": [{"a": 1, "b": None}, {"b": 2}],
        "y": {"b": 1},
    }
    deep = spec(schema=TREE)
    assert restore({"root": {"v": 1, "kids": [{"v": 2, "kids": None}]}}, deep, "openai", strict=True) == {
        "root": {"v": 1, "kids": [{"v": 2}]}
    }


def test_a_schema_that_refers_to_itself_stays_so_where_references_are_known() -> None:
    made, reason = strict_schema(TREE)
    assert reason == ""
    assert made is not None
    assert_strict(made)
    assert made["$defs"]["N"]["properties"]["kids"]["items"] == {"$ref": "#/$defs/N"}


def test_a_schema_that_refers_to_itself_is_written_out_to_a_marked_depth_for_gemini() -> None:
    (tool,) = export([spec(schema=TREE)], "gemini")
    text = json.dumps(tool)
    assert "$ref" not in text
    assert "$defs" not in text
    assert text.count('"kids"') == 4
    assert "N, nested deeper than is written out here" in text


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"properties": {"a": {"type": "object", "additionalProperties": {"type": "integer"}}}}, "a: the object takes"),
        ({"properties": {"a": {"type": "object"}}}, "a: the object takes"),
        ({"properties": {"a": {"type": "array"}}}, "a: the list does not say"),
        ({"properties": {"a": {}}}, "a: it has no type"),
        ({"properties": {"a": True}}, "a: any value is allowed"),
        ({"properties": {"a": {"allOf": [{"type": "string"}]}}}, "a: strict schemas have no allOf"),
        (
            {"properties": {"a": {"type": "object", "properties": {"b": {"not": {}}}}}},
            "a.b: strict schemas have no not",
        ),
        ({"additionalProperties": True}, "arguments that its schema does not name"),
        ({"properties": {"a": {"$ref": "#"}}}, "refers to $defs only"),
    ],
)
def test_a_tool_that_cannot_be_strict_is_offered_without_and_the_reason_is_told(schema: Any, reason: str) -> None:
    tool = spec(schema=schema)
    assert reason in strict_reason(tool)
    (listed,) = export([tool], "openai", strict=True)
    assert listed["function"]["strict"] is False
    assert "strict" not in export([tool], "anthropic", strict=True)[0]
    sent = {"a": None}
    assert restore(sent, tool, "openai", strict=True) == sent


def test_strict_is_refused_for_dialects_that_have_none() -> None:
    with pytest.raises(ValueError, match="gemini has no strict mode"):
        export([spec()], "gemini", strict=True)


def test_enums_unions_and_definitions_have_strict_forms() -> None:
    schema = {
        "properties": {
            "unit": {"enum": ["c", "f"], "description": "Which unit."},
            "n": {"const": 5},
            "when": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "who": {"$ref": "#/definitions/P", "description": "A person."},
        },
        "definitions": {"P": {"type": "object", "properties": {"name": {"type": "string"}}}},
    }
    made, reason = strict_schema(schema)
    assert reason == ""
    assert made is not None
    assert_strict(made)
    unit, n, when, who = made["properties"].values()
    assert unit == {"type": ["string", "null"], "enum": ["c", "f", None], "description": "Which unit."}
    assert n["enum"] == [5, None]
    assert when["anyOf"] == [{"type": "string"}, {"type": "integer"}, {"type": "null"}]
    assert who == {"anyOf": [{"$ref": "#/$defs/P"}, {"type": "null"}], "description": "A person."}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_boolean_subschemas_reach_no_provider(dialect: Dialect) -> None:
    tool = spec({"rows": {"type": "array", "items": True}, "v": True, "never": False})
    (listed,) = export([tool], dialect)
    text = json.dumps(listed)
    if dialect != "mcp":
        assert "true" not in text
        assert "false" not in text
        assert "never" not in text
    assert "rows" in text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_types_given_as_lists_are_exported(dialect: Dialect) -> None:
    tool = spec(
        {
            "a": {"type": ["string", "null"]},
            "b": {"type": ["integer", "string"], "enum": [1, "auto"]},
            "c": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
        }
    )
    (listed,) = export([tool], dialect)
    if dialect == "gemini":
        a, b, c = listed["parameters"]["properties"].values()
        assert a == {"type": "string", "nullable": True}
        assert 'one of: [1, "auto"]' in b["description"]
        assert c["type"] == "object"
        assert c["nullable"] is True


def test_gemini_gets_no_keyword_it_refuses() -> None:
    allowed = {
        *("type", "description", "enum", "items", "properties", "required", "nullable", "anyOf", "pattern"),
        *("maxItems", "minItems", "maximum", "minimum", "maxLength", "minLength"),
    }
    for _, tool in recorded_tools():
        (listed,) = export([spec(schema=tool["inputSchema"], name=tool["name"], kind="mcp")], "gemini")
        for one in schemas(listed.get("parameters")):
            assert set(one) <= allowed
            assert not isinstance(one.get("type"), list)
            assert all(isinstance(value, str) for value in one.get("enum", []))
    assert "parameters" not in export([spec()], "gemini")[0]


def test_every_recorded_tool_is_exported_to_every_dialect_and_left_as_it_was() -> None:
    strict = 0
    for where, tool in recorded_tools():
        before = json.dumps(tool["inputSchema"])
        one = spec(schema=tool["inputSchema"], name=tool["name"], kind="mcp")
        for dialect in DIALECTS:
            (listed,) = export([one], dialect)
            json.dumps(listed)
        made, reason = strict_schema(tool["inputSchema"])
        assert (made is None) == bool(reason), (where, tool["name"])
        if made is not None:
            strict += 1
            assert_strict(made)
        assert json.dumps(tool["inputSchema"]) == before
    assert strict > 180


def test_mcp_lists_a_tool_as_it_is() -> None:
    tool = spec(
        schema={**FETCH, "x-own": 1},
        output_schema={"type": "object"},
        annotations=ToolAnnotations(title="Fetch", read_only=True),
        name="a/b",
    )
    assert export([tool], "mcp") == [
        {
            "name": "a/b",
            "title": "Fetch",
            "description": "No description provided.",
            "inputSchema": {**FETCH, "x-own": 1},
            "outputSchema": {"type": "object"},
            "annotations": {"title": "Fetch", "readOnlyHint": True},
        }
    ]


def test_names_are_the_given_ones_else_those_every_provider_takes() -> None:
    tools = [spec(name="calendar.create"), spec(name="calendar_create")]
    listed = [tool["name"] for tool in export(tools, "anthropic")]
    assert len(set(listed)) == 2
    assert listed[1] == "calendar_create"
    assert all("." not in name for name in listed)
    assert export(tools[:1], "anthropic", names={("s", "calendar.create"): "mine"})[0]["name"] == "mine"


def test_openai_descriptions_are_cut_where_the_provider_would_refuse_them() -> None:
    (tool,) = export([spec(description="x" * 5000)], "openai")
    assert len(tool["function"]["description"]) <= 1024
    assert tool["function"]["description"].endswith(" [...]")


LEAF = st.sampled_from(
    [{"type": "integer"}, {"type": "string", "default": "x"}, {"type": ["boolean", "null"]}, {"enum": ["a", None]}]
)
PROPERTY = st.recursive(
    LEAF,
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(
            lambda properties, required: {
                "type": "object",
                "properties": properties,
                "required": [name for name in properties if name in required],
            },
            st.dictionaries(st.sampled_from("abc"), inner, min_size=1),
            st.sets(st.sampled_from("abc")),
        )
    ),
    max_leaves=5,
)


def _values(schema: dict[str, Any], draw: Any) -> Any:
    """A value for a schema, with some optional members left out."""
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kind = schema["type"]
    if kind == "object":
        return {
            name: _values(one, draw)
            for name, one in schema["properties"].items()
            if name in schema["required"] or draw(st.booleans())
        }
    if kind == "array":
        return [_values(schema["items"], draw) for _ in range(draw(st.integers(0, 2)))]
    return draw({"integer": st.integers(), "string": st.text(max_size=3)}.get(str(kind), st.none() | st.booleans()))


def _as_strict(value: Any, schema: dict[str, Any]) -> Any:
    """The same arguments as a model under strict mode must send them: what is left out is null."""
    if isinstance(value, dict):
        return {name: _as_strict(value.get(name), one) for name, one in schema["properties"].items()}
    if isinstance(value, list):
        return [_as_strict(item, schema["items"]) for item in value]
    return value


def _comparable(value: Any, schema: dict[str, Any]) -> Any:
    """Where null is a value of an optional member, leaving it out cannot be told from null."""
    if isinstance(value, dict) and schema.get("type") == "object":
        return {
            name: _comparable(value.get(name), one)
            for name, one in schema["properties"].items()
            if name in value or "null" in one.get("type", ()) or None in one.get("enum", ())
        }
    if isinstance(value, list):
        return [_comparable(item, schema["items"]) for item in value]
    return value


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_strict_and_back_gives_the_same_arguments(data: st.DataObject) -> None:
    properties = data.draw(st.dictionaries(st.sampled_from("pq"), PROPERTY, min_size=1))
    required = [name for name in properties if data.draw(st.booleans())]
    schema = {"type": "object", "properties": properties, "required": required}
    made, reason = strict_schema(schema)
    assert reason == ""
    assert made is not None
    assert_strict(made)
    value = _values(schema, data.draw)
    sent = _as_strict(value, schema)
    jsonschema_rs.validator_for(made).validate(sent)
    assert restore(sent, spec(schema=schema), "openai", strict=True) == _comparable(value, schema)
