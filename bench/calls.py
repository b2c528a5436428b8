"""One trivial call through the whole pipeline, with 1, 300 and 3,000 tool files (6,000 tools) in the inventory.

Peer: lollms-client's LCPBinding.execute_tool over the same folders, in the interpreter SUTLER_PEER_LOLLMS.
Figures: CPU microseconds a call (process_time, whole process) of the tool discovered last, after warming.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .table import show

SIZES = (1, 300, 3000)
CALLS = 3000

PEER = """
import sys, time, json, io, contextlib
folder, calls = sys.argv[1], int(sys.argv[2])
with contextlib.redirect_stdout(io.StringIO()):
    from lollms_client.tools_bindings.lcp import LCPBinding
    binding = LCPBinding(tools_folders=[folder])
    name = binding.discovered_tools[-1]["name"]
    for _ in range(50):
        binding.execute_tool(name, {"a": 1, "b": 2})
    began = time.process_time()
    for _ in range(calls):
        binding.execute_tool(name, {"a": 1, "b": 2})
    took = time.process_time() - began
print(json.dumps(took / calls * 1e6))
"""


def make(folder: Path, files: int) -> str:
    """Writes `files` tool files of two tools each; gives the name of the last tool."""
    for number in range(files):
        (folder / f"lib{number:05}.py").write_text(
            f'def tool_add_{number}(a: int, b: int = 1) -> int:\n    """Adds two numbers."""\n    return a + b\n\n\n'
            f'def tool_sub_{number}(a: int, b: int = 1) -> int:\n    """Subtracts."""\n    return a - b\n'
        )
    return f"tool_sub_{files - 1}"


def sync_call(folder: Path, name: str, calls: int) -> float:
    from sutler import SyncRuntime

    with SyncRuntime(tool_folders=[folder], config=False, default_tools=False) as rt:
        for _ in range(200):
            assert rt.call(name, {"a": 1, "b": 2}).success
        began = time.process_time()
        for _ in range(calls):
            rt.call(name, {"a": 1, "b": 2})
        return (time.process_time() - began) / calls * 1e6


def async_call(folder: Path, name: str, calls: int) -> tuple[float, float]:
    """(one call, one bare hop to a thread and back), in the same process."""
    from concurrent.futures import ThreadPoolExecutor

    from sutler import Runtime

    async def main() -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1) as pool:
            for _ in range(200):
                await loop.run_in_executor(pool, int)
            began = time.process_time()
            for _ in range(calls):
                await loop.run_in_executor(pool, int)
            hop = (time.process_time() - began) / calls * 1e6
        async with Runtime(tool_folders=[folder], config=False, default_tools=False) as rt:
            for _ in range(200):
                assert (await rt.call(name, {"a": 1, "b": 2})).success
            began = time.process_time()
            for _ in range(calls):
                await rt.call(name, {"a": 1, "b": 2})
            return (time.process_time() - began) / calls * 1e6, hop

    return asyncio.run(main())


def main() -> None:
    peer = os.environ.get("SUTLER_PEER_LOLLMS")
    rows: list[list[object]] = []
    for files in SIZES:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            name = make(folder, files)
            ours = sync_call(folder, name, CALLS)
            coroutine, hop = async_call(folder, name, CALLS)
            theirs = None
            if peer:
                calls = max(200, CALLS // max(1, files // 100))
                done = subprocess.run(
                    [peer, "-c", PEER, str(folder), str(calls)], capture_output=True, text=True, check=True
                )
                theirs = float(json.loads(done.stdout.strip().splitlines()[-1]))
            ratio = f"{ours / theirs:.2f}" if theirs else "-"
            rows.append([files, files * 2, ours, coroutine, hop, theirs if theirs else "-", ratio])
    show("one call, CPU us", ["files", "tools", "sync", "async", "bare hop", "lollms", "sync/lollms"], rows)


if __name__ == "__main__":
    sys.exit(main())
