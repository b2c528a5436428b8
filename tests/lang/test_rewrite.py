"""The engine's text: the same lines, and the meaning that Python gives them."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

import pytest

from .support import Engine, checked, said

SAME_AS_PYTHON = [
    "next(x for x in [1, 2] if x > 1)",
    "next((x for x in []), 'none')",
    "next((x for x in [3]), 'none')",
    "next(\n    x\n    for x in [1, 2]\n)",
    "next(zip([1], [2]))",
    "next(map(lambda x: x + 1, [1]))",
    "next(filter(None, [0, 2]))",
    "next(enumerate(['a']))",
    "next(reversed([1, 2]))",
    "next(map(str.upper, ['a']), 'z')",
    "g = (x for x in [1, 2])\n[next(g), next(g), next(g, 'end')]",
    "m = map(str, [1, 2])\nfirst = next(m)\nrest = list(m)\n[first, rest]",
    "it = iter([1, 2])\n[next(it), next(it)]",
    "sorted(['b', 'A', 'c'], key=str.lower)",
    "list(map(str.strip, [' a ', 'b ']))",
    "str.join(',', ['a', 'b'])",
    "str.split('a b')",
    "'{a}-{b}'.format_map({'a': 1, 'b': 2})",
    "'{a}'.format_map(({'a': 1}))",
    "'{a}'.format_map(dict(a=1) or {})",
    "t = '{a}'\nt.format_map({'a': 3})",
    "f\"{next(x for x in [1, 2])} é {str.upper('a')}\"",
    "'é' + next(x for x in ['ü'])",
    "[next(y for y in [x]) for x in [1, 2]]",
    "next(next(iter([y])) for y in [1])",
    "sum(x for x in [1, 2])",
    "x = 5\nnext(x for y in [1] if (x := y))",
]


def python(text: str) -> Any:
    """What Python itself makes of a program whose last line is an expression."""
    *before, last = text.split("\n")
    names: dict[str, Any] = {}
    try:
        compile(last, "", "eval")
    except SyntaxError:
        return eval(text, names)
    exec("\n".join(before), names)
    return eval(last, names)


@pytest.mark.parametrize("text", SAME_AS_PYTHON)
def test_a_rewritten_program_means_what_python_means(text: str, engine: Engine) -> None:
    verdict = checked(text)
    assert verdict.ok, said(text)
    assert engine.run(verdict.text) == python(text)


@pytest.mark.parametrize("text", [*SAME_AS_PYTHON, "x = parallel([ping(), ping()])\nx"])
def test_lines_stay_where_they_are(text: str) -> None:
    assert checked(text).text.count("\n") == text.count("\n")


def test_a_program_without_such_idioms_is_left_as_it_is() -> None:
    text = "# über\nx = sum(len(r) for r in ['a'])\nprint(f'{x:>3}')\n'a'.upper()\n"
    assert checked(text).text == text


def test_parallel_becomes_a_list_in_the_same_columns() -> None:
    assert checked("x = parallel([ping()])").text == "x = list    ([ping()])"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later Pythons know the places inside f-strings")
def test_an_idiom_whose_place_python_does_not_know_is_asked_for_on_its_own_line() -> None:
    """Python 3.11 loses track of places in f-strings that repeat an expression over several lines."""
    text = 'x = f"""{1}\n\n  {  next(q for q in [1])}{next(q for q in [2])}"""'
    verdict = checked(text)
    if not verdict.ok:
        assert "value = next(q for q in" in str(verdict.errors[0])
    else:
        with contextlib.redirect_stdout(io.StringIO()):
            assert compile(verdict.text, "", "exec")


def test_return_at_the_outermost_level_ends_the_program_with_its_value(engine: Engine) -> None:
    verdict = checked("for x in [1, 2]:\n    if x > 1:\n        return x\nreturn 0")
    assert engine.run(verdict.text) == 2
    assert "'return' outside function" in said("class A:\n    return 1", level="full")
