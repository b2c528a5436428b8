"""FH20 to FH28, FS03, FS05, FS06, FS11: what servers do, through a runtime, the command line and the server face."""

from __future__ import annotations

import asyncio
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler import SyncRuntime
from sutler.errors import SourceError

SERVER = Path(__file__).parent.parent / "faults" / "stdio_server.py"

Open = Callable[..., SyncRuntime]


def table(folder: Path, id: str, mode: str = "ok", **more: object) -> str:
    keys = {"command": sys.executable, "args": ["-S", "-E", str(SERVER), mode, str(folder / f"{id}.state")], **more}
    return "\n".join([f"[mcp_servers.{id}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]) + "\n"


def config(folder: Path, *tables: str) -> Path:
    file = folder / "sutler.toml"
    file.write_text("default_tools = false\n[workspace]\nroot = 'work'\n" + "".join(tables), encoding="utf-8")
    return file


def alive(folder: Path) -> list[int]:
    """Servers of this test that still run: their command names its folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and bytes(folder) in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.02)


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    monkeypatch.setenv("SUTLER_CACHE_DIR", str(tmp_path / "cache"))
    runtimes: list[SyncRuntime] = []

    def open_runtime(*tables: str, **options: Any) -> SyncRuntime:
        rt = SyncRuntime(config=config(tmp_path, *tables), plugins=False, policy="full_access", **options).open()
        runtimes.append(rt)
        rt.ready(30)
        return rt

    yield open_runtime
    for rt in runtimes:
        assert rt.close() == ()
    assert alive(tmp_path) == []


BLOCKS = [
    {"type": "text", "text": "ok (sha)"},
    {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "BODY"}},
    {"type": "resource", "resource": {"uri": "file:///b.bin", "blob": "AQID"}},
    {"type": "image", "mimeType": "image/png", "data": "AQID"},
    {"type": "audio", "mimeType": "audio/wav", "data": "AQIDBA=="},
    {"type": "resource_link", "uri": "file:///c", "name": "c"},
    {"type": "video"},
]


@pytest.mark.requirement("MCP-08")
def test_fh20_every_block_reaches_the_program_in_order_and_the_text_view_whole(opened: Open, tmp_path: Path) -> None:
    rt = opened(table(tmp_path, "s"))
    run = rt.run("blocks = gives(result=r)\n[b['type'] for b in blocks]", params={"r": {"content": BLOCKS}})
    assert run.output == [block["type"] for block in BLOCKS], run.error
    result = rt.call("gives", {"result": {"content": BLOCKS}})
    assert list(result.content) == BLOCKS
    view = result.extra["text"].splitlines()
    assert view[:2] == ["ok (sha)", "BODY"] and len(view) == len(BLOCKS)
    assert "3 bytes" in view[2] and "image/png, 3 bytes" in view[3] and "audio/wav, 4 bytes" in view[4]
    assert any("'video'" in note for note in result.notes)


@pytest.mark.requirement("MCP-08")
def test_fh21_a_failure_keeps_its_own_words_and_a_broken_contract_its_text(opened: Open, tmp_path: Path) -> None:
    rt = opened(table(tmp_path, "s"))
    failed = rt.call("fails")
    assert (str(failed.error), failed.output) == ("auth failed", {"code": 401})
    off = rt.call("off_schema")
    assert off.success and off.output == {"sha": 7} and off.content[0]["text"] == "text"
    assert any("breaks what the tool declares" in note for note in off.notes)


@pytest.mark.requirement("RUN-09", "MCP-08")
def test_fh22_a_bare_nan_of_a_server_is_a_number_for_programs_and_never_leaves_the_gateway(
    opened: Open, tmp_path: Path
) -> None:
    rt = opened(table(tmp_path, "s"))
    assert math.isnan(rt.call("nan").output["m"])
    assert rt.run("x = nan()['m']\nx != x").output is True
    sutler = [sys.executable, "-m", "sutler.cli", "--config", str(tmp_path / "sutler.toml"), "--policy", "full_access"]
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "nan", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "surrogate", "arguments": {}}},
    ]
    done = subprocess.run(
        [*sutler, "serve"], input="".join(json.dumps(line) + "\n" for line in lines), text=True, capture_output=True,
        timeout=60, env={**os.environ, "SUTLER_STATE_DIR": str(tmp_path / "state")}, check=False,
    )  # fmt: skip

    def bare(constant: str) -> None:
        raise AssertionError(f"bare {constant}")

    said = [json.loads(line, parse_constant=bare) for line in done.stdout.splitlines()]
    answers = {one.get("id"): one for one in said}
    assert answers[2]["result"]["structuredContent"] == {"m": "NaN"}, done.stderr
    assert answers[3]["result"]["content"][0]["type"] == "text", answers[3]
    assert any("m" in note for note in answers[2]["result"]["_meta"]["sutler/notes"])


@pytest.mark.requirement("MCP-04")
def test_fh23_servers_end_in_any_order_from_any_thread_and_a_missing_command_is_one_clear_error(
    opened: Open, tmp_path: Path
) -> None:
    rt = opened(*(table(tmp_path, id) for id in "abc"), "[mcp_servers.gone]\ncommand = 'no-such-command-here'\n")
    servers = rt.core.servers
    assert servers is not None
    left: list[tuple[str, ...]] = []
    for id in "acb":
        thread = threading.Thread(target=lambda id=id: left.append(servers.manager.stop(id)))
        thread.start()
        thread.join(20)
    assert left == [(), (), ()] and alive(tmp_path) == []
    gone = rt.call("gone::anything")
    assert gone.error is not None
    assert "no-such-command-here" in servers.manager.state("gone").reason


@pytest.mark.requirement("MCP-04")
def test_fh23_an_interrupt_while_servers_connect_ends_the_command_and_them(tmp_path: Path) -> None:
    file = config(tmp_path, table(tmp_path, "s", "deaf+orphan+ignore_end", connect_timeout=30))
    command = [sys.executable, "-m", "sutler.cli", "--config", str(file), "call", "s::echo"]
    places = {"SUTLER_CACHE_DIR": str(tmp_path / "cache"), "SUTLER_STATE_DIR": str(tmp_path / "state")}
    with subprocess.Popen(
        command, env={**os.environ, **places}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        until((tmp_path / "s.state").exists)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Traceback" not in err and "cancel scope" not in err and out == ""
    until(lambda: alive(tmp_path) == [])


@pytest.mark.requirement("MCP-13")
def test_fh24_a_flood_on_stderr_is_drained_and_its_end_is_kept(opened: Open, tmp_path: Path) -> None:
    rt = opened(table(tmp_path, "s", "stderr_flood"))
    for _ in range(3):
        assert rt.call("stderr", {"n": 400_000}).output == "written"
    assert rt.core.servers is not None
    tail = rt.core.servers.manager.state("s").stderr_tail
    assert tail.endswith("half\r") or tail.rstrip().endswith("half")
    assert 1000 < len(tail) < 100_000


@pytest.mark.requirement("MCP-13")
def test_fh25_noise_on_stdout_is_counted_and_quoted(opened: Open, tmp_path: Path) -> None:
    rt = opened(table(tmp_path, "s", "banner"))
    assert rt.call("junk").output == "after junk"
    assert rt.core.servers is not None
    state = rt.core.servers.manager.state("s")
    assert state.junk_lines == 7 and state.junk[0] == "Server ready"
    assert any("level" in line for line in state.junk)
    assert rt.call("echo", {"x": 1}).success


HOST = """
import sys, time
from pathlib import Path
from sutler import SyncRuntime
with SyncRuntime(config={config!r}, plugins=False) as rt:
    rt.ready(30)
    print("up", flush=True)
    {end}
"""


@pytest.mark.requirement("MCP-04")
@pytest.mark.parametrize("end", ["pass", "raise RuntimeError('over')", "SIGTERM", "SIGKILL"])
def test_fh26_however_the_host_ends_no_server_of_a_wrapper_survives(tmp_path: Path, end: str) -> None:
    line = f"{sys.executable} -S -E {SERVER} ignore_end+orphan {tmp_path / 's.state'}; true"
    file = config(tmp_path, f"[mcp_servers.s]\ncommand = 'sh'\nargs = ['-c', {json.dumps(line)}]\n")
    text = HOST.format(config=str(file), end="time.sleep(60)" if end.startswith("SIG") else end)
    places = {"SUTLER_CACHE_DIR": str(tmp_path / "cache")}
    with subprocess.Popen(
        [sys.executable, "-c", text], env={**os.environ, **places}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        if end.startswith("SIG"):
            process.send_signal(getattr(signal, end))
        process.wait(30)
    pids = [int(pid) for pid in (tmp_path / "s.state").read_text().split()]
    until(lambda: alive(tmp_path) == [])
    until(lambda: not any(_runs(pid) for pid in pids))


def _runs(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.requirement("MCP-04")
def test_fh28_every_page_is_read_and_a_cursor_without_end_has_one(opened: Open, tmp_path: Path) -> None:
    rt = opened(*(table(tmp_path, id, id) for id in ("pages", "same_cursor", "endless")))
    counts = {
        id: len([row for row in rt.inventory().rows if row.spec.origin.source == id]) for id in ("pages", "endless")
    }
    assert counts == {"pages": 250, "endless": 500}
    assert rt.call("pages::t249").error is not None  # it is listed, and reaches the server, which has no such tool
    assert rt.core.servers is not None
    notes = {state.id: " ".join(state.notes) for state in rt.core.servers.manager.states()}
    assert "does not advance" in notes["same_cursor"] and "still more" in notes["endless"] and not notes["pages"]


@pytest.mark.requirement("MCP-03")
def test_fs03_of_five_servers_the_two_good_ones_are_there_and_three_say_why(opened: Open, tmp_path: Path) -> None:
    good = [table(tmp_path, id) for id in ("one", "two")]
    bad = [
        "[mcp_servers.missing]\ncommand = 'no-such-command-here'\n",
        table(tmp_path, "exits", "exit"),
        table(tmp_path, "hangs", "hang", connect_timeout=3),
    ]
    rt = opened(*good, *bad)
    assert [rt.call(f"{id}::echo", {"x": id}).output for id in ("one", "two")] == ['"one"', '"two"']
    assert rt.core.servers is not None
    states = {state.id: state for state in rt.core.servers.manager.states()}
    assert "no-such-command-here" in states["missing"].reason
    assert "exit status 3: no such database" in states["exits"].reason
    assert "did not answer within 3 s" in states["hangs"].reason
    with pytest.raises(SourceError, match="hangs: it did not answer within 3 s"):
        opened(*good, *bad, "required = true\n")


@pytest.mark.requirement("MCP-09")
def test_fs05_a_call_that_ends_at_its_time_is_cancelled_on_the_server_once_and_its_late_answer_is_nobodys(
    opened: Open, tmp_path: Path
) -> None:
    rt = opened(table(tmp_path, "s"), "[mcp_servers.s.tools.nap]\ntimeout = 0.2\n")
    late = rt.call("nap", {"seconds": 0.4})
    assert late.error is not None and late.error.kind == "timeout"

    def cancelled() -> list[Any]:
        seen = json.loads(rt.call("seen").output)
        return [one["requestId"] for one in seen if one["method"] == "notifications/cancelled"]

    until(lambda: len(cancelled()) > 0)
    time.sleep(0.4)  # the late answer comes
    assert rt.call("echo", {"x": "mine"}).output == '"mine"'
    assert len(cancelled()) == 1


@pytest.mark.requirement("MCP-04")
def test_fs06_a_result_of_many_pieces_and_megabytes_is_whole_and_the_trace_holds_a_part(
    opened: Open, tmp_path: Path
) -> None:
    rt = opened(table(tmp_path, "s"), limits={"output_bytes": 50_000_000})
    for size in (70_000, 5_000_000, 20_000_000):
        assert len(rt.call("pieces", {"n": size}).output) == size
    over = rt.call("no_end", {"mb": 65})
    assert over.error is not None and "longer than is taken" in over.error.message
    run = rt.run("len(pieces(n=5000000))")
    assert run.output == 5_000_000 and len(json.dumps(run.trace[0].result)) < 100_000
    assert rt.call("echo", {"x": 1}).success


@pytest.mark.requirement("MCP-12")
def test_fs11_twenty_calls_at_once_over_one_connection_each_get_their_own_answer(opened: Open, tmp_path: Path) -> None:
    rt = opened(table(tmp_path, "s", "count"))
    got: dict[int, Any] = {}

    def call(number: int) -> None:
        got[number] = rt.call("echo", {"x": number, "delay": (number * 7 % 5) / 50}).output

    threads = [threading.Thread(target=call, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert got == {number: str(number) for number in range(20)}

    async def at_once() -> list[Any]:
        work = [asyncio.to_thread(rt.call, "echo", {"x": n, "delay": (n % 3) / 50}) for n in range(20)]
        return [result.output for result in await asyncio.gather(*work)]

    assert asyncio.run(at_once()) == [str(number) for number in range(20)]
    assert len((tmp_path / "s.state").read_text().split()) == 1  # one process, one connection
