from __future__ import annotations

import asyncio
import contextvars
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ClosedError, LimitExceeded, ToolUnavailable
from sutler.workspace import threads as module
from sutler.workspace.cwd import per_thread_cwd
from sutler.workspace.loops import LoopThread
from sutler.workspace.root import Workspace
from sutler.workspace.threads import WorkspaceThreads

needs_thread_cwd = pytest.mark.skipif(not per_thread_cwd().available, reason=per_thread_cwd().reason)
word: contextvars.ContextVar[str] = contextvars.ContextVar("word", default="none")


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[WorkspaceThreads]:
    one = WorkspaceThreads(tmp_path)
    yield one
    one.close()


def until(condition: Callable[[], bool]) -> None:
    """Wait for it; the test's own time limit ends what never comes."""
    while not condition():
        time.sleep(0.01)


@needs_thread_cwd
@pytest.mark.requirement("WSP-01")
def test_relative_paths_subprocesses_and_databases_land_in_the_workspace(pool: WorkspaceThreads) -> None:
    def tool() -> list[str]:
        Path("file.txt").write_text("x")
        connection = sqlite3.connect("base.db")
        connection.execute("create table t (a)")
        connection.close()
        subprocess.run("echo x > shell.txt", shell=True, check=True)
        return sorted(path.name for path in Path().iterdir())

    before = os.getcwd()
    assert pool.submit(tool).result() == ["base.db", "file.txt", "shell.txt"]
    assert sorted(path.name for path in pool.root.iterdir()) == ["base.db", "file.txt", "shell.txt"]
    assert os.getcwd() == before


@needs_thread_cwd
@pytest.mark.requirement("WSP-01")
def test_a_tool_that_wanders_off_does_not_take_the_next_one_along(pool: WorkspaceThreads) -> None:
    def wander() -> int:
        os.chdir("/")
        return threading.get_ident()

    first = pool.submit(wander).result()
    until(lambda: pool.stats().idle == 1)
    assert pool.submit(lambda: (threading.get_ident(), os.getcwd())).result() == (first, str(pool.root))


@needs_thread_cwd
@pytest.mark.requirement("WSP-02")
def test_many_workspaces_at_once_never_see_each_others_files(tmp_path: Path) -> None:
    """100 workspaces, 100 callers: every relative read, write and subprocess finds its own."""
    before = os.getcwd()
    pools: list[WorkspaceThreads] = []
    for number in range(100):
        root = tmp_path / str(number)
        root.mkdir()
        (root / "name").write_text(str(number))
        pools.append(WorkspaceThreads(root))
    wrong: list[object] = []

    def tool(number: int, turn: int) -> None:
        seen = {Path("name").read_text(), Path(os.getcwd()).name, Path("name").resolve().parent.name}
        Path(f"made-{turn}").write_text(str(number))
        if turn == 3:
            ran = subprocess.run(["cat", "name"], capture_output=True, text=True, check=True)
            seen.add(ran.stdout)
        if seen != {str(number)}:
            wrong.append((number, seen))

    def caller(number: int) -> None:
        for turn in range(10):
            pools[number].submit(lambda turn=turn: tool(number, turn)).result()

    with ThreadPoolExecutor(100) as callers:
        list(callers.map(caller, range(100)))
    assert wrong == []
    for number, one in enumerate(pools):
        for turn in range(10):
            assert (one.root / f"made-{turn}").read_text() == str(number)
        one.close()
    assert os.getcwd() == before


@needs_thread_cwd
@pytest.mark.requirement("WSP-02")
def test_sixteen_runs_write_their_own_files_while_one_workspace_goes_away() -> None:
    before = os.getcwd()
    spaces = [Workspace.fresh() for _ in range(16)]
    pools = [WorkspaceThreads(space.root) for space in spaces]

    def tool(number: int) -> None:
        time.sleep(0.02)
        Path("out.txt").write_text(str(number))
        if number % 5 == 4:
            raise ValueError("a tool that fails")

    futures = [one.submit(lambda number=number: tool(number)) for number, one in enumerate(pools)]
    futures[0].result()
    pools[0].close()
    assert spaces[0].close() == ()
    assert os.getcwd() == before
    for number, future in enumerate(futures[1:], 1):
        assert isinstance(future.exception(), ValueError) is (number % 5 == 4)
        assert os.getcwd() == before
        assert [path.name for path in spaces[number].root.iterdir()] == ["out.txt"]
        assert (spaces[number].root / "out.txt").read_text() == str(number)
        pools[number].close()
        assert spaces[number].close() == ()
    assert not any(space.root.exists() for space in spaces)
    assert not Path("out.txt").exists()


@needs_thread_cwd
def test_a_workspace_that_is_gone_is_an_error_of_the_call(tmp_path: Path) -> None:
    root = tmp_path / "gone"
    root.mkdir()
    one = WorkspaceThreads(root)
    assert one.submit(os.getcwd).result() == str(root)
    root.rmdir()
    with pytest.raises(ToolUnavailable, match=str(root)):
        one.submit(os.getcwd).result()
    root.mkdir()
    assert one.submit(os.getcwd).result() == str(root)
    one.close()


@pytest.mark.requirement("WSP-04")
def test_without_a_cwd_per_thread_functions_run_in_the_processs_directory_and_the_pool_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUTLER_NO_THREAD_CWD", "1")
    one = WorkspaceThreads(tmp_path)
    assert not one.own_cwd
    assert one.submit(os.getcwd).result() == os.getcwd()

    async def where() -> str:
        return os.getcwd()

    assert one.submit_async(where).result() == os.getcwd()
    one.close()
    loop = LoopThread("a loop", root=tmp_path)
    assert loop.submit(where).result() == os.getcwd()
    loop.close()


def test_an_idle_thread_is_used_again_and_ends_when_idle_for_long(tmp_path: Path) -> None:
    one = WorkspaceThreads(tmp_path, idle_seconds=0.2)
    idents: set[int] = set()
    for _ in range(5):
        idents.add(one.submit(threading.get_ident).result())
        until(lambda: one.stats().idle == 1)
    assert len(idents) == 1
    until(lambda: one.stats().idle == 0)
    assert one.submit(lambda: 1).result() == 1
    one.close()


def test_work_that_comes_just_as_a_thread_leaves_is_never_lost(tmp_path: Path) -> None:
    one = WorkspaceThreads(tmp_path, idle_seconds=0.001)

    def caller() -> None:
        for turn in range(200):
            assert one.submit(lambda turn=turn: turn).result(30) == turn
            time.sleep(0.001)

    callers = [threading.Thread(target=caller) for _ in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert one.close() == module.Busy(busy=0, idle=0, abandoned=0)


def test_contextvars_of_the_submitter_go_along_and_nothing_comes_back(pool: WorkspaceThreads) -> None:
    def tool() -> str:
        seen = word.get()
        word.set("changed")
        return seen

    async def async_tool() -> str:
        seen = word.get()
        word.set("changed")
        return seen

    token = word.set("here")
    try:
        assert pool.submit(tool).result() == "here"
        assert pool.fixed("a").submit(tool).result() == "here"
        assert pool.submit_async(async_tool).result() == "here"
        assert word.get() == "here"
    finally:
        word.reset(token)
    assert pool.submit(tool).result() == "none"


def test_current_tells_whether_one_is_on_a_thread_of_this_workspace(pool: WorkspaceThreads, tmp_path: Path) -> None:
    other = WorkspaceThreads(tmp_path)
    assert not pool.current()
    assert pool.submit(pool.current).result()
    assert pool.fixed("a").submit(pool.current).result()
    assert not other.submit(pool.current).result()
    assert pool.fixed("a").submit(pool.fixed("a").current).result()
    assert not pool.fixed("b").submit(pool.fixed("a").current).result()

    async def on_the_loop() -> bool:
        return pool.current()

    assert not pool.submit_async(on_the_loop).result()
    other.close()


def test_a_fixed_thread_is_one_thread_in_order_and_outlives_idleness(tmp_path: Path) -> None:
    one = WorkspaceThreads(tmp_path, idle_seconds=0.01)
    lane = one.fixed("library")
    connection = lane.submit(lambda: sqlite3.connect(":memory:")).result()
    time.sleep(0.1)
    seen: list[int] = []
    for number in range(20):
        lane.submit(lambda number=number: seen.append(number))
    assert lane.submit(lambda: connection.execute("select 1").fetchone()).result() == (1,)
    assert seen == list(range(20))
    assert one.fixed("library") is lane
    lane.submit(connection.close).result()
    one.close()


def test_exceptions_of_every_kind_reach_the_caller_and_leave_the_thread_usable(pool: WorkspaceThreads) -> None:
    def leave() -> None:
        sys.exit(3)

    def interrupt() -> None:
        raise KeyboardInterrupt

    for fn, kind in ((leave, SystemExit), (interrupt, KeyboardInterrupt), (lambda: 1 / 0, ZeroDivisionError)):
        with pytest.raises(kind):
            pool.submit(fn).result()
    assert pool.submit(lambda: 1).result() == 1


@pytest.mark.requirement("RUN-12")
def test_an_abandoned_call_is_counted_and_its_thread_ends_with_it(pool: WorkspaceThreads) -> None:
    release, started = threading.Event(), threading.Event()
    ident: list[int] = []

    def hang() -> None:
        ident.append(threading.get_ident())
        started.set()
        release.wait(30)

    future = pool.submit(hang)
    started.wait()
    assert pool.stats() == module.Busy(busy=1, idle=0, abandoned=0)
    pool.abandon(future)
    pool.abandon(future)
    assert pool.stats() == module.Busy(busy=0, idle=0, abandoned=1)
    assert pool.submit(threading.get_ident).result() != ident[0]
    release.set()
    until(lambda: pool.stats().abandoned == 0)
    assert not any(thread.ident == ident[0] for thread in threading.enumerate())


def test_abandoning_what_is_done_changes_nothing(pool: WorkspaceThreads) -> None:
    future = pool.submit(lambda: 1)
    future.result()
    until(lambda: pool.stats().idle == 1)
    pool.abandon(future)
    assert pool.stats() == module.Busy(busy=0, idle=1, abandoned=0)
    assert pool.submit(lambda: 2).result() == 2


@pytest.mark.requirement("RUN-12")
def test_a_hung_fixed_thread_is_replaced_and_those_behind_it_go_on(pool: WorkspaceThreads) -> None:
    release = threading.Event()
    lane = pool.fixed("library")
    hung = lane.submit(lambda: release.wait(30))
    given_up, waiting = lane.submit(lambda: "never"), lane.submit(lambda: "served")
    until(hung.running)
    pool.abandon(given_up)
    assert given_up.cancelled()
    pool.abandon(hung)
    assert waiting.result(10) == "served"
    assert lane.submit(lambda: "later").result(10) == "later"
    assert pool.stats().abandoned == 1
    release.set()
    until(lambda: pool.stats().abandoned == 0)


@pytest.mark.requirement("RUN-12")
def test_there_is_a_cap_on_threads_and_room_again_when_they_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.MOST_THREADS == 1_000
    monkeypatch.setattr(module, "MOST_THREADS", module._total.count + 3)
    first, second = WorkspaceThreads(tmp_path), WorkspaceThreads(tmp_path)
    release = threading.Event()
    held = [one.submit(lambda: release.wait(30)) for one in (first, first, second)]
    for one in (first, second):
        with pytest.raises(LimitExceeded) as caught:
            one.submit(lambda: 1)
        assert (caught.value.limit, caught.value.kind) == ("threads", "limit")
    with pytest.raises(LimitExceeded):
        first.fixed("a").submit(lambda: 1)
    release.set()
    for future in held:
        assert future.result()
    first.close()
    second.close()
    third = WorkspaceThreads(tmp_path)
    assert third.submit(lambda: 1).result() == 1
    third.close()


def test_close_ends_the_idle_cancels_the_queued_and_reports_the_busy(tmp_path: Path) -> None:
    one = WorkspaceThreads(tmp_path)
    release = threading.Event()
    one.submit(lambda: 1).result()
    busy = one.fixed("a").submit(lambda: release.wait(30))
    queued = one.fixed("a").submit(lambda: 1)
    until(busy.running)
    left = one.close(0.2)
    assert (left.busy, left.idle) == (1, 0)
    assert "still run" in left.notes[0]
    assert queued.cancelled()
    for submit in (one.submit, one.fixed("a").submit):
        with pytest.raises(ClosedError):
            submit(lambda: 1)
    with pytest.raises(ClosedError):
        one.loop()
    release.set()
    assert busy.result(10)
    assert one.close() == module.Busy(busy=0, idle=0, abandoned=0)


@needs_thread_cwd
@pytest.mark.requirement("WSP-01")
def test_async_tools_their_subprocesses_and_their_threads_are_in_the_workspace(pool: WorkspaceThreads) -> None:
    async def tool() -> list[str]:
        child = await asyncio.create_subprocess_exec("pwd", stdout=subprocess.PIPE)
        out, _ = await child.communicate()
        Path("async.txt").write_text("x")
        return [os.getcwd(), out.decode().strip(), await asyncio.to_thread(os.getcwd)]

    before = os.getcwd()
    assert pool.submit_async(tool).result() == [str(pool.root)] * 3
    assert asyncio.run_coroutine_threadsafe(tool(), pool.loop()).result() == [str(pool.root)] * 3
    assert (pool.root / "async.txt").exists()
    assert os.getcwd() == before


@needs_thread_cwd
def test_an_async_tool_that_wanders_off_does_not_take_the_next_one_along(pool: WorkspaceThreads) -> None:
    async def wander() -> None:
        os.chdir("/")

    async def where() -> str:
        return os.getcwd()

    pool.submit_async(wander).result()
    assert pool.submit_async(where).result() == str(pool.root)


@pytest.mark.requirement("RUN-12")
def test_an_abandoned_coroutine_is_cancelled(pool: WorkspaceThreads) -> None:
    cancelled = threading.Event()

    async def tool() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    future = pool.submit_async(tool)
    pool.submit_async(lambda: asyncio.sleep(0)).result()
    pool.abandon(future)
    assert cancelled.wait(10)
    with pytest.raises(CancelledError):
        future.result()


@pytest.mark.requirement("RUN-12")
def test_a_loop_that_a_tool_blocks_past_its_deadline_is_replaced(pool: WorkspaceThreads) -> None:
    release, started = threading.Event(), threading.Event()

    async def block() -> None:
        started.set()
        release.wait(30)

    async def fine() -> str:
        return threading.current_thread().name

    blocked: Future[Any] = pool.submit_async(block)
    started.wait()
    pool.abandon(blocked)
    until(lambda: pool.loop() is not None and pool.stats().abandoned == 1)
    assert pool.submit_async(fine).result(10)
    release.set()
    until(lambda: pool.stats().abandoned == 0)


def test_closing_cancels_the_loops_tasks_and_names_the_one_that_refuses(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = WorkspaceThreads(tmp_path)
    ended: list[str] = []

    async def tidy() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("tidy")

    async def stubborn() -> None:
        for _ in range(1_000):
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue

    one.submit_async(tidy)
    one.submit_async(stubborn)
    one.submit_async(lambda: asyncio.sleep(0)).result()
    left = one.close(5)
    assert ended == ["tidy"]
    assert len(left.notes) == 1
    assert "stubborn" in left.notes[0]


def test_a_hung_thread_of_to_thread_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    code = f"""
import asyncio, time
from pathlib import Path
from sutler.workspace.threads import WorkspaceThreads
one = WorkspaceThreads(Path({str(tmp_path)!r}))
one.submit_async(lambda: asyncio.to_thread(time.sleep, 60))
one.submit(lambda: time.sleep(60))
time.sleep(0.2)
print(one.close(0.1).busy)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("2\n", "", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_in_a_forked_child_the_pool_refuses_at_once(pool: WorkspaceThreads) -> None:
    code = f"""
import os
from pathlib import Path
from sutler.errors import ClosedError
from sutler.workspace.threads import WorkspaceThreads
one = WorkspaceThreads(Path({str(pool.root)!r}))
one.submit(lambda: 1).result()
pid = os.fork()
if pid == 0:
    try:
        one.submit(lambda: 1)
    except ClosedError:
        fresh = WorkspaceThreads(Path({str(pool.root)!r}))
        os._exit(fresh.submit(lambda: 7).result())
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=30)
    assert (ran.stdout, ran.stderr) == ("7\n", "")
