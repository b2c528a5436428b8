"""What the files of a tool folder hold, read once and remembered (LIB-08).

One JSON file per folder in the user's cache directory; SUTLER_CACHE_DIR moves it. A file is looked at again when its
size, time or inode changed, and parsed again only when its content did. The cache holds names and lines, never code:
the worst that a wrong one can do is to list a tool that is not there. One that cannot be read is made anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from ..errors import SourceError
from ..schema.decorator import Declared
from ..schema.from_source import FoundTool, Scan, SyntaxProblem, decode, scan
from .scanfolder import LibraryFiles, ToolFile

FORMAT = 1
SMALL = 25  # fewer files are read again in less time than it takes to justify a file on the person's disk
_RACY = 2_000_000_000  # ns: a file this young may change again without its time stamp showing it
_SCANNERS = ("scan", "salvage", "module", "annotations", "decorator")
_DECLARED = tuple(item.name for item in fields(Declared))
_TEXTS = ("TOOL_LIBRARY_NAME", "TOOL_LIBRARY_DESC", "TOOL_LIBRARY_ICON", "TOOL_LIBRARY_LOAD_FLAG")
_LISTS = ("TOOL_LIBRARY_ALIASES",)


@dataclass(frozen=True, slots=True)
class FileScan:
    """What one file holds; of its attributes only the TOOL_LIBRARY_* ones. `problem`: why it could not be read."""

    scan: Scan
    problem: str = ""


def cache_dir(env: Mapping[str, str] | None = None) -> Path:
    """SUTLER_CACHE_DIR, else the platform's cache directory for sutler. Nothing is created."""
    moved = (os.environ if env is None else env).get("SUTLER_CACHE_DIR", "")
    if moved:
        return Path(moved).expanduser().absolute()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("sutler", appauthor=False))


class FolderCache:
    """The scans of one folder's files. `directory` None: nothing is remembered. `notes`: what went wrong with it."""

    def __init__(self, folder: Path, directory: Path | None) -> None:
        self.notes: list[str] = []
        self._folder = str(folder)
        name = hashlib.blake2b(os.fsencode(folder), digest_size=10).hexdigest()
        self._file = None if directory is None else directory / "folders" / f"{name}.json"

    def scan(self, libraries: Iterable[LibraryFiles]) -> dict[str, FileScan]:
        """The scan of every file, by its path relative to the folder."""
        wanted = [(library.stem, file) for library in libraries for file in library.files]
        file = self._file if len(wanted) >= SMALL else None
        known = {} if file is None else self._read(file)
        now = time.time_ns()
        found: dict[str, FileScan] = {}
        rows: dict[str, Any] = {}
        changed = False
        for stem, one in wanted:
            row = known.get(one.relative)
            held = None if row is None else self._remembered(row, one)
            if row is None or held is None:
                digest, held = self._look(stem, one, row)
                young = now - one.stat[0] < _RACY  # then the time is not kept, so that the content is looked at again
                row = [0 if young else one.stat[0], one.stat[1], one.stat[2], digest, _to_row(held)]
                changed = True
            found[one.relative] = held
            rows[one.relative] = row
        if file is not None and (changed or len(rows) != len(known)):
            self._write(file, rows)
        return found

    def _look(self, stem: str, file: ToolFile, row: Any) -> tuple[str, FileScan]:
        """Read a file; parse it unless a row of the cache is of this very content."""
        try:
            data = file.path.read_bytes()
        except OSError as error:
            return "", FileScan(Scan(), f"{file.name}: cannot be read: {error.strerror or error}")
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        held = None if row is None else self._remembered(row, file, digest)
        if held is not None:
            return digest, held
        try:
            text = decode(data, file=file.name)
        except SourceError as error:
            return digest, FileScan(Scan(), str(error))
        return digest, _kept(scan(text, file=file.name, stem=stem), file)

    def _remembered(self, row: Any, file: ToolFile, digest: str | None = None) -> FileScan | None:
        """The scan in a row, when the row is of this file as it is: by its stat, or by its digest. None otherwise."""
        try:
            same = row[3] == digest if digest is not None else (row[0], row[1], row[2]) == file.stat
            return _from_row(row[4], file) if same and row[3] else None
        except (ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
            note = f"{self._file}: what is remembered of {file.name} is damaged and is made anew: {error}"
            if note not in self.notes:
                self.notes.append(note)
            return None

    def _read(self, file: Path) -> dict[str, Any]:
        try:
            held: Any = json.loads(file.read_bytes())
            if held["version"] != _version():
                return {}
            if held["folder"] != self._folder:
                raise ValueError("it is of another folder")
            return dict(cast("dict[str, Any]", held["files"]))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self.notes.append(f"{file}: the cache of {self._folder} is damaged and is made anew: {error}")
            return {}

    def _write(self, file: Path, rows: Mapping[str, Any]) -> None:
        body = json.dumps({"version": _version(), "folder": self._folder, "files": rows}, separators=(",", ":"))
        draft = file.with_name(f"{file.name}.{os.getpid()}.{time.monotonic_ns():x}")
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                draft.write_text(body, encoding="ascii")
                draft.replace(file)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            self.notes.append(
                f"{file}: what was found in {self._folder} cannot be remembered: {error.strerror or error}"
                " (make it writable, or set SUTLER_CACHE_DIR)"
            )


def read_text(path: Path) -> str:
    """The text of a tool file. SourceError says why it cannot be read, with the line where there is one."""
    try:
        return decode(path.read_bytes(), file=str(path))
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}") from None


def _kept(found: Scan, file: ToolFile) -> FileScan:
    """A scan with what is looked at later, and nothing that JSON lacks."""
    attributes: dict[str, Any] = {}
    notes = list(found.notes)
    for name in (*_TEXTS, *_LISTS):
        value: Any = found.attributes.get(name)
        if name in _LISTS and isinstance(value, list | tuple | set):
            value = [item for item in cast("Iterable[object]", value) if isinstance(item, str)]
        elif name in _LISTS and isinstance(value, str):
            value = [value]
        elif not isinstance(value, str):
            if value is not None:
                notes.append(f"{file.name}: {name} is a {type(value).__name__}, not a text: ignored")
            continue
        attributes[name] = value
    return FileScan(
        Scan(
            tools=found.tools,
            replaced=found.replaced,
            providers=found.providers,
            unreachable=found.unreachable,
            attributes=attributes,
            imports=found.imports,
            fallback=found.fallback,
            notes=tuple(notes),
        )
    )


# ---------------------------------------------------------------------- rows of the cache


def _version() -> list[Any]:
    """Changes with whatever may make a scan come out otherwise, an edited scanner of a development tree included."""
    from .. import __version__

    schema = Path(__file__).parent.parent / "schema"
    scanners = [(schema / f"{name}.py").stat().st_mtime_ns for name in _SCANNERS]
    return [FORMAT, __version__, sys.version, scanners]


def _to_row(held: FileScan) -> list[Any]:
    found = held.scan
    problem = found.fallback
    return [
        [_tool_row(tool) for tool in found.tools],
        [_tool_row(tool) for tool in found.replaced],
        list(found.providers),
        [_tool_row(tool) for tool in found.unreachable],
        found.attributes,
        sorted(found.imports),
        None if problem is None else [problem.line, problem.message],
        list(found.notes),
        held.problem,
    ]


def _from_row(row: Any, file: ToolFile) -> FileScan:
    tools, replaced, providers, unreachable, attributes, imports, problem, notes, unread = row
    found = Scan(
        tools=tuple([_tool(one) for one in tools]),
        replaced=tuple([_tool(one) for one in replaced]),
        providers=_texts(providers),
        unreachable=tuple([_tool(one) for one in unreachable]),
        attributes=dict(attributes),
        imports=frozenset(_texts(imports)),
        fallback=None if problem is None else SyntaxProblem(file=file.name, line=problem[0], message=_text(problem[1])),
        notes=_texts(notes),
    )
    return FileScan(found, _text(unread))


def _tool_row(tool: FoundTool) -> list[Any]:
    if tool.declared is None:
        return [tool.name, tool.line, tool.is_async]
    said = {name: value for name in _DECLARED if (value := getattr(tool.declared, name)) is not None}
    return [tool.name, tool.line, tool.is_async, said]


def _tool(row: list[Any]) -> FoundTool:
    if type(row[1]) is not int or type(row[2]) is not bool:
        raise TypeError("not a tool")
    declared = Declared(**row[3]) if len(row) > 3 else None
    return FoundTool(name=_text(row[0]), line=row[1], is_async=row[2], declared=declared)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("not a text")
    return value


def _texts(values: list[Any]) -> tuple[str, ...]:
    return tuple([_text(value) for value in values])
