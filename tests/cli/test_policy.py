"""`sutler policy`: the rules in force, why a call meets its decision, and the cases of the file."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import CONFIG, Project, Sutler

RULES = """
[[policy.rules]]
tool = "kit::*"
arguments = { path = { outside = "." } }
decision = "deny"
reason = "nothing outside"

[[policy.rules]]
tool = "tool_wipe"
arguments = { path = { inside = "tmp" } }
decision = "allow"

[[policy.rules]]
tool = "tool_echo"
decision = "ask"
"""


@pytest.fixture
def ruled(project: Project) -> Project:
    project.config(CONFIG + RULES)
    return project


def _place(project: Project, rule: int) -> str:
    lines = (CONFIG + RULES).splitlines()
    found = [number for number, line in enumerate(lines, 1) if line == "[[policy.rules]]"]
    return f"{project.file}:{found[rule]}"


@pytest.mark.requirement("POL-03")
def test_alone_it_lists_the_rules_in_their_order_with_file_and_line(ruled: Project, sutler: Sutler) -> None:
    shown = sutler("policy")
    assert [line.split("\t") for line in shown.out.splitlines()] == [
        [_place(ruled, 0), "deny", "tool kit::*; path outside .", "nothing outside"],
        [_place(ruled, 1), "allow", "tool tool_wipe; path inside tmp", ""],
        [_place(ruled, 2), "ask", "tool tool_echo", ""],
    ]
    assert "level safe does" in shown.err and "note:" not in shown.err
    found = sutler("policy", "--json").json
    assert found["level"] == "safe" and found["notes"] == [] and found["policy_sources"] == []
    assert found["rules"][0] == {
        "where": _place(ruled, 0),
        "decision": "deny",
        "reason": "nothing outside",
        "tool": ["kit::*"],
        "arguments": {"path": {"outside": ["."]}},
        "about": "tool kit::*; path outside .",
    }


def test_a_rule_that_can_match_nothing_is_told(project: Project, sutler: Sutler) -> None:
    project.config(
        f"{CONFIG}[[policy.rules]]\ntool = 'tool_wpe'\ndecision = 'deny'\n"
        "[[policy.rules]]\ntool = 'tool_wipe'\narguments = { pth = 'x', '*p*' = 'y' }\ndecision = 'deny'\n"
    )
    said = sutler("policy").err
    assert f"note: {project.file}:3: it matches no tool that is there now (tool tool_wpe)" in said
    assert f"note: {project.file}:6: no tool that it matches has a parameter 'pth'; did you mean 'path'?" in said


def test_without_rules_it_says_how_one_is_written(sutler: Sutler) -> None:
    assert "no rule is in force: write [[policy.rules]]" in sutler("policy").err


@pytest.mark.requirement("POL-03")
def test_explain_names_the_rule_that_decides_the_others_the_level_the_grade_and_the_origin(
    ruled: Project, sutler: Sutler
) -> None:
    shown = sutler("policy", "explain", "kit::tool_wipe", "path=tmp/../../x")
    assert shown.code == 0
    assert f"decision    deny by rule {_place(ruled, 0)}: nothing outside" in shown.out
    assert f"decides     {_place(ruled, 0)} deny: tool kit::*; path outside ." in shown.out
    assert "level safe  ask by level safe" in shown.out and "tool folder" in shown.out
    assert "grade       (3, 3), declared by the tool" in shown.out
    assert "origin      library, trust local, own, " in shown.out
    assert [line.split()[:2] for line in shown.out.splitlines()[-3:]] == [
        ["strict", "deny"],
        ["safe", "deny"],
        ["full_access", "deny"],
    ]


@pytest.mark.requirement("POL-03")
def test_explain_as_json_has_each_rule_that_holds_or_may_hold(ruled: Project, sutler: Sutler) -> None:
    inside = sutler("policy", "explain", "tool_wipe", "path=tmp/a", "--json").json
    assert (inside["decision"]["outcome"], inside["rule"]["where"]) == ("allow", _place(ruled, 1))
    assert [one["where"] for one in inside["holds"]] == [_place(ruled, 1)]
    assert inside["level_says"]["outcome"] == "ask" and inside["origin"]["provenance"] == "own"
    assert {level: one["outcome"] for level, one in inside["levels"].items()} == dict.fromkeys(
        ("strict", "safe", "full_access"), "allow"
    )
    anything = sutler("policy", "explain", "tool_wipe", "--json").json
    assert (anything["decision"]["outcome"], anything["rule"], anything["arguments"]) == ("depends", None, None)
    assert [one["where"] for one in anything["may_hold"]] == [_place(ruled, 0), _place(ruled, 1)]
    elsewhere = sutler("policy", "explain", "tool_wipe", "path=a", "--json", "--policy", "full_access").json
    assert (elsewhere["decision"]["outcome"], elsewhere["rule"]) == ("allow", None)
    assert elsewhere["levels"]["safe"]["outcome"] == "ask"


def test_explain_takes_arguments_as_call_does_and_shows_no_secret(project: Project, sutler: Sutler) -> None:
    project.library("login.py", "def tool_login(user: str, password: str, times: int = 1): ...\n")
    project.config(
        f"{CONFIG}[[policy.rules]]\ndecision = 'deny'\narguments = {{ times = {{ above = 2 }} }}\n"
        "[[policy.rules]]\ndecision = 'ask'\nvia = 'run'\n"
    )
    shown = sutler("policy", "explain", "tool_login", "user=ada", "password=tulips", "times=3")
    assert shown.out.startswith('login::tool_login(user="ada", password="***", times=3)\n')
    assert "deny by rule" in shown.out and "tulips" not in shown.out
    given = '{"user": "ada", "password": "tulips"}'
    assert sutler("policy", "explain", "tool_login", "--args", given, "--json").json["decision"]["outcome"] == "allow"
    program = sutler("policy", "explain", "tool_login", "--args", given, "--json", "--in-program").json
    assert program["decision"]["outcome"] == "ask" and "tulips" not in str(program)
    wrong = sutler("policy", "explain", "tool_login", "usr=ada")
    assert wrong.code == 2 and "did you mean 'user'?" in wrong.err


def test_nothing_is_run_to_explain_a_call(project: Project, sutler: Sutler) -> None:
    project.library("boom.py", "raise SystemExit('run')\ndef tool_boom(): ...\n")
    assert sutler("policy", "explain", "tool_boom").code == 0
    assert sutler("runs", "--calls").out == ""


CASES = """
[[policy.tests]]
call = "tool_wipe"
arguments = { path = "/etc/x" }
expect = "deny"
level = "full_access"

[[policy.tests]]
call = "kit::tool_wipe"
arguments = { path = "tmp/a" }
expect = "allow"
level = "strict"
"""


@pytest.mark.requirement("POL-03")
def test_the_cases_of_the_file_are_tried_and_one_that_fails_is_named_with_its_line_and_rule(
    ruled: Project, sutler: Sutler
) -> None:
    ruled.config(CONFIG + RULES + CASES)
    passed = sutler("policy", "test")
    assert (passed.code, passed.out) == (0, "2 tests passed, 0 failed\n")
    ruled.config(CONFIG + RULES + CASES + "[[policy.tests]]\ncall = 'tool_echo'\nexpect = 'allow'\n"
                 "arguments = { text = 'x' }\n[[policy.tests]]\ncall = 'tool_gone'\nexpect = 'deny'\n"
                 "[[policy.tests]]\ncall = 'tool_wipe'\nexpect = 'deny'\n")  # fmt: skip
    failed = sutler("policy", "test")
    first = len((CONFIG + RULES + CASES).splitlines()) + 1
    lines = failed.out.splitlines()
    assert failed.code == 1 and len(lines) == 5 and lines[-1] == "2 tests passed, 3 failed"
    assert lines[0] == (
        f'{ruled.file}:{first}: kit::tool_echo(text="x", times=1, tags=null): expected allow,'
        f" and it is ask by rule {_place(ruled, 2)}"
    )
    assert "there is no tool 'tool_gone'" in lines[1] and "missing required parameter 'path'" in lines[2]
    found: Any = sutler("policy", "test", "--json")
    assert found.code == 1 and found.json["success"] is False
    assert [one["passed"] for one in found.json["tests"]] == [True, True, False, False, False]


def test_cases_that_are_withheld_are_not_passed_over_in_silence(project: Project, sutler: Sutler) -> None:
    project.config(CONFIG + RULES + CASES, trusted=False)
    refused = sutler("policy", "test")
    assert refused.code == 3 and "not trusted" in refused.err
    assert [line.split("\t")[1] for line in sutler("policy").out.splitlines()] == ["deny", "ask"]


@pytest.mark.requirement("POL-03")
def test_why_and_a_refused_call_name_the_rule_and_propose_nothing_that_would_not_help(
    ruled: Project, sutler: Sutler
) -> None:
    refused = sutler("call", "tool_wipe", "path=/etc/x", "--policy", "full_access")
    assert refused.code == 5
    assert f"denied by rule {_place(ruled, 0)}: nothing outside" in refused.err
    assert "note:" not in refused.err
    asked = sutler("call", "tool_echo", "text=x")
    assert asked.code == 5 and f"change rule {_place(ruled, 2)}" in asked.err
    assert "note: run it at a terminal to be asked\n" in asked.err
    why = sutler("tools", "why", "tool_echo").out
    assert f"in force here: ask by rule {_place(ruled, 2)}" in why
    assert sutler("tools", "why", "tool_wipe", "--json").json["policy"]["decision"] == "depends"
    assert "depends" in sutler("tools", "list").out


def test_a_tool_that_policy_hides_is_named_to_the_person_with_the_reason(
    project: Project, sutler: Sutler, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Shy:
        name, priority = "shy", 0

        def decide(self, call: Any, spec: Any) -> None:
            return None

        def visible(self, spec: Any) -> bool:
            return spec.name != "tool_wipe"

    monkeypatch.setattr("sutler.runtime.options.plugin_policies", lambda: [Shy()])
    assert "tool_wipe" not in sutler("tools").out
    assert "policy source 'shy' hides it" in sutler("tools", "why", "tool_wipe").err
    shown = sutler("policy")
    assert "note: kit::tool_wipe is hidden: policy source 'shy' hides it" in shown.err
    assert "then asked, and stricter at the most: shy" in shown.err
