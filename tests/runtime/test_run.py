"""Programs: plain text without await that calls tools by name, under limits, with a trace."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sutler import Grade, Policy, Rule, RunResult, Runtime, SyncRuntime, tool
from sutler.limits import Limits


@tool(read_only=True, idempotent=True)
def double(x: int) -> int:
    """Doubles a number."""
    return x * 2


@tool(read_only=False, destructive=False, idempotent=True)
def note(text: str) -> str:
    """Keeps a note."""
    return text


async def later(x: int) -> int:
    """Gives the number back, after a while."""
    await asyncio.sleep(0.01)
    return x


@pytest.mark.requirement("PRG-01")
def test_output_stdout_variables_and_params(runtime: Any) -> None:
    text = "total = 0\nfor i in range(n):\n    total += double(i)\nprint('sum', total)\n_x = 1\ntotal"
    run = runtime(double).run(text, params={"n": 4})
    assert isinstance(run, RunResult)
    assert (run.status, run.output, run.stdout) == ("completed", 12, "sum 12\n")
    assert run.variables == {"total": 12, "i": 3}


@pytest.mark.requirement("PRG-01")
def test_effective_output_falls_back_to_what_was_printed(runtime: Any) -> None:
    rt = runtime()
    assert rt.run("print('x')\n''").effective_output == ""
    assert rt.run("print(' x ')").effective_output == "x"
    assert rt.run("x = 1").effective_output is None
    assert rt.run("0").effective_output == 0


@pytest.mark.requirement("PRG-01")
def test_params_are_copies(runtime: Any) -> None:
    mine = {"a": [1]}
    run = runtime().run("p['a'].append(2)\np", params={"p": mine})
    assert run.output == {"a": [1, 2]} and mine == {"a": [1]}


@pytest.mark.requirement("PRG-02")
def test_async_tools_are_called_in_mid_run_from_a_plain_thread(runtime: Any) -> None:
    assert runtime(later).run("later(1) + later(2)").output == 3


@pytest.mark.requirement("PRG-02")
def test_async_tools_are_called_in_mid_run_from_a_running_loop() -> None:
    async def main() -> None:
        async with Runtime(tools=[later], config=False, default_tools=False) as rt:
            runs = await asyncio.gather(*(rt.run(f"later({n}) + later({n})") for n in range(8)))
            assert [run.output for run in runs] == [n * 2 for n in range(8)]

    asyncio.run(main())


@pytest.mark.requirement("PRG-02")
def test_a_sync_runtime_works_inside_a_running_loop() -> None:
    async def main() -> None:
        with SyncRuntime(tools=[later], config=False, default_tools=False) as rt:
            assert rt.run("later(1) + later(2)").output == 3
            assert rt.call("later", {"x": 5}).output == 5

    asyncio.run(main())


@pytest.mark.requirement("PRG-02", "PRG-05")
def test_a_tool_may_run_another_program_up_to_the_depth_limit(runtime: Any) -> None:
    opened: list[SyncRuntime] = []

    def deeper(n: int) -> Any:
        inner = opened[0].run(f"deeper(n={n - 1})" if n else "'bottom'")
        return inner.output if inner.success else str(inner.error)

    rt = runtime(deeper)
    opened.append(rt)
    assert rt.run("deeper(3)").output == "bottom"
    too_deep = rt.run("deeper(4)").output
    assert "deep" in str(too_deep)


@pytest.mark.requirement("PRG-02")
def test_a_harness_callable_that_marshals_to_the_hosts_loop_does_not_deadlock() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def on_host() -> str:
            return "from the host's loop"

        def harness() -> str:
            return asyncio.run_coroutine_threadsafe(on_host(), loop).result(10)

        async with Runtime(tools=[harness], config=False, default_tools=False) as rt:
            assert (await rt.run("harness()")).output == "from the host's loop"
            assert (await rt.call("harness")).output == "from the host's loop"

    asyncio.run(main())


@pytest.mark.requirement("VIR-04")
def test_a_tool_that_needs_a_loop_blocked_by_the_caller_ends_at_its_deadline_and_says_why() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def on_host() -> str:
            return "never"

        def harness() -> str:
            return asyncio.run_coroutine_threadsafe(on_host(), loop).result(2)

        options: dict[str, Any] = {"config": False, "default_tools": False, "limits": {"call_seconds": 0.3}}
        with SyncRuntime(tools=[harness], **options) as rt:
            result = rt.call("harness")
        assert result.error is not None and result.error.kind == "timeout"
        assert "event loop" in result.error.message

    asyncio.run(main())


@pytest.mark.requirement("PRG-03")
def test_a_slow_tool_in_one_program_delays_no_other() -> None:
    async def slow() -> str:
        await asyncio.sleep(1.5)
        return "slow"

    async def main() -> None:
        async with Runtime(tools=[slow], config=False, default_tools=False) as rt:
            await rt.run("1")
            waiting = asyncio.create_task(rt.run("slow()"))
            await asyncio.sleep(0.05)
            began = time.monotonic()
            runs = await asyncio.gather(*(rt.run(f"{n} + 1") for n in range(5)))
            assert time.monotonic() - began < 1.0
            assert [run.output for run in runs] == [1, 2, 3, 4, 5]
            assert not waiting.done()
            assert (await waiting).output == "slow"

    asyncio.run(main())


@pytest.mark.requirement("PRG-04")
def test_a_failing_tool_is_caught_or_fails_the_run_with_type_line_and_trace(runtime: Any) -> None:
    def broken(x: int) -> int:
        raise KeyError("gone")

    rt = runtime(broken, double)
    caught = rt.run("try:\n    broken(1)\nexcept RuntimeError as error:\n    seen = str(error)\nseen")
    assert caught.output == "KeyError: 'gone'"
    failed = rt.run("a = double(1)\nb = broken(a)\nb")
    assert failed.status == "failed" and failed.error is not None
    assert failed.error.type == "RuntimeError" and failed.error.line == 2 and "KeyError" in failed.error.message
    assert [(entry.tool, entry.success) for entry in failed.trace] == [("double", True), ("broken", False)]


@pytest.mark.requirement("PRG-11")
@pytest.mark.parametrize(
    ("program", "caught"),
    [
        ("hang()", "TimeoutError"),
        ("fails()", "RuntimeError"),
        ("denied()", "PermissionError"),
        ("typed(x=y)", "ValueError"),
        ("empty()", "RuntimeError"),
    ],
)
def test_each_failure_is_caught_by_its_class_with_a_message(runtime: Any, program: str, caught: str) -> None:
    release = threading.Event()

    @tool(timeout=0.2)
    def hang() -> None:
        release.wait(30)

    def fails() -> None:
        raise OSError("no")

    def empty() -> None:
        raise ValueError

    def typed(x: int) -> int:
        return x

    def denied() -> None: ...

    policy = Policy(rules=[Rule(decision="deny", tool=["denied"], reason="not here")])
    rt = runtime(hang, fails, empty, typed, denied, policy=policy)
    text = f"y = 'abc'\ntry:\n    {program}\nexcept {caught} as error:\n    seen = str(error)\nseen"
    run = rt.run(text)
    release.set()
    assert run.status == "completed", run.error
    assert run.output


@pytest.mark.requirement("PRG-05")
def test_no_limit_of_a_runtime_is_unlimited() -> None:
    limits = Limits().to_dict()
    named = "wall_seconds compute_seconds memory_mb calls call_seconds output_bytes depth"
    assert set(limits) == set(named.split())
    assert all(0 < value < 1e12 for value in limits.values())


@pytest.mark.requirement("PRG-05")
@pytest.mark.parametrize(
    ("limits", "program", "named"),
    [
        ({"compute_seconds": 0.3}, "while True:\n    pass", "compute_seconds"),
        ({"memory_mb": 8}, "x = 'ab' * 1000\nfor i in range(40):\n    x = x + x\nlen(x)", "memory_mb"),
        ({"calls": 5}, "for i in range(10):\n    double(i)", "calls"),
        ({"output_bytes": 2_000}, "'x' * 5000", "output_bytes"),
        ({"output_bytes": 2_000}, "for i in range(1000):\n    print('x' * 100)", "output_bytes"),
        ({"wall_seconds": 0.5}, "for i in range(100):\n    nap()", "wall_seconds"),
        ({}, "def f(n):\n    return f(n + 1)\nf(0)", "recursion"),
    ],
)
def test_a_breach_ends_the_run_and_names_the_limit(runtime: Any, limits: Any, program: str, named: str) -> None:
    async def nap() -> None:
        await asyncio.sleep(0.1)

    rt = runtime(double, nap, limits=limits)
    began = time.monotonic()
    run = rt.run(program)
    assert run.status == "failed" and run.error is not None and run.error.kind == "limit", run
    assert run.error.limit == named
    assert time.monotonic() - began < 8
    assert rt.run("1 + 1").output == 2


@pytest.mark.requirement("PRG-05")
def test_a_run_limit_cannot_be_caught_by_the_program(runtime: Any) -> None:
    rt = runtime(double, limits={"calls": 3, "compute_seconds": 0.5})
    swallow = "n = 0\nwhile True:\n    try:\n        n = n + double(1)\n    except Exception:\n        n = 0"
    run = rt.run(swallow)
    assert run.error is not None and run.error.limit == "calls"


@pytest.mark.requirement("PRG-05", "RUN-12")
def test_a_tool_that_hangs_in_a_program_times_out_and_the_program_goes_on(runtime: Any) -> None:
    release = threading.Event()

    @tool(timeout=0.3)
    def hang() -> None:
        release.wait(30)

    rt = runtime(hang, double)
    run = rt.run("try:\n    hang()\nexcept TimeoutError:\n    seen = 'late'\n(seen, double(4))")
    assert run.output == ["late", 8], run.error
    assert [(entry.tool, entry.kind) for entry in run.trace] == [("hang", "timeout"), ("double", None)]
    assert rt.core.threads.stats().abandoned == 1
    release.set()


@pytest.mark.requirement("PRG-06")
def test_a_program_is_checked_before_anything_runs(runtime: Any) -> None:
    called: list[int] = []

    def effect(x: int) -> int:
        called.append(x)
        return x

    rt = runtime(effect)
    run = rt.run("effect(1)\nefect(2)")
    assert run.status == "failed" and run.error is not None and run.error.kind == "rejected"
    assert run.error.line == 2 and "effect" in run.error.message
    assert called == []
    check = rt.check("effect(1, 2)\nf = effect\nx = unknown_thing")
    assert not check.ok and [problem.line for problem in check.errors] == [1, 2, 3]


@pytest.mark.requirement("PRG-07")
def test_the_plan_shows_calls_arguments_loops_decisions_and_the_joined_grade(runtime: Any) -> None:
    rt = runtime(double, note)
    plan = rt.plan("a = double(2)\nfor i in range(a):\n    note(text=str(i))")
    assert [(call.tool, call.line, call.args, call.in_loop, call.decision) for call in plan.calls] == [
        ("double", 1, {"x": 2}, False, "allow"),
        ("note", 3, None, True, "allow"),
    ]
    assert plan.grade == Grade(3, 2)
    assert rt.plan("1 + 1").grade == Grade(0, 0)
    assert rt.run("double(2)").grade == Grade(1, 0)


@pytest.mark.requirement("PRG-10")
def test_the_trace_holds_each_call_bounded_and_with_secrets_masked(runtime: Any) -> None:
    def login(user: str, password: str) -> str:
        return f"{user} got in, " + "x" * 50_000

    rt = runtime(login)
    run = rt.run("login(user='ada', password='hunter2')\n1")
    (entry,) = run.trace
    assert (entry.step, entry.tool, entry.source, entry.success, entry.error) == (1, "login", "functions", True, None)
    assert entry.args == {"user": "ada", "password": "***"}
    assert entry.duration > 0 and entry.decision is not None and entry.decision.outcome == "allow"
    assert len(str(entry.result)) < 5_000
    assert "hunter2" not in str(run.trace)


@pytest.mark.requirement("PRG-10", "RUN-13")
def test_what_a_tool_prints_stands_in_the_trace_of_that_call_only(runtime: Any) -> None:
    def speak(word: str) -> str:
        print("saying", word)
        return word

    run = runtime(speak).run("speak('a')\nprint('mine')\nspeak('b')")
    assert [entry.stdout for entry in run.trace] == ["saying a\n", "saying b\n"]
    assert run.stdout == "mine\n"


def test_the_line_of_an_error_is_where_it_went_wrong(runtime: Any) -> None:
    run = runtime().run("def f(x):\n    y = 1\n    return y / x\n\nf(0)")
    assert run.error is not None and run.error.line == 3
    assert "line 5" in (run.error.traceback or "")


@pytest.mark.requirement("PRG-10")
def test_repairs_stand_in_the_trace(runtime: Any) -> None:
    run = runtime(double).run("y = '3'\ndouble(y)")
    assert run.output == 6
    assert [(repair.path, repair.before, repair.after) for repair in run.trace[0].repairs] == [("x", "3", 3)]


@pytest.mark.requirement("PRG-12")
def test_cancelling_the_task_ends_run_and_call_in_flight_and_leaves_nothing_busy() -> None:
    cancelled = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def main() -> None:
        async with Runtime(tools=[slow], config=False, default_tools=False) as rt:
            task = asyncio.create_task(rt.run("slow()"))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(cancelled.wait, 5)
            await _until(lambda: rt.core.threads.stats().busy == 0 and rt.core.runs.count == 0)

    asyncio.run(main())


@pytest.mark.requirement("PRG-12")
@pytest.mark.parametrize("program", ["slow()", "while True:\n    pass", "block()"])
def test_cancel_by_id_ends_a_run_wherever_it_is(program: str) -> None:
    release = threading.Event()

    async def slow() -> None:
        await asyncio.sleep(30)

    def block() -> None:
        release.wait(30)

    async def main() -> None:
        async with Runtime(tools=[slow, block], config=False, default_tools=False) as rt:
            task = asyncio.create_task(rt.run(program, run_id="r1"))
            await asyncio.sleep(0.4)
            assert rt.cancel("r1") and not rt.cancel("nobody")
            run = await asyncio.wait_for(task, 5)
            assert run.status == "cancelled" and run.error is not None and run.error.kind == "cancelled"
            release.set()
            await _until(lambda: rt.core.threads.stats().busy == 0 and rt.core.runs.count == 0)
            assert (await rt.run("1 + 1")).output == 2

    asyncio.run(main())


@pytest.mark.requirement("PRG-12")
def test_closing_the_runtime_cancels_what_runs(runtime: Any) -> None:
    async def slow() -> None:
        await asyncio.sleep(30)

    rt = runtime(slow)
    done: list[RunResult] = []
    thread = threading.Thread(target=lambda: done.append(rt.run("slow()")))
    thread.start()
    time.sleep(0.3)
    assert rt.close() == ()
    thread.join(5)
    assert not thread.is_alive() and done[0].status == "cancelled"


@pytest.mark.requirement("VIR-04")
def test_sync_and_async_harness_callables_both_serve(tmp_path: Path) -> None:
    config = tmp_path / "sutler.toml"
    config.write_text(
        "".join(f'[[virtual_tools]]\nname = "{name}"\ngrade = {{ w = 1, d = 1 }}\n' for name in ("now", "soon"))
    )

    async def soon() -> str:
        return "soon"

    harness = {"now": lambda: "now", "soon": soon}
    with SyncRuntime(config=config, default_tools=False, harness_resolver=harness.get) as rt:
        assert rt.run("now() + soon()").output == "nowsoon"


@pytest.mark.requirement("VIR-02", "VIR-03")
def test_a_withdrawn_virtual_tool_is_invisible_and_fails_a_call_in_mid_run(tmp_path: Path) -> None:
    config = tmp_path / "sutler.toml"
    config.write_text('[[virtual_tools]]\nname = "tick"\ngrade = { w = 1, d = 1 }\n')
    there: dict[str, Any] = {}

    def tick() -> str:
        there.clear()
        return "ticked"

    there["tick"] = tick
    with SyncRuntime(config=config, default_tools=False, harness_resolver=there.get) as rt:
        assert rt.check("tick()").ok
        run = rt.run("a = tick()\ntick()")
        assert run.status == "failed" and run.error is not None and run.error.type == "RuntimeError"
        assert [entry.success for entry in run.trace] == [True, False] and run.trace[1].kind == "unavailable"
        gone = rt.check("tick()")
        assert not gone.ok and rt.plan("1").grade == Grade(0, 0)


def test_more_programs_than_workers_wait_their_turn() -> None:
    async def main() -> None:
        async with Runtime(tools=[later], config=False, default_tools=False) as rt:
            runs = await asyncio.gather(*(rt.run(f"later({n})") for n in range(150)))
            assert [run.output for run in runs] == list(range(150))

    asyncio.run(main())


async def _until(true: Any) -> None:
    for _ in range(200):
        if true():
            return
        await asyncio.sleep(0.025)
    raise AssertionError("it did not come true within 5 s")
