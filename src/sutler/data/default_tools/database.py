"""SQLite databases in the workspace: one tool that cannot change them, one that may."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._guard import file_to_read, file_to_write, relative

if TYPE_CHECKING:
    import sqlite3

SECONDS = 30.0
CHECK_EVERY = 10_000  # virtual machine steps between two looks at the clock
MAX_ROWS = 100_000


def sqlite_query(
    database: str, query: str, parameters: list[Any] | dict[str, Any] | None = None, max_rows: int = 200
) -> dict[str, Any]:
    """Run one SELECT on a SQLite file, opened read-only: columns, rows as dicts, and whether there were more."""
    if not 0 <= max_rows <= MAX_ROWS:
        raise ValueError(f"max_rows is from 0 to {MAX_ROWS:,}, not {max_rows}")
    path = file_to_read(database)
    with Session(path, database, mode="ro") as session:
        session.connection.execute("PRAGMA query_only = ON")
        cursor = session.run(query, parameters)
        if cursor.description is None:
            raise ValueError("that statement gives no rows; this tool only reads")
        columns = unique([str(column[0]) for column in cursor.description])
        rows = session.guard(lambda: cursor.fetchmany(max_rows + 1))
    return {
        "columns": columns,
        "rows": [dict(zip(columns, map(plain, row), strict=True)) for row in rows[:max_rows]],
        "truncated": len(rows) > max_rows,
    }


def sqlite_execute(
    database: str, statement: str, parameters: list[Any] | dict[str, Any] | None = None
) -> dict[str, Any]:
    """Run one statement that changes a SQLite file (INSERT, UPDATE, CREATE...); the file is made when absent."""
    path = file_to_write(database)
    path.parent.mkdir(parents=True, exist_ok=True)
    with Session(path, database, mode="rwc") as session:
        cursor = session.run(statement, parameters)
        session.guard(session.connection.commit)
        changed, last = cursor.rowcount, cursor.lastrowid
    return {"database": relative(path), "rows_changed": max(changed, 0), "last_row_id": last}


class Session:
    """One connection, closed at the end: no other file can be attached, and a statement that runs on is interrupted."""

    def __init__(self, path: Path, shown: str, *, mode: str) -> None:
        import sqlite3

        self.shown = shown
        self.deadline = time.monotonic() + SECONDS
        try:
            self.connection = sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True, timeout=5)
        except sqlite3.Error as error:
            raise ValueError(f"{shown} cannot be opened: {error}") from None
        self.connection.set_authorizer(authorize)
        self.connection.set_progress_handler(self.out_of_time, CHECK_EVERY)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def out_of_time(self) -> int:
        return int(time.monotonic() > self.deadline)

    def run(self, statement: str, parameters: list[Any] | dict[str, Any] | None) -> sqlite3.Cursor:
        return self.guard(lambda: self.connection.execute(statement, parameters or ()))

    def guard(self, action: Any) -> Any:
        """What SQLite says, in words that name the file."""
        import sqlite3

        try:
            return action()
        except (sqlite3.Error, sqlite3.Warning) as error:
            if self.out_of_time():
                raise TimeoutError(f"the statement ran for more than {SECONDS:g} s on {self.shown}") from None
            hint = ""
            if "no such table" in str(error):
                names = [str(row[0]) for row in self.connection.execute("SELECT name FROM sqlite_master ORDER BY name")]
                hint = f" (there are: {', '.join(names)})" if names else " (the database is empty)"
            raise ValueError(f"SQLite on {self.shown}: {error}{hint}") from None


def authorize(action: int, _first: str | None, _second: str | None, _database: str | None, _trigger: str | None) -> int:
    """No second file: ATTACH, which VACUUM INTO uses too, would reach outside the workspace."""
    import sqlite3

    return sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH) else sqlite3.SQLITE_OK


def unique(names: list[str]) -> list[str]:
    """Column names that can be keys: a second `id` of a join becomes `id_2`."""
    found: list[str] = []
    for number, name in enumerate(names, start=1):
        found.append(f"{name}_{number}" if name in found else name)
    return found


def plain(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode("ascii")} if isinstance(value, bytes) else value
