"""The tables of the store's file. A file of an older layout is brought up to date; each room adds a step at the end."""

from __future__ import annotations

from collections.abc import Sequence

APPLICATION_ID = 0x5355544C

AUDIT_KEEPS = """
CREATE TRIGGER audit_keeps BEFORE DELETE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only: no line of it is deleted');
END"""

_FIRST = (
    """
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, program TEXT NOT NULL, params TEXT NOT NULL, level TEXT NOT NULL,
  status TEXT NOT NULL, output TEXT, error TEXT, stdout TEXT NOT NULL, variables TEXT NOT NULL, grade TEXT,
  started REAL NOT NULL, ended REAL, names TEXT NOT NULL, snapshot BLOB, replayable INTEGER NOT NULL
)""",
    "CREATE INDEX runs_by_start ON runs (started)",
    """
CREATE TABLE steps (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, run_id TEXT, step INTEGER NOT NULL, tool TEXT NOT NULL,
  source TEXT NOT NULL, digest TEXT NOT NULL, args TEXT NOT NULL, result TEXT, stdout TEXT NOT NULL,
  success INTEGER, error TEXT, kind TEXT,
  duration REAL NOT NULL, decision TEXT, repairs TEXT NOT NULL, line INTEGER, writes INTEGER NOT NULL,
  state TEXT NOT NULL, replayable INTEGER NOT NULL, at REAL NOT NULL
)""",
    "CREATE INDEX steps_by_run ON steps (run_id, step)",
)

_AUDIT_AND_PINS = (
    "DROP TABLE IF EXISTS events",
    """
CREATE TABLE audit (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, tool TEXT NOT NULL, run_id TEXT, of TEXT,
  data TEXT NOT NULL, hash TEXT NOT NULL
)""",
    """
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only: no line of it is changed');
END""",
    AUDIT_KEEPS,
    # INSERT OR REPLACE deletes without asking the trigger above
    """
CREATE TRIGGER audit_appends BEFORE INSERT ON audit WHEN NEW.id <= (SELECT max(id) FROM audit) BEGIN
  SELECT RAISE(ABORT, 'the audit log is append-only: a line is added at its end');
END""",
    """
CREATE TABLE pins (
  source TEXT NOT NULL, tool TEXT NOT NULL, digest TEXT NOT NULL, definition TEXT NOT NULL, at REAL NOT NULL,
  accepted INTEGER NOT NULL, PRIMARY KEY (source, tool)
)""",
)

_WAITING = ("ALTER TABLE runs ADD COLUMN waiting TEXT",)

LAYOUTS: Sequence[Sequence[str]] = (_FIRST, _AUDIT_AND_PINS, _WAITING)
"""What leads from each layout to the next. The number of a file's layout is its user_version."""

VERSION = len(LAYOUTS)
