"""Shell commands: harmless ones run shut in and unasked, all others when the person allows them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sutler import tool
from sutler.data.gate import Gate, Handler, Refused
from sutler.data.outcomes import readable_roots, seconds_of, settings_of, told
from sutler.data.shell.judge import SYSTEM_PATH, inside_folder, judge
from sutler.data.shell.words import NotUnderstood
from sutler.workspace import held
from sutler.workspace.commands import Job, Stage, Step, cannot_shut_in, run_job
from sutler.workspace.confine import Roots, WorkerLimits, confinement
from sutler.workspace.network import cannot_cut_off
from sutler.workspace.worker import basic_environment

TOOL_LIBRARY_NAME = "Shell"
TOOL_LIBRARY_DESC = "Runs shell commands in the workspace. What only reads there runs at once; all else asks."
TOOL_LIBRARY_ICON = "🐚"
TOOL_LIBRARY_ALIASES = ("shell", "bash", "terminal")

OUTPUT_BYTES = 200_000
HARMLESS = WorkerLimits(memory_mb=1_024, open_files=256, file_mb=256, output_bytes=OUTPUT_BYTES)
ALLOWED = WorkerLimits(memory_mb=None, open_files=None, file_mb=None, output_bytes=OUTPUT_BYTES)
ENVIRONMENT = {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8", "TERM": "dumb"}

_gate = Gate("system_shell")
_environment: tuple[str, ...] = ()


def init_tools_library(config: Mapping[str, Any] | None = None) -> None:
    """autonomy_level; env: names of the host's variables that allowed commands get beside PATH, HOME and the like."""
    global _gate, _environment
    settings = settings_of("system_shell", config, {"env": list})
    _environment = tuple(str(name) for name in settings.get("env", ()))
    _gate = _gate.configured(config)


def set_confirm_handler(handler: Handler | None) -> None:
    global _gate
    _gate = Gate(_gate.stem, _gate.level, handler)


@tool(
    title="Run a shell command",
    read_only=False,
    destructive=True,
    open_world=True,
    asks_itself=True,
    confirm_with="command",
    timeout=660,
)
def tool_execute_shell_command(
    command: str, folder: str = ".", seconds: int = 60, handles: list[str] | None = None
) -> dict[str, Any]:
    """
    Runs a shell command in the workspace and gives exit_code, stdout and stderr.

    Commands that only read files of the workspace (ls, cat, grep, find, head, wc, sort, sed -n, ...), also piped, run
    at once. Everything else is put to the person first: keep such commands short and of one purpose.

    Args:
        command (str): The command line.
        folder (str): The folder to run it in, relative to the workspace.
        seconds (int): It is stopped after so many seconds, at most 600.
        handles (list): Handles of secrets, such as secret:github_token; the command finds each in the variable
            SECRET_<NAME>, here SECRET_GITHUB_TOKEN. Such a command is always put to the person.
    """
    try:
        limit = seconds_of(seconds, most=600)
        here = inside_folder(folder, Path.cwd())
        secrets = {f"SECRET_{name.removeprefix(held.PREFIX).upper()}": held.reveal(name) for name in handles or ()}
    except (ValueError, LookupError, NotUnderstood) as error:
        return {"success": False, "error": str(error.args[0])}
    steps: list[Step] | None = None
    why: str | None = f"it is given the secrets {', '.join(handles)}" if handles else None
    try:
        if why is None:
            steps = judge(command, here)
    except NotUnderstood as reason:
        why = str(reason)
    shell = shutil.which("bash", path=SYSTEM_PATH) or "/bin/sh"
    try:
        _gate.permit(why, command, [shell, "-c", command])
    except Refused as refused:
        return {"success": False, "error": str(refused)}
    if steps is not None:
        return told(run_job(harmless(steps, limit), cwd=here), limit, shut_in=cannot_shut_in() or "files and network")
    environment = {**basic_environment(_environment), **secrets}
    step = Step(stages=(Stage(argv=(shell, "-c", command)),), cwd=str(here))
    job = Job(steps=(step,), env=environment, seconds=limit, confine=None, network=True, limits=ALLOWED)
    return told(run_job(job, cwd=here), limit, shut_in="not: it was allowed", hide=tuple(secrets.values()))


def harmless(steps: list[Step], seconds: float) -> Job:
    """As a job that may read the workspace, write where it was understood to, and reach nothing else."""
    roots = readable_roots()
    writes = any(stage.stdout is not None for step in steps for stage in step.stages)
    confine = Roots(write=roots[:1] if writes else (), read=roots, system="programs")
    return Job(
        steps=tuple(steps),
        env=ENVIRONMENT,
        seconds=seconds,
        confine=confine if confinement().landlock else None,
        network=bool(cannot_cut_off()),
        limits=HARMLESS,
    )
