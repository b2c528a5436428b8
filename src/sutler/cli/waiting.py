"""Runs that wait for a person: finding one, letting it go on, ending it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ..store import RunRecord
from .context import Cli
from .exits import OK, Refused
from .ran import Program, tell_run
from .runs import read_store

if TYPE_CHECKING:
    from ..policy.answers import Answer
    from ..runtime.resume import PersonsAnswer

RunId = Annotated[
    str, typer.Argument(metavar="RUN", help="The run that waits, or how its id begins.", show_default=False)
]
Trace = Annotated[bool, typer.Option("--trace", help="Show every call of the run on standard error.")]
Full = Annotated[bool, typer.Option("--full", help="Show a long output whole on a terminal.")]


def resume(cli: Cli, run_id: RunId, trace: Trace = False, full: Full = False) -> int:
    """Let a run go on that waits for a person. At a terminal you are asked; without one it goes on when the call it
    waits at has been allowed meanwhile, by policy or a standing approval, and else waits on."""
    return let_go_on(cli, the_waiting(cli, run_id), "ask", asks=True, trace=trace, full=full)


def cancel(cli: Cli, run_id: RunId) -> int:
    """End a run that waits for a person; none of the rest of it happens."""
    run = the_waiting(cli, run_id)
    cli.open(quiet=True).core.runs.cancel_waiting(run.run_id)
    if cli.out.as_json:
        cli.out.document({"run_id": run.run_id, "status": "cancelled"})
    else:
        cli.out.line(f"{run.run_id} is cancelled")
    return OK


def let_go_on(
    cli: Cli, run: RunRecord, answer: PersonsAnswer | Answer, *, asks: bool, trace: bool, full: bool, reason: str = ""
) -> int:
    """Resumes a run with a person's answer and says what came of it, as `sutler run` does."""
    runtime = cli.open(runs=True, asks=asks)
    assert cli.progress is not None
    cli.progress.start()
    try:
        result = runtime.resume(run.run_id, answer, reason=reason)
    finally:
        cli.progress.stop()
    program = Program(text=run.program, name=f"run {run.run_id}")
    return tell_run(cli, program, result, (), 0, trace=trace, full=full)


def the_waiting(cli: Cli, run_id: str) -> RunRecord:
    """The waiting run of an id, or the only one whose id begins so. Refused when there is none."""
    found = waiting_like(cli, run_id)
    if len(found) > 1:
        raise Refused(f"{len(found)} waiting runs begin with {run_id!r}: {', '.join(one.run_id for one in found[:5])}")
    if not found:
        known = read_store(cli, lambda store: store.run(run_id), None)
        if known is not None:
            raise Refused(f"run {run_id} does not wait for anybody: its status is {known.status}")
        raise Refused(f"there is no waiting run {run_id!r} of this project; `sutler approvals` lists them")
    return found[0]


def waiting_like(cli: Cli, start: str) -> list[RunRecord]:
    """The waiting runs whose id begins so; that of exactly this id alone."""
    runs = [run for run in waiting_runs(cli) if start and run.run_id.startswith(start)]
    return next(([run] for run in runs if run.run_id == start), runs)


def waiting_runs(cli: Cli) -> list[RunRecord]:
    return read_store(cli, lambda store: store.runs(sys.maxsize, "waiting"), [])
