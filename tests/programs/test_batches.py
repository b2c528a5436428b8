"""Announced calls leave the program guarded, in one go, and only as far as that is cheap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from sutler.lang import Param, ToolSig, check
from sutler.lang.batches import AHEAD, TAKEN
from sutler.programs.crossing import BATCH, GUARD, ROOM_AHEAD, guarded
from sutler.programs.engine import Session
from sutler.programs.steps import Call, Done, ProgramFailed

TOOLS: Mapping[str, ToolSig] = {
    name: ToolSig(
        name=name,
        params=(Param(name="x", required=True), Param(name="k", required=False)),
        read_only=name != "write",
        grade=(1, 1) if name != "write" else (1, 2),
    )
    for name in ("read", "look", "write")
}


def text_of(text: str, *params: str) -> str:
    verdict = check(text, TOOLS, params=params, ahead=True)
    assert verdict.ok, [str(problem) for problem in verdict.errors]
    safe = guarded(verdict.text, verdict.tools)
    assert isinstance(safe, str)
    return safe


def calls_of(text: str, answer: Callable[[Call], Any] = lambda _: None, **inputs: Any) -> tuple[list[Call], Any]:
    """Every call that leaves the sandbox, and what the program came to. `answer` may give an exception to raise."""
    session = Session(text_of(text, *inputs), shown=text, compute_seconds=5, memory_mb=128, output_bytes=100_000)
    calls: list[Call] = []
    try:
        step = session.start(inputs)
        while isinstance(step, Call):
            calls.append(step)
            given = answer(step)
            failed = isinstance(given, Exception)
            step = session.fail(type(given).__name__, str(given)) if failed else session.answer(given)
        assert isinstance(step, Done)
        return calls, step.output
    except ProgramFailed as error:
        return calls, error
    finally:
        session.close()


@pytest.mark.requirement("PRG-08")
def test_a_batch_is_announced_in_one_suspension_with_tool_line_and_arguments() -> None:
    calls, _ = calls_of("x = 1\n[read(p, k=p * 2)\n for p in [1, 2, 3] if p != 2]")
    assert [call.name for call in calls] == [BATCH, TAKEN + "read", TAKEN + "read"]
    assert calls[0].args == ([("read", 2, (1,), {"k": 2}), ("read", 2, (3,), {"k": 6})],)
    assert [(call.args, call.kwargs, call.line) for call in calls[1:]] == [((1,), {"k": 2}, 2), ((3,), {"k": 6}, 2)]
    calls, _ = calls_of("parallel([read(1),\n  look(x=2)])")
    assert calls[0].args == ([("read", 1, (1,), {}), ("look", 2, (), {"x": 2})],)


@pytest.mark.requirement("PRG-08")
def test_what_cannot_be_worked_out_is_met_at_its_place_after_the_calls_before_it() -> None:
    calls, error = calls_of("xs = [5, 2, 0, 1]\n[read(x,\n      10 // x) for x in xs]")
    assert [call.name for call in calls] == [BATCH, TAKEN + "read", TAKEN + "read"]
    assert len(calls[0].args[0]) == 2
    assert isinstance(error, ProgramFailed)
    assert (error.type, error.line) == ("ZeroDivisionError", 3)
    assert AHEAD not in error.trace and GUARD not in error.trace


@pytest.mark.requirement("PRG-08")
@pytest.mark.parametrize("items", ["iter([1, 2])", "count()", "starmap(max, [(1, 2), (2, 1)])", "None", "3"])
def test_what_is_used_up_by_being_looked_at_is_not_looked_at(items: str) -> None:
    def answer(call: Call) -> Any:
        return RuntimeError("enough") if call.args[0] == 2 else None

    text = (
        f"from itertools import count, starmap\nxs = {items}\ntry:\n    [read(x) for x in xs]\nexcept Exception:\n    0"
    )
    calls, _ = calls_of(text, answer)
    assert BATCH not in [call.name for call in calls]


@pytest.mark.parametrize("items", ["[1, 2]", "(1, 2)", "{1, 2}", "{1: 0, 2: 0}", "{1: 0, 2: 0}.keys()", "range(1, 3)"])
@pytest.mark.parametrize("wrap", ["{}", "list({})", "sorted({})", "[y for y in {}]"])
def test_whatever_holds_its_items_is(items: str, wrap: str) -> None:
    calls, _ = calls_of(f"xs = {wrap.format(items)}\n[read(x) for x in xs]")
    assert [call.args for call in calls[1:]] == [(1,), (2,)]
    assert calls[0].name == BATCH


def test_one_call_is_no_batch() -> None:
    calls, _ = calls_of("[read(x) for x in [1]]\n[read(x) for x in []]")
    assert [call.name for call in calls] == [TAKEN + "read"]


def test_the_host_hears_when_the_program_has_left_a_batch_behind() -> None:
    """Else a later call at the same place could be taken for the rest of an earlier batch."""
    text = "def f(xs):\n    try:\n        return {read(x) for x in xs}\n    except TypeError:\n        return 0\n"
    text += "f([1, 2, 3])\nf([2])"
    calls, _ = calls_of(text, lambda call: [])  # a list cannot be in a set
    assert [call.name for call in calls] == [BATCH, TAKEN + "read", BATCH, TAKEN + "read"]
    assert calls[2].args == ([],)


@pytest.mark.requirement("PRG-05")
def test_announced_arguments_are_guarded_like_any_other() -> None:
    colliding = "m = 2305843009213693951\nbad = {i * m: 1 for i in range(2000)}\n"
    calls, error = calls_of(colliding + "rows = ['a', 'b', bad]\n[read(x) for x in rows]")
    assert [call.args for call in calls[1:]] == [("a",), ("b",)]
    assert len(calls[0].args[0]) == 2
    assert "cannot leave" in str(error)
    calls, error = calls_of("xs = [1, 2, 3]\nxs.append(xs)\n[read(x) for x in xs]\n0")
    assert len(calls[0].args[0]) == 3 and "cyclic" in str(error)


@pytest.mark.requirement("PRG-05")
def test_only_so_much_is_announced_at_once_and_the_rest_runs_in_order() -> None:
    big = "x" * (ROOM_AHEAD // 4 + 1)
    for argument in ("[read(big) for i in range(20)]", "rows = [[big]] * 20\n[read(r) for r in rows]"):
        calls, _ = calls_of(argument, big=big)
        assert len(calls[0].args[0]) == 3
        assert len(calls) == 21


def test_a_program_that_announces_nothing_has_nothing_more_in_front() -> None:
    assert AHEAD not in text_of("read(1)\nwrite([2])")
    assert f"{TAKEN}read({GUARD}(x))" in text_of("[read(x) for x in [1, 2]]")
