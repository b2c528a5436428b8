"""What is left of a run to show: its calls with what they printed, and a run that Ctrl-C ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .context import Cli, failure_document
from .documents import TRACE, trace_document, trace_row
from .exits import INTERRUPTED
from .out import Out

if TYPE_CHECKING:
    from ..runtime import SyncRuntime
    from ..spec import TraceEntry
    from ..store import RunRecord

_PATIENCE = 2.0  # seconds for a run that was ended to be on record


def tell_calls(out: Out, entries: Sequence[TraceEntry], *, trace: bool) -> None:
    """On standard error: what tools printed, and with `trace` every call."""
    if trace and entries:
        out.table(TRACE, [trace_row(entry) for entry in entries], aside=True)
    if out.as_json and not trace:
        return  # the document has it
    for entry in entries:
        if entry.stdout and trace:
            out.say(f"printed in step {entry.step}:")
        out.printed(entry.stdout)


def tell_interrupted(cli: Cli, runtime: SyncRuntime, run_id: str, *, trace: bool, full: bool) -> int:
    """What the program printed until Ctrl-C ended it, and where the rest can be seen. Gives the exit code."""
    from .runs import entry_of

    record = _record(runtime, run_id)
    printed = record.stdout if record is not None else ""
    entries = [entry_of(step) for step in record.steps] if record is not None else []
    out = cli.out
    if out.as_json:
        steps = [trace_document(entry) for entry in entries]
        more = {"run_id": run_id, "stdout": printed, "trace": steps}
        out.document(failure_document("interrupted", "interrupted", more))
    elif printed:
        out.value(printed, full=full)
    tell_calls(out, entries, trace=trace)
    out.error("interrupted")
    if record is not None:
        out.note(f"see how far it went with `sutler runs show {run_id}`")
    return INTERRUPTED


def _record(runtime: SyncRuntime, run_id: str) -> RunRecord | None:
    """The run as it is on record once it has ended, or as it stands when that takes too long."""
    store = runtime.core.recorder.store
    until = time.monotonic() + _PATIENCE
    while True:
        record = store.run(run_id)
        if record is None or record.status != "running" or time.monotonic() >= until:
            return record
        time.sleep(0.02)
