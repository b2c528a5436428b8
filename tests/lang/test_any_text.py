"""Whatever the text is, the answer is a verdict: never an exception, never a wait, never a word of the parser's own."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sutler.lang import LEVELS, Checked, check

from .support import TOOLS, checked, said

BOMBS = {
    "parentheses": "(" * 100_000,
    "closed parentheses": "(" * 30_000 + ")" * 30_000,
    "minus signs": "-" * 60_000 + "1",
    "not": "not " * 15_000 + "1",
    "attributes": "x" + ".a" * 30_000,
    "sums": "+".join(["1"] * 30_000),
    "and": " and ".join(["1"] * 10_000),
    "calls": "x" + "()" * 30_000,
    "calls inside calls": "read_file(" * 99 + "'a'" + ")" * 99,
    "subscripts": "x = []\nx" + "[0]" * 20_000,
    "lambdas": "lambda:" * 8_000 + "1",
    "ternaries": "1 if 1 else " * 5_000 + "1",
    "dicts": "{1:" * 15_000,
    "elif": "if 0: pass\n" + "elif 0: pass\n" * 4_000,
    "f-strings": "f'" + "{" * 60_001 + "'",
    "blocks": "\n".join(" " * i + "if 1:" for i in range(300)),
    "null byte": "x = 1\ny = 'a\0b'",
    "surrogate": "x = '\ud800'",
    "surrogate in a comment": "# \udc80",
    "control character": "x = 1\x0c",
    "too long": "x = 1\n" * 20_000,
    "digits": "1" * 60_000,
    "long names": "a" * 30_000 + " = 1\n" + "a" * 29_000 + "b",
    "many unknown names": "\n".join(f"name{i}" for i in range(2_000)),
    "many functions": "\n".join(f"def a{i}(): return a{i + 1}()" for i in range(500)) + "\ndef a500(): ping()",
    "many lambdas": "sorted([], key=lambda v: read_file(v))\n" * 400,
    "many parallel calls": "parallel([" + "ping()," * 2_000 + "])",
    "spaces": "type x" + " " * 60_000,
    "blank lines before an error": "\n" * 60_000 + "x y",
    "decorators": "@" * 1_000,
    "stars": "*" * 60_000,
    "await in await": "await (" * 90 + "[" + "1," * 20_000 + "]" + ")" * 90,
    "nothing": "",
    "byte order mark": "\ufeffping()",
}
ACCEPTED = {"nothing", "byte order mark", "many functions", "many parallel calls"}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("kind", BOMBS)
def test_no_text_gets_more_than_a_verdict(kind: str) -> None:
    for level in LEVELS:
        verdict = check(BOMBS[kind], TOOLS, level=level)
        assert isinstance(verdict, Checked)
        assert verdict.ok is not verdict.errors
        for problem in verdict.errors:
            assert 1 <= problem.line <= BOMBS[kind].count("\n") + 1
            str(problem).encode()
            assert len(str(problem)) < 1000
    if kind not in ACCEPTED:
        assert not check(BOMBS[kind], TOOLS).ok


SMALL_STACK = """
import json, sys, threading
from sutler.lang import check
verdicts = []
threading.stack_size(1024 * 1024)
thread = threading.Thread(target=lambda: verdicts.extend(check(text, {}).ok for text in json.load(sys.stdin)))
thread.start()
thread.join()
print(len(verdicts))
"""


def test_a_thread_with_a_stack_of_one_megabyte_is_enough() -> None:
    """In a process of its own, since what would go wrong is a crash."""
    texts = json.dumps(list(BOMBS.values()))
    done = subprocess.run([sys.executable, "-c", SMALL_STACK], input=texts, capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(BOMBS)


def test_a_caller_deep_in_its_own_stack_gets_a_verdict_and_no_recursion_error() -> None:
    text = "[" * 80 + "]" * 80

    def dive(left: int) -> Any:
        return checked(text) if left == 0 else dive(left - 1)

    depth, frames = sys.getrecursionlimit(), 0
    frame = sys._getframe()
    while frame is not None:
        frames, frame = frames + 1, frame.f_back  # type: ignore[assignment]
    for spare in (30, 60, 120, 250):
        verdict = dive(depth - frames - spare)
        assert verdict.ok or "nested too deeply" in str(verdict.errors[0])


PIECES = """
read_file ping x y é ( ) [ ] { } : , . = * ** @ := 'a' f"{ }" 1 in and not import json except as with match case
del yield await async global lambda if else for while return def class try parallel( next( str. format format_map
__class__
"""
WORDS = [*PIECES.split(), "\n", "    ", " ", "\t", "\r", "\0", "\ud800", "\\", "\uff45"]


@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join), st.sampled_from(LEVELS))
def test_pieces_of_programs_in_any_order_get_a_verdict(text: str, level: str) -> None:
    verdict = check(text, TOOLS, level=level)
    assert verdict.ok == (not verdict.errors)
    assert len(verdict.errors) <= 5
    places = [(problem.line, problem.column) for problem in verdict.errors]
    assert places == sorted(places)


@given(st.text(max_size=60))
def test_any_characters_get_a_verdict(text: str) -> None:
    check(text, TOOLS)


@pytest.mark.requirement("PRG-06")
def test_at_most_five_problems_are_told_in_line_order_and_the_rest_counted() -> None:
    verdict = checked("\n".join(f"nothing_{i}()" for i in range(9)))
    assert [problem.line for problem in verdict.errors] == [1, 2, 3, 4, 5]
    assert verdict.more == 4
    mixed = checked("a1\nread_file()\nb1\nlen = 1\nimport os\nc1\nd1 = read_file\ne1")
    assert [problem.line for problem in mixed.errors] == [1, 2, 3, 4, 5]
    assert mixed.more == 3
    assert checked("a1\nb1").more == 0


def test_the_same_thing_wrong_in_several_lines_is_said_once_with_the_lines() -> None:
    verdict = checked("d = {1: 2}\ndel d[1]\nd\ndel d[2]\nzz + zz\nzz")
    assert [str(problem) for problem in verdict.errors] == [
        "line 2: del is not available (also in line 4). Write instead: d.pop(1)",
        "line 5: there is no name zz (also in line 6). "
        "Write instead: zz = ... on a line before, or pass it as a parameter",
    ]
    (many,) = checked("\n".join(["zz"] * 20)).errors
    assert many.message == "there is no name zz (also in line 2, 3, 4, 5, 6, ...)"


def test_a_problem_reads_as_line_what_is_wrong_and_what_to_write() -> None:
    (problem,) = checked("x = 1\ndel x").errors
    assert str(problem) == "line 2: del is not available. Write instead: x = None"
    assert (problem.line, problem.column) == (2, 1)
    (problem,) = checked("é = 1; zz").errors
    assert problem.column == 8


NODE_NAMES = re.compile(
    r"\b("
    + "|".join(name for name in dir(ast) if re.fullmatch(r"[A-Z][a-z]+([A-Z]\w+)", name))
    + r")\b|\bast\.|\bAST\b"
)


def everything_refused() -> list[str]:
    from . import test_levels, test_names, test_tools

    texts = [*test_levels.PROGRAM_ONLY, *test_levels.FULL_ONLY, *test_levels.NEVER, *test_levels.CLASSES]
    texts += [
        *test_names.UNKNOWN,
        *test_names.TOO_EARLY,
        *test_tools.VALUES,
        *test_tools.INDIRECT,
        *test_tools.PARALLEL,
    ]
    return [*texts, *BOMBS.values(), *SYNTAX]


def test_no_message_holds_the_name_of_a_syntax_tree_class() -> None:
    for text in everything_refused():
        for level in LEVELS:
            for problem in check(text, TOOLS, level=level).errors:
                assert not NODE_NAMES.search(str(problem)), str(problem)
                assert not problem.message.endswith(".") or problem.message.endswith("...")


SYNTAX = {
    "```python\nping()\n```": "the program alone, without ``` lines",
    "Here is the code:\n```\nping()\n```": "the program alone, without ``` lines",
    "x = \u201ca\u201d": "plain quotes",
    "i = 0\ni++": "i += 1",
    "x = 1 && 2": "a and b",
    "x = !True": "not x",
    "if 1:\n    pass\nelse if 2:\n    pass": "elif condition:",
    "const x = 1": "name = value",
    "x = [1,\n2": "closing bracket or quote",
    "x = 'it's'": "quotes that it does not contain",
    "  x = 1": "none for the outermost lines",
    "def f():\nreturn 1": "four spaces",
    "print 'a'": "missing parentheses in call to 'print'. Write instead: print(...)",
    "x := 3": "name = value",
    "function f() {\n}": "def name(a, b):",
    "break": "'break' outside loop",
    "def f(a, a):\n    pass": "duplicate argument 'a'",
    "*a, *b = [1]": "multiple starred expressions",
    "try:\n    pass\nexcept:\n    pass\nexcept ValueError:\n    pass": "default 'except:' must be last",
    "def f():\n    nonlocal x\n    x = 1": "no binding for nonlocal 'x' found",
    "read_file('a', limit=1, limit=2)": "limit twice",
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", SYNTAX)
def test_text_that_is_not_python_gets_a_hint_that_fits(text: str) -> None:
    assert SYNTAX[text] in said(text)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later Pythons read these themselves")
@pytest.mark.parametrize(
    ("text", "rewrite"),
    [
        ('f"{"a"}"', "other quotes inside the braces"),
        ("d = {}\nf'{d['k']}'", "other quotes inside the braces"),
        ("f'{\"\\n\"}'", "no backslash"),
        ("def f[T](x: T):\n    return x", "without [...]"),
        ("type X = int", "without this line"),
    ],
)
def test_syntax_newer_than_the_hosts_python_gets_a_message_that_says_what_to_write(text: str, rewrite: str) -> None:
    assert rewrite in said(text)


def test_line_ends_of_every_kind_count_the_same() -> None:
    for end in ("\n", "\r\n", "\r"):
        verdict = checked(f"x = 1{end}ping(){end}zz")
        assert [site.line for site in verdict.calls] == [2]
        assert verdict.errors[0].line == 3


def test_the_hosts_warning_filters_are_left_alone() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        assert checked("x = '\\d'\nx is 'a'\nassert (x, 'y')").ok
        assert list(warnings.filters) == before


@pytest.mark.parametrize(
    ("text", "place"),
    [("for x in\n    y", "at its end"), ("1 +  # and", "at its end"), ("a b c", "at 'b'"), ("x = = 3", "at '='")],
)
def test_a_line_that_is_not_python_says_where_python_stopped(text: str, place: str) -> None:
    assert said(text).startswith(f"line 1: this line is not Python (invalid syntax {place}): {text[:3]}")
