"""The roads into the pipeline, from a thread and from a loop. Each ends in the same record."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import ClosedError, ToolCallError, ToolTimeout, ToolUnavailable
from ..results import failure
from ..spec import ToolResult
from .frames import current_frame, held_loops, holding_its_loop
from .pipeline import Performed, Pipeline
from .places import Here, wait, wait_async
from .sites import Stay
from .ticket import Ticket

if TYPE_CHECKING:
    from ..inventory import Row
    from .core import Core
    from .options import PathLike

_LOOP_PLACES = ("workspace_loop", "host_loop", "portal")


class Calls:
    """Runs calls over one core."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.pipeline: Pipeline = core.pipeline
        self._flying: set[Ticket] = set()  # those that somebody waits for

    def call(self, name: str, arguments: object, host: Mapping[str, Any], root: PathLike | None = None) -> ToolResult:
        """From any thread: blocks it until the call has ended. root: the folder it works in (see Sites.enter)."""
        with Stay(self.core.sites) as stay:
            return holding_its_loop(lambda: self._call(name, arguments, host, stay, root))

    def _call(
        self, name: str, arguments: object, host: Mapping[str, Any], stay: Stay, root: PathLike | None
    ) -> ToolResult:
        ticket = self._open(name, arguments, host, stay, root)
        if ticket.error is None and ticket.decision.outcome == "ask":
            self.core.asking.ask(ticket)
        if ticket.error is not None:
            return self.refused(ticket)
        result = self.run(ticket)
        return result if result is not None else self._lost(ticket)

    async def call_async(
        self, name: str, arguments: object, host: Mapping[str, Any], root: PathLike | None = None
    ) -> ToolResult:
        """From a coroutine: never holds its loop. Cancelling the task cancels the call."""
        with Stay(self.core.sites) as stay:
            return await self._call_async(name, arguments, host, stay, root)

    async def _call_async(
        self, name: str, arguments: object, host: Mapping[str, Any], stay: Stay, root: PathLike | None
    ) -> ToolResult:
        core = self.core
        row = core.warm(name) if root is None else None
        if row is not None:
            ticket = self._open(name, arguments, host, stay, None, row=row)
        else:  # the first call of a tool may read its file, import its module, compile its schema
            ticket = await core.hop(lambda: self._open(name, arguments, host, stay, root, resolve=True))
        try:
            if ticket.error is None and ticket.decision.outcome == "ask":
                await core.asking.ask_async(ticket)
            if ticket.error is None:
                if core.recorder.blocks_for(ticket):
                    await core.hop(lambda: self.pipeline.begin(ticket))
                else:
                    self.pipeline.begin(ticket)
            here = ticket.error is None and core.places.is_this_loop(ticket)
            if ticket.error is None and not here:
                self.start(ticket)
        except ToolCallError as error:
            ticket.error = error
            here = False
        except asyncio.CancelledError:
            self._cancelled(ticket)
            raise
        if ticket.error is not None:
            return await core.aside(lambda: self.refused(ticket))
        try:
            performed = await (self._perform_here(ticket) if here else wait_async(ticket, self._future(ticket)))
        except ToolCallError as error:
            performed = (None, error)
            self.abandon(ticket)
        except asyncio.CancelledError:
            self.abandon(ticket)
            self._cancelled(ticket)
            raise
        finally:
            self.landed(ticket)
        if not ticket.claim():
            return self._lost(ticket)
        if core.recorder.blocks_for(ticket):
            return await core.hop(lambda: self.pipeline.complete(ticket, performed))
        return self.pipeline.complete(ticket, performed)

    def _cancelled(self, ticket: Ticket) -> None:
        if ticket.claim():
            gone = ToolTimeout("the call was cancelled by its caller")
            self.core.leave(lambda: self.pipeline.complete(ticket, (None, gone)))

    def _open(
        self,
        name: str,
        arguments: object,
        host: Mapping[str, Any],
        stay: Stay,
        root: PathLike | None,
        *,
        resolve: bool = False,
        row: Row | None = None,
    ) -> Ticket:
        """row: what the name means outside of a run, where that is known."""
        self.core.check_open()
        frame = current_frame.get()
        if frame is not None and frame.owner is not self.core:
            frame = None
        run = frame.run if frame is not None else None
        home = self.core.sites.home
        ticket = Ticket(name, arguments, run=run, parent=frame, host=host, site=home, row=row if run is None else None)
        try:
            ticket.site = stay.enter(root, frame.site if frame is not None else None)
            if frame is not None:
                frame.check()
            self.pipeline.open(ticket)
            if resolve and ticket.error is None and ticket.tool is not None:
                ticket.tool.warm()
        except ToolCallError as error:  # a limit of the run that this call is nested in, or a tool that does not load
            ticket.error = error
        return ticket

    def run(self, ticket: Ticket) -> ToolResult | None:
        """Runs an authorized call and waits for it. None when somebody else settled it meanwhile."""
        pipeline, places = self.pipeline, self.core.places
        if self.core.closed:
            ticket.error = _closed()
        if ticket.settled:
            return None  # cancelled while the person was asked: what he said does not matter any more
        if ticket.error is None:
            pipeline.begin(ticket)
        if ticket.error is not None:
            return self.refused(ticket)
        performed: Performed
        try:
            tool = ticket.tool
            assert tool is not None
            if tool.place not in _LOOP_PLACES and places.here(ticket):
                performed = pipeline.perform(ticket)
            else:
                performed = wait(ticket, self.start(ticket))
        except ToolCallError as error:
            performed = (None, error)
            self.abandon(ticket)
        except BaseException:  # the person pressed Ctrl-C while this thread waited
            self.abandon(ticket)
            if ticket.claim():
                pipeline.complete(ticket, (None, ToolTimeout("the host was interrupted while it waited")))
            raise
        finally:
            self.landed(ticket)
        return pipeline.complete(ticket, performed) if ticket.claim() else None

    def start(self, ticket: Ticket) -> Future[Performed]:
        """Sets the call going where it belongs. Whoever waits for it says when it has `landed`."""
        try:
            ticket.future = future = self._set_going(ticket)
        except ClosedError:
            raise _closed() from None
        self._flying.add(ticket)
        # since the last look; nobody will come to end this call
        if self.core.closed:
            self._interrupt(ticket, _closed())
        elif any(flight.ended for flight in ticket.flights):
            self.abandon(ticket)
            self._interrupt(ticket, ToolTimeout("it was given up as it began"))
        return future

    async def _perform_here(self, ticket: Ticket) -> Performed:
        """As part of the present task: a server's tool, called on the loop of its session."""
        ticket.future = here = Here()
        self._flying.add(ticket)
        if self.core.closed:
            raise _closed()
        return await here.do(self.pipeline.perform_async(ticket))

    def landed(self, ticket: Ticket) -> None:
        """Nobody waits for it any more."""
        self._flying.discard(ticket)

    def _set_going(self, ticket: Ticket) -> Future[Performed]:
        places, tool = self.core.places, ticket.tool
        assert tool is not None
        if tool.place not in _LOOP_PLACES:
            return places.submit(ticket, lambda: self.pipeline.perform(ticket))
        loop = places.loop_for(ticket)
        if loop in held_loops.get():
            raise ToolUnavailable(
                f"{tool.qualified} needs the event loop that this call blocks; call it from another thread"
            )
        return places.start_async(ticket, loop)

    def _future(self, ticket: Ticket) -> Future[Performed]:
        assert isinstance(ticket.future, Future)
        return ticket.future

    def abandon(self, ticket: Ticket) -> None:
        """Gives up waiting: an async tool is cancelled, a worker is killed, a thread is counted as lost.

        What the tool itself waits for, calls, programs and processes, is given up with it.
        """
        ticket.flight.give_up()
        future, tool = ticket.future, ticket.tool
        if future is not None and not future.cancel() and tool is not None and tool.place not in _LOOP_PLACES:
            if ticket.stopper is not None:
                ticket.stopper.stop("its call passed its deadline or was cancelled")
            elif isinstance(future, Future):
                self.core.places.abandon(ticket, future)
        if ticket.inner is not None:
            ticket.inner.cancel()
        for other in self._flying_now():
            if other is not ticket and ticket.flight in other.flights:
                self._interrupt(other, ToolTimeout("the call that this one is nested in was given up"))
        self.core.runs.cancel_within(ticket.flight)

    def _interrupt(self, ticket: Ticket, error: ToolCallError) -> None:
        """Wakes whoever waits for the call, who then gives it up."""
        future = ticket.future
        if future is not None and not future.cancel() and isinstance(future, Future):
            with suppress(InvalidStateError):
                future.set_exception(error)

    def close(self) -> None:
        """Ends the waiting for calls in flight, from whatever thread."""
        for ticket in self._flying_now():
            self._interrupt(ticket, _closed())

    def use(self, source: object) -> bool:
        """Whether a call of this source's tools is in flight."""
        return any(ticket.tool is not None and ticket.tool.row.source is source for ticket in self._flying_now())

    def _flying_now(self) -> list[Ticket]:
        while True:
            try:
                return list(self._flying)
            except RuntimeError:  # another thread's call came or went meanwhile
                continue

    def refused(self, ticket: Ticket) -> ToolResult:
        return self.pipeline.refused(ticket) if ticket.claim() else self._lost(ticket)

    def _lost(self, ticket: Ticket) -> ToolResult:
        """For a call that was settled by a cancel: its record says so, its caller is told the same."""
        return failure(ToolTimeout(f"{ticket.name} was cancelled"))


def _closed() -> ToolUnavailable:
    return ToolUnavailable("the runtime was closed before this call had ended")
