"""Programs drawn from a grammar of ours: what passes the check, the engine's parser takes, and the plan holds."""

from __future__ import annotations

import pydantic_monty as monty
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sutler.lang import check

from .support import ANSWERS, TOOLS, Engine

NAMES = st.sampled_from(["a", "b", "c", "rows", "é"])
ATOMS = NAMES | st.sampled_from(
    ["1", "-2", "3.5", "'x'", "'é'", "None", "True", "[]", "{}", "()", "'%s'", "10 ** 2", "ping()", "read_file('a')"]
)


OPERATORS = [
    *["+", "-", "*", "/", "//", "%", "**", "|", "&", "^", "<<", ">>", "and", "or", "==", "!=", "<", "<=", "in", "is"],
    "not in",
    "is not",
]


def inside(e: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions made of smaller ones."""

    def fill(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.tuples(*parts).map(lambda filled: pattern.format(*filled))

    return st.one_of(
        fill("({} {} {})", e, st.sampled_from(OPERATORS), e),
        fill("(not {})", e),
        fill("({} if {} else {})", e, e, e),
        fill("[{}, {}]", e, e),
        fill("({}, *[{}])", e, e),
        fill("{{{}: {}}}", st.sampled_from(["'k'", "1"]), e),
        fill("{{**{{}}, 'k': {}}}", e),
        fill("[{} for {} in [{}] if {}]", e, NAMES, e, e),
        fill("{{'k': {} for {} in [{}]}}", e, NAMES, e),
        fill("sum({} for {} in [{}])", e, NAMES, e),
        fill("next(({} for {} in [{}]), {})", e, NAMES, e, e),
        fill("str({})", e),
        fill("len(str({}))", e),
        fill("sorted([{}], key=lambda x: str(x))", e),
        fill("(lambda {}: {})({})", NAMES, e, e),
        fill("({} := {})", NAMES, e),
        fill("str({})[{}:]", e, st.sampled_from(["0", "-1", ""])),
        fill("str({}).upper()", e),
        fill("list(map(str.lower, [str({})]))", e),
        fill("'{{}}-{{}}'.format({}, {})", e, e),
        fill("read_file(str({}), limit={})", e, e),
        fill("parallel([read_file(str({})), ping()])", st.sampled_from(["1", "'a'"])),
        e.map(lambda one: f"f'{{{one}!s:>3}}'" if not set("'\"{}\\:!=") & set(one) else one),
    )


EXPRESSIONS = st.recursive(ATOMS, inside, max_leaves=6)


def indented(body: list[str]) -> str:
    return "\n".join("    " + line for part in body for line in part.split("\n"))


def blocks(statement: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(statement, min_size=1, max_size=3).map(indented)
    e = EXPRESSIONS
    return st.one_of(
        st.builds("if {}:\n{}\nelse:\n{}".format, e, body, body),
        st.builds("if {}:\n{}\nelif {}:\n{}".format, e, body, e, body),
        st.builds("for {} in [{}, 1]:\n{}\nelse:\n{}".format, NAMES, e, body, body),
        st.builds("while {}:\n{}\n    break".format, e, body),
        st.builds("try:\n{}\nexcept (ValueError, TypeError) as e:\n{}\nfinally:\n{}".format, body, body, body),
        st.builds("def f({}, *more, k=1, **others):\n{}\n    return {}\nf({})".format, NAMES, body, e, e),
        st.builds("def g():\n    global c\n{}\n    c = {}\ng()".format, body, e),
    )


SIMPLE = st.one_of(
    st.builds("{} = {}".format, NAMES, EXPRESSIONS),
    st.builds("{}, *{} = [{}]".format, st.just("a"), st.just("b"), EXPRESSIONS),
    st.builds("{}: int = {}".format, NAMES, EXPRESSIONS),
    st.builds("{} += {}".format, NAMES, EXPRESSIONS),
    EXPRESSIONS,
    st.builds("save_file('a', str({}))".format, EXPRESSIONS),
    st.builds("assert {}, 'no'".format, EXPRESSIONS),
    st.sampled_from(["pass", "import json", "from math import pi, floor as down", "import re, itertools"]),
    st.builds("raise ValueError(str({}))".format, EXPRESSIONS),
)
START = "a = b = c = é = 1\nrows = [1]\n"
PROGRAMS = st.lists(st.recursive(SIMPLE, blocks, max_leaves=5), min_size=1, max_size=4).map(
    lambda parts: START + "\n".join(parts)
)


@pytest.mark.requirement("PRG-06", "PRG-07")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(PROGRAMS, st.sampled_from(["program", "full"]))
def test_the_engine_takes_what_passed_and_does_no_more_than_was_planned(engine: Engine, text: str, level: str) -> None:
    verdict = check(text, TOOLS, level=level)
    assume(verdict.ok)
    try:
        engine.run(verdict.text, ANSWERS)
    except monty.MontySyntaxError as error:
        raise AssertionError(f"the engine cannot read this: {error}") from error
    except monty.MontyRuntimeError as error:
        assert "NotImplementedError" not in str(error), "the engine lacks something that the check lets pass"
        assert "is not defined" not in str(error), "a name that the check took for known"
    asked = [name for name, _, _ in engine.asked]
    assert set(asked) <= verdict.tools
    for name in set(asked):
        sites = [site for site in verdict.calls if site.tool == name]
        assert any(site.in_loop for site in sites) or asked.count(name) <= len(sites)
