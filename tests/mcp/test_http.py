"""Servers over HTTP: one request that fails fails itself, says what the server said, and the next one works."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sutler.errors import ToolCrashed, ToolError, ToolTimeout, ToolUnavailable
from sutler.mcp.manager import ServerManager
from sutler.servers import ServerSpec

from ..faults.http_server import BAD_HEADER, FaultyHttp
from .conftest import Servers

ERAS = [False, True]
UNKNOWN = "whether the call took effect is not known"


@pytest.fixture(params=ERAS, ids=["legacy", "modern"])
def site(request: pytest.FixtureRequest) -> Iterator[FaultyHttp]:
    with FaultyHttp(modern=request.param) as server:
        yield server


@pytest.fixture
def old_site() -> Iterator[FaultyHttp]:
    with FaultyHttp() as server:
        yield server


def _manager(servers: Servers, site: FaultyHttp, **more: Any) -> ServerManager:
    return servers.manager(ServerSpec(id="h", transport="http", url=site.url, **more))


@pytest.mark.requirement("MCP-04", "MCP-13")
def test_a_server_over_http_is_listed_and_called(servers: Servers, site: FaultyHttp) -> None:
    manager = _manager(servers, site, headers={"Authorization": "Bearer tok"})
    assert manager.state("h").era == ("modern 2026-07-28" if site.modern else "legacy 2025-11-25")
    assert servers.text(manager, "echo", "h", args={"x": "hé"}) == '{"x": "h\\u00e9"}'
    _, headers = site.requests[-1]
    assert headers["Authorization"] == "Bearer tok"
    if site.modern:
        assert headers["Mcp-Param-X-Value"] == "=?base64?aMOp?="
    site.once = "sse"
    assert servers.text(manager, "write", "h") == "{}"


def test_a_tool_whose_header_marks_are_unusable_is_left_out_with_the_reason(servers: Servers) -> None:
    with FaultyHttp(modern=True) as site:
        site.tools = [*site.tools, BAD_HEADER]
        manager = _manager(servers, site)
        assert [tool.name for tool in manager.tools("h")] == ["echo", "write"]
        assert any(note.startswith("'bad_header' is left out: ") for note in manager.state("h").notes)


@pytest.mark.requirement("MCP-03")
@pytest.mark.parametrize(
    ("mode", "state", "said"),
    [
        ("401", "auth_required", 'it wants a login (HTTP 401 Unauthorized, WWW-Authenticate: Bearer realm="faults"'),
        ("403", "auth_required", "it refuses these credentials (HTTP 403 Forbidden"),
        ("html", "backoff", "it answers with text/html where MCP was expected: Sign in"),
        ("redirect", "backoff", "a redirect to https://elsewhere.example/login, which is not followed"),
        ("silent", "backoff", "it did not answer within 0.5 s"),
        ("500", "backoff", "HTTP 500 Internal Server Error: it broke after the work"),
    ],
)
def test_a_server_that_cannot_be_had_over_http_says_why(
    servers: Servers, site: FaultyHttp, mode: str, state: str, said: str
) -> None:
    site.mode = f"{mode}_at_once"
    url = ServerSpec(id="h", transport="http", url=site.url, connect_timeout=0.5 if mode == "silent" else 10)
    manager = servers.manager(servers.spec("a"), url)
    found = manager.state("h")
    assert said in found.reason
    assert found.state == state or (state == "backoff" and found.state in ("connecting", "parked"))
    assert servers.text(manager, "echo", "a", args={"x": 1}) == "1"


def test_a_server_that_wants_a_login_is_had_once_it_has_one(servers: Servers, site: FaultyHttp) -> None:
    site.mode = "401_at_once"
    manager = _manager(servers, site)
    with pytest.raises(ToolUnavailable, match=r"run `sutler login h`, or set its headers"):
        servers.call(manager, "echo", "h")
    site.mode = "ok"
    assert servers.text(manager, "echo", "h") == "{}"


@pytest.mark.requirement("MCP-04")
@pytest.mark.parametrize(
    ("once", "kind", "said"),
    [
        ("401", ToolUnavailable, "h: it wants a login"),
        ("403", ToolUnavailable, "h: it refuses these credentials"),
        ("429", ToolUnavailable, "HTTP 429 Too Many Requests, Retry-After: 0 s: slow down; try again later"),
        ("429_long", ToolUnavailable, "Retry-After: 3600 s"),
        ("500", ToolCrashed, f"HTTP 500 Internal Server Error: it broke after the work; {UNKNOWN}"),
        ("503", ToolCrashed, UNKNOWN),
        ("400", ToolError, "bad x (MCP error -32602)"),
        ("html", ToolUnavailable, "it answers with text/html where MCP was expected: Sign in"),
        ("redirect", ToolUnavailable, "Redirect to https://elsewhere.example/login not followed"),
        ("cut_json", ToolCrashed, UNKNOWN),
        ("cut_sse", ToolCrashed, UNKNOWN),
        ("drop", ToolCrashed, UNKNOWN),
        ("accepted", ToolError, "202 Accepted"),
        ("not_json", ToolError, "Failed to parse JSON response (MCP error -32700)"),
    ],
)
def test_a_call_that_fails_over_http_is_not_repeated_unless_it_is_safe_and_fails_alone(
    servers: Servers, site: FaultyHttp, once: str, kind: type[Exception], said: str
) -> None:
    manager = _manager(servers, site)
    site.once = once
    with pytest.raises(kind) as failed:
        servers.call(manager, "write", "h")
    assert said in str(failed.value)
    assert type(failed.value) is kind
    assert site.ran <= 1
    assert servers.text(manager, "write", "h") == "{}"
    assert manager.state("h").restarts == 0


@pytest.mark.requirement("MCP-04")
@pytest.mark.parametrize("once", ["429", "500", "503", "cut_json", "cut_sse", "drop"])
def test_a_call_that_does_no_harm_twice_is_made_again_over_http(servers: Servers, site: FaultyHttp, once: str) -> None:
    manager = _manager(servers, site)
    site.once = once
    result = servers.call(manager, "echo", "h", args={"x": "1"})
    assert result.content[0]["text"] == '{"x": "1"}'
    assert result.notes[0].startswith("it was asked again: ")


@pytest.mark.requirement("MCP-04")
@pytest.mark.parametrize("mode", ["ok", "json_404", "400_session"])
def test_an_expired_session_is_begun_anew_and_only_a_safe_call_repeated(
    servers: Servers, old_site: FaultyHttp, mode: str
) -> None:
    manager = _manager(servers, old_site)
    old_site.mode = mode
    old_site.sessions.clear()
    result = servers.call(manager, "echo", "h")
    assert "no longer knows the session" in result.notes[0]
    old_site.sessions.clear()
    with pytest.raises(ToolCrashed, match="no longer knows the session"):
        servers.call(manager, "write", "h")
    assert old_site.ran == 1
    assert servers.text(manager, "write", "h") == "{}"
    assert old_site.methods().count("tools/list") == 3  # the list is read anew each time


@pytest.mark.requirement("MCP-04")
def test_a_server_that_is_restarted_is_found_again(servers: Servers, site: FaultyHttp) -> None:
    manager = _manager(servers, site)
    site.close()
    with pytest.raises(ToolUnavailable, match=r"no connection to 127.0.0.1:"):
        servers.call(manager, "write", "h")
    with FaultyHttp(modern=site.modern, port=site.port) as again:
        assert servers.text(manager, "write", "h") == "{}"
        assert again.ran == 1


@pytest.mark.requirement("MCP-03", "MCP-04")
def test_a_server_that_goes_down_under_load_fails_its_own_calls_only_and_by_name(
    servers: Servers, site: FaultyHttp
) -> None:
    with FaultyHttp(modern=site.modern) as other:
        specs = [ServerSpec(id=id, transport="http", url=one.url) for id, one in (("h", site), ("o", other))]
        manager = servers.manager(*specs)
        calls = {id: [manager.portal.submit(manager.call(id, "write", {})) for _ in range(30)] for id in "ho"}
        site.close()
        assert all(call.result(20).content for call in calls["o"])
        for call in calls["h"]:
            error = call.exception(20)
            assert error is None or isinstance(error, (ToolCrashed, ToolUnavailable))


@pytest.mark.requirement("MCP-09")
def test_a_call_that_is_never_answered_over_http_ends_at_its_time(servers: Servers, site: FaultyHttp) -> None:
    manager = _manager(servers, site)
    site.once = "silent"
    with pytest.raises(ToolTimeout, match=r"no answer within 0.2 s"):
        servers.call(manager, "echo", "h", timeout=0.2)
    assert servers.text(manager, "echo", "h") == "{}"
    servers.until(lambda: site.modern or "notifications/cancelled" in site.methods())


def test_no_token_stands_in_an_error(servers: Servers, site: FaultyHttp) -> None:
    manager = _manager(servers, site, secrets=frozenset({"tok-12345"}))
    site.once = "401"  # its body repeats the token
    with pytest.raises(ToolUnavailable) as failed:
        servers.call(manager, "echo", "h")
    assert "who are you" in str(failed.value)
    assert "tok-12345" not in str(failed.value)


@pytest.mark.requirement("MCP-04")
def test_the_sse_transport_of_old_servers_works_and_comes_back(servers: Servers, old_site: FaultyHttp) -> None:
    url = old_site.url.replace("/mcp", "/sse")
    manager = servers.manager(ServerSpec(id="h", transport="sse", url=url))
    assert servers.text(manager, "echo", "h", args={"x": "1"}) == '{"x": "1"}'
    old_site.once = "drop"
    assert servers.call(manager, "echo", "h").notes[0].startswith("it was asked again: ")
    old_site.once = "500"
    with pytest.raises(ToolCrashed, match="HTTP 500"):
        servers.call(manager, "write", "h")
    assert servers.text(manager, "write", "h") == "{}"
