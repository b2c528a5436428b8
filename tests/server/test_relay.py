"""What a server asks, refuses and tells reaches the clients of `sutler serve` as it came: over real processes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
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
