"""How a worker process ends: at a deadline, by itself, with its host; and that nothing is left (FH26)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ClosedError, ToolCrashed, ToolTimeout
from sutler.workspace import worker as worker_module
from sutler.workspace.confine import WorkerLimits
from sutler.workspace.worker import Process, Worker

from .test_worker import ENTRY, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Worker(ENTRY, {}, name="library") as worker:
        yield Bench(worker, tmp_path)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until_gone(*pids: int) -> None:
    """The test's own time limit ends what never goes."""
    while any(alive(pid) for pid in pids):
        time.sleep(0.01)


@pytest.mark.requirement("RUN-12")
@pytest.mark.parametrize("method", ["sleep", "stubborn", "spin"])
def test_a_call_past_its_deadline_is_killed_and_the_next_one_has_a_fresh_child(bench: Bench, method: str) -> None:
    bench("count")
    pid = bench.worker.pid
    assert pid is not None
    args = {} if method == "stubborn" else {"seconds": 60}
    with pytest.raises(ToolTimeout, match=f"library: {method} ran past its 0.3 s") as caught:
        bench(method, timeout=0.3, **args)
    assert caught.value.notes == (("printed on stdout: sleeping\n",) if method == "sleep" else ())
    assert not alive(pid)
    assert bench("count")["value"] == 1
    assert bench.worker.starts == 2


@pytest.mark.requirement("RUN-12")
def test_a_call_whose_time_is_up_before_it_begins_does_not_cost_the_warm_child(bench: Bench) -> None:
    bench("count")
    with pytest.raises(ToolTimeout, match="no time left"):
        bench("count", timeout=0)
    assert bench("count")["value"] == 2
    assert bench.worker.starts == 1


@pytest.mark.requirement("RUN-12")
@pytest.mark.parametrize("own_session", [False, True])
def test_grandchildren_end_with_it_wherever_they_hid(bench: Bench, own_session: bool) -> None:
    made = [bench("grandchild", seconds=60, own_session=own_session, ignore=True)["value"] for _ in range(3)]
    orphan = bench("shell", command="(setsid sleep 61 >/dev/null 2>&1 & echo $!)")["value"][1]
    pids = [*made, int(orphan)]
    assert all(alive(pid) for pid in pids)
    with pytest.raises(ToolTimeout):
        bench("sleep", timeout=0.2, seconds=60)
    assert not any(alive(pid) for pid in pids)
    left = bench("grandchild", seconds=60, own_session=own_session, ignore=True)["value"]
    bench.worker.close()
    assert not alive(left)


@pytest.mark.requirement("RUN-12")
@pytest.mark.parametrize(
    ("method", "args", "how"),
    [
        ("exit", {"code": 3, "hard": True}, "exit status 3; the last it wrote: leaving"),
        ("exit", {"code": 0, "hard": True}, "exit status 0"),
        ("segfault", {}, "killed by SIGSEGV; the last it wrote: Fatal Python error: Segmentation fault"),
        ("close_fds", {}, "killed by SIGKILL"),
        ("kill_group", {}, "killed by SIGKILL"),
        ("junk", {}, "it sent a broken answer"),
    ],
)
def test_a_child_that_dies_in_a_call_is_a_crash_that_tells_how(
    bench: Bench, method: str, args: dict[str, Any], how: str
) -> None:
    with pytest.raises(ToolCrashed, match=f"library: the worker process died in {method}") as caught:
        bench(method, **args)
    assert how in str(caught.value)
    assert caught.value.kind == "crashed"
    assert bench("count")["value"] == 1


@pytest.mark.requirement("RUN-12")
def test_an_answer_without_end_is_cut_off(tmp_path: Path) -> None:
    with Worker(ENTRY, {}, limits=WorkerLimits(result_bytes=1_000_000)) as worker:
        with pytest.raises(ToolCrashed, match="it sent more than 1,000,000 bytes in one answer"):
            Bench(worker, tmp_path)("endless")
        assert Bench(worker, tmp_path)("count")["value"] == 1


def test_a_child_that_dies_between_calls_is_replaced_and_the_next_reply_says_so(bench: Bench) -> None:
    bench("grandchild", seconds=60, own_session=False, ignore=False)
    worker = bench("shell", command="echo $PPID")["value"][1]
    os.kill(int(worker), signal.SIGTERM)
    until_gone(int(worker))
    guard = bench.worker.pid
    assert guard is not None
    until_gone(guard)
    reply = bench("count")
    assert reply["value"] == 1
    assert reply["notes"] == (
        "the worker process had ended since the last call (killed by SIGTERM); what it held is lost",
    )
    assert bench("count")["notes"] == ()


def test_a_guard_that_is_killed_takes_the_worker_along(bench: Bench) -> None:
    worker = int(bench("shell", command="echo $PPID")["value"][1])
    guard = bench.worker.pid
    assert guard is not None
    os.kill(guard, signal.SIGKILL)
    until_gone(worker)
    assert bench("count")["value"] == 1


def test_kill_from_another_thread_ends_the_running_call_with_its_reason(bench: Bench) -> None:
    bench("count")
    timer = threading.Timer(0.2, bench.worker.kill, ["the run was cancelled"])
    timer.start()
    with pytest.raises(ToolCrashed, match="died in sleep because the run was cancelled"):
        bench("sleep", seconds=60)
    timer.join()
    assert bench("count")["value"] == 1
    pid = bench.worker.pid
    assert pid is not None
    bench.worker.kill()
    assert not alive(pid)
    bench.worker.kill()
    assert bench("count")["value"] == 1


def test_closing_ends_the_running_call_and_refuses_those_that_wait(bench: Bench) -> None:
    bench("count")
    ended: list[str] = []

    def call() -> None:
        try:
            bench("sleep", seconds=60)
        except (ToolCrashed, ClosedError) as error:
            ended.append(type(error).__name__)

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    time.sleep(0.3)
    bench.worker.close()
    for caller in callers:
        caller.join(30)
    assert sorted(ended) == ["ClosedError", "ClosedError", "ToolCrashed"]


def test_closing_does_not_wait_for_a_request_that_a_person_lets_wait(bench: Bench) -> None:
    asked, answer = threading.Event(), threading.Event()
    ended: list[str] = []

    def person(name: str, args: dict[str, Any]) -> None:
        asked.set()
        answer.wait(30)

    def call() -> None:
        try:
            bench("ask", person, name="n", args={})
        except ToolCrashed as error:
            ended.append(str(error))

    caller = threading.Thread(target=call)
    caller.start()
    asked.wait()
    pid = bench.worker.pid
    assert pid is not None
    bench.worker.close(0.1)
    until_gone(pid)
    answer.set()
    caller.join(30)
    assert len(ended) == 1
    assert "because its worker was closed" in ended[0]


def test_an_interrupt_in_a_request_ends_the_child_and_goes_on_up(bench: Bench) -> None:
    def interrupted(name: str, args: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench("ask", interrupted, name="n", args={})
    assert bench.worker.pid is None
    assert bench("count")["value"] == 1


HOST = """
import os, sys, time, signal
from pathlib import Path
from sutler.workspace.confine import WorkerLimits
from sutler.workspace.worker import Worker
cwd = Path(sys.argv[1])
worker = Worker({entry!r}, {{}})
pids = [worker.call("grandchild", dict(seconds=60, own_session=own, ignore=True), cwd=cwd, timeout=60)["value"]
        for own in (False, True)]
pids.append(int(worker.call("shell", dict(command="echo $PPID"), cwd=cwd, timeout=60)["value"][1]))
pids.append(worker.pid)
if sys.argv[2] == "forked":  # a child of the host holds copies of its pipes
    forked = os.fork()
    if forked == 0:
        time.sleep(20)
        os._exit(0)
    pids.append(forked)
print(*pids, flush=True)
if sys.argv[2] == "exit":
    import warnings
    warnings.simplefilter("ignore", ResourceWarning)
    sys.exit(0)
if sys.argv[2] == "raise":
    raise ValueError("the host fails")
if sys.argv[2] == "in a call":
    worker.call("stubborn", {{}}, cwd=cwd, timeout=60)
time.sleep(60)
"""


@pytest.mark.requirement("RUN-12")
@pytest.mark.parametrize("way", ["exit", "raise", "kill", "term", "in a call", "forked"])
def test_nothing_is_left_however_the_host_ends(tmp_path: Path, way: str) -> None:
    code = HOST.format(entry=ENTRY)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), way], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as host:
        assert host.stdout is not None
        pids = [int(text) for text in host.stdout.readline().split()]
        forked = [pids.pop()] if way == "forked" else []
        assert len(pids) == 4
        if way in ("kill", "in a call", "forked"):
            time.sleep(0.2)
            host.kill()
        elif way == "term":
            host.terminate()
        host.wait(30)
        until_gone(*pids)
        for pid in forked:
            os.kill(pid, signal.SIGKILL)


def test_a_worker_outlives_the_thread_that_started_it(bench: Bench) -> None:
    thread = threading.Thread(target=bench, args=("count",))
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert bench("count")["value"] == 2
    assert bench.worker.starts == 1


def test_a_worker_started_in_a_workspace_thread_imports_by_the_processs_directory(tmp_path: Path) -> None:
    """A relative entry of sys.path must not turn into the workspace, where a tool's file would shadow a module."""
    code = """
import sys
from pathlib import Path
from sutler.workspace.threads import WorkspaceThreads
from sutler.workspace.confine import WorkerLimits
from sutler.workspace.worker import Worker
root = Path(sys.argv[1])
(root / "tests").mkdir()
(root / "tests" / "__init__.py").write_text("raise SystemExit('shadowed')")
pool = WorkspaceThreads(root)
assert "" in sys.path
with Worker("tests.workspace.fixtures.entry:make", {}) as worker:
    print(pool.submit(lambda: worker.call("count", {}, cwd=root, timeout=60)["value"]).result())
pool.close()
"""
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.returncode) == ("1\n", 0), ran.stderr


def test_a_worker_that_is_closed_while_its_child_is_being_started_leaves_no_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker: Any = Worker(ENTRY, {}, name="library")
    closing = threading.Thread(target=worker.close)
    made: list[Process] = []

    def start_and_close(*given: Any, **more: Any) -> Process:
        made.append(process := Process(*given, **more))
        closing.start()
        while not worker._closed:
            time.sleep(0.001)
        return process

    monkeypatch.setattr(worker_module, "Process", start_and_close)
    with pytest.raises(ClosedError):
        worker.call("count", {}, cwd=tmp_path, timeout=30)
    closing.join(10)
    assert worker.pid is None
    until_gone(made[0].pid)
