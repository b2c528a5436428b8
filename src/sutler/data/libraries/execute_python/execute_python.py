"""Python code: in the sandbox, which reaches nothing, or in a real Python that is shut in and asks."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from sutler import tool
from sutler.data.gate import Gate, Handler, Refused
from sutler.data.outcomes import hidden, readable_roots, seconds_of, settings_of, told
from sutler.data.python import judge, runner, sandbox
from sutler.workspace import held
from sutler.workspace.commands import Job, Stage, Step, cannot_shut_in, run_job
from sutler.workspace.confine import Roots, WorkerLimits
from sutler.workspace.worker import basic_environment

TOOL_LIBRARY_NAME = "Python"
TOOL_LIBRARY_DESC = "Runs Python code: in a sandbox, or, asking for what is not harmless, in a real Python."
TOOL_LIBRARY_ICON = "🐍"
TOOL_LIBRARY_ALIASES = ("python", "run_python", "code_interpreter")

OUTPUT_BYTES = 200_000
SANDBOX_MB = 256
SETTINGS: Mapping[str, type] = {
    "compute_seconds": float,
    "memory_mb": int,
    "processes": int,
    "network": bool,
    "shut_in": bool,
    "env": list,
}

_gate = Gate("execute_python")
_settings: Mapping[str, Any] = {}


def init_tools_library(config: Mapping[str, Any] | None = None) -> None:
    """autonomy_level. For the sandbox: compute_seconds (10).

    For the real Python: memory_mb (1024), processes (64 more than the user has), network (false), shut_in (true; false
    leaves the whole machine to code that was allowed), env (names of variables it gets).
    """
    global _gate, _settings
    _settings = settings_of("execute_python", config, SETTINGS)
    _gate = _gate.configured(config)


def set_confirm_handler(handler: Handler | None) -> None:
    global _gate
    _gate = Gate(_gate.stem, _gate.level, handler)


@tool(title="Run Python in the sandbox", read_only=False, destructive=True, asks_itself=True, confirm_with="code")
def tool_execute_python_code(code: str, tool_context: Any = None) -> dict[str, Any]:
    """
    Runs Python code in a sandbox and gives stdout and the value of the last expression.

    It has no files, processes or network of its own and no packages, only part of the standard library (math, json, re,
    datetime, collections, itertools, csv, random, ...). Files of the workspace are reached by read_file(path),
    write_file(path, content), list_files(folder) and find_files(pattern).

    Args:
        code (str): The code. End it with an expression to get its value.
    """
    if (refusal := _refused(None, code)) is not None:
        return refusal
    ran = sandbox.run(
        code,
        _files(getattr(tool_context, "call_tool", None)),
        compute_seconds=float(_settings.get("compute_seconds", 10)),
        memory_mb=SANDBOX_MB,
        output_bytes=OUTPUT_BYTES,
    )
    if not ran.error:
        return {"success": True, "output": {"value": ran.value, "stdout": ran.stdout}}
    where = f"line {ran.line}: " if ran.line is not None and not ran.error.startswith("line ") else ""
    return {"success": False, "error": where + ran.error, "output": {"value": None, "stdout": ran.stdout}}


@tool(
    title="Run Python as a process",
    read_only=False,
    destructive=True,
    open_world=True,
    asks_itself=True,
    confirm_with="code",
    timeout=660,
)
def tool_run_python_process(code: str, seconds: int = 60, handles: list[str] | None = None) -> dict[str, Any]:
    """
    Runs Python code in a real Python process in the workspace and gives exit_code, stdout, stderr and value.

    For what the sandbox cannot do: installed packages, whole files, long work. It may read and write the workspace and
    has no network. Code of the plain standard library that names its files runs at once; all other code is put to the
    person first: keep it short and of one purpose.

    Args:
        code (str): The code. End it with an expression to get its value.
        seconds (int): It is stopped after so many seconds, at most 600.
        handles (list): Handles of secrets, such as secret:github_token; the code finds each in the environment
            variable SECRET_<NAME>, here SECRET_GITHUB_TOKEN. Such code is always put to the person.
    """
    settings, open_machine = _settings, cannot_shut_in()
    try:
        limit = seconds_of(seconds, most=600)
        secrets = {f"SECRET_{name.removeprefix(held.PREFIX).upper()}": held.reveal(name) for name in handles or ()}
        found = judge.reasons(code)
    except SyntaxError as error:
        return {"success": False, "error": f"line {error.lineno}: SyntaxError: {error.msg}"}
    except (ValueError, LookupError) as error:
        return {"success": False, "error": str(error.args[0])}
    if secrets:
        found.insert(0, f"it is given the secrets {', '.join(handles or ())}")
    if open_machine:
        found.insert(0, f"this machine cannot shut it in: {open_machine}")
    if (refusal := _refused("; ".join(found) or None, code)) is not None:
        return refusal
    # What nobody was asked for stays shut in, whatever the settings say.
    lenient = bool(found)
    shut_in = not open_machine and (settings.get("shut_in", True) or not lenient)
    network = bool(open_machine) or (lenient and settings.get("network", False)) or not shut_in
    roots = readable_roots()
    python = [Path(place) for place in dict.fromkeys((sys.prefix, sys.base_prefix, sys.exec_prefix))]
    command = (sys.executable, "-I", "-X", "utf8", "-c", Path(runner.__file__).read_text("utf-8"), "{feed}", "{report}")
    environment = basic_environment(tuple(str(name) for name in settings.get("env", ())) if lenient else ())
    job = Job(
        steps=(Step(stages=(Stage(argv=command, feed=code),), cwd=str(Path.cwd())),),
        env={**environment, **secrets, "TMPDIR": str(Path.cwd())},
        seconds=limit,
        confine=Roots(write=roots[:1], read=(*roots, *python), system="programs") if shut_in else None,
        network=network,
        limits=WorkerLimits(
            memory_mb=settings.get("memory_mb", 1_024),
            cpu_seconds=int(limit) + 1,
            processes=settings.get("processes", 64),
            open_files=256,
            file_mb=1_024,
            output_bytes=OUTPUT_BYTES,
        ),
        report=True,
    )
    outcome = run_job(job, cwd=Path.cwd())
    walls = [*(["files"] if shut_in else []), *([] if network else ["network"])]
    answer = told(outcome, limit, shut_in=" and ".join(walls) or "not", hide=tuple(secrets.values()))
    return _with_report(answer, outcome.report, tuple(secrets.values()))


def _refused(why: str | None, code: str) -> dict[str, Any] | None:
    try:
        _gate.permit(why, code)
    except Refused as refused:
        return {"success": False, "error": str(refused)}
    return None


def _with_report(answer: dict[str, Any], text: str, hide: tuple[str, ...]) -> dict[str, Any]:
    """Adds the value, and says what went wrong in which line. The report comes from the code's own process."""
    report: Any = None
    with suppress(ValueError):
        report = json.loads(text)
    told_of = cast("dict[str, Any]", report if isinstance(report, dict) else {})
    value, error = told_of.get("value"), told_of.get("error")
    answer["output"]["value"] = hidden(value, hide) if isinstance(value, str) else None
    if isinstance(error, dict) and not answer["success"]:
        wrong = cast("dict[str, Any]", error)
        answer["error"] = hidden(f"line {wrong.get('line')}: {wrong.get('type')}: {wrong.get('message')}", hide)
    return answer


# ---------------------------------------------------------------------- files, for the sandbox

# function -> (its signature, the tools that may do it: name, and their names of its parameters)
_WAYS: Mapping[str, tuple[sandbox.ToolSig, tuple[tuple[str, Mapping[str, str]], ...]]] = {
    "read_file": (
        sandbox.signature("read_file", path="str"),
        (("default::read_file", {}), ("workspace_tools::tool_read_file", {"path": "file_name"})),
    ),
    "write_file": (
        sandbox.signature("write_file", path="str", content="str"),
        (("default::write_file", {}), ("workspace_tools::tool_write_file", {"path": "file_name"})),
    ),
    "list_files": (
        sandbox.signature("list_files", folder="str="),
        (
            ("default::list_dir", {"folder": "path"}),
            ("workspace_tools::tool_list_files", {"folder": "directory"}),
        ),
    ),
    "find_files": (
        sandbox.signature("find_files", pattern="str", folder="str="),
        (
            ("default::find_files", {"folder": "path"}),
            ("workspace_tools::tool_find_files", {"folder": "path"}),
        ),
    ),
}


def _files(call_tool: Callable[..., Any] | None) -> dict[str, tuple[sandbox.ToolSig, Callable[..., Any]]]:
    """The functions for files: calls of tools of the runtime, so its policy decides and its record shows each."""
    return {name: (signature, _by_tools(name, ways, call_tool)) for name, (signature, ways) in _WAYS.items()}


def _by_tools(
    name: str, ways: tuple[tuple[str, Mapping[str, str]], ...], call_tool: Callable[..., Any] | None
) -> Callable[..., Any]:
    def function(**arguments: Any) -> Any:
        for tool_name, renamed in ways if call_tool is not None else ():
            assert call_tool is not None
            sent = {renamed.get(key, key): value for key, value in arguments.items()}
            answer: Mapping[str, Any] = call_tool(tool_name, sent)
            if answer["success"]:
                return answer["output"]
            if answer.get("kind") == "denied":
                raise PermissionError(str(answer["error"]))
            if answer.get("kind") != "not_found":
                raise RuntimeError(str(answer["error"]))
        raise RuntimeError(f"{name} is not there: the host has no tool for files")

    return function
