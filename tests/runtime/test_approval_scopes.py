"""How far a person's word reaches: never beyond what he was asked about (POL-04)."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sutler import Policy, Runtime, SyncRuntime, tool
from sutler.policy.answers import Answer
from sutler.policy.project import ProjectApprovals

Opens = Callable[..., SyncRuntime]


def wipe(path: str, deep: bool = False) -> str:
    """Wipes something."""
    return f"wiped {path}"


class Person:
    """Answers as told, and remembers what he was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, source: str, label: str, argv: Any = None) -> Any:
        self.asked.append(source)
        return self.answers.pop(0) if self.answers else ("reject", "enough")


def strict(runtime: Opens, person: Any, *tools: Any, **more: Any) -> SyncRuntime:
    return runtime(*(tools or (wipe,)), policy="strict", confirm_handler=person, **more)


@pytest.mark.requirement("POL-04")
def test_exact_covers_the_same_arguments_after_repair_and_defaults_and_no_others(runtime: Opens) -> None:
    person = Person(Answer("always", scope="exact"))
    rt = strict(runtime, person)
    assert rt.call("wipe", {"path": "a"}).success
    assert rt.call("wipe", {"deep": "no", "path": "a"}).success
    assert len(person.asked) == 1
    assert not rt.call("wipe", {"path": "a", "deep": True}).success
    (held,) = rt.approvals()
    assert (held.qualified, held.scope, held.shown) == (
        "functions::wipe",
        "exact",
        'functions::wipe(path="a", deep=false)',
    )


@pytest.mark.requirement("POL-04")
def test_a_run_scope_ends_with_its_run_and_covers_the_runs_nested_in_it(runtime: Opens) -> None:
    person = Person(Answer("always", scope="run"))
    rt = strict(runtime, person)

    @tool
    def inner() -> Any:
        return rt.run("wipe('c')").output

    rt.toolbox.add(inner)
    person.answers.append(("allow", ""))  # for `inner` itself
    run = rt.run("a = wipe('a')\nb = wipe('b')\nc = inner()\n[a, b, c]")
    assert run.output == ["wiped a", "wiped b", "wiped c"]
    assert len(person.asked) == 2 and rt.approvals() == ()
    assert rt.run("wipe('d')").status == "failed" and len(person.asked) == 3


@pytest.mark.requirement("POL-04")
def test_a_run_scope_outside_of_any_run_and_a_call_scope_reach_no_further_than_an_allow(runtime: Opens) -> None:
    person = Person(Answer("always", scope="run"), Answer("always", scope="call"))
    rt = strict(runtime, person)
    assert rt.call("wipe", {"path": "a"}).success and rt.call("wipe", {"path": "a"}).success
    assert not rt.call("wipe", {"path": "a"}).success
    assert len(person.asked) == 3 and rt.approvals() == ()


@pytest.mark.requirement("POL-04")
@pytest.mark.parametrize("expires", [3600, timedelta(hours=1)])
def test_an_approval_that_has_expired_asks_again(runtime: Opens, monkeypatch: pytest.MonkeyPatch, expires: Any) -> None:
    person = Person(Answer("always", expires=expires))
    rt = strict(runtime, person)
    assert rt.call("wipe", {"path": "a"}).success and rt.call("wipe", {"path": "b"}).success
    assert len(rt.approvals()) == 1
    later = time.time() + 3601
    monkeypatch.setattr(time, "time", lambda: later)
    assert rt.approvals() == () and not rt.call("wipe", {"path": "a"}).success
    assert len(person.asked) == 2


@pytest.mark.requirement("POL-04")
def test_a_revoked_approval_asks_again_and_an_unknown_id_is_none(runtime: Opens) -> None:
    person = Person(("always", ""))
    rt = strict(runtime, person)
    assert rt.call("wipe", {"path": "a"}).success
    (held,) = rt.approvals()
    assert rt.revoke_approval(held.id) and not rt.revoke_approval(held.id)
    assert not rt.call("wipe", {"path": "b"}).success
    changes = [line.data for line in rt.audit(kind="change.approval")]
    assert [sorted(set(change) & {"given", "revoked"}) for change in changes] == [["revoked"], ["given"]]


@pytest.mark.requirement("POL-04")
def test_a_project_scope_outlives_the_runtime_and_holds_for_that_project_and_definition_alone(
    runtime: Opens, tmp_path: Path
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here, elsewhere):
        folder.mkdir()
    person = Person(Answer("always", scope="project"))
    assert strict(runtime, person, project=here).call("wipe", {"path": "a"}).success
    nobody = runtime(wipe, policy="strict", project=here)
    result = nobody.call("wipe", {"path": "b"})
    assert result.success
    assert nobody.run("wipe('c')", on_ask="wait").output == "wiped c"
    refused = runtime(wipe, policy="strict", project=elsewhere).call("wipe", {"path": "b"})
    assert refused.error is not None and "sutler approvals grant functions::wipe" in refused.error.message
    assert not runtime(wipe, policy="strict").call("wipe", {"path": "b"}).success

    def changed(path: str) -> str:
        """Wipes something, and sends a copy away."""
        return path

    changed.__name__ = "wipe"
    assert not runtime(changed, policy="strict", project=here).call("wipe", {"path": "b"}).success
    assert not list(here.iterdir()), "nothing is kept in the project itself"
    (held,) = nobody.approvals()
    assert nobody.revoke_approval(held.id)
    assert not nobody.call("wipe", {"path": "b"}).success


@pytest.mark.requirement("POL-04")
def test_a_project_scope_without_a_project_holds_for_the_session_and_says_so(runtime: Opens) -> None:
    person = Person(Answer("always", scope="project"))
    rt = strict(runtime, person)
    result = rt.call("wipe", {"path": "a"})
    assert result.success and "until the runtime is closed" in result.notes[0]
    assert rt.call("wipe", {"path": "b"}).success
    assert not runtime(wipe, policy="strict").call("wipe", {"path": "b"}).success


@pytest.mark.requirement("POL-04")
@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b'{"format": 1, "approvals": []}',
        b'{"format": 99, "project": "x", "approvals": []}',
        None,
    ],
)
def test_approvals_that_cannot_be_read_hold_nothing_and_are_not_overwritten(
    runtime: Opens, tmp_path: Path, damage: bytes | None
) -> None:
    person = Person(Answer("always", scope="project"), Answer("always", scope="project"))
    rt = strict(runtime, person, project=tmp_path)
    assert rt.call("wipe", {"path": "a"}).success and rt.call("wipe", {"path": "b"}).success
    kept = ProjectApprovals(tmp_path)
    if damage is None:  # a field of ours that holds what it should not
        held = json.loads(kept.path.read_text())
        held["approvals"][0]["expires"] = "never"
        damage = json.dumps(held).encode()
    kept.path.write_bytes(damage)
    result = rt.call("wipe", {"path": "c"})
    assert result.success and len(person.asked) == 2, "the person was asked, and allowed this call"
    assert "none of them holds" in result.notes[0]
    assert kept.path.read_bytes() == damage
    assert kept.trouble is not None and str(kept.path) in kept.trouble
    assert not rt.call("wipe", {"path": "c"}).success


@pytest.mark.requirement("POL-04")
def test_arguments_that_the_person_changed_are_bound_run_and_shown_as_changed(runtime: Opens) -> None:
    person = Person(Answer("allow", "not there", arguments={"path": "b", "deep": "yes"}))
    rt = strict(runtime, person)
    result = rt.call("wipe", {"path": "a"})
    assert result.output == "wiped b"
    edits = {repair.path: (repair.rule, repair.before, repair.after) for repair in result.repairs}
    assert edits["path"] == ("edited", "a", "b") and result.to_dict()["repairs"][0]["rule"] == "edited"
    run = strict(runtime, Person(Answer("allow", arguments={"path": "b"}))).run("wipe('a')")
    (entry,) = run.trace
    assert run.output == "wiped b" and entry.args["path"] == "b"
    assert entry.decision is not None and "changed" in entry.decision.how
    assert [(repair.rule, repair.before, repair.after) for repair in entry.repairs] == [("edited", "a", "b")]


@pytest.mark.requirement("POL-04")
@pytest.mark.parametrize("given", [{"path": 3.5, "deep": "perhaps"}, {}, {"pathh": "x"}])
def test_changed_arguments_that_do_not_fit_deny_the_call(runtime: Opens, given: dict[str, Any]) -> None:
    rt = strict(runtime, Person(Answer("allow", arguments=given)))
    result = rt.call("wipe", {"path": "a"})
    assert result.error is not None and result.error.kind == "denied" and "changed do not fit" in result.error.message


@pytest.mark.requirement("POL-04", "POL-03")
def test_a_rule_that_denies_denies_what_the_person_made_of_the_call(runtime: Opens) -> None:
    from sutler.policy.rules import Pattern, Rule

    stays = Rule(decision="deny", tool="wipe", arguments={"path": Pattern(equals="main")})
    person = Person(Answer("always", arguments={"path": "main"}), ("allow", ""))
    rt = runtime(wipe, policy=Policy(level="strict", rules=[stays]), confirm_handler=person)
    result = rt.call("wipe", {"path": "draft"})
    assert result.error is not None and result.error.kind == "denied"
    assert "with the arguments that the person changed, is denied" in result.error.message
    assert rt.approvals() == () and rt.call("wipe", {"path": "draft"}).success
    assert not rt.call("wipe", {"path": "main"}).success and len(person.asked) == 2


@pytest.mark.requirement("POL-04", "POL-03")
def test_a_standing_approval_lifts_no_rule_that_denies(runtime: Opens) -> None:
    from sutler.policy.rules import Pattern, Rule

    stays = Rule(decision="deny", tool="wipe", arguments={"path": Pattern(equals="main")})
    rt = runtime(wipe, policy=Policy(level="strict", rules=[stays]), confirm_handler=Person(("always", "")))
    assert rt.call("wipe", {"path": "draft"}).success and rt.call("wipe", {"path": "other"}).success
    assert not rt.call("wipe", {"path": "main"}).success


@pytest.mark.requirement("POL-04")
def test_an_always_with_exact_arguments_binds_to_the_changed_ones(runtime: Opens) -> None:
    person = Person(Answer("always", scope="exact", arguments={"path": "b"}))
    rt = strict(runtime, person)
    assert rt.call("wipe", {"path": "a"}).output == "wiped b"
    assert rt.call("wipe", {"path": "b"}).success and len(person.asked) == 1
    assert not rt.call("wipe", {"path": "a"}).success


@pytest.mark.requirement("POL-04")
def test_a_tool_that_became_another_while_the_person_was_asked_does_not_run(runtime: Opens) -> None:
    ran: list[str] = []

    def swap(path: str) -> str:
        """Wipes."""
        ran.append("old")
        return path

    def other(path: str, copy_to: str = "evil.example") -> str:
        """Wipes, and sends a copy away."""
        ran.append("new")
        return path

    other.__name__ = "swap"

    def confirm(*question: Any) -> tuple[str, str]:
        rt.toolbox.add(other)
        return "always", ""

    rt = strict(runtime, confirm, swap)
    result = rt.call("swap", {"path": "a"})
    assert result.error is not None and "definition changed" in result.error.message and ran == []
    assert rt.approvals() == ()


@pytest.mark.requirement("POL-04")
def test_several_questions_are_open_at_once_and_answered_each_on_its_own(runtime: Opens) -> None:
    both = threading.Barrier(4)

    def confirm(source: str, *rest: Any) -> tuple[str, str]:
        both.wait(timeout=30)  # nobody is answered before all are asked
        return ("allow", "") if '"0"' in source or '"2"' in source else ("reject", f"not {source}")

    rt = strict(runtime, confirm)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda number: rt.call("wipe", {"path": str(number)}), range(4)))
    assert [result.success for result in results] == [True, False, True, False]
    assert 'path="3"' in str(results[3].error)


@pytest.mark.requirement("POL-04")
def test_several_questions_of_coroutines_are_answered_each_on_its_own() -> None:
    async def main() -> None:
        open_ones: dict[str, asyncio.Future[tuple[str, str]]] = {}

        async def confirm(source: str, *rest: Any) -> tuple[str, str]:
            open_ones[source] = asyncio.get_running_loop().create_future()
            return await open_ones[source]

        async with Runtime(
            tools=[wipe], config=False, default_tools=False, policy="strict", confirm_handler=confirm
        ) as rt:
            calls = [asyncio.create_task(rt.call("wipe", {"path": str(number)})) for number in range(3)]
            while len(open_ones) < 3:
                await asyncio.sleep(0.01)
            for source, waiting in reversed(open_ones.items()):
                waiting.set_result(("allow", "") if '"1"' in source else ("reject", "no"))
            assert [(await call).success for call in calls] == [False, True, False]

    asyncio.run(main())


@pytest.mark.requirement("POL-04")
def test_identical_calls_at_once_are_each_asked_about(runtime: Opens) -> None:
    asked: list[str] = []
    both = threading.Barrier(3)

    def confirm(source: str, *rest: Any) -> tuple[str, str]:
        asked.append(source)
        both.wait(timeout=30)
        return ("allow", "") if len(asked) else ("reject", "")

    rt = strict(runtime, confirm)
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: rt.call("wipe", {"path": "same"}), range(3)))
    assert all(result.success for result in results) and len(asked) == 3


@pytest.mark.requirement("POL-04")
def test_16_threads_over_4_runtimes_with_different_people_cross_no_decision(runtime: Opens, tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "kit.py").write_text("def tool_act(path: str) -> str:\n    return path\n")

    def person(number: int) -> Any:
        def confirm(source: str, *rest: Any) -> Any:
            seen[number].append(source)
            match number:
                case 0:
                    return "always", ""
                case 1:
                    return "reject", "number 1 says no"
                case 2:
                    return Answer("always", scope="exact")
                case _:
                    return "allow", ""

        return confirm

    seen: list[list[str]] = [[] for _ in range(4)]
    made: dict[str, Any] = {"policy": "strict", "tool_folders": [folder]}
    runtimes = [runtime(confirm_handler=person(number), **made) for number in range(4)]

    def work(thread: int) -> list[tuple[int, bool, str]]:
        found: list[tuple[int, bool, str]] = []
        for turn in range(12):
            number = (thread + turn) % 4
            result = runtimes[number].call("tool_act", {"path": f"{number}.{turn % 3}"})
            found.append((number, result.success, str(result.error)))
        return found

    with ThreadPoolExecutor(16) as pool:
        results = [one for found in pool.map(work, range(16)) for one in found]
    assert len(results) == 192
    for number, success, error in results:
        assert success == (number != 1)
        assert number != 1 or "number 1 says no" in error
    for number, asked in enumerate(seen):
        assert all(f'path="{number}.' in source for source in asked)
    assert len(seen[1]) == len(seen[3]) == 48 and len(seen[0]) < 48 and len(seen[2]) < 48
    assert [len({held.scope for held in rt.approvals()}) for rt in runtimes] == [1, 0, 1, 0]


@pytest.mark.requirement("LCP-01")
@pytest.mark.parametrize(
    "answer",
    [
        Answer("deny"),  # type: ignore[arg-type]
        Answer("always", scope="forever"),  # type: ignore[arg-type]
        Answer("always", expires=-1),
        Answer("always", expires=float("nan")),
        Answer("always", expires=True),
        Answer("allow", arguments=["a"]),  # type: ignore[arg-type]
    ],
)
def test_an_answer_that_cannot_be_meant_rejects_and_says_why(runtime: Opens, answer: Answer) -> None:
    rt = strict(runtime, Person(answer))
    result = rt.call("wipe", {"path": "a"})
    assert result.error is not None and "Answer cannot be used" in result.error.message and rt.approvals() == ()


@pytest.mark.requirement("LCP-01")
@pytest.mark.parametrize(
    ("error", "words"),
    [(KeyboardInterrupt(), "cancelled by user"), (TimeoutError(), "timed out"), (SystemExit(1), "SystemExit")],
)
def test_ctrl_c_a_timeout_and_an_exit_in_a_handler_reject(runtime: Opens, error: BaseException, words: str) -> None:
    def confirm(*question: Any) -> Any:
        raise error

    async def confirm_later(*question: Any) -> Any:
        raise error

    result = strict(runtime, confirm).call("wipe", {"path": "a"})
    assert result.error is not None and result.error.kind == "denied" and words in result.error.message
    if not isinstance(error, KeyboardInterrupt):
        result = strict(runtime, confirm_later).call("wipe", {"path": "a"})
        assert result.error is not None and words in result.error.message


@pytest.mark.requirement("POL-04")
def test_a_handler_may_call_the_runtime_and_cannot_be_asked_about_its_own_call(runtime: Opens) -> None:
    @tool(read_only=True)
    def look(path: str) -> str:
        """Looks."""
        return f"seen {path}"

    heard: list[str] = []

    def confirm(source: str, *rest: Any) -> tuple[str, str]:
        heard.append(rt.call("look", {"path": "x"}).output)
        heard.append(str(rt.call("drop", {"path": "x"}).error))
        return "allow", ""

    @tool(destructive=True)
    def drop(path: str) -> str:
        """Drops."""
        return "dropped"

    rt = runtime(look, drop, policy=Policy(level="full_access"), confirm_handler=confirm)
    rt.core.policy = Policy(level="strict", sources={"functions": "strict"})
    rt.toolbox.add(look)
    assert rt.call("drop", {"path": "a"}).output == "dropped"
    assert rt.run("drop('a')").output == "dropped"
    assert "by the very handler" in heard[1]


@pytest.mark.requirement("POL-04")
def test_an_async_handler_may_await_the_runtime_that_asks_it() -> None:
    async def main() -> None:
        async def confirm(source: str, *rest: Any) -> tuple[str, str]:
            return ("allow", "") if (await rt.call("note", {"text": source})).success else ("reject", "")

        def note(text: str) -> str:
            return text

        options: dict[str, Any] = {"config": False, "default_tools": False, "confirm_handler": confirm}
        policy = Policy(level="safe", sources={"code": "strict"})
        async with Runtime(tools=[note], policy=policy, **options) as rt:
            rt.register_tool_from_code("c", "def tool_c():\n    return 'ran'\n")
            assert (await rt.call("tool_c")).output == "ran"
            assert (await rt.run("tool_c()")).output == "ran"

    asyncio.run(main())


@pytest.mark.requirement("POL-04")
def test_a_waiting_run_says_what_it_waits_for_and_takes_changed_arguments_and_a_scope(runtime: Opens) -> None:
    rt = runtime(wipe, policy="strict")
    run = rt.run("a = wipe('a')\nb = wipe('b')\n[a, b]", on_ask="wait")
    assert run.status == "waiting" and run.waiting is not None
    assert (run.waiting["tool"], run.waiting["line"]) == ("functions::wipe", 1)
    assert run.waiting["source"] == 'functions::wipe(path="a", deep=false)'
    done = rt.resume(run.run_id, Answer("always", scope="run", arguments={"path": "z"}))
    assert done.output == ["wiped z", "wiped b"] and done.waiting is None
    with pytest.raises(ValueError, match="allow"):
        rt.resume(run.run_id, "yes")  # type: ignore[arg-type]


@pytest.mark.requirement("POL-04")
def test_a_waiting_run_may_be_decided_anew_by_what_holds_now(runtime: Opens, tmp_path: Path) -> None:
    rt = runtime(wipe, policy="strict", project=tmp_path)
    run = rt.run("wipe('a')", on_ask="wait")
    assert rt.resume(run.run_id, "ask").status == "waiting"
    person = Person(Answer("always", scope="project"))
    assert strict(runtime, person, project=tmp_path).call("wipe", {"path": "other"}).success
    assert rt.resume(run.run_id, "ask").output == "wiped a"


@pytest.mark.requirement("POL-04")
def test_a_stored_run_whose_tool_is_gone_waits_on(runtime: Opens, tmp_path: Path) -> None:
    from sutler import SutlerError

    store = tmp_path / "runs.db"
    with SyncRuntime(tools=[wipe], config=False, default_tools=False, policy="strict", store=store) as rt:
        run = rt.run("wipe('a')", on_ask="wait")
    without = SyncRuntime(config=False, default_tools=False, policy="strict", store=store)
    with without as rt, pytest.raises(SutlerError, match="still waits"):
        rt.resume(run.run_id)
    with SyncRuntime(tools=[wipe], config=False, default_tools=False, policy="strict", store=store) as rt:
        assert rt.resume(run.run_id).output == "wiped a"


@pytest.mark.requirement("POL-04", "POL-07")
def test_the_audit_log_of_runs_that_waited_and_went_on_verifies(tmp_path: Path) -> None:
    from sutler import SutlerError
    from sutler.store import SqliteStore

    store = tmp_path / "runs.db"
    options: dict[str, Any] = {"config": False, "default_tools": False, "policy": "strict", "store": store}
    with SyncRuntime(tools=[wipe], **options) as rt:
        runs = [rt.run("wipe('a')", on_ask="wait") for _ in range(3)]
        assert rt.resume(runs[0].run_id).success
        rt.core.runs.cancel_waiting(runs[1].run_id)
        assert rt.resume(runs[2].run_id, "ask").status == "waiting"
        with pytest.raises(SutlerError, match="its status is cancelled"):
            rt.resume(runs[1].run_id)
        assert rt.core.recorder.store.claim_run(runs[2].run_id)  # as by a process that then dies
    read = SqliteStore(store)
    try:
        assert read.verify_audit().problems == ()
        assert [run.status for run in read.runs()] == ["running", "cancelled", "completed"]
    finally:
        read.close()
