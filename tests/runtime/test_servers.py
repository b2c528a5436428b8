"""MCP servers through the whole runtime: listed, called, composed in programs, from wherever the caller is."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler import Grade, Runtime, SyncRuntime

FAULTS = Path(__file__).parent.parent / "faults" / "stdio_server.py"

Open = Callable[..., SyncRuntime]


def config(folder: Path, **modes: str) -> Path:
    """A sutler.toml with one server per keyword; the value is its mode."""
    lines: list[str] = []
    for name, mode in modes.items():
        lines += [f"[mcp_servers.{name}]", f"command = {sys.executable!r}", f"args = [{str(FAULTS)!r}, {mode!r}]"]
    file = folder / "sutler.toml"
    file.write_text("\n".join(lines))
    return file


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    monkeypatch.setenv("SUTLER_CACHE_DIR", str(tmp_path / "cache"))
    runtimes: list[SyncRuntime] = []

    def open_runtime(modes: dict[str, str], **options: Any) -> SyncRuntime:
        file = config(tmp_path, **modes)
        rt = SyncRuntime(config=file, default_tools=False, plugins=False, **options).open()
        runtimes.append(rt)
        rt.ready(20)
        return rt

    yield open_runtime
    for rt in runtimes:
        assert rt.close() == ()


@pytest.mark.requirement("MCP-06", "MCP-16", "MCP-07")
def test_a_servers_tools_are_tools_like_any_other(opened: Open) -> None:
    rt = opened({"odd": "ok"})
    specs = {spec.name: spec for spec in rt.tools()}
    echo = specs["echo"]
    assert (echo.origin.source, echo.origin.kind, echo.origin.trust) == ("odd", "mcp", "mcp")
    assert (echo.grade, echo.grade_from) == (Grade(1, 0), "hints") and echo.meta["provenance"] == "own"
    assert rt.call("echo", {"x": [1, {"a": None}]}).success
    assert rt.call("odd::echo", {"x": 1}).success
    refused = rt.call("write")
    assert refused.error is not None and refused.error.kind == "denied"


@pytest.mark.requirement("MCP-12", "PRG-02")
def test_a_sync_tool_and_a_program_inside_it_call_a_servers_tool_without_deadlock(opened: Open) -> None:
    held: list[SyncRuntime] = []

    def outer(tool_context: Any = None) -> Any:
        direct = tool_context.call_tool("odd::echo", {"x": 1})["success"]
        inner = held[0].run("echo(x=2)\n'ran'")
        return [direct, inner.output]

    rt = opened({"odd": "ok"}, tools=[outer])
    held.append(rt)
    assert rt.call("outer").output == [True, "ran"]
    assert rt.run("outer()").output == [True, "ran"]


@pytest.mark.requirement("PRG-02", "PRG-08")
def test_programs_call_servers_from_threads_and_loops_side_by_side(opened: Open, tmp_path: Path) -> None:
    rt = opened({"odd": "ok"})
    outputs: list[Any] = []

    def work(number: int) -> None:
        outputs.append(rt.run(f"[echo(x=n) for n in range({number})]\n{number}").output)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outputs) == [1, 2, 3, 4, 5, 6]

    async def main() -> None:
        async with Runtime(config=tmp_path / "sutler.toml", default_tools=False) as other:
            await other.ready(20)
            runs = await asyncio.gather(*(other.run("echo(x=1)\n'ok'") for _ in range(8)))
            assert [run.output for run in runs] == ["ok"] * 8
            calls = await asyncio.gather(*(other.call("echo", {"x": n}) for n in range(20)))
            assert all(call.success for call in calls)

    asyncio.run(main())


@pytest.mark.requirement("MCP-09", "PRG-12")
def test_a_call_without_answer_ends_at_its_deadline_and_a_cancelled_run_cancels_it(opened: Open) -> None:
    rt = opened({"odd": "ok"}, limits={"call_seconds": 0.6})
    late = rt.call("never")
    assert late.error is not None and late.error.kind == "timeout"
    assert rt.call("echo", {"x": 1}).success
    caught = rt.run("try:\n    never()\nexcept TimeoutError:\n    outcome = 'late'\noutcome")
    assert caught.output == "late"
    slow = opened({"odd": "ok"})
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(slow.run("never()", run_id="r")))
    thread.start()
    time.sleep(0.5)
    assert slow.cancel("r")
    thread.join(10)
    assert done[0].status == "cancelled"
    assert slow.call("echo", {"x": 2}).success


@pytest.mark.requirement("MCP-09", "PRG-02")
def test_a_call_on_the_loop_of_the_sessions_ends_like_any_other(opened: Open, tmp_path: Path) -> None:
    opened({"odd": "ok"})

    async def begun(rt: Runtime, seen: int) -> None:
        while sum(1 for one in rt.core.calls._flying_now() if one.name == "never") != seen:
            await asyncio.sleep(0.01)

    async def calls(rt: Runtime) -> list[Any]:
        answered = await rt.call("echo", {"x": 1})
        late = await rt.call("never")
        given_up = asyncio.ensure_future(rt.call("never"))
        await begun(rt, 1)
        given_up.cancel()
        ended = await asyncio.gather(given_up, return_exceptions=True)
        return [answered, late, *ended, await rt.call("echo", {"x": 2})]

    async def left(rt: Runtime) -> Any:
        return await rt.call("never")

    async def main() -> None:
        file = tmp_path / "sutler.toml"
        async with Runtime(config=file, default_tools=False, limits={"call_seconds": 0.5}) as rt:
            await rt.ready(20)
            portal = rt.core.servers.manager.portal
            answered, late, cancelled, again = await asyncio.wrap_future(portal.submit(calls(rt)))
            assert answered.output == "1" and again.output == "2"
            assert late.error.kind == "timeout" and "within 0.5 s" in late.error.message
            assert isinstance(cancelled, asyncio.CancelledError)
        async with Runtime(config=file, default_tools=False) as rt:
            await rt.ready(20)
            waiting = rt.core.servers.manager.portal.submit(left(rt))
            await begun(rt, 1)
        closed = await asyncio.wrap_future(waiting)
        assert not closed.success

    asyncio.run(main())


@pytest.mark.requirement("MCP-03", "SRC-10")
def test_a_server_that_cannot_start_is_listed_with_its_reason_and_the_rest_works(opened: Open) -> None:
    rt = opened({"good": "ok", "gone": "exit"})
    assert "echo" in {spec.name for spec in rt.tools()}
    reasons = dict(rt.inventory().unavailable)
    assert reasons.get("gone")
    missing = rt.call("gone::echo", {"x": 1})
    assert missing.error is not None and missing.error.kind in ("not_found", "unavailable")


@pytest.mark.requirement("MCP-04")
def test_a_server_that_dies_in_a_call_serves_the_next_one(opened: Open) -> None:
    rt = opened({"odd": "ok"}, policy="full_access")
    died = rt.call("die")
    assert died.error is not None and died.error.kind in ("unavailable", "crashed")
    began = time.monotonic()
    assert rt.call("echo", {"x": 1}).success
    assert time.monotonic() - began < 5


@pytest.mark.requirement("MCP-10")
def test_a_new_tool_is_there_for_the_next_run_and_a_run_keeps_its_own(opened: Open) -> None:
    rt = opened({"odd": "ok"}, policy="full_access")
    before = {spec.name for spec in rt.tools()}
    assert rt.run("add_tool()\n'asked'").output == "asked"
    for _ in range(100):
        if {spec.name for spec in rt.tools()} != before:
            break
        time.sleep(0.05)
    assert {spec.name for spec in rt.tools()} > before
    assert any(change.added for change in rt.core.servers.manager.changes("odd"))


@pytest.mark.requirement("MCP-05")
def test_a_warm_start_lists_tools_from_before_and_starts_nothing_until_a_call(opened: Open, tmp_path: Path) -> None:
    opened({"odd": "ok"}).close()
    with SyncRuntime(config=tmp_path / "sutler.toml", default_tools=False, lazy_servers=True) as rt:
        assert "echo" in {spec.name for spec in rt.tools()}
        (state,) = rt.core.servers.manager.states()
        assert state.pid is None and state.cached
        assert rt.call("echo", {"x": 1}).success
        (state,) = rt.core.servers.manager.states()
        assert state.pid is not None and state.state == "ready"


@pytest.mark.requirement("MCP-15")
def test_without_servers_nothing_of_the_protocol_is_loaded() -> None:
    import subprocess

    code = (
        "import sys\nfrom sutler import SyncRuntime\n"
        "with SyncRuntime(config=False) as rt:\n    rt.run('1')\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('mcp', 'mcp_types', 'httpx2', 'anyio')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.requirement("MCP-14")
def test_a_servers_form_becomes_the_questions_of_the_interaction_handler() -> None:
    from sutler.runtime.elicitation import ask_person

    asked: list[dict[str, Any]] = []
    replies = iter(["Ada", "yes", "blue", "3"])

    def person(request: dict[str, Any]) -> str:
        asked.append(request)
        return next(replies)

    form = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Your name"},
            "sure": {"type": "boolean"},
            "colour": {"type": "string", "enum": ["red", "blue"]},
            "count": {"type": "integer", "default": 1},
        },
        "required": ["name"],
    }
    with SyncRuntime(config=False, default_tools=False, user_interaction_handler=person) as rt:
        answers = ask_person(rt.core, None, {"message": "Who?", "schema": form})
    assert answers == {"name": "Ada", "sure": True, "colour": "blue", "count": 3}
    assert [request["type"] for request in asked] == ["text", "select", "select", "text"]
    assert asked[0]["title"] == "Who?" and asked[0]["prompt"] == "Your name" and asked[3]["default"] == "1"
    with SyncRuntime(config=False, default_tools=False) as rt:
        assert ask_person(rt.core, None, {"message": "Who?", "schema": form}) is None
