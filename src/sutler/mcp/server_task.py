"""The owner of one server: it alone connects, reconnects and closes; calls wait for what it brings (MCP-04).

    new -> connecting -> ready -> connecting ...        the server went and came back
                      -> backoff -> connecting ...      it could not be had: 0.1 s, 0.2 s... up to 30 s
                      -> parked | auth_required         five times in a row, or nothing that time mends: until a call
    disabled | unavailable                              by its config: never started
    stopped                                             closed

Imports no SDK until a server is to be reached, and spawns a stdio server first: the SDK loads while the server starts.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ToolUnavailable
from ..policy.masking import Masker, Secrets
from ..servers import RemoteTool, ServerSpec
from .cache import ServerCache
from .portal import off_loop
from .states import ServerState, State, ToolChange, difference, take_notes
from .stdio import Child, Junk, Tail

if TYPE_CHECKING:
    from .link import Exchange, Link
    from .listing import Listing
    from .session import Session

PROBE = 2.0  # seconds that a server may take over server/discover before it counts as one of the old era
FAILURES_TO_PARK = 5
STEADY = 60.0  # seconds of service after which earlier failures are forgotten
BACKOFF = 0.1
LONGEST_BACKOFF = 30.0
SETTLE = 0.2  # seconds in which further notices of changed tools are one
_CHANGES_KEPT = 20
_STARTING = 3.0  # seconds that a server that starts holds its place in the queue
_TAIL_IN_REASON = 200


class Hub(Protocol):
    """What the owner tasks of one manager share."""

    ask: Callable[[dict[str, Any]], Any] | None
    starting: asyncio.Semaphore
    cache: ServerCache

    def changed(self, server: str) -> None: ...
    def notified(self, server: str, method: str, params: Mapping[str, Any]) -> None: ...
    def auth(self, spec: ServerSpec) -> Any: ...
    async def load(self) -> None: ...


class ServerTask:
    """One server. Everything but the plain attributes belongs to the portal's loop."""

    def __init__(self, spec: ServerSpec, hub: Hub, *, without: str = "", samples: bool = False) -> None:
        self.spec = spec
        self._samples = samples
        self.state: State = "new"
        self.reason = ""
        self.since = time.time()
        self.era = ""
        self.protocol = ""
        self.server = ""
        self.restarts = 0
        self.tools: tuple[RemoteTool, ...] = ()
        self.version = 0
        self.notes: dict[str, None] = {}
        self.changes: deque[ToolChange] = deque(maxlen=_CHANGES_KEPT)
        self.junk = Junk()
        self.stderr = Tail()
        self.child: Child | None = None
        self._hub = hub
        self._masker = Masker(Secrets(spec.secrets))
        self._session: Session | None = None
        self._connections = 0
        self._failures = 0
        self._permanent = False
        self._doubtful = False  # the era was chosen while the network failed: not one to remember
        self._leave: Callable[[], None] = lambda: None
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()
        self.settled = asyncio.Event()
        self.wanted = False  # somebody asked for it to be started
        self._waiters: list[asyncio.Future[Session]] = []
        self.slots = asyncio.Semaphore(max(1, spec.concurrency))
        self._relisting: asyncio.Task[None] | None = None
        self._stale = False
        self._saving: set[asyncio.Task[None]] = set()
        if not spec.enabled:
            self.state, self.reason = "disabled", "its config says enabled = false"
        elif reason := spec.unavailable or without:
            self.state, self.reason = "unavailable", reason
        if self.off:
            self.settled.set()
            return
        held, note = hub.cache.load(spec)
        take_notes(self.notes, [note] if note else [])
        if held is not None:
            self.tools, self.era, self.server = held.tools, held.era, held.server
            self.version = 1

    @property
    def off(self) -> bool:
        """Whether its config keeps it from being started."""
        return self.state in ("disabled", "unavailable")

    def snapshot(self) -> ServerState:
        """What is known of it now; from any thread."""
        session, child = self._session, self.child
        notes = dict(self.notes)
        if session is not None:
            notes |= session.link.notes
        seen: Any = self._masker.value(
            {
                "reason": self.reason,
                "stderr": self.stderr.text(),
                "junk": list(self.junk.samples),
                "notes": [*self.spec.notes, *notes],
            }
        )
        return ServerState(
            id=self.spec.id,
            state=self.state,
            reason=seen["reason"],
            era=f"{self.era} {self.protocol}".strip(),
            pid=child.pid or None if child is not None and child.running else None,
            restarts=self.restarts,
            junk_lines=self.junk.lines,
            junk=tuple(seen["junk"]),
            stderr_tail=seen["stderr"],
            tools=len(self.tools),
            cached=any(tool.cached for tool in self.tools),
            since=self.since,
            server=self.server,
            notes=tuple(seen["notes"]),
            changes=tuple(self.changes),
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

    async def stop(self, seconds: float = 6.0) -> tuple[str, ...]:
        """End it from whatever task. Returns what did not end, in words."""
        self._stop.set()
        task = self._task
        if task is not None:
            if self._session is None:
                task.cancel()  # it is connecting, or waiting to
            await asyncio.wait([task], timeout=seconds)
            if not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=1.0)
        if self._saving:
            await asyncio.wait(self._saving, timeout=1.0)
        self._fail_waiters("it is stopped")
        if not self.off:
            self._set("stopped")
        self.settled.set()
        left: list[str] = []
        if self.child is not None and self.child.running:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.child.end(), seconds)
        if task is not None and not task.done():
            left.append(f"{self.spec.id}: its task ignores its end")
        if self.child is not None and self.child.running:
            self.child.kill()
            left.append(f"{self.spec.id}: process {self.child.pid} had to be abandoned")
        return tuple(left)

    async def _own(self) -> None:
        said: tuple[State, str] | None = None
        while not self._stop.is_set():
            self._wake.clear()
            began = time.monotonic()
            served = await self._connection()
            if self._stop.is_set():
                return
            if served and time.monotonic() - began > STEADY:
                self._failures = 0
            self._failures += 1
            if served and self._waiters and self._failures < FAILURES_TO_PARK:
                continue  # it went while somebody wants it: at once
            if self.state != "auth_required":
                parked = self._permanent or self._failures >= FAILURES_TO_PARK
                self._set("parked" if parked else "backoff", self.reason)
            if not served:
                self._fail_waiters(self.reason)
            self.settled.set()
            if said != (self.state, self.reason):  # not every try that fails as the one before is news
                said = (self.state, self.reason)
                self._hub.changed(self.spec.id)
            delay = None
            if self.state == "backoff":
                delay = min(BACKOFF * 2 ** (self._failures - 1), LONGEST_BACKOFF)
            await _first(self._stop, self._wake, seconds=delay)
            if self.state in ("parked", "auth_required"):
                self._failures = FAILURES_TO_PARK - 1  # one try for the call that woke it

    async def _connection(self) -> bool:
        """One connection from its start to its end. Whether it ever served; `reason` says why it ended."""
        self._set("connecting", self.reason)
        self._permanent = False
        exchange: Exchange | None = None
        link: Link | None = None
        session: Session | None = None
        served = False
        self.stderr = Tail()
        remembered = self.era
        try:
            async with contextlib.AsyncExitStack() as stack:
                await self._take_place(stack)
                async with asyncio.timeout(self.spec.connect_timeout):
                    child = await self._spawn(stack)
                await self._hub.load()  # beside the server's own start, and no part of its time
                from . import link as links
                from .session import connect

                async with asyncio.timeout(self.spec.connect_timeout) as limit:
                    dead = asyncio.Event()
                    link = links.Link(
                        probe=self._probe(),
                        on_changed=self._changed,
                        on_gone=dead.set,
                        on_notification=lambda method, params: self._hub.notified(self.spec.id, method, params),
                        junk=self.junk,
                    )
                    exchange = links.Exchange(method="connect")
                    token = links.current.set(exchange)
                    ask, auth = self._hub.ask, self._hub.auth(self.spec)
                    try:
                        session = await stack.enter_async_context(
                            connect(
                                self.spec,
                                link,
                                dead,
                                child=child,
                                mode=self._mode(),
                                ask=ask,
                                auth=auth,
                                samples=self._samples,
                            )
                        )
                    finally:
                        links.current.reset(token)
                    left = (limit.when() or 0.0) - asyncio.get_running_loop().time()
                    listing = await session.list_tools(max(0.1, left * 0.9))
                served = True
                self._doubtful = exchange.failure is not None and not 300 <= exchange.failure.status < 500
                await self._serve(session, listing)
            self.reason = session.why or "it closed the connection"
        except TimeoutError:
            self.reason = f"it did not answer within {self.spec.connect_timeout:g} s"
        except OSError as error:
            self.reason, self._permanent = str(error), exchange is None
        except ImportError as error:
            self.reason, self._permanent = f"the mcp package cannot be used: {error}", True
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            self.reason = "its transport failed"
        except (Exception, BaseExceptionGroup) as error:
            self.reason, login = _explained(error, exchange, self.spec)
            if login:
                self._set("auth_required", self.reason)
        finally:
            if link is not None:
                take_notes(self.notes, link.notes)
                if link.gone:
                    self._tell_end()
            if session is not None:
                session.why = self.reason
                session.ended.set()
            self.child = self.child if self.child is not None and self.child.running else None
        if not served and remembered and self.spec.era == "auto":
            self.era = ""  # what was remembered may be what was wrong
        return served

    async def _take_place(self, stack: contextlib.AsyncExitStack) -> None:
        """At most so many servers start at once; one that is slow does not keep its place."""
        await self._hub.starting.acquire()
        place = [self._hub.starting]

        def leave() -> None:
            if place:
                place.pop().release()

        asyncio.get_running_loop().call_later(_STARTING, leave)
        stack.callback(leave)
        self._leave = leave

    async def _spawn(self, stack: contextlib.AsyncExitStack) -> Child | None:
        if self.spec.transport != "stdio":
            return None
        self.child = child = await Child.start(self.spec, self.stderr)
        stack.push_async_callback(child.end)
        return child

    def _mode(self) -> str:
        era = self.spec.era if self.spec.era != "auto" else self.era
        return "legacy" if era == "legacy" else "auto"

    def _probe(self) -> float | None:
        """How long server/discover may go unanswered; None for as long as the connection may take."""
        if self.spec.era == "modern" or self.era == "modern":
            return None
        half = self.spec.connect_timeout / 2
        return min(PROBE, half) if self.spec.transport == "stdio" else half

    async def _serve(self, session: Session, listing: Listing) -> None:
        self._leave()
        self.restarts = self._connections
        self._connections += 1
        self.era, self.protocol, self.server = session.era, session.client.protocol_version, session.server
        self._session = session
        self._update(listing)
        self._set("ready", self.reason if self.restarts else "")
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(session)
        self.settled.set()
        self._hub.changed(self.spec.id)
        listening = None
        if session.era == "modern" and any(session.tells):
            listening = asyncio.ensure_future(session.listen(self._changed))
        try:
            await _first(self._stop, session.dead)
        finally:
            self._session = None
            session.dead.set()
            relisting, self._relisting = self._relisting, None
            for task in (listening, relisting):
                if task is not None:
                    task.cancel()
                    await asyncio.wait([task])

    def _tell_end(self) -> None:
        """Say how the process ended, when it was not ended from here: only the teardown could tell."""
        child = self.child
        if child is None:
            return
        if child.forced:
            self.reason = "it closed its stdout"
            return
        last = self.stderr.text().rstrip().rpartition("\n")[2].strip()[-_TAIL_IN_REASON:]
        self.reason = f"its process {child.how}{f': {last}' if last else ''}"

    def _set(self, state: State, reason: str = "") -> None:
        if state != self.state:
            self.since = time.time()
        self.state, self.reason = state, reason

    # ------------------------------------------------------------------ its tools

    def _update(self, listing: Listing) -> None:
        take_notes(self.notes, listing.notes)
        change = difference(self.tools, listing.tools, at=time.time())
        first = self.version == 0
        self.tools = listing.tools
        if change or first:
            self.version += 1
            if not first:
                self.changes.append(change)
        task = asyncio.ensure_future(self._save())
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def _save(self) -> None:
        era = self.era if self.spec.era == "auto" and not self._doubtful else ""
        tools, server = self.tools, self.server
        note = await off_loop(lambda: self._hub.cache.save(self.spec, tools, era=era, server=server))
        take_notes(self.notes, [note] if note else [])

    def _changed(self) -> None:
        """The server says that its tools changed. A storm of that is one new listing, and one more after it."""
        self._stale = True
        if self._session is not None and (self._relisting is None or self._relisting.done()):
            self._relisting = asyncio.ensure_future(self._relist(self._session))

    async def _relist(self, session: Session) -> None:
        while self._stale and session.usable:
            await asyncio.sleep(SETTLE)
            self._stale = False
            try:
                listing = await session.list_tools(self.spec.connect_timeout)
            except Exception as error:
                take_notes(self.notes, [f"its changed tools could not be read: {error}"])
                return
            before = self.version
            self._update(listing)
            if self.version != before:
                self._hub.changed(self.spec.id)
            else:  # they may have been others in between
                self._hub.notified(self.spec.id, "notifications/tools/list_changed", {})

    # ------------------------------------------------------------------ for calls

    async def session(self) -> Session:
        """The live session, waited for. ToolUnavailable says why there is none and what to do."""
        if self._session is not None and self._session.usable:
            return self._session
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


def _explained(error: BaseException, exchange: Exchange | None, spec: ServerSpec) -> tuple[str, bool]:
    """Why there is no connection, and whether it is for want of a login."""
    if exchange is None:  # the SDK is not there yet, so it has no part in it
        return str(error) or type(error).__name__, False
    from .session import explain

    return explain(error, exchange, spec)


async def _first(*events: asyncio.Event, seconds: float | None = None) -> None:
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
