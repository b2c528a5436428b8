"""Whether a file's audit log is as it was written: each line's hash, the order, and the records that lines are of."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .audit import hash_of, record_digest, run_digest
from .rows import RUN, STEP

if TYPE_CHECKING:
    import sqlite3

_MOST = 20  # troubles that are told


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheck:
    """lines: how many there are. head: the hash of the last. problems: what is not as it was written, a sentence each.

    let_go: records that the file no longer holds, as [store] keep_days or keep_runs say.
    """

    lines: int = 0
    head: str = ""
    let_go: int = 0
    problems: tuple[str, ...] = ()


class _Walk:
    def __init__(self) -> None:
        self.number = 0
        self.head = ""
        self.lines = 0
        self.let_go_until = 0.0
        self.cut: tuple[int, str] | None = None  # up to which line the log was cut, and that line's hash
        self.first: tuple[int, tuple[Any, ...]] | None = None
        self.calls: dict[str, tuple[int, str]] = {}
        self.runs: dict[str, tuple[int, str]] = {}
        self.problems: list[str] = []

    def take(self, row: tuple[Any, ...]) -> None:
        number, *line, own = row
        if not self.lines:
            if number != 1:
                self.first = (number, row)  # what a later line says of a cut decides
            else:
                self._link(number, line, own)
        else:
            if number != self.number + 1:
                missing = number - self.number - 1
                self.problems.append(f"{missing} line(s) between {self.number} and {number} are gone")
            self._link(number, line, own)
        self.lines += 1
        self.number, self.head = number, own
        self._note(number, line)

    def _link(self, number: int, line: list[Any], own: str) -> None:
        if hash_of(self.head, number, line) != own:
            self.problems.append(f"line {number} is not what was written, or not what was written there")

    def _note(self, number: int, line: list[Any]) -> None:
        at, kind, _, run_id, of, text = line
        del at
        try:
            data = json.loads(text)
        except ValueError:
            return  # its hash has told
        if kind == "call.ended" and of is not None:
            self.calls[of] = (number, str(data.get("record")))
        elif kind == "run.ended":
            self.runs[str(run_id)] = (number, str(data.get("record")))
        elif kind == "run.started":
            self.runs.pop(str(run_id), None)  # it goes on, and will end anew
        elif kind == "change.store":
            self.let_go_until = max(self.let_go_until, data.get("records_until", 0.0))
            if "log_until" in data:
                self.cut = (data["log_until"], data["log_hash"])

    def settle(self) -> None:
        """A log that begins later than at line 1 was cut where its own last cut says, or was tampered with."""
        if self.first is None:
            return
        number, row = self.first
        if self.cut is None or self.cut[0] != number - 1:
            self.problems.insert(0, f"the log begins at line {number}: what was before is gone, and no line says why")
        elif hash_of(self.cut[1], number, row[1:-1]) != row[-1]:
            self.problems.insert(0, f"line {number} is not what was written, or not what was written there")


def verify(connection: sqlite3.Connection, head: str | None) -> AuditCheck:
    """head: a hash that was once the last line's; a log without it was written anew, or cut short."""
    walk = _Walk()
    heads = 0
    for row in connection.execute("SELECT id, at, kind, tool, run_id, of, data, hash FROM audit ORDER BY id"):
        walk.take(row)
        heads += row[-1] == head
    walk.settle()
    if head is not None and not heads:
        walk.problems.append(f"no line has the hash {head}: the log was written anew, or lines at its end are gone")
    let_go = _records(connection, walk)
    return AuditCheck(lines=walk.lines, head=walk.head, let_go=let_go, problems=_told(walk.problems))


def _records(connection: sqlite3.Connection, walk: _Walk) -> int:
    """Compares the records with what the log holds of them. How many were let go."""
    let_go = 0
    for query, known, digest, what in (
        (f"SELECT {', '.join(STEP)} FROM steps", walk.calls, record_digest, "call"),
        (f"SELECT {', '.join(RUN)} FROM runs", walk.runs, run_digest, "run"),
    ):
        expected = dict(known)
        for row in connection.execute(query):
            number, was = expected.pop(row[0], (0, ""))
            if number and digest(row) != was:
                walk.problems.append(f"the record of the {what} of line {number} is not what was written")
        for number, _ in expected.values():
            (at,) = connection.execute("SELECT at FROM audit WHERE id = ?", (number,)).fetchone()
            if at <= walk.let_go_until:
                let_go += 1
            else:
                walk.problems.append(f"the record of the {what} of line {number} is gone")
    return let_go


def _told(problems: Iterable[str]) -> tuple[str, ...]:
    found = list(problems)
    return tuple(found) if len(found) <= _MOST else (*found[:_MOST], f"and {len(found) - _MOST} more")
