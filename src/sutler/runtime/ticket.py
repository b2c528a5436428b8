"""One call in flight: what is known of it so far, and who may say how it ended."""

from __future__ import annotations

import itertools
import math
import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

from ..errors import ToolCallError
from ..inventory import Row
from ..spec import Decision, Repair, ToolCall, ToolSpec
from ..store import StepRecord
from ..workspace.flight import Flight
from ..workspace.watchdog import Deadline
from ..workspace.worker import Stopper
from .frames import Frame, RunState
from .sites import Site
from .tools import Tool

if TYPE_CHECKING:
    from opentelemetry.trace import Span

    from .places import Here

_PROCESS = os.urandom(6).hex()
_numbers = itertools.count(1)
NO_DECISION = Decision(outcome="allow", by="")


class Ticket:
    """Filled step by step by the pipeline. `claim` is won once: by whoever settles the call."""

    __slots__ = (
        "_settled",
        "began",
        "call",
        "call_id",
        "deadline",
        "decision",
        "error",
        "flight",
        "future",
        "granted",
        "host",
        "inner",
        "large",
        "line",
        "name",
        "notes",
        "parent",
        "program",
        "raw",
        "record",
        "repairs",
        "row",
        "run",
        "site",
        "sizable",
        "size",
        "span",
        "stdout",
        "step",
        "stopper",
        "tool",
        "value",
    )

    def __init__(
        self,
        name: str,
        raw: object,
        *,
        run: RunState | None,
        parent: Frame | None,
        host: Mapping[str, Any],
        site: Site,
        program: bool = False,
        line: int | None = None,
        row: Row | None = None,
    ) -> None:
        self.name = name
        self.raw = raw
        self.run = run
        self.parent = parent
        self.host = host
        self.site = site  # where it works
        self.program = program
        self.line = line
        self.row = row
        self.call_id = f"{_PROCESS}{next(_numbers):x}"  # a tenth of what a uuid costs
        self.step = 0
        self.began = time.monotonic()
        self.tool: Tool | None = None
        self.call: ToolCall | None = None
        self.decision: Decision = NO_DECISION
        self.repairs: tuple[Repair, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.error: ToolCallError | None = None
        self.granted = False  # by the person, for this very call
        self.stdout = ""
        self.large = False  # more than a model is shown at once
        self.sizable = False  # more than a trace can hold as it is
        self.size = 0  # of the output in bytes, about
        self.value: Any = None  # what a program gets of the result
        self.deadline: Deadline | None = None
        self.record: StepRecord | None = None
        self.flight = Flight()
        self.future: Future[Any] | Here | None = None  # what somebody waits for
        self.inner: Future[Any] | None = None  # what its own thread waits for: a coroutine that a sync tool gave back
        self.span: Span | None = None  # while an OpenTelemetry SDK is there
        self.stopper: Stopper | None = None  # of a call in a worker process
        self._settled = threading.Lock()

    def claim(self) -> bool:
        """True for the first caller only: it alone completes and records the call."""
        return self._settled.acquire(blocking=False)

    @property
    def settled(self) -> bool:
        return self._settled.locked()

    @property
    def flights(self) -> tuple[Flight, ...]:
        """This call and what it is nested in."""
        return (self.flight,) if self.parent is None else (*self.parent.flights, self.flight)

    @property
    def spec(self) -> ToolSpec:
        assert self.tool is not None, "the name has not been looked up"
        return self.tool.spec

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.call.arguments if self.call is not None else {}

    @property
    def shown_arguments(self) -> Mapping[str, Any]:
        """For the record: the effective arguments, else, for a call that did not get that far, what was sent."""
        if self.call is not None:
            return self.call.arguments
        raw: Any = self.raw
        if self.program:
            positional, keywords = raw
            return {**{str(number): value for number, value in enumerate(positional)}, **keywords}
        if isinstance(raw, Mapping):
            return cast("Mapping[str, Any]", raw)
        return {} if raw is None else {"arguments": raw}

    @property
    def due(self) -> float:
        return self.deadline.due if self.deadline is not None else math.inf

    def deadlines(self) -> tuple[Deadline, ...]:
        """Everything that must stand still while a person is asked: this call, its run, and what they are nested in."""
        found = [] if self.deadline is None else [self.deadline]
        if self.run is not None:
            found.append(self.run.deadline)
        if self.parent is not None:
            found.extend(self.parent.deadlines)
        return tuple(found)

    def paused(self) -> ExitStack:
        stack = ExitStack()
        for deadline in self.deadlines():
            stack.enter_context(deadline.pause())
        return stack
