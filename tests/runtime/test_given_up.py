"""A call that is given up takes down all that it started, and nothing else."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler import Runtime, SyncRuntime, ToolResult

OPTIONS: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}


def until(true: Callable[[], bool]) -> None:
    for _ in range(200):
        if true():
            return
        time.sleep(0.025)
    raise AssertionError("it did not come true within 5 s")


@pytest.mark.requirement("PRG-12")
@pytest.mark.parametrize("how", ["cancel", "close"])
def test_a_call_that_is_allowed_after_its_run_was_ended_does_not_run(runtime: Any, how: str) -> None:
    asked, answer, ran = threading.Event(), threading.Event(), threading.Event()

    def wipe() -> None:
        ran.set()

    def confirm(*question: Any) -> tuple[str, str]:
        asked.set()
        answer.wait(10)
        return "allow", "too late"

    rt = runtime(wipe, policy="strict", confirm_handler=confirm)
    runs: list[Any] = []
    thread = threading.Thread(target=lambda: runs.append(rt.run("wipe()", run_id="r")))
    thread.start()
    assert asked.wait(5)
    core = rt.core
    assert rt.cancel("r") if how == "cancel" else rt.close() is not None
    thread.join(5)
    assert runs[0].status == "cancelled"
    answer.set()
    until(lambda: core.threads.stats().busy + core.threads.stats().abandoned == 0)
    assert not ran.is_set()


@pytest.mark.requirement("PRG-12")
def test_a_direct_call_that_is_allowed_after_close_does_not_run(runtime: Any) -> None:
    asked, answer, ran = threading.Event(), threading.Event(), threading.Event()

    def confirm(*question: Any) -> tuple[str, str]:
        asked.set()
        answer.wait(10)
        return "allow", ""

    rt = runtime(wipe := _marks(ran), policy="strict", confirm_handler=confirm)
    results: list[ToolResult] = []
    thread = threading.Thread(target=lambda: results.append(rt.call(wipe.__name__)))
    thread.start()
    assert asked.wait(5)
    rt.close()
    answer.set()
    thread.join(5)
    assert results[0].error is not None and "closed" in results[0].error.message and not ran.is_set()


def _marks(ran: threading.Event) -> Any:
    def wipe() -> None:
        ran.set()

    return wipe


@pytest.mark.requirement("PRG-12")
@pytest.mark.parametrize("name", ["hang", "hang_async", "tool_hang"])
def test_close_frees_whoever_waits_for_a_call(name: str, tmp_path: Path) -> None:
    release = threading.Event()
    (tmp_path / "lib.py").write_text(
        "import time\nfrom sutler import tool\n\n@tool(isolation='process')\ndef tool_hang():\n    time.sleep(30)\n"
    )

    def hang() -> None:
        release.wait(30)

    async def hang_async() -> None:
        await asyncio.sleep(30)

    rt = SyncRuntime(tools=[hang, hang_async], tool_folders=[tmp_path], **OPTIONS).open()
    results: list[ToolResult] = []
    thread = threading.Thread(target=lambda: results.append(rt.call(name)))
    thread.start()
    until(lambda: bool(rt.core.calls._flying))
    left = rt.core.close(0.1)
    thread.join(5)
    assert not thread.is_alive() and not results[0].success
    assert bool(left) is (name == "hang")
    release.set()


@pytest.mark.requirement("PRG-12")
def test_close_of_an_async_runtime_ends_calls_on_the_hosts_loop() -> None:
    cancelled: list[bool] = []

    async def hang() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def main() -> None:
        rt = await Runtime(tools=[hang], **OPTIONS).open()
        call = asyncio.create_task(rt.call("hang"))
        await asyncio.sleep(0.1)
        await rt.close()
        assert not (await asyncio.wait_for(call, 5)).success
        assert cancelled == [True]

    asyncio.run(main())


@pytest.mark.requirement("PRG-12")
@pytest.mark.parametrize("inner", ["hang()", "while True:\n    pass", "nest('hang()')"])
def test_cancelling_a_run_ends_the_runs_that_its_tools_started(runtime: Any, inner: str) -> None:
    opened: list[SyncRuntime] = []
    inside = threading.Event()

    async def hang() -> None:
        inside.set()
        await asyncio.sleep(30)

    def nest(program: str) -> str:
        if "while" in program:
            inside.set()
        return opened[0].run(program).status

    rt = runtime(hang, nest)
    opened.append(rt)
    runs: list[Any] = []
    thread = threading.Thread(target=lambda: runs.append(rt.run("nest(p)", params={"p": inner}, run_id="outer")))
    thread.start()
    assert inside.wait(10)
    until(lambda: rt.core.runs.count >= 2)
    assert rt.cancel("outer")
    thread.join(5)
    assert runs[0].status == "cancelled"
    until(lambda: rt.core.runs.count == 0)
    until(lambda: rt.core.threads.stats().busy + rt.core.threads.stats().abandoned == 0)


@pytest.mark.requirement("RUN-12")
def test_a_call_past_its_deadline_ends_the_calls_and_runs_it_waits_for_and_may_start_no_more(runtime: Any) -> None:
    opened: list[SyncRuntime] = []
    seen: list[ToolResult] = []
    after = threading.Event()

    async def hang() -> None:
        await asyncio.sleep(30)

    def outer() -> None:
        seen.append(opened[0].call("hang"))
        seen.append(opened[0].call("hang"))
        after.set()

    rt = runtime(hang, outer, limits={"call_seconds": 30})
    opened.append(rt)
    spec = rt.core.functions._registered["outer"]
    object.__setattr__(spec.spec, "timeout", 0.3)
    result = rt.call("outer")
    assert result.error is not None and result.error.kind == "timeout"
    assert after.wait(5)
    assert [one.success for one in seen] == [False, False]
    assert "given up" in str(seen[1].error)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lib.py").write_text(
        "import time\nfrom sutler import tool\n\n"
        "@tool(isolation='process')\ndef tool_nap(seconds: float):\n    time.sleep(seconds)\n    return 'rested'\n\n"
        "@tool(isolation='process', timeout=0.2)\ndef tool_late():\n    time.sleep(30)\n"
    )
    return tmp_path


@pytest.mark.requirement("RUN-12")
def test_cancelling_a_call_that_waits_for_its_turn_in_a_worker_does_not_kill_the_one_that_runs(folder: Path) -> None:
    async def main() -> None:
        async with Runtime(tool_folders=[folder], **OPTIONS) as rt:
            await rt.call("tool_nap", {"seconds": 0})
            first = asyncio.create_task(rt.call("tool_nap", {"seconds": 0.6}))
            await asyncio.sleep(0.1)
            queued = asyncio.create_task(rt.call("tool_nap", {"seconds": 20}))
            await asyncio.sleep(0.1)
            queued.cancel()
            with pytest.raises(asyncio.CancelledError):
                await queued
            assert (await asyncio.wait_for(first, 10)).output == "rested"
            assert (await asyncio.wait_for(rt.call("tool_nap", {"seconds": 0}), 10)).output == "rested"

    asyncio.run(main())


@pytest.mark.requirement("RUN-12")
def test_a_call_killed_at_its_deadline_takes_no_queued_call_with_it(folder: Path, runtime: Any) -> None:
    rt = runtime(tool_folders=[folder])
    rt.call("tool_nap", {"seconds": 0})
    results: dict[str, ToolResult] = {}
    threads = [
        threading.Thread(target=lambda: results.update(late=rt.call("tool_late"))),
        threading.Thread(target=lambda: results.update(nap=rt.call("tool_nap", {"seconds": 0.2}))),
    ]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    assert results["late"].error is not None and results["late"].error.kind == "timeout"
    assert results["nap"].output == "rested"


@pytest.mark.requirement("PRG-12")
def test_a_run_that_waits_for_its_turn_can_be_cancelled_and_no_slot_is_lost(
    runtime: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sutler.programs.slots import Slots
    from sutler.runtime import runs as module

    slots = tuple(Slots(1) for _ in module.SLOTS)
    monkeypatch.setattr(module, "SLOTS", slots)

    async def hang() -> None:
        await asyncio.sleep(30)

    rt = runtime(hang)
    ended: dict[str, str] = {}

    def run(text: str, run_id: str) -> None:
        ended[run_id] = rt.run(text, run_id=run_id).status

    threads = [threading.Thread(target=run, args=("hang()", name)) for name in ("first", "second")]
    for number, thread in enumerate(threads, 1):
        thread.start()
        until(lambda number=number: rt.core.runs.count == number)
    assert rt.cancel("second")
    threads[1].join(5)
    assert ended == {"second": "cancelled"}
    assert rt.cancel("first")
    threads[0].join(5)
    assert rt.run("1 + 1").output == 2
    assert [slot._free for slot in slots] == [1] * len(slots)


@pytest.mark.requirement("PRG-05")
def test_a_program_that_gets_no_thread_is_a_failed_run_that_names_the_limit(
    runtime: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sutler.programs.slots import SLOTS
    from sutler.workspace import threads

    rt = runtime()
    free = [slot._free for slot in SLOTS]
    monkeypatch.setattr(threads, "MOST_THREADS", 0)
    run = rt.run("1 + 1")
    assert run.status == "failed" and run.error is not None and run.error.limit == "threads"
    assert rt.core.runs.count == 0 and [slot._free for slot in SLOTS] == free
    monkeypatch.undo()
    assert rt.run("1 + 1").output == 2


@pytest.mark.requirement("RUN-12")
def test_above_the_thread_limit_a_call_fails_with_kind_limit_and_is_on_record(
    runtime: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sutler.workspace import threads

    def one() -> int:
        return 1

    async def main() -> None:
        async with Runtime(tools=[one], store=tmp_path / "s.db", **OPTIONS) as rt:
            monkeypatch.setattr(threads, "MOST_THREADS", 0)
            result = await rt.call("one")
            assert result.error is not None and result.error.kind == "limit"
            monkeypatch.undo()
            assert (await rt.call("one")).output == 1
            await asyncio.to_thread(rt.core.recorder.store.flush)
            assert len(rt.core.recorder.store.direct()) == 2

    asyncio.run(main())


def test_a_hung_tool_delays_no_other(runtime: Any) -> None:
    release = threading.Event()

    def hang() -> None:
        release.wait(30)

    def quick() -> int:
        return 1

    rt = runtime(hang, quick, limits={"call_seconds": 0.3})
    threads = [threading.Thread(target=rt.call, args=("hang",)) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert [rt.call("quick").output for _ in range(20)] == [1] * 20
    for thread in threads:
        thread.join(5)
    assert rt.core.threads.stats().abandoned == 5
    release.set()
    until(lambda: rt.core.threads.stats().abandoned == 0)


@pytest.mark.requirement("PRG-12")
def test_a_call_that_is_given_up_while_it_is_being_started_holds_no_thread(
    runtime: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang() -> None:
        await asyncio.sleep(30)

    rt = runtime(hang)
    places = rt.core.places
    start = places.start_async

    def start_and_cancel(*given: Any) -> Any:
        future = start(*given)
        assert rt.cancel("r")
        until(lambda: rt.core.runs.count == 0)  # the run has ended before anybody could know of the call's future
        return future

    monkeypatch.setattr(places, "start_async", start_and_cancel)
    assert rt.run("hang()", run_id="r").status == "cancelled"
    until(lambda: rt.core.threads.stats().busy + rt.core.threads.stats().abandoned == 0)
