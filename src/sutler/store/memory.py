"""The store of a library user who asked for none: a bounded ring in memory, nothing on disk."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from threading import Lock
from typing import Any, cast

from .audit import AuditFilter, AuditRecord, line_of_step, lines_of_run
from .pins import PinRecord
from .records import Masks, RunRecord, StepRecord, StoredStatus, masked_run, masked_step

_KEPT = "kept"


class MemoryStore:
    """The last `steps` calls, `runs` runs and `events` events, and at most about `megabytes` of results.

    Records are kept as they are handed over and are masked and copied when read, so that a call pays next to nothing.
    What a caller changes in a result afterwards therefore shows. The oldest go first; `trouble` counts them.
    """

    def __init__(
        self,
        *,
        masks: Masks | None = None,
        steps: int = 1_000,
        runs: int = 100,
        events: int = 1_000,
        megabytes: int = 64,
    ) -> None:
        self._masks = masks
        self._most_steps, self._most_runs, self._most_bytes = steps, runs, megabytes * 1_000_000
        self._lock = Lock()
        self._steps: deque[StepRecord] = deque()
        self._bytes = 0
        self._runs: OrderedDict[str, RunRecord] = OrderedDict()  # a dict is slow to give up its oldest
        self._events: deque[tuple[float, str, Mapping[str, Any]]] = deque(maxlen=events)
        self._gone: Counter[str | None] = Counter()
        self._pins: dict[tuple[str, str], PinRecord] = {}

    @property
    def trouble(self) -> str | None:
        gone = self._gone.total()
        return (
            f"{gone} older calls are no longer kept in memory; open the runtime with store=PATH to keep all"
            if gone
            else None
        )

    def begin_run(self, run: RunRecord) -> None:
        with self._lock:
            self._runs.pop(run.run_id, None)  # begun again: newest
            self._runs[run.run_id] = run
            while len(self._runs) > self._most_runs:
                oldest, _ = self._runs.popitem(last=False)
                self._gone[None] += self._gone.pop(oldest, 0)

    def finish_run(self, run: RunRecord) -> None:
        with self._lock:
            self._runs[run.run_id] = run

    def claim_run(self, run_id: str) -> bool:
        with self._lock:
            run = self._runs.get(run_id)
            if run is None or run.status != "waiting":
                return False
            self._runs[run_id] = replace(run, status="running")
            return True

    def step_started(self, step: StepRecord) -> None:
        step.key = _KEPT
        with self._lock:
            self._steps.append(step)
            if len(self._steps) > self._most_steps or self._bytes > self._most_bytes:
                self._forget_oldest()

    def step_done(self, step: StepRecord) -> None:
        step.state = "done"
        size = rough_size(step.result)
        if size < 1_000:
            return
        with self._lock:
            if step.key != _KEPT:
                return  # the ring let go of it while it ran
            step.size = size
            self._bytes += size
            while self._bytes > self._most_bytes and len(self._steps) > 1:
                self._forget_oldest()

    def event(self, kind: str, payload: Mapping[str, Any], *, durable: bool = True) -> None:
        with self._lock:
            self._events.append((time.time(), kind, payload))

    def runs(self, limit: int = 20, status: StoredStatus | None = None) -> list[RunRecord]:
        with self._lock:
            wanted = [run for run in reversed(self._runs.values()) if status is None or run.status == status]
        return [masked_run(run, self._masks) for run in wanted[:limit]]

    def run(self, run_id: str) -> RunRecord | None:
        with self._lock:
            run = self._runs.get(run_id)
            steps = [step for step in self._steps if step.run_id == run_id]
            missing = self._gone[run_id]
        if run is None:
            return None
        steps.sort(key=lambda step: step.step)
        return replace(masked_run(run, self._masks), steps=[self._shown_step(step) for step in steps], missing=missing)

    def direct(self, limit: int = 100) -> list[StepRecord]:
        with self._lock:
            wanted = list(islice((step for step in reversed(self._steps) if step.run_id is None), limit))
        return [self._shown_step(step) for step in wanted]

    def audit(self, which: AuditFilter, limit: int = 100) -> list[AuditRecord]:
        """Made from what is kept of calls and runs when somebody asks: a call pays nothing for it."""
        with self._lock:
            steps, runs, events = list(self._steps), list(self._runs.values()), list(self._events)
        lines = [_line_of_event(*event, self._masks) for event in events]
        for step in steps:
            args, _, error, _ = masked_step(step, self._masks)
            lines.append(line_of_step(step, args, error))
        for run in runs:
            lines.extend(lines_of_run(masked_run(run, self._masks)))
        found = sorted(filter(which.takes, lines), key=lambda line: line.at, reverse=True)
        return found[:limit]

    def pin(self, pins: Sequence[PinRecord]) -> None:
        with self._lock:
            for pin in pins:
                if pin.accepted:
                    self._pins[pin.source, pin.tool] = pin
                else:
                    self._pins.setdefault((pin.source, pin.tool), pin)

    def pins(self) -> list[PinRecord]:
        with self._lock:
            return list(self._pins.values())

    def close(self) -> None:
        """Nothing waits."""

    def _forget_oldest(self) -> None:
        oldest = self._steps.popleft()
        self._bytes -= oldest.size
        oldest.key = ""
        self._gone[oldest.run_id] += 1

    def _shown_step(self, step: StepRecord) -> StepRecord:
        args, result, error, replayable = masked_step(step, self._masks)
        return replace(
            step,
            args=args,
            result=result,
            error=error,
            replayable=replayable,
            stdout=step.stdout if self._masks is None else self._masks.value(step.stdout),
        )


def _line_of_event(at: float, kind: str, payload: Mapping[str, Any], masks: Masks | None) -> AuditRecord:
    data = dict(payload if masks is None else masks.arguments(payload))
    return AuditRecord(kind=kind, at=at, tool=str(data.pop("tool", "")), run_id=data.pop("run_id", None), data=data)


def rough_size(value: Any, depth: int = 4) -> int:
    """About how many bytes a value holds, from a few samples of each container; cheap rather than right."""
    if isinstance(value, (str, bytes, bytearray)):
        return len(value)
    if not isinstance(value, (Mapping, list, tuple, set, frozenset)) or depth == 0:
        return 32
    items = cast(list[Any], value.values() if isinstance(value, Mapping) else value)
    samples = [rough_size(item, depth - 1) + 16 for item in islice(items, 8)]
    return sum(samples) * len(items) // len(samples) if samples else 32
