"""One record per call and run: in the run's trace, and in the store."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import ClosedError, StoreError, ToolUnavailable
from ..policy.literals import hide_literals
from ..policy.masking import MASK, Masker, Secrets
from ..results import bounded
from ..spec import Repair, RunResult, ToolResult, TraceEntry
from ..store import Keep, MemoryStore, RunRecord, SqliteStore, StepRecord, Store
from .seal import Seal
from .ticket import NO_DECISION, Ticket

if TYPE_CHECKING:
    from .core import Core
    from .frames import RunState
    from .runs import Going

_TROUBLE = (StoreError, ClosedError)  # a call may end after its runtime was closed


class Recorder:
    """Writes what happened. `blocks`: whether writing may touch the disk, and so must stay off event loops."""

    def __init__(self, core: Core) -> None:
        self.secrets = Secrets(core.settings.config.secrets)
        self.masker = Masker(self.secrets)
        self.typed = Secrets()  # what the person typed when a tool asked for a secret: nobody outside a tool sees it
        self._outward = Masker(self.typed)
        self.store = _open(core.options.store, self.masker, core.settings.config.store)
        self.trouble: str | None = None
        self.blocks = not isinstance(self.store, MemoryStore)

    def blocks_for(self, ticket: Ticket) -> bool:
        """Whether writing down what happens to this call may: a read's rows are written later, by a thread."""
        store = self.store
        if not self.blocks:
            return False
        reads = ticket.tool is not None and ticket.spec.read_only and not ticket.sizable
        return not (reads and isinstance(store, SqliteStore) and store.queues())

    @cached_property
    def seal(self) -> Seal:
        """Made at the first run that waits."""
        return Seal(on_disk=self.blocks)

    def started(self, ticket: Ticket) -> None:
        """Before a call runs. Raises ToolUnavailable when a call that may write cannot be put on record."""
        call, run = ticket.call, ticket.run
        assert call is not None
        spec = call.spec
        ticket.record = record = StepRecord(
            tool=spec.name,
            source=spec.origin.source,
            args=call.arguments,
            digest=spec.digest if self.blocks else "",
            run_id=run.run_id if run is not None else None,
            step=ticket.step,
            line=ticket.line,
            writes=not spec.read_only,
            schema=spec.input_schema,
            decision=ticket.decision,
            repairs=ticket.repairs,
            at=time.time() - (time.monotonic() - ticket.began),
        )
        try:
            self.store.step_started(record)
        except _TROUBLE as error:
            record.writes = False  # nothing was: its end may be written whenever the store can be
            raise ToolUnavailable(
                f"{spec.qualified} was not run, because it could not be put on record: {error}"
            ) from error

    def done(self, ticket: Ticket, result: ToolResult) -> None:
        """When a call has ended, or was refused. A result that cannot be stored is not lost: the store says so."""
        record = ticket.record
        try:
            if record is None:
                record = self._refused(ticket)
                self.store.step_started(record)
            record.result = result.output
            record.stdout = result.stdout
            record.success = result.success
            record.duration = result.duration
            if result.error is not None:
                record.error, record.kind = result.error.message, result.error.kind
            record.decision = ticket.decision if ticket.decision is not NO_DECISION else None
            if ticket.run is not None:
                # small values wait to be pictured until the run is over, and somebody looks
                ticket.run.trace.append(self.entry(record) if ticket.sizable else record)
            self.store.step_done(record)
        except _TROUBLE as error:
            self.trouble = str(error)

    def _refused(self, ticket: Ticket) -> StepRecord:
        """A call that never ran has no `started` row: one is made now, read-only because nothing happened."""
        tool, run = ticket.tool, ticket.run
        ticket.record = record = StepRecord(
            tool=tool.spec.name if tool is not None else ticket.name,
            source=tool.spec.origin.source if tool is not None else "",
            args=ticket.shown_arguments,
            run_id=run.run_id if run is not None else None,
            step=ticket.step,
            line=ticket.line,
            writes=False,
            schema=tool.spec.input_schema if tool is not None else None,
            repairs=ticket.repairs,
            at=time.time() - (time.monotonic() - ticket.began),
        )
        return record

    def trace(self, items: Sequence[TraceEntry | StepRecord]) -> tuple[TraceEntry, ...]:
        """A run's trace in the order of its steps."""
        entries = [item if isinstance(item, TraceEntry) else self.entry(item) for item in items]
        return tuple(sorted(entries, key=lambda entry: entry.step))

    def entry(self, record: StepRecord) -> TraceEntry:
        """One call as a trace shows it: bounded, secrets masked (PRG-10)."""
        args, shown, held = self.masker.step(record.args, record.result, record.schema)
        return TraceEntry(
            step=record.step,
            tool=record.tool,
            source=record.source,
            args=bounded(args),
            result=bounded(shown),
            duration=record.duration,
            success=bool(record.success),
            error=self.masker.value(record.error) if record.error is not None else None,
            kind=record.kind,
            repairs=self._masked_repairs(record.repairs, held),
            decision=record.decision,
            line=record.line,
            run_id=record.run_id,
            stdout=bounded(self.masker.value(record.stdout)) if record.stdout else "",
        )

    def _masked_repairs(self, repairs: Sequence[Repair], held: bool) -> Sequence[Repair]:
        """A repair shows a value before and after, so it may show a secret."""
        if not held:
            return repairs
        return tuple(replace(repair, before="***", after="***") for repair in repairs)

    def run_begun(self, going: Going, resumed: RunRecord | None) -> None:
        """resumed: the record of a run that waited, whose claim has put it on record already."""
        state = going.state
        if resumed is not None:
            going.record = replace(resumed, status="running", steps=())
            return
        program = self._without_secrets(going)
        going.record = RunRecord(
            run_id=state.run_id,
            program=program,
            replayable=program == going.text and MASK not in program,  # it may have been stored before
            params=going.inputs,
            level=going.level,
            names=self._names(going),
        )
        self._keep(self.store.begin_run, going.record)

    def _without_secrets(self, going: Going) -> str:
        """The program as it is kept: secrets that stand in it are hidden, and from now on masked where they turn up."""
        from ..programs.signatures import program_row

        tools: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}
        for name in going.checked.tools:
            row = program_row(going.state.inventory, name)
            if row is not None:
                order = tuple(row.spec.input_schema.get("properties") or ())
                tools[name] = (order, self.masker.secret_names(order, row.spec.input_schema))
        text, values = hide_literals(going.text, tools)
        self.hide(going.state, values)
        return self.masker.value(text)

    def hide(self, state: RunState, values: Iterable[str]) -> None:
        """From now on these are masked: they stood in a program."""
        state.secrets = state.secrets.union(values)
        for value in values:
            self.secrets.register(value)

    def _names(self, going: Going) -> Mapping[str, tuple[str, str, str]]:
        """What each name of the program means; digests only where the run may outlive the process."""
        if not self.blocks and going.state.on_ask != "wait":
            return {}
        from ..programs.signatures import program_row

        found: dict[str, tuple[str, str, str]] = {}
        for name in sorted(going.checked.tools):
            row = program_row(going.state.inventory, name)
            if row is not None:
                found[name] = (row.spec.origin.source, row.spec.name, row.spec.digest)
        return found

    def run_ended(self, going: Going, result: RunResult, snapshot: bytes | None) -> None:
        record = going.record
        assert record is not None
        record.status = result.status
        record.output, record.error, record.stdout = result.output, result.error, result.stdout
        record.variables, record.grade = result.variables, result.grade
        record.program = self.masker.value(record.program)  # as it is stored, for that is what is sealed
        record.snapshot = (
            None if snapshot is None else self.seal.close(record.run_id, record.program, snapshot, going.state.secrets)
        )
        record.waiting = result.waiting
        record.ended = time.time()
        self._keep(self.store.finish_run, record)

    def run_rejected(self, text: str, params: Mapping[str, Any], level: str, result: RunResult) -> None:
        """A program that the check refused is on record too."""
        record = RunRecord(run_id=result.run_id, program=text, params=dict(params), level=level)
        self._keep(self.store.begin_run, record)
        record.status, record.error, record.ended = result.status, result.error, record.started
        self._keep(self.store.finish_run, record)

    def outward(self, result: ToolResult) -> ToolResult:
        """A call's result for whoever is not a tool, and may be a model: without what the person typed as a secret."""
        if self.typed.pattern is None:
            return result
        mask, error = self._outward.value, result.error
        return replace(
            result,
            output=mask(result.output),
            error=None if error is None else replace(error, message=mask(error.message)),
            content=mask(result.content),
            extra=mask(result.extra),
            prompt_injection=mask(result.prompt_injection),
            context_files=mask(result.context_files),
            notes=mask(result.notes),
            stdout=mask(result.stdout),
            traceback=mask(result.traceback),
            wire=mask(result.wire),
        )

    def outward_value(self, value: Any) -> Any:
        return self._outward.value(value)

    def outward_run(self, result: RunResult) -> RunResult:
        """The same for a run's."""
        if self.typed.pattern is None:
            return result
        mask, error = self._outward.value, result.error
        if error is not None:
            error = replace(error, message=mask(error.message), traceback=mask(error.traceback))
        return replace(
            result,
            output=mask(result.output),
            error=error,
            stdout=mask(result.stdout),
            variables=mask(result.variables),
        )

    def audit(self, kind: str, data: Mapping[str, Any], *, durable: bool = False) -> None:
        """A line of the audit log. Unless durable it is written a moment later, so that a loop may call this."""
        said = {name: value for name, value in data.items() if value is not None and value != ""}
        try:
            self.store.event(kind, said, durable=durable)
        except _TROUBLE as error:
            self.trouble = str(error)

    def runs(self, limit: int) -> list[RunRecord]:
        return self.store.runs(limit)

    def _keep(self, write: Any, record: RunRecord) -> None:
        try:
            write(record)
        except _TROUBLE as error:
            self.trouble = str(error)

    def close(self) -> None:
        self.store.close()


def _open(given: Any, masker: Masker, keep: Keep) -> Store:
    if given is None:
        return MemoryStore(masks=masker)
    if isinstance(given, str | os.PathLike):
        return SqliteStore(Path(cast("str", given)), masks=masker, keep=keep)
    return given
