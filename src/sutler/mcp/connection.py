"""One connection to a server, from its start to its end: what begins when, in which time, and why it ended.

Imports no SDK until the server is on its way: a stdio server is spawned first, and the SDK loads while it starts.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ..servers import ServerSpec
from .cache import ServerCache
from .exchange import Exchange, current
from .hidden import masked
from .misses import Misses
from .states import last_words
from .stdio import Child, Junk, Tail

if TYPE_CHECKING:
    from .link import Link
    from .listing import Listing
    from .session import Session

PROBE = 2.0  # seconds that a server may take over server/discover before it counts as one of the old era
_STARTING = 3.0  # seconds that a server that starts holds its place in the queue
_TAIL_IN_REASON = 200


class Hub(Protocol):
    """What the owner tasks of one manager share."""

    ask: Callable[[dict[str, Any]], Any] | None
    starting: asyncio.Semaphore
    cache: ServerCache
    misses: Misses

    def changed(self, server: str) -> None: ...
    def notified(self, server: str, method: str, params: Mapping[str, Any]) -> None: ...
    def auth(self, spec: ServerSpec) -> Any: ...
    async def load(self) -> None: ...


class Connection:
    """Made by the owner of the server, run once, and kept for what can be told of it.

    era: what is known of the server's, "" for nothing. served: it came to be. reason: why it ended. permanent: nothing
    that time mends. login: it wants one. doubtful: its era was chosen while the network failed, so not one to remember.
    """

    def __init__(self, spec: ServerSpec, hub: Hub, *, era: str = "", samples: bool = False) -> None:
        self.spec = spec
        self.served = self.permanent = self.login = self.doubtful = False
        self.reason = ""
        self.stderr = Tail()
        self.child: Child | None = None
        self._hub = hub
        self._era = spec.era if spec.era != "auto" else era
        self._samples = samples
        self._exchange: Exchange | None = None
        self._link: Link | None = None
        self._session: Session | None = None
        self._leave: Callable[[], None] = lambda: None

    async def run(
        self, junk: Junk, changed: Callable[[], None], serve: Callable[[Session, Listing], Awaitable[None]]
    ) -> None:
        """Connect, read the tools, await `serve`, close. Raises nothing for what the server does: `reason` says it.

        changed(): the server says that its tools are others.
        """
        try:
            async with contextlib.AsyncExitStack() as stack:
                session, listing = await self._connect(stack, junk, changed)
                self.served = True
                self._leave()
                await serve(session, listing)
            self.reason = session.why or "it closed the connection"
        except TimeoutError:
            self.reason = f"it did not answer within {self.spec.connect_timeout:g} s"
        except OSError as error:
            self.reason, self.permanent = str(error), self._exchange is None
        except ImportError as error:
            self.reason, self.permanent = f"the mcp package cannot be used: {error}", True
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            self.reason = "its transport failed"
        except (Exception, BaseExceptionGroup) as error:
            self.reason, self.login = self._explained(error)
        finally:
            self._close()

    def _close(self) -> None:
        link, session = self._link, self._session
        if link is not None and link.gone:
            self._tell_end()
        if session is not None:
            session.why = self.reason
            session.ended.set()

    @property
    def notes(self) -> Mapping[str, None]:
        """What was odd about it so far."""
        return self._link.notes if self._link is not None else {}

    async def _connect(
        self, stack: contextlib.AsyncExitStack, junk: Junk, changed: Callable[[], None]
    ) -> tuple[Session, Listing]:
        spec, hub = self.spec, self._hub
        await self._take_place(stack)
        async with asyncio.timeout(spec.connect_timeout):
            if spec.transport == "stdio":
                self.child = await Child.start(spec, self.stderr)
                stack.push_async_callback(self.child.end)
        await hub.load()  # beside the server's own start, and no part of its time
        from .link import Link
        from .session import connect

        async with asyncio.timeout(spec.connect_timeout) as limit:
            dead = asyncio.Event()
            self._link = link = Link(
                probe=self._probe(),
                on_changed=changed,
                on_gone=dead.set,
                on_notification=lambda method, params: hub.notified(spec.id, method, params),
                junk=junk,
                mask=lambda text: masked(text, spec.secrets),
            )
            self._exchange = exchange = Exchange(method="connect")
            token = current.set(exchange)
            try:
                connecting = connect(
                    spec,
                    link,
                    dead,
                    child=self.child,
                    mode="legacy" if self._era == "legacy" else "auto",
                    ask=hub.ask,
                    auth=hub.auth(spec),
                    samples=self._samples,
                )
                self._session = session = await stack.enter_async_context(connecting)
            finally:
                current.reset(token)
            left = (limit.when() or 0.0) - asyncio.get_running_loop().time()
            listing = await session.list_tools(max(0.1, left * 0.9))
        self.doubtful = exchange.failure is not None and not 300 <= exchange.failure.status < 500
        return session, listing

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

    def _probe(self) -> float | None:
        """How long server/discover may go unanswered; None for as long as the connection may take."""
        if self._era == "modern":
            return None
        half = self.spec.connect_timeout / 2
        return min(PROBE, half) if self.spec.transport == "stdio" else half

    def _explained(self, error: BaseException) -> tuple[str, bool]:
        """Why there is no connection, and whether it is for want of a login."""
        if self._exchange is None:  # the SDK is not there yet, so it has no part in it
            return str(error) or type(error).__name__, False
        from .reasons import explain

        return explain(error, self._exchange, self.spec)

    def _tell_end(self) -> None:
        """Say how the process ended, when it was not ended from here: only the teardown could tell."""
        child = self.child
        if child is None:
            return
        if child.forced:
            self.reason = "it closed its stdout"
            return
        last = last_words(self.stderr.text().rstrip().rpartition("\n")[2].strip(), _TAIL_IN_REASON)
        self.reason = f"its process {child.how}{f': {last}' if last else ''}"


async def first(*events: asyncio.Event, seconds: float | None = None) -> None:
    """Wait until one of these is set, or the time is over."""
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
