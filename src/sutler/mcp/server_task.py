"""The owner of one server: it alone connects, reconnects and closes; calls wait for what it brings (MCP-04).

new -> connecting -> ready -> connecting ...        the server went and came back
                  -> backoff -> connecting ...      it could not be had: 0.1 s, 0.2 s... up to 30 s
                  -> parked | auth_required         five times in a row, or nothing that time mends: until a call
disabled | unavailable                              by its config: never started
stopped                                             closed
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any

from ..errors import ToolUnavailable
from ..policy.masking import Masker, Secrets
from ..servers import RemoteTool, ServerSpec
from .connection import Connection, Hub, first
from .known import Known
from .states import ServerState, State, take_notes
from .stdio import Child, Junk

if TYPE_CHECKING:
    from .listing import Listing
    from .session import Session

FAILURES_TO_PARK = 5
STEADY = 60.0  # seconds of service after which earlier failures are forgotten
BACKOFF = 0.1
LONGEST_BACKOFF = 30.0
_FAIR = 1.5  # seconds: a server that fails sooner holds nobody up, and may be mended


class ServerTask:
    """One server. Everything but the plain attributes belongs to the portal's loop."""

    def __init__(self, spec: ServerSpec, hub: Hub, *, without: str = "", samples: bool = False) -> None:
        self.spec = spec
        self.known = Known(spec, hub.cache, hub.misses)
        self.state: State = "new"
        self.reason = ""
        self.since = time.time()
        self.protocol = ""
        self.restarts = 0
        self.junk = Junk()
        self.slots = asyncio.Semaphore(max(1, spec.concurrency))
        self.settled = asyncio.Event()
        self.wanted = False  # somebody asked for it to be started
        self._samples = samples
        self._hub = hub
        self._masker = Masker(Secrets(spec.secrets))
        self._connection: Connection | None = None
        self._session: Session | None = None
        self._connections = 0
        self._failures = 0
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()
        self._waiters: list[asyncio.Future[Session]] = []
        if not spec.enabled:
            self.state, self.reason = "disabled", "its config says enabled = false"
        elif reason := spec.unavailable or without:
            self.state, self.reason = "unavailable", reason
        if self.off:
            self.settled.set()
        else:
            self.known.remember()
            self.reason = str(self.known.miss or "")

    @property
    def off(self) -> bool:
        """Whether its config keeps it from being started."""
        return self.state in ("disabled", "unavailable")

    @property
    def tools(self) -> tuple[RemoteTool, ...]:
        return self.known.tools

    @property
    def live(self) -> bool:
        """Whether what it lists came from the server itself in this session or one before, and not from the disk."""
        return self._connections > 0

    @property
    def era(self) -> str:
        return self.known.era

    @property
    def present(self) -> Session | None:
        """The session, when there is one that serves."""
        session = self._session
        return session if session is not None and session.usable else None

    @property
    def child(self) -> Child | None:
        """Its process, while it runs."""
        child = self._connection.child if self._connection is not None else None
        return child if child is not None and child.running else None

    def snapshot(self) -> ServerState:
        """What is known of it now; from any thread."""
        known, connection, child = self.known, self._connection, self.child
        notes = dict(known.notes)
        if connection is not None:
            notes |= connection.notes
        seen: Any = self._masker.value(
            {
                "reason": self.reason,
                "stderr": connection.stderr.text() if connection is not None else "",
                "junk": list(self.junk.samples),
                "notes": [*self.spec.notes, *notes],
            }
        )
        return ServerState(
            id=self.spec.id,
            state=self.state,
            reason=seen["reason"],
            era=f"{known.era} {self.protocol}".strip(),
            pid=child.pid or None if child is not None else None,
            restarts=self.restarts,
            junk_lines=self.junk.lines,
            junk=tuple(seen["junk"]),
            stderr_tail=seen["stderr"],
            tools=len(known.tools),
            cached=any(tool.cached for tool in known.tools),
            since=self.since,
            server=known.server,
            notes=tuple(seen["notes"]),
            changes=tuple(known.changes),
        )

    # ------------------------------------------------------------------ the owner

    def start(self) -> None:
        """Connect, and stay connected, in the background. Again does nothing."""
        self.wanted = True
        if self._task is None and not self.off and not self._stop.is_set():
            self._task = asyncio.ensure_future(self._own())
            self._task.set_name(f"mcp server {self.spec.id}")
            self._task.add_done_callback(self._died)

    def _died(self, task: asyncio.Task[None]) -> None:
        """A fault of this module must not leave its callers waiting."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logging.getLogger("sutler").error("the task of the server %s failed", self.spec.id, exc_info=error)
            self._set("parked", f"its task failed: {type(error).__name__}: {error}")
            self._task = None
            self._fail_waiters(self.reason)
            self.settled.set()
            self._hub.changed(self.spec.id)

    async def stop(self, seconds: float = 6.0) -> tuple[str, ...]:
        """End it from whatever task. Returns what did not end, in words."""
        self._stop.set()
        task = self._task
        if task is not None:
            if self.state == "connecting":
                waited = time.time() - self.since
                self._missed(f"it had not answered after {waited:.0f} s, when it was no longer waited for", waited)
            if self._session is None:
                task.cancel()  # it is connecting, or waiting to
            await asyncio.wait([task], timeout=seconds)
            if not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=1.0)
        await self.known.saved(1.0)
        self._fail_waiters("it is stopped")
        if not self.off:
            self._set("stopped")
        self.settled.set()
        left: list[str] = []
        child = self.child
        if child is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(child.end(), seconds)
        if task is not None and not task.done():
            left.append(f"{self.spec.id}: its task ignores its end")
        if child is not None and child.running:
            child.kill()
            left.append(f"{self.spec.id}: process {child.pid} had to be abandoned")
        return tuple(left)

    async def _own(self) -> None:
        said: tuple[State, str] | None = None
        while not self._stop.is_set():
            self._wake.clear()
            began = time.monotonic()
            connection = await self._connect()
            served = connection.served
            if self._stop.is_set():
                return
            if served and time.monotonic() - began > STEADY:
                self._failures = 0
            self._failures += 1
            if served and self._waiters and self._failures < FAILURES_TO_PARK:
                continue  # it went while somebody wants it: at once
            if connection.login:
                self._set("auth_required", self.reason)
            else:
                parked = connection.permanent or self._failures >= FAILURES_TO_PARK
                self._set("parked" if parked else "backoff", self.reason)
            if not served:
                self._missed(self.reason, time.monotonic() - began)
                self._fail_waiters(self.reason)
            self.settled.set()
            if said != (self.state, self.reason):  # not every try that fails as the one before is news
                said = (self.state, self.reason)
                self._hub.changed(self.spec.id)
            delay = None
            if self.state == "backoff":
                delay = min(BACKOFF * 2 ** (self._failures - 1), LONGEST_BACKOFF)
            await first(self._stop, self._wake, seconds=delay)
            if self.state in ("parked", "auth_required"):
                self._failures = FAILURES_TO_PARK - 1  # one try for the call that woke it

    def _missed(self, reason: str, seconds: float) -> None:
        """Remember, of a server that was never there; not that a quick program did not wait, nor the same again."""
        known = self.known
        if not self._connections and (known.miss is None or known.miss.reason != reason) and seconds >= _FAIR:
            known.missed(self.words(reason), seconds)

    async def _connect(self) -> Connection:
        """One connection from its start to its end; `reason` says why it ended."""
        known = self.known
        self._set("connecting", self.reason)
        remembered = known.era
        self._connection = one = Connection(self.spec, self._hub, era=known.era, samples=self._samples)
        try:
            await one.run(self.junk, self._changed, self._serve)
        finally:
            self.reason = one.reason or self.reason
            take_notes(known.notes, one.notes)
        if not one.served and remembered and self.spec.era == "auto":
            known.era = ""  # what was remembered may be what was wrong
        return one

    async def _serve(self, session: Session, listing: Listing) -> None:
        known = self.known
        self.restarts = self._connections
        self._connections += 1
        known.era, self.protocol, known.server = session.era, session.client.protocol_version, session.server
        known.keeps_era = self._connection is None or not self._connection.doubtful
        self._session = session
        known.take(listing)
        self._set("ready", self.reason if self.restarts else "")
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(session)
        self.settled.set()
        known.answered()
        self._hub.changed(self.spec.id)
        listening = None
        if session.era == "modern" and any(session.tells):
            listening = asyncio.ensure_future(session.listen(self._hears))
        try:
            await first(self._stop, session.dead)
        finally:
            self._session = None
            session.dead.set()
            if listening is not None:
                listening.cancel()
                await asyncio.wait([listening])
            await known.leave()

    def _changed(self) -> None:
        self.known.changed(self._session, self._relisted)

    def _hears(self) -> None:
        self.known.changed(self._session, self._relisted, said=False)

    def _relisted(self, differs: bool) -> None:
        if differs:
            self._hub.changed(self.spec.id)
        else:  # they may have been others in between
            self._hub.notified(self.spec.id, "notifications/tools/list_changed", {})

    def _set(self, state: State, reason: str = "") -> None:
        if state != self.state:
            self.since = time.time()
        self.state, self.reason = state, reason

    # ------------------------------------------------------------------ for calls

    async def session(self) -> Session:
        """The live session, waited for. ToolUnavailable says why there is none and what to do."""
        if (session := self.present) is not None:
            return session
        if self._stop.is_set():
            raise ToolUnavailable(f"{self.spec.id}: it is stopped")
        if self.off:
            raise ToolUnavailable(self.words(f"{self.spec.id}: {self.reason}"))
        waiter: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._wake.set()
        self.start()
        try:
            return await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _fail_waiters(self, reason: str) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                hint = "; `sutler doctor` shows what it wrote" if self.spec.transport == "stdio" else ""
                waiter.set_exception(ToolUnavailable(self.words(f"{self.spec.id}: {reason}{hint}")))

    def words(self, text: str) -> str:
        """A text without the secrets of the config."""
        return str(self.masked(text))

    def masked(self, value: Any) -> Any:
        return self._masker.value(value)
