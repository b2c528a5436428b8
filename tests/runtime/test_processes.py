"""Forks, and tools that run in a worker process: the same contract as in a thread."""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler import Runtime, SyncRuntime

OPTIONS: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False, "limits": {"call_seconds": 20}}

FORK = """
import os, sys, warnings
warnings.simplefilter("ignore")
from sutler import SyncRuntime
from sutler.errors import ClosedError

def hi():
    return "hi"

async def later():
    return "later"

options = dict(tools=[hi, later], config=False, default_tools=False, plugins=False)
rt = SyncRuntime(store=sys.argv[1], **options).open()
rt.call("later"), rt.run("hi()")
pid = os.fork()
if pid == 0:
    seen = []
    for use in (lambda: rt.call("hi"), lambda: rt.run("hi()")):
        try:
            use()
        except ClosedError as error:
            seen.append("fork" in str(error))
    rt.close()
    with SyncRuntime(**options) as own:
        seen += [own.call("hi").output == "hi", own.call("later").output == "later"]
        seen.append("fork" in str(own.run("1").error))
    os._exit(0 if seen == [True] * 5 else 9)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert status == 0, status
assert rt.workspace.root.is_dir()
assert [rt.call("hi").output, rt.call("later").output, rt.run("hi()").output] == ["hi", "later", "hi"]
assert len(rt.runs()) == 2
rt.close()
print("whole")
"""


@pytest.mark.requirement("PRG-02")
def test_a_forked_child_gets_clear_errors_at_once_and_takes_nothing_from_its_parent(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK, str(tmp_path / "s.db")], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "whole\n", done.stderr


LIBRARY = """
import datetime, decimal, enum, os
from dataclasses import dataclass
print("loading")
COUNT = [0]
CONFIG = {}

def init_tools_library(config):
    CONFIG.update(config)

@dataclass
class Row:
    status: str
    n: int

def tool_count():
    COUNT[0] += 1
    return COUNT[0]

async def tool_count_async():
    COUNT[0] += 1
    return COUNT[0]

def tool_where():
    return os.getcwd()

async def tool_where_async():
    print("async print")
    return os.getcwd()

def tool_level():
    return CONFIG.get("level")

def tool_confirm():
    return list(CONFIG["confirm_handler"]("rm x", "shell", None))

def tool_ask(user_interaction_handler=None):
    return user_interaction_handler({"type": "text", "prompt": "?"})

def tool_nested(tool_context=None):
    tool_context.emit_progress("half", 0.5)
    added = tool_context.call_tool("add", {"a": 1, "b": 2})
    return [tool_context["call_tool"]("tool_count")["output"], added["output"]]

def tool_rich():
    return {
        "t": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc), "d": decimal.Decimal("1.10"), "b": b"\\xff",
        "s": {2, 1}, 1: "key", "o": object(), "nan": float("nan"), "row": Row("error", 1),
    }

def tool_row():
    return Row("error", 1)

def tool_failed():
    return {"status": "error", "message": "it says so", "output": 5}

def tool_lazy():
    print("begun")
    yield 1
    yield os.getpid()

def tool_cyclic():
    ring = []
    ring.append(ring)
    return ring

def tool_boom():
    raise LookupError("not there")
"""


@pytest.fixture(params=[False, True], ids=["threads", "processes"])
def rt(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SyncRuntime]:
    if request.param:
        monkeypatch.setenv("SUTLER_NO_THREAD_CWD", "1")
    (tmp_path / "lib.py").write_text(LIBRARY)

    def add(a: int, b: int) -> int:
        return a + b

    options = {**OPTIONS, "workspace": tmp_path / "work", "tool_folders": [tmp_path]}
    options["host_tool_configs"] = {"lib": {"level": 7}}
    options["confirm_handler"] = lambda *question: ("allow", "fine")
    options["user_interaction_handler"] = lambda request: "typed " + request["prompt"]
    with SyncRuntime(tools=[add], **options) as opened:
        yield opened


@pytest.mark.requirement("WSP-04", "WSP-01", "RUN-03", "RUN-09")
def test_a_library_keeps_the_whole_contract_in_a_thread_and_in_a_process(rt: SyncRuntime, tmp_path: Path) -> None:
    here = os.getcwd()
    first = rt.call("tool_count")
    assert (first.output, first.stdout) == (1, "loading\n")
    assert [rt.call(name).output for name in ("tool_count_async", "tool_count", "tool_count_async")] == [2, 3, 4]
    assert rt.call("tool_where").output == rt.call("tool_where_async").output == str(tmp_path / "work")
    assert rt.call("tool_where_async").stdout == "async print\n"
    assert rt.call("tool_level").output == 7
    assert rt.call("tool_confirm").output == ["allow", "fine"]
    assert rt.call("tool_ask").output == "typed ?"
    assert rt.call("tool_nested").output == [5, 3]
    assert rt.run("[tool_count(), tool_count_async()]").output == [6, 7]
    assert os.getcwd() == here


@pytest.mark.requirement("WSP-04", "RUN-09", "RUN-08")
def test_what_a_tool_gives_is_read_alike_in_a_thread_and_in_a_process(rt: SyncRuntime) -> None:
    rich = rt.call("tool_rich")
    shown = rich.output
    assert "object object" in shown.pop("o") and math.isnan(shown.pop("nan"))
    assert shown == {
        "t": "2026-01-02T00:00:00+00:00", "d": "1.10", "b": "data:application/octet-stream;base64,/w==",
        "s": [1, 2], "1": "key", "row": {"status": "error", "n": 1},
    }  # fmt: skip
    assert any("object" in note for note in rich.notes)
    assert rt.call("tool_row").output == {"status": "error", "n": 1}
    failed = rt.call("tool_failed")
    assert (failed.success, failed.output, str(failed.error)) == (False, 5, "it says so")
    lazy = rt.call("tool_lazy")
    assert lazy.output[0] == 1 and "begun" in lazy.stdout
    assert "refers to itself" in str(rt.call("tool_cyclic").error)
    boom = rt.call("tool_boom")
    assert str(boom.error) == "LookupError: not there" and "tool_boom" in str(boom.traceback)


@pytest.mark.requirement("RUN-04")
def test_a_library_that_does_not_load_is_unavailable_until_it_is_mended(rt: SyncRuntime, tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("raise ValueError('boom')\ndef tool_bad():\n    return 1\n")
    with SyncRuntime(tool_folders=[tmp_path], **OPTIONS) as own:
        result = own.call("tool_bad")
        assert result.error is not None and result.error.kind == "unavailable" and result.status_code == 500
        assert "bad.py:1" in result.error.message and "boom" in result.error.message
        bad.write_text("def tool_bad():\n    return 'mended'\n")
        assert own.call("tool_bad").output == "mended"


@pytest.mark.requirement("WSP-04")
def test_code_text_too_sees_the_workspace_and_each_text_keeps_its_own_state(rt: SyncRuntime, tmp_path: Path) -> None:
    text = (
        "import os\nN = [0]\ndef tool_{0}_n():\n    N[0] += 1\n    return N[0]\n"
        "async def tool_{0}_cwd():\n    return os.getcwd()\n"
    )
    for name in ("a", "b"):
        assert rt.register_tool_from_code(name, text.replace("{0}", name))
    assert [rt.call(name).output for name in ("tool_a_n", "tool_a_n", "tool_b_n")] == [1, 2, 1]
    assert rt.call("tool_a_cwd").output == str(tmp_path / "work")
    assert rt.register_tool_from_code("a", text.replace("{0}", "a").replace("N = [0]", "N = [10]"))
    assert rt.call("tool_a_n").output == 11


@pytest.mark.requirement("RUN-12", "RUN-13")
def test_a_worker_that_exits_floods_or_closes_its_pipes_harms_one_call(runtime: Any, tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(
        textwrap.dedent("""
        import os
        from sutler import tool

        @tool(isolation="process")
        def tool_exit():
            os._exit(3)

        @tool(isolation="process")
        def tool_flood():
            for _ in range(300):
                os.write(1, b"x" * 100_000)
            return "done"

        @tool(isolation="process")
        def tool_close():
            for fd in (0, 1, 2):
                os.close(fd)
            return "closed"

        @tool(isolation="process")
        def tool_raw():
            os.write(1, b"raw ")
            os.system("echo shell")
            return "ok"
    """)
    )
    rt = runtime(tool_folders=[tmp_path], limits={"call_seconds": 20})
    gone = rt.call("tool_exit")
    assert gone.error is not None and gone.error.kind == "crashed" and "exit status 3" in gone.error.message
    assert rt.call("tool_raw").stdout == "raw shell\n"
    flood = rt.call("tool_flood")
    assert flood.output == "done" and len(flood.stdout) < 2_000_000 and "left out" in flood.stdout
    assert rt.call("tool_close").output == "closed"
    rt.call("tool_exit")
    assert rt.call("tool_raw").output == "ok"


@pytest.mark.requirement("RUN-03")
def test_eight_first_calls_at_once_import_a_module_once_and_two_runtimes_share_nothing(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(
        "import time\nwith open('imports', 'a') as f:\n    f.write('x')\ntime.sleep(0.1)\nN = [0]\n"
        "def tool_n():\n    N[0] += 1\n    return N[0]\n\nasync def tool_m():\n    N[0] += 1\n    return N[0]\n"
    )

    async def main() -> None:
        async with (
            Runtime(tool_folders=[tmp_path], workspace=tmp_path / "w", **OPTIONS) as one,
            Runtime(tool_folders=[tmp_path], workspace=tmp_path / "w", **OPTIONS) as two,
        ):
            results = await asyncio.gather(*(one.call("tool_n" if n % 2 else "tool_m") for n in range(8)))
            assert sorted(result.output for result in results) == list(range(1, 9))
            assert (tmp_path / "w" / "imports").read_text() == "x"
            assert (await two.call("tool_n")).output == 1
            assert (tmp_path / "w" / "imports").read_text() == "xx"

    asyncio.run(main())
