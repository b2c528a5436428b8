"""What can be wrong with a server, one thing at a time, between two healthy ones (issue: the fault modes)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sutler.errors import InvalidArguments, ToolCrashed, ToolError, ToolTimeout, ToolUnavailable
from sutler.mcp import connection
from sutler.mcp.manager import ServerManager
from sutler.mcp.states import ServerState

from .conftest import Servers

ERAS = ["ok", "modern"]


def _among_healthy(servers: Servers, mode: str, **more: Any) -> tuple[ServerManager, ServerState]:
    """The faulty server `s` as it turned out; its neighbours answered whatever it did."""
    manager = servers.manager(servers.spec("a"), servers.spec("s", mode, **more), servers.spec("b", "modern"))
    assert [servers.text(manager, "echo", one, args={"x": one}) for one in "ab"] == ['"a"', '"b"']
    return manager, manager.state("s")


@pytest.mark.requirement("MCP-03")
@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("exit", "its process ended with exit status 3: no such database"),
        ("die_on_list", "its process ended with exit status 4"),
        ("half_line", "its process ended with exit status 0"),
        ("leave", "its process ended with exit status 0"),
        ("hang", "it did not answer within 0.6 s"),
        ("hang_list", "it did not answer"),
        ("deaf", "it did not answer within 0.6 s"),
        ("bad_version", "Unsupported protocol version from the server: 1999-01-01"),
        ("bad_init", "it refused: the server's answer is no legal JSON-RPC (-32603)"),
    ],
)
def test_a_server_that_cannot_be_had_says_why_and_harms_no_other(servers: Servers, mode: str, reason: str) -> None:
    manager, state = _among_healthy(servers, mode, connect_timeout=0.6 if "not answer" in reason else 10)
    assert reason in state.reason
    assert state.state in ("backoff", "connecting", "parked")
    with pytest.raises(ToolUnavailable, match=r"^s: "):
        servers.call(manager, "echo")
    assert servers.text(manager, "echo", "a", args={"x": 1}) == "1"


@pytest.mark.requirement("MCP-03")
@pytest.mark.parametrize(
    ("mode", "tools"),
    [
        ("silent", 33),  # on server/discover, as the old ones are
        ("banner", 33),
        ("stderr_flood", 33),
        ("slow_start", 33),
        ("slow_modern", 33),
        ("ignore_end", 33),
        ("no_schema", 37),  # all entries, the bad ones too: the source quarantines them by name
        ("list_is_text", 0),
        ("listed_twice", 34),
        ("no_tools", 0),
        ("pages", 250),
        ("same_cursor", 33),
        ("endless", 500),
        ("number_cursor", 33),
    ],
)
def test_an_odd_server_is_used_all_the_same(
    servers: Servers, mode: str, tools: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PROBE", 0.2)
    manager, state = _among_healthy(servers, mode)
    assert (state.state, state.tools) == ("ready", tools)
    if tools > 1 and mode not in ("pages", "endless"):
        assert servers.text(manager, "echo", args={"x": 7}) == "7"


@pytest.mark.requirement("MCP-04")
@pytest.mark.parametrize(
    ("mode", "note"),
    [
        ("same_cursor", "its cursor does not advance after page 2: the listing ends there"),
        ("endless", "after 500 pages there were still more"),
        ("number_cursor", "the cursor 7 is no text"),
        ("list_is_text", "page 1 of its tools holds no list of tools: 'none'"),
        ("no_tools", "it has no tools"),
    ],
)
def test_an_odd_listing_is_noted(servers: Servers, mode: str, note: str) -> None:
    (state,) = servers.one(mode).states()
    assert any(note in one for one in state.notes)


@pytest.mark.requirement("MCP-03")
def test_lines_that_are_no_protocol_are_counted_and_quoted(servers: Servers) -> None:
    manager = servers.one("banner")
    servers.call(manager, "junk")
    (state,) = manager.states()
    assert state.junk_lines == 7
    assert state.junk[:3] == ("Server ready", "Welcome \\xff\\xfe!", '{"level": "info"}')


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.requirement("MCP-13")
@pytest.mark.parametrize(
    ("tool", "args", "text"),
    [
        ("junk", {}, "after junk"),
        ("half_then_rest", {}, "whole"),
        ("twice", {}, "first"),
        ("text_id", {}, "by text"),
        ("stderr", {"n": 400_000}, "written"),
        ("logs", {"n": 20_000}, "logged"),
        ("storm", {"n": 5_000}, "calm"),
        ("surrogate", {}, "\ud800"),
    ],
)
def test_an_answer_comes_through_whatever_surrounds_it(
    servers: Servers, era: str, tool: str, args: dict[str, Any], text: str
) -> None:
    manager = servers.one(era)
    assert servers.text(manager, tool, args=args) == text
    assert servers.text(manager, "echo", args={"x": "after"}) == '"after"'


@pytest.mark.requirement("MCP-04")
def test_an_answer_of_a_wrong_form_fails_its_call_only(servers: Servers) -> None:
    manager = servers.one()
    for tool in ("not_json_rpc", "result_is_text"):
        with pytest.raises(ToolError, match="no legal JSON-RPC"):
            servers.call(manager, tool)
    assert servers.text(manager, "echo", args={"x": 1}) == "1"
    assert manager.state("s").restarts == 0


def test_content_of_a_wrong_form_is_kept_and_noted(servers: Servers) -> None:
    manager = servers.one()
    text = servers.call(manager, "content_is_text")
    assert text.content == ({"type": "text", "text": "just text"},)
    assert "is no list" in text.notes[0]
    odd = servers.call(manager, "odd_blocks")
    assert [block.get("text") or block["type"] for block in odd.content] == ["video", "bare", "ok", "7"]
    assert len(odd.notes) == 2


def test_a_result_that_breaks_its_schema_and_one_that_fails_come_as_they_are(servers: Servers) -> None:
    manager = servers.one()
    off = servers.call(manager, "off_schema")
    assert (off.structured, off.has_structured, off.is_error) == ({"sha": 7}, True, False)
    failed = servers.call(manager, "fails")
    assert (failed.is_error, failed.structured, failed.content[0]["text"]) == (True, {"code": 401}, "auth failed")
    not_finite: Any = servers.call(manager, "nan").structured
    assert math.isnan(not_finite["m"])


def test_what_the_server_refuses_is_an_error_with_its_words_and_data(servers: Servers) -> None:
    manager = servers.one()
    with pytest.raises(ToolError, match=r"^not today \(MCP error -32000\)$") as refused:
        servers.call(manager, "refuses")
    assert refused.value.output == {"why": "rain"}
    with pytest.raises(ToolError, match="Unknown tool: absent"):
        servers.call(manager, "absent")


@pytest.mark.parametrize("args", [{"x": math.nan}, {"x": b"bytes"}, {"x": "\ud800"}])
def test_arguments_without_a_form_in_json_are_refused_before_they_are_sent(
    servers: Servers, args: dict[str, Any]
) -> None:
    manager = servers.one()
    with pytest.raises(InvalidArguments, match="s::echo: the arguments have no form in JSON"):
        servers.call(manager, "echo", args=args)
    assert servers.text(manager, "echo", args={"x": "é ☃"}) == '"\\u00e9 \\u2603"'


@pytest.mark.requirement("MCP-04")
def test_a_large_result_comes_whole_and_one_over_the_cap_fails_its_call_only(servers: Servers) -> None:
    manager = servers.one()
    assert len(servers.text(manager, "big", args={"n": 20_000_000})) == 20_000_000
    assert servers.call(manager, "pieces", args={"n": 1_000_000}).structured == "y" * 1_000_000
    with pytest.raises(ToolError, match=r"dropped: a line of [\d,]+ bytes is longer than is taken"):
        servers.call(manager, "no_end", args={"mb": 65})
    assert servers.text(manager, "echo", args={"x": 1}) == "1"
    assert manager.state("s").restarts == 0


@pytest.mark.requirement("MCP-04")
@pytest.mark.parametrize("era", ERAS)
def test_a_server_that_dies_in_a_call_fails_that_call_and_serves_the_next(servers: Servers, era: str) -> None:
    manager = servers.manager(servers.spec("s", era), servers.spec("a"))
    before = manager.state("s").pid
    with pytest.raises(ToolCrashed, match=r"exit status 9: going down; whether the call took effect is not known"):
        servers.call(manager, "die")
    assert servers.text(manager, "echo", args={"x": 1}) == "1"
    state = manager.state("s")
    assert (state.state, state.restarts) == ("ready", 1)
    assert state.pid != before
    assert state.reason == "its process ended with exit status 9: going down"
    assert manager.state("a").restarts == 0


@pytest.mark.requirement("MCP-04")
def test_a_server_that_closes_its_stdout_counts_as_gone(servers: Servers) -> None:
    manager = servers.one()
    with pytest.raises(ToolCrashed, match="it closed its stdout"):
        servers.call(manager, "close_stdout")
    assert servers.text(manager, "echo", args={"x": 1}) == "1"


@pytest.mark.requirement("MCP-04")
def test_a_call_that_does_no_harm_twice_is_made_again_when_its_server_dies(servers: Servers) -> None:
    manager = servers.one()
    result = servers.call(manager, "die_once")
    assert result.content[0]["text"] == "alive"
    assert result.notes == ("it was asked again: its process ended with exit status 9",)


@pytest.mark.requirement("MCP-09")
@pytest.mark.parametrize("era", ERAS)
def test_a_call_without_an_answer_ends_at_its_time_and_the_session_goes_on(servers: Servers, era: str) -> None:
    manager = servers.one(era)
    with pytest.raises(ToolTimeout, match=r"s::never: no answer within 0.1 s"):
        servers.call(manager, "never", timeout=0.1)
    assert servers.text(manager, "echo", args={"x": 1}) == "1"
    assert manager.state("s").restarts == 0
