from __future__ import annotations

from typing import Any

import pytest

from sutler.errors import InvalidArguments
from sutler.schema.argtext import parse_arguments
from sutler.schema.bind import Binder
from tests.schema.specs import TREE, spec

# f(n: int, flag: bool = False, tags: list[str] | None = None, opts: dict | None = None)
F = {
    "n": {"type": "integer"},
    "flag": {"type": "boolean", "default": False},
    "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None},
    "opts": {"anyOf": [{"type": "object"}, {"type": "null"}], "default": None},
}


def one(schema: Any, value: Any) -> Any:
    """What one optional parameter of this schema becomes."""
    return Binder(spec({"p": schema})).bind({"p": value}).arguments.get("p", "absent")


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize(
    ("sent", "name", "wanted", "rule"),
    [
        ({"n": "5"}, "n", 5, "number"),
        ({"n": 5.0}, "n", 5, "integer"),
        ({"n": 1, "flag": "true"}, "flag", True, "boolean"),
        ({"n": 1, "tags": '["a","b"]'}, "tags", ["a", "b"], "json"),
        ({"n": 1, "opts": '{"k":1}'}, "opts", {"k": 1}, "json"),
        ({"n": 1, "tags": "a"}, "tags", ["a"], "list"),
        ({"n": 1, "flag": None}, "flag", False, "null"),
    ],
)
def test_the_seven_mistakes_that_models_make_are_mended_and_recorded(
    sent: dict[str, Any], name: str, wanted: Any, rule: str
) -> None:
    bound = Binder(spec(F, ["n"])).bind(sent)
    assert bound.arguments[name] == wanted
    assert type(bound.arguments[name]) is type(wanted)
    assert [(repair.path, repair.rule, repair.before) for repair in bound.repairs] == [(name, rule, sent[name])]


@pytest.mark.requirement("RUN-05", "RUN-11")
def test_the_two_that_cannot_be_mended_are_reported_or_refused() -> None:
    binder = Binder(spec(F, ["n"]))
    assert [repair.rule for repair in binder.bind({"n": 1, "bogus": 2}).repairs] == ["dropped"]
    with pytest.raises(InvalidArguments, match=r"n: wanted int, got 'five'"):
        binder.bind({"n": "five"})


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize("text", ["12345", "00123", "1e5", "true", "null", '{"a":1}', "[1]", "", " x "])
def test_text_for_a_text_parameter_arrives_as_it_was_sent(text: str) -> None:
    bound = Binder(spec({"p": {"type": "string"}})).bind({"p": text})
    assert (bound.arguments, bound.repairs) == ({"p": text}, ())


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize("value", ["5", 5, 5.0, [1.0], {"a": 1}, None, True])
def test_an_untyped_parameter_takes_any_json_value_untouched(value: Any) -> None:
    bound = Binder(spec({"p": {"type": "string"}}, untyped=frozenset(("p",)))).bind({"p": value})
    assert bound.repairs == ()
    assert bound.arguments["p"] == value
    assert type(bound.arguments["p"]) is type(value)


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        *((value, False) for value in ("false", "False", "FALSE", "0", 0, "no", "off")),
        *((value, True) for value in ("true", "True", "1", 1, "yes", "on")),
    ],
)
def test_booleans_are_read_by_the_table(value: Any, wanted: bool) -> None:
    assert one({"type": "boolean"}, value) is wanted


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize("value", ["maybe", 2, -1, "2", "", "y", "t", 1.0, [], "truee"])
def test_what_the_table_does_not_hold_is_no_boolean(value: Any) -> None:
    with pytest.raises(InvalidArguments, match="p: wanted bool"):
        one({"type": "boolean"}, value)


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("integer", "-7", -7),
        ("integer", "5.0", 5),
        ("integer", "1e3", 1000),
        ("integer", "123456789012345678901234567890", 123456789012345678901234567890),
        ("number", "1.5", 1.5),
        ("number", "-0.5e-3", -0.0005),
        ("number", "3", 3),
    ],
)
def test_numbers_in_text_are_read_by_the_json_grammar(kind: str, text: str, wanted: Any) -> None:
    assert one({"type": kind}, text) == wanted


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize(
    "text", ["5.5", "0x10", "1_000", "+5", " 5", "5 ", "007", "\u0661", "", "NaN", "1e999", "9" * 5000]
)
def test_other_text_is_no_integer(text: str) -> None:
    with pytest.raises(InvalidArguments, match="p: wanted int"):
        one({"type": "integer"}, text)


@pytest.mark.requirement("RUN-11")
def test_a_repair_is_kept_only_if_the_result_fits() -> None:
    with pytest.raises(InvalidArguments, match="p: it is less than the minimum of 10, got 5"):
        one({"type": "integer", "minimum": 10}, 5)
    with pytest.raises(InvalidArguments, match="p: wanted int, got '5'"):
        one({"type": "integer", "minimum": 10}, "5")
    with pytest.raises(InvalidArguments, match="p: wanted"):
        one({"type": "array", "items": {"type": "string"}, "minItems": 2}, "a")


@pytest.mark.requirement("RUN-11")
def test_json_text_becomes_a_list_or_an_object_and_broken_text_says_where() -> None:
    binder = Binder(spec({"fields": {"type": "object"}, "ids": {"type": "array", "items": {"type": "integer"}}}))
    bound = binder.bind({"fields": '{"a":1}', "ids": "[1, 2]"})
    assert bound.arguments == {"fields": {"a": 1}, "ids": [1, 2]}
    assert [repair.rule for repair in bound.repairs] == ["json", "json"]
    with pytest.raises(InvalidArguments, match=r"ids: wanted list\[int\].*\[1, 2.*at character \d"):
        binder.bind({"ids": "[1, 2"})
    for text in ("[1, 2,]", "['a']", "[NaN]", '[{"a":1,"a":2}]', "[" * 10_000):
        with pytest.raises(InvalidArguments):
            binder.bind({"ids": text})


@pytest.mark.requirement("RUN-11")
def test_text_that_begins_like_json_never_becomes_a_list_of_itself() -> None:
    with pytest.raises(InvalidArguments):
        one({"type": "array", "items": {"type": "string"}}, " [a, b]")
    with pytest.raises(InvalidArguments):
        one({"type": "array", "items": {"type": "string"}}, "{a}")


@pytest.mark.requirement("RUN-11")
def test_values_inside_mended_values_are_mended_too_and_each_is_recorded() -> None:
    binder = Binder(spec(schema=TREE, kind="mcp"))
    bound = binder.bind({"root": {"v": 1.0, "kids": '[{"v":"7"},{"v":2.0}]'}})
    assert bound.arguments == {"root": {"v": 1, "kids": [{"v": 7}, {"v": 2}]}}
    assert [(repair.path, repair.rule) for repair in bound.repairs] == [
        ("root.v", "integer"),
        ("root.kids", "json"),
        ("root.kids[0].v", "number"),
        ("root.kids[1].v", "integer"),
    ]


@pytest.mark.requirement("RUN-11")
def test_null_means_left_out_only_where_it_cannot_mean_itself() -> None:
    a = Binder(spec({"after": {"type": "string"}, "limit": {"type": "integer"}}, kind="mcp"))
    bound = a.bind({"after": None})
    assert bound.arguments == {}
    assert [repair.to_dict() for repair in bound.repairs] == [
        {"path": "after", "rule": "null", "from": None, "to": None}
    ]
    b = Binder(spec({"assignee": {"type": ["string", "null"]}}))
    assert b.bind({"assignee": None}).arguments == {"assignee": None}
    with pytest.raises(InvalidArguments, match="name: wanted str, got None"):
        Binder(spec({"name": {"type": "string"}}, ["name"])).bind({"name": None})
    inner = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["y"]}
    assert one(inner, {"x": None, "y": 1}) == {"y": 1}
    with pytest.raises(InvalidArguments, match=r"p\.y: wanted int, got None"):
        one(inner, {"y": None})


@pytest.mark.requirement("RUN-11")
def test_whole_floats_become_integers_only_where_an_integer_is_meant_and_within_2_to_the_53() -> None:
    assert type(one({"type": "number"}, 5.0)) is float
    assert type(one({"anyOf": [{"type": "integer"}, {"type": "number"}]}, 5.0)) is float
    assert type(one({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5.0)) is int
    assert type(one({"type": "integer"}, float(2**53))) is int
    assert type(one({"type": "integer"}, float(2**54))) is float
    assert one({"type": "array", "items": {"type": "integer"}}, [1, 2.0]) == [1, 2]
    assert type(one({"type": "array", "items": {"type": "integer"}}, [1, 2.0])[1]) is int
    assert type(one({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 2.0})["a"]) is int


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, 5),
        ({"type": "string"}, True),
        ({"type": "integer"}, True),
        ({"type": "array"}, {"a": 1}),
        ({"type": "object"}, [1]),
        ({"type": "null"}, "null"),
        ({"type": "integer"}, [5]),
        ({"type": "integer"}, "five"),
    ],
)
def test_no_other_repair_is_made(schema: Any, value: Any) -> None:
    with pytest.raises(InvalidArguments, match="p: wanted"):
        one(schema, value)


@pytest.mark.requirement("RUN-11")
def test_the_branch_of_a_union_that_fits_after_mending_is_taken() -> None:
    shapes = {
        "oneOf": [
            {
                "type": "object",
                "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
                "required": ["kind", "r"],
            },
            {
                "type": "object",
                "properties": {"kind": {"const": "square"}, "a": {"type": "integer"}},
                "required": ["kind", "a"],
            },
        ]
    }
    assert one(shapes, {"kind": "square", "a": "3"}) == {"kind": "square", "a": 3}
    assert one(shapes, '{"kind": "circle", "r": "1.5"}') == {"kind": "circle", "r": 1.5}
    assert one({"enum": [5, 10]}, "5") == 5


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("{'a': 1}", {"a": 1}),
        ("{'a': 'it\\'s', 'b': 'say \"hi\"'}", {"a": "it's", "b": 'say "hi"'}),
        ('{"a": True, "b": None, "c": [False, true, null,],}', {"a": True, "b": None, "c": [False, True, None]}),
        ("{a: 1, b_c: 'x'}", {"a": 1, "b_c": "x"}),
        ("{“a”: “x”}", {"a": "x"}),
        ("{'a': 'True, None,}'}", {"a": "True, None,}"}),
    ],
)
def test_quotes_trailing_commas_and_python_literals_in_argument_text_are_mended(text: str, wanted: Any) -> None:
    found, repair = parse_arguments(text)
    assert found == wanted
    assert repair is not None
    assert (repair.rule, repair.after) == ("json_text", wanted)


@pytest.mark.requirement("RUN-11")
@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1,2}',
        '{"a": 1',
        '{"a": "x',
        "{'a': 'x",
        '{"a": 1} and more',
        '{"a": 1}{"b": 2}',
        '```json\n{"a": 1}\n```',
        "{'a': 'it's'}",
        '{"a": "x" "b": 2}',
        "{'a': 'x' 'y'}",
        '{"a" 1}',
        '{"a":}',
        '{"a": tru}',
        '{"a": foo}',
        '{"a": nan}',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": 01}',
        '{"a": 1 2}',
        "{,}",
        '{"a":1,,"b":2}',
        '{"a": (1,2)}',
        '{"a":1 /* c */}',
        '{"a": "x\ny"}',
        '{"a":1,"a":2}',
        '{"a": ' + "9" * 5000 + "}",
        "[" * 100_000,
        '"{}"',
        "5",
    ],
)
def test_any_other_fault_in_argument_text_is_refused_and_shown(text: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        parse_arguments(text)
    assert text[:5] in str(caught.value).replace("\\n", "\n").replace("\\'", "'")
    assert len(str(caught.value)) < 700


@pytest.mark.requirement("RUN-11")
def test_text_that_parses_is_not_called_mended() -> None:
    assert parse_arguments('\ufeff {"a": "it\\u0027s", "a": "it\'s"} ') == ({"a": "it's"}, None)
