"""LCPBinding, as hosts of LCP libraries use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler import ConfigError
from sutler.lcp import BindingName, LCPBinding
from sutler.sources.shipped import shipped_stems

Binding = Callable[..., LCPBinding]

NOTES = '''
"""Notes of the workspace."""
from pathlib import Path

TOOL_LIBRARY_NAME = "Note Keeper"
KEPT = []

def tool_write_note(name: str, text: str = "empty", times: int = 1) -> dict:
    """
    Writes a note.

    Args:
        name (str): The file to write.
        text (str): What to write.
    """
    KEPT.append(name)
    Path(name).write_text(text * times)
    return {"success": True, "output": f"wrote {name}", "kept": len(KEPT)}

def tool_host_objects(tool_context=None, lollms_client_instance=None, discussion_instance=None) -> dict:
    """Tells what the host gave."""
    KEPT.append((tool_context, lollms_client_instance, discussion_instance))
    return {"output": [type(one).__name__ for one in KEPT[-1]]}

def tool_last() -> list:
    """The identity of what the host gave last."""
    return [id(one) for one in KEPT[-1]]
'''


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    folder = tmp_path / "my_tools"
    folder.mkdir()
    (folder / "notes.py").write_text(NOTES)
    return folder


@pytest.mark.requirement("LCP-19")
def test_a_tool_is_executed_and_gives_the_wrapper(binding: Binding, tools: Path, tmp_path: Path) -> None:
    mine = binding(tools_folders=tools, workspace=tmp_path)
    assert BindingName == "LCPBinding" == mine.BindingName
    given = {"name": "a.txt", "times": "2"}
    assert (
        mine.execute_tool("tool_write_note", given)
        == {
            "output": "wrote a.txt",
            "status_code": 200,
            "success": True,
            "kept": 1,
            "repairs": [{"path": "times", "rule": "string_to_number", "from": "2", "to": 2}],
        }
        or mine.execute_tool("tool_write_note", given)["repairs"][0]["to"] == 2
    )
    assert (tmp_path / "a.txt").read_text() == "emptyempty"
    assert given == {"name": "a.txt", "times": "2"}
    missing = mine.execute_tool("tool_wirte_note", {})
    assert (missing["status_code"], missing["success"]) == (404, False) and "tool_write_note" in missing["error"]
    failed = mine.execute_tool("tool_write_note", {})
    assert failed["status_code"] == 500 and "name" in failed["error"]


@pytest.mark.requirement("LCP-19")
def test_without_a_workspace_a_tool_works_where_its_caller_is_at_that_moment(
    binding: Binding, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = binding(tools_folders=tools)
    for number, name in enumerate(("one", "two", "one")):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        assert mine.execute_tool("tool_write_note", {"name": "n.txt", "text": name})["kept"] == number + 1
        assert Path.cwd() == folder
    assert [(tmp_path / name / "n.txt").read_text() for name in ("one", "two")] == ["one", "two"]


def test_a_directory_that_is_gone_fails_the_call_and_not_the_host(
    binding: Binding, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = binding(tools_folders=tools)
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    result = mine.execute_tool("tool_write_note", {"name": "n"})
    assert result["success"] is False and "current directory" in result["error"]


@pytest.mark.requirement("LCP-15", "LCP-19")
def test_the_host_s_objects_arrive_as_they_were_given(binding: Binding, tools: Path) -> None:
    mine = binding(tools_folders=tools, client="the client", discussion="the discussion")
    context, client, discussion = {"a": 1}, object(), [0]
    mine.execute_tool(
        "tool_host_objects", {}, discussion, lollms_client_instance=client, tool_context=context, personality="x"
    )
    assert mine.execute_tool("tool_last")["output"] == [id(context), id(client), id(discussion)]
    assert mine.execute_tool("tool_host_objects")["output"] == ["ToolContext", "str", "str"]
    spoofed = mine.execute_tool("tool_host_objects", {"tool_context": "EVIL", "lollms_client_instance": "EVIL"})
    assert spoofed["output"] == ["ToolContext", "str", "str"]


@pytest.mark.requirement("LCP-19")
def test_lists_of_tools_are_copies(binding: Binding, tools: Path) -> None:
    mine = binding(tools_folders=[str(tools)])
    first = mine.list_tools()
    assert [sorted(one) for one in first] == [["description", "input_schema", "name"]] * 3
    first[0]["name"] = "x"
    first[0]["input_schema"]["properties"].clear()
    first.clear()
    mine.discovered_tools.append({})
    [one] = mine.discover_tools(specific_tool_names=["tool_write_note"])
    assert one["description"] == "Writes a note." and list(one["input_schema"]["properties"]) == [
        "name",
        "text",
        "times",
    ]
    json.dumps(mine.discovered_tools)
    assert mine.list_tools("tool_write_note") == [one] and len(mine.list_tools([])) == 3


@pytest.mark.requirement("LCP-19")
def test_folders_may_be_given_in_every_form(binding: Binding, tools: Path) -> None:
    for given in (str(tools), tools, [tools], (str(tools),), iter([tools])):
        assert len(binding(tools_folders=given).discovered_tools) == 3
    assert len(binding(tools_folder_path=str(tools)).discovered_tools) == 3
    assert binding(tools_folder_path=str(tools)).tools_folder_path == tools
    assert len(binding(tool_folders=[tools]).discovered_tools) == 3
    assert len(binding(tool_files=[tools / "notes.py"]).discovered_tools) == 3


@pytest.mark.requirement("LCP-19", "LCP-20")
def test_without_folder_and_file_the_shipped_libraries_are_there(binding: Binding) -> None:
    for given in ({}, {"tools_folders": []}, {"tool_files": ()}):
        mine = binding(**given)
        assert {row.spec.origin.source for row in mine.runtime.inventory().rows} == set(shipped_stems())


@pytest.mark.requirement("LCP-19")
def test_an_unknown_keyword_is_an_error_that_names_the_closest(binding: Binding, tools: Path) -> None:
    for wrong, meant in (
        ("confirm_handlr", "confirm_handler"),
        ("tool_folder", "tool_folders"),
        ("host_tool_config", "host_tool_configs"),
        ("workspaces", "workspace"),
    ):
        with pytest.raises(TypeError, match=rf"{wrong}.*did you mean {meant}\?"):
            binding(tools_folders=tools, **{wrong: None})


@pytest.mark.requirement("LCP-09", "LIB-05")
def test_a_load_flag_is_a_keyword(binding: Binding, tools: Path) -> None:
    (tools / "office.py").write_text(
        'TOOL_LIBRARY_LOAD_FLAG = "enable_office"\ndef tool_office() -> str:\n    """O."""\n    return "o"\n'
    )
    assert not binding(tools_folders=tools).is_tool_available("tool_office")
    assert not binding(tools_folders=tools, enable_office=False).is_tool_available("tool_office")
    mine = binding(tools_folders=tools, enable_office=True)
    assert mine.execute_tool("tool_office")["output"] == "o"
    mine.register_tool_from_code("fib", "def tool_fib() -> int:\n    return 1\n")
    mine.set_session_flags({"enable_office": False})
    assert not mine.is_library_mounted("office")
    assert mine.is_tool_available("tool_fib")  # tools of code text outlive a change of flags
    with pytest.raises(TypeError, match="did you mean enable_office"):
        binding(tools_folders=tools, enable_ofice=True)


@pytest.mark.requirement("LCP-09")
def test_libraries_are_mounted_by_name(binding: Binding, tools: Path) -> None:
    mine = binding(tools_folders=tools)
    stem = shipped_stems()[0]
    assert mine.is_library_mounted("Note Keeper") and not mine.is_library_mounted(stem)
    assert mine.mount_tool_library(stem) and mine.mount_tool_library_if_absent(stem) and mine.is_library_mounted(stem)
    assert not mine.mount_tool_library("../..") and "path" in mine.problem
    assert mine.find_library_for_tool("tool_write_note") == "notes"
    loaded = mine.load_tool_by_name("tool_write_note")
    assert loaded is not None and loaded["name"] == "tool_write_note" and loaded["input_schema"]["required"] == ["name"]
    assert mine.load_tool_by_name("nothing of the kind") is None


@pytest.mark.requirement("LCP-08")
def test_tools_of_code_text_come_go_and_ask(binding: Binding, tools: Path) -> None:
    mine = binding(tools_folders=tools)
    code = (
        "def tool_fibonacci(n: int) -> dict:\n    a, b = 0, 1\n    for _ in range(n): a, b = b, a + b\n"
        "    return {'output': str(a)}\n"
    )
    assert mine.register_tool_from_code("fibonacci", code)
    refused = mine.execute_tool("tool_fibonacci", {"n": 10})
    assert refused["kind"] == "denied"  # level "safe", and nobody to ask
    mine.set_confirm_handler(lambda *asked: ("allow", ""))
    assert mine.execute_tool("tool_fibonacci", {"n": 10})["output"] == "55"
    assert mine.register_tool_from_code("again", code.replace("a, b = 0, 1", "a, b = 1, 1"))
    assert mine.execute_tool("tool_fibonacci", {"n": 10})["output"] == "89"
    assert not mine.register_tool_from_code("none", "def helper(): ...\n") and "tool_" in mine.problem
    assert not mine.register_tool_from_code("bad", "def tool_x(:\n") and "line 1" in mine.problem
    assert mine.unregister_tools_by_prefix("fib") == 1 and mine.unregister_tools_by_prefix("fib") == 0
    assert mine.execute_tool("tool_fibonacci", {"n": 1})["status_code"] == 404
    assert len(mine.discovered_tools) == 3


@pytest.mark.requirement("LCP-19", "LIB-06")
def test_chat_specs_can_be_called(
    binding: Binding, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tools / "notes.py").write_text(
        NOTES
        + '\ndef tool_notes_prompt() -> str:\n    return "There are: " + ", ".join(sorted(os.listdir()))\nimport os\n'
    )
    mine = binding(tools_folders=tools)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seen.txt").touch()
    specs = mine.to_chat_tool_specs()
    assert list(specs) == ["tool_write_note", "tool_host_objects", "tool_last"]
    spec = specs["tool_write_note"]
    assert spec["description"].startswith("Writes a note.") and "seen.txt" in spec["description"]
    assert spec["parameters"][1] == {
        "name": "text",
        "type": "string",
        "description": "What to write.",
        "optional": True,
        "default": "empty",
    }
    assert spec["callable"](name="c.txt")["output"] == "wrote c.txt" and (tmp_path / "c.txt").exists()
    assert specs["tool_host_objects"]["callable"](tool_context={}, lollms_client_instance=3)["output"][:2] == [
        "dict",
        "int",
    ]
    assert "c.txt" in str(mine.get_dynamic_tool_description("tool_last"))
    assert "seen" not in str(mine.discovered_tools)  # listing runs nothing
    assert list(mine.to_chat_tool_specs(specific_tool_names=["tool_last"])) == ["tool_last"]


@pytest.mark.requirement("LCP-07", "LCP-13")
def test_handlers_are_swapped_in_the_binding(binding: Binding, tools: Path) -> None:
    (tools / "asks.py").write_text(
        "confirm = ask = None\n"
        "def init_tools_library(config=None):\n    global confirm, ask\n"
        "    confirm, ask = config['confirm_handler'], config.get('user_interaction_handler')\n"
        "def set_user_interaction_handler(handler):\n    global ask\n    ask = handler\n"
        "def tool_ask() -> list:\n    'Asks.'\n"
        "    said = ask({'type': 'text', 'title': '', 'prompt': '', 'options': [], 'default': None})\n"
        "    return [*confirm('x', 'l'), said]\n"
    )
    mine = binding(
        tools_folders=tools,
        confirm_handler=lambda *asked: ("allow", "1"),
        user_interaction_handler=lambda request: "ann",
    )
    assert mine.execute_tool("tool_ask")["output"] == ["allow", "1", "ann"]
    mine.set_confirm_handler(lambda *asked: ("reject", "2"))
    mine.set_user_interaction_handler(lambda request: "bob")
    assert mine.execute_tool("tool_ask")["output"] == ["reject", "2", "bob"]


@pytest.mark.requirement("LCP-04", "LCP-20")
def test_levels_hold_as_in_the_runtime(binding: Binding, tools: Path) -> None:
    mine = binding(tools_folders=tools, host_tool_configs={"notes": {"autonomy_level": "strict"}})
    assert mine.execute_tool("tool_last")["kind"] == "denied"
    assert binding(tools_folders=tools, policy="strict").execute_tool("tool_last")["kind"] == "denied"
    with pytest.raises(ConfigError, match="autonomy_level"):
        binding(tools_folders=tools, host_tool_configs={"notes": {"autonomy_level": "sometimes"}})


@pytest.mark.requirement("LCP-19")
def test_two_bindings_share_nothing(binding: Binding, tools: Path, tmp_path: Path) -> None:
    one, two = (binding(tools_folders=tools, workspace=tmp_path) for _ in range(2))
    assert [one.execute_tool("tool_write_note", {"name": "n"})["kept"] for _ in range(2)] == [1, 2]
    assert two.execute_tool("tool_write_note", {"name": "n"})["kept"] == 1


@pytest.mark.requirement("LCP-19")
def test_nothing_is_left_behind_by_a_host_that_never_closes(tools: Path, tmp_path: Path) -> None:
    (tools / "proc.py").write_text(
        "import os\nfrom sutler import tool\n"
        "@tool(isolation='process')\ndef tool_pid() -> int:\n    return os.getpid()\n"
        "async def tool_async() -> int:\n    return 1\n"
    )
    code = f"""
        from sutler.lcp import LCPBinding
        binding = LCPBinding(tools_folders={str(tools)!r}, watch=True)
        print(binding.execute_tool("tool_pid")["output"], binding.execute_tool("tool_async")["output"])
    """
    temp = tmp_path / "temp"
    temp.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temp), "SUTLER_STATE_DIR": str(tmp_path / "state")},
    )
    pid, one = done.stdout.split()
    assert (done.returncode, done.stderr, one) == (0, "", "1")
    assert list(temp.iterdir()) == [] and not (tmp_path / "state").exists()
    assert not _alive(int(pid))


def _alive(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return False
        time.sleep(0.05)
    return True


@pytest.mark.requirement("LCP-19")
def test_a_tool_may_use_the_binding_that_runs_it(binding: Binding, tools: Path, tmp_path: Path) -> None:
    class Client:
        tools: Any = None

    client = Client()
    (tools / "nested.py").write_text(
        "def tool_nested(lollms_client_instance=None) -> dict:\n    'N.'\n"
        "    return lollms_client_instance.tools.execute_tool('tool_write_note', {'name': 'nested.txt'})\n"
    )
    mine = binding(tools_folders=tools, workspace=tmp_path, client=client)
    client.tools = mine
    assert mine.execute_tool("tool_nested")["output"] == "wrote nested.txt"
    assert (tmp_path / "nested.txt").exists()
