"""The manager of the sessions: start, tools, changes, calls, people, ends."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ClosedError, ToolNotFound, ToolTimeout, ToolUnavailable
from sutler.mcp import connection, server_task
from sutler.mcp.manager import ServerManager
from sutler.mcp.portal import Portal
from sutler.servers import ServerSpec, ToolOverride

from .conftest import Servers

ERAS = ["ok", "modern"]
ANSWER = {"colour": "blue"}


@pytest.mark.requirement("MCP-13")
@pytest.mark.parametrize(
    ("mode", "era", "spoken"),
    [
        ("ok", "auto", "legacy 2025-11-25"),
        ("modern", "auto", "modern 2026-07-28"),
        ("modern", "modern", "modern 2026-07-28"),
        ("ok", "legacy", "legacy 2025-11-25"),
        ("slow_modern", "auto", "modern 2026-07-28"),
    ],
)
def test_both_eras_are_spoken(servers: Servers, mode: str, era: str, spoken: str) -> None:
    manager = servers.one(mode, era=era)
    assert (manager.state("s").state, manager.state("s").era) == ("ready", spoken)
    assert manager.state("s").server == "faults 1"


@pytest.mark.requirement("MCP-13")
def test_a_slow_server_of_the_new_era_is_not_taken_for_an_old_one(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PROBE", 0.2)  # it answers after 0.5
    manager = servers.one("slow_modern")
    assert manager.state("s").era == "modern 2026-07-28"


@pytest.mark.requirement("MCP-13")
def test_an_era_that_the_config_demands_is_not_replaced_by_another(servers: Servers) -> None:
    manager = servers.one("ok", era="modern")
    assert 'era = "modern" is set, and it only speaks 2025-11-25' in manager.state("s").reason


@pytest.mark.requirement("MCP-03")
def test_a_start_does_not_wait_and_a_late_server_joins(servers: Servers) -> None:
    manager = servers.manager(servers.spec("a"), servers.spec("s", "slow_start"), wait=False)
    assert manager.wait(20, ["a"])
    assert (manager.version("s"), manager.tools("s")) == (0, [])
    servers.until(lambda: manager.version("s") == 1)
    assert len(manager.tools("s")) == 33
    assert "s" in servers.changed


@pytest.mark.requirement("MCP-03")
def test_waiting_for_the_servers_ends_with_its_time(servers: Servers) -> None:
    manager = servers.manager(servers.spec("a"), servers.spec("s", "hang"), wait=False)
    assert manager.wait(20, ["a"])
    assert manager.wait(0.05) is False


@pytest.mark.requirement("MCP-05")
def test_waiting_is_for_the_servers_that_were_started(servers: Servers) -> None:
    manager = servers.manager(servers.spec("a"), servers.spec("s", "hang"), start=False)
    manager.start("a")
    assert manager.wait(20)
    assert [state.state for state in manager.states()] == ["ready", "new"]


@pytest.mark.requirement("MCP-03")
def test_a_required_server_that_is_not_to_be_had_is_named(servers: Servers) -> None:
    manager = servers.manager(servers.spec("a", required=True), servers.spec("s", "exit", required=True))
    assert manager.missing() == ("s: its process ended with exit status 3: no such database",)


@pytest.mark.requirement("MCP-03", "MCP-04")
def test_a_server_that_fails_again_and_again_is_parked_and_a_call_tries_once_more(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_task, "BACKOFF", 0.01)
    manager = servers.one("exit+count")
    tries = servers.folder / "s.state"
    servers.until(lambda: manager.state("s").state == "parked")
    assert len(tries.read_text().split()) == server_task.FAILURES_TO_PARK
    with pytest.raises(ToolUnavailable, match=r"^s: its process ended with exit status 3: no such database; `sutler"):
        servers.call(manager, "echo")
    servers.until(lambda: manager.state("s").state == "parked")
    assert len(tries.read_text().split()) == server_task.FAILURES_TO_PARK + 1


@pytest.mark.requirement("MCP-03")
def test_a_missing_command_is_not_tried_again_by_itself(servers: Servers) -> None:
    manager = servers.manager(replace(servers.spec("s"), command="no-such-program"))
    assert manager.state("s").state == "parked"
    with pytest.raises(ToolUnavailable, match="'no-such-program' is not on the PATH"):
        servers.call(manager, "echo")


@pytest.mark.requirement("MCP-03", "MCP-05")
@pytest.mark.parametrize(
    ("more", "state", "said"),
    [
        ({"enabled": False}, "disabled", "enabled = false"),
        ({"unavailable": "the variable TOKEN is unset"}, "unavailable", "TOKEN is unset"),
    ],
)
def test_what_must_not_be_started_is_listed_with_its_reason_and_never_spawned(
    servers: Servers, more: dict[str, Any], state: str, said: str
) -> None:
    manager = servers.one("count", **more)
    assert (manager.state("s").state, manager.state("s").pid) == (state, None)
    with pytest.raises(ToolUnavailable, match=said):
        servers.call(manager, "echo")
    assert not (servers.folder / "s.state").exists()


# ---------------------------------------------------------------------- cache


@pytest.mark.requirement("MCP-05")
def test_a_warm_start_lists_the_tools_before_any_server_is_up_and_spawns_only_what_is_called(
    servers: Servers, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    specs = (servers.spec("a", "count"), servers.spec("b", "count"))
    assert servers.manager(*specs, cache_dir=cache).close() == ()
    for spec in specs:
        (servers.folder / f"{spec.id}.state").unlink()
    warm = servers.manager(*specs, cache_dir=cache, start=False)
    assert [tool.name for tool in warm.tools("a")][:2] == ["echo", "write"]
    assert all(tool.cached for tool in warm.tools("b"))
    assert servers.text(warm, "echo", "b", args={"x": 1}) == "1"
    assert not (servers.folder / "a.state").exists()
    assert (warm.version("b"), warm.state("b").cached) == (1, False)  # confirmed: the same tools
    assert warm.changes("b") == ()


@pytest.mark.requirement("MCP-05", "MCP-10")
def test_a_server_that_has_other_tools_than_remembered_changes_them_with_the_difference(
    servers: Servers, tmp_path: Path
) -> None:
    spec = servers.spec("s", "other_tools")
    servers.manager(spec, cache_dir=tmp_path / "cache").close()
    warm = servers.manager(spec, cache_dir=tmp_path / "cache")
    assert [tool.name for tool in warm.tools("s")] == ["echo", "new"]
    assert warm.version("s") == 2
    (change,) = warm.changes("s")
    assert change.added == ("new",)
    assert change.changed == ("echo",)
    assert len(change.removed) == 32
    assert str(change).startswith("added new; removed write, never")


@pytest.mark.requirement("MCP-13")
def test_the_era_is_remembered(servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PROBE", 0.2)
    spec = servers.spec("s", "silent")
    servers.manager(spec, cache_dir=tmp_path / "cache").close()
    (file,) = (tmp_path / "cache" / "mcp").iterdir()
    assert json.loads(file.read_bytes())["era"] == "legacy"
    warm = servers.manager(spec, cache_dir=tmp_path / "cache")
    assert [one["method"] for one in json.loads(servers.text(warm, "asked"))][:2] == ["initialize", "tools/list"]


@pytest.mark.requirement("MCP-05")
def test_the_cache_is_private_and_holds_no_argument_and_no_value(servers: Servers, tmp_path: Path) -> None:
    spec = servers.spec("s", env={"TOKEN": "s3cret-value"}, headers={"Authorization": "s3cret-header"})
    servers.manager(spec, cache_dir=tmp_path / "cache").close()
    (file,) = (tmp_path / "cache" / "mcp").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    held = file.read_text()
    assert "s3cret" not in held
    assert "stdio_server" not in held


@pytest.mark.requirement("MCP-05")
@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"format": 1}', '{"format": 1, "era": 7, "server": "", "tools": []}']
)
def test_a_damaged_cache_is_made_anew(servers: Servers, tmp_path: Path, damage: str) -> None:
    spec = servers.spec("s")
    servers.manager(spec, cache_dir=tmp_path / "cache").close()
    (file,) = (tmp_path / "cache" / "mcp").iterdir()
    file.write_text(damage)
    manager = servers.manager(spec, cache_dir=tmp_path / "cache")
    assert any("is damaged and is made anew" in note for note in manager.state("s").notes)
    assert manager.close() == ()
    assert len(json.loads(file.read_bytes())["tools"]) == 33


@pytest.mark.requirement("MCP-05")
def test_another_server_does_not_get_what_is_remembered(servers: Servers, tmp_path: Path) -> None:
    spec = servers.spec("s")
    servers.manager(spec, cache_dir=tmp_path / "cache").close()
    others = [
        replace(spec, args=(*spec.args, "more")),
        replace(spec, cwd=Path("/")),
        replace(spec, env={"A": "1"}),
        replace(spec, id="t"),
        ServerSpec(id="s", transport="http", url="http://127.0.0.1:1/mcp"),
    ]
    for other in others:
        assert servers.manager(other, cache_dir=tmp_path / "cache", start=False).version(other.id) == 0
    same = replace(spec, timeout=3, deny=("echo",))
    assert servers.manager(same, cache_dir=tmp_path / "cache", start=False).version("s") == 1


# ---------------------------------------------------------------------- changes


@pytest.mark.requirement("MCP-10")
@pytest.mark.parametrize("era", ERAS)
def test_a_server_that_says_that_its_tools_changed_is_asked_again(servers: Servers, era: str) -> None:
    manager = servers.one(era)
    servers.changed.clear()
    servers.call(manager, "add_tool")
    servers.until(lambda: servers.changed == ["s"])
    assert manager.version("s") == 2
    assert [str(change) for change in manager.changes("s")] == ["added extra0"]
    assert "extra0" in [tool.name for tool in manager.tools("s")]


@pytest.mark.requirement("MCP-10")
def test_a_storm_of_such_notices_is_few_questions(servers: Servers) -> None:
    manager = servers.one()
    servers.call(manager, "storm", args={"n": 3000})
    servers.call(manager, "add_tool")
    servers.until(lambda: manager.version("s") == 2)
    assert manager.state("s").restarts == 0


# ---------------------------------------------------------------------- calls


@pytest.mark.requirement("MCP-09")
@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_call_is_cancelled_on_the_server_once(servers: Servers, era: str) -> None:
    manager = servers.one(era)
    call = manager.portal.submit(manager.call("s", "nap", {"seconds": 0.3}))
    servers.call(manager, "seen")  # it is on its way then
    call.cancel()
    with pytest.raises(CancelledError):
        call.result()

    def cancelled() -> list[dict[str, Any]]:
        seen = json.loads(servers.text(manager, "seen"))
        return [one for one in seen if one["method"] == "notifications/cancelled"]

    servers.until(lambda: bool(cancelled()))
    servers.call(manager, "half_then_rest")  # and the late answer disturbs nobody
    (notice,) = cancelled()
    assert isinstance(notice["requestId"], int)
    assert manager.state("s").restarts == 0


@pytest.mark.requirement("MCP-09")
def test_a_start_that_is_given_up_sends_no_cancellation(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "PROBE", 0.2)
    manager = servers.one("silent")
    assert [one["method"] for one in json.loads(servers.text(manager, "seen"))] == ["notifications/initialized"]


@pytest.mark.requirement("MCP-09")
def test_the_time_of_a_call_is_its_own_then_the_tools_then_the_servers(servers: Servers) -> None:
    manager = servers.one(timeout=0.2, tools={"never": ToolOverride(timeout=0.1)})
    for tool, given, held in (("never", 0.05, "0.05"), ("never", None, "0.1"), ("nap", None, "0.2")):
        with pytest.raises(ToolTimeout, match=f"within {held} s"):
            servers.call(manager, tool, timeout=given)


@pytest.mark.requirement("MCP-09")
def test_waiting_for_the_server_and_for_a_place_counts(servers: Servers) -> None:
    manager = servers.manager(servers.spec("s", "hang"), servers.spec("one", concurrency=1), wait=False)
    assert manager.wait(20, ["one"])
    with pytest.raises(ToolTimeout, match=r"the server is not ready within 0.1 s"):
        servers.call(manager, "echo", timeout=0.1)
    busy = manager.portal.submit(manager.call("one", "nap", {"seconds": 1}))
    with pytest.raises(ToolTimeout, match=r"all 1 places of the server were taken within 0.1 s"):
        servers.call(manager, "echo", "one", timeout=0.1)
    busy.cancel()


@pytest.mark.requirement("MCP-04")
@pytest.mark.parametrize("era", ERAS)
def test_calls_at_the_same_time_get_their_own_answers_over_one_session(servers: Servers, era: str) -> None:
    manager = servers.manager(servers.spec("s", f"{era}+count", concurrency=50), start=False)

    def one(number: int) -> str:
        delay = (number * 7 % 20) / 200  # so that they are answered out of order
        return servers.text(manager, "echo", args={"x": number, "delay": delay})

    with ThreadPoolExecutor(25) as pool:
        assert list(pool.map(one, range(100))) == [str(number) for number in range(100)]
    assert len((servers.folder / "s.state").read_text().split()) == 1


@pytest.mark.requirement("MCP-04")
def test_the_places_of_a_server_bound_what_it_gets_at_once(servers: Servers) -> None:
    manager = servers.one(concurrency=2)
    running = [manager.portal.submit(manager.call("s", "never", {}, timeout=5)) for _ in range(2)]
    with pytest.raises(ToolTimeout, match="all 2 places"):
        servers.call(manager, "echo", timeout=0.2)
    for one in running:
        one.cancel()
    assert servers.text(manager, "echo", args={"x": 1}) == "1"


@pytest.mark.requirement("MCP-09")
@pytest.mark.parametrize("era", ERAS)
def test_progress_is_passed_on(servers: Servers, era: str) -> None:
    manager = servers.one(era)
    told: list[tuple[float, float | None, str | None]] = []
    servers.call(manager, "progress", progress=lambda *step: told.append(step))
    assert told == [(0.0, 3.0, "step 0"), (1.0, 3.0, "step 1"), (2.0, 3.0, "step 2")]


# ---------------------------------------------------------------------- people


@pytest.mark.requirement("MCP-14")
@pytest.mark.parametrize("era", ERAS)
def test_a_server_that_asks_gets_the_answer_of_the_person(servers: Servers, era: str) -> None:
    asked: list[dict[str, Any]] = []

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        return ANSWER

    async def later(request: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return ask(request)

    manager = servers.manager(servers.spec("s", era), ask=ask)
    for more in ({}, {"ask": later}):
        assert json.loads(servers.text(manager, "elicits", **more)) == {"action": "accept", "content": ANSWER}
    schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
    assert asked == [{"message": "Which?", "server": "s", "tool": "elicits", "schema": schema}] * 2


@pytest.mark.requirement("MCP-14")
@pytest.mark.parametrize("era", ERAS)
def test_a_server_that_asks_is_declined_at_once_when_there_is_nobody(servers: Servers, era: str) -> None:
    manager = servers.one(era)
    assert json.loads(servers.text(manager, "elicits")) == {"action": "decline"}
    assert json.loads(servers.text(manager, "elicits", ask=lambda _: None)) == {"action": "decline"}


@pytest.mark.requirement("MCP-14")
def test_an_answer_that_cannot_be_given_on_is_told(servers: Servers) -> None:
    manager = servers.one()

    def breaks(request: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("no terminal")

    for ask, said in ((breaks, "RuntimeError: no terminal"), (lambda _: {"x": {"deep": 1}}, "has no form it can take")):
        result = servers.call(manager, "elicits", ask=ask)
        assert json.loads(result.content[0]["text"]) == {"action": "cancel"}
        assert said in result.notes[0]


@pytest.mark.requirement("MCP-14")
@pytest.mark.parametrize("era", ERAS)
def test_the_time_of_a_person_is_not_the_time_of_a_call(servers: Servers, era: str) -> None:
    thinks = threading.Event()

    def ask(request: dict[str, Any]) -> dict[str, Any]:
        thinks.wait(1.2)
        return ANSWER

    manager = servers.one(era)
    assert json.loads(servers.text(manager, "elicits", ask=ask, timeout=1))["action"] == "accept"


# ---------------------------------------------------------------------- ends


@pytest.mark.requirement("MCP-04")
def test_servers_end_in_any_order_from_any_thread(servers: Servers) -> None:
    manager = servers.manager(*(servers.spec(one, "modern" if one == "b" else "ok") for one in "abc"))
    with ThreadPoolExecutor(3) as pool:
        for one in "acb":
            assert pool.submit(manager.stop, one).result() == ()
            assert manager.state(one).state == "stopped"
            with pytest.raises(ToolUnavailable, match="it is stopped"):
                servers.call(manager, "echo", one)
    assert servers.alive() == []


@pytest.mark.requirement("MCP-04")
def test_closing_ends_what_is_connecting_what_is_calling_and_what_ignores_its_end(servers: Servers) -> None:
    manager = servers.manager(servers.spec("a"), servers.spec("s", "hang"), servers.spec("i", "ignore_end"), wait=False)
    assert manager.wait(20, ["a", "i"])
    call = manager.portal.submit(manager.call("a", "never", {}))
    servers.call(manager, "seen", "a")  # it is on its way then
    assert manager.close() == ()
    with pytest.raises((ToolUnavailable, CancelledError)):
        call.result(5)
    assert servers.alive() == []
    with pytest.raises(ClosedError):
        manager.start()
    assert manager.close() == ()


@pytest.mark.requirement("MCP-04")
def test_waiting_on_the_loop_that_would_have_to_work_is_refused_at_once(servers: Servers) -> None:
    manager = servers.one()

    async def waits(end: Callable[[], object]) -> None:
        end()

    with pytest.raises(ClosedError, match="await it instead"):
        manager.portal.run(waits(lambda: manager.stop("s")))
    with pytest.raises(ClosedError, match="await aclose"):
        manager.portal.run(waits(manager.close))
    assert servers.text(manager, "echo", args={"x": 1}) == "1"


def test_a_shared_portal_outlives_its_manager(servers: Servers) -> None:
    portal = Portal()
    manager = servers.manager(servers.spec("s"), portal=portal)

    async def on_it() -> tuple[str, ...]:
        assert await manager.settled(5)
        return await manager.aclose()

    assert portal.run(on_it()) == ()
    assert portal.run(asyncio.sleep(0, "alive")) == "alive"
    assert portal.close() == ()


def test_a_forked_child_is_refused(servers: Servers) -> None:
    manager = servers.one()
    manager._pid = os.getppid()  # what a fork would leave  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ClosedError, match="forked"):
        servers.call(manager, "echo")
    manager._pid = os.getpid()  # pyright: ignore[reportPrivateUsage]


def test_an_unknown_server_is_named_with_the_closest() -> None:
    manager = ServerManager([ServerSpec(id="files", command="x")])
    with pytest.raises(ToolNotFound, match="no server 'filse'; did you mean 'files'"):
        manager.tools("filse")


def test_no_secret_stands_in_what_is_told(servers: Servers) -> None:
    secret = "no such database"  # what the server writes when it exits
    manager = servers.one("exit", secrets=frozenset({secret}))
    state = manager.state("s")
    assert secret not in str(state)
    with pytest.raises(ToolUnavailable) as failed:
        servers.call(manager, "echo")
    assert secret not in str(failed.value)


@pytest.mark.requirement("MCP-15")
def test_without_the_mcp_package_every_server_is_listed_with_the_reason_and_nothing_is_imported() -> None:
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("mcp", "mcp_types", "httpx2", "anyio"):
            raise ModuleNotFoundError(name)
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "mcp" else found(name, package)
sys.meta_path.insert(0, Absent())
from sutler.mcp.manager import ServerManager
from sutler.mcp.source import McpToolSource
from sutler.servers import ServerSpec
spec = ServerSpec(id="s", command="true")
manager = ServerManager([spec])
manager.start()
assert manager.wait(5)
(state,) = manager.states()
print(state.state, state.reason, manager.tools("s"), McpToolSource(manager, spec).available(), manager.close())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "unavailable the mcp package is not installed: pip install 'sutler[mcp]' [] False ()"
    )


@pytest.mark.requirement("MCP-15")
def test_an_mcp_package_that_cannot_be_used_is_the_reason(servers: Servers) -> None:
    program = f"""
import sys
sys.modules["mcp.client.subscriptions"] = None
from sutler.mcp.manager import ServerManager
from sutler.servers import ServerSpec
manager = ServerManager([ServerSpec(id="s", command="cat", args=({str(servers.folder)!r},))])
manager.start()
assert manager.wait(60)
(state,) = manager.states()
print(state.state, state.reason, manager.close())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("parked the mcp package cannot be used: ")


def test_a_call_from_another_loop_is_refused(servers: Servers) -> None:
    manager = servers.one()
    with pytest.raises(RuntimeError, match="on the portal's loop"):
        asyncio.run(manager.call("s", "echo", {}))


@pytest.mark.requirement("MCP-15")
def test_the_sdk_is_imported_when_a_server_is_reached_and_not_before() -> None:
    program = """
import sys
import sutler, sutler.mcp.manager, sutler.mcp.source
from sutler.mcp.manager import ServerManager
from sutler.servers import ServerSpec
ServerManager([ServerSpec(id="s", command="true")]).tools("s")
print([name for name in ("mcp", "mcp_types", "httpx2", "anyio") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
