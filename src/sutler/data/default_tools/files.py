"""Reading and writing text files in the workspace."""

from __future__ import annotations

import codecs
import contextlib
import itertools
import os
import tempfile
from pathlib import Path
from typing import Any

from ._guard import file_to_read, file_to_write, has_other_names, relative

WHOLE_FILE_BYTES = 10_000_000
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_file(path: str, start_line: int = 1, max_lines: int = 0, encoding: str = "utf-8") -> str:
    """The text of a file, or of the lines asked for. The first line is line 1; max_lines 0 reads to the end."""
    if start_line < 1:
        raise ValueError(f"start_line counts from 1, not {start_line}")
    if max_lines < 0:
        raise ValueError(f"max_lines cannot be negative: {max_lines}")
    found = file_to_read(path)
    whole = start_line == 1 and max_lines == 0
    size = found.stat().st_size
    if whole and size > WHOLE_FILE_BYTES:
        raise ValueError(f"{path} holds {size:,} bytes; read it in parts with start_line and max_lines")
    encoding = encoding_of(found, encoding)
    try:
        with found.open(encoding=encoding) as file:
            if whole:
                return file.read()
            stop = start_line - 1 + max_lines if max_lines else None
            return "".join(itertools.islice(file, start_line - 1, stop))
    except UnicodeDecodeError as error:
        raise ValueError(not_text(path, size, error)) from None


def write_file(path: str, content: str) -> dict[str, Any]:
    """Write a whole file; its folders are made, what it held before is replaced."""
    found = file_to_write(path)
    existed = found.exists()
    replace_file(found, content.encode("utf-8"))
    return {"path": relative(found), "bytes": len(content.encode("utf-8")), "created": not existed}


def append_file(path: str, content: str) -> dict[str, Any]:
    """Add text to the end of a file; a file that is not there is made."""
    found = file_to_write(path)
    existed = found.exists()
    if has_other_names(found):
        raise PermissionError(
            f"{path} is a hard link, so another file would change with it; write_file makes it its own"
        )
    found.parent.mkdir(parents=True, exist_ok=True)
    with found.open("ab") as file:
        file.write(content.encode("utf-8"))
    return {"path": relative(found), "bytes": found.stat().st_size, "created": not existed}


def edit_file(path: str, old_str: str, new_str: str, replace_all: bool = False) -> dict[str, Any]:
    """Put new_str where old_str stands. It must stand there once, unless replace_all."""
    if not old_str:
        raise ValueError("old_str is empty; give the text to replace")
    file_to_read(path)
    found = file_to_write(path)
    if found.stat().st_size > WHOLE_FILE_BYTES:
        raise ValueError(
            f"{path} holds {found.stat().st_size:,} bytes; the most that is edited is {WHOLE_FILE_BYTES:,}"
        )
    raw = found.read_bytes()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(not_text(path, len(raw), error)) from None
    if "\r\n" in text and "\r\n" not in old_str:  # read_file shows \n, so that is what an edit is written against
        old_str, new_str = old_str.replace("\n", "\r\n"), new_str.replace("\r\n", "\n").replace("\n", "\r\n")
    count = text.count(old_str)
    if count == 0:
        raise ValueError(f"{path} does not contain that text; read it and copy the text exactly, spaces included")
    if count > 1 and not replace_all:
        raise ValueError(f"{path} contains that text {count} times; give more of what surrounds it, or replace_all")
    replace_file(found, text.replace(old_str, new_str).encode("utf-8"))
    return {"path": relative(found), "replaced": count}


def encoding_of(path: Path, wanted: str) -> str:
    """The encoding to read with: what a byte-order mark says, else the wanted one."""
    try:
        codecs.lookup(wanted)
    except LookupError:
        raise ValueError(f"no such text encoding: {wanted}") from None
    with path.open("rb") as file:
        head = file.read(4)
    for mark, name in BOMS:
        if head.startswith(mark):
            return name
    return wanted


def not_text(path: str, size: int, error: UnicodeDecodeError) -> str:
    return f"{path} is not {error.encoding} text ({size:,} bytes; byte {error.object[error.start]:#04x} does not fit)"


def replace_file(path: Path, data: bytes) -> None:
    """Write all or nothing: a crash half-way leaves the old file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".sutler-", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.chmod(path.stat().st_mode & 0o7777 if path.exists() else new_file_mode())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def new_file_mode() -> int:
    """What open() would give a new file. The umask cannot be read without setting it, so /proc is asked first."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        line = next(line for line in status.splitlines() if line.startswith("Umask:"))
        return 0o666 & ~int(line.split()[1], 8)
    return 0o644
