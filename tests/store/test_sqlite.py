"""The SQLite store: its file, what it refuses, and what it does when the disk, a lock or a process fails."""

from __future__ import annotations

import json
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ClosedError, StoreError
from sutler.store import AuditFilter, RunRecord, SqliteStore, StepRecord, default_path
from sutler.store.layout import VERSION

HELPERS = """
import os, resource, sys, time
from pathlib import Path
from sutler.errors import StoreError
from sutler.store import RunRecord, SqliteStore, StepRecord

def call(store, number, writes=True, result="ok", **more):
    step = StepRecord(tool="t", source="s", args={"n": number}, step=number, writes=writes, **more)
    store.step_started(step)
    step.result, step.success = result, True
    store.step_done(step)
    return step
"""


def run_child(code: str, *args: object, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HELPERS + code, *map(str, args)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def finish(child: subprocess.Popen[str]) -> str:
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    return out


def call(store: SqliteStore, number: int = 0, *, writes: bool = True, result: Any = "ok", **more: Any) -> StepRecord:
    step = StepRecord(tool="t", source="s", args={"n": number}, writes=writes, **more)
    store.step_started(step)
    step.result, step.success = result, True
    store.step_done(step)
    return step


def rows(path: Path, query: str) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "p.db"


def test_nothing_is_made_before_the_first_row(path: Path) -> None:
    store = SqliteStore(path)
    assert (store.runs(), store.run("x"), store.direct(), store.audit(AuditFilter())) == ([], None, [], [])
    store.close()
    assert not path.parent.exists()


def test_the_file_and_its_companions_are_the_owners_only(path: Path) -> None:
    store = SqliteStore(path)
    call(store)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    names = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert names == {"p.db": 0o600, "p.db-wal": 0o600, "p.db-shm": 0o600}
    store.close()


def test_a_file_that_others_may_read_is_closed_to_them_and_its_folder_is_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "p.db"
    SqliteStore(path).event("x", {})
    path.chmod(0o644)
    SqliteStore(path).event("x", {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_the_default_path_is_one_per_project_in_the_state_directory(tmp_path: Path) -> None:
    env = {"SUTLER_STATE_DIR": str(tmp_path)}
    one, two = default_path(Path("/a/my proj"), env), default_path(Path("/b/my proj"), env)
    assert one.parent == tmp_path / "runs"
    assert one.name.startswith("my-proj-")
    assert one.suffix == ".db"
    assert one != two
    assert default_path(Path("/a/../a/my proj"), env) == one
    assert default_path(Path("/"), env).name.startswith("root-")


def test_a_row_of_a_writing_call_is_there_before_and_after_without_any_flush(path: Path) -> None:
    store = SqliteStore(path, flush_seconds=1_000)
    step = StepRecord(tool="t", source="s", args={})
    store.step_started(step)
    assert rows(path, "SELECT state, success FROM steps") == [("started", None)]
    step.success = True
    store.step_done(step)
    assert rows(path, "SELECT state, success FROM steps") == [("done", 1)]


def test_rows_of_read_only_calls_are_written_together_soon(path: Path) -> None:
    store = SqliteStore(path, flush_seconds=0.01)
    for number in range(20):
        call(store, number, writes=False)
    deadline = time.monotonic() + 10
    while not path.exists() or len(rows(path, "SELECT 1 FROM sqlite_master WHERE name = 'steps'")) == 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    while len(rows(path, "SELECT 1 FROM steps")) < 20:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    store.close()


def test_waiting_rows_are_written_before_a_writing_calls_and_at_close(path: Path) -> None:
    store = SqliteStore(path, flush_seconds=1_000)
    call(store, 1, writes=False)
    call(store, 2)
    assert [json.loads(args)["n"] for (args,) in rows(path, "SELECT args FROM steps ORDER BY id")] == [1, 2]
    call(store, 3, writes=False)
    store.close()
    assert len(rows(path, "SELECT 1 FROM steps")) == 3


def test_rows_that_wait_at_the_end_of_the_process_are_written(path: Path) -> None:
    finish(run_child("store = SqliteStore(Path(sys.argv[1]), flush_seconds=1000)\ncall(store, 1, writes=False)", path))
    assert rows(path, "SELECT state FROM steps") == [("done",)]


def test_a_store_is_of_no_use_after_close_or_fork(path: Path) -> None:
    store = SqliteStore(path)
    call(store)
    code = """
store = SqliteStore(Path(sys.argv[1]), flush_seconds=1000)
call(store, 1, writes=False)
pid = os.fork()
if pid == 0:
    try:
        call(store, 2)
    except Exception as error:
        print(type(error).__name__, error)
    sys.exit(0)
os.waitpid(pid, 0)
"""
    out = finish(run_child(code, path))
    assert out.startswith("ClosedError")
    assert "before a fork" in out
    store.close()
    with pytest.raises(ClosedError, match="is closed"):
        call(store)
    assert len(rows(path, "SELECT 1 FROM steps")) == 2


def test_what_json_cannot_hold_is_kept_as_its_repr_and_cannot_be_replayed(path: Path) -> None:
    store = SqliteStore(path)
    loop: list[Any] = []
    loop.append(loop)
    for number, result in enumerate([{1, 2}, (1,), {1: 2}, float("nan"), b"x", object, loop, 10**5_000]):
        call(store, number, result=result)
    for number, result in enumerate(["\udc80\x00é", [1, 1.5, None, True, {"a": []}], "", 0, False]):
        call(store, 100 + number, result=result)
    found = {step.args["n"]: step for step in store.direct()}
    assert [found[number].replayable for number in range(8)] == [False] * 8
    assert found[0].result == "{1, 2}"
    assert found[6].result == "[[...]]"
    assert [found[100 + number].result for number in range(5)] == [
        "\udc80\x00é",
        [1, 1.5, None, True, {"a": []}],
        "",
        0,
        False,
    ]
    assert all(found[100 + number].replayable for number in range(5))


def test_names_texts_and_errors_with_any_characters_are_kept(path: Path) -> None:
    store = SqliteStore(path)
    store.begin_run(RunRecord(run_id="r", program="# \udc80\x00", stdout="\ud800"))
    step = StepRecord(tool="tö\udcffl", source="s", args={"\udc80": "\udc80"}, run_id="r", error="\udc80")
    store.step_started(step)
    run = store.run("r")
    assert run is not None
    assert run.program == "# \\udc80\x00"
    assert run.steps[0].args == {"\udc80": "\udc80"}
    store.begin_run(RunRecord(run_id="\udcff", program=""))
    assert store.run("\udcff") is not None
    assert store.run("\udcfe") is None


def test_a_large_result_is_kept_whole(path: Path) -> None:
    store = SqliteStore(path)
    call(store, result="x" * 10_000_000)
    assert len(store.direct()[0].result) == 10_000_000


def test_a_step_that_another_process_began_is_finished_here(path: Path) -> None:
    code = """
store = SqliteStore(Path(sys.argv[1]))
store.begin_run(RunRecord(run_id="r", program="", snapshot=b"s", status="waiting"))
store.step_started(StepRecord(tool="t", source="s", args={}, run_id="r", step=1))
"""
    finish(run_child(code, path))
    store = SqliteStore(path)
    (waiting,) = store.runs(status="waiting")
    run = store.run(waiting.run_id)
    assert run is not None
    step = run.steps[0]
    step.result, step.success = "later", True
    store.step_done(step)
    assert rows(path, "SELECT state, result FROM steps") == [("done", '"later"')]


def test_two_processes_writing_at_once_lose_nothing(path: Path) -> None:
    code = """
store = SqliteStore(Path(sys.argv[1]), busy_seconds=60)
for number in range(60):
    call(store, number, writes=number % 2 == 0, digest=sys.argv[2])
store.close()
"""
    children = [run_child(code, path, name) for name in "abc"]
    for child in children:
        finish(child)
    found = rows(path, "SELECT digest, step, state FROM steps")
    assert sorted(found) == [(name, number, "done") for name in "abc" for number in range(60)]


def test_a_killed_process_leaves_every_done_row_and_the_one_it_was_in(path: Path) -> None:
    code = """
store = SqliteStore(Path(sys.argv[1]))
for number in range(10_000):
    call(store, number)
    print(number, flush=True)
"""
    child = run_child(code, path)
    assert child.stdout is not None
    said = [int(child.stdout.readline()) for _ in range(50)]
    child.send_signal(signal.SIGKILL)
    said += [int(line) for line in child.communicate()[0].split("\n") if line]
    store = SqliteStore(path)
    done = {step.step for step in store.direct(20_000) if step.state == "done"}
    assert set(said) <= done
    assert len(store.direct(20_000)) <= len(said) + 2
    call(store, 1)  # and the next process writes on


def test_a_lock_held_by_another_process_is_an_error_that_says_so_and_the_row_waits(path: Path) -> None:
    store = SqliteStore(path, busy_seconds=0.05)
    call(store, 1)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another process has held its lock") as caught:
        store.step_started(StepRecord(tool="t", source="s", args={"n": 2}))
    assert str(path) in str(caught.value)
    finished = StepRecord(tool="t", source="s", args={"n": 3}, state="done")
    with pytest.raises(StoreError):
        store.step_done(finished)
    assert store.trouble is not None
    assert store.trouble.startswith("1 rows wait")
    holder.execute("ROLLBACK")
    holder.close()
    assert [step.args["n"] for step in store.direct()] == [3, 1]  # the refused call left no row, the finished one did
    assert store.trouble is None


@pytest.mark.parametrize(
    "content", [b"this is no database at all, but a text of some length" * 100, b"SQLite format 3\x00" * 500]
)
def test_a_damaged_file_is_an_error_that_says_what_to_do_and_is_left_as_it_is(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    store = SqliteStore(path)
    for use in (lambda: store.begin_run(RunRecord(run_id="r", program="")), store.runs):
        with pytest.raises(StoreError, match="move it away") as caught:
            use()
        assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="something else"):
        SqliteStore(path).event("x", {})
    assert path.read_bytes() == before


def test_a_store_of_a_newer_layout_is_left_alone(path: Path) -> None:
    SqliteStore(path).event("x", {})
    rows(path, "PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"newer Sutler \(layout 99"):
        SqliteStore(path).event("x", {})


def test_a_path_that_can_be_no_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    paths = [tmp_path, tmp_path / "file" / "x.db"]
    if sys.platform == "linux":
        paths += [Path("/dev/full"), Path("/proc/nothing/x.db")]
    for path in paths:
        with pytest.raises(StoreError, match="name another file") as caught:
            SqliteStore(path).event("x", {})
        assert str(path) in str(caught.value)


def test_a_folder_or_file_that_may_not_be_written_is_an_error(tmp_path: Path) -> None:
    code = """
import sqlite3
if os.geteuid() == 0:
    os.setgroups([])
    os.setuid(65534)
for name in ("closed/new.db", "closed/old.db"):
    try:
        SqliteStore(Path(sys.argv[1], name)).begin_run(RunRecord(run_id="r", program=""))
    except StoreError as error:
        print(error)
"""
    tmp_path.chmod(0o755)
    tmp_path.parent.chmod(0o755)
    tmp_path.parent.parent.chmod(0o755)
    closed = tmp_path / "closed"
    SqliteStore(closed / "old.db").event("x", {})
    (closed / "old.db").chmod(0o444)
    closed.chmod(0o555)
    try:
        out = finish(run_child(code, tmp_path)).splitlines()
    finally:
        closed.chmod(0o755)
    assert len(out) == 2
    assert all("writable" in line for line in out)
    assert str(closed / "new.db") in out[0]
    assert str(closed / "old.db") in out[1]


def test_a_full_disk_is_an_error_and_rows_come_through_when_there_is_room_again(path: Path) -> None:
    code = """
path = Path(sys.argv[1])
store = SqliteStore(path, flush_seconds=1000)
call(store, 0)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
try:
    call(store, 1, result="x" * 500_000)
except StoreError as error:
    print(error)
call(store, 2, writes=False)
try:
    store.step_started(StepRecord(tool="t", source="s", args={"n": 3}))
except StoreError as error:
    print(error)
print(store.trouble)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
print(sorted(step.args["n"] for step in store.direct() if step.state == "done"))
print(store.trouble)
"""
    first, second, trouble, found, after = finish(run_child(code, path)).splitlines()
    for message in (first, second):
        assert str(path) in message
        assert "full" in message
    assert trouble.startswith("2 rows wait: ")
    assert found == "[0, 1, 2]"
    assert after == "None"


def test_rows_that_can_never_be_written_make_close_fail_and_say_how_many(path: Path) -> None:
    store = SqliteStore(path, flush_seconds=1_000)
    call(store, 1)
    for number in range(3):
        call(store, number, writes=False)
    store.flush()
    path.unlink()
    path.mkdir()
    for number in range(3):
        call(store, number, writes=False)
    with pytest.raises(StoreError, match=r"3 rows were not written and are lost"):
        store.close()


def test_so_many_waiting_rows_are_not_kept_in_memory_for_ever(path: Path) -> None:
    store = SqliteStore(path, flush_seconds=1_000)
    for number in range(8):
        call(store, number, writes=False, result="x" * 9_000_000)
    assert len(rows(path, "SELECT 1 FROM steps")) >= 7


def test_a_file_that_was_moved_away_is_made_anew(path: Path) -> None:
    store = SqliteStore(path)
    call(store, 1)
    step = StepRecord(tool="t", source="s", args={"n": 2})
    store.step_started(step)
    for file in path.parent.iterdir():
        file.unlink()
    store.step_done(step)
    assert [one.args["n"] for one in store.direct()] == [2]
    assert rows(path, "SELECT state FROM steps") == [("done",)]


def test_the_file_is_in_wal_mode_with_its_layout_named(path: Path) -> None:
    SqliteStore(path).event("x", {})
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]
    assert rows(path, "PRAGMA user_version") == [(VERSION,)]


def test_importing_the_store_does_not_import_sqlite() -> None:
    assert finish(run_child("print('sqlite3' in sys.modules)")).strip() == "False"


def test_a_process_that_ends_without_close_says_what_could_not_be_written(path: Path) -> None:
    code = """
store = SqliteStore(Path(sys.argv[1]), flush_seconds=1000)
call(store, 1, writes=False)
Path(sys.argv[1]).mkdir(parents=True)
"""
    _, err = run_child(code, path).communicate(timeout=60)
    assert err.startswith(f"sutler: {path}: ")
    assert "1 rows were not written" in err
    assert "Traceback" not in err
