"""The matrix of callers: whoever calls, wherever from, sync or async tools come back (PRG-02, FH29)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler import Runtime, SyncRuntime, tool

OPTIONS: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False, "limits": {"call_seconds": 10}}
LIBRARY = """
import os, sys

def runtime():
    return sys.modules["tests.runtime.test_blocked_loops"].OPEN[-1]

async def tool_inner(x: int):
    return x * 2

def tool_inner_sync(x: int):
    return x * 2

async def tool_runs(program: str):
    run = runtime().run(program)
    return run.output if run.success else str(run.error)

async def tool_calls(name: str):
    return runtime().call(name, {"x": 4}).output

def tool_runs_sync(program: str):
    run = runtime().run(program)
    return run.output if run.success else str(run.error)
"""
OPEN: list[SyncRuntime] = []


async def inner(x: int) -> int:
    return x * 2


async def runs(program: str) -> Any:
    run = OPEN[-1].run(program)
    return run.output if run.success else str(run.error)


async def calls(name: str) -> Any:
    return OPEN[-1].call(name, {"x": 4}).output


def runs_in_new_loop(program: str) -> Any:
    async def main() -> Any:
        return OPEN[-1].run(program).output

    return asyncio.run(main())


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[SyncRuntime]:
    (tmp_path / "lib.py").write_text(LIBRARY)
    with SyncRuntime(tools=[inner, runs, calls, runs_in_new_loop], tool_folders=[tmp_path], **OPTIONS) as opened:
        OPEN.append(opened)
        yield opened
        OPEN.remove(opened)


def on_a_thread(work: Callable[[], Any]) -> Any:
    return work()


def in_a_loop(work: Callable[[], Any]) -> Any:
    async def main() -> Any:
        return work()

    return asyncio.run(main())


def in_a_thread_of_a_loop(work: Callable[[], Any]) -> Any:
    async def main() -> Any:
        return await asyncio.to_thread(work)

    return asyncio.run(main())


INNERMOST = ["inner(4)", "tool_inner(4)", "tool_inner_sync(4)"]
OUTER = ["runs", "tool_runs", "tool_runs_sync", "runs_in_new_loop"]


@pytest.mark.requirement("PRG-02")
@pytest.mark.parametrize("caller", [on_a_thread, in_a_loop, in_a_thread_of_a_loop])
def test_a_program_whose_tools_run_programs_whose_tools_are_async_comes_back(
    rt: SyncRuntime, caller: Callable[[Callable[[], Any]], Any]
) -> None:
    began = time.monotonic()
    for outer in OUTER:
        for program in INNERMOST:
            assert caller(lambda o=outer, p=program: rt.run(f"{o}(p)", params={"p": p}).output) == 8, (outer, program)
            assert caller(lambda o=outer, p=program: rt.call(o, {"program": p}).output) == 8, (outer, program)
        for middle in OUTER:
            text = f"{middle}('inner(4) + tool_inner(4)')"
            assert caller(lambda o=outer, t=text: rt.run(f"{o}(p)", params={"p": t}).output) == 16, (outer, middle)
    assert time.monotonic() - began < 9, "somebody waited for a deadline"


@pytest.mark.requirement("PRG-02")
@pytest.mark.parametrize("outer", ["calls", "tool_calls"])
@pytest.mark.parametrize("name", ["inner", "tool_inner", "tool_inner_sync"])
def test_an_async_tool_that_blocks_its_loop_with_a_call_gets_its_answer(rt: SyncRuntime, outer: str, name: str) -> None:
    assert rt.call(outer, {"name": name}).output == 8
    assert rt.run(f"{outer}('{name}')").output == 8


@pytest.mark.requirement("PRG-02")
def test_many_programs_that_each_run_one_do_not_starve_each_other(rt: SyncRuntime) -> None:
    outputs: list[Any] = []
    text = "tool_runs_sync('inner(4)')"
    threads = [threading.Thread(target=lambda: outputs.append(rt.run(text).output)) for _ in range(140)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert outputs == [8] * 140


@pytest.mark.requirement("PRG-02")
def test_a_runtime_opened_in_a_loop_that_has_ended_says_so_at_once_and_a_new_one_works() -> None:
    rt = Runtime(tools=[inner], **OPTIONS)
    asyncio.run(_opened(rt))
    loop = asyncio.new_event_loop()
    rt2 = Runtime(tools=[inner], **OPTIONS)
    loop.run_until_complete(rt2.open())
    began = time.monotonic()
    for stale in (rt, rt2):

        async def again(stale: Runtime = stale) -> None:
            result = await stale.call("inner", {"x": 1})
            assert result.error is not None and "event loop" in result.error.message
            assert (await stale.run("1 + 1")).output == 2
            await stale.close()

        asyncio.run(again())
    assert time.monotonic() - began < 5
    loop.close()

    async def anew() -> None:
        async with Runtime(tools=[inner], **OPTIONS) as fresh:
            assert (await fresh.call("inner", {"x": 1})).output == 2

    for _ in range(2):
        asyncio.run(anew())


async def _opened(rt: Runtime) -> None:
    await rt.open()
    assert (await rt.call("inner", {"x": 1})).output == 2


@pytest.mark.requirement("PRG-02")
def test_another_loop_may_await_a_runtime_while_the_loop_that_opened_it_runs() -> None:
    async def main() -> None:
        async with Runtime(tools=[inner], **OPTIONS) as rt:

            def elsewhere() -> Any:
                async def use() -> Any:
                    return (await rt.call("inner", {"x": 3})).output, (await rt.run("inner(4)")).output

                return asyncio.run(use())

            assert await asyncio.to_thread(elsewhere) == (6, 8)

    asyncio.run(main())


@tool(affinity="thread")
def first(tool_context: Any = None) -> Any:
    return tool_context.call_tool("second")["output"]


@tool(affinity="thread")
def second() -> int:
    return threading.get_ident()


@tool(affinity="thread")
def asks_a_program() -> Any:
    run = OPEN[-1].run("second()")
    return str(run.error)


def test_tools_of_one_fixed_thread_call_each_other_there_and_never_wait_for_themselves(runtime: Any) -> None:
    rt = runtime(first, second, asks_a_program, limits={"call_seconds": 10})
    OPEN.append(rt)
    assert rt.call("first").output == rt.call("second").output != threading.get_ident()
    began = time.monotonic()
    assert "one thread of its library" in rt.call("asks_a_program").output
    assert time.monotonic() - began < 5
    OPEN.remove(rt)
