"""The roads into the pipeline, from a thread and from a loop. Each ends in the same record."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ..errors import ToolCallError, ToolTimeout, ToolUnavailable
from ..results import failure
from ..spec import ToolResult
from .frames import current_frame
from .pipeline import Performed, Pipeline
from .places import wait, wait_async
from .ticket import Ticket

if TYPE_CHECKING:
    from .core import Core

_LOOP_PLACES = ("workspace_loop", "host_loop", "portal")


class Calls:
    """Runs calls over one core."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.pipeline: Pipeline = core.pipeline

    def call(self, name: str, arguments: object, host: Mapping[str, Any]) -> ToolResult:
        """From any thread: blocks it until the call has ended."""
        ticket = self._open(name, arguments, host)
        if ticket.error is None and ticket.decision.outcome == "ask":
            self.pipeline.authorize(ticket)
        if ticket.error is not None:
            return self.refused(ticket)
        result = self.run(ticket)
        return result if result is not None else self._lost(ticket)

    async def call_async(self, name: str, arguments: object, host: Mapping[str, Any]) -> ToolResult:
        """From a coroutine: never holds its loop. Cancelling the task cancels the call."""
        core = self.core
        if core.is_warm(name):
            ticket = self._open(name, arguments, host)
        else:  # the first call of a tool may read its file, import its module, compile its schema
            ticket = await core.hop(lambda: self._open(name, arguments, host, resolve=True))
        if ticket.error is None and ticket.decision.outcome == "ask":
            if core.approvals.is_async:
                await self.pipeline.authorize_async(ticket)
            else:
                await core.hop(lambda: self.pipeline.authorize(ticket))
        if ticket.error is None:
            await core.aside(lambda: self.pipeline.begin(ticket))
        if ticket.error is not None:
            return await core.aside(lambda: self.refused(ticket))
        try:
            future = self.start(ticket)
        except ToolCallError as error:
            ticket.error = error
            return await core.aside(lambda: self.refused(ticket))
        try:
            performed = await wait_async(ticket, future)
        except ToolCallError as error:
            performed = (None, error)
            self._abandon(ticket, future)
        except asyncio.CancelledError:
            self._abandon(ticket, future)
            if ticket.claim():
                gone = ToolTimeout("the call was cancelled by its caller")
                core.leave(lambda: self.pipeline.complete(ticket, (None, gone)))
            raise
        if not ticket.claim():
            return self._lost(ticket)
        return await core.aside(lambda: self.pipeline.complete(ticket, performed))

    def _open(self, name: str, arguments: object, host: Mapping[str, Any], *, resolve: bool = False) -> Ticket:
        self.core.check_open()
        frame = current_frame.get()
        if frame is not None and frame.owner is not self.core:
            frame = None
        ticket = Ticket(name, arguments, run=frame.run if frame is not None else None, parent=frame, host=host)
        try:
            self.pipeline.open(ticket)
            if resolve and ticket.error is None and ticket.tool is not None:
                ticket.tool.warm()
        except ToolCallError as error:  # a limit of the run that this call is nested in, or a tool that does not load
            ticket.error = error
        return ticket

    def run(self, ticket: Ticket) -> ToolResult | None:
        """Runs an authorized call and waits for it. None when somebody else settled it meanwhile."""
        pipeline, places = self.pipeline, self.core.places
        pipeline.begin(ticket)
        if ticket.error is not None:
            return self.refused(ticket)
        performed: Performed
        future: Future[Performed] | None = None
        try:
            tool = ticket.tool
            assert tool is not None
            if tool.place not in _LOOP_PLACES and places.here(ticket):
                performed = pipeline.perform(ticket)
            else:
                future = self.start(ticket)
                performed = wait(ticket, future)
        except ToolCallError as error:
            performed = (None, error)
            if future is not None:
                self._abandon(ticket, future)
        except BaseException:  # the person pressed Ctrl-C while this thread waited
            if future is not None:
                self._abandon(ticket, future)
            if ticket.claim():
                pipeline.complete(ticket, (None, ToolTimeout("the host was interrupted while it waited")))
            raise
        return pipeline.complete(ticket, performed) if ticket.claim() else None

    def start(self, ticket: Ticket) -> Future[Performed]:
        """Sets the call going where it belongs."""
        core, tool = self.core, ticket.tool
        assert tool is not None
        if tool.place in _LOOP_PLACES:
            loop = core.places.loop_for(ticket)
            try:
                blocked = asyncio.get_running_loop() is loop and not core.awaits
            except RuntimeError:
                blocked = False
            if blocked:
                raise ToolUnavailable(
                    f"{tool.qualified} needs the event loop that this call blocks; call it from another thread"
                )
            future = core.places.start_async(ticket)
        else:
            future = core.places.submit(ticket, lambda: self.pipeline.perform(ticket))
        ticket.abandon = lambda: self._abandon(ticket, future)
        return future

    def _abandon(self, ticket: Ticket, future: Future[Any]) -> None:
        """Gives up waiting: an async tool is cancelled, a worker is killed, a thread is counted as lost."""
        tool = ticket.tool
        assert tool is not None
        future.cancel()
        if tool.place == "worker":
            self.core.workers.kill(tool)
        elif tool.place not in _LOOP_PLACES and not future.done():
            self.core.threads.abandon(future)

    def refused(self, ticket: Ticket) -> ToolResult:
        return self.pipeline.refused(ticket) if ticket.claim() else self._lost(ticket)

    def _lost(self, ticket: Ticket) -> ToolResult:
        """For a call that was settled by a cancel: its record says so, its caller is told the same."""
        return failure(ToolTimeout(f"{ticket.name} was cancelled"))
