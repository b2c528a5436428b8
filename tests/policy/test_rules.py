"""Rules: what they match, which one decides, and that nothing gets round them (POL-01, POL-03)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sutler import Grade, Origin, Pattern, Policy, Rule, ToolAnnotations, ToolCall, ToolSpec


def spec(name: str = "write", source: str = "fs", *, kind: str = "library", **more: Any) -> ToolSpec:
    trust = {"mcp": "mcp", "virtual": "virtual"}.get(kind, "local")
    provenance = more.pop("provenance", "own")
    origin = Origin(source=source, kind=kind, trust=trust, provenance=provenance)  # type: ignore[arg-type]
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    return ToolSpec(name=name, origin=origin, **{"input_schema": schema, **more})


def call(of: ToolSpec | None = None, *, run_id: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall(call_id="1", spec=of or spec(), arguments=arguments, run_id=run_id)


def says(rules: list[Rule], one: ToolCall, root: Path | None = None, *, level: Any = "safe") -> str:
    return Policy(level=level, rules=rules).decide(one, root).outcome


# ---------------------------------------------------------------------- which rule decides


@pytest.mark.requirement("POL-03")
def test_a_deny_wins_wherever_it_stands_and_else_the_first_rule_that_holds() -> None:
    allow, ask = Rule(decision="allow", where="a:1"), Rule(decision="ask", where="a:2")
    deny = Rule(decision="deny", arguments={"path": Pattern(glob="*.key")}, where="a:3", reason="keys stay")
    policy = Policy(rules=[allow, ask, deny])
    assert policy.decide(call(path="x.txt")).by == "rule a:1"
    refused = policy.decide(call(path="x.key"))
    assert (refused.outcome, refused.by, refused.reason) == ("deny", "rule a:3", "keys stay")
    assert Policy(rules=[ask, allow]).decide(call()).by == "rule a:2"


@pytest.mark.requirement("POL-03")
@pytest.mark.parametrize("level", ["strict", "safe", "full_access"])
def test_a_rule_decides_at_every_level_and_where_none_holds_the_level_does(level: Any) -> None:
    rules = [
        Rule(decision="deny", tool="wipe"),
        Rule(decision="ask", tool="send"),
        Rule(decision="allow", tool="look"),
    ]
    outcomes = [says(rules, call(spec(name)), level=level) for name in ("wipe", "send", "look", "other")]
    assert outcomes == ["deny", "ask", "allow", "ask" if level == "strict" else "allow"]


@pytest.mark.requirement("POL-01")
@pytest.mark.parametrize(
    ("rule", "matching", "others"),
    [
        ({"tool": "delete*"}, [spec("delete"), spec("delete_all", "x")], [spec("undelete")]),
        ({"tool": "fs::*"}, [spec("a")], [spec("a", "web"), spec("fs", "x")]),
        ({"tool": ["*", "!fs::look"]}, [spec("write")], [spec("look")]),
        ({"tool": "!look"}, [spec("write")], [spec("look")]),
        ({"source": ".mcp.json/*"}, [spec(source=".mcp.json/git")], [spec(source="git")]),
        ({"kind": "code"}, [spec(kind="code")], [spec()]),
        ({"trust": ["mcp", "virtual"]}, [spec(kind="mcp"), spec(kind="virtual")], [spec(kind="function")]),
        (
            {"provenance": "host_config"},
            [spec(kind="mcp", provenance="host:.mcp.json")],
            [spec(kind="mcp"), spec()],
        ),
        (
            {"at_least": Grade(0, 3)},
            [spec(), spec(grade=Grade(1, 3), grade_from="hints")],
            [spec(grade=Grade(3, 2), grade_from="hints")],
        ),
        (
            {"at_most": Grade(1, 1)},
            [spec(grade=Grade(1, 0), grade_from="declared")],
            [spec(), spec(grade=Grade(2, 1), grade_from="hints")],
        ),
        ({"grade_from": "undeclared"}, [spec()], [spec(grade=Grade(3, 3), grade_from="declared")]),
        (
            {"annotations": {"read_only": False}},
            [spec(annotations=ToolAnnotations(read_only=False))],
            [spec(), spec(annotations=ToolAnnotations(read_only=True))],
        ),
    ],
)
def test_a_rule_matches_on_what_is_known_of_the_tool(
    rule: dict[str, Any], matching: list[ToolSpec], others: list[ToolSpec]
) -> None:
    made = Rule(decision="deny", **rule)
    assert [says([made], call(one)) for one in matching] == ["deny"] * len(matching)
    assert "deny" not in [says([made], call(one)) for one in others]


@pytest.mark.requirement("POL-01")
def test_servers_of_host_configs_are_gated_tighter_than_own_ones_by_where_they_come_from() -> None:
    tool = {"kind": "mcp", "grade": Grade(2, 1), "grade_from": "hints"}
    assert says([], call(spec(**tool))) == "allow"
    assert says([], call(spec(**tool, provenance="host:.mcp.json"))) == "ask"


def test_a_source_that_got_a_number_because_its_id_was_taken_escapes_no_rule_and_gains_by_none() -> None:
    second = spec("write", "fs#2")
    for about in ({"source": "fs"}, {"tool": "fs::*"}, {"tool": ["fs::*", "!fs::write"]}):
        assert says([Rule(decision="deny", **about)], call(second)) == "deny"
        assert says([Rule(decision="allow", **about)], call(second), level="strict") == "ask"


def test_a_rule_may_be_for_programs_or_for_direct_calls_alone() -> None:
    rule = Rule(decision="deny", via="run")
    assert (says([rule], call(run_id="r")), says([rule], call())) == ("deny", "allow")
    policy = Policy(rules=[rule])
    assert policy.preview(spec(), via="run").outcome == "deny"
    assert policy.preview(spec(), via="direct").outcome == "allow"
    assert policy.preview(spec(), via=None).outcome == "depends"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"decision": "dney"}, "decision of a rule"),
        ({"trust": "lokal"}, "trust of a rule"),
        ({"provenance": "host"}, "provenance of a rule"),
        ({"via": "program"}, "via of a rule"),
        ({"annotations": {"readonly": True}}, "annotations"),
        ({"arguments": {"path": "x"}}, "Pattern"),
    ],
)
def test_a_rule_that_could_never_hold_is_refused_when_it_is_made(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        Rule(**{"decision": "deny", **wrong})


# ---------------------------------------------------------------------- arguments


def held(pattern: Pattern, value: Any, name: str = "x") -> tuple[bool, bool]:
    """Whether a rule that denies holds for the value, and one that allows."""
    denies = Rule(decision="deny", arguments={name: pattern})
    allows = Rule(decision="allow", arguments={name: pattern})
    one = call(x=value)
    return says([denies], one) == "deny", says([allows], one, level="strict") == "allow"


SURE, NEVER, DOUBT = (True, True), (False, False), (True, False)


@pytest.mark.requirement("POL-03")
@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        (Pattern(equals="a"), "a", SURE),
        (Pattern(equals=["a", "b"]), "b", SURE),
        (Pattern(equals=1), 1.0, SURE),
        (Pattern(equals=1), True, NEVER),
        (Pattern(equals=5), "5", DOUBT),
        (Pattern(equals="5"), 5, DOUBT),
        (Pattern(equals=True), "true", DOUBT),
        (Pattern(glob="*.md"), "a/b.md", SURE),
        (Pattern(glob="*.md"), "a.md\n", NEVER),
        (Pattern(glob="a*b"), "a\nb", SURE),
        (Pattern(glob="x[0-9]"), "x7", SURE),
        (Pattern(glob="7?"), 77, SURE),
        (Pattern(regex="^rm "), "rm -rf", SURE),
        (Pattern(regex="(?i)DROP +table"), "x; drop  TABLE y", SURE),
        (Pattern(regex="^a$"), "a\n", NEVER),
        (Pattern(regex="x"), "\ud800", DOUBT),
        (Pattern(regex="x"), "y" * 100_001, DOUBT),
        (Pattern(glob="x*"), "y" * 100_001, DOUBT),
        (Pattern(above=10), 11, SURE),
        (Pattern(above=10), 10, NEVER),
        (Pattern(at_least=10, below=20), 10, SURE),
        (Pattern(at_least=10, below=20), 20, NEVER),
        (Pattern(at_most=3), float("nan"), DOUBT),
        (Pattern(above=10), "11", DOUBT),
        (Pattern(above=10), "9", NEVER),
        (Pattern(above=10), "many", DOUBT),
        (Pattern(above=10), [10**5000], SURE),
        (Pattern(glob="1*"), [10**5000], NEVER),
        (Pattern(glob="a*"), None, NEVER),
        (Pattern(negated=Pattern(glob="https://example.com/*")), "https://evil.example/", SURE),
        (Pattern(negated=Pattern(glob="https://example.com/*")), "https://example.com/x", NEVER),
        (Pattern(negated=Pattern(regex="x")), "y" * 100_001, DOUBT),
        (Pattern(negated=Pattern(equals="a")), None, NEVER),
        (Pattern(glob="a*", negated=Pattern(glob="ab*")), "ac", SURE),
        (Pattern(glob="a*", negated=Pattern(glob="ab*")), "ab", NEVER),
        # of several values a rule that denies wants one, a rule that allows all
        (Pattern(glob="a*"), ["a1", "b"], DOUBT),
        (Pattern(glob="a*"), ["a1", "a2"], SURE),
        (Pattern(glob="a*"), [], NEVER),
        (Pattern(glob="a*"), {"k": {"deep": "a1"}}, SURE),
        (Pattern(glob="/etc/*"), {"/etc/passwd": "text"}, DOUBT),
    ],
)
def test_what_a_pattern_says_of_a_value_and_that_in_doubt_only_a_rule_that_tightens_holds(
    pattern: Pattern, value: Any, expected: tuple[bool, bool]
) -> None:
    found = held(pattern, value)
    assert found == expected


def test_an_argument_that_is_not_given_fits_no_pattern() -> None:
    assert says([Rule(decision="deny", arguments={"y": Pattern(glob="*")})], call(x="a")) == "allow"
    assert says([Rule(decision="deny", arguments={"y": Pattern(negated=Pattern(glob="a"))})], call(x="a")) == "allow"


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("file.path", {"file": {"path": "secret"}}, "deny"),
        ("edits.path", {"edits": [{"path": "ok"}, {"path": "secret"}]}, "deny"),
        ("*path*", {"src_path": "secret"}, "deny"),
        ("*path*", {"file": {"path": "secret"}}, "deny"),
        ("file", {"file": {"deep": {"x": "secret"}}}, "deny"),
        ("file.*", {"file": "secret"}, "allow"),
        ("path", {"file": {"path": "secret"}}, "allow"),
        ("path", {"paths": "secret"}, "allow"),
    ],
)
def test_an_argument_is_named_by_its_parameter_by_a_glob_or_by_the_way_to_a_value_inside(
    name: str, arguments: dict[str, Any], expected: str
) -> None:
    assert says([Rule(decision="deny", arguments={name: Pattern(equals="secret")})], call(**arguments)) == expected


def test_a_call_with_more_values_than_can_be_looked_at_is_in_doubt() -> None:
    many = [{"n": number} for number in range(20_000)]
    loop: dict[str, Any] = {}
    loop["again"] = loop
    for value in (many, loop):
        assert held(Pattern(equals="x"), value) == DOUBT


@pytest.mark.requirement("POL-03")
@pytest.mark.parametrize("regex", ["(a+)+$", "(a|a)*b", "(.*a){25}"])
def test_a_regex_needs_time_in_proportion_to_the_text(regex: str) -> None:
    """A backtracking engine needs longer for this than the test may take."""
    assert held(Pattern(regex=f"^{regex}x"), "a" * 50_000) == NEVER


@pytest.mark.parametrize("regex", ["(", "(?=a)", r"(a)\1", "a{1000}{1000}"])
def test_a_regex_that_cannot_be_used_is_refused_when_it_is_made(regex: str) -> None:
    with pytest.raises(ValueError, match="regular expression"):
        Pattern(regex=regex)


# ---------------------------------------------------------------------- paths


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace /…/data beside /…/data2, with a link out, a link in, and a home folder of its own."""
    for name in ("w/data/sub", "w/data2", "home/.ssh"):
        (tmp_path / name).mkdir(parents=True)
    data = tmp_path / "w/data"
    (data / "link").symlink_to("/etc")
    (data / "sub/up").symlink_to("..")
    (data / "self").symlink_to("sub")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Path(os.path.realpath(data))


INSIDE = ["a.txt", "sub/a.txt", "./sub/../a.txt", "sub/up/a.txt", "self/a.txt", ".", "{root}", "{root}/sub", "sub/"]
OUTSIDE = [
    "../data2/x",
    "{root}2/x",
    "{root}/../data2/x",
    "link/hostname",
    "link",
    "sub/../link/../etc/passwd",
    "/etc/passwd",
    "{root}/../../w/data2",
    "..",
    "sub/up/../x",
    # what no file can be called lies in no folder
    "a/" * 2500 + "x",
    "x" * 300,
    "\ud800",
]
TWO_WAYS = [  # one reading lies inside, another does not, or what it is cannot be told
    "~/.bashrc",
    "~root/x",
    "$HOME/x",
    "${HOME}/x",
    " /etc/passwd",
    "file:///etc/passwd",
    "FILE:/etc/passwd",
    "file:///etc/%70asswd",
    "x\0y",
    7,
]


@pytest.mark.requirement("POL-03")
@pytest.mark.parametrize("path", [*INSIDE, *OUTSIDE, *TWO_WAYS], ids=lambda path: ascii(path)[:40])
def test_a_path_is_judged_by_where_it_leads(root: Path, path: Any) -> None:
    given = path.replace("{root}", str(root)) if isinstance(path, str) else path
    one = call(path=given)
    only_inside = [Rule(decision="allow", arguments={"path": Pattern(inside=".")})]
    none_outside = [Rule(decision="deny", arguments={"path": Pattern(outside=".")})]
    free_outside = [Rule(decision="allow", arguments={"path": Pattern(outside=".")})]
    found = (
        says(only_inside, one, root, level="strict"),
        says(none_outside, one, root),
        says(free_outside, one, root, level="strict"),
    )
    expected = ("allow", "allow", "ask") if path in INSIDE else ("ask", "deny", "allow" if path in OUTSIDE else "ask")
    assert found == expected


@pytest.mark.requirement("POL-03")
@pytest.mark.parametrize(
    "path",
    [
        "~/.ssh/id_rsa",
        "$HOME/.ssh/id_rsa",
        "{home}/.ssh",
        "{home}/./.ssh//id_rsa",
        "{home}/.SSH/id_rsa",
        "file://{home}/.ssh/id_rsa",
        "{home}/.ssh/id_rsa\0.txt",
        "{home}/" + "./" * 3000 + ".ssh/id_rsa",
        "keys/id_rsa",
        ["a.txt", "~/.ssh/id_rsa"],
        {"from": "~/.ssh/id_rsa"},
        {"~/.ssh/id_rsa": "as"},
    ],
)
def test_a_folder_that_is_denied_is_reached_on_no_other_way(root: Path, path: Any) -> None:
    home = Path.home()
    (root / "keys").symlink_to(home / ".ssh")
    given = path.replace("{home}", str(home)) if isinstance(path, str) else path
    denied = [Rule(decision="deny", arguments={"path": Pattern(inside="~/.ssh")})]
    assert says(denied, call(path=given), root) == "deny"
    assert says(denied, call(path="a.txt"), root) == "allow"


def test_a_folder_that_is_swapped_for_a_link_does_not_take_its_rule_along(root: Path) -> None:
    policy = Policy(level="strict", rules=[Rule(decision="allow", arguments={"path": Pattern(inside="out")})])
    (root / "out").mkdir()
    assert policy.decide(call(path="out/a"), root).outcome == "allow"
    (root / "out").rmdir()
    (root / "out").symlink_to("/etc")
    assert policy.decide(call(path="out/passwd"), root).outcome == "ask"


def test_each_call_is_judged_from_the_folder_that_it_works_in(root: Path) -> None:
    policy = Policy(rules=[Rule(decision="deny", arguments={"path": Pattern(outside=".")})])
    other = Path(os.path.realpath(root.parent / "data2"))
    assert policy.decide(call(path=str(other / "a")), root).outcome == "deny"
    assert policy.decide(call(path=str(other / "a")), other).outcome == "allow"


# ---------------------------------------------------------------------- before the call


def test_a_plan_says_depends_exactly_where_the_arguments_decide() -> None:
    keys = Rule(decision="deny", arguments={"path": Pattern(glob="*.key")}, where="f:1")
    policy = Policy(rules=[keys, Rule(decision="ask", tool="send"), Rule(decision="deny", tool="wipe")])
    unknown = policy.preview(spec())
    assert (unknown.outcome, unknown.by, unknown.reason) == ("depends", "rule f:1", "the arguments decide")
    assert policy.preview(spec(), {"path": "a.key"}).outcome == "deny"
    assert policy.preview(spec(), {"path": "a.txt"}).outcome == "allow"
    assert policy.preview(spec(), {"text": "x"}, partial=True).outcome == "depends"
    assert policy.preview(spec(), {"path": "a.key"}, partial=True).outcome == "deny"
    assert policy.preview(spec("wipe")).outcome == "deny"
    twice = Policy(rules=[Rule(decision="ask", arguments={"x": Pattern(glob="*")}), Rule(decision="ask")])
    assert twice.preview(spec()).outcome == "ask"


def test_a_plan_does_not_wait_for_a_parameter_that_the_tool_has_not() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}, "file": {"type": "object"}}}
    for name, outcome in (("path", "allow"), ("text", "depends"), ("file.path", "depends"), ("p.x", "allow")):
        policy = Policy(rules=[Rule(decision="deny", arguments={name: Pattern(glob="*")})])
        assert policy.preview(spec(input_schema=schema)).outcome == outcome, name


def test_an_explanation_has_the_rule_that_decided_the_others_and_the_levels_word() -> None:
    first = Rule(decision="ask", tool="write", where="f:1")
    second = Rule(decision="allow", where="f:2")
    third = Rule(decision="deny", arguments={"path": Pattern(glob="*.key")}, where="f:3")
    policy = Policy(rules=[first, second, third])
    found = policy.explain(spec(), {"path": "a.key"})
    assert (found.rule, found.held, found.decision.outcome) == (third, (first, second, third), "deny")
    found = policy.explain(spec(), {"path": "a.md"})
    assert (found.rule, found.held, found.level.outcome) == (first, (first, second), "allow")
    found = policy.explain(spec())
    assert (found.rule, found.perhaps, found.decision.outcome) == (None, (third,), "depends")


@pytest.mark.parametrize("eager", [True, False])
def test_many_rules_come_to_the_same_as_each_asked_by_itself(root: Path, eager: bool) -> None:
    """They are asked together where there are many; the answer may not hang on that."""
    decision: Any = "deny" if eager else "allow"
    patterns = [
        *(Pattern(glob=f"*{word}*") for word in ("key", "pem", "?", "a.b+c", "[x]")),
        *(Pattern(equals=word) for word in ("5", "true", "a", "(")),
        *(Pattern(regex=word) for word in ("^a", "(?i)KEY$", "b|c", ".")),
        *(Pattern(above=number) for number in (-1, 4, 5, 1e9)),
        *(Pattern(inside=folder) for folder in (".", "~/.ssh", "/etc", "sub", "/")),
        *(Pattern(outside=folder) for folder in (".", "sub")),
    ]
    values: list[Any] = ["a", "xkey", "KEY", "5", 5, True, 5.5, float("nan"), "", ".", "sub/x", "link/x", "~/.ssh/a"]
    values += ["a.b+c", "(", "[x]", "x", "\ud800", "y" * 100_001, ["a", 5], [], {"k": "a"}, None, "line\nkey", "x\0"]
    for name in ("x", "*x*"):
        rules = [Rule(decision=decision, arguments={name: one}, where=str(n)) for n, one in enumerate(patterns)]
        together = Policy(level="strict", rules=rules)
        for value in values:
            one = call(x=value)
            apart = next((rule for rule in rules if says([rule], one, root, level="strict") == decision), None)
            assert together.decide(one, root).by == (f"rule {apart.where}" if apart else "level strict"), (name, value)


# ---------------------------------------------------------------------- what a call does not show


@pytest.mark.requirement("POL-01", "RUN-02")
def test_a_default_that_only_python_knows_is_in_doubt(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer", "default": 1}}}
    of = spec(input_schema=schema)
    deny = Rule(decision="deny", arguments={"*path*": Pattern(inside="/etc")})
    allow = Rule(decision="allow", arguments={"path": Pattern(inside=".")})
    few = [Rule(decision="deny", arguments={"path": Pattern(inside=f"/etc/{n}")}) for n in range(9)]
    assert says([deny], call(of), tmp_path) == "deny"
    assert says(few, call(of), tmp_path) == "deny"
    assert says([deny], call(of, path=None), tmp_path) == "allow"  # it was given
    assert says([deny], call(of, path="a"), tmp_path) == "allow"
    assert says([allow], call(of), tmp_path, level="strict") == "ask"
    assert Policy(rules=[deny]).preview(of).outcome == "depends"
    assert Policy(rules=[deny]).preview(of, {}, partial=False).outcome == "deny"
    told = {"type": "object", "properties": {"path": {"type": "string", "default": "/tmp"}}}
    assert says([deny], call(spec(input_schema=told), path="/tmp"), tmp_path) == "allow"
    remote = spec(input_schema=schema, kind="mcp")  # what a server does without it, its schema need not say
    assert says([deny], call(remote), tmp_path, level="full_access") == "allow"


@pytest.mark.requirement("POL-01")
def test_a_path_of_a_tool_that_works_elsewhere_is_judged_from_there_too(tmp_path: Path) -> None:
    work, own = tmp_path / "work", tmp_path / "own"
    work.mkdir()
    own.mkdir()
    of = spec(kind="mcp", meta={"works_in": str(own)})
    allow = Rule(decision="allow", arguments={"path": Pattern(inside=".")})
    deny = Rule(decision="deny", arguments={"path": Pattern(inside=str(own))})
    assert says([allow], call(of, path="x"), work, level="strict") == "ask"
    assert says([allow], call(of, path=str(work / "x")), work, level="strict") == "allow"
    assert says([deny], call(of, path="x"), work, level="full_access") == "deny"
    remote = spec(kind="mcp", meta={"works_in": "?"})
    assert says([allow], call(remote, path="x"), work, level="strict") == "ask"
    assert says([allow], call(remote, path=str(work / "x")), work, level="strict") == "allow"


@pytest.mark.requirement("POL-01")
def test_a_rule_that_denies_holds_for_a_second_source_of_its_name_and_for_the_name_behind_an_alias() -> None:
    deny, allow = (Rule(decision=one, tool="fs::wipe") for one in ("deny", "allow"))
    for one in (
        spec("wipe", "fs#2"),
        spec("tidy", "fs", meta={"tool": "wipe"}),
        spec("tidy", "fs#3", meta={"tool": "wipe"}),
    ):
        assert says([deny], call(one)) == "deny"
        assert says([allow], call(one), level="strict") == "ask"
    assert says([Rule(decision="deny", source="fs")], call(spec("x", "fs#2"))) == "deny"


@pytest.mark.requirement("POL-01")
def test_a_folder_is_the_same_in_either_form_of_unicode(tmp_path: Path) -> None:
    deny = Rule(decision="deny", arguments={"path": Pattern(inside="d\u00e9p\u00f4t")})
    assert says([deny], call(path="de\u0301po\u0302t/x"), tmp_path) == "deny"
