"""The public surface is a decision: the names are pinned, the text of the README runs, the two faces are equal."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sutler
from sutler import Runtime, SyncRuntime, tool

NAMES = (
    "Answer ArgSpec ConfigError ConfigToolSource Decision Event Grade Origin Pattern Policy PolicySource"
    " ProgramRejected Rule RunResult Runtime"
    " SutlerError SyncRuntime ToolAnnotations ToolCall ToolCallError ToolContext ToolFailure ToolResult ToolSource"
    " ToolSpec Toolbox TraceEntry VirtualToolSource Workspace cli_confirm_handler cli_interaction_handler compute_grade"
    " make_gui_confirm_handler make_gui_interaction_handler resolve_safe_path tool"
).split()


def test_the_public_names_are_these_and_all_can_be_had() -> None:
    assert sorted(sutler.__all__) == sorted(NAMES)
    for name in NAMES:
        assert getattr(sutler, name) is not None


def test_importing_the_package_loads_none_of_its_parts() -> None:
    code = "import sys, sutler; print([m for m in sys.modules if m.startswith('sutler.')])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_two_faces_have_the_same_surface() -> None:
    def surface(face: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(member).parameters)
            for name, member in inspect.getmembers(face, inspect.isfunction)
            if not name.startswith("_")
        }

    assert surface(Runtime) == surface(SyncRuntime)


@tool
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


def test_the_example_of_the_async_api_runs_as_it_stands(tmp_path: Path, monkeypatch: object) -> None:
    folder = tmp_path / "my_tools"
    folder.mkdir()
    (folder / "hello.py").write_text('def tool_hello(name: str) -> str:\n    """Greets."""\n    return "hi " + name\n')

    async def main() -> None:
        async with Runtime(workspace=tmp_path / "work", tool_folders=[folder], tools=[add], config=False) as rt:
            specs = rt.tools()
            assert {"add", "tool_hello"} <= {spec.name for spec in specs}
            r = await rt.call("add", {"a": "2"})
            assert r.success and r.output == 3 and len(r.repairs) == 1
            d = r.to_dict()
            assert (d["output"], d["status_code"], d["success"]) == (3, 200, True)
            p = rt.plan("x = add(1)\nx + 1")
            assert p.ok and not p.errors and len(p.calls) == 1 and p.grade == sutler.Grade(3, 3)
            run = await rt.run("x = add(a=n)\nx * 10", params={"n": 4})
            assert run.status == "completed" and run.output == 50 and len(run.trace) == 1

    asyncio.run(main())


def test_the_example_of_the_sync_api_runs_as_it_stands(tmp_path: Path) -> None:
    with SyncRuntime(workspace=tmp_path / "work", tools=[add], config=False) as rt:
        assert rt.call("add", {"a": 1}).output == 2
        assert rt.run("add(1, 2)").output == 3


def test_what_a_repl_shows_is_short(tmp_path: Path) -> None:
    rt = SyncRuntime(tools=add, config=False, tool_folders=str(tmp_path))
    assert repr(rt) == "<SyncRuntime, not open>"
    with rt:
        assert f"{len(rt.tools())} tools" in repr(rt) and len(repr(rt.inventory())) < 200
        assert repr(rt.call("add", {"a": 1})).startswith("ToolResult(success=True, output=2")
        assert len(repr(rt.run("[add(n) for n in range(300)]"))) < 1000
        assert repr(rt.tools()[-1]) == "<ToolSpec functions::add (3, 3) undeclared>"


def test_mistakes_of_a_host_are_named_all_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    wrong: dict[str, Any] = {"policy": "saef", "limits": {"callz": 3}, "tools": ["x"], "workspace": tmp_path / "file"}
    with pytest.raises(sutler.ConfigError) as caught:
        SyncRuntime(config=False, **wrong).open()
    text = str(caught.value)
    assert "calls" in text and "safe" in text and "must be functions" in text and "is a file" in text
    with SyncRuntime(config=False) as rt, pytest.raises(ValueError, match="openai, anthropic"):
        rt.schemas("opnai")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="SyncRuntime"), Runtime():
        pass


def test_a_tool_folder_that_does_not_exist_is_quarantined_with_its_reason(tmp_path: Path) -> None:
    with SyncRuntime(config=False, tool_folders=[tmp_path / "nowhere"]) as rt:
        (bad,) = rt.inventory().quarantined
        assert "no such folder" in bad.reason and str(tmp_path / "nowhere") in bad.source
