"""What one server lists, as far as it is known: remembered from before, listed when it came, read anew when it says so.

Belongs to the portal's loop, but for the plain attributes, which anybody may read.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ..servers import RemoteTool, ServerSpec
from .cache import ServerCache
from .misses import Miss, Misses
from .portal import off_loop
from .states import ToolChange, difference, take_notes

if TYPE_CHECKING:
    from .listing import Listing
    from .session import Session

SETTLE = 0.2  # seconds in which further notices of changed tools are one
LATE = 2.0  # seconds that a call waits for what changed
_CHANGES_KEPT = 20


class Known:
    """The tools of one server. version: another number whenever they changed; 0: nothing is known yet.

    miss: it could not be had, the last time or now. era: `legacy`, `modern`, or "" for not known. server: its own name
    and version. notes: what was odd.
    """

    def __init__(self, spec: ServerSpec, cache: ServerCache, misses: Misses) -> None:
        self.spec = spec
        self.tools: tuple[RemoteTool, ...] = ()
        self.version = 0
        self.era = ""
        self.keeps_era = True  # it is one to remember
        self.server = ""
        self.notes: dict[str, None] = {}
        self.changes: deque[ToolChange] = deque(maxlen=_CHANGES_KEPT)
        self.miss: Miss | None = None
        self._cache, self._misses = cache, misses
        self._saving: set[asyncio.Task[Any]] = set()
        self._relisting: asyncio.Task[None] | None = None
        self._stale = self._said = self._news = False
        self._by_name: tuple[tuple[RemoteTool, ...], dict[str, Any]] = ((), {})

    def remember(self) -> None:
        """Take what is on disk from before."""
        held, note = self._cache.load(self.spec)
        take_notes(self.notes, [note] if note else [])
        if held is not None:
            self.tools, self.era, self.server = held.tools, held.era, held.server
            self.version = 1
        self.miss = self._misses.of(self.spec)

    def take(self, listing: Listing) -> None:
        """What the server lists now, and for the next start."""
        take_notes(self.notes, listing.notes)
        change = difference(self.tools, listing.tools, at=time.time())
        first = self.version == 0
        self.tools = listing.tools
        if change or first:
            self.version += 1
            if not first:
                self.changes.append(change)
        era = self.era if self.spec.era == "auto" and self.keeps_era else ""
        self._aside(self._save(era))

    async def _save(self, era: str) -> None:
        tools, server = self.tools, self.server
        note = await off_loop(lambda: self._cache.save(self.spec, tools, era=era, server=server))
        take_notes(self.notes, [note] if note else [])

    def missed(self, reason: str, seconds: float) -> None:
        """It could not be had; the next start is not to wait for it so long."""
        spec = self.spec
        self.miss = Miss(reason=reason, at=time.time(), seconds=seconds)
        self._aside(off_loop(lambda: self._misses.note(spec, reason, seconds)))

    def answered(self) -> None:
        if self.miss is not None:
            self.miss = None
            self._aside(off_loop(lambda: self._misses.clear(self.spec)))

    def _aside(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.ensure_future(work)
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def saved(self, seconds: float) -> None:
        """Wait until all of it is on disk, but no longer than this."""
        if self._saving:
            await asyncio.wait(self._saving, timeout=seconds)

    def definition(self, tool: str) -> Any:
        """Its entry of the list, None when there is none."""
        if self._by_name[0] is not self.tools:
            self._by_name = (self.tools, {one.name: one.definition for one in reversed(self.tools)})
        return self._by_name[1].get(tool)

    async def read(self) -> None:
        """Wait until a change that the server has told of is read; not for one that tells all the time."""
        task = self._relisting
        if self._news and task is not None and not task.done():
            await asyncio.wait([task], timeout=LATE)

    def changed(self, session: Session | None, told: Callable[[bool], None], *, said: bool = True) -> None:
        """Its tools may be others. A storm of that is one new listing, and one more after it.

        said: by the server. told(differs): called after each new listing that differs, or that the server spoke of.
        """
        self._stale = True
        if said:
            self._said = self._news = True
        if session is not None and (self._relisting is None or self._relisting.done()):
            self._relisting = asyncio.ensure_future(self._relist(session, told))

    async def _relist(self, session: Session, told: Callable[[bool], None]) -> None:
        while self._stale and session.usable:
            await asyncio.sleep(SETTLE)
            self._stale, said, self._said = False, self._said, False
            try:
                listing = await session.list_tools(self.spec.connect_timeout)
            except Exception as error:
                take_notes(self.notes, [f"its changed tools could not be read: {error}"])
                return
            before = self.version
            self.take(listing)
            self._news = self._said
            if said or self.version != before:
                told(self.version != before)

    async def leave(self) -> None:
        """The session is over: no listing of it goes on."""
        task, self._relisting = self._relisting, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
