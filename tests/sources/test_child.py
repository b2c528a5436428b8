"""Libraries in a worker process: the same contract, with what the host gives as proxies."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ToolUnavailable
from sutler.sources import child
from sutler.sources.library import LibraryToolSource
from sutler.sources.shelf import open_folders
from sutler.workspace.worker import Worker

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="worker processes need fork")

LIBRARY = """
import asyncio, os
from helper import twice
N = []
CONFIG = {}
HANDLER = None
def set_confirm_handler(h):
    global HANDLER
    HANDLER = h
def init_tools_library(config):
    CONFIG.update(config)
    CONFIG["inits"] = CONFIG.get("inits", 0) + 1
def tool_count():
    N.append(1)
    return [len(N), os.getpid()]
def tool_where(): return os.getcwd()
def tool_twice(n: int, /, *, more: list = []):
    more.append(n)
    return [twice(n), more]
async def tool_later(x: int):
    await asyncio.sleep(0)
    return x
def tool_fail(): raise KeyError("gone")
def tool_config(): return {k: v for k, v in CONFIG.items() if not callable(v)}
def tool_confirm(): return [HANDLER("rm x", "[STRICT] shell", ["rm", "x"]), CONFIG["confirm_handler"]("b", "l")]
def tool_ask(user_interaction_handler=None):
    return user_interaction_handler({"type": "text", "title": "t", "prompt": "p"})
def tool_context_use(tool_context=None):
    tool_context.emit_progress("half", 0.5)
    answer = tool_context["call_tool"]("tool_other", {"a": 1}, b=2)
    return [answer, str(tool_context.workspace), sorted(tool_context), tool_context.get("nothing"),
            tool_context.client.tools.execute_tool("x::y", {}), tool_context.discussion]
def tool_dict(tool_context=None): return tool_context
def tool_client(lollms_client_instance=None):
    c = lollms_client_instance
    return [c.model_name, c.tti is None, c.llm is None, c.generate_text("hi", n_predict=5)]
def tool_private(lollms_client_instance=None):
    return lollms_client_instance.tools.__class__.__name__, lollms_client_instance._secret
def tool_plain(value: dict): return [type(value).__name__, value]
"""


class Tools:
    def execute_tool(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"output": name, "params": dict(params)}


class Client:
    """A host's client, as far as a tool may see of it."""

    def __init__(self) -> None:
        self.model_name = "m"
        self.tti = None
        self.llm = object()
        self.tools = Tools()
        self._secret = "key"

    def generate_text(self, prompt: str, n_predict: int = 1) -> str:
        return prompt * n_predict


class Context:
    def __init__(self, workspace: Path) -> None:
        self.client = Client()
        self.discussion = None
        self.workspace = workspace

    def emit_progress(self, text: str, fraction: float | None = None) -> None: ...

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> None: ...


class Served:
    """One worker of one library, and what it asked its host for."""

    def __init__(self, root: Path, **more: Any) -> None:
        self.asked: list[tuple[str, Any]] = []
        (root / "lib").mkdir(exist_ok=True)
        (root / "lib" / "lib.py").write_text(textwrap.dedent(LIBRARY))
        (root / "lib" / "helper.py").write_text("def twice(n): return n * 2\n")
        self.work = root / "work"
        self.work.mkdir(exist_ok=True)
        (source,) = open_folders([root], cache=False, **more)
        assert isinstance(source, LibraryToolSource)
        self.source = source
        self.specs = {spec.name: spec for spec in source.discover()}
        entry, payload = source.worker(self.specs["tool_count"])
        self.worker = Worker(entry, payload, name="lib")
        self.client = Client()

    def reply(self, tool: str, **arguments: Any) -> Any:
        return self.worker.call(tool, child.outgoing(arguments), cwd=self.work, timeout=30, on_request=self.serve)

    def call(self, tool: str, **arguments: Any) -> Any:
        reply = self.reply(tool, **arguments)
        assert reply["ok"], reply["error"]
        return reply["value"]["plain"]

    def serve(self, name: str, args: Mapping[str, Any]) -> Any:
        self.asked.append((name, dict(args)))
        match name:
            case "confirm_handler":
                return ["reject", "no"]
            case "user_interaction_handler":
                return "typed"
            case "call_tool":
                return {"output": "called"}
            case "object":
                return child.answer_for_object(self.client, args["path"], args["args"], args["kwargs"])
            case _:
                return None


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    made: list[Served] = []

    def start(**more: Any) -> Served:
        made.append(Served(tmp_path, **more))
        return made[-1]

    yield start
    for one in made:
        one.worker.close()


@pytest.mark.requirement("LCP-16", "RUN-03")
def test_a_library_stays_warm_with_its_state_in_its_worker(serve: Callable[..., Served]) -> None:
    served = serve()
    first, second = served.call("tool_count"), served.call("tool_count")
    assert (first[0], second[0], first[1]) == (1, 2, second[1])
    assert first[1] != os.getpid()
    assert served.call("tool_where") == str(served.work.resolve())


@pytest.mark.requirement("LCP-16", "SCH-07", "RUN-02")
def test_arguments_siblings_and_async_tools_work_there_as_here(serve: Callable[..., Served]) -> None:
    served = serve()
    assert served.call("tool_twice", n=4) == [8, [4]]
    assert served.call("tool_twice", n=5) == [10, [5]]
    assert served.call("tool_later", x=3) == 3
    reply = served.reply("tool_fail")
    assert (reply["error"]["type"], reply["error"]["message"]) == ("KeyError", "'gone'")
    assert (
        served.reply("tool_nowhere")["error"]["message"]
        == "library lib has no tool tool_nowhere in this worker process"
    )


@pytest.mark.requirement("LCP-16", "LCP-05", "LCP-06")
def test_config_and_handlers_reach_the_library_in_its_worker(serve: Callable[..., Served]) -> None:
    served = serve(host_configs={"lib": {"level": {"a": [1]}}}, confirm_handler=lambda *_: ("allow", ""))
    assert served.call("tool_config") == {"level": {"a": [1]}, "inits": 1}
    assert served.call("tool_confirm") == [["reject", "no"], ["reject", "no"]]
    assert served.asked == [
        ("confirm_handler", {"source": "rm x", "script_label": "[STRICT] shell", "argv": ["rm", "x"]}),
        ("confirm_handler", {"source": "b", "script_label": "l", "argv": None}),
    ]
    configs = child.outgoing_configs({"lib": {"level": 2}})
    served.worker.call("@configure", {"configs": configs, "handlers": ["confirm_handler"]}, cwd=served.work, timeout=30)
    assert served.call("tool_config") == {"level": 2, "inits": 2}


@pytest.mark.requirement("LCP-16")
def test_a_config_that_cannot_reach_a_worker_is_refused_by_its_key(serve: Callable[..., Served]) -> None:
    with pytest.raises(ToolUnavailable, match=r"host_tool_configs\.lib\.engine holds a object"):
        serve(host_configs={"lib": {"engine": object()}})


@pytest.mark.requirement("LCP-16")
def test_what_the_host_injects_is_a_proxy_there(serve: Callable[..., Served]) -> None:
    served = serve()
    assert served.call("tool_ask", user_interaction_handler=print) == "typed"
    assert served.call("tool_ask", user_interaction_handler=print) == "typed"
    assert served.asked[0] == ("user_interaction_handler", {"request": {"type": "text", "title": "t", "prompt": "p"}})
    served.asked.clear()
    assert served.call("tool_context_use", tool_context=Context(served.work)) == [
        {"output": "called"},
        str(served.work),
        ["call_tool", "client", "discussion", "emit_progress", "workspace"],
        None,
        {"output": "x::y", "params": {}},
        None,
    ]
    assert [name for name, _ in served.asked] == ["emit_progress", "call_tool", "object"]
    assert served.asked[0][1] == {"text": "half", "fraction": 0.5}
    assert served.asked[1][1] == {"name": "tool_other", "arguments": {"a": 1, "b": 2}}
    assert served.call("tool_dict", tool_context={"user": "me", "deep": [{"a": None}]}) == {
        "user": "me",
        "deep": [{"a": None}],
    }
    assert served.call("tool_dict", tool_context=None) is None
    assert served.call("tool_client", lollms_client_instance=served.client) == ["m", True, False, "hihihihihi"]


@pytest.mark.requirement("LCP-16")
def test_what_cannot_cross_is_refused_by_the_name_of_its_parameter(serve: Callable[..., Served]) -> None:
    served = serve()
    with pytest.raises(ToolUnavailable, match="the parameter `tool_context` holds a object"):
        served.call("tool_dict", tool_context=object())
    with pytest.raises(ToolUnavailable, match="the parameter `user_interaction_handler` holds a set"):
        served.call("tool_ask", user_interaction_handler={1})


@pytest.mark.requirement("LCP-16")
def test_a_worker_reaches_nothing_private_of_the_host(serve: Callable[..., Served]) -> None:
    served = serve()
    assert "private name" in served.reply("tool_private", lollms_client_instance=served.client)["error"]["message"]
    with pytest.raises(ToolUnavailable, match="private name '__init__'"):
        child.answer_for_object(served.client, ["generate_text", "__init__"], [], {})


@pytest.mark.requirement("LCP-16")
def test_a_models_argument_that_looks_like_a_mark_stays_data(serve: Callable[..., Served]) -> None:
    mark = child.outgoing({"user_interaction_handler": print})["user_interaction_handler"]
    assert serve().call("tool_plain", value=mark) == ["dict", mark]
