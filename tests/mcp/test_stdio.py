"""A server's process: lines whatever they hold, an environment that is told, and an end that leaves nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sutler.mcp.states import last_words
from sutler.mcp.stdio import Child, Framer, Tail, TooLong, environment
from sutler.servers import ServerSpec

from .conftest import SERVER, Servers


def test_lines_are_the_same_however_the_bytes_are_cut() -> None:
    text = b"one\n\ntwo\r\n" + b"x" * 5000 + b"\nhalf"
    for size in (1, 3, 1000, len(text)):
        framer = Framer()
        lines = [line for at in range(0, len(text), size) for line in framer.feed(text[at : at + size])]
        assert lines == [b"one", b"", b"two\r", b"x" * 5000]
        assert framer.rest() == b"half"


@pytest.mark.requirement("MCP-04")
def test_a_line_over_the_cap_comes_out_as_its_ends_and_the_next_line_is_whole() -> None:
    framer = Framer(cap=100)
    found = [line for part in (b'{"id":7,', b"y" * 90, b"z" * 90 + b"}", b"\nnext\n") for line in framer.feed(part)]
    long, following = found
    assert isinstance(long, TooLong)
    assert (long.head[:8], long.tail[-2:], long.size) == (b'{"id":7,', b"z}", 189)
    assert following == b"next"


def test_only_the_last_of_a_flood_on_stderr_is_kept() -> None:
    tail = Tail(most=100)
    for number in range(10_000):
        tail.add(b"%d\r" % number)
    assert tail.text().endswith("9998\n9999")
    assert len(tail.text()) <= 100
    tail.add(b"e" * 100_000)
    assert tail.text() == "e" * 100


@pytest.mark.requirement("MCP-11")
@pytest.mark.parametrize("configured", [{}, {"A": "1"}])
def test_a_server_gets_an_allow_list_of_variables_what_it_names_and_what_it_configures(
    configured: dict[str, str],
) -> None:
    held = {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "X_API_KEY": "1", "NAMED": "2", "SHELL": "() { :; }"}
    spec = ServerSpec(id="s", command="x", env=configured, env_vars=("NAMED", "UNSET"))
    assert environment(spec, held) == {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "NAMED": "2"} | configured


@pytest.mark.requirement("MCP-11")
def test_the_process_has_exactly_that_environment_and_its_configured_cwd(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("X_API_KEY", "1")
    manager = servers.one(env={"A": "1"})
    seen = json.loads(servers.text(manager, "env"))
    assert seen.pop("cwd now") == str(servers.folder)
    assert seen == environment(ServerSpec(id="s", command="x", env={"A": "1"}))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"command": "no-such-program"}, "not on the PATH"),
        ({"command": "./absent"}, "cannot be run in"),
        ({"cwd": Path("/no/such/folder")}, "its cwd /no/such/folder cannot be entered: No such file"),
        ({"command": "a\0b"}, "NUL"),
    ],
)
@pytest.mark.requirement("MCP-03")
def test_what_cannot_be_started_is_one_clear_error(changes: dict[str, object], said: str, tmp_path: Path) -> None:
    spec = ServerSpec(**{"id": "s", "command": "true", "cwd": tmp_path, **changes})  # type: ignore[arg-type]
    with pytest.raises(OSError, match=said):
        asyncio.run(Child.start(spec, Tail()))


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _pids(path: Path, count: int) -> list[int]:
    deadline = time.monotonic() + 20
    while not path.exists() or len(path.read_text().split()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return [int(one) for one in path.read_text().split()]


@pytest.mark.requirement("MCP-04")
def test_a_server_that_ignores_its_end_goes_with_its_wrapper_and_its_daemon(tmp_path: Path) -> None:
    state = tmp_path / "pids"
    line = f"{sys.executable} -S -E {SERVER} ignore_end+orphan {state}; true"
    spec = ServerSpec(id="s", command="sh", args=("-c", line), cwd=tmp_path)

    async def live() -> list[int]:
        child = await Child.start(spec, Tail())
        pids = [child.pid, *await asyncio.to_thread(_pids, state, 2)]
        await child.end(grace=0.1)
        assert child.forced
        return pids

    pids = asyncio.run(live())
    assert len(pids) == 3
    assert all(_gone(pid) for pid in pids)


@pytest.mark.requirement("MCP-04")
def test_a_server_that_ends_by_itself_leaves_no_child(tmp_path: Path) -> None:
    state = tmp_path / "pids"
    spec = ServerSpec(
        id="s", command=sys.executable, args=("-S", "-E", str(SERVER), "orphan", str(state)), cwd=tmp_path
    )

    async def live() -> tuple[Child, list[int]]:
        child = await Child.start(spec, Tail())
        pids = await asyncio.to_thread(_pids, state, 2)
        await child.end()
        return child, pids

    child, pids = asyncio.run(live())
    assert (child.how, child.forced) == ("ended with exit status 0", False)
    assert all(_gone(pid) for pid in pids)


@pytest.mark.requirement("MCP-04")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, "return"])
def test_a_host_that_ends_without_closing_leaves_no_server(tmp_path: Path, end: signal.Signals | str) -> None:
    state = tmp_path / "pids"
    host = f"""
import time
from pathlib import Path
from sutler.mcp.manager import ServerManager
from sutler.servers import ServerSpec
line = "{sys.executable} -S -E {SERVER} ignore_end+orphan {state}; true"
manager = ServerManager([ServerSpec(id="s", command="sh", args=("-c", line), cwd=Path({str(tmp_path)!r}))])
manager.start()
while not Path({str(tmp_path / "go")!r}).exists():
    time.sleep(0.01)
"""
    with subprocess.Popen([sys.executable, "-c", host], stderr=subprocess.DEVNULL) as process:
        pids = _pids(state, 2)
        if isinstance(end, signal.Signals):
            os.kill(process.pid, end)
        else:
            (tmp_path / "go").touch()
    deadline = time.monotonic() + 20
    while not all(_gone(pid) for pid in pids):
        assert time.monotonic() < deadline, "a server outlived its host"
        time.sleep(0.01)


def test_the_end_of_a_text_that_is_too_long_begins_with_a_whole_word() -> None:
    assert last_words("all of it", 20) == "all of it"
    assert last_words("an error in the middle of a line", 14) == "... of a line"
    assert last_words("x" * 50, 10) == f"... {'x' * 10}"
