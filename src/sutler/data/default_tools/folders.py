"""Looking around in the workspace, and making, moving and deleting files and folders."""

from __future__ import annotations

import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ._guard import (
    SKIPPED_FOLDERS,
    neighbours,
    refuse_protected,
    refuse_protected_below,
    relative,
    shown,
    to_read,
    to_write,
    walk_files,
    workspace_root,
)

COUNTED_BYTES = 50_000_000


def list_dir(path: str = ".", max_entries: int = 10_000) -> list[dict[str, Any]]:
    """What a folder holds: name, type (file, dir, link or other) and size in bytes, sorted by name."""
    folder = to_read(path)
    if not folder.is_dir():
        raise NotADirectoryError(f"{path} is a file, not a folder")
    entries = [
        {
            "name": shown(entry.name),
            "type": kind_of(Path(entry.path)),
            "size": entry.stat(follow_symlinks=False).st_size,
        }
        for entry in os.scandir(folder)
    ]
    if len(entries) > max_entries:
        raise ValueError(f"{path} holds {len(entries):,} entries; raise max_entries to list them")
    return sorted(entries, key=lambda entry: str(entry["name"]))


def find_files(pattern: str = "**/*", path: str = ".", max_results: int = 10_000) -> list[str]:
    """Files below `path` whose path fits the glob pattern, sorted: * any name, ** any folders, ? one character."""
    top = to_read(path)
    if not top.is_dir():
        raise NotADirectoryError(f"{path} is a file, not a folder")
    fits = glob_regex(pattern).fullmatch
    asked_for = {part for part in Path(pattern).parts if part in SKIPPED_FOLDERS}
    found: list[str] = []
    for file in walk_files(top, enter=asked_for):
        if fits(file.relative_to(top).as_posix()):
            found.append(relative(file))
    if len(found) > max_results:
        raise ValueError(f"{len(found):,} files fit {pattern!r}; narrow it or raise max_results")
    return sorted(found)


def file_info(path: str) -> dict[str, Any]:
    """Type, size in bytes, time of the last change (UTC) and, for a text file, the number of lines."""
    found = to_read(path)
    status = found.stat()
    info: dict[str, Any] = {
        "path": relative(found),
        "type": kind_of(found),
        "size": status.st_size,
        "modified": datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds"),
    }
    if found.is_file():
        info["lines"] = count_lines(found) if status.st_size <= COUNTED_BYTES else None
    return info


def make_dir(path: str) -> dict[str, Any]:
    """Make a folder and those above it; one that is there already is left as it is."""
    folder = to_write(path)
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{path} is a file; a folder of that name cannot be made")
    created = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    return {"path": relative(folder), "created": created}


def move_path(source: str, target: str, overwrite: bool = False) -> dict[str, Any]:
    """Move or rename a file or folder. `target` is the new path; an existing folder as target takes it in."""
    old, new = existing_entry(source), to_write(target)
    if new.is_dir():
        new = to_write(str(new / old.name))
    refuse_protected_below(old, source, moved_to=new)
    refuse_in_the_way(new, target, overwrite=overwrite)
    if old.is_dir() and new.is_relative_to(old):
        raise ValueError(f"{source} cannot be moved into itself")
    new.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(old, new)
    return {"from": relative(old), "to": relative(new)}


def copy_path(source: str, target: str, overwrite: bool = False) -> dict[str, Any]:
    """Copy a file or folder. `target` is the new path; an existing folder as target takes the copy in."""
    old, new = to_read(source), to_write(target)
    if new.is_dir():
        new = to_write(str(new / old.name))
    refuse_protected_below(old, source, moved_to=new)
    refuse_in_the_way(new, target, overwrite=overwrite)
    new.parent.mkdir(parents=True, exist_ok=True)
    if old.is_dir():
        if new.is_relative_to(old):
            raise ValueError(f"{source} cannot be copied into itself")
        shutil.copytree(old, new, symlinks=True)
    else:
        shutil.copy2(old, new)
    return {"from": relative(old), "to": relative(new)}


def delete_path(path: str, recursive: bool = False) -> dict[str, Any]:
    """Delete a file or an empty folder; `recursive` deletes a folder with all it holds."""
    found = existing_entry(path)
    if found == workspace_root():
        raise PermissionError("the workspace itself cannot be deleted")
    if found.is_symlink() or not found.is_dir():
        found.unlink()
        return {"path": relative(found), "deleted": 1}
    refuse_protected_below(found, path)
    count = sum(len(folders) + len(names) for _, folders, names in os.walk(found))
    if count and not recursive:
        raise ValueError(f"{path} is not empty ({neighbours(found / '_')}); use recursive to delete all it holds")
    shutil.rmtree(found)
    return {"path": relative(found), "deleted": count + 1}


def existing_entry(path: str) -> Path:
    """The entry itself, a link and not what it points to: moving or deleting a link must not reach through it."""
    plain = Path(path)
    if plain.name in ("", "..", "."):
        return to_write_existing(path)
    entry = to_write(str(plain.parent)) / plain.name
    refuse_protected(entry, path)
    if not entry.is_symlink() and not entry.exists():
        raise FileNotFoundError(f"No such file or folder: {path} ({neighbours(entry)})")
    return entry


def to_write_existing(path: str) -> Path:
    found = to_write(path)
    if not found.exists():
        raise FileNotFoundError(f"No such file or folder: {path} ({neighbours(found)})")
    return found


def refuse_in_the_way(new: Path, path: str, *, overwrite: bool) -> None:
    if new.is_dir():
        raise FileExistsError(f"{path} holds a folder of that name already")
    if new.exists() and not overwrite:
        raise FileExistsError(f"{path} exists already; use overwrite to replace it")


def kind_of(path: Path) -> str:
    if path.is_symlink():
        return "link"
    if path.is_dir():
        return "dir"
    return "file" if path.is_file() else "other"


def count_lines(path: Path) -> int | None:
    """Lines as an editor counts them; None for a file that is not text."""
    lines, last = 0, b"\n"
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            if b"\0" in chunk:
                return None
            lines += chunk.count(b"\n")
            last = chunk[-1:]
    return lines + (last != b"\n")


def glob_regex(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression over relative posix paths: ** crosses folders, and **/ may be nothing."""
    text = pattern.replace("\\", "/").removeprefix("./")
    parts: list[str] = []
    i = 0
    while i < len(text):
        if text.startswith("**/", i):
            parts.append("(?:[^/]+/)*")
            i += 3
        elif text.startswith("**", i):
            parts.append(".*")
            i += 2
        elif text[i] == "*":
            parts.append("[^/]*")
            i += 1
        elif text[i] == "?":
            parts.append("[^/]")
            i += 1
        elif text[i] == "[" and (end := text.find("]", i + 2)) > 0:
            body = text[i + 1 : end].replace("\\", r"\\")
            parts.append(f"[^{body[1:]}]" if body[:1] in "!^" else f"[{body}]")
            i = end + 1
        elif text[i] == "{" and (end := text.find("}", i)) > 0:
            parts.append("(?:" + "|".join(re.escape(word) for word in text[i + 1 : end].split(",")) + ")")
            i = end + 1
        else:
            parts.append(re.escape(text[i]))
            i += 1
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error as error:
        raise ValueError(f"not a glob pattern: {pattern!r} ({error})") from None
