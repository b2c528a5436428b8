"""Several calls on one session of the handshake era, and a server that asks the person: for which of them?"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler.mcp.manager import ServerManager
from sutler.mcp.relay import whose
from sutler.servers import RemoteResult, ServerSpec

from .conftest import Servers

SERVER = Path(__file__).with_name("sdk_server.py")


def texts(result: RemoteResult) -> str:
    return str(result.content[0]["text"])


async def beside(manager: ServerManager, *clients: object, ask: Any) -> RemoteResult:
    """A call that asks, while another one of the same session is under way: each for the client given."""

    async def call(tool: str, client: object) -> RemoteResult:
        whose.set(client)
        return await manager.call("s", tool, {}, timeout=20, ask=ask)

    other = asyncio.ensure_future(call("never", clients[0]))
    link = (await manager.client("s"), manager._task("s").present)[1].link
    while not link.in_flight():
        await asyncio.sleep(0.01)
    try:
        return await asyncio.ensure_future(call("elicits", clients[1]))
    finally:
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)


@pytest.mark.requirement("MCP-14")
def test_over_stdio_the_person_is_told_which_calls_the_question_may_belong_to(servers: Servers) -> None:
    asked: list[dict[str, Any]] = []

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        return {"colour": "blue"}

    manager = servers.one()
    result = manager.portal.run(beside(manager, None, None, ask=ask))
    assert json.loads(texts(result))["action"] == "accept"
    (request,) = asked
    assert request["calls"] == ["never", "elicits"] and "tool" not in request
    assert request["message"].startswith("Which?") and "under way: never, elicits" in request["message"]


@pytest.mark.requirement("MCP-14")
def test_over_stdio_a_question_reaches_no_client_when_it_may_be_anothers(servers: Servers) -> None:
    asked: list[Any] = []
    manager = servers.one()
    result = manager.portal.run(beside(manager, "one client", "another", ask=asked.append))
    assert json.loads(texts(result)) == {"action": "decline"} and not asked
    (note,) = result.notes
    assert "'Which?'" in note and "concurrency = 1" in note


@pytest.mark.requirement("MCP-14")
def test_with_one_place_every_question_belongs_to_its_call(servers: Servers) -> None:
    async def both(manager: ServerManager) -> list[str]:
        async def call(name: str) -> str:
            whose.set(name)
            asked: list[str] = []

            def ask(request: dict[str, Any]) -> dict[str, Any]:
                asked.append(request["tool"])
                return {"colour": name}

            result = await manager.call("s", "elicits", {}, ask=ask)
            assert asked == ["elicits"]
            return str(json.loads(texts(result))["content"]["colour"])

        return await asyncio.gather(*(asyncio.ensure_future(call(name)) for name in ("red", "green", "blue")))

    manager = servers.manager(servers.spec("s", concurrency=1))
    assert manager.portal.run(both(manager)) == ["red", "green", "blue"]


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen([sys.executable, str(SERVER), str(port)], stdout=said, stderr=said)
    try:
        deadline = time.monotonic() + 40
        while not listens(port):
            assert time.monotonic() < deadline and process.poll() is None, (tmp_path / "said").read_text()
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.requirement("MCP-14")
def test_over_http_each_question_reaches_the_call_on_whose_stream_it_comes(servers: Servers, url: str) -> None:
    async def all_at_once(manager: ServerManager) -> list[tuple[str, str]]:
        met = asyncio.Barrier(5)

        async def call(name: str) -> tuple[str, str]:
            whose.set(name)

            async def ask(request: dict[str, Any]) -> dict[str, Any]:
                assert request["tool"] == "colour" and "calls" not in request
                await met.wait()  # all of them are asking at this moment
                return {"colour": f"{request['message']}: {name}"}

            return name, texts(await manager.call("s", "colour", {"mine": name}, ask=ask))

        names = ["red", "green", "blue", "black", "white"]
        return await asyncio.gather(*(asyncio.ensure_future(call(name)) for name in names))

    manager = servers.manager(ServerSpec(id="s", transport="http", url=url, era="legacy"))
    for name, answered in manager.portal.run(all_at_once(manager)):
        assert answered == f"for {name}: {name}"
