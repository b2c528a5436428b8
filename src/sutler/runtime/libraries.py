"""The tool libraries of one runtime while it is open: looked at again, configured, given other handlers.

What changes is told once, by a `tools_changed` event and in `changes`. A run in progress keeps the inventory and the
library code that it began with (LIB-09).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..policy.gate import Policy
from ..policy.levels import LEVELS
from ..policy.masking import secrets_in
from ..results import fresh
from ..sources.base import DEFAULTS, FOLDERS, ToolSource
from ..sources.cache import FileScan, cache_dir
from ..sources.library import LibraryToolSource
from ..sources.modules import PrivateModules
from ..sources.scanfolder import LibraryFiles
from ..sources.shelf import Place, Shelf
from ..sources.shipped import FOLDER, shipped_stems
from .events import Event, tell
from .options import level_problems

if TYPE_CHECKING:
    from ..inventory import Inventory
    from .core import Core

_KEPT = 100  # changes that are remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one look found to be different: tools as source::tool; changed ones are those whose library's files did.

    libraries: the ids of those that were added, edited or removed.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.libraries)

    def to_dict(self) -> dict[str, list[str]]:
        return {
            "added": list(self.added),
            "removed": list(self.removed),
            "changed": list(self.changed),
            "libraries": list(self.libraries),
        }


class Libraries:
    """Looks at folders, keeps what was configured, and holds both against the toolbox."""

    def __init__(self, core: Core) -> None:
        settings = core.settings
        self._core = core
        self._configs: dict[str, Any] = fresh(settings.host_tool_configs)
        self._flags: dict[str, Any] = dict(core.options.load_flags or {})
        self._given = dict(core.options.policy.sources) if isinstance(core.options.policy, Policy) else {}
        self._sources: list[ToolSource] = []
        for secret in secrets_in(self._configs):
            core.recorder.secrets.register(secret)
        self._lock = threading.RLock()
        self.changes: deque[Change] = deque(maxlen=_KEPT)
        self.notes = _Notes(self.idle)
        files = [Place(Path(file), is_file=True) for file in core.options.tool_files]
        folders = [Place(folder) for folder in settings.tool_folders]
        self._shelf = Shelf([*folders, *files], self._make, cache=cache_dir())
        self.carry(settings.shipped)

    def carry(self, stems: Iterable[str]) -> None:
        """Shipped libraries that are on from the next look."""
        own = [place for place in self._shelf.places if place.path != FOLDER]
        held = {stem for place in self._shelf.places if place.path == FOLDER for stem in place.only or ()}
        wanted = held.union(stems)
        shipped = [Place(FOLDER, only=frozenset(wanted), precedence=DEFAULTS)] if wanted else []
        self._shelf.places = (*own, *shipped)

    def _make(
        self, library: LibraryFiles, scans: Mapping[str, FileScan], modules: PrivateModules, precedence: float
    ) -> LibraryToolSource:
        core = self._core
        return LibraryToolSource(
            library,
            scans,
            modules=modules,
            host_configs=self._configs,
            flags=self._flags,
            confirm_handler=core.library_confirm,
            user_interaction_handler=core.interactions.for_libraries,
            autonomy_level=core.settings.policy.level,
            precedence=precedence,
        )

    # ------------------------------------------------------------------ what there is

    @property
    def places(self) -> tuple[Place, ...]:
        return self._shelf.places

    @property
    def all(self) -> tuple[tuple[str, LibraryToolSource], ...]:
        """Each library with its id, those that are off included."""
        return tuple(
            (name, source) for name, source in self._core.toolbox.sources() if isinstance(source, LibraryToolSource)
        )

    def unmounted(self) -> list[LibraryToolSource]:
        """The shipped libraries that are not on."""
        held = {stem for place in self._shelf.places if place.path == FOLDER for stem in place.only or ()}
        rest = [stem for stem in shipped_stems() if stem not in held]
        shelf = Shelf([Place(FOLDER, only=rest, precedence=DEFAULTS)], self._make, cache=None)
        return [source for source in shelf.look() if isinstance(source, LibraryToolSource)] if rest else []

    def open(self) -> list[ToolSource]:
        """The sources to begin with; the notes come last."""
        self._sources = self._shelf.look()
        return [*self._sources, self.notes]

    # ------------------------------------------------------------------ looking again

    def refresh(self) -> Change:
        """Picks up what was edited, added and removed in the folders. From any thread; blocks while it reads them."""
        core = self._core
        with self._lock:
            core.check_open()
            before = core.toolbox.current()
            ids = dict(_ids(core.toolbox.sources()))
            old, new = self._sources, self._shelf.look()
            if all(one is other for one, other in zip(old, new, strict=False)) and len(old) == len(new):
                return Change()
            core.toolbox.exchange(old, new, before=self.notes, settle=self.settle_levels)  # no call in between
            self._sources = new
            stay = {id(source) for source in new}
            gone = [source for source in old if isinstance(source, LibraryToolSource) and id(source) not in stay]
            for source in gone:
                source.retire()
            core.workers.retire(gone)
            known = {id(source) for source in old}
            touched = {ids[id(source)] for source in gone}
            touched |= {name for name, source in self.all if id(source) not in known}
            return self._told(before, touched)

    def _told(self, before: Inventory | None, touched: set[str]) -> Change:
        """Tells what is different from `before`. touched: ids of libraries whose files are others."""
        core = self._core
        self._renew_notes()
        if before is None:
            return Change(libraries=tuple(sorted(touched)))
        was = set(before.qualified)
        now = core.inventory().qualified
        change = Change(
            added=tuple(sorted(now.keys() - was)),
            removed=tuple(sorted(was - now.keys())),
            changed=tuple(sorted(name for name in was & now.keys() if now[name].spec.origin.source in touched)),
            libraries=tuple(sorted(touched)),
        )
        if change:
            self.changes.append(change)
            core.audit("change.library", tools=change.to_dict())
            tell(core.on_event, Event(kind="tools_changed", data=change.to_dict()))
        return change

    # ------------------------------------------------------------------ what the host changes

    def configure(self, stem: str, config: Mapping[str, Any] | None) -> None:
        """The host's new config of a stem, None takes it away. Raises ConfigError for an unknown autonomy level."""
        values = {} if config is None else dict(config)
        problems = level_problems(values, stem)
        if problems:
            raise ConfigError(problems)
        with self._lock:
            self._core.check_open()
            self._configs = {key: value for key, value in self._configs.items() if key != stem}
            if config is not None:
                self._configs[stem] = fresh(values)
            for secret in secrets_in(values):
                self._core.recorder.secrets.register(secret)
            self._apply(f"host_tool_configs.{stem}")

    def set_flags(self, flags: Mapping[str, Any]) -> Change:
        """Load flags for the session, in place of those before; a library's own host config goes before them."""
        with self._lock:
            self._core.check_open()
            self._flags = dict(flags)
            return self._apply("load flags")

    def _apply(self, what: str) -> Change:
        core = self._core
        before = core.toolbox.current()
        self.settle_levels()
        for name, source in self.all:
            source.configure(self._configs, self._flags)
            core.toolbox.refresh(name)
        core.audit("change.config", what=what)
        return self._told(before, set())

    def settle_levels(self) -> None:
        """The level of each library's gate, as its host config has it; of several files' levels the strictest."""
        levels: dict[str, Any] = {}
        for name, source in self.all:
            said = {self._configs[stem].get("autonomy_level") for stem in source.info.stems if stem in self._configs}
            known = [level for level in LEVELS if level in said]
            if known:
                levels[name] = known[0]
        self._core.policy = replace(self._core.policy, sources={**levels, **self._given})

    def swap(self, name: str, handler: Callable[..., Any] | None) -> None:
        """Hands a handler to every library that is loaded, and to those that will be."""
        for _, source in self.all:
            getattr(source, f"set_{name}")(handler)

    def idle(self) -> dict[str, str]:
        """The stems of host configs that reach no library, each with what may have been meant."""
        stems = {stem for _, source in self.all for stem in source.info.stems}
        said: dict[str, str] = {}
        for stem in self._configs:
            if stem in stems:
                continue
            near = get_close_matches(stem, stems, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            if stem in shipped_stems():
                meant = " yet: it comes with Sutler, and is mounted by its name"
            said[stem] = f"there is no library {stem}, so nothing is configured by it{meant}"
        return said

    def _renew_notes(self) -> None:
        self._core.toolbox.refresh(self.notes.name)


class _Notes:
    """What is worth knowing of host configs. It has no tools."""

    precedence = FOLDERS
    steady = True
    name = "[host_tool_configs]"

    def __init__(self, idle: Callable[[], Mapping[str, str]]) -> None:
        self._idle = idle

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(f"host_tool_configs.{stem}: {said}" for stem, said in self._idle().items())

    def available(self) -> bool:
        return True

    def discover(self) -> list[Any]:
        return []

    def resolve(self, spec: Any) -> Callable[..., Any]:
        raise KeyError(spec.name)


def _ids(sources: Sequence[tuple[str, ToolSource]]) -> Iterable[tuple[int, str]]:
    return ((id(source), name) for name, source in sources)
