"""The plan: which tools, from where, once or more than once, and the grade of the whole (PRG-07)."""

from __future__ import annotations

import pytest

from sutler.lang import CallSite, check

from .support import TOOLS, Engine, checked


def loops(text: str, **how: str) -> dict[int, bool]:
    """Line of each tool call -> in_loop."""
    verdict = check(text, TOOLS, **how)  # type: ignore[arg-type]
    assert verdict.ok, [str(problem) for problem in verdict.errors]
    return {site.line: site.in_loop for site in verdict.calls}


@pytest.mark.requirement("PRG-07")
def test_a_call_site_says_tool_place_and_arguments() -> None:
    verdict = checked("x = 1\nif x:\n    é = ping(); read_file('a')")
    assert verdict.calls == (
        CallSite(tool="ping", line=3, column=9, args={}, in_loop=False),
        CallSite(tool="read_file", line=3, column=17, args={"path": "a"}, in_loop=False),
    )


@pytest.mark.requirement("PRG-07")
def test_the_grade_is_the_join_over_the_tools_that_can_be_reached() -> None:
    assert checked("1 + 1").grade == (0, 0)
    assert checked("ping()").grade == (1, 1)
    assert checked("save_file('a', 'b')").grade == (1, 2)
    assert checked("send_mail(['a'], read_file('a'))").grade == (3, 2)
    verdict = checked("def never():\n    return send_mail(['a'], 'b')\nping()")
    assert verdict.grade == (3, 2)
    assert verdict.tools == {"send_mail", "ping"}


ONCE = {
    "ping()": {1: False},
    "for x in find_files('*'):\n    pass": {1: False},
    "[x for x in find_files('*')]": {1: False},
    "for x in [1]:\n    pass\nelse:\n    ping()": {4: False},
    "try:\n    ping()\nexcept Exception:\n    ping()\nfinally:\n    ping()": {2: False, 4: False, 6: False},
    "def f():\n    return ping()\nf()": {2: False},
    "def f():\n    return ping()": {2: False},
    "def f():\n    return ping()\ndef g():\n    return f()\ng()": {2: False},
    "def f(x=ping()):\n    return x\nf()\nf()": {1: False},
    "if ping():\n    ping()": {1: False, 2: False},
}
MORE = {
    "for x in [1]:\n    ping()": {2: True},
    "while ping():\n    ping()": {1: True, 2: True},
    "[ping() for x in [1]]": {1: True},
    "[1 for x in [1] if ping()]": {1: True},
    "[1 for x in [1] for y in find_files('*')]": {1: True},
    "sum(ping() for x in [1])": {1: True},
    "{x: ping() for x in [1]}": {1: True},
    "for x in [1]:\n    for y in find_files('*'):\n        pass": {2: True},
    "def f():\n    return ping()\nf()\nf()": {2: True},
    "for x in [1]:\n    def f():\n        return ping()\n    f()": {3: True},
    "def f():\n    return ping()\nfor x in [1]:\n    f()": {2: True},
    "def f():\n    return ping()\n[f() for x in [1]]": {2: True},
    "def f():\n    return ping()\ndef g():\n    return f()\nfor x in [1]:\n    g()": {2: True},
    "def f(n):\n    ping()\n    return n and f(n - 1)\nf(3)": {2: True},
    "def f(n):\n    ping()\n    return n and g(n)\ndef g(n):\n    return f(n - 1)\nf(3)": {2: True},
    "def f():\n    return ping()\ng = f\ng()": {2: True},
    "def f():\n    return ping()\nfs = [f]\nfs[0]()": {2: True},
    "def f():\n    return ping()\ndef call(g):\n    return g() + g()\ncall(f)": {2: True},
    "import functools\n@functools.cache\ndef f(n):\n    return ping()\nf(1)": {4: True},
    "def f():\n    return ping()\ng = lambda: 1\nf() + f()": {2: True},
    "def outer():\n    def inner():\n        return ping()\n    return inner()\nouter()\nouter()": {3: True},
    "def f(x=0):\n    return x\nfor i in [1]:\n    def g(y=ping()):\n        return y": {4: True},
    "def f():\n    return ping()\ndef f():\n    return 2\nf()": {2: True},
}


@pytest.mark.requirement("PRG-07")
@pytest.mark.parametrize("text", [*ONCE, *MORE])
def test_in_loop_is_false_only_where_a_call_can_run_at_most_once(text: str) -> None:
    assert loops(text) == (ONCE | MORE)[text]


@pytest.mark.parametrize("text", [*ONCE, *MORE])
def test_the_engine_never_repeats_a_call_that_the_plan_shows_once(text: str, engine: Engine) -> None:
    verdict = checked(text)
    answers = {"ping": lambda: len(engine.asked) < 5, "find_files": lambda pattern: ["a", "b"]}
    engine.run(verdict.text, answers)
    for name in verdict.tools:
        times = sum(1 for asked, _, _ in engine.asked if asked == name)
        sites = [site for site in verdict.calls if site.tool == name]
        if not any(site.in_loop for site in sites):
            assert times <= len(sites)


@pytest.mark.requirement("PRG-07")
def test_a_call_in_a_method_counts_as_repeated_because_nobody_can_count_its_calls() -> None:
    text = "class A:\n    def m(self):\n        return ping()\na = A()\na.m()"
    assert loops(text, level="full") == {3: True}


def test_a_refused_program_still_tells_what_it_names() -> None:
    verdict = checked("x = send_mail\nping()\nnope")
    assert not verdict.ok
    assert verdict.tools == {"send_mail", "ping"}
    assert verdict.grade == (3, 2)
    assert verdict.text == "x = send_mail\nping()\nnope"


def test_only_the_tools_that_a_program_names_are_asked_for() -> None:
    class Counting(dict):  # type: ignore[type-arg]
        asked: list[str] = []

        def __getitem__(self, name: str) -> object:
            self.asked.append(name)
            return super().__getitem__(name)

    tools = Counting(TOOLS)
    assert check("ping()\nread_file('a')", tools).ok
    assert set(tools.asked) == {"ping", "read_file"}


def test_of_a_call_that_is_not_all_literal_the_literal_arguments_are_known() -> None:
    text = "n = 1\nread_file('a', limit=n)\nread_file(*['a'], limit=2)\nread_file('a', 2)"
    assert [(site.args, site.partly) for site in check(text, TOOLS).calls] == [
        (None, {"path": "a"}),
        (None, {"limit": 2}),
        ({"path": "a", "limit": 2}, {}),
    ]
