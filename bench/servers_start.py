"""Starting with servers that are slow, broken and good: when each is usable, and when the tools are at hand (MCP-03).

`python -m bench.servers_start sdk|ours|warm|lazy CONFIG` is one fresh process, which prints what it measured as JSON.
Seconds of wall time from the first line of its work, the loading of the SDK included.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

from .table import show

STAND_IN = Path(__file__).parent / "stand_in.py"
GOOD = 6
ROUNDS = 5
USABLE, AT_HAND, WARM = 0.3, 2.0, 0.05  # seconds: over a direct connection; the tools; the tools when remembered


def config(folder: Path, modes: dict[str, str], **more: object) -> Path:
    """A sutler.toml with a server for each of these modes of the stand-in."""
    lines: list[str] = []
    for name, mode in modes.items():
        lines += [f"[mcp_servers.{name}]", f"command = {json.dumps(sys.executable)}"]
        lines += [f"args = {json.dumps(['-S', '-E', str(STAND_IN), *mode.split(' ')])}"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in more.items()]
    file = folder / "sutler.toml"
    file.write_text("\n".join(lines))
    return file


def sdk(file: Path) -> float:
    """The SDK's own client and one good server, alone."""
    began = time.perf_counter()
    import anyio

    from mcp import Client, StdioServerParameters

    server = next(iter(tomllib.loads(file.read_text())["mcp_servers"].values()))

    async def connect() -> float:
        async with Client(StdioServerParameters(command=server["command"], args=server["args"])) as client:
            assert (await client.list_tools()).tools
            return time.perf_counter() - began

    return anyio.run(connect)


def ours(file: Path, *, lazy: bool = False) -> dict[str, Any]:
    """at_hand: the tools are listed, `tools` of them. ready: when each server could be called."""
    from sutler import SyncRuntime

    began, clock = time.perf_counter(), time.time()
    with SyncRuntime(config=file, default_tools=False, plugins=False, lazy_servers=lazy) as rt:
        tools = len(rt.inventory().rows)
        at_hand = time.perf_counter() - began
        servers = rt.core.servers
        assert servers is not None
        good = [spec.id for spec in servers.specs if spec.id.startswith("good")]
        if not lazy:
            assert servers.manager.wait(20, good)
        ready = {state.id: state.since - clock for state in servers.manager.states() if state.state == "ready"}
    return {"at_hand": at_hand, "tools": tools, "ready": ready}


def fresh(what: str, file: Path, cache: Path) -> Any:
    """One measurement in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.servers_start", what, str(file)],
        env={**os.environ, "SUTLER_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> None:
    good = {f"good{number}": "ok" for number in range(GOOD)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        mixed, whole = folder / "mixed", folder / "whole"
        for one in (mixed, whole):
            one.mkdir()
        eight = config(mixed, {"hanging": "hang", "exiting": "exit", **good})
        known = config(whole, {**good, "good6": "ok", "good7": "ok"})
        alone = config(folder, {"good": "ok"})
        direct = [float(fresh("sdk", alone, folder / "none")) for _ in range(ROUNDS)]
        first = [fresh("ours", eight, folder / f"cache{number}") for number in range(ROUNDS)]
        again = [fresh("ours", eight, folder / "cache0") for _ in range(ROUNDS)]
        fresh("ours", known, folder / "known")
        warm = [fresh("ours", known, folder / "known") for _ in range(ROUNDS)]
        lazy = [fresh("lazy", known, folder / "known") for _ in range(ROUNDS)]

    def middle(runs: list[Any], key: str) -> float:
        return statistics.median(run[key] for run in runs)

    over = [max(run["ready"].values()) - statistics.median(direct) for run in first]
    rows: list[list[object]] = [
        ["the SDK's client, one good server alone", statistics.median(direct), "-"],
        [f"the last of {GOOD} good ones among 8, over that", statistics.median(over), USABLE],
        ["8 servers never seen, one hangs, one exits: tools at hand", middle(first, "at_hand"), AT_HAND],
        ["the same once more: tools at hand", middle(again, "at_hand"), AT_HAND],
        ["8 servers remembered: tools at hand", middle(warm, "at_hand"), WARM],
        ["the same, lazy_servers", middle(lazy, "at_hand"), WARM],
    ]
    show("starting with 8 servers, wall s", ["what", "s", "at most"], rows)
    print(f"tools listed: {first[0]['tools']} first, {again[0]['tools']} again, {warm[0]['tools']} remembered")


if __name__ == "__main__":
    what, file = sys.argv[1], Path(sys.argv[2])
    print(json.dumps(sdk(file) if what == "sdk" else ours(file, lazy=what == "lazy")))
