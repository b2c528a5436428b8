"""How long the store's file keeps what it holds, so that it does not grow for ever."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .audit import Chain
from .layout import AUDIT_KEEPS

if TYPE_CHECKING:
    import sqlite3

DAY = 86_400.0
_AT_ONCE = 1_000  # rows that one transaction lets go: nobody waits long for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """keep_days: of runs and calls. keep_runs: how many runs at the most. audit_days: of lines of the audit log."""

    keep_days: float = 90
    keep_runs: int = 10_000
    audit_days: float = 365


def is_due(connection: sqlite3.Connection, keep: Keep, now: float | None = None) -> bool:
    """Whether there is anything to let go; reads only."""
    now = time.time() if now is None else now
    run, step, line = (
        connection.execute(f"{query} LIMIT 1").fetchone()
        for query in (
            "SELECT started FROM runs WHERE status <> 'waiting' ORDER BY started",
            "SELECT at FROM steps ORDER BY id",
            "SELECT at FROM audit ORDER BY id",
        )
    )
    before = now - keep.keep_days * DAY
    return (
        (run is not None and run[0] < before)
        or (step is not None and step[0] < before)
        or (line is not None and line[0] < now - keep.audit_days * DAY)
        or connection.execute("SELECT 1 FROM runs LIMIT 1 OFFSET ?", (keep.keep_runs,)).fetchone() is not None
    )


def let_go(connection: sqlite3.Connection, keep: Keep, now: float | None = None) -> int:
    """Drops what is older than `keep` says; the log says that and until when. Runs that wait for a person stay.

    Within a transaction of the caller's. So many at a time that nobody
    waits long for it. Returns how many rows went.
    """
    now = time.time() if now is None else now
    runs, until = _runs(connection, keep, now - keep.keep_days * DAY)
    steps, last = _steps(connection, now - keep.keep_days * DAY)
    lines, cut = _lines(connection, now - keep.audit_days * DAY)
    data: dict[str, object] = {}
    if runs or steps:
        data |= {"runs": runs, "calls": steps, "records_until": max(until, last)}
    if cut is not None:
        data |= {"lines": lines, "log_until": cut[0], "log_hash": cut[1]}
    if data:
        Chain(connection).append((now, "change.store", "", None, None, json.dumps({"what": "let go", **data})))
    return runs + steps + lines


def _runs(connection: sqlite3.Connection, keep: Keep, before: float) -> tuple[int, float]:
    """(how many runs went, when the last of them ended)."""
    row = connection.execute(
        "SELECT started FROM runs ORDER BY started DESC LIMIT 1 OFFSET ?", (keep.keep_runs - 1,)
    ).fetchone()
    before = max(before, row[0] if row is not None else before)
    which = "SELECT run_id FROM runs WHERE started < ? AND status <> 'waiting' ORDER BY started LIMIT ?"
    oldest = [one[0] for one in connection.execute(which, (before, _AT_ONCE))]
    until = 0.0
    for run_id in oldest:
        last = connection.execute(
            "SELECT max(started, coalesce(ended, 0),"
            " coalesce((SELECT max(at + duration) FROM steps WHERE run_id = ?), 0)) FROM runs WHERE run_id = ?",
            (run_id, run_id),
        ).fetchone()
        until = max(until, last[0])
        connection.execute("DELETE FROM steps WHERE run_id = ?", (run_id,))
        connection.execute("DELETE FROM runs WHERE run_id = ?", (run_id,))
    return len(oldest), until


def _steps(connection: sqlite3.Connection, before: float) -> tuple[int, float]:
    """Calls outside of runs, and of runs that are gone. The oldest come first in the table."""
    found: list[tuple[int, float]] = []
    for number, run_id, ended, at in connection.execute(
        "SELECT id, run_id, at + duration, at FROM steps ORDER BY id LIMIT ?", (_AT_ONCE,)
    ):
        if at >= before:
            break
        if run_id is None or not connection.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)).fetchone():
            found.append((number, ended))
    connection.executemany("DELETE FROM steps WHERE id = ?", [(number,) for number, _ in found])
    return len(found), max((ended for _, ended in found), default=0.0)


def _lines(connection: sqlite3.Connection, before: float) -> tuple[int, tuple[int, str] | None]:
    """The oldest lines of the log, in one piece; the last line always stays."""
    row = connection.execute(
        "SELECT id, at FROM audit WHERE id <= (SELECT min(id) + ? FROM audit) AND at >= ? ORDER BY id LIMIT 1",
        (_AT_ONCE, before),
    ).fetchone()
    if row is None:
        row = connection.execute(
            "SELECT min((SELECT max(id) FROM audit), min(id) + ?) FROM audit", (_AT_ONCE,)
        ).fetchone()
    stays = row[0]
    if stays is None:
        return 0, None
    last = connection.execute("SELECT id, hash FROM audit WHERE id < ? ORDER BY id DESC LIMIT 1", (stays,)).fetchone()
    if last is None:
        return 0, None
    connection.execute("DROP TRIGGER audit_keeps")  # comes back in this same transaction
    gone = connection.execute("DELETE FROM audit WHERE id < ?", (stays,)).rowcount
    connection.execute(AUDIT_KEEPS)
    return gone, (last[0], last[1])
