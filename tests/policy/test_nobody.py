"""With nobody to ask, the refusal says what would allow the call, and nothing that would not."""

from __future__ import annotations

import pytest

from sutler.policy.approvals import nobody
from sutler.policy.gate import Policy
from sutler.policy.levels import Level
from sutler.spec import Grade, Origin, SourceKind, ToolCall, ToolSpec


def _refusal(kind: SourceKind, level: Level) -> str:
    spec = ToolSpec(
        name="t", origin=Origin(source="s", kind=kind), grade=Grade(3, 3), grade_from="declared", source_text="x"
    )
    call = ToolCall(call_id="1", spec=spec, arguments={})
    decision = Policy(level=level).decide(call)
    assert decision.outcome == "ask"
    return str(nobody(call, decision))


def test_a_lower_grade_is_proposed_where_the_grade_decides() -> None:
    assert '[grades] "s::t" = { w = 1, d = 2 }' in _refusal("library", "safe")


@pytest.mark.parametrize(("kind", "level"), [("code", "safe"), ("library", "strict"), ("function", "strict")])
def test_no_grade_is_proposed_where_none_would_help(kind: SourceKind, level: Level) -> None:
    text = _refusal(kind, level)
    assert "[grades]" not in text
    assert "confirm_handler" in text and "full_access" in text
