"""The one way a tool is ever run: lookup, bind, decide, run, normalize, record.

`open` never raises for a bad call: it leaves the failure on the ticket. Where policy says ask, `Asking` asks.
`perform` runs the tool on the present thread, `perform_async` on the present loop; both give (value, failure) and
never raise for what a tool does. `complete` makes the result and the record; only whoever won `ticket.claim()` does.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import LimitExceeded, ToolCallError, ToolError, ToolUnavailable, words
from ..policy.approvals import denied
from ..results import failure, fresh, interpret
from ..results.view import MODEL_SEES, TRACE_SHOWS
from ..spec import ToolCall, ToolResult
from ..workspace.flight import flights_here
from ..workspace.root import current as workspace_here
from ..workspace.watchdog import Deadline
from . import capture, tracing
from .elicitation import ask_person
from .events import Event, tell
from .frames import Frame, being_cancelled, current_frame
from .ticket import Ticket

if TYPE_CHECKING:
    from ..inventory import Row
    from .core import Core

Performed = tuple[tuple[ToolResult, Any] | None, ToolCallError | None]  # (result, what a program gets), or a failure

_log = logging.getLogger("sutler")
_OURS = str(Path(__file__).parent)


class Pipeline:
    """The steps of a call, over one runtime's core."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def open(self, ticket: Ticket) -> None:
        """Lookup, bind, decide. The first failure is left in ticket.error, but for a limit of the run."""
        self.count(ticket)
        self.decide(ticket)

    def count(self, ticket: Ticket) -> None:
        """The call takes its place in the run, and is one of those it may make. Raises LimitExceeded."""
        run = ticket.run
        if run is not None:
            ticket.step = run.next_step()
            if ticket.call is not None:  # it was decided first
                ticket.call = replace(ticket.call, step=ticket.step)
            run.budget.spend()
        tracing.begin_call(ticket)

    def decide(self, ticket: Ticket) -> None:
        """Lookup, bind, decide. The first failure is left in ticket.error."""
        core = self._core
        try:
            run = ticket.run
            row = ticket.row
            if row is None:
                row = self._found(ticket.name) if run is None else run.inventory.find(ticket.name)
            ticket.tool = tool = core.tool(row)
            binder = tool.binder
            if ticket.program:
                positional, keywords = cast("tuple[tuple[Any, ...], Mapping[str, Any]]", ticket.raw)
                bound = binder.bind(binder.positional(positional, keywords), program=True)
            else:
                bound = binder.bind(ticket.raw)  # pyright: ignore[reportArgumentType]
            ticket.repairs, ticket.notes = bound.repairs, bound.notes
            ticket.call = ToolCall(
                call_id=ticket.call_id,
                spec=tool.spec,
                arguments=bound.arguments,
                run_id=run.run_id if run is not None else None,
                step=ticket.step,
                repairs=bound.repairs,
            )
            frozen = core.policy.looks_at_arguments(tool.spec)
            if frozen:
                ticket.call = _frozen(ticket.call)
            ticket.decision = core.policy.decide(ticket.call, ticket.site.root)
            if ticket.decision.outcome == "deny":
                raise denied(ticket.decision, tool.qualified)
            if ticket.decision.outcome == "ask":
                ticket.call = ticket.call if frozen else _frozen(ticket.call)
                core.asking.recall(ticket)
        except LimitExceeded:
            raise
        except ToolCallError as error:
            ticket.error = error

    def _found(self, name: str) -> Row:
        core = self._core
        try:
            return core.inventory().find(name)
        except ToolUnavailable:  # it is held; somebody may just have said yes to it elsewhere
            if not core.pins.look():
                raise
            return core.inventory().find(name)

    def begin(self, ticket: Ticket) -> None:
        """The clock of the call starts, and a call that may write is put on record before it runs."""
        core, tool = self._core, ticket.tool
        assert tool is not None
        ticket.deadline = Deadline(tool.spec.timeout or core.limits.call_seconds)
        ticket.began = time.monotonic()
        self._tell(ticket, "call_started", {})
        try:
            if tool.spec.origin.kind != "mcp":  # a server's is held against its pin in the session: a list may be old
                core.pins.use(tool.spec)
            core.recorder.started(ticket)
        except ToolCallError as error:
            ticket.error = error

    def perform(self, ticket: Ticket) -> Performed:
        """Runs a sync tool on the present thread, which must be one that may run it."""
        tool = ticket.tool
        assert tool is not None
        entered = self._enter(ticket)
        try:
            if tool.place == "worker":
                return self._read(ticket, self._core.workers.call(ticket, self._core.injected(ticket))), None
            fn = tool.resolve()
            value = fn(**self._core.injected(ticket, is_async=tool.is_async))
            if inspect.isawaitable(value):
                value = self._core.places.await_for(ticket, value)
            return self._read(ticket, value), None
        except ToolCallError as error:
            return None, error
        except BaseException as error:
            return None, _raised(error)
        finally:
            self._leave(ticket, entered)

    async def perform_async(self, ticket: Ticket) -> Performed:
        """Runs an async tool as part of the present task."""
        tool = ticket.tool
        assert tool is not None
        remote_tool = tool.place == "portal"
        entered = self._enter(ticket, prints=not remote_tool)
        try:
            arguments = self._core.injected(ticket, is_async=True)
            if remote_tool:
                remote: Any = tool.resolve()
                hears = self._core.on_event is not None  # unheard, a server need not tell
                heard = partial(self._core.progress_of_server, ticket) if hears else None
                assert ticket.deadline is not None
                value = await remote.run(
                    arguments,
                    seconds=ticket.deadline.seconds,
                    progress=heard,
                    ask=_in_context(partial(ask_person, self._core, ticket)),
                    vet=partial(self._core.pins.vet, tool.spec),
                )
            else:
                self._core.places.enter(ticket)
                value = await tool.resolve()(**arguments)
            return self._read(ticket, value), None
        except ToolCallError as error:
            return None, error
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and being_cancelled():
                raise
            return None, _raised(error)
        finally:
            self._leave(ticket, entered)

    def _enter(self, ticket: Ticket, *, prints: bool = True) -> tuple[Any, Any, Any, Any, Any]:
        """Tells the code of the tool, by context, which call and workspace it belongs to, and catches its prints.

        prints: whether it may print; a server prints nowhere here, and the person it has asked must see the question.
        """
        flights = ticket.flights
        frame = Frame(
            owner=self._core,
            ticket=ticket,
            run=ticket.run,
            site=ticket.site,
            deadlines=ticket.deadlines(),
            flights=flights,
        )
        span, here = tracing.enter(ticket), workspace_here.set(ticket.site.workspace)
        return span, current_frame.set(frame), here, flights_here.set(flights), capture.begin() if prints else None

    def _leave(self, ticket: Ticket, entered: tuple[Any, Any, Any, Any, Any]) -> None:
        span, frame, workspace, flights, prints = entered
        if prints is not None:
            ticket.stdout = capture.end(prints) or ticket.stdout
        ticket.flight.over = True
        flights_here.reset(flights)
        workspace_here.reset(workspace)
        current_frame.reset(frame)
        tracing.leave(span)

    def _read(self, ticket: Ticket, value: Any) -> tuple[ToolResult, Any]:
        """What the tool returned, read once, where the tool ran: a generator it returned runs under its deadline."""
        core = self._core
        read = interpret(value, ticket.spec, root=ticket.site.root)
        size = core.check_output(read[0].output, "the result")
        ticket.size = size
        ticket.large, ticket.sizable = size > MODEL_SEES, size > TRACE_SHOWS
        return read

    def complete(self, ticket: Ticket, performed: Performed) -> ToolResult:
        """The result of a call that this thread has claimed, and its one record."""
        core = self._core
        read, error = performed
        if read is not None:
            result, ticket.value = read
        else:
            result = failure(error if error is not None else ToolError("the call ended without a result"))
        if result.traceback is not None:
            _log.debug("%s failed\n%s", ticket.name, core.recorder.masker.value(result.traceback))
        handle = core.keep_output(ticket.call_id, result.output) if ticket.large else None
        _stamp(result, ticket, handle)
        core.recorder.done(ticket, result)
        tracing.end_call(ticket, core.recorder.masker)
        self._tell(ticket, "call_finished", {"success": result.success, "duration": result.duration})
        # code that made a call gets what the tool gave; whoever reads the result may be a model
        return result if ticket.run is not None or ticket.parent is not None else core.recorder.outward(result)

    def refused(self, ticket: Ticket) -> ToolResult:
        """The result of a call that never ran."""
        assert ticket.error is not None
        return self.complete(ticket, (None, ticket.error))

    def _tell(self, ticket: Ticket, kind: Any, data: Mapping[str, Any]) -> None:
        handler = self._core.on_event
        if handler is None:
            return
        name = ticket.tool.qualified if ticket.tool is not None else ticket.name
        run_id = ticket.run.run_id if ticket.run is not None else None
        tell(handler, Event(kind=kind, tool=name, call_id=ticket.call_id, run_id=run_id, data=data))


def _stamp(result: ToolResult, ticket: Ticket, handle: str | None) -> None:
    """Adds what only the pipeline knows. Nobody else has the result yet; a copy would cost as much as the call."""
    write = object.__setattr__
    write(result, "duration", time.monotonic() - ticket.began)
    if result.error is not None and ticket.decision.outcome == "deny":  # its library asked, and was told no
        write(result, "error", replace(result.error, kind="denied"))
    if ticket.repairs:
        write(result, "repairs", ticket.repairs)
    if ticket.notes:
        write(result, "notes", (*ticket.notes, *result.notes))
    if ticket.stdout:
        write(result, "stdout", ticket.stdout)
    if handle is not None:
        write(result, "handle", handle)


def _raised(error: BaseException) -> ToolCallError:
    """What a tool raised, as a failure: its type, its words, its own part of the traceback."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_OURS):
        frame = frame.tb_next
    text = "".join(traceback.format_exception(type(error), error, frame, limit=-20))
    return ToolError(words(error), traceback=text)


def _in_context(ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The question with the call's own context: it comes from a session that serves many calls."""
    context = contextvars.copy_context()
    return lambda request: context.copy().run(ask, request)


def _frozen(call: ToolCall) -> ToolCall:
    """What is judged or asked is what runs, whatever becomes of the caller's own objects meanwhile (FH32)."""
    return replace(call, arguments=fresh(call.arguments))
