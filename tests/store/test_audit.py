"""The audit log in the file: append-only, chained, bound to the records that its lines are of (POL-07)."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sutler.spec import Decision, RunError
from sutler.store import AuditFilter, Keep, RunRecord, SqliteStore, StepRecord

pytestmark = pytest.mark.requirement("POL-07")
DAY = 86_400.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path)) as made:
        yield made


def call(store: SqliteStore, tool: str = "read", *, result: Any = None, **fields: Any) -> StepRecord:
    step = StepRecord(tool=tool, source="files", **{"args": {"path": "a"}, **fields})
    store.step_started(step)
    step.result, step.success, step.duration = result, True, 0.25
    store.step_done(step)
    return step


def run(store: SqliteStore, run_id: str, **fields: Any) -> RunRecord:
    record = RunRecord(run_id=run_id, program="1", **fields)
    store.begin_run(record)
    record.status, record.ended = fields.get("status", "completed"), record.started + 1
    store.finish_run(record)
    return record


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def kinds(store: SqliteStore, **which: Any) -> list[str]:
    return [line.kind for line in reversed(store.audit(AuditFilter(**which)))]


def test_calls_and_runs_are_lines_without_being_told_twice(store: SqliteStore) -> None:
    record = RunRecord(run_id="r", program="")
    store.begin_run(record)
    allowed = Decision(outcome="allow", by="level safe")
    call(store, "write", run_id="r", step=1, decision=allowed, digest="abc")
    call(store, "read", run_id="r", step=2, writes=False)
    record.status, record.error = "failed", RunError(kind="error", type="E", message="no", line=1)
    store.finish_run(record)
    assert kinds(store) == ["run.started", "call.started", "call.ended", "call.ended", "run.ended"]
    ended, _, done, begun, _ = store.audit(AuditFilter())
    assert (ended.run_id, ended.data) == ("r", {"status": "failed", "error": "no"})
    decision = {"outcome": "allow", "reason": "", "by": "level safe", "how": ""}
    both = {"arguments": {"path": "a"}, "decision": decision, "definition": "abc"}
    assert (begun.tool, begun.data) == ("files::write", both)
    assert (done.tool, done.data) == ("files::write", {**both, "outcome": "ok", "duration": 0.25})


def test_a_call_that_may_write_is_a_line_before_it_runs(path: Path, store: SqliteStore) -> None:
    store.step_started(StepRecord(tool="write", source="files", args={"n": 1}))
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT kind, tool FROM audit").fetchall() == [("call.started", "files::write")]


def test_lines_are_found_by_kind_tool_run_and_time(store: SqliteStore) -> None:
    call(store, "read")
    call(store, "write", run_id="r")
    store.event("change.library", {"tool": "mailer", "what": "mounted"})
    store.event("changes", {})
    assert kinds(store, kind="change") == ["change.library"]
    assert kinds(store, kind="call") == ["call.started", "call.ended"] * 2
    for tool in ("files::write", "write"):
        assert [line.run_id for line in store.audit(AuditFilter(tool=tool))] == ["r", "r"]
    assert len(store.audit(AuditFilter(tool="files"))) == 4
    assert store.audit(AuditFilter(tool="it")) == store.audit(AuditFilter(tool="file")) == []
    assert kinds(store, tool="mailer") == ["change.library"]
    assert kinds(store, run_id="r") == ["call.started", "call.ended"]
    assert kinds(store, since=time.time() + 60) == []
    (third,) = store.audit(AuditFilter(), 1, number=3)
    assert (third.id, third.tool) == (3, "files::write")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET data = '{}' WHERE id = 1",
        "DELETE FROM audit WHERE id = 1",
        "DELETE FROM audit",
        "INSERT OR REPLACE INTO audit VALUES (1, 0, 'x', '', NULL, NULL, '{}', '')",
        "INSERT INTO audit VALUES (1, 0, 'x', '', NULL, NULL, '{}', '') ON CONFLICT (id) DO UPDATE SET kind = 'x'",
    ],
)
def test_the_database_itself_refuses_to_change_a_line(path: Path, store: SqliteStore, statement: str) -> None:
    call(store)
    before = store.audit(AuditFilter())
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        edit(path, statement)
    assert store.audit(AuditFilter()) == before


NO_TRIGGERS = ("DROP TRIGGER audit_stays", "DROP TRIGGER audit_keeps", "DROP TRIGGER audit_appends")


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (["UPDATE audit SET data = replace(data, 'level', 'hand') WHERE id = 2"], "line 2 is not what was written"),
        (["UPDATE audit SET at = at + 1 WHERE id = 4"], "line 4 is not what was written"),
        (["UPDATE audit SET tool = 'files::other' WHERE id = 1"], "line 1 is not what was written"),
        (["DELETE FROM audit WHERE id = 3"], "1 line(s) between 2 and 4 are gone"),
        (["DELETE FROM audit WHERE id < 3"], "the log begins at line 3"),
        (
            ["DELETE FROM audit WHERE id = 3", "UPDATE audit SET id = id - 1 WHERE id > 3"],
            "line 3 is not what was written",
        ),
        (['UPDATE steps SET args = \'{"path": "b"}\' WHERE id = 1'], "the record of the call of line 2"),
        (["UPDATE steps SET result = '1'"], "the record of the call of line 2"),
        (["DELETE FROM steps WHERE id = 2"], "the record of the call of line 4 is gone"),
        (["UPDATE runs SET program = '2'"], "the record of the run of line 6"),
        (["DELETE FROM runs"], "the record of the run of line 6 is gone"),
    ],
)
def test_tampering_shows(path: Path, store: SqliteStore, statements: list[str], problem: str) -> None:
    call(store, decision=Decision(outcome="allow", by="level safe"))
    call(store)
    run(store, "r")
    assert store.verify_audit().problems == ()
    edit(path, *NO_TRIGGERS, *statements)
    found = store.verify_audit().problems
    assert any(problem in one for one in found), found


def test_a_log_cut_short_shows_by_a_hash_kept_elsewhere(path: Path, store: SqliteStore) -> None:
    store.event("x", {})
    early = store.verify_audit().head
    store.event("y", {})
    late = store.verify_audit().head
    assert store.verify_audit(early).problems == store.verify_audit(late).problems == ()
    edit(path, *NO_TRIGGERS, "DELETE FROM audit WHERE id = 2")
    assert store.verify_audit(early).problems == ()
    assert any("no line has the hash" in one for one in store.verify_audit(late).problems)


def test_two_stores_and_many_threads_make_one_unbroken_chain(path: Path) -> None:
    stores = [SqliteStore(path, flush_seconds=0.001) for _ in range(2)]

    def work(number: int) -> None:
        for turn in range(20):
            call(stores[number % 2], writes=turn % 3 == 0)
            stores[number % 2].event("x", {"n": number}, durable=turn % 2 == 0)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stores[0].flush()
    checked = stores[1].verify_audit()
    for store in stores:
        store.close()
    assert checked.problems == ()
    assert checked.lines == 6 * (20 + 20 + 7)


def test_what_is_too_old_goes_and_the_log_says_so(path: Path) -> None:
    old = time.time() - 100 * DAY
    with closing(SqliteStore(path, keep=Keep(keep_days=1_000, audit_days=1_000))) as store:
        run(store, "old", started=old)
        call(store, run_id="old", at=old)
        call(store, at=old)
        run(store, "waits", started=old, status="waiting")
        call(store, run_id="waits", at=old)
        run(store, "new")
        call(store)
    with closing(SqliteStore(path)) as store:
        store.event("x", {})
    with closing(SqliteStore(path)) as store:
        assert {run.run_id for run in store.runs()} == {"waits", "new"}
        assert len(store.direct()) == 1
        kept = store.run("waits")
        assert kept is not None
        assert len(kept.steps) == 1
        (line,) = store.audit(AuditFilter(kind="change.store"))
        assert {name: line.data[name] for name in ("what", "runs", "calls")} == {
            "what": "let go",
            "runs": 1,
            "calls": 1,
        }
        checked = store.verify_audit()
        assert (checked.problems, checked.let_go) == ((), 3)
        assert [one.data.get("arguments") for one in store.audit(AuditFilter(run_id="old", kind="call.ended"))] == [
            None
        ]


def test_only_so_many_runs_stay(path: Path) -> None:
    with closing(SqliteStore(path, keep=Keep(keep_runs=3))) as store:
        for number in range(6):
            run(store, f"r{number}", started=time.time() - 60 + number)
    with closing(SqliteStore(path)) as store:
        assert [one.run_id for one in store.runs()] == ["r5", "r4", "r3"]
        assert store.verify_audit().problems == ()


def test_old_lines_of_the_log_go_by_a_setting_of_their_own_and_the_rest_still_holds(path: Path) -> None:
    with closing(SqliteStore(path, keep=Keep(audit_days=1_000))) as store:
        for _ in range(3):
            call(store, at=time.time() - 400 * DAY)
        call(store)
    with closing(SqliteStore(path)) as store:
        store.event("x", {})
    with closing(SqliteStore(path)) as store:
        checked = store.verify_audit()
        assert checked.problems == ()
        assert store.audit(AuditFilter())[-1].id == 7
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            edit(path, "DELETE FROM audit")
        edit(path, *NO_TRIGGERS, "UPDATE audit SET kind = 'x' WHERE id = 7")
        assert any("line 7 is not" in one for one in store.verify_audit().problems)


def test_a_file_of_the_first_layout_is_brought_up_to_date(path: Path) -> None:
    from sutler.store.layout import APPLICATION_ID, LAYOUTS

    edit(path, *LAYOUTS[0], f"PRAGMA application_id = {APPLICATION_ID}", "PRAGMA user_version = 1")
    with closing(SqliteStore(path)) as store:
        call(store)
        assert kinds(store) == ["call.started", "call.ended"]
