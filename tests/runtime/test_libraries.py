"""Tool libraries while a runtime is open: edited, configured, given other handlers."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler import ConfigError, Runtime, SyncRuntime
from sutler.policy.gate import Policy

OPEN = Callable[..., SyncRuntime]

CONFIGURED = '''
from sutler import tool

SEEN = []
_CONFIRM_HANDLER = None

def init_tools_library(config=None):
    SEEN.append(dict(config or {}))

def tool_seen() -> list:
    """What init was given."""
    return [sorted((key, str(value)) for key, value in one.items() if not callable(value)) for one in SEEN]

def tool_ask() -> list:
    """Asks through the handler that init was given."""
    return list(SEEN[-1]["confirm_handler"]("print(1)", "a label", None))

def tool_ask_attribute() -> list:
    """Asks through the module's own attribute."""
    return list(_CONFIRM_HANDLER("print(2)", "a label", None)) if _CONFIRM_HANDLER else ["none", ""]
'''


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def one(value: object, name: str = "tool_one") -> str:
    return (
        f'CALLS = []\ndef {name}() -> list:\n    """One."""\n    CALLS.append(1)\n    return [{value!r}, len(CALLS)]\n'
    )


# ---------------------------------------------------------------------- edited files


@pytest.mark.requirement("LIB-09")
def test_edited_added_and_removed_files_are_picked_up_and_listed(runtime: OPEN, tmp_path: Path) -> None:
    heard: list[Any] = []
    write(tmp_path, "a.py", one("v1"))
    write(tmp_path, "gone.py", one("x", "tool_gone"))
    write(tmp_path, "stays.py", one("s", "tool_stays"))
    rt = runtime(tool_folders=tmp_path, on_event=lambda event: heard.append(event))
    assert rt.call("tool_one").output == ["v1", 1] and rt.call("tool_stays").output == ["s", 1]
    assert not rt.refresh()
    write(tmp_path, "a.py", one("version 2"))
    write(tmp_path, "new/new.py", one("n", "tool_new"))
    (tmp_path / "gone.py").unlink()
    change = rt.refresh()
    assert change.to_dict() == {
        "added": ["new::tool_new"],
        "removed": ["gone::tool_gone"],
        "changed": ["a::tool_one"],
        "libraries": ["a", "gone", "new"],
    }
    assert [event.data for event in heard if event.kind == "tools_changed"] == [change.to_dict()]
    assert rt.library_changes() == [change]
    assert rt.call("tool_one").output == ["version 2", 1]  # fresh code, fresh state
    assert rt.call("tool_stays").output == ["s", 2]  # what was not touched keeps its state
    assert rt.call("tool_new").output == ["n", 1]
    assert rt.call("tool_gone").status_code == 404


@pytest.mark.requirement("LIB-09")
def test_a_changed_signature_is_there_at_once_and_never_apart_from_its_code(runtime: OPEN, tmp_path: Path) -> None:
    write(tmp_path, "a.py", "def tool_a(x: int) -> int:\n    return x\n")
    rt = runtime(tool_folders=tmp_path)
    assert rt.call("tool_a", {"x": "3"}).output == 3
    write(tmp_path, "a.py", "def tool_a(text: str) -> str:\n    return text + '!'\n")
    rt.refresh()
    assert list(rt.tools()[0].input_schema["properties"]) == ["text"]
    assert rt.call("tool_a", {"text": "hi"}).output == "hi!"


@pytest.mark.requirement("LIB-09")
def test_a_run_in_progress_keeps_its_tools_and_their_code(tmp_path: Path) -> None:
    write(tmp_path, "a.py", one("v1"))
    inside, go_on = threading.Event(), threading.Event()

    def pause() -> None:
        """Waits."""
        inside.set()
        assert go_on.wait(20)

    options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
    with SyncRuntime(tools=[pause], tool_folders=tmp_path, **options) as rt:
        results: list[Any] = []
        text = "first = tool_one()\npause()\nsecond = tool_one()\n[first, second]"
        thread = threading.Thread(target=lambda: results.append(rt.run(text)))
        thread.start()
        assert inside.wait(20)
        write(tmp_path, "a.py", "def tool_other() -> str:\n    return 'v2'\n")
        assert rt.refresh().removed == ("a::tool_one",)
        assert rt.call("tool_other").output == "v2" and rt.call("tool_one").status_code == 404
        go_on.set()
        thread.join(20)
        assert results[0].output == [["v1", 1], ["v1", 2]]
        assert rt.run("tool_one()").status == "failed"


@pytest.mark.requirement("LIB-09")
def test_a_run_is_not_given_code_that_came_after_it_began(tmp_path: Path) -> None:
    write(tmp_path, "a.py", one("v1"))
    inside, go_on = threading.Event(), threading.Event()

    def pause() -> None:
        """Waits."""
        inside.set()
        assert go_on.wait(20)

    options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
    with SyncRuntime(tools=[pause], tool_folders=tmp_path, **options) as rt:
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(rt.run("pause()\ntool_one()")))
        thread.start()
        assert inside.wait(20)
        write(tmp_path, "a.py", one("version 2"))
        rt.refresh()
        go_on.set()
        thread.join(20)
        assert results[0].status == "failed" and "changed since this run began" in results[0].error.message
        assert rt.run("tool_one()").output == ["version 2", 1]


@pytest.mark.requirement("LIB-09")
def test_a_file_that_is_broken_is_listed_with_its_error_and_works_again_when_mended(
    runtime: OPEN, tmp_path: Path
) -> None:
    write(tmp_path, "a.py", one("v1"))
    rt = runtime(tool_folders=tmp_path)
    rt.call("tool_one")
    write(tmp_path, "a.py", one("v1") + "def broken(:\n")
    rt.refresh()
    result = rt.call("tool_one")
    assert result.error is not None and result.error.kind == "unavailable" and "a.py" in result.error.message
    assert any("does not parse" in note for note in rt.inventory().notes)
    write(tmp_path, "a.py", one("mended"))
    rt.refresh()
    assert rt.call("tool_one").output == ["mended", 1]


@pytest.mark.requirement("LIB-09")
def test_a_helper_that_is_edited_reloads_those_that_import_it_and_no_other(runtime: OPEN, tmp_path: Path) -> None:
    write(tmp_path, "helper.py", "VALUE = 1\n")
    write(tmp_path, "uses.py", 'import helper\ndef tool_uses() -> int:\n    """U."""\n    return helper.VALUE\n')
    write(tmp_path, "other.py", one("o", "tool_other"))
    write(tmp_path, "lib/lib.py", 'from .inner import X\ndef tool_lib() -> int:\n    """L."""\n    return X\n')
    write(tmp_path, "lib/inner.py", "X = 1\n")
    rt = runtime(tool_folders=tmp_path)
    assert [rt.call(name).output for name in ("tool_uses", "tool_lib", "tool_other")] == [1, 1, ["o", 1]]
    write(tmp_path, "helper.py", "VALUE = 22\n")
    write(tmp_path, "lib/inner.py", "X = 33\n")
    assert rt.refresh().libraries == ("lib", "uses")
    assert [rt.call(name).output for name in ("tool_uses", "tool_lib", "tool_other")] == [22, 33, ["o", 2]]


@pytest.mark.requirement("LIB-09", "LCP-16")
def test_an_edited_library_gets_a_new_worker_process(runtime: OPEN, tmp_path: Path) -> None:
    text = (
        "import os\nfrom sutler import tool\n@tool(isolation='process')\ndef tool_p() -> list:\n"
        "    return [%r, os.getpid()]\n"
    )
    write(tmp_path, "p.py", text % "v1")
    rt = runtime(tool_folders=tmp_path)
    first = rt.call("tool_p").output
    write(tmp_path, "p.py", text % "version 2")
    rt.refresh()
    second = rt.call("tool_p").output
    assert (first[0], second[0]) == ("v1", "version 2") and first[1] != second[1]


@pytest.mark.requirement("LIB-09")
def test_two_libraries_of_one_stem_keep_their_ids_when_one_is_edited(runtime: OPEN, tmp_path: Path) -> None:
    write(tmp_path / "one", "ops.py", one("1"))
    write(tmp_path / "two", "ops.py", one("2", "tool_two"))
    rt = runtime(tool_folders=[tmp_path / "one", tmp_path / "two"])
    assert [row.spec.qualified for row in rt.inventory().rows] == ["ops::tool_one", "ops#2::tool_two"]
    write(tmp_path / "two", "ops.py", one("twenty", "tool_two"))
    assert rt.refresh().changed == ("ops#2::tool_two",)
    assert rt.call("ops#2::tool_two").output == ["twenty", 1]
    (tmp_path / "one" / "ops.py").unlink()
    assert rt.refresh().removed == ("ops::tool_one",)
    assert rt.call("ops#2::tool_two").output == ["twenty", 2]


def test_what_was_replaced_does_not_stay_in_memory(runtime: OPEN, tmp_path: Path) -> None:
    rt = runtime(tool_folders=tmp_path)
    for number in range(30):
        write(tmp_path, "a.py", one("v" * number))
        rt.refresh()
        assert rt.call("tool_one").output == ["v" * number, 1]
    gc.collect()
    mine = [name for name in sys.modules if name.startswith("_sutler_") and name.endswith(".a")]
    held = [name for name in mine if str(tmp_path) in str(getattr(sys.modules[name], "__file__", ""))]
    assert len(held) <= 2


def test_refreshing_while_calls_go_on_loses_none(runtime: OPEN, tmp_path: Path) -> None:
    write(tmp_path, "a.py", one(0))
    rt = runtime(tool_folders=tmp_path)
    stop, bad = threading.Event(), list[Any]()

    def call() -> None:
        while not stop.is_set():
            result = rt.call("tool_one")
            if not result.success:
                bad.append(result)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(1, 40):
        draft = write(tmp_path, "draft.txt", one("n" * number))
        draft.replace(tmp_path / "a.py")
        rt.refresh()
    stop.set()
    for thread in threads:
        thread.join(20)
    # a call that had looked the tool up before the edit and had not loaded it may be told so; nothing else may go wrong
    assert [one for one in bad if "changed since" not in str(one.error)] == []
    assert rt.call("tool_one").output[0] == "n" * 39


# ---------------------------------------------------------------------- configs, levels, handlers


@pytest.mark.requirement("LCP-05", "LCP-06")
def test_init_runs_again_when_that_library_s_config_changes_and_only_then(runtime: OPEN, tmp_path: Path) -> None:
    write(tmp_path, "one.py", CONFIGURED)
    write(tmp_path, "two.py", CONFIGURED)
    mine = {"one": {"rows": 1, "deep": {"list": [1]}}}
    rt = runtime(tool_folders=tmp_path, host_tool_configs=mine, policy="full_access")
    level = ["autonomy_level", "full_access"]
    assert rt.call("one::tool_seen").output == [[level, ["deep", "{'list': [1]}"], ["rows", "1"]]]
    assert rt.call("two::tool_seen").output == [[level]]
    rt.configure_library("one", {"rows": 2})
    assert rt.call("one::tool_seen").output[1:] == [[level, ["rows", "2"]]]
    assert rt.call("two::tool_seen").output == [[level]]
    rt.configure_library("one", None)
    assert rt.call("one::tool_seen").output[2:] == [[level]]
    assert mine == {"one": {"rows": 1, "deep": {"list": [1]}}}


@pytest.mark.requirement("LCP-06", "LCP-16")
def test_a_new_config_reaches_a_library_in_a_worker_process(runtime: OPEN, tmp_path: Path) -> None:
    text = CONFIGURED.replace("def tool_seen", "@tool(isolation='process')\ndef tool_seen")
    write(tmp_path, "one.py", text)
    rt = runtime(tool_folders=tmp_path, host_tool_configs={"one": {"rows": 1}})
    assert rt.call("tool_seen").output == [[["autonomy_level", "safe"], ["rows", "1"]]]
    rt.configure_library("one", {"rows": 2})
    assert rt.call("tool_seen").output[1:] == [[["autonomy_level", "safe"], ["rows", "2"]]]
    rt.configure_library("one", {"rows": object()})
    failed = rt.call("tool_seen")
    assert failed.error is not None and "host_tool_configs.one.rows" in failed.error.message


@pytest.mark.requirement("LCP-04", "LCP-20")
def test_the_level_in_a_host_config_is_that_library_s_gate_from_the_next_call(runtime: OPEN, tmp_path: Path) -> None:
    write(tmp_path, "one.py", CONFIGURED)
    write(tmp_path, "two.py", CONFIGURED)
    rt = runtime(tool_folders=tmp_path, host_tool_configs={"one": {"autonomy_level": "strict"}})
    refused = rt.call("one::tool_seen")
    assert refused.error is not None and refused.error.kind == "denied"
    assert rt.call("two::tool_seen").success
    rt.configure_library("one", {"autonomy_level": "full_access"})
    assert rt.call("one::tool_seen").output == [[["autonomy_level", "full_access"]]]
    rt.configure_library("one", {"autonomy_level": "strict"})
    assert rt.call("one::tool_seen").error.kind == "denied"  # type: ignore[union-attr]
    rt.configure_library("one", None)
    assert rt.call("one::tool_seen").success


@pytest.mark.requirement("LCP-20")
def test_a_library_whose_stem_is_taken_has_the_same_gate(runtime: OPEN, tmp_path: Path) -> None:
    write(tmp_path / "a", "ops.py", one("1"))
    write(tmp_path / "b", "ops.py", one("2", "tool_two"))
    folders = [tmp_path / "a", tmp_path / "b"]
    rt = runtime(tool_folders=folders, host_tool_configs={"ops": {"autonomy_level": "strict"}})
    for name in ("ops::tool_one", "ops#2::tool_two"):
        assert rt.call(name).error.kind == "denied"  # type: ignore[union-attr]


@pytest.mark.requirement("LCP-20")
def test_an_unknown_level_is_an_error_and_changes_nothing(runtime: OPEN, tmp_path: Path) -> None:
    write(tmp_path, "one.py", one("v"))
    for policy in (None, "safe", Policy()):
        with pytest.raises(ConfigError, match=r"host_tool_configs\.one\.autonomy_level.*saef"):
            runtime(tool_folders=tmp_path, host_tool_configs={"one": {"autonomy_level": "saef"}}, policy=policy)
    rt = runtime(tool_folders=tmp_path)
    for bad in ("saef", 3, ["strict"]):
        with pytest.raises(ConfigError, match="autonomy_level"):
            rt.configure_library("one", {"autonomy_level": bad})
    assert rt.call("tool_one").success


@pytest.mark.requirement("LCP-20")
def test_a_stem_that_matches_no_library_is_reported(runtime: OPEN, tmp_path: Path) -> None:
    write(tmp_path, "mailer.py", one("v"))
    rt = runtime(tool_folders=tmp_path, host_tool_configs={"mialer": {"x": 1}})
    [note] = rt.inventory().notes
    assert "mialer" in note and "did you mean mailer?" in note
    rt.configure_library("mialer", None)
    assert rt.inventory().notes == ()
    rt.configure_library("nothing", {})
    assert "nothing" in rt.inventory().notes[0]


@pytest.mark.requirement("LCP-07")
def test_a_handler_that_is_swapped_reaches_libraries_that_are_loaded(runtime: OPEN, tmp_path: Path) -> None:
    hooked = (
        "SEEN = []\nHANDLER = None\n"
        "def set_confirm_handler(handler):\n    global HANDLER\n    HANDLER = handler\n    SEEN.append(handler)\n"
        "def tool_hook() -> list:\n    'Asks.'\n    return [*HANDLER('x', 'label'), len(SEEN)]\n"
    )
    write(tmp_path, "hooked.py", hooked)
    write(tmp_path, "plain.py", CONFIGURED)
    rt = runtime(tool_folders=tmp_path, confirm_handler=lambda *asked: ("allow", "first"))
    assert rt.call("tool_hook").output == ["allow", "first", 1]
    assert rt.call("tool_ask").output == ["allow", "first"]
    assert rt.call("tool_ask_attribute").output[0] == "none"
    rt.set_confirm_handler(lambda *asked: ("reject", "second"))
    assert rt.call("tool_hook").output == ["reject", "second", 2]
    assert rt.call("tool_ask").output == ["reject", "second"]
    assert rt.call("tool_ask_attribute").output == ["reject", "second"]
    rt.set_confirm_handler(None)
    assert rt.call("tool_hook").output[0] == "reject"
    with pytest.raises(TypeError, match="confirm_handler"):
        rt.set_confirm_handler("allow")  # type: ignore[arg-type]


@pytest.mark.requirement("LCP-07", "LCP-16")
def test_a_swapped_handler_reaches_worker_processes_too(runtime: OPEN, tmp_path: Path) -> None:
    text = (
        "from sutler import tool\nA = B = None\n"
        "def set_confirm_handler(handler):\n    global A\n    A = handler\n"
        "def set_user_interaction_handler(handler):\n    global B\n    B = handler\n"
        "@tool(isolation='process')\ndef tool_both() -> list:\n    'Asks.'\n"
        "    request = {'type': 'text', 'title': 't', 'prompt': 'p', 'options': [], 'default': None}\n"
        "    return [A('x', 'l')[1], B(request)]\n"
    )
    write(tmp_path, "w.py", text)
    rt = runtime(
        tool_folders=tmp_path,
        confirm_handler=lambda *asked: ("allow", "one"),
        user_interaction_handler=lambda request: "ann",
    )
    assert rt.call("tool_both").output == ["one", "ann"]
    rt.set_confirm_handler(lambda *asked: ("reject", "two"))
    rt.set_user_interaction_handler(lambda request: "bob")
    assert rt.call("tool_both").output == ["two", "bob"]


def test_both_faces_can_do_it(tmp_path: Path) -> None:
    write(tmp_path, "a.py", one("v1"))

    async def main() -> None:
        options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
        async with Runtime(tool_folders=tmp_path, **options) as rt:
            write(tmp_path, "b.py", one("b", "tool_b"))
            assert (await rt.refresh()).added == ("b::tool_b",)
            assert await rt.is_library_mounted("B") and await rt.mount_tool_library("a")
            assert await rt.find_library_for_tool("tool_b") == "b" and await rt.is_tool_available("tool_b")
            spec = await rt.load_tool_by_name("tool_b")
            assert spec is not None and spec.name == "tool_b"
            rt.set_confirm_handler(lambda *asked: ("reject", "no"))
            rt.configure_library("a", {"autonomy_level": "strict"})
            assert (await rt.call("tool_one")).error.kind == "denied"  # type: ignore[union-attr]

    asyncio.run(main())
