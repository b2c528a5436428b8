"""What every store does, asked of each: memory and SQLite."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler.policy.masking import MASK, Masker, Secrets
from sutler.spec import Decision, Grade, Repair, RunError
from sutler.store import AuditFilter, MemoryStore, RunRecord, SqliteStore, StepRecord, Store

Maker = Callable[..., Store]


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Maker]:
    made: list[Store] = []

    def maker(**more: Any) -> Store:
        made.append(MemoryStore(**more) if request.param == "memory" else SqliteStore(tmp_path / "runs.db", **more))
        return made[-1]

    yield maker
    for store in made:
        store.close()


def call(store: Store, *, result: Any = None, **fields: Any) -> StepRecord:
    step = StepRecord(**{"tool": "read", "source": "files", "args": {"path": "a"}, **fields})
    store.step_started(step)
    step.result, step.success, step.duration = result, True, 0.25
    store.step_done(step)
    return step


def test_a_run_is_read_back_whole_with_its_steps_in_order(make: Maker) -> None:
    store = make()
    run = RunRecord(
        run_id="r1",
        program="x = read(path='a')",
        params={"n": 1},
        level="calls",
        grade=Grade(1, 2),
        names={"read": ("files", "read", "abc")},
    )
    store.begin_run(run)
    assert store.runs()[0].status == "running"
    repair = Repair(path="n", rule="string->number", before="1", after=1)
    decision = Decision(outcome="allow", reason="safe", by="level")
    call(
        store, run_id="r1", step=1, result=[1, {"a": None}], line=3, digest="abc", repairs=(repair,), decision=decision
    )
    failed = StepRecord(tool="write", source="files", args={}, run_id="r1", step=2)
    store.step_started(failed)
    failed.success, failed.error, failed.kind = False, "no space", "tool_error"
    store.step_done(failed)
    run.status, run.output, run.stdout, run.variables, run.ended = (
        "failed",
        {"k": [1]},
        "hi\n",
        {"x": 1},
        run.started + 1,
    )
    run.error = RunError(kind="error", type="ValueError", message="bad", line=2)
    run.snapshot = b"\x00\xff"
    store.finish_run(run)

    read = store.run("r1")
    assert read is not None
    assert (read.program, read.params, read.level, read.status) == (run.program, {"n": 1}, "calls", "failed")
    assert (read.output, read.stdout, read.variables, read.snapshot) == ({"k": [1]}, "hi\n", {"x": 1}, b"\x00\xff")
    assert (read.error, read.grade, read.started, read.ended) == (run.error, Grade(1, 2), run.started, run.ended)
    assert (read.names, read.replayable, read.missing) == ({"read": ("files", "read", "abc")}, True, 0)
    first, second = read.steps
    assert (first.tool, first.source, first.digest, first.args) == ("read", "files", "abc", {"path": "a"})
    assert (first.result, first.success, first.state, first.line) == ([1, {"a": None}], True, "done", 3)
    assert (first.duration, first.replayable, list(first.repairs), first.decision) == (0.25, True, [repair], decision)
    assert (second.success, second.error, second.kind, second.step) == (False, "no space", "tool_error", 2)


def test_a_call_that_has_begun_to_write_is_seen_before_it_ends(make: Maker) -> None:
    store = make()
    store.begin_run(RunRecord(run_id="r", program=""))
    store.step_started(StepRecord(tool="write", source="files", args={"x": 1}, run_id="r", step=1))
    run = store.run("r")
    assert run is not None
    assert [(step.state, step.success) for step in run.steps] == [("started", None)]


def test_runs_come_newest_first_and_by_status(make: Maker) -> None:
    store = make()
    for number in range(5):
        run = RunRecord(run_id=f"r{number}", program="", started=1000.0 + number)
        store.begin_run(run)
        run.status = "completed" if number % 2 else "failed"
        store.finish_run(run)
    assert [run.run_id for run in store.runs(3)] == ["r4", "r3", "r2"]
    assert [run.run_id for run in store.runs(status="completed")] == ["r3", "r1"]
    assert store.runs(status="waiting") == []
    assert store.run("none") is None


def test_direct_calls_and_calls_of_runs_are_kept_apart(make: Maker) -> None:
    store = make()
    store.begin_run(RunRecord(run_id="r", program=""))
    call(store, run_id="r", step=1)
    for number in range(4):
        call(store, args={"n": number}, writes=bool(number % 2))
    assert [step.args["n"] for step in store.direct(3)] == [3, 2, 1]
    run = store.run("r")
    assert run is not None
    assert len(run.steps) == 1


def test_events_come_newest_first_and_by_kind(make: Maker) -> None:
    store = make()
    store.event("change.trust", {"file": "a"})
    store.event("change.pin", {"tool": "b"})
    store.event("change.trust", {"file": "c"})
    assert [(line.kind, line.tool, line.data) for line in store.audit(AuditFilter())] == [
        ("change.trust", "", {"file": "c"}),
        ("change.pin", "b", {}),
        ("change.trust", "", {"file": "a"}),
    ]
    assert [line.tool for line in store.audit(AuditFilter(kind="change.pin"), 1)] == ["b"]


@pytest.mark.requirement("PRG-10")
def test_secrets_are_masked_and_such_a_step_cannot_be_replayed(make: Maker) -> None:
    store = make(masks=Masker(Secrets(["hunter22"])))
    schema = {"properties": {"door": {"format": "password"}}}
    store.begin_run(RunRecord(run_id="r", program="login('hunter22')", params={"token": "t"}))
    repair = Repair(path="pin", rule="string->number", before="12345", after=12345)
    call(store, run_id="r", step=1, args={"pin": 12345, "door": "abc"}, schema=schema, repairs=(repair,))
    call(store, run_id="r", step=2, result="you are hunter22")
    call(store, run_id="r", step=3, result="fine")
    failed = StepRecord(tool="t", source="s", args={"password": "pass-9"}, run_id="r", step=4)
    store.step_started(failed)
    failed.error = "pass-9 is wrong"
    store.step_done(failed)
    run = RunRecord(run_id="r", program="login('hunter22')", params={"token": "t"}, output=["hunter22"])
    run.stdout, run.variables = "hunter22\n", {"api_key": "k", "x": "hunter22"}
    run.error = RunError(kind="error", type="E", message="hunter22", traceback="hunter22")
    store.finish_run(run)
    store.event("change.asked", {"secret": "s", "text": "hunter22"})

    read = store.run("r")
    assert read is not None
    assert (read.program, read.params, read.output) == (f"login('{MASK}')", {"token": MASK}, [MASK])
    assert (read.stdout, read.variables, read.replayable) == (f"{MASK}\n", {"api_key": MASK, "x": MASK}, False)
    assert [step.args for step in read.steps] == [
        {"pin": 12345, "door": MASK},
        {"path": "a"},
        {"path": "a"},
        {"password": MASK},
    ]
    assert [step.result for step in read.steps] == [None, f"you are {MASK}", "fine", None]
    assert [step.replayable for step in read.steps] == [False, False, True, False]
    assert read.steps[3].error == f"{MASK} is wrong"
    assert store.audit(AuditFilter(kind="change.asked"))[0].data == {"secret": MASK, "text": MASK}
    assert "hunter22" not in repr(read)


def test_many_threads_lose_no_call(make: Maker) -> None:
    store = make()

    def work(thread: int) -> None:
        for number in range(25):
            call(store, args={"n": number, "t": thread}, writes=number % 5 == 0)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = [(step.args["t"], step.args["n"]) for step in store.direct(1_000)]
    assert sorted(seen) == [(thread, number) for thread in range(8) for number in range(25)]


def test_closing_twice_is_fine(make: Maker) -> None:
    store = make()
    call(store, writes=False)
    store.close()
    store.close()


@pytest.mark.requirement("POL-04")
def test_a_run_that_waits_says_for_what_and_is_claimed_by_one_of_many(make: Maker) -> None:
    store = make()
    run = RunRecord(run_id="r1", program="wipe()")
    store.begin_run(run)
    assert not store.claim_run("r1") and not store.claim_run("nobody")
    run.status, run.waiting, run.snapshot = "waiting", {"tool": "kit::wipe", "argv": ["a"], "line": 1}, b"state"
    store.finish_run(run)
    kept = store.run("r1")
    assert kept is not None and kept.waiting == {"tool": "kit::wipe", "argv": ["a"], "line": 1}
    assert store.runs(status="waiting")[0].waiting == kept.waiting
    got: list[bool] = []
    threads = [threading.Thread(target=lambda: got.append(store.claim_run("r1"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False] * 7 + [True]
    claimed = store.run("r1")
    assert claimed is not None and claimed.status == "running"
