"""A worker process serves calls: values, prints, requests to the host, limits."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ClosedError, InvalidArguments, LimitExceeded, ToolDenied, ToolTimeout, ToolUnavailable
from sutler.workspace.confine import WorkerLimits
from sutler.workspace.watchdog import Deadline
from sutler.workspace.worker import Reply, Worker

ENTRY = "tests.workspace.fixtures.entry:make"


class Bench:
    """A worker with a folder to work in."""

    def __init__(self, worker: Worker, cwd: Path) -> None:
        self.worker = worker
        self.cwd = cwd

    def __call__(self, method: str, on_request: Any = None, timeout: float | Deadline = 60, **args: Any) -> Reply:
        return self.worker.call(method, args, cwd=self.cwd, timeout=timeout, on_request=on_request)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Worker(ENTRY, {"key": (1, b"x")}, name="library") as worker:
        yield Bench(worker, tmp_path)


@pytest.mark.requirement("LCP-16")
def test_it_stays_warm_between_calls_and_keeps_what_the_entry_holds(bench: Bench) -> None:
    assert [bench("count")["value"] for _ in range(3)] == [1, 2, 3]
    assert bench.worker.starts == 1


def test_values_that_json_lacks_go_both_ways(bench: Bench) -> None:
    value = {"t": (1, 2), 3: b"\xff", "s": {1}, "p": Path("x"), "u": "\ud800", "n": 10**5000}
    assert bench("echo", value=value)["value"] == value
    assert bench("echo", value={"$sutler": 1})["value"] == {"$sutler": 1}


@pytest.mark.requirement("LCP-16")
def test_what_cannot_cross_is_refused_by_name_in_both_directions_and_the_worker_goes_on(bench: Bench) -> None:
    with pytest.raises(InvalidArguments, match=r"library: echo: args\.value\[1\] is a _thread\.lock, which cannot"):
        bench("echo", value=[1, threading.Lock()])
    reply = bench("thing")
    assert not reply["ok"]
    assert reply["error"] is not None
    assert reply["error"]["message"].startswith("value.rows[1] is a _thread.lock, which cannot leave its process")
    assert bench("count")["value"] == 1
    assert bench.worker.starts == 1


def test_an_exception_of_the_entry_is_in_the_reply_with_its_own_traceback(bench: Bench) -> None:
    reply = bench("fail", message="bad \udcff input")
    assert (reply["ok"], reply["value"]) == (False, None)
    assert reply["error"] is not None
    assert (reply["error"]["type"], reply["error"]["message"]) == ("ValueError", "bad \udcff input")
    assert "method_fail" in reply["error"]["traceback"]
    assert "worker_main" not in reply["error"]["traceback"]


@pytest.mark.requirement("RUN-13")
def test_what_a_call_prints_is_captured_apart_from_what_comes_on_the_raw_fds(bench: Bench) -> None:
    bench("count")
    reply = bench("noise")
    assert reply["stdout"] == "printed \\udcff\nto stdout\nbytes \\xff\n"
    assert reply["stderr"] == "printed err\n"
    assert reply["raw"] == "raw \\xff\\xfe one\nraw two\nfrom a shell\n"
    after = bench("count")
    assert (after["stdout"], after["stderr"], after["raw"], after["stray"]) == ("", "", "", "")


@pytest.mark.requirement("RUN-13")
def test_what_is_printed_while_loading_or_between_calls_belongs_to_no_call(bench: Bench) -> None:
    first = bench("print_later")
    assert (first["stdout"], first["stray"]) == ("", "loading\n")
    time.sleep(0.3)
    second = bench("count")
    assert (second["raw"], second["stray"]) == ("", "too late\n")


@pytest.mark.requirement("RUN-13")
@pytest.mark.parametrize("where", ["stdout", "stderr", "1", "2"])
def test_a_flood_without_a_newline_neither_blocks_nor_is_lost(bench: Bench, where: str) -> None:
    reply = bench("flood", where=where, size=400_000)
    assert reply["value"] == "done"
    stream = where if where in ("stdout", "stderr") else "raw"
    assert reply[stream] == "x" * 400_000  # type: ignore[literal-required]


@pytest.mark.requirement("RUN-13")
def test_a_flood_past_the_cap_keeps_its_head_and_tail_and_says_what_is_left_out(tmp_path: Path) -> None:
    with Worker(ENTRY, {}, limits=WorkerLimits(output_bytes=1_000)) as worker:
        text = Bench(worker, tmp_path)("flood", where="1", size=5_000_000)["raw"]
    assert text == f"{'x' * 500}\n[... 4,999,000 bytes left out ...]\n{'x' * 500}"


@pytest.mark.requirement("RUN-13")
def test_a_tool_that_takes_stdout_away_harms_no_later_call(bench: Bench) -> None:
    assert bench("close_stdout")["ok"]
    assert bench("ask", lambda *_: 1, name="n", args={})["stdout"] == "before asking\nafter asking\n"


@pytest.mark.requirement("RUN-13")
def test_nothing_a_worker_writes_reaches_the_hosts_own_streams(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from sutler.workspace.worker import Worker
with Worker({ENTRY!r}, {{}}) as worker:
    for method, args in (("noise", {{}}), ("flood", {{"where": "1", "size": 100_000}})):
        assert worker.call(method, args, cwd=Path({str(tmp_path)!r}), timeout=60)["ok"]
print("protocol")
"""
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("protocol\n", "", 0)


def test_stdin_of_a_worker_is_empty(bench: Bench) -> None:
    assert bench("stdin")["value"] == ""


@pytest.mark.requirement("WSP-01", "WSP-04")
def test_each_call_has_its_own_directory_also_after_one_that_wandered_off(bench: Bench, tmp_path: Path) -> None:
    before = os.getcwd()
    for name in ("a", "b"):
        bench.cwd = tmp_path / name
        bench.cwd.mkdir()
        assert bench("where")["value"] == [str(bench.cwd)] * 2
        assert (bench.cwd / "here.txt").exists()
        bench("wander", to="/")
    assert os.getcwd() == before
    bench.cwd = tmp_path / "missing"
    reply = bench("where")
    assert reply["error"] is not None
    assert reply["error"]["type"] == "FileNotFoundError"
    assert bench.worker.starts == 1


def test_twenty_megabytes_come_and_go(bench: Bench) -> None:
    text = "z" * 20_000_000
    assert bench("echo", value=text)["value"] == text
    assert len(bench("big", size=20_000_000)["value"]) == 20_000_000


def test_an_answer_past_the_limit_is_an_error_that_says_so(tmp_path: Path) -> None:
    with Worker(ENTRY, {}, limits=WorkerLimits(result_bytes=10_000)) as worker:
        reply = Bench(worker, tmp_path)("big", size=20_000)
        assert reply["error"] is not None
        assert "the most is 10,000" in reply["error"]["message"]
        assert Bench(worker, tmp_path)("count")["value"] == 1


def test_sys_exit_is_an_error_of_the_call_and_not_the_end(bench: Bench) -> None:
    reply = bench("exit", code=3, hard=False)
    assert reply["error"] is not None
    assert (reply["error"]["type"], reply["error"]["message"]) == ("SystemExit", "3")
    assert reply["stderr"] == "leaving\n"
    assert bench("count")["value"] == 1
    assert bench.worker.starts == 1


def test_a_forked_child_that_comes_back_does_not_answer_in_the_workers_name(bench: Bench) -> None:
    assert bench("forked")["value"] == 1
    assert bench("count")["value"] == 1


@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver"])
def test_a_tool_may_have_processes_of_its_own(bench: Bench, way: str) -> None:
    assert bench("pool", way=way)["value"] == [1, 2, 3]
    assert bench("count")["value"] == 1


@pytest.mark.requirement("LCP-16")
def test_the_child_asks_the_host_in_mid_call_and_gets_values_or_errors(bench: Bench) -> None:
    asked: list[Any] = []

    def host(name: str, args: dict[str, Any]) -> Any:
        asked.append((name, args))
        if name == "confirm":
            raise ToolDenied("the person said no")
        return {"answer": (1, args["a"])}

    reply = bench("ask", host, name="get", args={"a": b"b"})
    assert reply["value"] == {"answer": (1, b"b")}
    assert reply["stdout"] == "before asking\nafter asking\n"
    assert bench("ask_caught", host, name="confirm")["value"] == ["ToolDenied", "the person said no"]
    assert asked == [("get", {"a": b"b"}), ("confirm", {})]


@pytest.mark.requirement("LCP-16")
def test_a_request_nobody_serves_or_whose_answer_cannot_cross_is_an_error_in_the_child(bench: Bench) -> None:
    kind, message = bench("ask_caught", name="emit")["value"]
    assert (kind, message) == ("RuntimeError", "the host does not serve 'emit' here")
    kind, message = bench("ask_caught", lambda *_: threading.Lock(), name="emit")["value"]
    assert (kind, message.partition(",")[0]) == ("RemoteError", "Uncarried: value is a _thread.lock")
    reply = bench("ask", lambda *_: 1, name="emit", args={"x": {1: (2, {3, 4})}})
    assert reply["value"] == 1


def test_requests_from_several_threads_of_the_child_are_all_answered(bench: Bench) -> None:
    reply = bench("ask_from_threads", lambda _, args: args["n"] * 2, count=20)
    assert reply["value"] == [number * 2 for number in range(20)]


def test_a_request_after_the_call_is_over_is_refused(bench: Bench) -> None:
    bench("ask_late", lambda *_: 1)
    time.sleep(0.5)
    kind, message = bench("late_answer", lambda *_: 1)["value"]
    assert kind == "RuntimeError"
    assert "the call that could ask is over" in message


def test_the_entry_may_ask_while_it_is_loaded(tmp_path: Path) -> None:
    with Worker(ENTRY, {"ask": True}) as worker:
        assert Bench(worker, tmp_path)("count", lambda name, _: name)["value"] == 1


@pytest.mark.requirement("RUN-12")
def test_the_time_that_a_request_waits_for_a_person_does_not_count(bench: Bench) -> None:
    bench("count")
    deadline = Deadline(0.5)

    def person(name: str, args: dict[str, Any]) -> str:
        with deadline.pause():
            time.sleep(0.8)
        return "yes"

    assert bench("ask", person, timeout=deadline, name="ask", args={})["value"] == "yes"
    with pytest.raises(ToolTimeout):
        bench("ask", lambda *_: time.sleep(0.8), timeout=0.5, name="ask", args={})


@pytest.mark.requirement("LCP-16")
def test_a_request_may_call_the_same_worker_again_from_whatever_thread(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()

    def host(name: str, args: dict[str, Any]) -> Any:
        if name == "deeper":
            return bench("ask", host, name="bottom", args={})["value"]
        if name == "bottom":
            inner = bench.worker.call("where", {}, cwd=tmp_path / "inner", timeout=60)
            assert inner["stdout"] == ""
            return inner["value"]
        import contextvars

        with ThreadPoolExecutor(4) as pool:  # several at once, as a parallel batch would
            calls = [pool.submit(contextvars.copy_context().run, bench, "noise") for _ in range(4)]
            return [call.result()["stderr"] for call in calls]

    reply = bench("ask", host, name="deeper", args={})
    assert reply["value"] == [str(tmp_path / "inner")] * 2
    assert reply["stdout"] == "before asking\nafter asking\n"
    assert bench("where")["value"][0] == str(tmp_path)
    assert bench("ask", host, name="batch", args={})["value"] == ["printed err\n"] * 4


def test_a_nested_calls_timeout_ends_the_child_and_the_outer_call_says_why(bench: Bench) -> None:
    failed: list[str] = []

    def host(name: str, args: dict[str, Any]) -> Any:
        try:
            bench("sleep", timeout=0.3, seconds=60)
        except ToolTimeout as error:
            failed.append(str(error))
            raise

    with pytest.raises(Exception, match=r"died in ask because sleep ran past its deadline: killed by SIGKILL"):
        bench("ask", host, name="n", args={})
    assert len(failed) == 1
    assert bench("count")["value"] == 1


def test_calls_from_many_threads_take_turns_and_waiting_does_not_count(bench: Bench) -> None:
    bench("count")
    with ThreadPoolExecutor(8) as pool:
        slow = [pool.submit(bench, "sleep", timeout=0.5, seconds=0.2) for _ in range(8)]
        assert [one.result()["value"] for one in slow] == ["slept"] * 8
    with ThreadPoolExecutor(16) as pool:
        counted = list(pool.map(lambda _: bench("count")["value"], range(200)))
    assert sorted(counted) == list(range(2, 202))


@pytest.mark.requirement("LCP-16")
def test_an_entry_that_cannot_be_loaded_is_unavailable_and_tried_again(tmp_path: Path) -> None:
    for entry, payload, said in (
        (ENTRY, {"fail": "no such engine"}, "ImportError: no such engine"),
        ("tests.workspace.fixtures.nowhere:make", {}, "ModuleNotFoundError: No module named"),
        ("tests.workspace.fixtures.entry:nothing", {}, "AttributeError"),
        (ENTRY, {"x": threading.Lock()}, "payload.x is a _thread.lock"),
    ):
        with Worker(entry, payload, name="lib") as worker:
            for _ in range(2):
                with pytest.raises(ToolUnavailable, match="lib cannot be loaded in a worker process") as caught:
                    Bench(worker, tmp_path)("count")
                assert said in str(caught.value)
            assert worker.pid is None


def test_start_loads_the_entry_before_the_first_call(bench: Bench, tmp_path: Path) -> None:
    bench.worker.start(cwd=tmp_path, timeout=60)
    pid = bench.worker.pid
    assert pid is not None
    assert bench("count")["stray"] == "loading\n"
    assert bench.worker.pid == pid


def test_environment_variables_pass_as_the_list_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "s")
    monkeypatch.setenv("APP_ONE", "1")
    for env, secret, one in ((None, "s", "1"), ((), None, None), (("APP_*",), None, "1")):
        with Worker(ENTRY, {}, env=env) as worker:
            run = Bench(worker, tmp_path)
            assert run("env", name="MY_SECRET")["value"] == secret
            assert run("env", name="APP_ONE")["value"] == one
            assert run("env", name="PATH")["value"] == os.environ["PATH"]


def test_limits_hold_in_the_child(tmp_path: Path) -> None:
    limits = WorkerLimits(memory_mb=300, open_files=64, file_mb=1, cpu_seconds=1)
    with Worker(ENTRY, {}, limits=limits) as worker:
        run = Bench(worker, tmp_path)
        held = run("limits")["value"]
        assert held == {
            "RLIMIT_DATA": 300 << 20, "RLIMIT_NOFILE": 64, "RLIMIT_FSIZE": 1 << 20, "RLIMIT_CORE": 0,
        }  # fmt: skip
        reply = run("memory", megabytes=2_000)
        assert reply["error"] is not None
        assert reply["error"]["type"] == "MemoryError"
        assert run("memory", megabytes=100)["ok"]
        for _ in range(3):  # each call has its own second
            assert run("spin", seconds=0.6)["ok"]
        with pytest.raises(LimitExceeded, match="more than 1 s of processor time") as caught:
            run("spin", seconds=60)
        assert caught.value.limit == "cpu_seconds"
        assert run("count")["value"] == 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_closed_worker_refuses_and_a_forked_child_of_the_host_may_not_use_it(bench: Bench, tmp_path: Path) -> None:
    bench("count")
    pid = os.fork()
    if pid == 0:
        try:
            bench("count")
        except ClosedError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert bench("count")["value"] == 2
    bench.worker.close()
    bench.worker.close()
    with pytest.raises(ClosedError):
        bench("count")
