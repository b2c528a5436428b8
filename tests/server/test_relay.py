"""What a server asks, refuses and tells reaches the clients of `sutler serve` as it came: over real processes."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import CreateMessageResult, ElicitResult, InputRequiredResult, TextContent

from mcp import Client, StdioServerParameters

from ..cli.conftest import Project
from .conftest import ERAS, texts

CHANGED = {
    "legacy": ("ToolListChangedNotification", "PromptListChangedNotification"),
    "auto": ("ToolsListChanged", "PromptsListChanged"),
}
SCRIPT = str(Path(__file__).with_name("era_server.py"))


def project_of(folder: Path, server: dict[str, str]) -> Project:
    project = Project(folder / "project", folder / "home")
    project.root.mkdir()
    rows = "\n".join(f"{key} = {value}" for key, value in server.items())
    project.config(f"default_tools = false\n\n[mcp_servers.up]\n{rows}\n")
    return project


@pytest.fixture(scope="module")
def stdio(tmp_path_factory: pytest.TempPathFactory) -> Project:
    server = {"command": json.dumps(sys.executable), "args": json.dumps([SCRIPT])}
    return project_of(tmp_path_factory.mktemp("stdio"), server)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Behind a server that speaks both eras over HTTP."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("http")
    with (folder / "said").open("wb") as said:
        upstream = subprocess.Popen([sys.executable, SCRIPT, str(port)], stdout=said, stderr=said)
    try:
        deadline = time.monotonic() + 30
        while not listens(port):
            assert time.monotonic() < deadline and upstream.poll() is None, (folder / "said").read_text()
            time.sleep(0.05)
        yield project_of(folder, {"url": json.dumps(f"http://127.0.0.1:{port}/mcp")})
    finally:
        upstream.terminate()
        upstream.wait(20)


@asynccontextmanager
async def client_of(project: Project, *, mode: str = "auto", **callbacks: Any) -> AsyncGenerator[Client]:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "sutler.cli", "serve", "--policy", "full_access"],
        cwd=project.root,
        env={key: value for key, value in project.env.items() if key.startswith(("SUTLER", "XDG"))},
    )
    async with Client(stdio_client(server), mode=mode, **callbacks) as client:
        yield client


async def person(context: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada"})


async def model(context: Any, params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="Paris"), model="a model")


@pytest.mark.requirement("SRV-02", "MCP-14")
def test_a_modern_servers_own_questions_reach_a_modern_client_as_they_came(stdio: Project) -> None:
    async def go() -> None:
        async with client_of(stdio, elicitation_callback=person, sampling_callback=model) as client:
            first = await client.session.call_tool("both", {}, allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            asked = {key: one.method for key, one in first.input_requests.items()}
            assert asked == {"model": "sampling/createMessage", "person": "elicitation/create"}
            assert first.input_requests["person"].params.requested_schema["required"] == ["name"]
            # it comes back without an answer: the server asks again
            again = await client.session.call_tool(
                "both", {}, request_state=first.request_state, allow_input_required=True
            )
            assert isinstance(again, InputRequiredResult)
            assert list(again.input_requests) == ["model", "person"]
            assert texts(await client.call_tool("both")) == ["Paris for Ada"]
            assert texts(await client.call_tool("capabilities")) == ["elicitation,sampling"]
        async with client_of(stdio) as client:
            assert texts(await client.call_tool("capabilities")) == [""]

    asyncio.run(go())


@pytest.mark.requirement("MCP-14", "MCP-09")
def test_calls_that_wait_for_their_clients_take_no_place_of_the_server(stdio: Project) -> None:
    async def go() -> None:
        async with client_of(stdio) as client:
            for _ in range(9):  # the server has 8 places
                left = await client.session.call_tool("endless", {}, allow_input_required=True)
                assert isinstance(left, InputRequiredResult)
            with anyio.fail_after(10):
                assert texts(await client.call_tool("capabilities")) == [""]

    asyncio.run(go())


@pytest.mark.requirement("SRV-02")
@pytest.mark.parametrize("mode", ERAS)
def test_an_error_of_the_protocol_keeps_its_code_and_data(stdio: Project, mode: str) -> None:
    async def go() -> None:
        async with client_of(stdio, mode=mode) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("refuse")
            error = caught.value.error
            assert (error.code, error.message) == (-32021, "no sampling")
            assert error.data == {"requiredCapabilities": {"sampling": {}}}

    asyncio.run(go())


@pytest.mark.requirement("SRV-02", "MCP-14")
def test_a_server_of_both_eras_serves_each_client_in_that_clients_era(http: Project) -> None:
    async def go() -> None:
        heard: list[Any] = []

        async def log(params: Any) -> None:
            heard.append(params.data)

        async with client_of(
            http, mode="legacy", elicitation_callback=person, sampling_callback=model, logging_callback=log
        ) as client:
            assert texts(await client.call_tool("sample")) == ["Paris"]
            assert texts(await client.call_tool("push")) == ["accept: Ada"]
            assert texts(await client.call_tool("shout")) == ["shouted"]
            assert heard == ["loud"]
        async with client_of(http, mode="legacy") as client:
            with pytest.raises(MCPError, match="not supported"):  # it has no model to lend
                await client.call_tool("sample")
        async with client_of(http, elicitation_callback=person, sampling_callback=model) as client:
            with pytest.raises(MCPError, match="no back-channel"):  # no server may push to a client of 2026-07-28
                await client.call_tool("push")
            assert texts(await client.call_tool("both")) == ["Paris for Ada"]

    asyncio.run(go())


class ModernOnly(BaseHTTPRequestHandler):
    """A server of 2026-07-28 that knows no handshake."""

    asked: list[str] = []

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(request["method"])
        cached = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        results = {
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **cached},
            "tools/list": {"tools": [{"name": "hello", "inputSchema": {"type": "object"}}], **cached},
            "tools/call": {"content": [{"type": "text", "text": "hello"}], "resultType": "complete"},
        }
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request.get("id")}
        if request["method"] in results:
            answer["result"] = results[request["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "no such method"}
        body = json.dumps(answer).encode()
        self.send_response(200 if "result" in answer else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.mark.requirement("SRV-02")
def test_a_server_of_the_modern_era_alone_serves_old_clients_all_the_same(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), ModernOnly) as upstream:
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        project = project_of(tmp_path, {"url": json.dumps(f"http://127.0.0.1:{upstream.server_address[1]}/mcp")})

        async def go() -> None:
            async with client_of(project, mode="legacy") as client:
                for _ in range(2):
                    assert texts(await client.call_tool("hello")) == ["hello"]

        asyncio.run(go())
        upstream.shutdown()
    assert ModernOnly.asked.count("initialize") == 1  # it is asked once, not at every call


@pytest.mark.requirement("MCP-10", "SRV-02")
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("over", ["stdio", "http"])
def test_what_a_server_tells_of_its_lists_reaches_the_client(
    over: str, mode: str, request: pytest.FixtureRequest
) -> None:
    project: Project = request.getfixturevalue(over)
    heard: list[str] = []
    tools, prompts = CHANGED[mode]

    async def message(item: Any) -> None:
        heard.append(type(item).__name__)

    async def told(name: str) -> None:
        with anyio.fail_after(20):
            while name not in heard:
                await asyncio.sleep(0.02)
        heard.clear()

    async def go() -> None:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(client_of(project, mode=mode, message_handler=message))
            if mode != "legacy":
                events = await stack.enter_async_context(
                    client.listen(tools_list_changed=True, prompts_list_changed=True)
                )

                async def follow() -> None:
                    async for event in events:
                        heard.append(type(event).__name__)

                following = asyncio.create_task(follow())
                stack.callback(following.cancel)
            with anyio.fail_after(20):  # until the server itself is there and heard, not only what is remembered of it
                while prompts not in heard:
                    await client.call_tool("say_prompts_changed")
                    await asyncio.sleep(0.2)
            heard.clear()
            before = {tool.name for tool in (await client.list_tools()).tools}
            await client.call_tool("grow")
            await told(tools)
            assert {tool.name for tool in (await client.list_tools()).tools} == before | {"grown"}
            await client.call_tool("grow")  # nothing is new this time, and it says so all the same
            await told(tools)
            await client.call_tool("say_prompts_changed")
            await told(prompts)

    asyncio.run(go())
