"""MCPBinding: servers by alias, alone and embedded in a bridge library, and what asks whom."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler import ConfigError, SyncRuntime
from sutler.lcp import LollmsClient, MCPBinding
from sutler.lcp.mcp import TOOL_NAME_SEPARATOR, BindingName

from ..faults.http_server import FaultyHttp

SERVER = str(Path(__file__).parent / "servers.py")
FAULTS = str(Path(__file__).parent.parent / "faults" / "stdio_server.py")

# In the shape of the LCP document's section 11; only the import differs.
BRIDGE = '''
import json

from sutler.lcp import MCPBinding

_binding = None


def init_tools_library(config=None):
    global _binding
    if _binding is None and config and isinstance(config, dict):
        _binding = MCPBinding(servers=config.get("servers", []))


def tool_ask_server(server_alias: str, mcp_tool_name: str, arguments: str = "{}"):
    """
    Calls a tool of a configured server.

    Args:
        server_alias (str): The server.
        mcp_tool_name (str): Its tool.
        arguments (str): The arguments, as the text of a JSON object.
    """
    sent = json.loads(arguments) if arguments.strip() else {}
    name = f"{server_alias}::{'tool_'}{mcp_tool_name}".replace("tool_tool_", "tool_")
    result = _binding.execute_tool(name, sent)
    return {
        "success": bool(result.get("success", not result.get("error"))),
        "output": result.get("output", result),
        "error": result.get("error"),
    }
'''


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUTLER_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    """A stdio server in the document's form, over a folder with one file."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("hello")
    return {"alias": "filesystem", "type": "stdio", "command": sys.executable, "args": [SERVER, str(tmp_path / "data")]}


@pytest.fixture
def binding(files: dict[str, Any]) -> Iterator[MCPBinding]:
    with MCPBinding(servers=[files], policy="full_access") as opened:
        yield opened


@pytest.mark.requirement("LCP-11", "LCP-18")
def test_a_servers_tool_is_called_as_alias_and_name_and_gives_the_wrapper(binding: MCPBinding) -> None:
    assert (BindingName, TOOL_NAME_SEPARATOR) == ("MCPBinding", "::")
    read = binding.execute_tool("filesystem::read_file", {"path": "a.txt"}, lollms_client_instance=None)
    assert (read["success"], read["status_code"], read["output"]) == (True, 200, "hello")
    missing = binding.execute_tool("filesystem::read_file", {"path": "b.txt"})
    assert (missing["success"], missing["status_code"], missing["error"]) == (False, 500, "no file b.txt")
    wrong = binding.execute_tool("filesystem::read_file", {})
    assert (wrong["success"], wrong["kind"]) == (False, "invalid_arguments")


@pytest.mark.requirement("LCP-18")
def test_the_documents_prefix_means_the_servers_own_name(binding: MCPBinding) -> None:
    assert binding.execute_tool("filesystem::tool_read_file", {"path": "a.txt"})["output"] == "hello"
    assert binding.execute_tool("filesystem::tool_own")["output"] == "tool_own ran"
    assert binding.execute_tool("filesystem::own")["status_code"] == 404


@pytest.mark.requirement("LCP-18")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "filesystm::read_file",
            "there is no server 'filesystm' (did you mean 'filesystem'?); the servers are: filesystem",
        ),
        ("read_file", "'read_file' names no server: write alias::tool; the servers are: filesystem"),
        ("filesystem::raed_file", "has no tool 'raed_file' (did you mean 'read_file'?); it has read_file, write_file"),
        ("filesystem::", "has no tool ''"),
    ],
)
def test_an_unknown_server_or_tool_is_a_404_with_the_known_ones(binding: MCPBinding, name: str, says: str) -> None:
    result = binding.execute_tool(name, {})
    assert (result["success"], result["status_code"], result["kind"]) == (False, 404, "not_found")
    assert says in result["error"]


@pytest.mark.requirement("LCP-18")
def test_the_tools_are_listed_by_alias_and_the_list_is_the_callers_own(binding: MCPBinding) -> None:
    listed = binding.list_tools()
    assert [tool["name"] for tool in listed][:2] == ["filesystem::read_file", "filesystem::write_file"]
    listed[0]["input_schema"]["properties"].clear()
    [tool] = binding.discover_tools(specific_tool_names=["filesystem::read_file"], force_refresh=True)
    assert (tool["description"], list(tool["input_schema"]["properties"])) == ("Reads a file.", ["path"])


@pytest.mark.requirement("LCP-18")
def test_a_server_takes_an_environment_and_a_folder(files: dict[str, Any], tmp_path: Path) -> None:
    server = {**files, "env": {"COLOUR": "green"}, "cwd": tmp_path, "timeout": 20}
    with MCPBinding(servers=[server]) as binding:
        said = binding.execute_tool("filesystem::environment", {"path": "COLOUR"})
    assert said["output"] == f"green in {os.path.realpath(tmp_path)}"


@pytest.mark.requirement("LCP-18")
def test_a_server_over_http_takes_headers() -> None:
    with FaultyHttp() as server:
        table = {"alias": "web", "type": "http", "url": server.url, "headers": {"X-Team": "blue"}}
        with MCPBinding(servers=[table]) as binding:
            assert binding.execute_tool("web::echo", {"x": "hi"})["success"]
        assert any(headers.get("X-Team") == "blue" for _, headers in server.requests)


def test_a_command_may_hold_its_arguments(files: dict[str, Any]) -> None:
    folder = files["args"][1]
    for command in ([sys.executable, SERVER, folder], f"{sys.executable} {SERVER} {folder}"):
        with MCPBinding(servers=[{"alias": "f", "type": "stdio", "command": command}]) as binding:
            assert binding.execute_tool("f::read_file", {"path": "a.txt"})["output"] == "hello"


@pytest.mark.requirement("LCP-18")
@pytest.mark.parametrize(
    ("server", "says"),
    [
        ({"type": "stdio", "command": "x"}, r"servers\[0\]: `alias` is missing"),
        ({"alias": "a", "type": "stido", "command": "x"}, r"servers\[0\].type: no such type .*did you mean 'stdio'"),
        ({"alias": "a", "type": "http"}, r"mcp_servers.a: neither `command` nor `url`"),
        ({"alias": "a", "type": "http", "command": "x"}, r"mcp_servers.a.transport: is 'http'"),
        ({"alias": "a", "command": "x", "argz": []}, r"mcp_servers.a.argz: unknown key .*did you mean `args`"),
        ({"alias": "a", "command": "x", "timeout": -1}, r"mcp_servers.a.timeout: must be more than 0"),
        ({"alias": "a::b", "command": "x"}, r"a server's id holds neither"),
        ("a", r"servers\[0\]: must be a table"),
    ],
)
def test_a_wrong_server_is_named_with_its_key(server: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        MCPBinding(servers=[server])


def test_a_keyword_that_there_is_not_is_named_with_the_closest(files: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="MCPBinding takes no 'polcy'; did you mean 'policy'"):
        MCPBinding(servers=[files], polcy="strict")


def test_two_servers_of_one_alias_are_refused(files: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"servers\[1\]: two servers of the alias 'filesystem'"):
        MCPBinding(servers=[files, files])


@pytest.mark.requirement("LCP-18")
def test_a_server_that_cannot_be_had_is_told_from_a_tool_that_is_not_there(files: dict[str, Any]) -> None:
    broken = {"alias": "broken", "command": sys.executable, "args": [FAULTS, "exit"]}
    with MCPBinding(servers=[files, broken]) as binding:
        result = binding.execute_tool("broken::anything", {})
        assert (result["status_code"], result["kind"]) == (500, "unavailable")
        assert "the server 'broken' cannot be had" in result["error"]
        assert binding.execute_tool("filesystem::read_file", {"path": "a.txt"})["success"]
    closed = binding.execute_tool("filesystem::read_file", {"path": "a.txt"})
    assert closed["success"] is False and "not open" in closed["error"]


@pytest.mark.requirement("LCP-11")
def test_a_tool_that_writes_asks_and_with_nobody_to_ask_it_is_denied(files: dict[str, Any], tmp_path: Path) -> None:
    with MCPBinding(servers=[files]) as binding:
        denied = binding.execute_tool("filesystem::write_file", {"path": "b.txt"})
    assert (denied["success"], denied["kind"]) == (False, "denied")
    asked: list[str] = []

    def confirm(source: str, label: str, argv: Any = None) -> tuple[str, str]:
        asked.append(source)
        return "allow", ""

    with MCPBinding(servers=[files], confirm_handler=confirm) as binding:
        assert binding.execute_tool("filesystem::write_file", {"path": "b.txt"})["success"]
    assert len(asked) == 1 and "b.txt" in asked[0]
    assert (tmp_path / "data" / "b.txt").read_text() == "written"


@pytest.mark.requirement("LCP-11", "MCP-12")
def test_a_binding_serves_a_running_loop_and_its_threads(files: dict[str, Any]) -> None:
    async def main() -> list[Any]:
        with MCPBinding(servers=[files]) as binding:
            one = binding.execute_tool("filesystem::read_file", {"path": "a.txt"})
            more = (
                asyncio.to_thread(binding.execute_tool, "filesystem::read_file", {"path": "a.txt"}) for _ in range(5)
            )
            return [one["output"], *(result["output"] for result in await asyncio.gather(*more))]

    assert asyncio.run(main()) == ["hello"] * 6


@pytest.mark.requirement("LCP-18")
def test_a_server_that_dies_in_a_call_serves_the_next_one() -> None:
    server = {"alias": "odd", "command": sys.executable, "args": [FAULTS, "ok"]}
    with MCPBinding(servers=[server], policy="full_access") as binding:
        assert binding.execute_tool("odd::die")["kind"] == "crashed"
        assert binding.execute_tool("odd::echo", {"x": 1})["success"]


def bridge(folder: Path, isolation: str = "thread") -> Path:
    tools = folder / "my_tools"
    tools.mkdir()
    text = BRIDGE
    if isolation == "process":
        text = "from sutler import tool\n" + BRIDGE.replace("\ndef tool_", '\n@tool(isolation="process")\ndef tool_')
    (tools / "mcp_bridge.py").write_text(textwrap.dedent(text))
    return tools


@pytest.mark.requirement("LCP-10", "LCP-11")
@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_the_documents_bridge_works_in_a_library_of_a_client(
    files: dict[str, Any], tmp_path: Path, isolation: str
) -> None:
    asked: list[str] = []

    def confirm(source: str, label: str, argv: Any = None) -> tuple[str, str]:
        asked.append(source)
        return ("allow", "") if "yes.txt" in source else ("reject", "not that one")

    client = LollmsClient(
        tools_binding_name="lcp",
        tools_binding_config={
            "tools_folders": [str(bridge(tmp_path, isolation))],
            "confirm_handler": confirm,
            "host_tool_configs": {"mcp_bridge": {"servers": [files]}},
        },
    )
    with client:

        def call(name: str, arguments: str) -> Any:
            sent = {"server_alias": "filesystem", "mcp_tool_name": name, "arguments": arguments}
            return client.tools.execute_tool("tool_ask_server", sent)

        assert call("read_file", '{"path": "a.txt"}')["output"] == "hello"
        assert asked == []  # what only reads asks nobody
        assert call("write_file", '{"path": "yes.txt"}')["success"]
        refused = call("write_file", '{"path": "no.txt"}')
        assert refused["success"] is False and "not that one" in refused["error"]
        assert "no tool" in call("raed_file", "{}")["error"]
    assert not (tmp_path / "data" / "no.txt").exists()


@pytest.mark.requirement("LCP-11")
def test_the_level_of_the_bridge_library_is_the_level_of_its_servers(files: dict[str, Any], tmp_path: Path) -> None:
    configs = {"mcp_bridge": {"servers": [files], "autonomy_level": "full_access"}}
    with SyncRuntime(
        tool_folders=[bridge(tmp_path)], host_tool_configs=configs, config=False, default_tools=False
    ) as rt:
        sent = {"server_alias": "filesystem", "mcp_tool_name": "write_file", "arguments": '{"path": "b.txt"}'}
        assert rt.call("tool_ask_server", sent).success


@pytest.mark.requirement("LCP-11")
def test_a_bridge_serves_many_threads_and_ends_with_its_runtime(files: dict[str, Any], tmp_path: Path) -> None:
    configs = {"mcp_bridge": {"servers": [files]}}
    with SyncRuntime(
        tool_folders=[bridge(tmp_path)], host_tool_configs=configs, config=False, default_tools=False
    ) as rt:
        sent = {"server_alias": "filesystem", "mcp_tool_name": "read_file", "arguments": '{"path": "a.txt"}'}
        got: list[Any] = []
        threads = [
            threading.Thread(target=lambda: got.append(rt.call("tool_ask_server", sent).output)) for _ in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got == ["hello"] * 12
        servers = _children()
        assert servers
    assert not [pid for pid in servers if pid in _children()]


def _children() -> set[str]:
    """Processes of the server script that this process has started."""
    found: set[str] = set()
    for entry in Path("/proc").iterdir() if Path("/proc/self").exists() else ():
        try:
            line = (entry / "cmdline").read_bytes()
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except (OSError, IndexError):
            continue
        if SERVER.encode() in line and parent == str(os.getpid()):
            found.add(entry.name)
    return found


@pytest.mark.requirement("LCP-11", "LCP-12")
def test_an_lcp_tool_reaches_the_mcp_binding_of_its_client(files: dict[str, Any], tmp_path: Path) -> None:
    client = LollmsClient(tools_binding_name="MCP", tools_binding_config={"servers": [files]})

    def first_line(path: str, lollms_client_instance: Any = None) -> Any:
        return lollms_client_instance.tools.execute_tool("filesystem::read_file", {"path": path})["output"]

    with client, SyncRuntime(tools=[first_line], client=client, config=False, default_tools=False) as rt:
        assert rt.call("first_line", {"path": "a.txt"}).output == "hello"


@pytest.mark.requirement("MCP-01")
def test_a_runtime_takes_servers_as_a_keyword_over_those_of_its_config(files: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "sutler.toml").write_text('[mcp_servers.files]\ncommand = "/no/such/server"\n')
    servers = {"files": {"command": files["command"], "args": tuple(files["args"])}}
    with SyncRuntime(mcp_servers=servers, config=tmp_path / "sutler.toml", default_tools=False) as rt:
        rt.ready(20)
        assert rt.call("files::read_file", {"path": "a.txt"}).output == "hello"
    with pytest.raises(ConfigError, match=r"mcp_servers\.files\.comand: unknown key"):
        SyncRuntime(mcp_servers={"files": {"comand": "x"}}, config=False).open()


@pytest.mark.requirement("LCP-18")
def test_a_misspelt_keyword_may_mean_the_servers() -> None:
    with pytest.raises(TypeError, match="takes no 'server'; did you mean 'servers'"):
        MCPBinding(server=[])
