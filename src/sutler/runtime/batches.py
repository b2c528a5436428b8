"""Reads of one program that are under way at once (PRG-08): announced together, decided together, taken in order.

The program announces the calls that are coming, then makes them one after the other as it always would; each takes the
result that is on its way. What was not started when it is taken runs as any other call. So whether calls run at once or
in order shows in nothing but the time, and in reads after a failing one that had begun.
"""

from __future__ import annotations

import math
import threading
from concurrent.futures import CancelledError, Future
from queue import Empty, SimpleQueue
from typing import Final

from ..errors import LimitExceeded, ToolCallError, ToolTimeout
from ..lang.batches import TAKEN
from ..programs.crossing import BATCH
from ..programs.driver import Answer, Invocation
from ..programs.signatures import program_row
from ..programs.steps import Call
from ..spec import ToolResult
from .calls import Calls
from .frames import RunState, current_frame
from .pipeline import Performed
from .places import late
from .program_call import answer_of, open_call
from .ticket import Ticket

AT_ONCE: Final = 16
HELD_BYTES: Final = 32_000_000  # results that the program has not taken yet; above it nothing is started
_ONE_AT_A_TIME: Final = ("fixed", "worker")  # a second call would only wait there, with its deadline running


def open_step(calls: Calls, call: Call, run: RunState) -> Invocation:
    """What a program waits at, ready to be driven: an announcement, a call that may be under way, any other call.

    Raises LimitExceeded when the run has no calls left.
    """
    batch, run.batch = run.batch, None
    if call.name == BATCH:
        if batch is not None:
            batch.stop(_left_behind())
        return _Announcement(calls, call, run)
    if batch is not None:
        taken = batch.take(call)
        if taken is not None:
            run.batch = batch
            return taken
        batch.stop(_left_behind())
    return open_call(calls, call, run)


class _Announcement:
    """Decides every call first. Unless all are allowed unasked, none is started, and they run in order."""

    due = math.inf
    holds_thread = False

    def __init__(self, calls: Calls, call: Call, run: RunState) -> None:
        self._calls = calls
        self._coming: list[tuple[str, int, tuple[object, ...], dict[str, object]]] = call.args[0]
        self._run = run

    def run(self) -> Answer:
        tickets: list[Ticket] = []
        for name, line, args, kwargs in self._coming:
            ticket = Ticket(
                name,
                (args, kwargs),
                run=self._run,
                parent=current_frame.get(),
                host=self._calls.core.host_context,
                site=self._run.site,
                program=True,
                line=line,
                row=program_row(self._run.inventory, name),
            )
            self._calls.pipeline.decide(ticket)
            if not _may_run_ahead(ticket, self._run):
                return Answer()
            tickets.append(ticket)
        if tickets:
            self._run.batch = batch = Batch(self._calls, self._run, tickets)
            batch.fill()
        return Answer()

    def expire(self, failure: ToolCallError | None) -> Answer | None:
        return None  # deciding takes no time; the driver looks whether it was stopped when this is over


def _may_run_ahead(ticket: Ticket, run: RunState) -> bool:
    if ticket.error is not None or ticket.decision.outcome != "allow" or ticket.name in run.held:
        return False
    tool = ticket.tool
    assert tool is not None
    if "user_interaction_handler" in tool.spec.hidden:  # a person is asked one thing at a time, in order
        return False
    try:
        return tool.spec.read_only and tool.place not in _ONE_AT_A_TIME
    except ToolCallError:  # it cannot be resolved, which the call itself will say
        return False


class Batch:
    """Started in order, at most 16 at once, by the thread that drives the program while that waits for a result.

    Only `stop` may come from another thread.
    """

    def __init__(self, calls: Calls, run: RunState, tickets: list[Ticket]) -> None:
        self._calls = calls
        self._run = run
        self._tickets = tickets
        self._started = 0
        self._taken = 0
        self._closed = False  # nothing more is started
        self._stopped = False
        self._running: dict[int, Future[Performed]] = {}
        self._results: dict[int, ToolResult | LimitExceeded] = {}
        self._held = 0
        self._ended: SimpleQueue[int | None] = SimpleQueue()
        self._lock = threading.RLock()

    def take(self, call: Call) -> Invocation | None:
        """The next call of the batch, if this is it and it is under way."""
        index = self._taken
        if index == len(self._tickets) or call.name != TAKEN + self._tickets[index].name:
            return None
        self.fill()
        if index >= self._started:
            return None
        self._taken += 1
        return _Taken(self, index, self._tickets[index])

    def fill(self) -> None:
        while (
            not self._closed
            and self._started < len(self._tickets)
            and len(self._running) < AT_ONCE
            and self._held <= HELD_BYTES
        ):
            with self._lock:
                if self._stopped:
                    return
                self._start(self._started)

    def _start(self, index: int) -> None:
        calls, ticket = self._calls, self._tickets[index]
        pipeline = calls.pipeline
        if _on_thread(ticket) and calls.core.threads.scarce:
            self._closed = True  # in order it needs no further thread
            return
        self._started += 1
        try:
            pipeline.count(ticket)
        except LimitExceeded as error:
            self._results[index] = error
            self._closed = True
            return
        pipeline.begin(ticket)
        future: Future[Performed] | None = None
        if ticket.error is None:
            try:
                future = calls.start(ticket)
            except ToolCallError as error:
                ticket.error = error
        if future is None:
            self._settle(index, (None, ticket.error))
            return
        self._running[index] = future
        future.add_done_callback(lambda _: self._ended.put(index))

    def wait(self, index: int) -> ToolResult | None:
        """The result of a started call; None when the run was stopped meanwhile. Raises LimitExceeded."""
        while not self._stopped:
            result = self._results.pop(index, None)
            if isinstance(result, LimitExceeded):
                self.end()
                raise result
            if result is not None:
                self._held -= self._tickets[index].size
                if not result.success:
                    self._run.batch = None
                    self.end()
                return result if not self._stopped else None
            self.fill()
            self._next_end()
        return None

    def _next_end(self) -> None:
        """Waits until a call has ended, or is late, or the run was stopped."""
        due = min((self._remaining(index) for index in list(self._running)), default=0.0)
        try:
            index = self._ended.get(timeout=min(due, 3600.0))
        except Empty:
            for index in list(self._running):
                if self._remaining(index) <= 0:
                    self._give_up(index, late(self._tickets[index]))
            return
        future = self._running.get(index) if index is not None else None
        if index is not None and future is not None:
            self._settle(index, _performed(future))

    def _remaining(self, index: int) -> float:
        deadline = self._tickets[index].deadline
        assert deadline is not None
        return deadline.remaining()

    def _settle(self, index: int, performed: Performed) -> None:
        ticket = self._tickets[index]
        with self._lock:
            self._running.pop(index, None)
            self._calls.landed(ticket)
            if not ticket.claim():
                return
            self._results[index] = result = self._calls.pipeline.complete(ticket, performed)
            self._held += ticket.size
            self._closed = self._closed or not result.success

    def _give_up(self, index: int, error: ToolCallError) -> None:
        self._calls.abandon(self._tickets[index])
        self._settle(index, (None, error))

    def end(self) -> None:
        """The program goes on without the rest: nothing more is started, what waits on a loop is cancelled, and what
        holds a thread, which cannot be stopped, is waited for."""
        self._closed = True
        for index, future in list(self._running.items()):
            if future.done():
                self._settle(index, _performed(future))
            elif not _on_thread(self._tickets[index]):
                self._give_up(index, _left_behind())
        while self._running and not self._stopped:
            self._next_end()

    def stop(self, failure: ToolCallError) -> None:
        """The run is over: from any thread, without waiting."""
        with self._lock:
            self._stopped = self._closed = True
            for index in list(self._running):
                self._give_up(index, failure)
        self._ended.put(None)


class _Taken:
    """A call whose result is on its way, as the driver sees it."""

    due = math.inf  # the batch itself looks after deadlines
    holds_thread = False

    def __init__(self, batch: Batch, index: int, ticket: Ticket) -> None:
        self._batch = batch
        self._index = index
        self._ticket = ticket
        self._settled = threading.Lock()

    def run(self) -> Answer | None:
        result = self._batch.wait(self._index)
        if result is None or not self._settled.acquire(blocking=False):
            return None
        answer = answer_of(self._ticket, result)
        self._ticket.value = None  # the batch lives on, what was taken need not
        return answer

    def expire(self, failure: ToolCallError | None) -> Answer | None:
        if failure is None or not self._settled.acquire(blocking=False):
            return None
        self._batch.stop(failure)
        return Answer(raises="TimeoutError", message=str(failure))


def _on_thread(ticket: Ticket) -> bool:
    tool = ticket.tool
    return tool is not None and tool.place == "thread"


def _left_behind() -> ToolTimeout:
    return ToolTimeout("cancelled: the program went on without its result")


def _performed(future: Future[Performed]) -> Performed:
    try:
        return future.result()
    except CancelledError:
        return None, ToolTimeout("the call was cancelled")
