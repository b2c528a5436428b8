from __future__ import annotations

import threading
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.errors import SchemaError
from sutler.schema.validate import Validator, check_schema
from tests.schema.specs import TREE, recorded_tools


def test_every_recorded_schema_is_taken_as_it_is() -> None:
    for where, tool in recorded_tools():
        for schema in (tool["inputSchema"], tool.get("outputSchema")):
            if schema is not None:
                assert check_schema(schema) == (), (where, tool["name"])
                assert Validator(schema).notes == ()


@pytest.mark.requirement("SRC-10")
@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (True, "the schema is true"),
        (None, "the schema is null"),
        ([], "the schema is a list"),
        ({"properties": []}, "properties is a list"),
        ({"properties": {"a": "string"}}, "properties.a is text"),
        ({"properties": {"a": {"properties": {"b": 5}}}}, "properties.a.properties.b is a number"),
        ({"type": "string"}, "type: arguments are an object"),
        ({"properties": {"a": {"type": "wibble"}}}, "properties.a.type: 'wibble'"),
        ({"properties": {"a": {"type": 5}}}, "properties.a.type is a number"),
        ({"properties": {"a": {"$ref": "#/$defs/N"}}}, "'#/$defs/N' points nowhere"),
        ({"properties": {"a": {"$ref": 5}}}, "is a number, not text"),
        ({"properties": {1: {}}}, "the name 1 is a number"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_naming_the_part(schema: Any, said: str) -> None:
    with pytest.raises(SchemaError) as caught:
        check_schema(schema)
    assert said in str(caught.value)


@pytest.mark.requirement("SRC-10")
def test_what_only_a_full_build_can_find_is_found_at_first_use() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "(?<foo"}}}
    assert check_schema(schema) == ()
    with pytest.raises(SchemaError, match=r"no JSON Schema dialect accepts the schema: properties\.a\.pattern"):
        Validator(schema).fits({})


def test_schemas_nested_without_end_are_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(2_000):
        schema = {"properties": {"a": schema}}
    with pytest.raises(SchemaError, match="nested deeper"):
        check_schema(schema)
    loop: dict[str, Any] = {}
    loop["properties"] = {"a": loop}
    with pytest.raises(SchemaError, match="nested deeper"):
        check_schema(loop)


def test_names_of_types_that_json_schema_has_not_are_read_and_noted() -> None:
    schema = {
        "type": "dict",
        "properties": {
            "a": {"type": "float"},
            "b": {"type": "tuple", "items": {"type": "String"}},
            "c": {"type": "any"},
            "d": {"type": ["int", "None"]},
            "type": {"type": "OBJECT"},
        },
    }
    (note,) = check_schema(schema)
    assert "'dict' as object" in note
    assert "'any' as anything" in note
    validator = Validator(schema)
    assert validator.fits({"a": 1.5, "b": ["x"], "c": {"any": 1}, "d": None, "type": {}})
    assert not validator.fits({"a": "x"})
    assert not validator.fits({"b": [1]})
    assert not validator.fits({"d": "x"})
    assert not validator.fits({"type": "x"})


def test_null_where_a_keyword_should_be_absent_is_read_as_absent_and_noted() -> None:
    schema = {"properties": {"a": {"type": "string", "enum": None, "default": None}, "b": None}, "required": None}
    assert "null is read as absent" in check_schema(schema)[0]
    assert Validator(schema).fits({"a": "x", "b": 5})
    assert Validator({"properties": None}).fits({})


def test_a_remote_reference_is_never_fetched_and_takes_anything(tmp_path: Any) -> None:
    secret = tmp_path / "strings.json"
    secret.write_text('{"type": "string"}')
    for ref in (secret.as_uri(), "http://127.0.0.1:9/x.json#/definitions/K", "other.json", "https://example.com/s"):
        schema = {"properties": {"a": {"$ref": ref}, "b": {"type": "integer"}}}
        (note,) = check_schema(schema)
        assert repr(ref) in note
        validator = Validator(schema)
        # were the file read, a number would not fit
        assert validator.fits({"a": 5, "b": 1})
        assert not validator.fits({"b": "x"})


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        # draft-04: a boolean beside minimum
        ({"properties": {"a": {"minimum": 1, "exclusiveMinimum": True}}}, {"a": 2}, {"a": 1}),
        # draft-07: a list of items
        ({"properties": {"a": {"items": [{"type": "string"}]}}}, {"a": ["x", 1]}, {"a": [1]}),
        # 2020-12 by default
        ({"properties": {"a": {"prefixItems": [{"type": "string"}]}}}, {"a": ["x", 1]}, {"a": [1]}),
        # the declared one is tried first: draft-07 knows no prefixItems
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"a": {"prefixItems": [{"type": "string"}]}, "b": {"type": "string"}},
            },
            {"a": [1]},
            {"b": 1},
        ),
        # a dialect nobody knows is no reason to refuse
        ({"$schema": "http://example.com/mine", "properties": {"a": {"type": "string"}}}, {"a": "x"}, {"a": 1}),
    ],
)
def test_the_dialect_is_the_declared_one_else_the_first_that_accepts(schema: Any, good: Any, bad: Any) -> None:
    validator = Validator(schema)
    assert validator.fits(good)
    assert not validator.fits(bad)


def test_formats_are_words_not_rules() -> None:
    for dialect in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
        schema = {"$schema": dialect, "properties": {"a": {"type": "string", "format": "date"}}}
        assert Validator(schema).fits({"a": "next week"})


def test_references_that_turn_in_circles_end() -> None:
    assert Validator(TREE).fits({"root": {"v": 1, "kids": [{"v": 2}]}})
    circle = {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}}
    assert Validator(circle).fits({"a": 1})


def test_frozen_schemas_are_taken() -> None:
    schema = MappingProxyType({"properties": MappingProxyType({"a": MappingProxyType({"enum": ("x", "y")})})})
    validator = Validator(schema)
    assert validator.fits({"a": "x"})
    assert not validator.fits({"a": "z"})


def test_a_place_in_the_schema_can_be_asked_alone() -> None:
    validator = Validator({"properties": {"a/b~c": {"type": "integer"}}})
    assert validator.fits_at(("properties", "a/b~c"), 1) is True
    assert validator.fits_at(("properties", "a/b~c"), "x") is False
    assert validator.fits_at(("properties", "other"), 1) is None


def test_many_threads_may_use_one_validator_first_at_once() -> None:
    validator = Validator(TREE)
    found: list[bool] = []
    threads = [threading.Thread(target=lambda: found.append(validator.fits({"root": {"v": 1}}))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 16


KEYWORDS = [
    "type",
    "properties",
    "items",
    "$ref",
    "anyOf",
    "enum",
    "required",
    "$defs",
    "default",
    "pattern",
    "not",
    "a",
]
WILD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["string", "object", "#", "#/$defs/a", "http://x/y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.requirement("SRC-10")
@given(schema=WILD)
@settings(max_examples=400, deadline=None)
def test_any_schema_is_taken_or_refused_with_a_reason(schema: Any) -> None:
    try:
        check_schema(schema)
        Validator(schema).fits({"a": 1})
    except SchemaError as error:
        assert str(error)
