"""Asking the person: what is asked is what runs, and nobody to ask means no."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler import Policy, Rule, Runtime, SyncRuntime, tool

ran: list[dict[str, Any]] = []


def wipe(path: str, deep: bool = False, parts: list[str] | None = None) -> str:
    """Wipes something."""
    ran.append({"path": path, "deep": deep, "parts": parts})
    return f"wiped {path}"


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    ran.clear()
    yield


def test_nobody_to_ask_denies_and_says_what_would_allow(runtime: Any) -> None:
    result = runtime(wipe, policy="strict").call("wipe", {"path": "a"})
    assert result.error is not None and result.error.kind == "denied"
    assert "confirm_handler" in result.error.message and "full_access" in result.error.message
    assert ran == []


def test_the_handler_sees_the_effective_arguments_and_the_level(runtime: Any) -> None:
    asked: list[tuple[Any, ...]] = []

    def confirm(*question: Any) -> tuple[str, str]:
        asked.append(question)
        return "allow", ""

    rt = runtime(wipe, policy="strict", confirm_handler=confirm)
    assert rt.call("wipe", {"path": "a", "deep": "yes"}).success
    source, label, argv = asked[0]
    assert source == 'functions::wipe(path="a", deep=true, parts=null)' and "STRICT" in label and argv is None
    assert ran == [{"path": "a", "deep": True, "parts": None}]


@pytest.mark.parametrize(
    "answer", [None, True, "allow", ("yes", ""), ("allow",), ("allow", "", ""), 42, ("deny", ""), ("reject", "no")]
)
def test_only_a_clear_allow_allows(runtime: Any, answer: Any) -> None:
    rt = runtime(wipe, policy="strict", confirm_handler=lambda *question: answer)
    result = rt.call("wipe", {"path": "a"})
    assert result.error is not None and result.error.kind == "denied" and ran == []
    if answer == ("reject", "no"):
        assert "no" in result.error.message


def test_a_handler_that_fails_rejects(runtime: Any) -> None:
    def confirm(*question: Any) -> Any:
        raise OSError("the window is gone")

    result = runtime(wipe, policy="strict", confirm_handler=confirm).call("wipe", {"path": "a"})
    assert result.error is not None and "the window is gone" in result.error.message and ran == []


def test_always_holds_for_this_definition_in_this_runtime_only(runtime: Any) -> None:
    asked: list[str] = []

    def confirm(source: str, *rest: Any) -> tuple[str, str]:
        asked.append(source)
        return "always", ""

    rt = runtime(wipe, policy="strict", confirm_handler=confirm)
    assert rt.call("wipe", {"path": "a"}).success and rt.call("wipe", {"path": "b"}).success
    assert len(asked) == 1
    other = runtime(wipe, policy="strict")
    assert other.call("wipe", {"path": "a"}).error.kind == "denied"

    def changed(path: str) -> str:
        """Wipes something else."""
        return path

    rt.toolbox.add(changed)
    assert rt.call("changed", {"path": "a"}).success and len(asked) == 2


def test_what_runs_is_what_was_asked_about_whatever_the_caller_does_meanwhile(runtime: Any) -> None:
    arguments: dict[str, Any] = {"path": "a", "parts": ["one"]}

    def confirm(*question: Any) -> tuple[str, str]:
        arguments["path"] = "/etc"
        arguments["parts"].append("two")
        return "allow", ""

    assert runtime(wipe, policy="strict", confirm_handler=confirm).call("wipe", arguments).success
    assert ran == [{"path": "a", "deep": False, "parts": ["one"]}]


def test_an_async_handler_is_awaited_and_a_slow_sync_one_never_holds_the_loop() -> None:
    async def confirm(*question: Any) -> tuple[str, str]:
        await asyncio.sleep(0.01)
        return "allow", ""

    def slow(*question: Any) -> tuple[str, str]:
        time.sleep(0.4)
        return "allow", ""

    async def main() -> None:
        options: dict[str, Any] = {"config": False, "default_tools": False, "policy": "strict"}
        async with Runtime(tools=[wipe], confirm_handler=confirm, **options) as rt:
            assert (await rt.call("wipe", {"path": "a"})).success
            assert (await rt.run("wipe('b')")).output == "wiped b"
        async with Runtime(tools=[wipe], confirm_handler=slow, **options) as rt:
            waiting = asyncio.create_task(rt.call("wipe", {"path": "c"}))
            ticks = 0
            while not waiting.done():
                await asyncio.sleep(0.01)
                ticks += 1
            assert ticks > 10 and (await waiting).success

    asyncio.run(main())


def test_a_denial_inside_a_program_is_caught_or_ends_the_run(runtime: Any) -> None:
    rt = runtime(wipe, policy="strict")
    caught = rt.run("try:\n    wipe('a')\nexcept PermissionError as error:\n    seen = 'denied'\nseen")
    assert caught.output == "denied"
    ended = rt.run("wipe('a')")
    assert ended.status == "failed" and ended.error is not None and ended.error.type == "PermissionError"


def test_a_run_that_waits_is_stored_and_goes_on_in_another_runtime(tmp_path: Path) -> None:
    options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False, "policy": "strict"}
    store = tmp_path / "runs.db"
    text = "a = 1\nb = wipe(path='x')\nc = wipe(path='y')\nprint('end')\n(a, b, c)"
    with SyncRuntime(tools=[wipe], store=store, **options) as rt:
        run = rt.run(text, on_ask="wait")
        assert run.status == "waiting" and ran == [] and rt.core.threads.stats().busy == 0
    with SyncRuntime(tools=[wipe], store=store, **options) as rt:
        again = rt.resume(run.run_id)
        assert again.status == "waiting" and [one["path"] for one in ran] == ["x"]
    with SyncRuntime(tools=[wipe], store=store, **options) as rt:
        done = rt.resume(run.run_id)
        assert done.status == "completed" and done.output == [1, "wiped x", "wiped y"] and done.stdout == "end\n"
        assert [(entry.step, entry.tool, entry.success) for entry in done.trace] == [
            (1, "wipe", True),
            (2, "wipe", True),
        ]
        assert [one["path"] for one in ran] == ["x", "y"]


def test_a_rejected_waiting_call_raises_in_the_program(runtime: Any) -> None:
    rt = runtime(wipe, policy="strict")
    run = rt.run("try:\n    wipe('a')\nexcept PermissionError as error:\n    seen = str(error)\nseen", on_ask="wait")
    done = rt.resume(run.run_id, "reject", reason="not today")
    assert done.status == "completed" and "not today" in done.output and ran == []


def test_a_stored_run_does_not_call_a_tool_that_changed_since(tmp_path: Path) -> None:
    options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False, "policy": "strict"}
    store = tmp_path / "runs.db"
    with SyncRuntime(tools=[wipe], store=store, **options) as rt:
        run = rt.run("wipe('a')", on_ask="wait")

    def changed(path: str) -> str:
        """Wipes, and also sends a copy away."""
        ran.append({"path": path})
        return path

    changed.__name__ = "wipe"
    with SyncRuntime(tools=[changed], store=store, **options) as rt:
        done = rt.resume(run.run_id)
        assert done.status == "failed" and "not what it was" in str(done.error) and ran == []


def test_a_stored_program_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    import sqlite3

    from sutler.errors import SutlerError

    options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False, "policy": "strict"}
    store = tmp_path / "runs.db"
    with SyncRuntime(tools=[wipe], store=store, **options) as rt:
        run = rt.run("wipe('a')", on_ask="wait")
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE runs SET program = 'wipe(''b'')'")
    connection.close()
    with SyncRuntime(tools=[wipe], store=store, **options) as rt, pytest.raises(SutlerError, match="not as it was"):
        rt.resume(run.run_id)
    assert ran == []


@pytest.mark.requirement("POL-04", "RUN-05")
def test_a_yes_is_for_the_call_that_was_shown_whatever_has_become_of_its_parameters_order(tmp_path: Path) -> None:
    """Their order is no part of a tool's digest, and a program gives arguments by position."""
    ran: list[tuple[str, str]] = []

    @tool(name="copy", destructive=True)
    def copied(src: str = "", dst: str = "") -> str:
        ran.append((src, dst))
        return "done"

    @tool(name="copy", destructive=True)
    def turned(dst: str = "", src: str = "") -> str:
        ran.append((src, dst))
        return "done"

    base: dict[str, Any] = {"config": False, "default_tools": False, "store": tmp_path / "runs.db"}
    with SyncRuntime(tools=[copied], policy="strict", **base) as rt:
        first, second = (rt.run("copy('a', 'b')", on_ask="wait").run_id for _ in range(2))
    with SyncRuntime(tools=[turned], policy="strict", **base) as rt:
        resumed = rt.resume(first)
        assert not ran and "its parameters have changed" in str(resumed.error)
    with SyncRuntime(tools=[copied], policy=Policy(rules=[Rule(decision="ask")]), **base) as rt:
        assert rt.resume(second).output == "done"  # another level is no other call
    assert ran == [("a", "b")]


@pytest.mark.requirement("POL-04")
def test_a_stored_question_with_a_secret_in_it_is_answered_in_another_process_of_the_host(tmp_path: Path) -> None:
    @tool(destructive=True)
    def login(user: str, password: str) -> str:
        return f"{user} {len(password)}"

    base: dict[str, Any] = {"config": False, "default_tools": False, "store": tmp_path / "runs.db"}
    with SyncRuntime(tools=[login], policy="strict", **base) as rt:
        run = rt.run("login('tulips-7 fan', word)", params={"word": "tulips-7"}, on_ask="wait")
        assert run.status == "waiting"
    with SyncRuntime(tools=[login], policy="strict", **base) as rt:
        assert rt.resume(run.run_id).output == "tulips-7 fan 8"
