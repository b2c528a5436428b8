"""Tool folders and single tool files as sources, looked at again as often as somebody asks (LIB-01, LIB-09).

A library that is as it was stays the source it was, with its modules and their state. One whose files changed, or what
it has imported from beside them, becomes a new source with fresh modules; whoever holds the old one keeps its code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ToolUnavailable
from ..spec import ToolSpec
from .base import FOLDERS, Quarantined, ToolSource
from .cache import FileScan, FolderCache, cache_dir
from .library import Configs, Handler, LibraryToolSource
from .modules import PrivateModules
from .scanfolder import FolderListing, LibraryFiles, list_file, list_folder


class FolderSource:
    """A folder as a whole: why it cannot be used, or what is worth knowing of it. It has no tools of its own."""

    precedence = FOLDERS

    def __init__(
        self, folder: Path, *, reason: str = "", notes: Sequence[str] = (), without_tools: bool = False
    ) -> None:
        self.folder = folder
        self.reason = reason
        self.notes = tuple(notes)
        self.without_tools = without_tools
        name = str(folder)
        self.quarantined = (Quarantined(source=name, reason=reason, where=name),) if reason else ()

    @property
    def name(self) -> str:
        return str(self.folder)

    def available(self) -> bool:
        """True: it can be asked, and answers that it is quarantined."""
        return True

    def discover(self) -> list[ToolSpec]:
        return []

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        raise ToolUnavailable(f"{self.folder} has no tool {spec.name}")

    def same_as(self, other: FolderSource) -> bool:
        """Whether it says what the other says."""
        return vars(self) == vars(other)


@dataclass(frozen=True, slots=True)
class Place:
    """Where libraries stand: a folder, or one file. only: the stems wanted, None for all; precedence: their rank."""

    path: Path
    is_file: bool = False
    only: Collection[str] | None = None
    precedence: float = FOLDERS


@dataclass(frozen=True, slots=True)
class _Kept:
    """A library as it was at the last look."""

    library: LibraryFiles
    scans: tuple[FileScan, ...]
    source: LibraryToolSource

    @property
    def imports(self) -> frozenset[str]:
        return frozenset[str]().union(*(held.scan.imports for held in self.scans))


Make = Callable[[LibraryFiles, Mapping[str, FileScan], PrivateModules, float], LibraryToolSource]


class Shelf:
    """Places, in order, and the libraries found there. make(library, scans, modules, precedence) opens one.

    A folder that cannot be used is a source with its reason; one with notes is a source without tools. cache: where
    scans are remembered, None is nowhere.
    """

    def __init__(
        self, places: Sequence[Place], make: Make, *, cache: Path | None, modules: PrivateModules | None = None
    ) -> None:
        self.places = tuple(places)
        self._make = make
        self._cache = cache
        self._modules = modules or PrivateModules()
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._folders: dict[str, FolderSource] = {}

    def look(self) -> list[ToolSource]:
        """The sources as they are now, each place's sorted by name. Nothing is imported."""
        sources: list[ToolSource] = []
        kept: dict[tuple[str, str], _Kept] = {}
        folders: dict[str, FolderSource] = {}
        seen: dict[str, Path] = {}
        fresh = PrivateModules() if self._kept else self._modules
        for place in self.places:
            path = Path(os.path.abspath(place.path.expanduser()))  # noqa: PTH100 - links in the path stay as written
            listing = list_file(path) if place.is_file else list_folder(path)
            if listing.problem is not None:
                said = FolderSource(path, reason=listing.problem)
            elif (first := seen.setdefault(os.path.realpath(path), path)) is not path:
                said = FolderSource(path, notes=(f"{path}: configured twice (also as {first}); used once",))
            else:
                libraries, said = self._of(place, path, listing, kept, fresh)
                sources.extend(libraries)
            if said is not None:
                before = self._folders.get(said.name)
                folders[said.name] = said = before if before is not None and before.same_as(said) else said
                sources.append(said)
        self._kept, self._folders = kept, folders
        return sources

    def _of(
        self,
        place: Place,
        path: Path,
        listing: FolderListing,
        kept: dict[tuple[str, str], _Kept],
        fresh: PrivateModules,
    ) -> tuple[list[LibraryToolSource], FolderSource | None]:
        found = [library for library in listing.libraries if place.only is None or library.stem in place.only]
        remembered = FolderCache(path, None if place.is_file else self._cache)
        scans = remembered.scan(found)
        notes = [*listing.notes, *remembered.notes]
        touched = self._touched(found, scans)
        sources: list[LibraryToolSource] = []
        for library in found:
            if not any(_says_something(scans[file.relative]) for file in library.files):
                notes.extend(library.notes)  # a helper for the others
                continue
            key = (os.path.realpath(library.directory), library.stem)
            if key in kept:
                notes.append(f"{library.files[0].name}: is in a folder that is configured too; used once")
                continue
            held = tuple(scans[file.relative] for file in library.files)
            last = self._kept.get(key)
            if last is None or last.library != library or last.scans != held or key in touched:
                source = self._make(library, scans, fresh, place.precedence)
                last = _Kept(library, held, source)
            kept[key] = last
            sources.append(last.source)
        if not sources and not place.is_file:
            notes.append(f"{path}: holds no tools (a tool is a function named tool_* in a .py file of the folder)")
        elif not sources and not notes:
            notes.append(f"{path}: holds no tools (a tool is a function named tool_*)")
        return sources, FolderSource(path, notes=notes, without_tools=not sources) if notes else None

    def _touched(self, found: Sequence[LibraryFiles], scans: Mapping[str, FileScan]) -> set[tuple[str, str]]:
        """Libraries that have imported what was edited since, though their own files were not.

        Of the loose files of a folder those that import it, by whatever road; all of them, when none says so by name.
        """
        loose = {library.stem: scans[library.files[0].relative].scan.imports for library in found if library.files}
        touched: set[tuple[str, str]] = set()
        for library in found:
            key = (os.path.realpath(library.directory), library.stem)
            last = self._kept.get(key)
            edited = last.source.edited() if last is not None else frozenset[str]()
            if last is None or not edited:
                continue
            of_own_directory = any("/" in file.relative for file in library.files)
            reached = _reached(last.imports, loose)
            named = frozenset[str]().union(loose, *loose.values())
            if of_own_directory or edited & reached or edited - named:
                touched.add(key)
        return touched


def open_folders(
    folders: Sequence[str | Path],
    *,
    host_configs: Configs | None = None,
    confirm_handler: Handler | None = None,
    user_interaction_handler: Handler | None = None,
    cache: Path | bool = True,
    modules: PrivateModules | None = None,
    only: Collection[str] | None = None,
    precedence: float = FOLDERS,
) -> list[ToolSource]:
    """The libraries of tool folders, in configured order, each folder's sorted by name; nothing is imported.

    cache: where scans are remembered; True is the user's cache directory, False is nowhere. modules: the private
    modules of the runtime; given again, libraries that are loaded stay loaded. only: the stems wanted, None for all.
    precedence: their rank for the bare names.
    """

    def make(
        library: LibraryFiles, scans: Mapping[str, FileScan], private: PrivateModules, rank: float
    ) -> LibraryToolSource:
        return LibraryToolSource(
            library,
            scans,
            modules=private,
            host_configs=host_configs,
            confirm_handler=confirm_handler,
            user_interaction_handler=user_interaction_handler,
            precedence=rank,
        )

    directory = cache if isinstance(cache, Path) else cache_dir() if cache else None
    places = [Place(Path(folder), only=only, precedence=precedence) for folder in folders]
    return Shelf(places, make, cache=directory, modules=modules).look()


def _reached(imports: frozenset[str], loose: Mapping[str, frozenset[str]]) -> set[str]:
    """What a file imports, and what those of its neighbours import that it reaches so."""
    reached: set[str] = set()
    waiting = list(imports)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(loose.get(name, ()))
    return reached


def _says_something(held: FileScan) -> bool:
    found = held.scan
    return bool(
        found.tools or found.unreachable or found.attributes or found.fallback or found.notes or found.providers
    ) or bool(held.problem)
