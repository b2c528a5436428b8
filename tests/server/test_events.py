"""A client over HTTP whose connection broke has what it missed again, and nobody else has it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp_types import JSONRPCResponse

from sutler.server import events
from sutler.server.events import Events

from .conftest import HttpServer
from .test_http import HELLO

ACCEPT = "application/json, text/event-stream"
CALL = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "tool_slow", "arguments": {}, "_meta": {"progressToken": "p"}},
}


class Line:
    """One client's HTTP session."""

    def __init__(self, server: HttpServer, http: httpx2.AsyncClient) -> None:
        self._url, self._http = server.url, http
        self.headers = {"Authorization": f"Bearer {server.token}", "Accept": ACCEPT}

    async def open(self) -> Line:
        answer = await self._http.post(self._url, json=HELLO, headers=self.headers)
        assert answer.status_code == 200
        self.headers |= {
            "Mcp-Session-Id": answer.headers["mcp-session-id"],
            "MCP-Protocol-Version": "2025-11-25",
        }
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await self._http.post(self._url, json=ready, headers=self.headers)).status_code == 202
        return self

    async def until(self, wanted: str, method: str, *, json: Any = None, last: str = "") -> list[dict[str, str]]:
        """The events of one stream, up to one that holds this text; then the connection is broken."""
        headers = self.headers | ({"Last-Event-ID": last} if last else {})
        found: list[dict[str, str]] = []
        async with self._http.stream(method, self._url, json=json, headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            event: dict[str, str] = {}
            async for line in answer.aiter_lines():
                name, _, value = line.partition(": ")
                if line:
                    event[name] = value
                    continue
                found.append(event)
                if wanted in str(event):
                    break
                event = {}
        return found


@pytest.mark.requirement("SRV-03")
def test_a_call_whose_connection_broke_is_answered_on_the_next_one(http_server: HttpServer) -> None:
    async def go() -> None:
        async with httpx2.AsyncClient(timeout=30) as http:
            line, other = await Line(http_server, http).open(), await Line(http_server, http).open()
            first, *more = await line.until("step 3", "POST", json=CALL)
            assert (first["data"], first["retry"]) == ("", str(events.RETRY))
            last = more[-1]["id"]
            again = await line.until('"done"', "GET", last=last)
            steps = [json.loads(one["data"]) for one in again if one.get("data")]
            told = [one["params"]["message"] for one in steps if "params" in one]
            assert told[0] == "step 4" and told[-1] == "step 199"  # nothing twice, nothing left out
            assert steps[-1]["id"] == 7 and steps[-1]["result"]["content"][0]["text"] == "done"

            with pytest.raises((AssertionError, httpx2.TimeoutException, TimeoutError)):
                async with asyncio.timeout(2):
                    assert await other.until('"done"', "GET", last=last)

    asyncio.run(go())


def answer(number: int, text: str) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=number, result={"text": text})


async def replayed(held: Events, last: str) -> tuple[str | None, list[str]]:
    found: list[str] = []

    async def send(event: Any) -> None:
        found.append(event.message.result["text"])

    return await held.replay_events_after(last, send), found


@pytest.mark.requirement("SRV-03")
def test_what_is_kept_is_bounded_and_never_half_of_a_stream() -> None:
    async def go() -> None:
        held = Events(most=4, most_bytes=2_000)
        start = await held.store_event("1", None)
        await held.store_event("2", answer(2, "another stream"))
        await held.store_event("1", answer(1, "one"))
        assert await replayed(held, start) == ("1", ["one"])
        for number in range(3):
            await held.store_event("1", answer(1, f"more {number}"))
        assert await replayed(held, start) == (None, [])  # it is no longer known what came after it
        known = await held.store_event("3", None)
        await held.store_event("3", answer(3, "x" * 5_000))
        assert await replayed(held, known) == (None, [])
        assert await replayed(held, "nonsense") == (None, [])
        for number in range(100):
            await held.store_event("4", answer(number, "y" * 500))
        assert len(held._events) <= 4 and held._bytes <= 2_000

    asyncio.run(go())


def test_each_session_has_a_store_of_its_own() -> None:
    from mcp.server.lowlevel import Server

    sessions = events.Sessions(app=Server("x"))
    assert sessions.event_store is not sessions.event_store
