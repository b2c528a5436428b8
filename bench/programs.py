"""Programs: many calls in one, many programs at once, a slow one beside quick ones.

Peer: lackpy (mcp<2) in the interpreter SUTLER_PEER_LACKPY: its runner on worker threads, async tools over its bridge.
Figures: wall milliseconds, the best of three.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from .table import show

LOOP = "t = 0\nfor i in range(1000):\n    t = t + f(i)\nt"
FIVE = "t = 0\nfor i in range(5):\n    t = t + nap(i)\nt"
AT_ONCE = 1000

PEER = """
import asyncio, json, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from lackpy.run.bridge import AsyncBridge
from lackpy.run.runner import RestrictedRunner

LOOP, FIVE, AT_ONCE = json.loads(sys.argv[1])

async def main():
    loop, bridge, runner = asyncio.get_running_loop(), AsyncBridge(), RestrictedRunner()
    bridge.loop = loop
    async def echo(i): return i
    async def sleep(i):
        await asyncio.sleep(0.02)
        return i
    bridged = {"f": lambda i: bridge.call_sync(echo(i), 60)}
    napping = {"nap": lambda i: bridge.call_sync(sleep(i), 60)}
    def run(program, tools):
        result = runner.run(program, tools)
        assert result.success, result.error
        return result.output
    one = []
    for _ in range(3):
        began = time.perf_counter()
        assert await loop.run_in_executor(None, run, LOOP, bridged) == 499500
        one.append(time.perf_counter() - began)
    many = []
    for _ in range(3):
        with ThreadPoolExecutor(AT_ONCE) as pool:
            began = time.perf_counter()
            done = await asyncio.gather(*(loop.run_in_executor(pool, run, FIVE, napping) for _ in range(AT_ONCE)))
            many.append(time.perf_counter() - began)
            assert done == [10] * AT_ONCE
    print(json.dumps([min(one) * 1000, min(many) * 1000]))

asyncio.run(main())
"""


async def timed(work: Callable[[], Awaitable[Any]], times: int = 3) -> float:
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        took.append(time.perf_counter() - began)
    return min(took) * 1000


async def ours() -> tuple[float, float, list[float]]:
    from sutler import Runtime

    def f(i: int) -> int:
        return i

    async def nap(i: int) -> int:
        await asyncio.sleep(0.02)
        return i

    async def slow() -> str:
        await asyncio.sleep(2)
        return "slow"

    limits = {"calls": 100_000}
    async with Runtime(tools=[f, nap, slow], config=False, default_tools=False, limits=limits) as rt:

        async def one() -> None:
            run = await rt.run(LOOP)
            assert run.output == 499500, run.error

        async def many() -> None:
            runs = await asyncio.gather(*(rt.run(FIVE) for _ in range(AT_ONCE)))
            assert [run.output for run in runs] == [10] * AT_ONCE, next(r.error for r in runs if r.error)

        async def pure(number: int) -> float:
            began = time.perf_counter()
            assert (await rt.run(f"{number} + 1")).output == number + 1
            return (time.perf_counter() - began) * 1000

        single = await timed(one)
        crowd = await timed(many)
        waiting = asyncio.create_task(rt.run("slow()"))
        await asyncio.sleep(0.1)
        beside = await asyncio.gather(*(pure(number) for number in range(5)))
        assert (await waiting).output == "slow"
    return single, crowd, beside


def main() -> None:
    single, crowd, beside = asyncio.run(ours())
    theirs: list[float] | None = None
    peer = os.environ.get("SUTLER_PEER_LACKPY")
    if peer:
        given = json.dumps([LOOP, FIVE, AT_ONCE])
        done = subprocess.run([peer, "-c", PEER, given], capture_output=True, text=True, check=True)
        theirs = json.loads(done.stdout.strip().splitlines()[-1])
    rows: list[list[object]] = [
        ["1,000 calls of a tool in one program", single, theirs[0] if theirs else "-", _ratio(single, theirs, 0)],
        [f"{AT_ONCE:,} programs of 5 x 20 ms", crowd, theirs[1] if theirs else "-", _ratio(crowd, theirs, 1)],
        ["5 pure programs beside a 2 s one, slowest", max(beside), 2000.0 if theirs else "-", "-"],
    ]
    show("programs, wall ms", ["what", "sutler", "lackpy", "ratio"], rows)


def _ratio(mine: float, theirs: list[float] | None, which: int) -> str:
    return f"{mine / theirs[which]:.2f}" if theirs else "-"


if __name__ == "__main__":
    sys.exit(main())
