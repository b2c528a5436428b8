"""Each exit code, by a real process; and the one table that they come from."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import get_args

import pytest

from sutler.cli import exits
from sutler.errors import ConfigError, SourceError, StoreError, ToolCallError
from sutler.spec import Decision, FailureKind, RunError, RunResult, ToolFailure, TraceEntry

from .conftest import CONFIG, Project

BROKEN = "import no_such_module_at_all\ndef tool_broken():\n    return 1\n"

CASES = [
    (0, ("call", "tool_echo", "text=hi")),
    (0, ("run", "-c", "1 + 1")),
    (1, ("call", "tool_fail")),
    (1, ("run", "-c", "1 / 0")),
    (1, ("run", "-c", "tool_fail()")),
    (1, ("check", "-c", "no_such_name()")),
    (1, ("run", "-c", "no_such_name()")),
    (2, ("call", "tool_unheard_of")),
    (2, ("call", "tool_echo", "times=1")),
    (2, ("call", "tool_echo", "hi")),
    (2, ("no-such-command",)),
    (2, ("tools", "--no-such-option")),
    (2, ("run", "no_such_file.py")),
    (2, ("runs", "show", "no-such-run")),
    (2, ("tools", "--workspace", "no_such_folder")),
    (3, ("--config", "no_such.toml", "tools")),
    (3, ("--config", "bad.toml", "tools")),
    (4, ("call", "tool_broken")),
    (4, ("run", "-c", "tool_broken()")),
    (4, ("call", "off::tool_off")),
    (5, ("call", "tool_wipe", "path=x")),
    (5, ("run", "-c", "tool_wipe('x')")),
    (6, ("call", "tool_sleep")),
    (6, ("run", "-c", "tool_sleep()")),
    (6, ("run", "--config", "tight.toml", "-c", "while True:\n    pass")),
]


@pytest.fixture(scope="module")
def prepared(shared: Project) -> Project:
    shared.library("broken.py", BROKEN)
    shared.library("off.py", 'TOOL_LIBRARY_LOAD_FLAG = "on"\ndef tool_off():\n    return 1\n')
    (shared.root / "bad.toml").write_text("[policy]\nlevel = 3\n", encoding="utf-8")
    (shared.root / "tight.toml").write_text(CONFIG + "[limits]\ncompute_seconds = 0.2\n", encoding="utf-8")
    return shared


@pytest.mark.parametrize(("code", "argv"), CASES, ids=lambda value: " ".join(value) if type(value) is tuple else None)
def test_a_process_ends_with_the_code_of_what_happened(prepared: Project, code: int, argv: tuple[str, ...]) -> None:
    done = prepared.process(*argv)
    assert done.code == code, done.err
    assert "Traceback" not in done.err
    if code == 0:
        assert done.err == ""
    elif argv[0] != "check":
        assert "error: " in done.err


def test_a_tool_that_cannot_be_stopped_does_not_keep_the_process(prepared: Project) -> None:
    done = prepared.process("call", "tool_sleep", "seconds=5000")
    assert done.code == exits.LIMIT
    assert done.err == "error: timeout: kit::tool_sleep did not answer within 0.2 s\n"


def test_ctrl_c_ends_a_command_with_130(prepared: Project) -> None:
    prepared.library("wait.py", "import time\ndef tool_wait():\n    open('waiting', 'w').close()\n    time.sleep(50)\n")
    running = subprocess.Popen(
        [sys.executable, "-m", "sutler.cli", "call", "tool_wait"],
        cwd=prepared.root,
        env=prepared.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (prepared.root / "waiting").exists() and running.poll() is None:
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (exits.INTERRUPTED, "")
    assert "error: interrupted" in err


def test_every_kind_of_failure_has_a_code() -> None:
    assert set(exits.BY_KIND) == set(get_args(FailureKind))
    assert exits.of_failure(ToolFailure(kind="crashed", message="it died")) == exits.FAILED


def test_every_error_has_a_code() -> None:
    kinds = {kind.kind: exits.of_error(kind("so")) for kind in ToolCallError.__subclasses__() if kind.kind != "limit"}
    assert kinds == {kind: code for kind, code in exits.BY_KIND.items() if kind != "limit"}
    assert exits.of_error(ConfigError("no")) == exits.CONFIG
    assert exits.of_error(StoreError("no")) == exits.CONFIG
    assert exits.of_error(SourceError("no")) == exits.UNAVAILABLE
    assert exits.of_error(exits.Refused("no")) == exits.USAGE
    assert exits.of_error(KeyboardInterrupt()) == exits.INTERRUPTED
    assert exits.of_error(RuntimeError("a fault")) == exits.FAILED


def _ended(kind: FailureKind, said: str, message: str) -> RunResult:
    entry = TraceEntry(
        step=1, tool="t", source="s", args={}, success=False, error=said, kind=kind, decision=Decision(outcome="allow")
    )
    error = RunError(kind="error", type="RuntimeError", message=message)
    return RunResult(run_id="r", status="failed", error=error, trace=(entry,))


def test_a_run_has_the_code_of_the_call_that_ended_it() -> None:
    assert exits.of_run(_ended("unavailable", "s::t is gone", "s::t is gone")) == exits.UNAVAILABLE
    assert exits.of_run(_ended("invalid_arguments", "x: no", "x: no")) == exits.FAILED


def test_a_call_that_the_program_has_caught_does_not_give_the_run_its_code() -> None:
    assert exits.of_run(_ended("denied", "s::t is denied", "division by zero")) == exits.FAILED


def test_a_run_that_waits_is_as_one_that_was_denied() -> None:
    assert exits.of_run(RunResult(run_id="r", status="waiting")) == exits.DENIED
    assert exits.of_run(RunResult(run_id="r", status="cancelled")) == exits.INTERRUPTED
    limit = RunError(kind="limit", type="TimeoutError", message="wall_seconds", limit="wall_seconds")
    assert exits.of_run(RunResult(run_id="r", status="failed", error=limit)) == exits.LIMIT
