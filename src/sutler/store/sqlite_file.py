"""Opening the store's file, and what its failures mean."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StoreError
from .layout import APPLICATION_ID, LAYOUTS, VERSION

if TYPE_CHECKING:
    import sqlite3


def open_file(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """A connection to the store at `path`, made with its tables when there is none.

    Raises StoreError, and what `explain` puts in words: sqlite3.Error, OSError.
    """
    import sqlite3

    _make_private(path)
    # Any thread may use it: the store's own lock lets in one at a time.
    connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA secure_delete = ON")  # a run's snapshot, which holds its values, goes for good
        _prepare(connection, path, time.monotonic() + busy_seconds)
    except BaseException:
        connection.close()
        raise
    return connection


def explain(path: Path, error: Exception, busy_seconds: float) -> StoreError:
    """The failure in words, with the file and what to do about it."""
    name = str(getattr(error, "sqlite_errorname", ""))
    if isinstance(error, OSError):
        return StoreError(f"{path}: cannot be opened: {error.strerror} (make it writable, or name another file)")
    if name.startswith("SQLITE_FULL"):
        what, do = "the disk is full, or a size limit is met", "free some space"
    elif name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        what, do = "cannot be written", "make the file and its folder writable, or name another file"
    elif name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        what = f"another process has held its lock for {busy_seconds:g} s"
        do = "end that process, or try again"
    elif name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        what = "is damaged, or no store of Sutler's"
        do = "move it away and a new one is made, or name another file"
    elif name.startswith("SQLITE_IOERR"):
        what, do = "the disk does not take it: it is full, a size limit is met, or it is failing", "check the disk"
    else:
        what, do = "cannot be used", "name another file"
    return StoreError(f"{path}: {what} ({do}): {error}")


def _make_private(path: Path) -> None:
    """Make the file before SQLite does: readable by its owner only, as its -wal and -shm files will be too."""
    if not path.parent.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        held = path.stat()
        if not stat.S_ISREG(held.st_mode):
            raise StoreError(f"{path}: is no regular file (name another file)") from None
        if os.name == "posix" and held.st_uid == os.geteuid() and stat.S_IMODE(held.st_mode) & 0o077:
            path.chmod(0o600)


def _prepare(connection: sqlite3.Connection, path: Path, deadline: float) -> None:
    version = _number(connection, "user_version")
    if version == VERSION and _number(connection, "application_id") == APPLICATION_ID:
        return
    _refuse_foreign(connection, path, version)
    _use_wal(connection, deadline)
    connection.execute("BEGIN IMMEDIATE")
    for layout in LAYOUTS[_number(connection, "user_version") :]:  # none, when another process was faster
        for statement in layout:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _refuse_foreign(connection: sqlite3.Connection, path: Path, version: int) -> None:
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables == 0:
        return
    if _number(connection, "application_id") != APPLICATION_ID:
        raise StoreError(f"{path}: is a database of something else, and was left alone (name another file)")
    if version > VERSION:
        raise StoreError(
            f"{path}: was written by a newer Sutler (layout {version}, this one knows {VERSION}); update Sutler"
        )


def _use_wal(connection: sqlite3.Connection, deadline: float) -> None:
    """SQLite does not wait for other processes here as it does elsewhere, so this does.

    On a disk that cannot have a WAL the file stays in its rollback mode, which is as safe and slower.
    """
    import sqlite3

    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if not str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    value: int = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return value
