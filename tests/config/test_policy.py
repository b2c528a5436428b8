"""[[policy.rules]] and [[policy.tests]] in files: what is wrong with one, and what an untrusted file may still say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sutler import Grade, Pattern, Policy, SyncRuntime, ToolCall, ToolSpec
from sutler.config import load, load_text
from sutler.errors import ConfigError

HERE = Path("/project/sutler.toml")
RULE = "[[policy.rules]]\ndecision = 'deny'\n"


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_text(text, HERE)
    return [str(one).removeprefix("/project/sutler.toml:") for one in caught.value.problems]


@pytest.mark.requirement("POL-03", "CFG-01")
def test_a_misspelt_decision_is_both_missing_and_unknown() -> None:
    assert problems("[[policy.rules]]\ndecison = 'deny'") == [
        "1: policy.rules[0]: `decision` is missing",
        "2: policy.rules[0].decison: unknown key in a rule (did you mean `decision`?)",
    ]


@pytest.mark.requirement("POL-03", "CFG-01")
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[[policy.rules]]\ntool = 'x'", 1, "`decision` is missing"),
        ("[[policy.rules]]\ndecision = 'dney'", 2, "did you mean 'deny'?"),
        (f"{RULE}tools = 'x'", 3, "did you mean `tool`?"),
        (f"{RULE}tool = []", 3, "is empty"),
        (f"{RULE}tool = '!'", 3, "names nothing after the !"),
        (f"{RULE}tool = 3", 3, "must be a string"),
        (f"{RULE}kind = 'libary'", 3, "did you mean 'library'?"),
        (f"{RULE}trust = ['mcp', 'locl']", 3, "did you mean 'local'?"),
        (f"{RULE}provenance = 'host-config'", 3, "did you mean 'host_config'?"),
        (f"{RULE}grade = {{ w = 1, d = 1 }}", 3, "must say at_least or at_most"),
        (f"{RULE}grade = {{ at_least = {{ w = 4 }} }}", 3, "0 to 3"),
        (f"{RULE}grade = {{ at_least = {{ d = 2 }}, at_most = {{ d = 1 }} }}", 3, "no grade is at least"),
        (f"{RULE}grade = {{ form = 'hints' }}", 3, "did you mean `from`?"),
        (f"{RULE}annotations = {{ readOnlyHint = true }}", 3, "did you mean `read_only`?"),
        (f"{RULE}arguments = 'x'", 3, "must be a table"),
        (f"{RULE}arguments = {{ path = {{ insde = '.' }} }}", 3, "did you mean `inside`?"),
        (f"{RULE}arguments = {{ path = {{}} }}", 3, "says nothing of the argument"),
        (f"{RULE}arguments = {{ n = {{ above = '3' }} }}", 3, "must be a number"),
        (f"{RULE}arguments = {{ n = {{ above = nan }} }}", 3, "must be a number"),
        (f"{RULE}arguments = {{ t = {{ regex = '(' }} }}", 3, "is no regular expression"),
        (f"{RULE}arguments = {{ t = {{ regex = '(?=x)' }} }}", 3, "look-around"),
        (f"{RULE}arguments = {{ t = {{ not = {{ regx = 'x' }} }} }}", 3, "did you mean `regex`?"),
        (f"{RULE}arguments = {{ p = {{ inside = '${{HOME}}' }} }}", 3, "variables are not put in here"),
        (f"{RULE}arguments = {{ t = 1979-05-27 }}", 3, "date or time"),
        (f"{RULE}via = 'program'", 3, "must be one of"),
        (f"{RULE}reason = 'a\\u001bb'".replace("'a", '"a').replace("b'", 'b"'), 3, "no control characters"),
        ("[policy.rules]\ndecision = 'deny'", 1, "write [[policy.rules]]"),
        ("[[policy.rule]]\ndecision = 'deny'", 1, "did you mean `rules`?"),
        ("[[policy.tests]]\ncall = 'x'", 1, "`expect` is missing"),
        ("[[policy.tests]]\ncall = 'x'\nexpect = 'depends'", 3, "must be one of"),
        ("[[policy.tests]]\ncall = 'x'\nexpect = 'ask'\nlevel = 'strickt'", 4, "did you mean 'strict'?"),
        ("[[policy.tests]]\ncall = 'x'\nexpect = 'ask'\nargs = {}", 4, "did you mean `arguments`?"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said_with_its_line_and_the_nearest_word(text: str, line: int, words: str) -> None:
    (said,) = problems(text)
    assert said.startswith(f"{line}: ") and words in said


def test_a_rule_with_a_problem_in_it_is_no_rule_so_that_it_cannot_hold_for_more_than_was_meant() -> None:
    assert len(problems(f"{RULE}tool = 3\nvia = 'x'\n{RULE}kind = 'x'")) == 3


@pytest.mark.requirement("POL-03")
def test_a_rule_is_read_whole_and_knows_its_line() -> None:
    text = """
    [[policy.rules]]
    decision = "deny"
    tool = ["a", "!b"]
    grade = { at_most = { w = 1 }, at_least = { d = 2 }, from = "hints" }
    arguments = { branch = "main*", n = [1, 2], "*path*" = { outside = [".", "~/x"], not = { glob = "*.md" } } }
    """
    (rule,) = load_text(text, HERE).policy.rules
    assert (rule.where, rule.tool, rule.grade_from) == ("/project/sutler.toml:2", ("a", "!b"), ("hints",))
    assert (rule.at_most, rule.at_least) == (Grade(1, 3), Grade(0, 2))
    assert dict(rule.arguments) == {
        "branch": Pattern(glob="main*"),
        "n": Pattern(equals=[1, 2]),
        "*path*": Pattern(outside=[".", "~/x"], negated=Pattern(glob="*.md")),
    }


def decide(policy: Policy, name: str) -> Any:
    from sutler import Origin

    spec = ToolSpec(name=name, origin=Origin(source="s", kind="library"))
    return policy.decide(ToolCall(call_id="1", spec=spec, arguments={}))


PROJECT = """
[[policy.rules]]
decision = "allow"
tool = ["a", "shared"]
[[policy.rules]]
decision = "ask"
tool = "b"
[[policy.rules]]
decision = "deny"
tool = "c"
[[policy.tests]]
call = "c"
expect = "deny"
"""
USER = """
[policy]
level = "strict"
[[policy.rules]]
decision = "ask"
tool = "shared"
[[policy.rules]]
decision = "allow"
tool = ["b", "c", "d"]
[[policy.rules]]
decision = "deny"
tool = "a"
"""


@pytest.mark.requirement("POL-03", "TRU-01")
@pytest.mark.parametrize("trusted", [True, False])
def test_a_project_comes_before_the_user_a_deny_of_either_holds_and_an_untrusted_project_only_tightens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    monkeypatch.setenv("SUTLER_STATE_DIR", str(tmp_path / "state"))
    project, user = tmp_path / "sutler.toml", tmp_path / "config.toml"
    project.write_text(PROJECT)
    user.write_text(USER)
    config = load(project if trusted else None, start=tmp_path, user_file=user)
    policy = Policy(level=config.policy.level, rules=config.policy.rules)
    found = {name: decide(policy, name).outcome for name in ("a", "b", "c", "d", "shared")}
    shared = "allow" if trusted else "ask"
    assert found == {"a": "deny", "b": "ask", "c": "deny", "d": "allow", "shared": shared}
    withheld = [one.removeprefix(f"{project}:") for one in config.withheld]
    assert withheld == ([] if trusted else ["2: withheld: a rule that allows", "11: withheld: policy.tests"])


def test_a_policy_that_the_host_gives_stands_before_the_rules_of_the_config_and_does_not_replace_them(
    tmp_path: Path,
) -> None:
    from sutler import Rule

    file = tmp_path / "sutler.toml"
    file.write_text('[[policy.rules]]\ndecision = "deny"\ntool = "a"\n[[policy.rules]]\ndecision = "ask"\ntool = "b"\n')

    def a() -> None: ...
    def b() -> str:
        return "b"

    mine = Policy(level="full_access", rules=[Rule(decision="allow")])
    with SyncRuntime(tools=[a, b], config=file, policy=mine, plugins=False) as rt:
        assert f"{file}:1" in str(rt.call("a").error)
        assert rt.call("b").output == "b"
