"""The roads into the pipeline: from a thread, from a loop, from a program. Each ends in the same record."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ..errors import ApprovalPending, ToolCallError, ToolTimeout, ToolUnavailable
from ..programs.driver import Answer
from ..programs.engine import Call
from ..programs.signatures import program_row
from ..results import program_value
from ..spec import ToolResult
from .frames import RunState, current_frame
from .pipeline import Performed, Pipeline
from .places import late, wait, wait_async
from .ticket import Ticket

if TYPE_CHECKING:
    from .core import Core

_LOOP_PLACES = ("workspace_loop", "host_loop")


class Calls:
    """Runs calls over one core."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._pipeline: Pipeline = core.pipeline

    def call(self, name: str, arguments: object, host: Mapping[str, Any]) -> ToolResult:
        """From any thread: blocks it until the call has ended."""
        ticket = self._open(name, arguments, host)
        if ticket.error is None and ticket.decision.outcome == "ask":
            self._pipeline.authorize(ticket)
        if ticket.error is not None:
            return self._refused(ticket)
        result = self._run(ticket)
        return result if result is not None else self._lost(ticket)

    async def call_async(self, name: str, arguments: object, host: Mapping[str, Any]) -> ToolResult:
        """From a coroutine: never holds its loop. Cancelling the task cancels the call."""
        core = self._core
        ticket = self._open(name, arguments, host)
        if ticket.error is None and ticket.decision.outcome == "ask":
            if core.approvals.is_async:
                await self._pipeline.authorize_async(ticket)
            else:
                await asyncio.wrap_future(core.threads.submit(lambda: self._pipeline.authorize(ticket)))
        if ticket.error is None:
            await self._aside(lambda: self._pipeline.begin(ticket))
        if ticket.error is not None:
            return self._refused(ticket)
        try:
            future = self._start(ticket)
        except ToolCallError as error:
            ticket.error = error
            return self._refused(ticket)
        try:
            performed = await wait_async(ticket, future)
        except ToolCallError as error:
            performed = (None, error)
            self._abandon(ticket, future)
        except asyncio.CancelledError:
            self._abandon(ticket, future)
            if ticket.claim():
                self._pipeline.complete(ticket, (None, ToolTimeout("the call was cancelled by its caller")))
            raise
        if not ticket.claim():
            return self._lost(ticket)
        return await self._aside(lambda: self._pipeline.complete(ticket, performed))

    def from_program(self, call: Call, run: RunState) -> ProgramCall:
        """One call of a program, ready to be driven. Raises LimitExceeded when the run has no calls left."""
        target = program_row(run.inventory, call.name)
        name = call.name if target is None else target.spec.qualified
        ticket = Ticket(
            name,
            (call.args, call.kwargs),
            run=run,
            parent=current_frame.get(),
            host=self._core.host_context,
            program=True,
            line=call.line,
        )
        self._pipeline.open(ticket)
        return ProgramCall(self, ticket)

    def _open(self, name: str, arguments: object, host: Mapping[str, Any]) -> Ticket:
        self._core.check_open()
        frame = current_frame.get()
        if frame is not None and frame.owner is not self._core:
            frame = None
        ticket = Ticket(name, arguments, run=frame.run if frame is not None else None, parent=frame, host=host)
        try:
            self._pipeline.open(ticket)
        except ToolCallError as error:  # a limit of the run that this call is nested in
            ticket.error = error
        return ticket

    def _run(self, ticket: Ticket) -> ToolResult | None:
        """Runs an authorized call and waits for it. None when somebody else settled it meanwhile."""
        pipeline, places = self._pipeline, self._core.places
        pipeline.begin(ticket)
        if ticket.error is not None:
            return self._refused(ticket)
        performed: Performed
        future: Future[Performed] | None = None
        try:
            tool = ticket.tool
            assert tool is not None
            if tool.place not in _LOOP_PLACES and places.here(ticket):
                performed = pipeline.perform(ticket)
            else:
                future = self._start(ticket)
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

    def _start(self, ticket: Ticket) -> Future[Performed]:
        """Sets the call going where it belongs."""
        core, tool = self._core, ticket.tool
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
            future = core.places.submit(ticket, lambda: self._pipeline.perform(ticket))
        ticket.abandon = lambda: self._abandon(ticket, future)
        return future

    def _abandon(self, ticket: Ticket, future: Future[Any]) -> None:
        """Gives up waiting: an async tool is cancelled, a worker is killed, a thread is counted as lost."""
        tool = ticket.tool
        assert tool is not None
        future.cancel()
        if tool.place == "worker":
            self._core.workers.kill(tool)
        elif tool.place not in _LOOP_PLACES and not future.done():
            self._core.threads.abandon(future)

    def _refused(self, ticket: Ticket) -> ToolResult:
        return self._pipeline.refused(ticket) if ticket.claim() else self._lost(ticket)

    def _lost(self, ticket: Ticket) -> ToolResult:
        """For a call that was settled by a cancel: its record says so, its caller is told the same."""
        from ..results import failure

        return failure(ToolTimeout(f"{ticket.name} was cancelled"))

    async def _aside(self, work: Any) -> Any:
        """Does what may touch the disk off the loop; with a store in memory there is nothing to wait for."""
        if not self._core.recorder.blocks:
            return work()
        return await asyncio.wrap_future(self._core.threads.submit(work))


class ProgramCall:
    """A program's call in flight, as its driver sees it (programs.driver.Invocation)."""

    __slots__ = ("_calls", "_inline", "_ticket")

    def __init__(self, calls: Calls, ticket: Ticket) -> None:
        self._calls = calls
        self._ticket = ticket
        self._inline = False

    @property
    def due(self) -> float:
        return self._ticket.due if self._inline else math.inf

    @property
    def holds_thread(self) -> bool:
        return self._inline

    def run(self) -> Answer | None:
        """Raises ApprovalPending when the call must wait for a person and the run was started to wait."""
        calls, ticket = self._calls, self._ticket
        pipeline, core = calls._pipeline, calls._core
        if ticket.error is None and ticket.decision.outcome == "ask":
            if core.approvals.handler is None and ticket.run is not None and ticket.run.on_ask == "wait":
                raise ApprovalPending(ticket)
            pipeline.authorize(ticket)
        if ticket.error is not None:
            return self._answer(calls._refused(ticket))
        tool = ticket.tool
        assert tool is not None
        try:
            self._inline = tool.place == "thread" and core.places.here(ticket)
        except ToolCallError as error:
            ticket.error = error
            return self._answer(calls._refused(ticket))
        return self._answer(calls._run(ticket))

    def expire(self, failure: ToolCallError | None) -> Answer | None:
        ticket = self._ticket
        if not ticket.claim():
            return None
        if ticket.abandon is not None:
            ticket.abandon()
        error = failure if failure is not None else late(ticket)
        return self._answer(self._calls._pipeline.complete(ticket, (None, error)))

    def _answer(self, result: ToolResult | None) -> Answer | None:
        if result is None:
            return None
        if result.error is None:
            return Answer(program_value(result, self._ticket.spec))
        return Answer(raises=_exception_for(result), message=result.error.message)


def _exception_for(result: ToolResult) -> str:
    """The builtin exception that a program can catch (PRG-11)."""
    error = result.error
    assert error is not None
    match error.kind:
        case "timeout":
            return "TimeoutError"
        case "denied":
            return "PermissionError"
        case "not_found":
            return "NameError"
        case "invalid_arguments":
            return "ValueError"
        case _:
            return "RuntimeError"
