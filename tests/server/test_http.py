"""`sutler serve --http`: who is let in, and many clients at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from sutler.server.http import Door

from ..cli.conftest import Project
from .conftest import HttpServer, texts, until

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def post(server: HttpServer, **headers: str) -> httpx2.Response:
    sent = {
        "Authorization": f"Bearer {server.token}",
        "Accept": "application/json, text/event-stream",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return httpx2.post(server.url, json=HELLO, headers={name: value for name, value in sent.items() if value})


@pytest.mark.requirement("SRV-03")
def test_a_request_needs_the_bearer_token(http_server: HttpServer) -> None:
    assert post(http_server).status_code == 200
    for wrong in ("", "Bearer", "Bearer another", "Basic a-token-of-the-tests", "Bearer caf\xe9"):
        refused = httpx2.post(http_server.url, json=HELLO, headers={"Authorization": wrong.encode("latin-1")})
        assert refused.status_code == 401, wrong
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "bearer token is needed" in refused.json()["error"]["message"]
    assert http_server.token not in http_server.stderr.read_text()


@pytest.mark.requirement("SRV-03")
def test_a_request_from_a_web_page_or_under_another_name_is_refused_even_with_the_token(
    http_server: HttpServer,
) -> None:
    for origin in ("https://evil.example", "null", "http://localhost.evil.example", "file://localhost", "http://[bad"):
        assert post(http_server, Origin=origin).status_code == 403, origin
    for host in ("evil.example", "evil.example:80", "localhost.evil.example", "user@localhost", "127.0.0.1.evil", "["):
        assert post(http_server, Host=host).status_code == 421, host
    assert post(http_server, Origin="http://localhost:3000").status_code == 200
    assert post(http_server, Host="localhost").status_code == 200


@pytest.mark.requirement("SRV-03")
@pytest.mark.parametrize(
    ("bound", "host", "origin", "status"),
    [
        ("0.0.0.0", "box.local:8765", None, None),
        ("0.0.0.0", "box.local:8765", "http://box.local:8765", None),
        ("0.0.0.0", "box.local:8765", "http://evil.example", 403),
        ("192.0.2.7", "192.0.2.7:8765", None, None),
        ("192.0.2.7", "evil.example", None, 421),
        ("::1", "[::1]:8765", None, None),
        ("127.0.0.5", "127.0.0.5:1", None, None),
        ("127.0.0.1", "192.0.2.7", None, 421),
    ],
)
def test_which_names_a_server_answers_to_depends_on_where_it_is_bound(
    bound: str, host: str, origin: str | None, status: int | None
) -> None:
    headers = {"host": host, "authorization": "bearer t"} | ({"origin": origin} if origin else {})
    refused = Door(host=bound, token="t").refusal(headers)
    assert (refused[0] if refused else None) == status


@pytest.mark.requirement("SRV-03")
def test_without_a_token_only_this_machine_may_be_served(kit: Project) -> None:
    done = kit.process("serve", "--http", "--no-token", "--host", "0.0.0.0", "--port", "0")
    assert done.code == 2
    assert "a token is needed there" in done.err
    done = kit.process("serve", "--http", "--port", "0", SUTLER_TOKEN="")
    assert done.code == 2
    assert "SUTLER_TOKEN holds no usable token" in done.err


@pytest.mark.requirement("SRV-01", "SRV-02")
def test_twenty_clients_of_both_eras_at_once_each_get_their_own_answers(http_server: HttpServer) -> None:
    async def one(number: int) -> list[str]:
        async with client_of(http_server, mode="legacy" if number % 2 else "auto") as client:
            assert client.protocol_version == ("2025-11-25" if number % 2 else "2026-07-28")
            calls = [client.call_tool("tool_echo", {"text": f"{number}.{step}"}) for step in range(3)]
            return [text for result in await asyncio.gather(*calls) for text in texts(result)]

    async def go() -> list[list[str]]:
        return await asyncio.gather(*(one(number) for number in range(20)))

    assert asyncio.run(go()) == [[f"{number}.{step}" for step in range(3)] for number in range(20)]


@pytest.mark.requirement("SRV-03")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_no_tool_finds_the_token_and_always_is_not_offered_where_clients_share_a_server(
    http_server: HttpServer, mode: str
) -> None:
    offered: list[str] = []

    async def person(context: Any, params: Any) -> Any:
        from mcp_types import ElicitResult

        offered.extend(params.requested_schema["properties"]["answer"]["enum"])
        return ElicitResult(action="accept", content={"answer": "allow once"})

    async def go() -> None:
        async with client_of(http_server, mode=mode, elicitation_callback=person) as client:
            assert texts(await client.call_tool("tool_env", {"name": "SUTLER_TOKEN"})) == ["unset"]
            assert texts(await client.call_tool("tool_wipe", {"path": "x"})) == ["wiped x"]

    asyncio.run(go())
    assert offered == ["allow once", "reject"]


@asynccontextmanager
async def client_of(server: HttpServer, **more: Any) -> AsyncGenerator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {server.token}"}) as web,
        Client(streamable_http_client(server.url, http_client=web), **more) as client,
    ):
        yield client


@pytest.mark.requirement("SRV-02")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_cancelled_request_cancels_the_tool_over_http_too(http_server: HttpServer, mode: str, tmp_path: Path) -> None:
    async def go() -> None:
        mark = tmp_path / "mark"
        async with client_of(http_server, mode=mode) as client:
            call = asyncio.create_task(client.call_tool("tool_slow", {"mark": str(mark)}))
            await until(Path(f"{mark}.begun").exists)
            call.cancel()
            await until(lambda: mark.exists() and mark.read_text() == "cancelled")
            assert texts(await client.call_tool("tool_echo", {"text": "still here"})) == ["still here"]

    asyncio.run(go())
