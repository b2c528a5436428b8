"""The reference's cases, and the hostile programs with their harmless twins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sutler.lang import ToolSig, check

from .support import Engine, param, tool

CASES = Path(__file__).parent.parent / "cases"
LANGUAGE: list[dict[str, Any]] = json.loads((CASES / "language.json").read_text(encoding="utf-8"))["cases"]
CHECKS = [case for case in LANGUAGE if "accepts" in case["reference"]]
RUNS = [case for case in LANGUAGE if "accepts" not in case["reference"]]
HOSTILE: list[dict[str, str]] = json.loads((CASES / "hostile.json").read_text(encoding="utf-8"))["programs"]
ATTACKS: list[dict[str, str]] = json.loads((CASES / "attacks.json").read_text(encoding="utf-8"))["programs"]

# Where `ours` says that we differ: what we do instead of the reference.
DIFFERENT = {
    "unknown names are reported": False,
    "allow pass": True,
    "allow break/continue": True,
    "allow genexpr directly as a call argument": True,
    "a for loop may run over any expression": True,
    "with works only on classes of the sandbox; tool results have no __exit__": False,
    "a tool inside a key= lambda is refused with the rewrite (the sandbox cannot suspend there)": False,
    "a tool passed as a value is refused with the rewrite": False,
    "must be blocked (guard format/format_map)": False,
    "data strings with two underscores are accepted": True,
    "reject attribute stores": False,
    "reject rebinding of tool/builtin names": False,
    "reject rebinding": False,
    "allow repr": True,
    "resource limits": True,
    "check arity/keywords against ArgSpec": False,
}
GRANTED = {
    one.name: one
    for one in (
        tool("read_note", param("name", "str")),
        *(tool(name) for name in ("get_items", "get_path", "make_obj", "get_lock", "fail", "quitter", "kbd")),
    )
}


def granted(names: list[str]) -> dict[str, ToolSig]:
    return {name: tool(name, param("path", "str", required=False)) for name in names}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("case", CHECKS, ids=lambda case: case["id"])
def test_the_check_agrees_with_the_reference_except_where_we_differ_on_purpose(case: dict[str, Any]) -> None:
    wanted = DIFFERENT[case["ours"]] if "ours" in case else case["reference"]["accepts"]
    verdict = check(case["program"], granted(case["tools"]), level="calls")
    assert verdict.ok is wanted, [str(problem) for problem in verdict.errors]


@pytest.mark.parametrize("case", RUNS, ids=lambda case: case["id"])
def test_the_run_cases_pass_the_check_unless_they_bind_a_builtin_or_reach_behind_one(case: dict[str, Any]) -> None:
    extra = {name: tool(name, *(param(x, required=False) for x in "abc"), extra=True) for name in case["tools"]}
    verdict = check(case["program"], extra, params=case["params"])
    refused = "rebinding" in case.get("ours", "") or case.get("ours") == "must be blocked"
    assert verdict.ok is not refused, [str(problem) for problem in verdict.errors]


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case["id"])
def test_a_harmless_twin_is_accepted_and_runs(case: dict[str, str], engine: Engine) -> None:
    verdict = check(case["twin"], GRANTED)
    assert verdict.ok, [str(problem) for problem in verdict.errors]
    if not {"fail", "quitter", "kbd"} & verdict.tools:
        engine.run(verdict.text, {"read_note": lambda name: "a note", "get_items": lambda: [{"n": 1}]})


@pytest.mark.parametrize("case", [*HOSTILE, *ATTACKS], ids=lambda case: case["id"])
def test_a_hostile_program_is_refused_or_planned_with_every_tool_that_it_names(case: dict[str, str]) -> None:
    verdict = check(case["program"], GRANTED)
    assert verdict.ok or verdict.errors
    named = {name for name in GRANTED if f"{name}(" in case["program"]}
    if verdict.ok:
        assert {site.tool for site in verdict.calls} == verdict.tools == named


REFUSED = ("reflect", "unicode", "shadow", "decorate", "classes", "frame", "types", "import", "liveobj")


@pytest.mark.parametrize(
    "case",
    [case for case in [*HOSTILE, *ATTACKS] if case["group"] in REFUSED],
    ids=lambda case: case["id"],
)
def test_reaching_behind_values_and_shadowing_tools_is_refused_before_the_run(case: dict[str, str]) -> None:
    open_to_run = {"carriage return ends a comment", "Path from tool: read sibling"}
    assert check(case["program"], GRANTED).ok is (case["id"] in open_to_run)


def test_ids_of_the_hostile_programs_are_unique() -> None:
    ids = [case["id"] for case in HOSTILE]
    assert len(ids) == len(set(ids))
