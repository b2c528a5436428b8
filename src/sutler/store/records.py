"""What a store keeps: one record per run and one per call; and the protocol every store follows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..spec import Decision, FailureKind, Grade, Repair, RunError, RunStatus

if TYPE_CHECKING:
    from .audit import AuditFilter, AuditRecord
    from .pins import PinRecord

StoredStatus = RunStatus | Literal["running"]


@dataclass(slots=True, kw_only=True)
class StepRecord:
    """One call. The same object is handed to `step_started` and, filled in, to `step_done`.

    run_id: None for a direct call. at: seconds since the epoch. duration: seconds. line: of the program.
    writes: the call may change something, so its rows are written before the call runs and before its result is used.
    schema: the tool's input schema, for masking; not stored.
    replayable: False when the stored arguments or result are not what the call really had (a secret, no plain data).
    key, size: a store's own name for the row and its guess at the result's bytes; nobody else sets them.
    """

    tool: str
    source: str
    args: Mapping[str, Any]
    digest: str = ""
    run_id: str | None = None
    step: int = 0
    line: int | None = None
    writes: bool = True
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    state: Literal["started", "done"] = "started"
    result: Any = None
    stdout: str = ""
    success: bool | None = None
    error: str | None = None
    kind: FailureKind | None = None
    duration: float = 0.0
    decision: Decision | None = None
    repairs: Sequence[Repair] = ()
    replayable: bool = True
    at: float = field(default_factory=time.time)
    key: str = ""
    size: int = 0


@dataclass(slots=True, kw_only=True)
class RunRecord:
    """One program run. names: {name in the program: (source, tool, digest)}. started, ended: seconds since the epoch.

    waiting: what the person is asked, of a run that waits. steps: filled by `Store.run` only. missing: steps that a
    bounded store has let go.
    """

    run_id: str
    program: str
    params: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    level: str = "program"
    status: StoredStatus = "running"
    output: Any = None
    error: RunError | None = None
    stdout: str = ""
    variables: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    grade: Grade | None = None
    started: float = field(default_factory=time.time)
    ended: float | None = None
    names: Mapping[str, tuple[str, str, str]] = field(default_factory=lambda: dict[str, tuple[str, str, str]]())
    snapshot: bytes | None = field(default=None, repr=False)
    waiting: Mapping[str, Any] | None = None
    replayable: bool = True
    steps: Sequence[StepRecord] = ()
    missing: int = 0


class Masks(Protocol):
    """What a store asks of a masker; policy.masking.Masker is one."""

    def arguments(self, args: Mapping[str, Any], schema: Mapping[str, Any] | None = None) -> Mapping[str, Any]: ...
    def value(self, value: Any) -> Any: ...
    def step(
        self, args: Mapping[str, Any], result: Any, schema: Mapping[str, Any] | None = None
    ) -> tuple[Mapping[str, Any], Any, bool]: ...


class Store(Protocol):
    """Keeps runs, calls and events. Every method may be called from any thread; StoreError says what went wrong."""

    @property
    def trouble(self) -> str | None:
        """What `doctor` shows: rows that wait because they cannot be written, or rows a bounded store let go."""
        ...

    def begin_run(self, run: RunRecord) -> None: ...
    def finish_run(self, run: RunRecord) -> None: ...

    def claim_run(self, run_id: str) -> bool:
        """Makes a waiting run a running one; False when it does not wait. Of several who try, one gets it."""
        ...

    def step_started(self, step: StepRecord) -> None:
        """Before a call runs. When this raises StoreError the call must not run."""
        ...

    def step_done(self, step: StepRecord) -> None: ...
    def event(self, kind: str, payload: Mapping[str, Any], *, durable: bool = True) -> None:
        """A line of the audit log beside those of calls and runs. durable: on the disk when this returns."""
        ...

    def runs(self, limit: int = 20, status: StoredStatus | None = None) -> list[RunRecord]:
        """Newest first, without their steps."""
        ...

    def run(self, run_id: str) -> RunRecord | None:
        """One run with its steps in order, or None."""
        ...

    def direct(self, limit: int = 100) -> list[StepRecord]:
        """Calls outside any run, newest first."""
        ...

    def audit(self, which: AuditFilter, limit: int = 100) -> list[AuditRecord]:
        """Lines of the audit log, newest first: of calls, runs and events."""
        ...

    def pin(self, pins: Sequence[PinRecord]) -> None:
        """Keep these definitions: one that is not accepted only where none is kept. On the disk when this returns."""
        ...

    def pins(self) -> list[PinRecord]: ...

    def close(self) -> None:
        """Write whatever waits. StoreError says how much could not be written. Closing twice is fine."""
        ...


def masked_step(step: StepRecord, masks: Masks | None) -> tuple[Mapping[str, Any], Any, str | None, bool]:
    """(args, result, error, replayable) as they may be kept."""
    if masks is None:
        return step.args, step.result, step.error, step.replayable
    args, (result, error), held = masks.step(step.args, (step.result, step.error), step.schema)
    return args, result, error, step.replayable and not held


def masked_run(run: RunRecord, masks: Masks | None) -> RunRecord:
    """A copy as it may be kept. A program or parameters that held a secret cannot be replayed."""
    if masks is None:
        return replace(run)
    program, params = masks.value(run.program), masks.arguments(run.params)
    error = run.error
    if error is not None:
        error = replace(error, message=masks.value(error.message), traceback=masks.value(error.traceback))
    return replace(
        run,
        program=program,
        params=params,
        output=masks.value(run.output),
        error=error,
        stdout=masks.value(run.stdout),
        variables=masks.arguments(run.variables),
        waiting=masks.value(run.waiting),
        replayable=run.replayable and program is run.program and params is run.params,
    )
