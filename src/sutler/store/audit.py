"""The audit log: one line for every call, run, decision and change, never altered (POL-07).

Lines of calls and runs are derived from the rows that record these anyway, and are written with them. In the file each
line holds a hash of itself and of the line before, and a hash of the record it is of; so what was altered, taken out or
put in between later shows. Whoever may write the file can also write the whole log anew: to notice that too, keep the
hash that `sutler audit verify` gives elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .records import Masks, RunRecord, StepRecord
from .rows import PUT_RUN, PUT_STEP, RUN, Row, encode, text

if TYPE_CHECKING:
    import sqlite3

_ERROR_SHOWN = 500
_PUT = "INSERT INTO audit (id, at, kind, tool, run_id, of, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_FIRST = ""  # what the first line's hash is made over

Line = tuple[float, str, str, str | None, str | None, str]
"""(at, kind, tool, run_id, of, data as JSON text): what is hashed, with the line's number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """One line. kind: `call.started` (of calls that may write), `call.ended`, `run.started`, `run.ended`, `decision`,
    `change.<what>`. at: seconds since the epoch. tool: source::tool, or a source. data: by kind, secrets masked; a
    call's `arguments` are there for as long as its record is kept. id, hash: of a line in a file; in memory 0 and "".
    """

    kind: str
    at: float
    tool: str = ""
    run_id: str | None = None
    data: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    id: int = 0
    hash: str = ""


KINDS = ("call", "run", "decision", "change")
_WHOLE = ("call.started", "call.ended", "run.started", "run.ended")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which lines. kind: also the first word of one (`change`). tool: source::tool, its bare name, or a source.

    ValueError for a kind that no line can have.
    """

    kind: str | None = None
    tool: str | None = None
    run_id: str | None = None
    since: float | None = None

    def __post_init__(self) -> None:
        kind = self.kind
        if kind is None or kind in KINDS or kind in _WHOLE or kind.startswith("change."):
            return
        raise ValueError(
            f"there are no lines of the kind {kind!r}; there are {', '.join((*KINDS, *_WHOLE))}, change.<what>"
        )

    def takes(self, record: AuditRecord) -> bool:
        kind, tool = self.kind, self.tool
        return (
            (kind is None or record.kind == kind or record.kind.startswith(f"{kind}."))
            and (tool is None or tool in (record.tool, *record.tool.split("::", 1)))
            and (self.run_id is None or record.run_id == self.run_id)
            and (self.since is None or record.at >= self.since)
        )

    def where(self) -> tuple[str, tuple[Any, ...]]:
        """The same for the table `audit`."""
        parts: list[str] = []
        values: list[Any] = []
        if self.kind is not None:
            parts.append("(kind = ? OR substr(kind, 1, length(?) + 1) = ? || '.')")
            values += [self.kind] * 3
        if self.tool is not None:
            parts.append("(tool = ? OR substr(tool, 1, length(?) + 2) = ? || '::' OR substr(tool, -length(?) - 2) = ?)")
            values += [*[self.tool] * 4, f"::{self.tool}"]
        if self.run_id is not None:
            parts.append("run_id = ?")
            values.append(self.run_id)
        if self.since is not None:
            parts.append("at >= ?")
            values.append(self.since)
        return (f" WHERE {' AND '.join(parts)}" if parts else ""), tuple(values)


# ---------------------------------------------------------------------- from records in memory


def line_of_step(step: StepRecord, arguments: Mapping[str, Any], error: str | None) -> AuditRecord:
    """A call as the log has it; arguments and error already masked."""
    ended = step.state == "done"
    decision = step.decision
    data: dict[str, Any] = {"arguments": arguments}
    if decision is not None:
        data["decision"] = {name: getattr(decision, name) for name in ("outcome", "reason", "by", "how")}
    if ended:
        data |= {"outcome": "ok" if step.success else step.kind, "duration": round(step.duration, 6)}
        if error is not None:
            data["error"] = error[:_ERROR_SHOWN]
    return AuditRecord(
        kind="call.ended" if ended else "call.started",
        at=step.at + step.duration,
        tool=_qualified(step.source, step.tool),
        run_id=step.run_id,
        data=data,
    )


def lines_of_run(run: RunRecord) -> Iterable[AuditRecord]:
    yield AuditRecord(kind="run.started", at=run.started, run_id=run.run_id)
    if run.status != "running":
        data = {"status": run.status} | ({"error": str(run.error)[:_ERROR_SHOWN]} if run.error is not None else {})
        yield AuditRecord(kind="run.ended", at=run.ended or run.started, run_id=run.run_id, data=data)


# ---------------------------------------------------------------------- from rows of a file


def event_line(kind: str, payload: Mapping[str, Any], masks: Masks | None) -> Row:
    """A line of its own, waiting for its number and hash."""
    shown = dict(payload if masks is None else masks.arguments(payload))
    tool, run_id = shown.pop("tool", ""), shown.pop("run_id", None)
    line: Line = (time.time(), text(kind), text(str(tool)), _maybe(run_id), None, encode(shown)[0])
    return _PUT, line


class Chain:
    """Appends to the log of one file, within one transaction that holds the file's lock."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        last = connection.execute("SELECT id, hash FROM audit ORDER BY id DESC LIMIT 1").fetchone()
        self._id, self._hash = last if last is not None else (0, _FIRST)

    def put(self, row: Row) -> None:
        """Writes a row, and the line of the log that goes with it."""
        statement, values = row
        if statement is _PUT:
            self.append(values)  # pyright: ignore[reportArgumentType]  # made by event_line
            return
        self._connection.execute(statement, values)
        if statement is PUT_STEP:
            self.append(_call_line(values))
        elif statement is PUT_RUN:
            self.append(_run_line(values))

    def append(self, line: Line) -> None:
        self._id += 1
        self._hash = hash_of(self._hash, self._id, line)
        self._connection.execute(_PUT, (self._id, *line, self._hash))


def hash_of(before: str, number: int, line: Sequence[Any]) -> str:
    return _digest(before, number, *line)


def record_digest(values: Sequence[Any]) -> str:
    """Of a row of steps as it is handed to SQLite, and as SQLite gives it back."""
    return _digest(*values)


def _digest(*values: Any) -> str:
    return hashlib.blake2b(json.dumps(values).encode(), digest_size=16).hexdigest()


def _call_line(values: Sequence[Any]) -> Line:
    (key, run_id, _, tool, source, digest, _, _, _, success, error, kind, duration, decision, _, _, _, state, _, at) = (
        values
    )
    # the texts are JSON already
    data = "{" if decision is None else f'{{"decision": {decision}, '
    if digest:
        data += f'"definition": "{digest}", '
    if state == "done":
        outcome = "ok" if success else kind or "failed"
        data += f'"outcome": "{outcome}", "duration": {duration:.6f}, "record": "{record_digest(values)}", '
        if error is not None:
            data += f'"error": {json.dumps(error[:_ERROR_SHOWN])}, '
    kind = "call.ended" if state == "done" else "call.started"
    return at + duration, kind, _qualified(source, tool), run_id, key, f"{data.removesuffix(', ')}}}"


def _run_line(values: Sequence[Any]) -> Line:
    run = dict(zip(RUN, values, strict=True))
    if run["status"] == "running":
        return run["started"], "run.started", "", run["run_id"], None, "{}"
    data = {"status": run["status"], "record": run_digest(values)}
    if run["error"] is not None:
        data["error"] = json.loads(run["error"])["message"][:_ERROR_SHOWN]
    return run["ended"] or run["started"], "run.ended", "", run["run_id"], None, json.dumps(data)


def run_digest(values: Sequence[Any]) -> str:
    """The same of a row of runs, without the snapshot, which has a seal of its own and goes when the run has ended.

    Nor is the question of a run that does not wait part of it: rows of an older layout have none.
    """
    named = zip(RUN, values, strict=True)
    return _digest(*(value for name, value in named if name != "snapshot" and (name, value) != ("waiting", None)))


def _qualified(source: str, tool: str) -> str:
    return f"{source}::{tool}" if source else tool


def _maybe(value: object) -> str | None:
    return None if value is None else text(str(value))


# ---------------------------------------------------------------------- reading


def read_lines(
    connection: sqlite3.Connection, which: AuditFilter, limit: int, number: int | None = None
) -> list[AuditRecord]:
    """Newest first, each call with its arguments while they are kept. number: that line alone."""
    where, values = which.where() if number is None else (" WHERE id = ?", (number,))
    found = connection.execute(
        "SELECT a.id, a.at, a.kind, a.tool, a.run_id, a.data, a.hash, steps.args FROM"
        f" (SELECT * FROM audit{where} ORDER BY id DESC LIMIT ?) AS a LEFT JOIN steps ON steps.key = a.of"
        " ORDER BY a.id DESC",
        (*values, limit),
    )
    return [_read(row) for row in found]


def _read(row: Sequence[Any]) -> AuditRecord:
    number, at, kind, tool, run_id, data, own, args = row
    held: dict[str, Any] = json.loads(data)
    held.pop("record", None)
    if args is not None:
        held["arguments"] = json.loads(args)
    return AuditRecord(id=number, at=at, kind=kind, tool=tool, run_id=run_id, data=held, hash=own)
