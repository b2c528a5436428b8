"""Who is calling: the frame of the call or run that the present code belongs to, carried by context.

A tool that calls back into its runtime, by whatever road, is recognised here, so that nested calls share the limits of
what they are nested in.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from .. import calling
from ..errors import LimitExceeded, ToolUnavailable
from ..inventory import Inventory
from ..spec import TraceEntry
from ..store import StepRecord
from ..workspace.flight import Flight
from ..workspace.watchdog import Deadline

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from .batches import Batch
    from .sites import Site
    from .ticket import Ticket

T = TypeVar("T")


class CallBudget:
    """How many calls a run, with all it nests, may still make."""

    def __init__(self, calls: int) -> None:
        self._limit = calls
        self._left = calls
        self._lock = threading.Lock()

    def spend(self) -> None:
        with self._lock:
            if self._left <= 0:
                raise LimitExceeded(f"the run made more than {self._limit} calls", limit="calls")
            self._left -= 1


@dataclass(slots=True, kw_only=True)
class RunState:
    """One program's run while it goes on. Nested runs share `budget` and `deadline` with their parent.

    batch: its calls that are under way at once, if any.
    """

    run_id: str
    depth: int
    site: Site
    inventory: Inventory
    budget: CallBudget
    deadline: Deadline
    compute_seconds: float
    on_ask: str = "reject"
    root: str = ""  # the id of the outermost run it is nested in, or its own
    waiting: Mapping[str, Any] | None = None  # what the person is asked, once it waits for him
    held: frozenset[str] = frozenset()  # names of a stored run whose tools are not what they were
    trace: list[TraceEntry | StepRecord] = field(default_factory=lambda: list[TraceEntry | StepRecord]())
    steps: int = 0
    batch: Batch | None = None
    span: Span | None = None
    secrets: frozenset[str] = frozenset()  # what is hidden in the copy of the program that is kept
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_step(self) -> int:
        with self.lock:
            self.steps += 1
            return self.steps


@dataclass(slots=True, kw_only=True)
class Frame:
    """The call that code runs in, never changed.

    `deadlines` and `flights`: its own and those of everything it is nested in.
    """

    owner: object
    ticket: Ticket
    run: RunState | None
    site: Site
    deadlines: tuple[Deadline, ...]
    flights: tuple[Flight, ...]

    def remaining(self) -> float:
        """Seconds that this call and everything it is nested in have left."""
        return min((deadline.remaining() for deadline in self.deadlines), default=math.inf)

    def check(self) -> None:
        """Raises ToolUnavailable when a call that this code belongs to was given up: the rest of it does nothing."""
        if any(flight.ended for flight in self.flights):
            raise ToolUnavailable("the call that this one is nested in was given up: it was late, or was cancelled")


current_frame: ContextVar[Frame | None] = calling.current

# Loops that a synchronous call of ours blocks further up: whatever must be waited for there would never come.
held_loops: ContextVar[frozenset[asyncio.AbstractEventLoop]] = ContextVar("sutler_held_loops", default=frozenset())


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs on this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def being_cancelled() -> bool:
    """Whether somebody cancels the present task; a CancelledError else is one that the code there made up."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def holding_its_loop(work: Callable[[], T]) -> T:
    """Does what blocks this thread; if a loop runs on it, everything that happens meanwhile knows that it is held."""
    loop = running_loop()
    if loop is None:
        return work()
    token = held_loops.set(held_loops.get() | {loop})
    try:
        return work()
    finally:
        held_loops.reset(token)
