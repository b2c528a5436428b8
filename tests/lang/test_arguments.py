"""Arguments against the tool's parameters, before anything runs (PRG-06)."""

from __future__ import annotations

import pytest

from sutler.lang import check

from .support import TOOLS, checked, param, said, tool

WRONG = {
    "read_file()": "read_file needs path",
    "save_file()": "save_file needs path and text",
    "save_file('a')": "save_file needs text",
    "read_file('a', 1, 2)": "read_file takes at most 2 arguments, and 3 are given",
    "ping(1)": "ping takes no arguments, and 1 is given",
    "read_file('a', path='b')": "read_file is given path twice",
    "read_file('a', limits=3)": "read_file has no parameter limits; did you mean limit",
    "read_file(pth='a')": "read_file has no parameter pth; did you mean path",
    "read_file(filepath='a')": "read_file has no parameter filepath; did you mean path",
    "read_file('a', encoding='utf-8')": "read_file has no parameter encoding",
    "read_file('a', 'five')": 'read_file: limit wants a whole number, and "five" is given',
    "read_file('a', 5.5)": "read_file: limit wants a whole number, and 5.5 is given",
    "read_file('a', True)": "read_file: limit wants a whole number, and True is given",
    "read_file('a', [1])": "read_file: limit wants a whole number",
    "read_file(5)": "read_file: path wants text, and 5 is given",
    "read_file(None)": "read_file: path wants text, and None is given",
    "read_file({'path': 'a'})": "read_file: path wants text",
    "send_mail({'a': 1}, 'b')": "send_mail: to wants a list",
    "send_mail('[not json', 'b')": "send_mail: to wants a list",
    "read_file(*['a'], nope=1)": "read_file has no parameter nope",
    "read_file('a', **{'limit': 1}, foo=2)": "read_file has no parameter foo",
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", WRONG)
def test_wrong_arguments_are_named_with_the_signature(text: str) -> None:
    answer = said(text)
    assert WRONG[text] in answer
    name = text.split("(")[0]
    assert answer.endswith(f"Write instead: {TOOLS[name].signature}")
    assert len(checked(text).errors) == 1


RIGHT = [
    "read_file('a')",
    "read_file('a', 5)",
    "read_file('a', '5')",
    "read_file('a', '5.0')",
    "read_file('a', 5.0)",
    "read_file('a', limit=None)",
    "read_file(limit=5, path='a')",
    "send_mail('ann', 'b')",
    "send_mail('[\"ann\"]', 'b')",
    "send_mail(('ann',), 'b')",
    "read_file(*['a', 1])",
    "read_file(**{'path': 'a'})",
    "read_file('a', *[])",
    "x = 'a'\nread_file(x, len(x))",
]


@pytest.mark.parametrize("text", RIGHT)
def test_arguments_that_fit_or_can_be_repaired_are_accepted(text: str) -> None:
    assert said(text) == ""


@pytest.mark.parametrize(
    ("kind", "fits", "misfits"),
    [
        ("float", ["1", "1.5", "'1e3'"], ["'x'", "True", "[]", "' 1'"]),
        ("bool", ["True", "'yes'", "'OFF'", "1", "'0'"], ["'maybe'", "2", "[]"]),
        ("dict", ["{}", "'{\"a\": 1}'"], ["'[1]'", "'a'", "[]", "1"]),
        ("list", ["[]", "'a'", "1"], ["{}", "'{\"a\": 1}'"]),
        ("None", ["None"], ["1", "'a'"]),
        ("int", ["-3", "'-3'", "10 ** 3"], ["'03'", "'0x10'", "1e999", "'1e999'", "{}"]),
        ("Any", ["1", "'a'", "None", "{}"], []),
        ("something", ["1", "None"], []),
    ],
)
def test_evident_type_errors_are_found_and_repairable_values_are_not_errors(
    kind: str, fits: list[str], misfits: list[str]
) -> None:
    tools = {"t": tool("t", param("a", kind))}
    for value in fits:
        assert check(f"t({value})", tools).ok, value
    for value in misfits:
        assert not check(f"t({value})", tools).ok, value


def test_keyword_only_parameters_are_asked_for_by_name() -> None:
    tools = {"t": tool("t", param("a"), param("b", keyword_only=True))}
    (problem,) = check("t(1, 2)", tools).errors
    assert problem.message == "t takes 1 argument by position, and b by name"
    assert problem.rewrite == "t(a=1, b=2)"
    assert check("t(1, b=2)", tools).ok


def test_a_parameter_may_be_spelled_in_the_ways_that_it_accepts() -> None:
    tools = {"t": tool("t", param("from", "str", accepts=("from_",)))}
    verdict = check("t(from_='a')", tools)
    assert verdict.ok
    assert verdict.calls[0].args == {"from": "a"}
    assert "t needs from_" in str(check("t()", tools).errors[0])
    assert tools["t"].signature == "t(from_: str)"


def test_a_legal_name_is_shown_as_it_is_whatever_else_is_accepted() -> None:
    assert tool("t", param("path", accepts=("Path",))).signature == "t(path)"


def test_a_tool_that_takes_more_keywords_takes_any_and_keeps_them_in_the_plan() -> None:
    tools = {"t": tool("t", param("a"), extra=True)}
    verdict = check("t(1, colour='red')", tools)
    assert verdict.ok
    assert verdict.calls[0].args == {"a": 1, "colour": "red"}
    assert not check("t(1, 2)", tools).ok


LITERALS = {
    "read_file('a', 5)": {"path": "a", "limit": 5},
    "read_file('a', -5)": {"path": "a", "limit": -5},
    "read_file(limit=5, path='a' 'b')": {"limit": 5, "path": "ab"},
    "ping()": {},
    "send_mail(['a', 'b'], body='c')": {"to": ["a", "b"], "body": "c"},
    "x = 'a'\nread_file(x)": None,
    "read_file(f'a')": None,
    "read_file(*['a'])": None,
    "read_file(**{'path': 'a'})": None,
}


@pytest.mark.requirement("PRG-07")
@pytest.mark.parametrize("text", LITERALS)
def test_the_plan_holds_the_arguments_by_name_when_all_are_literal(text: str) -> None:
    assert checked(text).calls[0].args == LITERALS[text]


def test_what_cannot_be_shown_is_still_reported() -> None:
    tools = {"t": tool("t", param("a", "str"))}
    for value in ("0x" + "f" * 6000, "'\\ud800' and 1", "['\\ud800']", "{'a': '" + "x" * 500 + "'}"):
        for problem in check(f"t({value})", tools).errors:
            assert len(str(problem).encode()) < 300
    assert "a very long number" in str(check("t(0x" + "f" * 6000 + ")", tools).errors[0])
