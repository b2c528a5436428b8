"""Bad configs, modules and stores: a clear error each, nothing lost, and the host goes on."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler import Runtime, SyncRuntime, tool
from sutler.errors import ConfigError, StoreError
from sutler.runtime import servers

FAULTS = Path(__file__).parent.parent / "faults" / "stdio_server.py"
OPTIONS: dict[str, Any] = {"default_tools": False, "plugins": False}

MODULES = {
    "good": "import os\nprint('importing good')\nHERE = os.getcwd()\n"
    "def f(x=1):\n    print('in f')\n    return [x, os.getcwd(), HERE]\n"
    "async def g():\n    return os.getcwd()\nnothing = 3\n",
    "exits": "raise SystemExit(4)\n",
    "interrupts": "raise KeyboardInterrupt\n",
    "broken": "def f(:\n",
    "slow": "import time\ntime.sleep(1)\ndef f():\n    return 1\n",
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    tools = [
        ("f", "good", "f", ""), ("g", "good", "g", ""), ("nofn", "good", "nope", ""), ("value", "good", "nothing", ""),
        ("nomod", "missing_module", "f", ""), ("exits", "exits", "f", ""), ("interrupts", "interrupts", "f", ""),
        ("broken", "broken", "f", ""), ("slow", "slow", "f", "timeout = 0.3"),
        ("apart", "good", "f", 'isolation = "process"'),
    ]  # fmt: skip
    file = tmp_path / "sutler.toml"
    file.write_text(
        "".join(f'[[tools]]\nname = "{n}"\nmodule = "{m}"\nfunction = "{f}"\n{more}\n' for n, m, f, more in tools)
    )
    return file


@pytest.mark.requirement("SRC-04", "SRC-10", "RUN-04")
@pytest.mark.parametrize("name", ["nofn", "value", "nomod", "exits", "interrupts", "broken"])
def test_a_config_tool_that_cannot_be_had_is_an_error_of_that_tool_alone(config: Path, name: str) -> None:
    with SyncRuntime(config=config, **OPTIONS) as rt:
        result = rt.call(name)
        assert not result.success and result.status_code == 500 and result.error is not None
        if name != "interrupts":
            assert result.error.kind == "unavailable" and f"{config}:" in result.error.message
        assert rt.call("f").output[0] == 1
        (config.parent / "broken.py").write_text("def f():\n    return 'mended'\n")
        assert rt.call("broken").output == "mended"


@pytest.mark.requirement("SRC-04", "RUN-12", "RUN-13", "WSP-01")
def test_the_import_of_a_config_tool_is_part_of_its_first_call(config: Path, capsys: Any) -> None:
    with SyncRuntime(config=config, workspace=config.parent / "w", **OPTIONS) as rt:
        here = str(config.parent / "w")
        first = rt.call("f")
        assert (first.output, first.stdout) == ([1, here, here], "importing good\nin f\n")
        assert rt.call("f").stdout == "in f\n"
        assert [rt.call("g").output, rt.call("g").output] == [here, here]
        apart = rt.call("apart")
        assert (apart.output, apart.stdout) == ([1, here, here], "importing good\nin f\n")
        late = rt.call("slow")
        assert late.error is not None and late.error.kind == "timeout"
    assert capsys.readouterr().out == ""


@pytest.mark.requirement("SRC-04")
def test_a_module_that_hangs_at_import_holds_no_loop(config: Path) -> None:
    async def main() -> None:
        async with Runtime(config=config, **OPTIONS) as rt:
            ticks = 0

            async def tick() -> None:
                nonlocal ticks
                while True:
                    ticks += 1
                    await asyncio.sleep(0.02)

            ticking = asyncio.create_task(tick())
            result = await rt.call("slow")
            assert result.error is not None and result.error.kind == "timeout"
            assert ticks >= 5
            ticking.cancel()

    asyncio.run(main())


def write(x: int = 1) -> int:
    return x


@tool(read_only=True)
def read(x: int = 1) -> int:
    return x


def locked(path: Path) -> Callable[[], object]:
    SyncRuntime(tools=[write], store=path, config=False, **OPTIONS).open().close()
    path.parent.mkdir(exist_ok=True)
    other = sqlite3.connect(path, check_same_thread=False)
    other.execute("CREATE TABLE IF NOT EXISTS t (x)")
    other.execute("BEGIN EXCLUSIVE")
    return other.close


def a_folder(path: Path) -> Callable[[], object]:
    path.mkdir()
    return lambda: None


def garbage(path: Path) -> Callable[[], object]:
    path.write_bytes(b"no database " * 1000)
    return lambda: None


@pytest.mark.requirement("SRC-10")
@pytest.mark.parametrize("spoil", [a_folder, garbage])
def test_a_store_that_cannot_be_written_stops_writes_lets_reads_be_and_says_what_was_lost(
    tmp_path: Path, spoil: Callable[[Path], Callable[[], object]]
) -> None:
    path = tmp_path / "runs.db"
    spoil(path)
    rt = SyncRuntime(tools=[write, read], store=path, config=False, **OPTIONS).open()
    root = rt.workspace.root
    refused = rt.call("write")
    assert refused.error is not None and refused.error.kind == "unavailable" and str(path) in refused.error.message
    assert rt.call("read").output == 1
    run = rt.run("try:\n    write()\nexcept RuntimeError:\n    pass\nread()")
    assert (run.status, run.output) == ("completed", 1)
    assert rt.core.recorder.trouble is not None
    with pytest.raises(StoreError, match="lost"):
        rt.close()
    assert not root.exists()


@pytest.mark.requirement("RUN-07")
def test_a_locked_store_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.db"
    with SyncRuntime(tools=[write, read], store=path, config=False, **OPTIONS) as rt:
        assert rt.call("write").success
        commits: list[int] = []
        real = rt.core.recorder.store._commit  # type: ignore[attr-defined]

        def failing(more: Any, *, durable: bool = False) -> None:
            if more:
                commits.append(len(more))
                raise StoreError(f"{path}: locked")
            real(more, durable=durable)

        monkeypatch.setattr(rt.core.recorder.store, "_commit", failing)
        refused = rt.call("write")
        assert refused.error is not None and "locked" in refused.error.message
        assert len(commits) == 1
        monkeypatch.undo()
        assert rt.call("write").success
        rt.core.recorder.store.flush()
        assert [step.success for step in rt.core.recorder.store.direct()] == [True, False, True]


def test_a_remote_reference_is_not_fetched_and_a_dead_one_takes_no_other_tool_along(tmp_path: Path) -> None:
    import http.server

    hits: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            return None

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/schema.json"
    (tmp_path / "m.py").write_text("def f(**given):\n    return given\n")
    schema = {"type": "object", "properties": {"a": {"$ref": url}}}
    dead = {"type": "object", "properties": {"a": {"$ref": "#/$defs/nowhere"}}}
    file = tmp_path / "sutler.toml"
    file.write_text(
        "".join(
            f'[[tools]]\nname = "{name}"\nmodule = "m"\nfunction = "f"\ninput_schema = {_toml(one)}\n'
            for name, one in (("remote", schema), ("dead", dead), ("good", {"type": "object"}))
        )
    )
    with SyncRuntime(config=file, **OPTIONS) as rt:
        assert rt.call("remote", {"a": {"any": "thing"}}).output == {"a": {"any": "thing"}}
        assert rt.schemas("openai") and rt.schemas("gemini")
        assert rt.call("good", {}).success
        assert [one.tool for one in rt.inventory().quarantined] == ["dead"]
        assert "nowhere" in rt.inventory().quarantined[0].reason
    server.shutdown()
    server.server_close()
    assert hits == []


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {_toml(item)}' for key, item in value.items()) + " }"
    return json.dumps(value)


def test_two_thousand_calls_and_fifty_runs_leave_no_thread_file_or_object_behind(runtime: Any) -> None:
    import gc

    def one(x: dict[str, int]) -> dict[str, int]:
        return x

    async def two(x: int) -> int:
        return x

    rt = runtime(one, two)

    def work(calls: int, runs: int) -> None:
        for n in range(calls):
            rt.call("one", {"x": {"n": n}})
            rt.call("two", {"x": n})
        for _ in range(runs):
            rt.run("[one({'a': 1}), two(2)]")

    work(100, 10)
    gc.collect()
    before = (threading.active_count(), len(os.listdir("/proc/self/fd")), len(gc.get_objects()))
    work(1000, 50)
    gc.collect()
    after = (threading.active_count(), len(os.listdir("/proc/self/fd")), len(gc.get_objects()))
    assert after[0] <= before[0] + 1 and after[1] <= before[1] + 2
    assert after[2] < before[2] + 12_000, "the ring of records holds a bounded number of them"
    assert not rt.core.calls._flying and rt.core.runs.count == 0


def test_a_runtime_that_was_closed_leaves_no_thread(tmp_path: Path) -> None:
    async def two(x: int) -> int:
        return x

    started = {thread for thread in threading.enumerate() if "watchdog" not in thread.name}
    for _ in range(3):
        with SyncRuntime(tools=[write, two], config=False, store=tmp_path / "s.db", **OPTIONS) as rt:
            rt.call("write"), rt.call("two", {"x": 1}), rt.run("write() + two(2)")
    for _ in range(100):
        left = [one.name for one in threading.enumerate() if one not in started and "watchdog" not in one.name]
        if not left:
            return
        time.sleep(0.02)
    raise AssertionError(left)


@pytest.mark.requirement("GEN-02")
def test_a_profile_that_names_what_is_not_there_is_refused_at_the_opening(tmp_path: Path) -> None:
    def look(x: int = 1) -> int:
        return x

    with pytest.raises(ConfigError, match=r"profile: there is neither .* 'lok' \(did you mean 'look'\?\)"):
        SyncRuntime(tools=[look], profile="lok", config=False, **OPTIONS).open()
    file = tmp_path / "sutler.toml"
    file.write_text("[profiles.small]\ntools = ['look', 'lok']\n[profiles.smaller]\ntools = ['look']\n")
    with pytest.raises(ConfigError, match=r"sutler.toml:1: profiles\.small\.tools: .*'lok'; the closest is look"):
        SyncRuntime(tools=[look], profile="small", config=file, **OPTIONS).open()
    with pytest.raises(ConfigError, match="did you mean 'smaller'"):
        SyncRuntime(tools=[look], profile="smallr", config=file, **OPTIONS).open()
    with SyncRuntime(tools=[look], profile="smaller", config=file, **OPTIONS) as rt:
        assert rt.run("look(2)").output == 2


@pytest.mark.requirement("GEN-02", "MCP-03")
def test_a_profile_waits_for_a_server_that_may_still_bring_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUTLER_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(servers, "FIRST_LOOK", 0.01)
    file = tmp_path / "sutler.toml"
    command = f"command = {sys.executable!r}\nargs = [{str(FAULTS)!r}, 'slow_start']\n"
    file.write_text(
        f"[mcp_servers.s]\n{command}[profiles.far]\ntools = ['s::echo']\n[profiles.off]\ntools = ['s::ech']\n"
    )
    with SyncRuntime(profile="far", config=file, policy="full_access", **OPTIONS) as rt:
        assert rt.ready(30)
        assert rt.run("s__echo(x=1)").success or rt.run("echo(x=1)").success
    with pytest.raises(ConfigError, match=r"'s::ech'; the closest are s::echo"):  # what the server has is remembered
        SyncRuntime(profile="off", config=file, **OPTIONS).open()
    file.write_text(f"[mcp_servers.s]\nenabled = false\n{command}[profiles.far]\ntools = ['s::echo']\n")
    monkeypatch.setenv("SUTLER_CACHE_DIR", str(tmp_path / "empty"))
    with pytest.raises(ConfigError, match="s::echo"):
        SyncRuntime(profile="far", config=file, **OPTIONS).open()


@pytest.mark.parametrize("key", ["confirm_handler", "user_interaction_handler", "harness_resolver", "on_event"])
def test_a_handler_that_cannot_be_called_is_an_error_when_the_runtime_is_opened(key: str) -> None:
    options: dict[str, Any] = {key: "ask me", **OPTIONS}
    with pytest.raises(ConfigError, match=f"{key}: must be something to call, not 'ask me'"):
        SyncRuntime(config=False, **options).open()
