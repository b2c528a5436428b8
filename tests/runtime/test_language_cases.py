"""The reference's small programs through the whole runtime: the same outcome, except where we differ on purpose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

CASES = json.loads((Path(__file__).parent.parent / "cases" / "language.json").read_text(encoding="utf-8"))["cases"]
RUNS = [case for case in CASES if "accepts" not in case["reference"]]


def stand_in(name: str, plan: dict[str, Any]) -> Any:
    """A tool as the case describes it."""

    def const(**given: Any) -> Any:
        return plan["value"]

    def template(path: str) -> str:
        return plan["template"].format(path=path)

    def fails(x: Any = None) -> None:
        raise {"ValueError": ValueError}[plan["type"]](plan["message"])

    def add(a: int, b: int) -> int:
        return a + b

    def identity(x: Any) -> Any:
        return x

    function = {"const": const, "template": template, "raise": fails, "add": add, "identity": identity}[plan["kind"]]
    function.__name__ = name
    return function


@pytest.mark.requirement("PRG-01", "PRG-04", "PRG-06")
@pytest.mark.parametrize("case", RUNS, ids=lambda case: case["id"])
def test_a_program_does_what_the_reference_does_or_what_we_say_instead(runtime: Any, case: dict[str, Any]) -> None:
    rt = runtime(*(stand_in(name, plan) for name, plan in case["tools"].items()))
    run = rt.run(case["program"], params=case["params"])
    ours, wanted = case.get("ours", ""), case["reference"]
    if "refused" in ours or ours == "must be blocked":
        assert run.status == "failed" and run.error.kind == "rejected" and run.trace == ()
        return
    assert run.success is wanted.get("success", True), run.error
    for key in ("output", "stdout", "effective_output"):
        if key in wanted:
            assert getattr(run, key) == wanted[key]
    if "variables" in wanted:
        assert sorted(run.variables) == wanted["variables"]
    if not run.success:
        assert str(run.error) and run.error.line == 1
        assert wanted.get("error", "") in str(run.error)
    if "exception type" in ours:
        assert run.error.type == "ZeroDivisionError"


def test_what_an_iterator_at_the_end_of_a_program_gives_is_its_items(runtime: Any) -> None:
    rt = runtime()
    assert rt.run("reversed([1, 2])").output == [2, 1]
    assert rt.run("range(3)").output == [0, 1, 2]
    assert rt.run("zip([1], [2])").output == [[1, 2]]
    assert rt.run("(x for x in [1, 2])").output == [1, 2]
    assert rt.run("{'a': 1}.items()").output == [["a", 1]]


@pytest.mark.parametrize(
    ("program", "says"),
    [("add(1)", "`b`"), ("add(1, 2, c=3)", "`c`")],
)
def test_wrong_arguments_are_refused_before_the_run_and_name_the_parameter(
    runtime: Any, program: str, says: str
) -> None:
    run = runtime(stand_in("add", {"kind": "add"})).run(program)
    assert run.error.kind == "rejected" and says.strip("`") in run.error.message
