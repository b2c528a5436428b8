"""Libraries by name: which there are, which are on, and turning one on (LCP-09).

A name is looked for among the libraries that stand in the configured folders and those that come with Sutler; it is
never read as a path, so nothing outside of them can be meant.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from ..errors import ToolNotFound, ToolUnavailable
from ..sources.library import LibraryToolSource
from ..spec import ToolSpec

if TYPE_CHECKING:
    from ..inventory import Row
    from .core import Core

_log = logging.getLogger("sutler")
_CLOSE = 0.75  # as alike as a misspelling may be, from 0 to 1
_APART = 0.05  # nearer to each other than this, two are equally likely to be meant


@dataclass(frozen=True, slots=True)
class Known:
    """A library that may be named. id: that of its source, empty for a shipped one that is not on."""

    id: str
    source: LibraryToolSource

    @property
    def stem(self) -> str:
        return self.source.name

    @property
    def mounted(self) -> bool:
        return bool(self.id) and self.source.available()


class Mounting:
    """Answers for one runtime. `refused`: why the last mount was refused, in words."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.refused = ""

    def mount(self, name: str) -> bool:
        """Turns a library on. True when it is on now, also when it was before; else `refused` says why not."""
        libraries = self._core.libraries
        libraries.refresh()
        known, why = self._named(name)
        if known is not None and known.source.reason:
            known, why = None, known.source.reason  # its load flag is the host's word: a name does not turn it
        if known is None:
            self.refused = why
            self._core.audit("change.library", mount=str(name), refused=why)
            _log.warning("%s is not mounted: %s", name, why)
            return False
        self.refused = ""
        if not known.id:
            libraries.carry([known.stem])
            libraries.refresh()
        return True

    def is_mounted(self, name: str) -> bool:
        """Whether the library that the name means is on."""
        known, _ = self._named(name)
        return known is not None and known.mounted

    def library_of(self, tool: str) -> str | None:
        """The stem of the library that has a tool, on or not; that of a library, when its own name is given."""
        name = str(tool).strip()
        row = self._row(name)
        if row is not None:
            source = row.source
            return source.name if isinstance(source, LibraryToolSource) else None
        for known in self._all():
            if any(spec.name in (name, f"tool_{name}") for spec in known.source.discover()):
                return known.stem
        named, _ = self._named(name)
        return named.stem if named is not None else None

    def has_tool(self, tool: str) -> bool:
        """Whether a tool can be called, or could be when its library were mounted."""
        name = str(tool).strip()
        if self._row(name) is not None:
            return True
        return any(
            not known.source.reason and any(spec.name in (name, f"tool_{name}") for spec in known.source.discover())
            for known in self._all()
        )

    def load(self, name: str) -> ToolSpec | None:
        """The tool of a name, its library mounted if need be; for a library's name its first tool."""
        name = str(name).strip()
        row = self._row(name)
        if row is not None:
            return row.spec
        stem = self.library_of(name)
        if stem is None or not self.mount(stem):
            return None
        row = self._row(name) or self._row(f"tool_{name}")
        if row is not None:
            return row.spec
        specs = [one.spec for one in self._core.inventory().rows if one.source.name == stem]
        return specs[0] if specs else None

    def _row(self, name: str) -> Row | None:
        try:
            return self._core.inventory().find(name)
        except (ToolNotFound, ToolUnavailable):
            return None

    def _all(self) -> list[Known]:
        """In the order that a name is looked for: those of the runtime first."""
        libraries = self._core.libraries
        return [
            *(Known(name, source) for name, source in libraries.all),
            *(Known("", source) for source in libraries.unmounted()),
        ]

    def _named(self, name: object) -> tuple[Known | None, str]:
        """The library that a name means, else why none: by stem, display name, alias, then as a misspelling."""
        if not isinstance(name, str) or not name.strip():
            return None, f"{name!r} is no name"
        if re.search(r"[/\\\0]", name) or name.strip().startswith((".", "~")):
            return None, f"{name!r} is a path: a library is called by its name, and stands in a configured folder"
        known = self._all()
        wanted = _spellings(name)
        for names in (_own, _display, _aliases):
            for one in known:
                spelled = names(one)
                if name.strip() in spelled or wanted.intersection(_fold(text) for text in spelled if text):
                    return one, ""
        return _closest(name, wanted, known)


def _own(one: Known) -> Sequence[str]:
    return [one.stem, one.id]


def _display(one: Known) -> Sequence[str]:
    return [one.source.info.name]


def _aliases(one: Known) -> Sequence[str]:
    return one.source.info.aliases


def _fold(name: str) -> str:
    """Case and separators do not count."""
    return re.sub(r"[\W_]+", "", name.casefold())


def _spellings(name: str) -> set[str]:
    """A name as it may be folded: with and without the prefix of tools, and the suffix of files."""
    plain = name.strip().removesuffix(".py")
    bare = re.sub(r"^tools?[\W_]+", "", plain, flags=re.IGNORECASE)
    return {folded for folded in (_fold(plain), _fold(bare)) if folded}


def _closest(name: str, wanted: set[str], known: Sequence[Known]) -> tuple[Known | None, str]:
    alike: dict[str, tuple[float, Known]] = {}
    for one in known:
        best = max(_likeness(wanted, [one.stem, *_display(one), *_aliases(one)]), default=0.0)
        if best > alike.get(one.stem, (0.0, one))[0]:
            alike[one.stem] = (best, one)
    ranked = sorted(alike.values(), key=lambda pair: -pair[0])
    if not ranked or ranked[0][0] < _CLOSE:
        there = ", ".join(dict.fromkeys(one.stem for one in known))
        return None, f"there is no library {name!r}; there are: {there or 'none'}"
    if len(ranked) > 1 and ranked[0][0] - ranked[1][0] < _APART:
        return None, f"{name!r} could be {ranked[0][1].stem} or {ranked[1][1].stem}; use one of these names"
    return ranked[0][1], ""


def _likeness(wanted: Iterable[str], names: Iterable[str]) -> Iterable[float]:
    for one in wanted:
        for name in names:
            yield SequenceMatcher(None, one, _fold(name)).ratio()
