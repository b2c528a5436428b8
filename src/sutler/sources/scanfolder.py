"""Which files of a tool folder are libraries (LIB-01, LIB-10). Reads names, never content.

Order, always the same: the entries of the folder sorted by name (so `a/` comes before `a.py`). A directory X is one
library: X/X.py first, then its other *.py sorted; without X/X.py all its *.py sorted. A loose file is one library.
Left out: hidden entries, __pycache__, __init__.py, and whatever is not a `.py` file (lower case).
A link is followed when it stays inside the folder. One that leaves it is not, and is named in the notes: what a folder
runs is then always what stands in the folders that were configured.
Directories inside X are not searched; those that hold Python files are named in the notes.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

Stat = tuple[int, int, int]  # mtime in ns, size, inode

_DEEP_LIMIT = 50  # directories looked into, to say whether a deeper folder holds Python files


@dataclass(frozen=True, slots=True)
class ToolFile:
    """One Python file of a library. `relative` is its path under the folder; `stat` is what it was when listed."""

    name: str  # its whole path, as text: thousands of Path objects cost more than finding the files
    relative: str
    stat: Stat

    @property
    def path(self) -> Path:
        return Path(self.name)

    @property
    def stem(self) -> str:
        return self.relative.rpartition("/")[2].removesuffix(".py")


@dataclass(frozen=True, slots=True)
class LibraryFiles:
    """One library: its stem, the directory its files are in, and the files, the primary one first."""

    stem: str
    directory: Path
    files: tuple[ToolFile, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderListing:
    """What stands in one folder. `problem` says why it could not be listed at all."""

    folder: Path
    libraries: tuple[LibraryFiles, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str | None = None


def list_folder(folder: Path) -> FolderListing:
    """The libraries of a folder, in order. Never raises for what it finds on disk."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except FileNotFoundError:
        return FolderListing(folder, problem=f"{folder}: no such folder (create it, or correct the configured path)")
    except NotADirectoryError:
        return FolderListing(folder, problem=f"{folder}: not a folder (configure the folder that holds this file)")
    except (OSError, ValueError) as error:  # ValueError: a path that cannot be one
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return FolderListing(folder, problem=f"{folder!s}: cannot be listed: {reason}")
    notes: list[str] = []
    libraries: list[LibraryFiles] = []
    root = os.path.realpath(folder)
    for entry in found:
        kind = _kind(entry, root, notes)
        if kind == "file":
            file = _tool_file(entry, "", notes)
            if file is not None:
                libraries.append(LibraryFiles(entry.name[:-3], folder, (file,)))
        elif kind == "directory":
            library = _directory(Path(entry.path), entry.name, root)
            if library is not None:
                libraries.append(library)
    return FolderListing(folder, tuple(libraries), tuple(notes))


def list_file(file: Path) -> FolderListing:
    """One file that was named itself, as a library. Never raises for what it finds on disk."""
    try:
        held = file.stat()
    except FileNotFoundError:
        return FolderListing(file, problem=f"{file}: no such file (create it, or correct the configured path)")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return FolderListing(file, problem=f"{file!s}: cannot be looked at: {reason}")
    if not stat.S_ISREG(held.st_mode) or file.suffix != ".py":
        what = "a folder" if stat.S_ISDIR(held.st_mode) else "no Python file"
        return FolderListing(file, problem=f"{file}: {what} (a tool file ends in .py)")
    found = ToolFile(str(file), file.name, (held.st_mtime_ns, held.st_size, held.st_ino))
    return FolderListing(file, (LibraryFiles(file.stem, file.parent, (found,)),))


def _directory(directory: Path, stem: str, root: str) -> LibraryFiles | None:
    notes: list[str] = []
    try:
        with os.scandir(directory) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        return LibraryFiles(stem, directory, (), (f"{directory}: cannot be listed: {error.strerror or error}",))
    files: list[ToolFile] = []
    for entry in found:
        kind = _kind(entry, root, notes)
        if kind == "file":
            file = _tool_file(entry, f"{stem}/", notes)
            if file is not None:
                files.append(file)
        elif kind == "directory" and _holds_python(entry.path):
            notes.append(
                f"{entry.path}: not searched for tools: it is deeper than one level (configure {directory} as a folder"
                " of its own, or move its files up)"
            )
    files.sort(key=lambda file: file.stem != stem)  # stable: the primary first, the rest by name
    return LibraryFiles(stem, directory, tuple(files), tuple(notes)) if files or notes else None


def _kind(entry: os.DirEntry[str], root: str, notes: list[str]) -> str:
    """`file` (a Python file to be read), `directory`, or `` for what is left out."""
    name = entry.name
    if name.startswith(".") or name in ("__pycache__", "__init__.py"):
        return ""
    try:
        is_directory = entry.is_dir()
        if not is_directory and not name.endswith(".py"):
            return ""
        if entry.is_symlink():
            target = os.path.realpath(entry.path)
            if target != root and not target.startswith(root + os.sep):
                notes.append(
                    f"{entry.path}: a link that leaves the folder, to {target}, is not followed (configure the"
                    " folder it points into, or copy it)"
                )
                return ""
            if target == root or entry.path.startswith(target + os.sep):
                notes.append(f"{entry.path}: a link to a folder that it stands in itself is not followed")
                return ""
        if is_directory:
            return "directory"
        if entry.is_file():
            return "file"
    except OSError as error:
        notes.append(f"{entry.path}: cannot be looked at: {error.strerror or error}")
        return ""
    notes.append(f"{entry.path}: " + ("a broken link" if entry.is_symlink() else "not an ordinary file"))
    return ""


def _tool_file(entry: os.DirEntry[str], under: str, notes: list[str]) -> ToolFile | None:
    try:
        held = entry.stat()
    except OSError as error:
        notes.append(f"{entry.path}: cannot be looked at: {error.strerror or error}")
        return None
    return ToolFile(entry.path, under + entry.name, (held.st_mtime_ns, held.st_size, held.st_ino))


def _holds_python(directory: str) -> bool:
    """Whether a deeper folder holds Python files, as far as a short look can tell."""
    waiting = [directory]
    for _ in range(_DEEP_LIMIT):
        if not waiting:
            return False
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.name.endswith(".py"):
                        return True
                    if entry.is_dir(follow_symlinks=False) and not entry.name.startswith((".", "__pycache__")):
                        waiting.append(entry.path)
        except OSError:
            continue
    return bool(waiting)
