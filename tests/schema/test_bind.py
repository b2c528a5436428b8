from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.errors import InvalidArguments, ToolUnavailable
from sutler.schema.bind import HOST_ONLY, Binder
from tests.schema.specs import TREE, recorded_tools, spec

PURGE = {"scope": {"type": "string", "default": "all"}, "dry": {"type": "boolean", "default": False}}
IMPACT = {"symbol": {"type": "string"}, "max_depth": {"type": "integer", "default": 3}}


def refusal(binder: Binder, arguments: Any, **how: bool) -> str:
    with pytest.raises(InvalidArguments) as caught:
        binder.bind(arguments, **how)
    return str(caught.value)


@pytest.mark.requirement("RUN-02")
def test_omitted_parameters_get_their_defaults() -> None:
    bound = Binder(spec(PURGE)).bind({"dry": True})
    assert bound.arguments == {"scope": "all", "dry": True}
    assert bound.repairs == ()


@pytest.mark.requirement("RUN-02")
def test_a_mutable_default_never_leaks_into_the_next_call_nor_the_schema() -> None:
    tool = spec({"acc": {"type": "array", "default": []}, "deep": {"type": "object", "default": {"a": [1]}}})
    binder = Binder(tool)
    first = binder.bind({})
    first.arguments["acc"].append(1)
    first.arguments["deep"]["a"].append(2)
    assert binder.bind({}).arguments == {"acc": [], "deep": {"a": [1]}}
    assert binder.bind("").arguments == {"acc": [], "deep": {"a": [1]}}
    assert tool.input_schema["properties"]["acc"]["default"] == []


@pytest.mark.requirement("RUN-02")
def test_a_default_that_breaks_its_own_schema_is_not_sent_to_a_tool_that_runs_elsewhere() -> None:
    properties = {"after": {"type": "string", "default": None}, "limit": {"type": "integer", "default": 10}}
    assert Binder(spec(properties, kind="mcp")).bind({}).arguments == {"limit": 10}
    assert Binder(spec(properties, kind="library")).bind({}).arguments == {"after": None, "limit": 10}


@pytest.mark.requirement("RUN-02")
def test_a_required_parameter_with_a_default_is_filled_like_any_other() -> None:
    binder = Binder(spec({"n": {"type": "integer", "default": 3}, "m": {"type": "integer"}}, ["n", "m"]))
    assert binder.bind({"m": 1}).arguments == {"m": 1, "n": 3}
    assert "missing required parameter 'm'" in refusal(binder, {})


@pytest.mark.requirement("RUN-02")
def test_the_given_arguments_are_never_changed() -> None:
    sent = {"scope": None, "dry": "true", "extra": [1], "tool_context": 1}
    before = copy.deepcopy(sent)
    bound = Binder(spec(PURGE)).bind(sent)
    assert sent == before
    assert bound.arguments == {"scope": "all", "dry": True}


@pytest.mark.requirement("RUN-05", "RUN-11")
def test_a_near_miss_is_an_error_that_names_the_parameter_that_was_meant() -> None:
    text = refusal(Binder(spec(IMPACT, ["symbol"])), {"symbol": "f", "depth": 1})
    assert "'depth'" in text
    assert "did you mean 'max_depth'?" in text
    assert "symbol: str, max_depth: int = 3" in text


@pytest.mark.requirement("RUN-05")
@pytest.mark.parametrize(
    ("sent", "meant"),
    [("maxDepth", "max_depth"), ("max-depth", "max_depth"), ("mx_depth", "max_depth"), ("symbols", "symbol")],
)
def test_spellings_that_are_close_count_as_near_misses(sent: str, meant: str) -> None:
    assert f"did you mean {meant!r}?" in refusal(Binder(spec(IMPACT)), {sent: 1})


@pytest.mark.requirement("RUN-05")
def test_a_one_letter_parameter_is_not_the_near_miss_of_every_word() -> None:
    bound = Binder(spec({"a": {"type": "integer"}})).bind({"extra": 1})
    assert [(repair.path, repair.rule) for repair in bound.repairs] == [("extra", "dropped")]
    assert "did you mean 'id'?" in refusal(Binder(spec({"id": {"type": "integer"}})), {"user_id": 1})


@pytest.mark.requirement("RUN-05")
def test_any_other_unknown_argument_is_dropped_and_reported() -> None:
    bound = Binder(spec(IMPACT, ["symbol"])).bind({"symbol": "f", "zzz": {"a": 1}})
    assert bound.arguments == {"symbol": "f", "max_depth": 3}
    assert [repair.to_dict() for repair in bound.repairs] == [
        {"path": "zzz", "rule": "dropped", "from": {"a": 1}, "to": None}
    ]


@pytest.mark.requirement("RUN-05")
def test_what_resembles_a_parameter_that_was_given_is_dropped() -> None:
    bound = Binder(spec(IMPACT, ["symbol"])).bind({"symbol": "f", "depth": 1, "max_depth": 2})
    assert bound.arguments == {"symbol": "f", "max_depth": 2}
    assert [repair.rule for repair in bound.repairs] == ["dropped"]


@pytest.mark.requirement("RUN-05")
def test_strict_arguments_and_programs_refuse_every_unknown_one() -> None:
    tool = spec(IMPACT, ["symbol"])
    assert "unknown parameter 'zzz'" in refusal(Binder(tool, strict=True), {"symbol": "f", "zzz": 1})
    assert "unknown parameter 'zzz'" in refusal(Binder(tool), {"symbol": "f", "zzz": 1}, program=True)


@pytest.mark.requirement("RUN-05")
def test_a_tool_that_takes_extras_gets_them_near_miss_or_not() -> None:
    sent = {"symbol": "f", "depth": 1, "max_depth": 3}
    assert Binder(spec(IMPACT, hidden=frozenset(("**",)))).bind(sent).arguments == sent
    open_schema = {"type": "object", "properties": IMPACT, "additionalProperties": True}
    assert Binder(spec(schema=open_schema), strict=True).bind(sent).arguments == sent


@pytest.mark.requirement("RUN-06")
@pytest.mark.parametrize("name", sorted(HOST_ONLY))
@pytest.mark.parametrize("hidden", [frozenset[str](), frozenset(("**",))])
def test_what_only_the_host_may_give_is_taken_out_and_recorded(name: str, hidden: frozenset[str]) -> None:
    bound = Binder(spec({"a": {"type": "integer"}}, hidden=hidden | {name})).bind({"a": 1, name: "EVIL"})
    assert bound.arguments == {"a": 1}
    assert [(repair.path, repair.rule) for repair in bound.repairs] == [(name, "host_only")]


@pytest.mark.requirement("RUN-06")
def test_host_names_are_taken_out_though_the_tool_never_declared_them() -> None:
    bound = Binder(spec({}, hidden=frozenset(("**",))), strict=True).bind({"discussion_instance": {}, "b": 1})
    assert bound.arguments == {"b": 1}
    assert [repair.rule for repair in bound.repairs] == ["host_only"]


@pytest.mark.requirement("RUN-06")
def test_a_tool_whose_own_schema_has_such_a_name_gets_it() -> None:
    tool = spec({"tool_context": {"type": "string"}}, kind="mcp")
    assert Binder(tool).bind({"tool_context": "mine"}).arguments == {"tool_context": "mine"}


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize("text", ["", "  \n", None, "{}", "null", b"", b"{}"])
def test_no_arguments_at_all_are_an_empty_object_whatever_form_they_take(text: str | bytes | None) -> None:
    assert Binder(spec()).bind(text).arguments == {}
    assert "missing required parameter 'a'" in refusal(Binder(spec({"a": {"type": "string"}}, ["a"])), text)


@pytest.mark.requirement("RUN-11")
def test_truncated_text_is_refused_with_position_and_text_and_never_completed() -> None:
    text = refusal(Binder(spec(PURGE)), '{"scope": "tmp", "dry": tr')
    assert "character 25 of 26" in text
    assert "cut off" in text
    assert '{"scope": "tmp", "dry": tr' in text


@pytest.mark.requirement("RUN-11")
def test_a_bad_leaf_is_named_by_its_whole_path() -> None:
    binder = Binder(spec(schema=TREE, kind="mcp"))
    three = {"root": {"v": 1, "kids": [{"v": 2, "kids": [{"v": 3}]}]}}
    assert binder.bind(three).arguments == three
    text = refusal(binder, {"root": {"v": 1, "kids": [{"v": "x"}]}})
    assert "root.kids[0].v: wanted int, got 'x'" in text


@pytest.mark.requirement("RUN-11")
def test_keys_of_digits_and_empty_keys_do_not_mislead_the_message() -> None:
    counts = {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}}}
    binder = Binder(spec({"a": counts}))
    assert "a['7']['0']: wanted int, got 'x'" in refusal(binder, {"a": {"7": {"0": "x"}}})
    assert "wanted int, got 'x'" in refusal(binder, {"a": {"": {"0": "x"}}})


@pytest.mark.requirement("RUN-11")
def test_boolean_subschemas_mean_any_value_and_none() -> None:
    binder = Binder(spec({"rows": {"type": "array", "items": True}, "v": True, "never": False}))
    sent = {"rows": [1, "a"], "v": {"k": 1}}
    assert binder.bind(sent).arguments == sent
    assert "never: no value is allowed here, got 1" in refusal(binder, {"never": 1})


@pytest.mark.requirement("RUN-11")
def test_lists_of_types_accept_each_of_theirs() -> None:
    binder = Binder(
        spec(
            {
                "a": {"type": ["string", "null"]},
                "b": {"type": ["integer", "string"], "enum": [1, "auto"]},
                "c": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
            }
        )
    )
    sent = {"a": None, "b": "auto", "c": None}
    bound = binder.bind(sent)
    assert (bound.arguments, bound.repairs) == (sent, ())
    assert "b: wanted one of [1, 'auto'], got 2" in refusal(binder, {"b": 2})


@pytest.mark.requirement("RUN-11")
def test_the_fault_inside_the_branch_of_a_union_that_was_meant_is_the_one_named() -> None:
    tags = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}
    assert "tags[1]: wanted str, got 2" in refusal(Binder(spec({"tags": tags})), {"tags": ["a", 2]})
    assert "tags: wanted list[str] | None, got {}" in refusal(Binder(spec({"tags": tags})), {"tags": {}})


@pytest.mark.requirement("RUN-11")
def test_a_message_stays_short_however_much_came() -> None:
    binder = Binder(spec({f"p{i}": {"type": "integer"} for i in range(20)}))
    text = refusal(binder, {f"p{i}": "x" * 10_000 for i in range(20)})
    assert "and 15 more" in text
    assert len(text) < 2_000


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([1], "must be an object"),
        ("[1]", "must be a JSON object"),
        (b"\xff", "not UTF-8"),
        ({1: 2}, "the key 1 is not text"),
        ({"a": object()}, "a: <object"),
        ({"a": {"b": [b"x"]}}, "a.b[0]: b'x' is of type bytes"),
        ({"a": float("nan")}, "a: wanted int, got nan"),
        ({"a": 1, "x" * 3: {"y": {1}}}, "xxx.y: {1} is of type set"),
    ],
)
def test_what_is_no_json_is_refused_by_its_place(arguments: Any, said: str) -> None:
    assert said in refusal(Binder(spec({"a": {"type": "integer"}})), arguments)


def test_nesting_without_end_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert "nested deeper" in refusal(Binder(spec(schema={**TREE, "additionalProperties": True})), {"x": loop})
    deep: dict[str, Any] = {"v": 1}
    for _ in range(5_000):
        deep = {"v": 1, "kids": [deep]}
    assert "nested deeper" in refusal(Binder(spec(schema=TREE)), {"root": deep})


def test_tuples_and_subclasses_of_plain_types_arrive_as_plain_data() -> None:
    class Text(str):
        __slots__ = ()

    bound = Binder(spec({"a": {"type": "array"}, "b": {"type": "string"}})).bind({"a": (1, (2,)), "b": Text("x")})
    assert bound.arguments == {"a": [1, [2]], "b": "x"}
    assert type(bound.arguments["a"]) is list


def test_a_schema_that_cannot_be_used_makes_the_tool_unavailable_not_the_arguments_wrong() -> None:
    with pytest.raises(ToolUnavailable, match=r"s::tool.*properties\.a\.pattern"):
        Binder(spec({"a": {"pattern": "(?<foo"}})).bind({})


@pytest.mark.requirement("SRC-09")
def test_programs_pass_arguments_by_position_and_by_their_python_spelling() -> None:
    names = ("from", "in", "cik-A", "Notion-Version", "self")
    binder = Binder(spec({name: {"type": "string"} for name in names}, ["from"]))
    found = binder.positional(("a",), {"in_": "b", "cik_A": "c", "Notion_Version": "d", "self": "e"})
    assert found == dict(zip(names, "abcde", strict=True))
    assert binder.positional((), {"from": "a"}) == {"from": "a"}
    with pytest.raises(InvalidArguments, match="'from' is given twice"):
        binder.positional(("a",), {"from_": "b"})
    with pytest.raises(InvalidArguments, match="takes 5 arguments by position, got 6"):
        binder.positional(tuple("abcdef"), {})


def test_a_parameter_may_be_declared_inside_a_combination() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "oneOf": [{"properties": {"b": {"type": "integer"}}, "required": ["b"]}, {"required": ["c"]}],
        "allOf": [{"$ref": "#/$defs/C"}],
        "$defs": {"C": {"properties": {"c": {"type": "string"}}}},
    }
    binder = Binder(spec(schema=schema))
    assert binder.bind({"b": "5"}).arguments == {"b": 5}
    assert binder.bind({"c": "x"}).arguments == {"c": "x"}


def test_every_recorded_tool_binds_its_own_examples() -> None:
    tools = recorded_tools()
    assert len(tools) > 190
    for where, tool in tools:
        binder = Binder(spec(schema=tool["inputSchema"], kind="mcp", name=tool["name"]))
        required = tool["inputSchema"].get("required") or []
        try:
            binder.bind({})
        except InvalidArguments as error:
            assert required or "oneOf" in json.dumps(tool["inputSchema"]), (where, tool["name"], str(error))


# --- properties ---

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
LEAVES = st.sampled_from(
    [
        {"type": "integer"},
        {"type": "number"},
        {"type": "string"},
        {"type": "boolean"},
        {"type": ["integer", "null"]},
        {"enum": [1, "a", None]},
        {"const": 5},
        {},
        True,
        {"$ref": "#/$defs/N"},
    ]
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner)
        | st.builds(
            lambda one, two: {"type": "object", "properties": {"a": one, "b": two}, "required": ["a"]}, inner, inner
        )
        | st.builds(lambda values: {"type": "object", "additionalProperties": values}, inner)
    ),
    max_leaves=6,
)
NODE = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/N"}}}


def _binder(a: Any, b: Any) -> Binder:
    return Binder(spec(schema={"type": "object", "properties": {"a": a, "b": b}, "$defs": {"N": NODE}}, kind="mcp"))


def _same(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other or one != one


def _has_whole_float(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_whole_float, value.values()))
    if isinstance(value, list):
        return any(map(_has_whole_float, value))
    return isinstance(value, float) and value.is_integer()


@pytest.mark.requirement("RUN-11")
@given(a=SCHEMAS, b=SCHEMAS, sent=st.dictionaries(st.sampled_from(["a", "b", "c", "tool_context"]), JSON))
@settings(max_examples=300, deadline=None)
def test_binding_gives_arguments_that_fit_or_refuses_and_never_fails_otherwise(a: Any, b: Any, sent: Any) -> None:
    binder = _binder(a, b)
    before = copy.deepcopy(sent)
    try:
        bound = binder.bind(sent)
    except InvalidArguments as error:
        assert str(error)
    else:
        # what fits is never touched again: a second binding changes nothing
        again = binder.bind(bound.arguments)
        assert again.repairs == ()
        assert _same(again.arguments, bound.arguments)
    assert _same(sent, before)


@pytest.mark.requirement("RUN-11")
@given(a=SCHEMAS, b=SCHEMAS, sent=st.dictionaries(st.sampled_from(["a", "b"]), JSON))
@settings(max_examples=300, deadline=None)
def test_a_value_that_fits_comes_back_identical(a: Any, b: Any, sent: Any) -> None:
    from sutler.schema.validate import Validator

    if _has_whole_float(sent) or not Validator({"properties": {"a": a, "b": b}, "$defs": {"N": NODE}}).fits(sent):
        return
    bound = _binder(a, b).bind(sent)
    assert bound.repairs == ()
    assert _same(bound.arguments, sent)


@pytest.mark.requirement("RUN-11")
@given(text=st.text() | st.binary() | st.builds(lambda value, cut: json.dumps(value)[:cut], JSON, st.integers(0, 40)))
@settings(max_examples=300, deadline=None)
def test_any_text_binds_or_is_refused(text: Any) -> None:
    try:
        _binder({"type": "integer"}, {"type": "string"}).bind(text)
    except InvalidArguments as error:
        assert str(error)


@pytest.mark.requirement("RUN-11")
@given(sent=st.dictionaries(st.sampled_from(["a", "b"]), JSON, min_size=1), data=st.data())
@settings(max_examples=200, deadline=None)
def test_text_that_is_cut_anywhere_is_refused(sent: Any, data: st.DataObject) -> None:
    text = json.dumps(sent)
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(InvalidArguments):
        Binder(spec({"a": True, "b": True})).bind(text[:cut])
