"""The table of DESIGN "Who may do what without asking", row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sutler.policy.gate import Policy
from sutler.policy.levels import LEVELS
from sutler.spec import Grade, Origin, ToolCall, ToolSpec


def spec(kind: str, source: str = "x", *, grade: Grade | None = None, provenance: str = "own") -> ToolSpec:
    origin = Origin(source=source, kind=kind, provenance=provenance)  # type: ignore[arg-type]
    if grade is None:
        return ToolSpec(name="t", origin=origin)
    return ToolSpec(name="t", origin=origin, grade=grade, grade_from="declared")


ROWS: list[tuple[ToolSpec, str]] = [
    (spec("function", "functions"), "allow"),
    (spec("function", "functions", grade=Grade(3, 3)), "allow"),
    (spec("config", "config"), "allow"),
    (spec("library"), "allow"),
    (spec("library", grade=Grade(2, 2)), "allow"),
    (spec("library", grade=Grade(3, 1)), "ask"),
    (spec("config", "config", grade=Grade(1, 3)), "ask"),
    (spec("config", "default", grade=Grade(1, 3)), "allow"),
    (spec("config", "default", grade=Grade(2, 1)), "ask"),
    (spec("virtual", grade=Grade(2, 2)), "allow"),
    (spec("virtual", grade=Grade(3, 2)), "ask"),
    (spec("virtual"), "ask"),
    (spec("mcp", grade=Grade(2, 1)), "allow"),
    (spec("mcp", grade=Grade(2, 2)), "ask"),
    (spec("mcp", grade=Grade(1, 0), provenance="host:.mcp.json"), "allow"),
    (spec("mcp", grade=Grade(2, 1), provenance="host:.mcp.json"), "ask"),
    (spec("code", "code"), "ask"),
]


@pytest.mark.parametrize(("tool", "safe"), ROWS)
def test_each_origin_meets_its_row(tool: ToolSpec, safe: str) -> None:
    assert Policy(level="strict").preview(tool).outcome == "ask"
    assert Policy(level="safe").preview(tool).outcome == safe
    assert Policy(level="full_access").preview(tool).outcome == "allow"


def test_a_decision_to_ask_says_why() -> None:
    for tool, outcome in ROWS:
        decision = Policy().preview(tool)
        assert decision.by == "level safe" and bool(decision.reason) == (outcome == "ask")


def test_a_source_may_have_a_level_of_its_own() -> None:
    policy = Policy(level="safe", sources={"shell": "strict"})
    assert policy.preview(spec("library", "shell")).outcome == "ask"
    assert policy.preview(spec("library", "other")).outcome == "allow"


def test_the_network_switch_lets_shipped_network_tools_run() -> None:
    network = spec("config", "default", grade=Grade(2, 1))
    assert Policy(network=True).preview(network).outcome == "allow"


@pytest.mark.requirement("GRD-01")
def test_an_undeclared_local_tool_runs_unasked_and_keeps_its_grade() -> None:
    tool = spec("library")
    assert (tool.grade, tool.grade_from) == (Grade(3, 3), "undeclared")
    assert Policy().preview(tool).outcome == "allow"
    assert tool.read_only is False


@pytest.mark.parametrize("level", ["sfae", "", None])
def test_an_unknown_level_is_refused(level: Any) -> None:
    with pytest.raises(ValueError, match="strict, safe, full_access"):
        Policy(level=level)


def test_a_library_tool_that_asks_itself_is_asked_for_only_at_level_strict() -> None:
    tool = replace(spec("library", grade=Grade(3, 3)), meta={"asks_itself": True})
    call = ToolCall(call_id="1", spec=tool, arguments={})
    found = {level: Policy(level=level).decide(call).outcome for level in LEVELS}
    assert found == {"strict": "ask", "safe": "allow", "full_access": "allow"}
    assert Policy().preview(tool).outcome == "depends"


@pytest.mark.parametrize("kind", ["mcp", "virtual", "code", "config"])
def test_only_a_tool_folder_may_say_of_a_tool_that_it_asks_itself(kind: str) -> None:
    tool = replace(spec(kind, grade=Grade(3, 3)), meta={"asks_itself": True})
    assert Policy().decide(ToolCall(call_id="1", spec=tool, arguments={})).outcome == "ask"
