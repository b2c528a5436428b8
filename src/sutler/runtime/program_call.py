"""The road into the pipeline from a program: one call, as the driver sees it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..errors import ApprovalPending, ToolCallError, ToolUnavailable
from ..lang.batches import TAKEN
from ..policy.answers import Answer as PersonsAnswer
from ..programs.driver import Answer
from ..programs.signatures import program_row
from ..programs.steps import Call
from ..spec import ToolResult
from . import tracing
from .calls import Calls
from .frames import RunState, current_frame
from .places import late
from .ticket import Ticket


def open_call(calls: Calls, call: Call, run: RunState) -> ProgramCall:
    """One call of a program, ready to be driven. Raises LimitExceeded when the run has no calls left."""
    name = call.name.removeprefix(TAKEN)
    ticket = Ticket(
        name,
        (call.args, call.kwargs),
        run=run,
        parent=current_frame.get(),
        host=calls.core.host_context,
        site=run.site,
        program=True,
        line=call.line,
        row=program_row(run.inventory, name),
    )
    calls.pipeline.open(ticket)
    if name in run.held and ticket.error is None:
        ticket.error = ToolUnavailable(f"{ticket.name} is not what it was when this run was stored; start the run anew")
    return ProgramCall(calls, ticket)


class ProgramCall:
    """A program's call in flight, as its driver sees it (programs.driver.Invocation)."""

    __slots__ = ("_calls", "_inline", "_ticket")

    def __init__(self, calls: Calls, ticket: Ticket) -> None:
        self._calls = calls
        self._ticket = ticket
        self._inline = False

    def answer(self, answer: PersonsAnswer, asked: Mapping[str, Any] | None) -> None:
        """The person has answered to this very call meanwhile; asked: the question as he saw it."""
        self._calls.core.asking.grant(self._ticket, answer, asked)

    @property
    def due(self) -> float:
        return self._ticket.due if self._inline else math.inf

    @property
    def holds_thread(self) -> bool:
        return self._inline

    def run(self) -> Answer | None:
        """Raises ApprovalPending when the call must wait for a person and the run was started to wait."""
        calls, ticket = self._calls, self._ticket
        core = calls.core
        if ticket.error is None and ticket.decision.outcome == "ask":
            if core.approvals.handler is None and ticket.run is not None and ticket.run.on_ask == "wait":
                if not core.asking.look(ticket):
                    ticket.run.waiting = core.asking.waiting(ticket)
                    tracing.end_call(ticket, core.recorder.masker)
                    raise ApprovalPending(ticket)
            else:
                core.asking.ask(ticket)
        if ticket.error is not None:
            return self._answer(calls.refused(ticket))
        tool = ticket.tool
        assert tool is not None
        try:
            self._inline = tool.place == "thread" and core.places.here(ticket)
        except ToolCallError as error:
            ticket.error = error
            return self._answer(calls.refused(ticket))
        return self._answer(calls.run(ticket))

    def expire(self, failure: ToolCallError | None) -> Answer | None:
        ticket = self._ticket
        if not ticket.claim():
            return None
        self._calls.abandon(ticket)
        error = failure if failure is not None else late(ticket)
        return self._answer(self._calls.pipeline.complete(ticket, (None, error)))

    def _answer(self, result: ToolResult | None) -> Answer | None:
        return answer_of(self._ticket, result) if result is not None else None


def answer_of(ticket: Ticket, result: ToolResult) -> Answer:
    """What the program gets of a call's result."""
    if result.error is None:
        return Answer(ticket.value)
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
