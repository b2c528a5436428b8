"""`sutler runs`: what has been run here, and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import typer

from ..spec import TraceEntry
from ..store import RunRecord, SqliteStore, StepRecord
from .context import Cli
from .documents import TRACE, error_document, grade_document, trace_document, trace_row
from .exits import OK, Refused
from .text import first_line, lasting, when

T = TypeVar("T")

Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="How many at most.")]
Status = Annotated[
    Literal["running", "waiting", "completed", "failed", "cancelled"] | None,
    typer.Option("--status", help="Only those that stand so.", show_default=False),
]
Calls = Annotated[bool, typer.Option("--calls", help="The single calls instead, made outside any program.")]


def list_runs(cli: Cli, limit: Limit = 20, status: Status = None, calls: Calls = False) -> int:
    """List the runs of this project, newest first."""
    if calls and status is not None:
        raise Refused("--calls and --status exclude each other: single calls have no status")
    if calls:
        return _list_calls(cli, read_store(cli, lambda store: store.direct(limit), []))
    runs = read_store(cli, lambda store: store.runs(limit, status), [])
    if cli.out.as_json:
        cli.out.document({"runs": [_run_document(run) for run in runs], "store": str(cli.store_path())})
        return OK
    cli.out.table(
        ("id", "when", "status", "time", "program"),
        [(run.run_id, when(run.started), run.status, _lasted(run), first_line(run.program, 80)) for run in runs],
    )
    if not runs:
        cli.out.say(f"nothing has been run here yet ({cli.store_path()})")
    return OK


def show(
    cli: Cli,
    run_id: Annotated[
        str, typer.Argument(metavar="ID", help="The run or the call, or how its id begins.", show_default=False)
    ],
) -> int:
    """Show one run: its program, parameters, calls and output. Or one call that was made outside any program."""
    run = read_store(cli, lambda store: _find(store, run_id), None)
    call = read_store(cli, lambda store: _find_call(store, run_id), None) if run is None else None
    if call is not None:
        return _show_call(cli, call)
    if run is None:
        raise Refused(f"there is no run {run_id!r} of this project; `sutler runs` lists them")
    steps = [entry_of(step) for step in run.steps]
    if cli.out.as_json:
        cli.out.document(
            {
                **_run_document(run),
                "params": dict(run.params),
                "output": run.output,
                "stdout": run.stdout,
                "variables": dict(run.variables),
                "trace": [{**trace_document(step), "run_id": run.run_id} for step in steps],
                "missing": run.missing,
            }
        )
        return OK
    out = cli.out
    out.line(f"{run.run_id}  {run.status}  {when(run.started)}  {_lasted(run)}".rstrip())
    if run.grade is not None:
        out.line(f"grade {run.grade}, level {run.level}")
    out.line()
    for number, line in enumerate(run.program.rstrip("\n").split("\n"), start=1):
        out.line(f"{number:4}  {line}")
    for title, value in (("Parameters", dict(run.params)), ("Variables", dict(run.variables))):
        if value:
            out.line()
            out.line(title)
            out.value(value)
    if steps:
        out.line()
        out.table(TRACE, [trace_row(step) for step in steps])
        for step in steps:
            if step.stdout:
                out.line()
                out.line(f"Printed in step {step.step}")
                out.value(step.stdout)
    if run.stdout:
        out.line()
        out.line("Printed")
        out.value(run.stdout)
    if run.output is not None:
        out.line()
        out.line("Output")
        out.value(run.output)
    if run.error is not None:
        out.line()
        out.line(f"Error: {run.error}")
    if not run.replayable:
        out.note("a secret was masked, or a value could not be kept as it was: this run cannot be replayed")
    return OK


def read_store(cli: Cli, look: Callable[[SqliteStore], T], otherwise: T) -> T:
    """What the project's store says; `otherwise` while nothing has been written. Looking must not make one."""
    path = cli.store_path()
    if not path.exists():
        return otherwise
    store = SqliteStore(path)
    try:
        return look(store)
    finally:
        store.close()


def _find(store: SqliteStore, run_id: str) -> RunRecord | None:
    """The run of an id, or the only one whose id begins so."""
    found = store.run(run_id)
    if found is not None or not run_id:
        return found
    likely = [run.run_id for run in store.runs(sys.maxsize) if run.run_id.startswith(run_id)]
    if len(likely) > 1:
        raise Refused(f"{len(likely)} runs begin with {run_id!r}: {', '.join(likely[:5])}")
    return store.run(likely[0]) if likely else None


def _find_call(store: SqliteStore, key: str) -> StepRecord | None:
    """The single call of an id, or the only one whose id begins so."""
    found = [step for step in store.direct(sys.maxsize) if key and step.key.startswith(key)]
    if len(found) > 1:
        raise Refused(f"{len(found)} calls begin with {key!r}: {', '.join(step.key for step in found[:5])}")
    return found[0] if found else None


def _show_call(cli: Cli, step: StepRecord) -> int:
    entry = entry_of(step)
    out = cli.out
    if out.as_json:
        out.document(_call_document(step))
        return OK
    out.line(f"{step.key}  {when(step.at)}  {lasting(step.duration)}")
    out.line(f"{step.source}::{step.tool}" if step.source else step.tool)
    parts = [("Arguments", dict(step.args)), ("Printed", step.stdout or None), ("Output", step.result)]
    for title, value in parts:
        if value is not None:
            out.line()
            out.line(title)
            out.value(value)
    if not entry.success:
        out.line()
        out.line(f"Error: {entry.kind}: {entry.error}")
    return OK


def _call_document(step: StepRecord) -> dict[str, Any]:
    return {"id": step.key, **trace_document(entry_of(step)), "at": step.at, "state": step.state}


def _list_calls(cli: Cli, steps: list[StepRecord]) -> int:
    if cli.out.as_json:
        cli.out.document({"calls": [_call_document(step) for step in steps]})
        return OK
    cli.out.table(
        ("id", "when", *TRACE[2:]),
        [(step.key, when(step.at), *trace_row(entry_of(step))[2:]) for step in steps],
    )
    if not steps:
        cli.out.say(f"no tool has been called here yet ({cli.store_path()})")
    return OK


def entry_of(step: StepRecord) -> TraceEntry:
    """A stored call as a line of a trace. One that never ended has no success."""
    ended = step.state == "done"
    return TraceEntry(
        step=step.step,
        tool=step.tool,
        source=step.source,
        args=step.args,
        result=step.result,
        duration=step.duration,
        success=bool(step.success),
        error=step.error if ended else "it was started, and never ended",
        kind=step.kind if ended else "crashed",
        repairs=step.repairs,
        decision=step.decision,
        line=step.line,
        run_id=step.run_id,
        stdout=step.stdout,
    )


def _run_document(run: RunRecord) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "status": run.status,
        "started": run.started,
        "ended": run.ended,
        "level": run.level,
        "program": run.program,
        "error": error_document(run.error),
        "grade": None if run.grade is None else grade_document((run.grade.w, run.grade.d)),
        "replayable": run.replayable,
    }


def _lasted(run: RunRecord) -> str:
    return "" if run.ended is None else lasting(run.ended - run.started)
