"""One runtime, calls in many folders: state is the library's, the place is the call's."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sutler import Runtime, SyncRuntime
from sutler.runtime.sites import KEPT

COUNTER = '''
from pathlib import Path
from sutler import tool

CALLS = []

def tool_mark(text: str) -> dict:
    """Writes a mark."""
    CALLS.append(text)
    Path("mark.txt").write_text(text)
    return {"output": {"calls": len(CALLS), "here": str(Path.cwd())}}

async def tool_mark_async(text: str) -> str:
    """Writes a mark from a coroutine."""
    Path("async.txt").write_text(text)
    return str(Path.cwd())

def tool_nested(tool_context=None) -> dict:
    """Calls another."""
    return tool_context.call_tool("tool_mark", {"text": "nested"})["output"]

def tool_where(tool_context=None) -> list:
    """Says where it is told to be."""
    return [str(tool_context.workspace), str(Path.cwd())]
'''

FIXED = '''
import os
import sqlite3
import threading
from sutler import tool

db = None

@tool(affinity="thread")
def tool_count() -> list:
    """Uses a connection that belongs to the thread that made it."""
    global db
    if db is None:
        db = sqlite3.connect(":memory:")
        db.execute("create table t (x)")
    db.execute("insert into t values (1)")
    return [db.execute("select count(*) from t").fetchone()[0], os.getcwd()]
'''


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / f"w{number}" for number in range(4)]
    for one in made:
        one.mkdir()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "counter.py").write_text(COUNTER)
    (tools / "fixed.py").write_text(FIXED)
    return made


@pytest.mark.requirement("LCP-19")
def test_a_call_works_in_the_folder_it_names_and_the_library_keeps_its_state(
    runtime: Callable[..., SyncRuntime], folders: list[Path], tmp_path: Path
) -> None:
    rt = runtime(tool_folders=tmp_path / "tools")
    before = os.getcwd()
    for number, folder in enumerate(folders):
        output = rt.call("tool_mark", {"text": folder.name}, workspace=folder).output
        assert output == {"calls": number + 1, "here": str(folder)}
    assert [folder.joinpath("mark.txt").read_text() for folder in folders] == ["w0", "w1", "w2", "w3"]
    assert rt.call("tool_mark", {"text": "home"}).output["here"] == str(rt.workspace.root)
    assert rt.call("tool_where", workspace=str(folders[1])).output == [str(folders[1])] * 2
    assert os.getcwd() == before


def test_what_a_call_starts_works_where_it_does(
    runtime: Callable[..., SyncRuntime], folders: list[Path], tmp_path: Path
) -> None:
    rt = runtime(tool_folders=tmp_path / "tools")
    assert rt.call("tool_nested", workspace=folders[2]).output["here"] == str(folders[2])
    assert rt.call("tool_mark_async", {"text": "x"}, workspace=folders[3]).output == str(folders[3])
    assert folders[3].joinpath("async.txt").exists()


def test_a_program_that_a_tool_runs_works_where_the_tool_does(tmp_path: Path, folders: list[Path]) -> None:
    held: list[SyncRuntime] = []

    def outer() -> Any:
        """Runs a program."""
        return held[0].run('tool_mark("from a program")').output

    options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
    with SyncRuntime(tools=[outer], tool_folders=tmp_path / "tools", **options) as rt:
        held.append(rt)
        assert rt.call("outer", workspace=folders[0]).output["here"] == str(folders[0])


def test_a_library_with_one_thread_keeps_it_whichever_folder_is_meant(
    runtime: Callable[..., SyncRuntime], folders: list[Path], tmp_path: Path
) -> None:
    rt = runtime(tool_folders=tmp_path / "tools")
    where = [*folders, None, folders[0]]
    answers = [rt.call("tool_count", workspace=one).output for one in where]
    assert [count for count, _ in answers] == [1, 2, 3, 4, 5, 6]
    assert [here for _, here in answers] == [str(one or rt.workspace.root) for one in where]


@pytest.mark.requirement("LCP-16")
def test_a_worker_process_serves_calls_of_several_folders_with_one_state(
    runtime: Callable[..., SyncRuntime], folders: list[Path], tmp_path: Path
) -> None:
    path = tmp_path / "tools" / "counter.py"
    path.write_text(COUNTER.replace("def tool_mark(", '@tool(isolation="process")\ndef tool_mark('))
    rt = runtime(tool_folders=tmp_path / "tools")
    for number, folder in enumerate(folders):
        output = rt.call("tool_mark", {"text": "p"}, workspace=folder).output
        assert output == {"calls": number + 1, "here": str(folder)}


def test_a_folder_that_is_not_there_fails_the_call_and_names_it(
    runtime: Callable[..., SyncRuntime], folders: list[Path], tmp_path: Path
) -> None:
    rt = runtime(tool_folders=tmp_path / "tools")
    for bad in (tmp_path / "nowhere", tmp_path / "tools" / "counter.py", "a\0b", "~nobody-of-this-name/x"):
        result = rt.call("tool_mark", {"text": "x"}, workspace=bad)
        assert result.error is not None and result.error.kind == "unavailable" and "workspace" in result.error.message
    assert rt.call("tool_mark", {"text": "x"}, workspace=folders[0]).output["calls"] == 1


def test_many_threads_in_many_folders_never_meet(tmp_path: Path, folders: list[Path]) -> None:
    options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
    with SyncRuntime(tool_folders=tmp_path / "tools", **options) as rt, ThreadPoolExecutor(16) as pool:

        def work(number: int) -> bool:
            folder = folders[number % 4]
            return rt.call("tool_mark", {"text": folder.name}, workspace=folder).output["here"] == str(folder)

        assert all(pool.map(work, range(200)))
    assert [folder.joinpath("mark.txt").read_text() for folder in folders] == ["w0", "w1", "w2", "w3"]


def test_only_so_many_idle_folders_are_kept_and_the_oldest_serve_again(tmp_path: Path, folders: list[Path]) -> None:
    options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
    with SyncRuntime(tool_folders=tmp_path / "tools", **options) as rt:
        many = [tmp_path / f"many{number}" for number in range(3 * KEPT)]
        for folder in many:
            folder.mkdir()
            assert rt.call("tool_mark_async", {"text": "x"}, workspace=folder).output == str(folder)
        assert len(rt.core.sites._others) == KEPT
        loops = [thread for thread in threading.enumerate() if thread.name.startswith("sutler-loop many")]
        assert len(loops) <= KEPT + 1
        assert rt.call("tool_mark", {"text": "x"}, workspace=many[0]).output["here"] == str(many[0])
        assert all(not site.users for site in rt.core.sites._others.values())


def test_a_cancelled_call_leaves_its_folder(tmp_path: Path, folders: list[Path]) -> None:
    async def slow() -> None:
        """Never ends."""
        await asyncio.sleep(60)

    async def main() -> None:
        options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
        async with Runtime(tools=[slow], tool_folders=tmp_path / "tools", **options) as rt:
            task = asyncio.create_task(rt.call("slow", workspace=folders[0]))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await rt.call("tool_mark", {"text": "x"}, workspace=folders[1])).output["here"] == str(folders[1])
            assert all(not site.users for site in rt.core.sites._others.values())

    asyncio.run(main())
