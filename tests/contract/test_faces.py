"""One gate for every way in: the same call meets the same decision and leaves the same record (POL-02)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler import Runtime, SyncRuntime
from sutler.lcp import LCPBinding
from sutler.store import SqliteStore, StepRecord, default_path

from ..cli.conftest import Project
from ..server.conftest import over_stdio

KIT = '''
from sutler import tool

@tool(destructive=True)
def tool_send(to: str, text: str = "hello", times: int = 1, password: str = "") -> str:
    """Sends."""
    return f"{to}: {text} * {times}"

@tool(read_only=True)
def tool_look(path: str = ".") -> str:
    """Looks."""
    return path
'''
CONFIG = """default_tools = false
[libraries]
folders = ["tools"]

[[policy.rules]]
tool = "tool_look"
arguments = { path = { outside = "." } }
decision = "deny"
reason = "stay inside"

[[policy.rules]]
tool = "kit::tool_send"
arguments = { to = "*@home.example", times = { at_most = 3 } }
decision = "allow"

[[policy.rules]]
tool = "tool_send"
arguments = { times = { above = 100 } }
decision = "deny"

[[policy.rules]]
source = "kit"
annotations = { destructive = true }
decision = "ask"
reason = "it leaves the house"
"""
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "allowed by the level": ("tool_look", {"path": "a"}, "allow"),
    "denied by a rule on a path": ("tool_look", {"path": "a/../../etc"}, "deny"),
    "allowed by a rule, after repair and defaults": ("tool_send", {"to": "a@home.example", "times": "2"}, "allow"),
    "asked about, with nobody there": ("tool_send", {"to": "x@else.example", "password": "tulips"}, "ask"),
    "denied by a rule on a repaired number": ("tool_send", {"to": "a@home.example", "times": "500"}, "deny"),
}
PROGRAM_TAKES: dict[str, Any] = {"2": 2, "500": 500}  # a program's check takes no text for a number

Face = Callable[[Project, str, dict[str, Any]], StepRecord]


def _latest(path: Path) -> StepRecord:
    store = SqliteStore(path)
    try:
        (step, *_) = store.direct(1)
        return step
    finally:
        store.close()


def by_async_api(project: Project, name: str, arguments: dict[str, Any]) -> StepRecord:
    path = project.root / "runs.db"

    async def main() -> None:
        async with Runtime(config=project.file, workspace=project.root, store=path, plugins=False) as rt:
            await rt.call(name, arguments)

    asyncio.run(main())
    return _latest(path)


def by_sync_api(project: Project, name: str, arguments: dict[str, Any]) -> StepRecord:
    path = project.root / "runs.db"
    with SyncRuntime(config=project.file, workspace=project.root, store=path, plugins=False) as rt:
        rt.call(name, arguments)
    return _latest(path)


def by_program(project: Project, name: str, arguments: dict[str, Any]) -> StepRecord:
    path = project.root / "runs.db"
    given = ", ".join(f"{key}={PROGRAM_TAKES.get(value, value)!r}" for key, value in arguments.items())
    with SyncRuntime(config=project.file, workspace=project.root, store=path, plugins=False) as rt:
        run = rt.run(f"{name}({given})")
    store = SqliteStore(path)
    try:
        record = store.run(run.run_id)
        assert record is not None
        return record.steps[0]
    finally:
        store.close()


def by_command_line(project: Project, name: str, arguments: dict[str, Any]) -> StepRecord:
    project.process("call", name, *(f"{key}={value}" for key, value in arguments.items()))
    return _latest(default_path(project.root, project.env))


def by_server(project: Project, name: str, arguments: dict[str, Any]) -> StepRecord:
    async def main() -> None:
        async with over_stdio(project, mode="auto") as client:
            await client.call_tool(name, arguments)

    asyncio.run(main())
    return _latest(default_path(project.root, project.env))


def by_lcp(project: Project, name: str, arguments: dict[str, Any]) -> StepRecord:
    path = project.root / "runs.db"
    with LCPBinding(tools_folders=[], config=project.file, workspace=project.root, store=path) as binding:
        binding.execute_tool(name, arguments)
    return _latest(path)


FACES: dict[str, Face] = {
    "async API": by_async_api,
    "sync API": by_sync_api,
    "program": by_program,
    "command line": by_command_line,
    "MCP server": by_server,
    "LCP": by_lcp,
}


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    made = Project(tmp_path / "project", tmp_path / "home")
    made.root.mkdir()
    made.library("kit.py", KIT)
    for name in ("SUTLER_STATE_DIR", "SUTLER_CACHE_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, made.env[name])
    made.config(CONFIG)
    yield made


@pytest.mark.requirement("POL-02")
@pytest.mark.parametrize("case", CASES)
def test_every_face_gives_a_call_the_same_decision_and_leaves_the_same_record(house: Project, case: str) -> None:
    name, arguments, outcome = CASES[case]
    records: dict[str, Any] = {}
    for face, called in FACES.items():
        step = called(house, name, arguments)
        assert step.decision is not None, face
        decision = step.decision
        records[face] = {
            "tool": f"{step.source}::{step.tool}",
            "arguments": dict(step.args),
            "decision": (decision.outcome, decision.by.replace(str(house.root), ""), decision.reason, decision.how),
            "kind": step.kind,
            "error": step.error,
        }
    assert "tulips" not in json.dumps(records)
    first = records["sync API"]
    assert first["decision"][0] == outcome
    assert first["kind"] == (None if outcome == "allow" else "denied")
    for face, record in records.items():
        if outcome == "ask":  # each says how its own person would be asked
            record, expected = {**record, "error": ""}, {**first, "error": ""}
        else:
            expected = first
        assert record == expected, face
