"""What libraries say of themselves when a prompt is built."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler import Runtime, SyncRuntime

OPEN = Callable[..., SyncRuntime]

LIBRARY = '''
import os
from pathlib import Path

RUNS = []

def tool_shelf_prompt() -> str:
    print("not for anybody")
    RUNS.append(1)
    return "Files here: " + ", ".join(sorted(name.name for name in Path(".").iterdir()))

def tool_read_prompt() -> str:
    return "Reading is fast today."

def tool_read(name: str) -> str:
    """Reads a file."""
    return Path(name).read_text()

def tool_runs() -> int:
    """How often the provider ran."""
    return len(RUNS)
'''


def described(listed: list[dict[str, Any]], name: str) -> str:
    return next(one["function"]["description"] for one in listed if one["function"]["name"] == name)


@pytest.mark.requirement("LIB-06")
def test_providers_run_when_a_prompt_is_built_and_at_no_other_time(
    runtime: OPEN, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shelf.py").write_text(LIBRARY)
    rt = runtime(tool_folders=tmp_path)
    rt.tools(), rt.inventory().format_description(), rt.plan("tool_runs()")
    assert rt.call("tool_runs").output == 0
    (rt.workspace.root / "a.txt").write_text("x")
    digests = [spec.digest for spec in rt.tools()]
    listed = rt.schemas("openai")
    assert described(listed, "tool_read") == "Reads a file.\n\nReading is fast today.\nFiles here: a.txt"
    assert described(listed, "tool_runs") == "How often the provider ran.\n\nFiles here: a.txt"
    assert rt.call("tool_runs").output == 1  # once for a prompt, whatever number of tools
    assert "Reads a file. Reading is fast today. Files here: a.txt" in rt.toolbox.format_description()
    assert rt.call("tool_runs").output == 2
    assert [spec.digest for spec in rt.tools()] == digests
    assert [spec.description for spec in rt.tools()] == ["Reads a file.", "How often the provider ran."]
    assert capsys.readouterr().out == "" and rt.prompt_notes() == []


@pytest.mark.requirement("LIB-06")
def test_nothing_is_kept_from_one_workspace_to_another(runtime: OPEN, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "shelf.py").write_text(LIBRARY)
    rt = runtime(tool_folders=tools)
    for name in ("one", "two", "one"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / f"{name}.txt").touch()
        assert f"Files here: {name}.txt" in described(rt.schemas(workspace=tmp_path / name), "tool_runs")
    assert "Files here:" in described(rt.schemas(), "tool_runs")


@pytest.mark.requirement("LIB-06")
@pytest.mark.parametrize(
    ("body", "note"),
    [
        ("raise RuntimeError('no disk')", "no disk"),
        ("raise SystemExit(3)", "3"),
        ("return ''", "no text"),
        ("return '  '", "no text"),
        ("return None", "NoneType"),
        ("return 42", "int"),
        ("import time; time.sleep(8); return 'late'", "longer than 2 s"),
    ],
)
def test_one_that_cannot_say_leaves_the_description_and_a_note(
    runtime: OPEN, tmp_path: Path, body: str, note: str
) -> None:
    (tmp_path / "a.py").write_text(
        f"def tool_x_prompt() -> str:\n    {body}\ndef tool_x() -> str:\n    'Static.'\n    return 'x'\n"
    )
    (tmp_path / "b.py").write_text(
        "def tool_y_prompt() -> str:\n    return 'Fine.'\ndef tool_y() -> str:\n    'Y.'\n    return 'y'\n"
    )
    rt = runtime(tool_folders=tmp_path)
    listed = rt.schemas()
    assert described(listed, "tool_x") == "Static." and described(listed, "tool_y") == "Y.\n\nFine."
    [said] = rt.prompt_notes()
    assert said.startswith("a: tool_x_prompt") and note in said
    assert rt.call("tool_x").output == "x"


@pytest.mark.requirement("LIB-06")
def test_one_that_hangs_is_not_started_again_while_it_does(runtime: OPEN, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import threading\nGO = threading.Event()\nRUNS = []\n"
        "def tool_x_prompt() -> str:\n    RUNS.append(1)\n    GO.wait(60)\n    return 'x'\n"
        "def tool_x() -> str:\n    'Static.'\n    return 'x'\n"
        "def tool_go() -> int:\n    GO.set()\n    return len(RUNS)\n"
    )
    rt = runtime(tool_folders=tmp_path)
    for _ in range(3):
        assert described(rt.schemas(), "tool_x") == "Static."
    assert "still runs" in rt.prompt_notes()[0]
    assert rt.call("tool_go").output == 1
    assert any(described(rt.schemas(), "tool_x") == "Static.\n\nx" for _ in range(50) if not time.sleep(0.05))


@pytest.mark.requirement("LIB-06")
def test_a_loop_goes_on_while_providers_think(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import time\ndef tool_x_prompt() -> str:\n    time.sleep(0.5)\n    return 'slow'\n"
        "def tool_x() -> str:\n    'Static.'\n    return 'x'\n"
    )

    async def main() -> None:
        options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
        async with Runtime(tool_folders=tmp_path, **options) as rt:
            task = asyncio.create_task(rt.schemas())
            beats = 0
            while not task.done():
                await asyncio.sleep(0.01)
                beats += 1
            assert beats > 10 and described(task.result(), "tool_x") == "Static.\n\nslow"
            assert "slow" in await rt.toolbox.format_description()

    asyncio.run(main())


@pytest.mark.requirement("LIB-06", "LCP-16")
def test_providers_run_where_their_library_does(runtime: OPEN, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "import os\nfrom sutler import tool\n"
        "def tool_p_prompt() -> str:\n    return f'{os.getpid()} in {os.getcwd()}'\n"
        "@tool(isolation='process')\ndef tool_pid() -> int:\n    'P.'\n    return os.getpid()\n"
    )
    (tmp_path / "f.py").write_text(
        "import threading\nfrom sutler import tool\n"
        "def tool_f_prompt() -> str:\n    return threading.current_thread().name\n"
        "@tool(affinity='thread')\ndef tool_thread() -> str:\n    'F.'\n    return threading.current_thread().name\n"
    )
    (tmp_path / "a.py").write_text(
        "import asyncio, os\nasync def tool_a_prompt() -> str:\n    await asyncio.sleep(0)\n    return os.getcwd()\n"
        "async def tool_a() -> str:\n    'A.'\n    return 'a'\n"
    )
    rt = runtime(tool_folders=tmp_path)
    listed = rt.schemas()
    assert described(listed, "tool_pid") == f"P.\n\n{rt.call('tool_pid').output} in {rt.workspace.root}"
    assert described(listed, "tool_thread") == f"F.\n\n{rt.call('tool_thread').output}"
    assert described(listed, "tool_a") == f"A.\n\n{rt.workspace.root}"


@pytest.mark.requirement("LIB-06", "LCP-04")
def test_at_level_strict_nothing_of_a_library_is_run_for_a_prompt(runtime: OPEN, tmp_path: Path) -> None:
    (tmp_path / "shelf.py").write_text(LIBRARY)
    rt = runtime(tool_folders=tmp_path, policy="strict")
    assert described(rt.schemas(), "tool_read") == "Reads a file."
    assert all("strict" in note for note in rt.prompt_notes()) and len(rt.prompt_notes()) == 2


def test_a_prompt_may_be_built_by_many_threads_at_once(runtime: OPEN, tmp_path: Path) -> None:
    (tmp_path / "shelf.py").write_text(LIBRARY)
    rt = runtime(tool_folders=tmp_path)
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(described(rt.schemas(), "tool_runs"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(texts) == 8 and all("Files here:" in text for text in texts)
