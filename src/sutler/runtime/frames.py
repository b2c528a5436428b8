"""Who is calling: the frame of the call or run that the present code belongs to, carried by context.

A tool that calls back into its runtime, by whatever road, is recognised here, so that nested calls share the limits of
what they are nested in.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import LimitExceeded
from ..inventory import Inventory
from ..spec import TraceEntry
from ..store import StepRecord
from ..workspace.watchdog import Deadline

if TYPE_CHECKING:
    from .batches import Batch


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
    inventory: Inventory
    budget: CallBudget
    deadline: Deadline
    compute_seconds: float
    on_ask: str = "reject"
    held: frozenset[str] = frozenset()  # names of a stored run whose tools are not what they were
    trace: list[TraceEntry | StepRecord] = field(default_factory=lambda: list[TraceEntry | StepRecord]())
    steps: int = 0
    batch: Batch | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_step(self) -> int:
        with self.lock:
            self.steps += 1
            return self.steps


@dataclass(slots=True, kw_only=True)
class Frame:
    """The call that code runs in, never changed. `deadlines`: its own and those of everything it is nested in."""

    owner: object
    call_id: str
    run: RunState | None
    deadlines: tuple[Deadline, ...]
    on_thread: bool


current_frame: ContextVar[Frame | None] = ContextVar("sutler_frame", default=None)
