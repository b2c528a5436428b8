"""Running programs in a child process of their own, shut in as far as this machine can, and gone when it is over.

One job, one child: nothing of a job is left for the next, jobs run at once, and whatever a job started ends with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..errors import ToolCrashed
from .confine import Roots, WorkerLimits, confinement
from .flight import ending_with_call
from .network import cannot_cut_off
from .watchdog import Deadline
from .worker import Stopper, Worker

_ENTRY = f"{__package__}.command_child:entry"
_BACKSTOP = 5.0  # seconds after its own deadline that a child is given to say so


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One program: its argv, and where its streams go. stdin, stdout: files of the job's folder, None for the pipe.

    program: the file that is run, when it is not what argv[0] says. errors: "out" joins stderr to stdout, "null" drops
    it. feed: text that the program can read from the file whose number stands for the word {feed} in argv.
    """

    argv: tuple[str, ...]
    program: str | None = None
    stdin: str | None = None
    stdout: str | None = None
    append: bool = False
    errors: Literal["out", "null"] | None = None
    feed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One pipeline, in `cwd`, run always ("" and ";"), or when the one before succeeded ("&&") or failed ("||")."""

    stages: tuple[Stage, ...]
    cwd: str
    then: Literal["", "&&", "||", ";"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to run, and in what bounds. env: the whole environment. confine: None leaves files free.

    network: whether sockets may be opened. report: a program gets a file to write a report to ({report} in its argv).
    """

    steps: tuple[Step, ...]
    env: Mapping[str, str]
    seconds: float
    confine: Roots | None
    network: bool
    limits: WorkerLimits = field(default_factory=WorkerLimits)
    report: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a job. exit_code: of the last pipeline that ran; 128 + n for signal n, 127 for no such program."""

    exit_code: int
    stdout: str
    stderr: str
    timed_out: bool = False
    report: str = ""


def cannot_shut_in() -> str:
    """Why programs cannot be kept to folders and off the network on this machine; "" where they can."""
    offered = confinement()
    if not offered.workers:
        return "there are no worker processes on this platform"
    return offered.reason if not offered.landlock else cannot_cut_off()


def run_job(job: Job, *, cwd: Path) -> Outcome:
    """Runs it and waits; given up with the call that it belongs to. ToolUnavailable where no child can be started."""
    payload = {"confine": None if job.confine is None else asdict(job.confine), "network": job.network}
    sent: dict[str, Any] = {
        "steps": [asdict(step) for step in job.steps],
        "env": dict(job.env),
        "seconds": job.seconds,
        "output_bytes": job.limits.output_bytes,
        "report": job.report,
    }
    stopper = Stopper()
    with (
        Worker(_ENTRY, payload, limits=job.limits, env=(), name="commands") as worker,
        ending_with_call(lambda: stopper.stop("the call was given up")),
    ):
        try:
            reply = worker.call("run", sent, cwd=cwd, timeout=Deadline(job.seconds + _BACKSTOP), stopper=stopper)
        finally:
            worker.kill("its job is over")  # what runs in the background ends with it
    if reply["error"] is not None:
        raise ToolCrashed(f"the program could not be run: {reply['error']['type']}: {reply['error']['message']}")
    return Outcome(**reply["value"])
