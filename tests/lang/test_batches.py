"""Which calls are announced ahead, and that the text which does so keeps its lines and its meaning (PRG-08)."""

from __future__ import annotations

import ast

import pytest

from sutler.lang import check
from sutler.lang.batches import AHEAD, TAKEN
from sutler.lang.parse import MAX_BYTES

from .support import TOOLS

PARAMS = ("paths", "rows", "d", "a", "b", "skip")

ANNOUNCED = {
    "[read_file(p) for p in paths]": 1,
    "[read_file(p) for p in paths if p != skip if p not in ('a', 'b')]": 1,
    "[read_file(f'{a}/{p:>{b}}', limit=-b * 2) for p in paths]": 1,
    "[read_file(d[p][0], limit=rows[a:][1]) for p in paths]": 1,
    "[read_file(p) for p in find_files('*')]": 1,
    "[read_file(p) for p in sorted(paths, key=lambda one: len(one))]": 1,
    "[read_file(p) for i, (p, *rest) in enumerate(rows)]": 1,
    "[read_file(p) for p in (a if b else paths)]": 1,
    "{read_file(p) for p in paths}": 1,
    "{p: read_file(p) for p in paths}": 1,
    "{d[p]: read_file(p) for p in d}": 1,
    "sum(read_file(p) for p in paths)": 1,
    "sorted((read_file(p) for p in paths), key=len, reverse=True)": 1,
    "min((read_file(p) for p in paths), default=0)": 1,
    "', '.join(read_file(p) for p in paths)": 1,
    **{f"{one}(read_file(p) for p in paths)": 1 for one in "list tuple set dict max any all".split()},
    "[[read_file(p, limit=row[0]) for p in row] for row in rows]": 1,
    "[read_file(p) for p in [read_file(q) for q in paths]]": 2,
    "def f(ps, k):\n    return [read_file(p, limit=k) for p in ps]\nf(paths, 1)": 1,
    "parallel([ping(), read_file('a')])": 2,
    "parallel([read_file(p) for p in paths])": 1,
    "parallel([ping(), ping()]) + [read_file(p) for p in paths]": 3,
}

IN_ORDER = [
    "[ping(), read_file('a')]",  # no comprehension, and nobody asked
    "[save_file(p, 'x') for p in paths]",
    "[read_file(p)[0] for p in paths]",
    "[(p, read_file(p)) for p in paths]",
    "[read_file(str(p)) for p in paths]",
    "[read_file(p.name) for p in paths]",
    "[read_file(p.strip()) for p in paths]",
    "[read_file(p or 'x') for p in paths]",
    "[read_file(p if p else 'x') for p in paths]",
    "[read_file((x := p)) for p in paths]",
    "[read_file([p]) for p in paths]",
    "[read_file(*p) for p in paths]",
    "[read_file(**p) for p in rows]",
    "[read_file(p) for p in paths if len(p)]",
    "[read_file(p) for p in paths if p and skip]",
    "[read_file(p) for p in paths if (y := p)]",
    "[read_file(p) for p in paths if read_file(p)]",
    "[read_file(p) for row in rows for p in row]",
    "[read_file(p) for d['k'] in rows for p in d]",
    "[read_file(a) for d['k'] in rows]",
    "{str(p): read_file(p) for p in paths}",
    "{read_file(p): p for p in paths}",
    "gen = (read_file(p) for p in paths)",
    "list(enumerate(read_file(p) for p in paths))",
    "next(read_file(p) for p in paths)",
    "f'{[read_file(p) for p in paths]}'",
    "for p in paths:\n    read_file(p)",
    "parallel([ping()])",
    "parallel([])",
    "parallel([ping(), read_file(str(1))])",
    # what looking twice could change
    "from collections import defaultdict\ne = defaultdict(list)\n[read_file(e[p]) for p in paths]",
    "import collections\ne = collections.defaultdict(list)\n[read_file(e[p]) for p in paths]",
    "e = iter(paths)\n[read_file(p) for p in paths if p in e]",
]


def text_of(text: str, level: str = "program") -> str:
    verdict = check(text, TOOLS, level=level, params=PARAMS, ahead=True)
    assert verdict.ok, [str(problem) for problem in verdict.errors]
    return verdict.text


@pytest.mark.requirement("PRG-08")
@pytest.mark.parametrize(("text", "sites"), ANNOUNCED.items())
def test_calls_that_do_not_depend_on_each_other_are_announced(text: str, sites: int) -> None:
    made = text_of(text)
    assert made.count(TAKEN) == sites
    assert AHEAD in made
    assert made.count("\n") == text.count("\n")
    ast.parse(made)


@pytest.mark.requirement("PRG-08")
@pytest.mark.parametrize("text", IN_ORDER)
def test_everything_else_is_left_as_it_is(text: str) -> None:
    assert text_of(text) == check(text, TOOLS, params=PARAMS).text


@pytest.mark.requirement("PRG-08")
def test_a_program_with_a_class_is_left_alone_because_its_operators_may_run_code() -> None:
    text = "class A:\n    def __add__(self, other):\n        print(1)\n        return 'x'\na = A()\n"
    calls = "[read_file(a + p) for p in paths]"
    assert AHEAD not in text_of(text.replace("a = A()\n", "b = A()\n") + calls, level="full")
    assert AHEAD in text_of(calls, level="full")


def test_nothing_is_announced_unless_it_is_asked_for() -> None:
    text = "[read_file(p) for p in ['a', 'b']]"
    assert check(text, TOOLS).text == text


def test_the_copy_is_on_one_line_wherever_the_original_breaks() -> None:
    text = "x = [\n    read_file(\n        f'{p}',  # the path\n        limit=(a +\n               b),\n    )\n"
    text += "    for p in paths  # all\n    if p\n]"
    made = text_of(text)
    assert made.count("\n") == text.count("\n")
    assert f"for p in {AHEAD}((paths), lambda" in made
    assert "__put__('read_file', 2, ((f'{p}'), ), {'limit': (a + b)})" in made


def test_an_argument_that_cannot_be_written_on_one_line_keeps_its_calls_in_order() -> None:
    text = '[read_file(f"""{p}\n\'"\n""") for p in paths]'
    made = text_of(text)
    assert made.count("\n") == text.count("\n")
    ast.parse(made)


def test_the_plan_and_the_grade_are_those_of_the_text_as_written() -> None:
    text = "[read_file(p) for p in paths]\nparallel([ping(), ping()])"
    plain = check(text, TOOLS, params=PARAMS)
    ahead = check(text, TOOLS, params=PARAMS, ahead=True)
    assert (ahead.calls, ahead.tools, ahead.grade) == (plain.calls, plain.tools, plain.grade)


def test_programs_cannot_name_what_announces() -> None:
    for text in (f"{AHEAD}([1], 2)", f"{TAKEN}ping()", "__batch__([])", "__put__ = 1", "__all__ = []", "__live__"):
        for level in ("calls", "program", "full"):
            assert not check(text, TOOLS, level=level, ahead=True).ok


def test_a_long_program_is_taken_whatever_its_announcements_make_of_its_size() -> None:
    line = "[read_file(p, limit=a) for p in paths]\n"
    text = line * (MAX_BYTES // len(line))
    assert check(text, TOOLS, params=PARAMS, ahead=True).ok
