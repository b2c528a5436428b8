"""A server that did not answer the last time is tried again, and not waited for again, until it answers."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sutler import SyncRuntime
from sutler.cli.findings_servers import of_servers
from sutler.mcp import misses, server_task
from sutler.mcp.misses import Misses
from sutler.runtime import servers as runtime_servers
from sutler.servers import ServerSpec

from .conftest import SERVER, Servers

SECRET = "sk-live-0123456789abcdef"


def while_(flag: Path, folder: Path, **more: object) -> ServerSpec:
    """A server that hangs for as long as there is this file."""
    script = f'if [ -e "{flag}" ]; then exec sleep 60; fi; exec "{sys.executable}" -S -E "{SERVER}" ok "{folder}/state"'
    return ServerSpec(id="s", command="sh", args=("-c", script), cwd=folder, **more)  # type: ignore[arg-type]


@pytest.fixture
def flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(server_task, "_FAIR", 0.2)
    flag = tmp_path / "hangs"
    flag.touch()
    return flag


@pytest.mark.requirement("MCP-03", "MCP-05")
def test_a_server_that_hung_is_known_to_with_its_reason_until_it_answers(servers: Servers, flag: Path) -> None:
    cache = servers.folder / "cache"
    spec = while_(flag, servers.folder, connect_timeout=0.4)
    first = servers.manager(spec, cache_dir=cache)
    assert not first.silent("s", 60) and first.silent("s", 0.3)
    first.close()

    again = servers.manager(spec, cache_dir=cache, start=False)
    assert again.silent("s", 0.3)
    state = again.state("s")
    assert state.state == "new" and "did not answer within 0.4 s" in state.reason and "last tried 20" in state.reason

    flag.unlink()
    again.start()
    servers.until(lambda: again.state("s").state == "ready")
    assert not again.silent("s", 0) and again.state("s").reason == ""
    again.close()
    assert not list((cache / "mcp").glob("*.miss.json"))
    assert not servers.manager(spec, cache_dir=cache, start=False).silent("s", 0)


@pytest.mark.requirement("MCP-03")
def test_a_program_that_ends_while_it_still_waits_remembers_that_too(servers: Servers, flag: Path) -> None:
    cache = servers.folder / "cache"
    spec = while_(flag, servers.folder)
    quick = servers.manager(spec, cache_dir=cache, wait=False)
    servers.until(lambda: quick.state("s").state == "connecting")
    time.sleep(0.3)
    quick.close()
    later = servers.manager(spec, cache_dir=cache, start=False)
    assert later.silent("s", 0.2) and "it had not answered" in later.state("s").reason


def test_a_failure_that_comes_at_once_holds_nobody_up_and_is_waited_for_again(servers: Servers) -> None:
    cache = servers.folder / "cache"
    servers.manager(ServerSpec(id="s", command="no-such-program", cwd=servers.folder), cache_dir=cache).close()
    assert not (cache / "mcp").exists() or not list((cache / "mcp").glob("*.miss.json"))


@pytest.mark.requirement("MCP-02", "MCP-03")
def test_what_is_remembered_is_forgotten_with_the_servers_settings_and_holds_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    monkeypatch.setenv("NAMED", SECRET)
    stdio = ServerSpec(id="s", command=str(program), args=("a",), env={"KEY": SECRET}, env_vars=("NAMED",))
    http = ServerSpec(id="h", transport="http", url="http://localhost/mcp", headers={"X-Key": SECRET})
    held = Misses(tmp_path)
    for spec in (stdio, http):
        held.note(spec, "it hangs", 2.0)
        assert str(held.of(spec)).endswith(": it hangs")
    for changed in (
        replace(stdio, command="other"),
        replace(stdio, args=("b",)),
        replace(stdio, env={"KEY": "another"}),
        replace(stdio, env={}),
        replace(http, url="http://localhost/other"),
        replace(http, headers={"X-Key": "another"}),
    ):
        assert held.of(changed) is None
    for file in (tmp_path / "mcp").iterdir():
        assert SECRET not in file.read_text() and file.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("NAMED", "another")
    assert held.of(stdio) is None
    monkeypatch.setenv("NAMED", SECRET)
    assert held.of(stdio) is not None
    program.touch()
    assert held.of(stdio) is None
    monkeypatch.setattr(misses, "HOLDS", 0.0)
    assert held.of(http) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}', '{"format": 1, "reason": 1, "at": "x"}'])
def test_a_damaged_memory_is_none(tmp_path: Path, text: str) -> None:
    spec, held = ServerSpec(id="s", command="x"), Misses(tmp_path)
    held.note(spec, "it hangs", 2.0)
    (file,) = (tmp_path / "mcp").iterdir()
    file.write_text(text)
    assert held.of(spec) is None


@pytest.mark.requirement("MCP-03")
def test_a_start_does_not_wait_for_it_again_and_doctor_says_why_it_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUTLER_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "sutler.toml"
    command = [sys.executable, "-S", "-E", str(SERVER), "hang"]
    file.write_text(f"[mcp_servers.hangs]\ncommand = {command[0]!r}\nargs = {json.dumps(command[1:])}\n")
    with SyncRuntime(config=file, default_tools=False, plugins=False):
        pass
    monkeypatch.setattr(runtime_servers, "FIRST_LOOK", 600.0)  # whoever waits now waits until the test is ended
    with SyncRuntime(config=file, default_tools=False, plugins=False, lazy_servers=True) as rt:
        assert rt.core.servers is not None
        assert rt.core.servers.manager.state("hangs").state in ("new", "connecting")  # tried all the same
        ((server, reason),) = rt.inventory().unavailable
        assert server == "hangs" and "it had not answered after" in reason
        assert any("last tried" in finding.said for finding in of_servers(rt))
        servers_started = rt.core.servers.manager.wait(0.0)
        assert not servers_started
