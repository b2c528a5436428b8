"""What the LCP document shows of its host, section by section, in libraries and hosts of our own (LCP-10)."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler.lcp import LCPBinding, LollmsClient, make_gui_confirm_handler

Binding = Callable[..., LCPBinding]

STOCK = '''
"""stock.py: what is in store, in a database of the workspace."""
import sqlite3
from pathlib import Path
from typing import Any, Dict, Optional

TOOL_LIBRARY_NAME = "Stock Keeping"
TOOL_LIBRARY_DESC = "Looks up what is in store."
TOOL_LIBRARY_ICON = "S"

LEVEL = None
_CONFIRM_HANDLER = None


def init_tools_library(config: Optional[dict] = None) -> None:
    global LEVEL, _CONFIRM_HANDLER
    if config and isinstance(config, dict):
        LEVEL = config.get("autonomy_level", "unset")
        _CONFIRM_HANDLER = config.get("confirm_handler")


def tool_stock_prompt() -> str:
    """Not a tool."""
    return f"Databases: {[one.name for one in Path('.').glob('*.db')] or 'none'}"


def tool_look_up(database: str, item: str) -> Dict[str, Any]:
    """
    Looks up how much of an item there is.

    Args:
        database (str): Name of the .db file.
        item (str): What to look for.
    """
    if not Path(database).exists():
        return {"success": False, "error": f"no database {database!r} here"}
    with sqlite3.connect(database) as connection:
        rows = connection.execute("select amount from stock where item = ?", (item,)).fetchall()
    connection.close()
    return {"success": True, "output": {"amounts": [row[0] for row in rows]}, "rows": len(rows)}


def tool_discard(item: str) -> Dict[str, Any]:
    """Throws an item away, when the person agrees."""
    if LEVEL != "full_access":
        decision, reason = _CONFIRM_HANDLER(f"discard({item!r})", "discard", [item])
        if decision not in ("allow", "always"):
            return {"success": False, "error": f"refused: {reason}"}
    return {"success": True, "output": f"{item} is gone", "prompt_injection": f"Say that {item} is gone."}


def tool_level() -> str:
    """The level that the host has set."""
    return LEVEL
'''

STUDIO = '''
from pathlib import Path

def tool_poster(subject: str, with_tune: bool = True, lollms_client_instance=None) -> dict:
    """Makes a poster with a line of text, and a tune."""
    client = lollms_client_instance
    if client is None or client.llm is None or client.tti is None:
        return {"success": False, "error": "a client with text and image is needed"}
    Path("poster.png").write_bytes(client.generate_image(prompt=subject, width=64, height=64))
    line = str(client.generate_text(prompt=f"a line on {subject}", n_predict=16)).strip()
    tune = None
    if with_tune and client.ttm is not None:
        tune = "tune.wav"
        Path(tune).write_bytes(client.generate_music(prompt=subject))
    return {"success": True, "output": "poster.png", "line": line, "tune": tune}
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The host's current directory, with a folder my_tools in it."""
    (tmp_path / "my_tools").mkdir()
    (tmp_path / "my_tools" / "stock.py").write_text(STOCK)
    (tmp_path / "my_tools" / "studio.py").write_text(STUDIO)
    connection = sqlite3.connect(tmp_path / "store.db")
    connection.execute("create table stock (item, amount)")
    connection.execute("insert into stock values ('nails', 40)")
    connection.commit()
    connection.close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.requirement("LCP-10", "LIB-06")
def test_a_library_with_everything_the_document_names(binding: Binding, here: Path) -> None:
    mine = binding(tools_folders=["./my_tools"])
    assert [tool["name"] for tool in mine.list_tools()] == ["tool_look_up", "tool_discard", "tool_level", "tool_poster"]
    result = mine.execute_tool("tool_look_up", {"database": "store.db", "item": "nails"})
    assert result == {"output": {"amounts": [40]}, "status_code": 200, "success": True, "rows": 1}
    failed = mine.execute_tool("tool_look_up", {"database": "no.db", "item": "nails"})
    assert (failed["success"], failed["status_code"], failed["error"]) == (False, 500, "no database 'no.db' here")
    assert "Databases: ['store.db']" in mine.to_chat_tool_specs()["tool_look_up"]["description"]


@pytest.mark.requirement("LCP-10", "LCP-01")
def test_a_library_that_asks_the_person_itself(binding: Binding, here: Path) -> None:
    asked: list[tuple[Any, ...]] = []

    def confirm(source: str, script_label: str, argv: list[Any] | None = None) -> tuple[str, str]:
        asked.append((source, argv))
        return ("allow", "") if "dust" in source else ("reject", "it is needed")

    mine = binding(tools_folders="./my_tools", confirm_handler=confirm)
    done = mine.execute_tool("tool_discard", {"item": "dust"})
    assert done["success"] and done["prompt_injection"] == "Say that dust is gone."
    assert mine.execute_tool("tool_discard", {"item": "nails"})["error"] == "refused: it is needed"
    assert asked == [("discard('dust')", ["dust"]), ("discard('nails')", ["nails"])]


@pytest.mark.requirement("LCP-10", "LCP-03")
def test_a_person_at_an_event_queue(binding: Binding, here: Path) -> None:
    events: queue.Queue[dict[str, Any]] = queue.Queue()

    def interface() -> None:
        for answer in (("allow", ""), ("reject", "not today")):
            event = events.get(timeout=20)
            assert event["type"] == "approval_request"
            event["response_queue"].put(answer)

    thread = threading.Thread(target=interface)
    thread.start()
    mine = binding(tools_folders="./my_tools", confirm_handler=make_gui_confirm_handler(events), policy="strict")
    assert mine.execute_tool("tool_level")["output"] == "strict"
    assert "not today" in mine.execute_tool("tool_level")["error"]
    thread.join(20)


@pytest.mark.requirement("LCP-10", "LCP-05", "LCP-20")
def test_host_configs_by_stem(binding: Binding, here: Path) -> None:
    mine = binding(
        host_tool_configs={
            "workspace_tools": {"root_path": str(here)},
            "execute_python": {"autonomy_level": "safe"},
            "system_shell": {"autonomy_level": "strict"},
        }
    )
    assert mine.runtime.inventory().notes == ()
    levels = mine.runtime.core.policy
    assert (levels.level_of("system_shell"), levels.level_of("execute_python")) == ("strict", "safe")
    theirs = binding(tools_folders="./my_tools", host_tool_configs={"stock": {"autonomy_level": "full_access"}})
    assert theirs.execute_tool("tool_discard", {"item": "nails"})["success"]


@pytest.mark.requirement("LCP-10", "LCP-08", "LCP-09")
def test_a_client_that_carries_its_tools(here: Path) -> None:
    client = LollmsClient(
        tools_binding_name="lcp",
        tools_binding_config={
            "tools_folders": ["./my_tools"],
            "confirm_handler": lambda *asked: ("allow", ""),
            "host_tool_configs": {"stock": {"autonomy_level": "safe"}},
        },
    )
    try:
        assert client.tools.execute_tool("tool_level")["output"] == "safe"
        assert client.tools.is_library_mounted("stock keeping") and client.tools.mount_tool_library("execute-python")
        text = "def tool_twice(n: int) -> dict:\n    'Doubles.'\n    return {'success': True, 'output': n * 2}\n"
        assert client.tools.register_tool_from_code("twice", text)
        assert client.tools.execute_tool("tool_twice", {"n": "4"})["output"] == 8
    finally:
        client.tools.close()


@pytest.mark.requirement("LCP-10", "LCP-12")
def test_a_tool_that_uses_every_capability_of_its_client(binding: Binding, here: Path) -> None:
    client = LollmsClient(
        llm=lambda prompt, **more: "one line", tti=lambda prompt, **more: b"PNG", ttm=lambda prompt, **more: b"WAV"
    )
    mine = binding(tools_folders="./my_tools")
    made = mine.execute_tool("tool_poster", {"subject": "rain"}, lollms_client_instance=client)
    assert made["success"] and (made["line"], made["tune"]) == ("one line", "tune.wav")
    assert (here / "poster.png").read_bytes() == b"PNG" and (here / "tune.wav").read_bytes() == b"WAV"
    assert "needed" in mine.execute_tool("tool_poster", {"subject": "rain"})["error"]


@pytest.mark.requirement("LCP-10", "LCP-13")
def test_questions_to_the_person(binding: Binding, here: Path) -> None:
    seen: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> str | None:
        seen.append(request)
        return request["options"][0] if request["options"] else "typed"

    mine = binding(user_interaction_handler=answer)
    given = {"tool_ask_text": {"prompt": "?"}, "tool_ask_choice": {"prompt": "?", "options": ["a", "b"]}}
    for name, arguments in {**given, "tool_ask_secret": {"prompt": "?", "name": "key"}}.items():
        assert mine.execute_tool(name, arguments)["success"], name
    assert {request["type"] for request in seen} == {"text", "select", "secret"}


# ---------------------------------------------------------------------- faults that hosts have met


@pytest.mark.requirement("LCP-19", "LIB-05")
def test_no_stem_switches_a_library_off(binding: Binding, here: Path) -> None:
    (here / "my_tools" / "word_tools.py").write_text("def tool_mine() -> str:\n    'M.'\n    return 'mine'\n")
    assert binding(tools_folders="my_tools").execute_tool("tool_mine")["output"] == "mine"


@pytest.mark.requirement("LCP-19")
def test_an_always_given_to_one_binding_is_none_in_another(binding: Binding, here: Path) -> None:
    one = binding(tools_folders="my_tools", policy="strict", confirm_handler=lambda *asked: ("always", ""))
    two = binding(tools_folders="my_tools", policy="strict", confirm_handler=lambda *asked: ("reject", "no"))
    assert one.execute_tool("tool_level")["success"] and one.execute_tool("tool_level")["success"]
    assert two.execute_tool("tool_level")["kind"] == "denied"


@pytest.mark.requirement("LCP-16")
def test_the_whole_contract_holds_in_a_worker_process(binding: Binding, here: Path) -> None:
    marked = STOCK.replace("\ndef tool_", "\n@tool(isolation='process')\ndef tool_").replace(
        "@tool(isolation='process')\ndef tool_stock_prompt", "def tool_stock_prompt"
    )
    (here / "my_tools" / "stock.py").write_text("from sutler import tool\n" + marked + PROCESS)

    class Client:
        model = "tiny"

        def shout(self, text: str) -> str:
            return text.upper()

    mine = binding(tools_folders="my_tools", confirm_handler=lambda *asked: ("reject", "kept"), client=Client())
    assert mine.execute_tool("tool_discard", {"item": "nails"})["error"] == "refused: kept"
    assert mine.execute_tool("tool_look_up", {"database": "store.db", "item": "nails"})["output"] == {"amounts": [40]}
    assert "Databases: ['store.db']" in mine.to_chat_tool_specs()["tool_look_up"]["description"]
    assert mine.execute_tool("tool_host")["output"] == [1, "TINY", 40, "tiny"]
    assert mine.execute_tool("tool_host")["output"][0] == 2  # state stays between calls
    refused = mine.execute_tool("tool_host", {}, tool_context={"a": object()})
    assert not refused["success"] and "tool_context" in refused["error"]
    mine.set_confirm_handler(lambda *asked: ("allow", ""))
    assert mine.execute_tool("tool_discard", {"item": "nails"})["success"]


PROCESS = '''
CALLS = []

@tool(isolation="process")
def tool_host(tool_context=None, lollms_client_instance=None) -> list:
    """Uses the host."""
    CALLS.append(1)
    nested = tool_context.call_tool("tool_look_up", {"database": "store.db", "item": "nails"})
    return [
        len(CALLS), lollms_client_instance.shout(lollms_client_instance.model), nested["output"]["amounts"][0],
        tool_context["client"].model,
    ]
'''
