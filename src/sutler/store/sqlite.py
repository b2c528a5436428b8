"""The store on disk: one SQLite file in WAL mode, for many threads and many processes at once.

A call that may write has its rows on the disk (fsync) before it runs and before its result is used. Rows of other
calls wait a moment and are written together: by a thread of the store, with the next such row, or at a read or close.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ClosedError, StoreError
from ..state import state_dir
from . import rows
from .audit import AuditFilter, AuditRecord, Chain, event_line, read_lines
from .keeping import Keep, is_due, let_go
from .pins import PinRecord, pin_row, read_pins
from .records import Masks, RunRecord, StepRecord, StoredStatus
from .sqlite_file import explain, open_file
from .verify import AuditCheck, verify

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

_MOST_ROWS = 10_000
_MOST_BYTES = 64_000_000
_TIDY = 3600.0  # seconds between two looks at what is too old to keep
_KEEP = Keep()


def default_path(project: Path, env: Mapping[str, str] | None = None) -> Path:
    """`<state dir>/runs/<folder name>-<hash of its path>.db`: one file per project folder."""
    real = os.path.realpath(project)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(real).name)[:40] or "root"
    digest = hashlib.blake2b(os.fsencode(real), digest_size=8).hexdigest()
    return state_dir(env) / "runs" / f"{name}-{digest}.db"


class SqliteStore:
    """Runs, calls and events in the file `path`, made (0600) when first written to.

    masks: keeps secrets out of the file. flush_seconds: how long the rows of read-only calls may wait.
    busy_seconds: how long a lock of another process is waited for. keep: how long anything stays. Every failure
    is a StoreError that names the file and says what to do; rows that could not be written wait on, `trouble` says
    so, and `close` raises.
    """

    def __init__(
        self,
        path: Path,
        *,
        masks: Masks | None = None,
        keep: Keep = _KEEP,
        flush_seconds: float = 0.05,
        busy_seconds: float = 5.0,
    ) -> None:
        self.path = path.absolute()
        self._masks = masks
        self._keep, self._tidied = keep, 0.0
        self._flush_seconds, self._busy_seconds = flush_seconds, busy_seconds
        self._pid = os.getpid()
        self._prefix, self._numbers = secrets.token_hex(8), count()
        self._lock = Lock()  # the connection's
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._queue_lock = Lock()
        self._queue: list[rows.Row] = []
        self._queued_bytes = 0
        self._wake, self._stop = Event(), Event()
        self._flusher: Thread | None = None
        self._closed = False
        self._failed: str | None = None
        self._wrote = False

    @property
    def trouble(self) -> str | None:
        return f"{len(self._queue)} rows wait: {self._failed}" if self._failed and self._queue else None

    def begin_run(self, run: RunRecord) -> None:
        self._write(rows.run_row(run, self._masks))

    def finish_run(self, run: RunRecord) -> None:
        self._write(rows.run_row(run, self._masks), keep=True)

    def queues(self) -> bool:
        """Whether a row that need not be on the disk at once is only put into a queue now, without any waiting."""
        return len(self._queue) < _MOST_ROWS // 2 and self._queued_bytes < _MOST_BYTES // 2

    def claim_run(self, run_id: str) -> bool:
        return self._ask(lambda connection: self._take(connection, run_id), False)

    def _take(self, connection: sqlite3.Connection, run_id: str) -> bool:
        connection.execute("BEGIN IMMEDIATE")
        try:
            wanted = f"{rows.SELECT_RUNS} WHERE run_id = ? AND status = 'waiting'"
            found = connection.execute(wanted, (rows.text(run_id),)).fetchone()
            if found is not None:
                run = rows.read_run(found)
                run.status = "running"
                Chain(connection).put(rows.run_row(run, self._masks))
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        return found is not None

    def step_started(self, step: StepRecord) -> None:
        self._here()
        step.key = step.key or self._new_key()
        if step.writes:
            self._write(rows.step_row(step, self._masks), durable=True)

    def step_done(self, step: StepRecord) -> None:
        self._here()
        step.key = step.key or self._new_key()
        step.state = "done"
        row = rows.step_row(step, self._masks)
        if step.writes:
            self._write(row, durable=True, keep=True)
        else:
            self._enqueue(row)

    def event(self, kind: str, payload: Mapping[str, Any], *, durable: bool = True) -> None:
        row = event_line(kind, payload, self._masks)
        if durable:
            self._write(row, durable=True)
        else:
            self._here()
            self._enqueue(row)

    def runs(self, limit: int = 20, status: StoredStatus | None = None) -> list[RunRecord]:
        where, values = ("", ()) if status is None else (" WHERE status = ?", (status,))
        found = self._read(f"{rows.SELECT_RUNS}{where} ORDER BY started DESC, id DESC LIMIT ?", (*values, limit))
        return [rows.read_run(row) for row in found]

    def run(self, run_id: str) -> RunRecord | None:
        found = self._read(f"{rows.SELECT_RUNS} WHERE run_id = ?", (rows.text(run_id),))
        if not found:
            return None
        run = rows.read_run(found[0])
        steps = self._read(f"{rows.SELECT_STEPS} WHERE run_id = ? ORDER BY step, id", (rows.text(run_id),))
        run.steps = [rows.read_step(row) for row in steps]
        return run

    def direct(self, limit: int = 100) -> list[StepRecord]:
        found = self._read(f"{rows.SELECT_STEPS} WHERE run_id IS NULL ORDER BY id DESC LIMIT ?", (limit,))
        return [rows.read_step(row) for row in found]

    def audit(self, which: AuditFilter, limit: int = 100, *, number: int | None = None) -> list[AuditRecord]:
        """number: the line of that number alone."""
        return self._ask(lambda connection: read_lines(connection, which, limit, number), [])

    def pin(self, pins: Sequence[PinRecord]) -> None:
        self._here()
        self._commit(tuple(pin_row(pin) for pin in pins), durable=True)

    def pins(self) -> list[PinRecord]:
        try:
            return self._ask(read_pins, [])
        except ValueError as error:
            raise StoreError(
                f"{self.path}: a pinned definition in it is damaged (move the file away): {error}"
            ) from error

    def verify_audit(self, head: str | None = None) -> AuditCheck:
        """Whether the audit log, and what it is of, is as it was written."""
        return self._ask(lambda connection: verify(connection, head), AuditCheck())

    def flush(self) -> None:
        """Write what waits, now; returns when it is written."""
        if not self._queue:
            with self._lock:  # the store's thread may be writing it at this moment
                pass
        if self._queue:
            self._commit(())

    def close(self) -> None:
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        atexit.unregister(self._close_at_exit)
        self._stop.set()
        self._wake.set()
        if self._flusher is not None:
            self._flusher.join()
        try:
            self.flush()
        except StoreError as error:
            raise StoreError(f"{error}; {len(self._queue)} rows were not written and are lost") from error
        finally:
            self._tidy()
            with self._lock:
                self._disconnect()

    def _new_key(self) -> str:
        return f"{self._prefix}-{next(self._numbers)}"

    def _close_at_exit(self) -> None:
        try:
            self.close()
        except StoreError as error:
            print(f"sutler: {error}", file=sys.stderr)

    def _here(self) -> None:
        """SQLite connections and threads do not cross a fork, and nothing is taken after close."""
        if self._closed:
            raise ClosedError(f"the store {self.path} is closed")
        if os.getpid() != self._pid:
            raise ClosedError(f"the store {self.path} was opened before a fork; open one in this process")

    def _write(self, row: rows.Row, *, durable: bool = False, keep: bool = False) -> None:
        """Commit now, with everything that waits. keep: a row that cannot be written waits on, so nothing is lost."""
        self._here()
        try:
            self._commit((row,), durable=durable)
        except StoreError:
            if keep:
                self._push(row)
            raise

    def _enqueue(self, row: rows.Row) -> None:
        self._push(row)
        if len(self._queue) >= _MOST_ROWS or self._queued_bytes >= _MOST_BYTES:
            self.flush()

    def _push(self, row: rows.Row) -> None:
        with self._queue_lock:
            self._queue.append(row)
            self._queued_bytes += _size(row)
            if self._flusher is None:
                self._flusher = Thread(target=self._flush_now_and_then, name="sutler-store", daemon=True)
                atexit.register(self._close_at_exit)
                self._flusher.start()
        if not self._wake.is_set():
            self._wake.set()

    def _flush_now_and_then(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._stop.wait(self._flush_seconds if self._failed is None else 1.0)
            self._wake.clear()
            with suppress(StoreError):
                self.flush()
            self._tidy()
            if self._queue:
                self._wake.set()

    def _commit(self, more: tuple[rows.Row, ...], *, durable: bool = False) -> None:
        import sqlite3

        with self._lock:
            with self._queue_lock:
                waiting, self._queue, self._queued_bytes = self._queue, [], 0
            try:
                connection = self._connect()
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                connection.execute("BEGIN IMMEDIATE")
                chain = Chain(connection)
                for row in (*waiting, *more):
                    chain.put(row)
                connection.execute("COMMIT")
                self._wrote = True
            except BaseException as error:
                self._disconnect()  # rolls back; the next attempt starts from a fresh connection
                with self._queue_lock:
                    self._queue[:0] = waiting
                    self._queued_bytes = sum(map(_size, self._queue))
                self._failed = str(error)
                if not isinstance(error, (sqlite3.Error, OSError)):
                    raise
                failure = explain(self.path, error, self._busy_seconds)
                self._failed = str(failure)
                raise failure from error
            self._failed = None

    def _tidy(self) -> None:
        """Now and then, and when this store has written and closes: lets go of what is too old to keep."""
        import sqlite3

        if time.monotonic() < self._tidied:
            return
        with self._lock:
            connection = self._connection
            if connection is None or not self._wrote:
                return
            self._tidied = time.monotonic() + _TIDY
            try:
                if not is_due(connection, self._keep):
                    return
                connection.execute("BEGIN IMMEDIATE")
                if let_go(connection, self._keep):
                    self._tidied = 0.0  # there may be more
                connection.execute("COMMIT")
            except sqlite3.Error:  # whatever it is, the next write will say it
                self._disconnect()

    def _read(self, query: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self._ask(lambda connection: connection.execute(query, values).fetchall(), [])

    def _ask(self, read: Callable[[sqlite3.Connection], T], nothing: T) -> T:
        """What `read` gives, with what waits written before; `nothing` when there is no file."""
        import sqlite3

        self._here()
        self.flush()
        with self._lock:
            if self._connection is None and not self.path.exists():
                return nothing
            try:
                return read(self._connect())
            except (sqlite3.Error, OSError) as error:
                self._disconnect()
                raise explain(self.path, error, self._busy_seconds) from error

    def _connect(self) -> sqlite3.Connection:
        """The open connection; a new one when the file was moved away or replaced under it."""
        if self._connection is not None:
            with suppress(OSError):
                if self.path.stat().st_ino == self._inode:
                    return self._connection
            self._disconnect()
        self._connection = open_file(self.path, self._busy_seconds)
        self._inode = self.path.stat().st_ino
        return self._connection

    def _disconnect(self) -> None:
        import sqlite3

        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


def _size(row: rows.Row) -> int:
    return sum(len(value) for value in row[1] if isinstance(value, (str, bytes)))
