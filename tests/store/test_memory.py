"""The memory store is bounded in calls, runs and bytes, and says what it let go."""

from __future__ import annotations

from sutler.store import MemoryStore, RunRecord, StepRecord


def _call(store: MemoryStore, number: int, result: object = None, run_id: str | None = None) -> None:
    step = StepRecord(tool="t", source="s", args={"n": number}, run_id=run_id, step=number)
    store.step_started(step)
    step.result = result
    store.step_done(step)


def test_the_oldest_calls_go_first_and_are_counted() -> None:
    store = MemoryStore(steps=10)
    assert store.trouble is None
    store.begin_run(RunRecord(run_id="r", program=""))
    for number in range(4):
        _call(store, number, run_id="r")
    for number in range(8):
        _call(store, number)
    run = store.run("r")
    assert run is not None
    assert [step.step for step in run.steps] == [2, 3]
    assert run.missing == 2
    assert len(store.direct()) == 8
    assert store.trouble is not None
    assert store.trouble.startswith("2 older calls")


def test_only_so_many_runs_are_kept() -> None:
    store = MemoryStore(runs=3)
    for number in range(5):
        store.begin_run(RunRecord(run_id=str(number), program=""))
    assert [run.run_id for run in store.runs(10)] == ["4", "3", "2"]
    assert store.run("0") is None


def test_large_results_are_let_go_before_memory_runs_out() -> None:
    store = MemoryStore(megabytes=1)
    for number in range(30):
        _call(store, number, "x" * 100_000)
    assert 5 <= len(store.direct()) <= 10
    for number in range(30):
        _call(store, number, [{"k": "y" * 1_000}] * 100)
    assert 5 <= len(store.direct()) <= 10
    _call(store, 99, "z" * 5_000_000)
    assert [step.args["n"] for step in store.direct()] == [99]
    for number in range(20):
        _call(store, number)
    assert len(store.direct()) == 20  # the large one is gone, and its bytes with it


def test_a_call_that_ends_after_the_ring_let_go_of_it_costs_nothing_for_ever() -> None:
    store = MemoryStore(steps=2, megabytes=1)
    late = StepRecord(tool="t", source="s", args={"n": 0})
    store.step_started(late)
    for number in range(2):
        _call(store, number)
    late.result = "x" * 2_000_000
    store.step_done(late)
    for number in range(2):
        _call(store, number, "y" * 10_000)
    assert [step.args["n"] for step in store.direct()] == [1, 0]


def test_reading_gives_copies() -> None:
    store = MemoryStore()
    _call(store, 1)
    store.direct()[0].tool = "changed"
    assert store.direct()[0].tool == "t"
