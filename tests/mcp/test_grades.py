"""The grade of an MCP tool: every combination of the four hints, and what a server is assumed to mean by silence."""

from __future__ import annotations

from itertools import product

import pytest

from sutler.mcp.grades import grade_from_hints, why
from sutler.servers import HINTS
from sutler.spec import Grade, ToolAnnotations

ANY = (True, False, None)


def hints(read_only: bool | None, destructive: bool | None, idempotent: bool | None, open_world: bool | None):
    return ToolAnnotations(read_only=read_only, destructive=destructive, idempotent=idempotent, open_world=open_world)


def wanted(read_only: bool | None, destructive: bool | None, idempotent: bool | None, open_world: bool | None):
    """The table of the requirement, spelled out without a rule in it."""
    match (read_only, destructive, idempotent, open_world):
        case (True, _, _, False):
            return Grade(1, 0), "hints"
        case (True, _, _, True):
            return Grade(2, 1), "hints"
        case (False, False, True, _):
            return Grade(3, 2), "hints"
        case (False, True | False, True | False, _):
            return Grade(3, 3), "hints"
        case _:
            return Grade(3, 3), "undeclared"


@pytest.mark.requirement("MCP-07", "GRD-01")
@pytest.mark.parametrize("given", list(product(ANY, repeat=4)))
def test_each_combination_of_hints_has_the_grade_of_the_table(given: tuple[bool | None, ...]) -> None:
    assert grade_from_hints(hints(*given)) == wanted(*given)


@pytest.mark.requirement("MCP-07")
@pytest.mark.parametrize("given", list(product(ANY, repeat=4)))
def test_an_assumed_hint_fills_what_is_absent_and_overrules_nothing(given: tuple[bool | None, ...]) -> None:
    for assumed in product((True, False), repeat=4):
        assume = dict(zip(HINTS, assumed, strict=True))
        filled = [value if value is not None else assume[name] for name, value in zip(HINTS, given, strict=True)]
        assert grade_from_hints(hints(*given), assume) == wanted(*filled)


@pytest.mark.requirement("MCP-07")
def test_assuming_one_hint_is_enough_for_a_server_that_leaves_only_that_out() -> None:
    reads = ToolAnnotations(read_only=True)
    assert grade_from_hints(reads) == (Grade(3, 3), "undeclared")
    assert grade_from_hints(reads, {"open_world": False}) == (Grade(1, 0), "hints")
    assert grade_from_hints(reads, {"destructive": False}) == (Grade(3, 3), "undeclared")


@pytest.mark.requirement("MCP-07")
def test_why_names_the_hints_that_decided_and_those_that_are_out() -> None:
    assert "openWorldHint" in why(ToolAnnotations(read_only=True))
    assert "readOnlyHint" in why(ToolAnnotations())
    write = why(ToolAnnotations(read_only=False))
    assert "destructiveHint" in write and "idempotentHint" in write
    said = why(ToolAnnotations(read_only=True), {"open_world": False})
    assert "openWorldHint false (assumed)" in said and "readOnlyHint true" in said
