"""Where a rule asks: which answers cover its question, and that no decision crosses from one runtime to another."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sutler import Pattern, Policy, Rule, SyncRuntime, tool
from sutler.policy.answers import Answer


@tool(destructive=True)
def write(path: str) -> str:
    """Writes."""
    return path


def opened(policy: Policy, handler: Any, **options: Any) -> SyncRuntime:
    base: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
    return SyncRuntime(tools=[write], policy=policy, confirm_handler=handler, **base, **options)


@pytest.mark.requirement("POL-03", "POL-04")
def test_an_always_that_was_given_to_the_level_does_not_answer_for_a_rule() -> None:
    """A yes to `write` in general is no yes to what a rule asks about in particular."""
    outside = Rule(decision="ask", arguments={"path": Pattern(outside=".")}, where="f:1")
    asked: list[str] = []

    def always(source: str, label: str, argv: Any = None) -> tuple[str, str]:
        asked.append(source)
        return "always", ""

    with opened(Policy(level="strict", rules=[outside]), always) as rt:
        assert rt.call("write", {"path": "a"}).success and rt.call("write", {"path": "b"}).success
        assert len(asked) == 1
        assert rt.call("write", {"path": "/etc/a"}).success and rt.call("write", {"path": "/etc/b"}).success
        assert len(asked) == 2  # once for the level, once for the rule


@pytest.mark.requirement("POL-04")
def test_an_always_for_exact_arguments_covers_them_whatever_asks() -> None:
    asked: list[str] = []

    def exact(source: str, label: str, argv: Any = None) -> Answer:
        asked.append(source)
        return Answer("always", scope="exact")

    with opened(Policy(rules=[Rule(decision="ask", where="f:1")]), exact) as rt:
        for path in ("a", "a", "b"):
            rt.call("write", {"path": path})
        assert len(asked) == 2
        rt.core.policy = Policy(rules=[Rule(decision="ask", where="f:2")])
        assert rt.call("write", {"path": "a"}).success
        assert len(asked) == 2


@pytest.mark.requirement("POL-03", "POL-04")
def test_arguments_that_the_person_changed_are_judged_by_the_rules_again() -> None:
    rules = [
        Rule(decision="deny", arguments={"path": Pattern(outside=".")}, where="f:1", reason="stay inside"),
        Rule(decision="ask"),
    ]
    answer = Answer("allow", arguments={"path": "/etc/passwd"})
    with opened(Policy(rules=rules), lambda *asked: answer) as rt:
        error = rt.call("write", {"path": "a"}).error
        assert error is not None and "denied by rule f:1: stay inside" in str(error)


LIBRARY = '''
from sutler import tool

@tool(destructive=True)
def tool_mark(name: str) -> str:
    """Marks."""
    return name
'''


@pytest.mark.requirement("POL-02", "POL-04")
def test_no_decision_crosses_between_runtimes_that_share_libraries(tmp_path: Path) -> None:
    """16 threads, 4 runtimes with handlers, levels and rules of their own, over one folder."""
    (tmp_path / "marks.py").write_text(LIBRARY)
    seen: dict[str, set[int]] = {"always": set(), "reject": set()}
    lock = threading.Lock()

    def handler(word: str) -> Any:
        def confirm(source: str, label: str, argv: Any = None) -> tuple[str, str]:
            with lock:
                seen[word].add(int(source.rpartition("-")[2].partition('"')[0]))
            return word, f"said by {word}"

        return confirm

    denied = Rule(decision="deny", arguments={"name": Pattern(glob="*")}, where="only-here:1")
    denying = Policy(level="full_access", rules=[denied])
    base: dict[str, Any] = {
        "tool_folders": tmp_path,
        "config": False,
        "default_tools": False,
        "plugins": False,
    }
    runtimes = {
        "always": SyncRuntime(policy="safe", confirm_handler=handler("always"), **base),
        "reject": SyncRuntime(policy="strict", confirm_handler=handler("reject"), **base),
        "deny": SyncRuntime(policy=denying, confirm_handler=handler("always"), **base),
        "allow": SyncRuntime(policy="full_access", confirm_handler=handler("reject"), **base),
    }
    for rt in runtimes.values():
        rt.open()
    start = threading.Barrier(16)
    wrong: list[str] = []

    def work(number: int) -> None:
        start.wait()
        for turn in range(25):
            for kind in list(runtimes)[number % 4 :] + list(runtimes)[: number % 4]:
                name = f"{kind}-{number * 1000 + turn}"
                result = runtimes[kind].call("tool_mark", {"name": name})
                said = str(result.error) if result.error is not None else result.output
                expected = {
                    "always": name,
                    "reject": "marks::tool_mark was rejected: said by reject",
                    "deny": "marks::tool_mark is denied by rule only-here:1",
                    "allow": name,
                }[kind]
                if said != expected:
                    wrong.append(f"{kind}: {said}")

    try:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(work, range(16)))
    finally:
        for rt in runtimes.values():
            rt.close()
    assert wrong == []
    assert len(seen["reject"]) == 16 * 25  # every single one was asked about, whatever the others had been told
    assert 1 <= len(seen["always"]) <= 16  # the first of each thread at the most


@pytest.mark.requirement("POL-03")
def test_what_a_rule_has_judged_is_what_runs_though_the_caller_changes_his_list_meanwhile() -> None:
    ran: list[Any] = []
    given = ["a"]

    def send(paths: list[str]) -> str:
        ran.append(list(paths))
        return "sent"

    class Meanwhile:
        name, priority = "meanwhile", 0

        def decide(self, call: Any, spec: Any) -> None:
            given[0] = "/etc/passwd"

        def visible(self, spec: Any) -> bool:
            return True

    policy = Policy(rules=[Rule(decision="deny", arguments={"paths": Pattern(inside="/etc")})])
    base: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}
    with SyncRuntime(tools=[send], policy=policy, policy_sources=[Meanwhile()], **base) as rt:
        assert rt.call("send", {"paths": given}).success
        assert rt.call("send", {"paths": given}).error is not None
    assert ran == [["a"]]
