"""MCP servers: what a call costs, what a large result costs, many at once, a server that dies (issue figures of MCP).

The server is a stand-in in plain JSON lines, so the client is what is measured. Side by side with
`mcp.Client` of the installed SDK where there is something to compare. `servers_start` measures starting,
`servers_faults` what a faulty server costs the others.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from . import servers_faults, servers_start
from .servers_start import STAND_IN, config
from .table import show

ROUNDS, CALLS = 9, 200
BIG = 20_000_000
CLIENTS, EACH = 20, 10
READS, NAP = 20, 0.05


@asynccontextmanager
async def bare() -> AsyncGenerator[Any]:
    """The SDK's client over the stand-in."""
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=sys.executable, args=["-S", "-E", str(STAND_IN), "ok"])
    async with Client(server) as client:
        await client.list_tools()
        yield client


def options(file: Path, **more: Any) -> dict[str, Any]:
    return {"config": file, "default_tools": False, "plugins": False, **more}


async def cpu(call: Callable[[], Awaitable[object]], calls: int = CALLS) -> float:
    """CPU milliseconds of this process for one call.

    What was there before is no matter of the collector: its rounds would else fall on one road or another by chance.
    """
    gc.collect()
    gc.freeze()
    began = time.process_time()
    for _ in range(calls):
        await call()
    return (time.process_time() - began) / calls * 1000


def round_trip(file: Path) -> list[list[object]]:
    """The same trivial call on five roads, in turn, so that a change of the machine's speed hits all alike."""
    from sutler import Runtime, SyncRuntime

    arguments = {"x": "1"}
    found: dict[str, list[float]] = {}

    def note(what: str, took: float) -> None:
        found.setdefault(what, []).append(took)

    async def turn(client: Any, rt: Any, blocking: Any) -> None:
        servers = rt.core.servers

        async def session() -> object:
            return await servers.manager.call("s", "echo", arguments)

        async def whole() -> None:
            assert (await rt.call("echo", arguments)).success

        def waits() -> float:
            gc.collect()
            gc.freeze()
            began = time.process_time()
            for _ in range(CALLS):
                assert blocking.call("echo", arguments).success
            return (time.process_time() - began) / CALLS * 1000

        async def theirs() -> None:
            assert not (await client.call_tool("echo", arguments)).is_error

        def on_portal(call: Callable[[], Awaitable[object]]) -> Awaitable[float]:
            return asyncio.wrap_future(servers.manager.portal.submit(cpu(call)))

        note("the SDK's client", await cpu(theirs))
        note("the session alone, on its loop", await on_portal(session))
        note("the whole pipeline, on the session's loop", await on_portal(whole))
        note("the whole pipeline, from another loop", await cpu(whole))
        note("the whole pipeline, from a plain thread", await asyncio.to_thread(waits))

    async def main() -> None:
        with SyncRuntime(**options(file)) as blocking:
            async with bare() as client, Runtime(**options(file)) as rt:
                assert await rt.ready(20) and blocking.ready(20)
                for number in range(ROUNDS + 1):
                    if number == 1:
                        found.clear()  # the first was for warming
                    await turn(client, rt, blocking)

    asyncio.run(main())
    theirs = found["the SDK's client"]
    rows: list[list[object]] = []
    for what, took in found.items():
        ratio = statistics.median(one / sdk for one, sdk in zip(took, theirs, strict=True))
        rows.append([what, min(took), statistics.median(took), f"{min(took) / min(theirs):.2f}", f"{ratio:.2f}"])
    return rows


def large(file: Path) -> list[list[object]]:
    """Wall seconds until the text of a result of 20 MB is there."""
    from sutler import SyncRuntime

    took: list[float] = []
    with SyncRuntime(**options(file, policy="full_access", limits={"output_bytes": 4 * BIG})) as rt:
        assert rt.ready(20)
        for _ in range(3):
            began = time.perf_counter()
            result = rt.call("big", {"n": BIG})
            took.append(time.perf_counter() - began)
            assert result.success and len(result.output) == BIG, result.error

    async def theirs() -> float:
        async with bare() as client:
            began = time.perf_counter()
            result = await client.call_tool("big", {"n": BIG})
            assert len(result.content[0].text) == BIG
            return time.perf_counter() - began

    return [["the SDK's client", asyncio.run(theirs())], ["the whole pipeline", statistics.median(took)]]


def at_once(file: Path) -> list[list[object]]:
    """50 calls on one session whose answers come in another order than the questions."""
    from sutler import Runtime

    async def main() -> float:
        async with Runtime(**options(file)) as rt:
            assert await rt.ready(20)
            order = random.Random(7)
            began = time.perf_counter()
            answers = await asyncio.gather(
                *(rt.call("echo", {"x": f"call {number}", "delay": order.uniform(0, 0.05)}) for number in range(50))
            )
            took = time.perf_counter() - began
            said = [answer.output for answer in answers]
            assert said == [f"call {number}" for number in range(50)], said
            return took

    return [["50 calls of up to 50 ms on one session", asyncio.run(main()) * 1000, "none crossed"]]


def gateway(file: Path) -> list[list[object]]:
    """20 clients of `sutler serve --http` on one upstream session, each with 10 calls of its own at once."""
    from mcp import Client

    argv = ["--config", str(file), "serve", "--http", "--port", "0", "--json", "--no-token"]
    process = subprocess.Popen(
        [sys.executable, "-m", "sutler.cli", *argv],
        cwd=file.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )

    async def one(url: str, name: str, number: int) -> None:
        async with Client(url) as client:
            answers = await asyncio.gather(
                *(client.call_tool(name, {"x": f"{number} {call}", "delay": 0.01}) for call in range(EACH))
            )
            said = [answer.content[0].text for answer in answers]
            assert said == [f"{number} {call}" for call in range(EACH)], said

    async def main(url: str) -> float:
        async with Client(url) as client:
            name = next(tool.name for tool in (await client.list_tools()).tools if tool.name.endswith("echo"))
        began = time.perf_counter()
        await asyncio.gather(*(one(url, name, number) for number in range(CLIENTS)))
        return time.perf_counter() - began

    try:
        assert process.stdout is not None
        took = asyncio.run(main(json.loads(process.stdout.readline())["url"]))
    finally:
        process.terminate()
        process.wait(20)
    return [[f"{CLIENTS} gateway clients, {EACH} calls each at once, connecting included", took * 1000, "none crossed"]]


def through_the_face(file: Path) -> list[list[object]]:
    """The same call through the server face, with the sessions on its loop, as `serve` has it, and on another.

    Switches: how often this process gave up its processor for one call, which a hop between threads makes it do.
    """
    from mcp import Client
    from sutler import Runtime
    from sutler.server.face import Face, Shape

    took: dict[bool, list[float]] = {False: [], True: []}
    switches: dict[bool, list[float]] = {False: [], True: []}

    async def measured(client: Any, shared: bool) -> None:
        async def call() -> None:
            assert not (await client.call_tool("echo", {"x": "1"})).is_error

        before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
        took[shared].append(await cpu(call, CALLS))
        switches[shared].append((resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before) / CALLS)

    async def main() -> None:
        async with AsyncExitStack() as stack:
            clients: dict[bool, Any] = {}
            for shared in (False, True):
                store = file.parent / f"{shared}.db"
                rt = await stack.enter_async_context(Runtime(**options(file, share_loop=shared, store=store)))
                assert await rt.ready(20)
                face = Face(rt, Shape())
                await face.listing()
                clients[shared] = await stack.enter_async_context(Client(face.server))
            for number in range(ROUNDS + 1):
                for shared, client in clients.items():
                    await measured(client, shared)
                if number == 0:
                    took[False], took[True] = [], []

    asyncio.run(main())
    names = {False: "sessions on a loop of their own", True: "sessions on the face's loop"}
    return [
        [what, min(took[shared]), statistics.median(took[shared]), statistics.median(switches[shared])]
        for shared, what in names.items()
    ]


def killed(file: Path) -> list[list[object]]:
    """A server dies in the middle of a call; how long the next call takes."""
    from sutler import SyncRuntime

    took: list[float] = []
    with SyncRuntime(**options(file, policy="full_access")) as rt:
        for _ in range(3):
            assert rt.ready(20) and rt.call("echo", {"x": "1"}).success
            assert not rt.call("die").success
            began = time.perf_counter()
            assert rt.call("echo", {"x": "2"}).success
            took.append(time.perf_counter() - began)

    async def theirs() -> str:
        async with bare() as client:
            for name in ("die", "echo"):
                try:
                    async with asyncio.timeout(5):
                        await client.call_tool(name, {"x": "1"})
                except Exception as error:
                    said = f"{type(error).__name__}: {error}"
                else:
                    said = "answered"
            return said

    try:
        said = asyncio.run(theirs())
    except BaseExceptionGroup as group:
        said = str(group.exceptions[0])
    return [["the next call after a death, ms", statistics.median(took) * 1000, f"SDK: {said}"]]


def reads(folder: Path) -> list[list[object]]:
    """20 reads of 50 ms on a server, in a comprehension without a word of concurrency."""
    from sutler import SyncRuntime
    from sutler.servers import CONCURRENCY

    text = f"[echo(x=f'{{i}}', delay={NAP}) for i in range({READS})]"
    rows: list[list[object]] = []
    for places in (CONCURRENCY, READS):
        took: list[float] = []
        with SyncRuntime(**options(config(folder, {"s": "ok"}, concurrency=places))) as rt:
            assert rt.ready(20)
            for _ in range(ROUNDS):
                began = time.perf_counter()
                run = rt.run(text)
                took.append(time.perf_counter() - began)
                assert run.output == [str(number) for number in range(READS)], run.error
        rows.append([f"{READS} reads of 50 ms, concurrency = {places}", statistics.median(took) * 1000, "in order"])
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ["SUTLER_CACHE_DIR"] = str(folder / "cache")
        file = config(folder, {"s": "ok"})
        show(
            "call round trip over stdio, CPU ms of the client",
            ["road", "min", "median", "min / min", "median of pairs"],
            round_trip(file),
        )
        columns = ["where", "min", "median", "switches a call"]
        show("a call through the server face, CPU ms with client and store", columns, through_the_face(file))
        show("a result of 20 MB over stdio, wall s", ["road", "s"], large(file))
        rows = [*at_once(file), *gateway(file), *killed(file), *reads(folder)]
        show("many at once, and a death, wall ms", ["what", "ms", "note"], rows)
    servers_start.main()
    servers_faults.main()


if __name__ == "__main__":
    sys.exit(main())
