"""Async tools that belong in a worker process run in one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="worker processes need fork")

LIBRARY = """
import asyncio
import os
from sutler import tool

@tool(read_only=True, isolation="process")
async def tool_apart(tool_context=None):
    answer = await tool_context.call_tool("tool_five")
    return [os.getpid(), os.getcwd(), answer["output"], answer["success"]]

@tool(read_only=True)
async def tool_where():
    await asyncio.sleep(0)
    return os.getcwd()

@tool(read_only=True, isolation="process", timeout=0.3)
async def tool_hang():
    while True:
        pass

def tool_five():
    return 5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "lib.py").write_text(LIBRARY, encoding="utf-8")
    return tmp_path / "tools"


@pytest.mark.requirement("LCP-16", "WSP-04")
def test_an_async_tool_that_asks_for_a_process_gets_one_and_may_await_other_tools(runtime: Any, folder: Path) -> None:
    rt = runtime(tool_folders=[folder])
    pid, cwd, five, success = rt.call("tool_apart").output
    assert pid != os.getpid()
    assert (cwd, five, success) == (str(rt.workspace.root), 5, True)
    assert rt.run("tool_apart()[2]").output == 5


@pytest.mark.requirement("RUN-12")
def test_an_async_tool_in_a_process_is_killed_at_its_deadline_though_it_never_awaits(
    runtime: Any, folder: Path
) -> None:
    rt = runtime(tool_folders=[folder])
    assert rt.call("tool_hang").error.kind == "timeout"
    assert rt.call("tool_apart").success


@pytest.mark.requirement("WSP-04")
def test_where_threads_share_a_folder_async_tools_of_folders_still_run_in_the_workspace(
    runtime: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUTLER_NO_THREAD_CWD", "1")
    rt = runtime(tool_folders=[folder])
    assert rt.call("tool_where").output == str(rt.workspace.root)
