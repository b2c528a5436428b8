"""LollmsClient: built by the names that LCP hosts write, with its tools binding as client.tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sutler.lcp import LCPBinding, LollmsClient, MCPBinding

from ..host.stand_in import KEY, stand_in

LIBRARY = '''
LEVEL = None


def init_tools_library(config=None):
    global LEVEL
    LEVEL = (config or {}).get("greeting")


def tool_greet(name: str, lollms_client_instance=None):
    """Greets."""
    return {"success": True, "output": f"{LEVEL} {name}", "has_client": lollms_client_instance is not None}


def tool_twice(name: str, lollms_client_instance=None):
    """Greets by the client's tools."""
    inner = lollms_client_instance.tools.execute_tool("tool_greet", {"name": name})
    return {"success": True, "output": inner["output"] * 2}
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_tools").mkdir()
    (tmp_path / "my_tools" / "greetings.py").write_text(LIBRARY)
    return tmp_path / "my_tools"


@pytest.mark.requirement("LCP-12", "LCP-10")
def test_a_client_carries_the_tools_binding_that_its_name_says(folder: Path) -> None:
    with LollmsClient(
        tools_binding_name="lcp",
        tools_binding_config={
            "tools_folders": [str(folder)],
            "host_tool_configs": {"greetings": {"greeting": "hello"}},
        },
    ) as client:
        assert isinstance(client.tools, LCPBinding)
        assert repr(client) == "<LollmsClient: tools=LCPBinding>"
        result = client.tools.execute_tool("tool_greet", {"name": "you"})
        assert (result["output"], result["has_client"]) == ("hello you", True)
        assert client.tools.execute_tool("tool_twice", {"name": "you"})["output"] == "hello youhello you"
        passed = client.tools.execute_tool("tool_greet", {"name": "you"}, lollms_client_instance=object())
        assert passed["has_client"]
        before = client.tools
        client.update_tools_binding("mcp", {"servers": []})
        assert isinstance(client.tools, MCPBinding)
        assert before.execute_tool is not None


@pytest.mark.requirement("LCP-12")
@pytest.mark.parametrize(
    ("keywords", "says"),
    [
        ({"tools_binding_name": "lcpp"}, "no tools binding 'lcpp'; did you mean 'lcp'"),
        ({"tools_binding_name": "remote"}, "no tools binding 'remote'; there are: lcp, mcp"),
        ({"tools_binding_config": {}}, "tools_binding_config is given without tools_binding_name"),
        ({"llm_binding_name": "openia"}, "no llm binding 'openia'; did you mean 'openai'"),
        (
            {"tti_binding_name": "diffusers"},
            r"no tti binding 'diffusers'.*given as an object or a callable: tti=\.\.\.",
        ),
        ({"ttm_binding_name": "x"}, "a ttm binding is given as an object or a callable, ttm="),
        ({"llm_binding_config": {}}, "llm_binding_config is given without llm_binding_name"),
        ({"llm_binding_name": "openai", "llm": len}, "llm and llm_binding_name exclude each other"),
        (
            {"llm_binding_name": "openai", "llm_binding_config": {"modle": "x"}},
            "llm_binding_config: unknown key 'modle'; did you mean 'model'",
        ),
    ],
)
def test_a_binding_that_there_is_not_is_named_with_the_closest(keywords: Any, says: str) -> None:
    with pytest.raises(RuntimeError, match=says):
        LollmsClient(**keywords)


def test_a_keyword_that_there_is_not_is_named_with_the_closest() -> None:
    with pytest.raises(TypeError, match="LollmsClient takes no 'conection'; did you mean 'connection'"):
        LollmsClient(conection=len)


@pytest.mark.requirement("LCP-12")
def test_the_built_in_binding_is_any_server_of_the_openai_api() -> None:
    with stand_in() as server:
        server.key = KEY
        config = {"host_address": server.url, "model_name": "echo", "service_key": KEY}
        with LollmsClient("openai", llm_binding_config=config, ttm=lambda prompt: b"la") as client:
            assert client.generate_text("hello") == "echo: hello"
            assert client.generate_music("x") == b"la"
            assert (client.tti, client.tools) == (None, None)
            assert KEY not in repr(client) + repr(client.llm)
    assert LollmsClient("openai").llm.url == "https://api.openai.com/v1"
