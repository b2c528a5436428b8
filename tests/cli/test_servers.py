"""MCP servers from the command line: listed, called, explained, and started only when they are needed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .conftest import Project, Sutler

FAULTS = Path(__file__).parents[1] / "faults" / "stdio_server.py"


def _servers(project: Project, **servers: list[str]) -> None:
    """A sutler.toml with one server per keyword: its command line."""
    lines: list[str] = []
    for name, (command, *args) in servers.items():
        lines += [f"[mcp_servers.{name}]", f"command = {command!r}", f"args = {args!r}"]
    project.config("\n".join(lines) + "\n")


@pytest.mark.requirement("MCP-05")
def test_doctor_says_how_each_server_stands_and_why(project: Project, sutler: Sutler) -> None:
    dies = "import sys; sys.exit('no licence')"
    _servers(
        project, good=[sys.executable, str(FAULTS), "ok"], bad=[sys.executable, "-c", dies], gone=["no-such-thing"]
    )
    done = sutler("doctor", "--json")
    assert done.code == 1
    found = {one["about"]: one for one in reversed(done.json["findings"])}
    assert found["server good"]["state"] == "ok" and "ready, legacy" in found["server good"]["said"]
    assert found["server bad"]["state"] == "problem"
    assert any("no licence" in one["said"] for one in done.json["findings"] if one["about"] == "server bad")
    assert found["server gone"]["state"] == "problem" and "no-such-thing" in found["server gone"]["said"]


@pytest.mark.requirement("MCP-03")
def test_a_server_whose_tools_are_remembered_is_started_by_a_call_alone(project: Project, sutler: Sutler) -> None:
    started = project.root / "started"
    wrapper = project.root / "server.py"
    wrapper.write_text(
        f"import os, sys\nopen({str(started)!r}, 'a').write('x')\n"
        f"os.execv(sys.executable, [sys.executable, {str(FAULTS)!r}, 'ok'])\n"
    )
    _servers(project, s=[sys.executable, str(wrapper)])
    assert "echo" in sutler("tools").out
    assert len(started.read_text()) == 1
    listed = sutler("tools", "--json").json
    assert "s" in {tool["source"] for tool in listed["tools"]}
    assert len(started.read_text()) == 1, "listing what is remembered starts nothing"
    called = sutler("call", "s::echo", "x=hello")
    assert called.code == 0, called.err
    assert "hello" in called.out
    assert len(started.read_text()) == 2


@pytest.mark.requirement("MCP-03")
def test_a_list_waits_two_seconds_and_longer_when_told(project: Project, sutler: Sutler) -> None:
    slow = f"import os, sys, time; time.sleep(3); os.execv(sys.executable, [sys.executable, {str(FAULTS)!r}, 'ok'])"
    _servers(project, s=[sys.executable, "-c", slow])
    assert not [tool for tool in sutler("tools", "--json").json["tools"] if tool["source"] == "s"]
    assert [tool for tool in sutler("tools", "--wait-servers", "--json").json["tools"] if tool["source"] == "s"]


@pytest.mark.requirement("MCP-03")
def test_a_call_waits_for_a_server_that_was_never_seen(project: Project, sutler: Sutler) -> None:
    slow = f"import os, sys, time; time.sleep(2.5); os.execv(sys.executable, [sys.executable, {str(FAULTS)!r}, 'ok'])"
    _servers(project, s=[sys.executable, "-c", slow])
    called = sutler("call", "s::echo", "x=hello")
    assert called.code == 0, called.err
    assert "hello" in called.out


def test_a_tool_that_is_not_there_may_be_of_a_server_that_is_away_and_the_error_names_it(
    project: Project, sutler: Sutler
) -> None:
    _servers(project, post=[sys.executable, "-c", "import sys; sys.exit(1)"])
    done = sutler("call", "send_letter", "to=x")
    assert done.code == 2
    assert "there is no tool 'send_letter'" in done.err
    assert "it may be of post, which is unavailable: see `sutler doctor`" in done.err


def test_a_grade_that_a_server_does_not_give_is_not_asked_of_a_decorator(project: Project, sutler: Sutler) -> None:
    _servers(project, s=[sys.executable, str(FAULTS), "ok"])
    sutler("tools", "--wait-servers")
    said = sutler("tools", "why", "s::write").out
    assert "undeclared, which counts as (3, 3); give it one in [grades]" in said
