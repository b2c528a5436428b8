"""SCH-08: a live function and the file it stands in give the same schema."""

from __future__ import annotations

import json
import linecache
import sys
import types
import warnings
from dataclasses import fields
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sutler.schema.from_callable import describe_callable
from sutler.schema.from_source import describe

from .generated import PRELUDE, functions

NAME = "sutler_generated"


def load(text: str) -> types.ModuleType:
    """The text as a module whose source Python can find."""
    module = types.ModuleType(NAME)
    module.__file__ = f"<{NAME}>"
    sys.modules[NAME] = module
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydantic warns of Field defaults that a generated annotation cannot have
        exec(compile(text, module.__file__, "exec"), module.__dict__)
    return module


def compared(described: Any) -> dict[str, Any]:
    found = {item.name: getattr(described, item.name) for item in fields(described) if item.name != "notes"}
    found["order"] = list(described.input_schema["properties"])
    return found


@pytest.mark.requirement("SCH-08")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(functions())
def test_a_file_and_its_live_function_give_the_same_schema(text: str) -> None:
    static = describe(text, "tool_it", file="generated.py")
    live = describe_callable(load(text).tool_it)
    assert compared(static) == compared(live)
    for schema in filter(None, (static.input_schema, static.output_schema)):
        assert json.loads(json.dumps(schema, allow_nan=False)) == schema
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
        jsonschema_rs.validator_for(schema)


@pytest.mark.requirement("SCH-08")
@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters came with Python 3.12")
@pytest.mark.parametrize("start", ["", "from __future__ import annotations\n"])
def test_type_parameters_mean_the_same_in_both(start: str) -> None:
    text = (
        f"{start}type Ids = list[int]\ntype Tree = dict[str, Tree] | int\n"
        "def tool_it[T, N: int](a: T, b: list[N], c: Ids, d: 'Ids | None', e: Tree): pass\n"
    )
    static = describe(text, "tool_it", file="generated.py")
    assert compared(static) == compared(describe_callable(load(text).tool_it))
    assert static.input_schema["properties"]["b"] == {"type": "array", "items": {"type": "integer"}}


@pytest.mark.requirement("SCH-08")
@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["int", "Color", "list[Point]", "Model", "'Deep | None'", "Part"]),
    st.sampled_from(["1", "'x'", "None", "[]", "Color.RED"]),
)
def test_a_live_function_without_source_gives_the_same_schema_for_literal_defaults(
    annotation: str, default: str
) -> None:
    text = f"{PRELUDE}def tool_it(a: {annotation}, b: {annotation} = {default}):\n    pass\n"
    static = describe(text, "tool_it", file="generated.py")
    module = types.ModuleType(NAME)
    sys.modules[NAME] = module
    exec(text, module.__dict__)
    assert compared(static) == compared(describe_callable(module.tool_it))
