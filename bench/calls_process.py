"""A worker process: what its start, a call, a request to the host, large values and a kill cost.

Beside it: the floor (one line there and back between two Python processes over pipes) and the standard library's
process pool (spawn), which pickles and cannot kill. Figures: wall time; medians.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sutler.errors import ToolTimeout
from sutler.workspace.worker import Worker

from .table import show

ECHO = """
import os, sys
lines = os.fdopen(int(sys.argv[1]), "rb")
while line := lines.readline():
    os.write(int(sys.argv[2]), line)
"""


def make(payload: dict[str, Any], host: Any) -> Callable[[str, dict[str, Any]], Any]:
    """The entry that the worker runs."""

    def handle(method: str, args: dict[str, Any]) -> Any:
        match method:
            case "ask":
                return host.request("echo", {})
            case "text":
                return "x" * args["size"]
            case "rows":
                return [{"a": number, "b": "text"} for number in range(args["count"])]
            case "sleep":
                return time.sleep(60)
            case _:
                return args["value"]

    return handle


def answer(name: str, args: dict[str, Any]) -> int:
    """What the host does for a request."""
    return 1


def echo(value: Any) -> Any:
    return value


def median(work: Callable[[], Any], count: int) -> float:
    """Milliseconds."""
    took: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return sorted(took)[count // 2] * 1e3


def floor() -> float:
    theirs, ours = os.pipe()
    back, there = os.pipe()
    child = subprocess.Popen([sys.executable, "-S", "-c", ECHO, str(theirs), str(there)], pass_fds=(theirs, there))
    os.close(theirs)

    def once() -> None:
        os.write(ours, b"x" * 60 + b"\n")
        os.read(back, 65_536)

    took = median(once, 3_000)
    os.close(ours)
    child.wait()
    os.close(back)
    os.close(there)
    return took


def main() -> int:
    rows: list[Sequence[object]] = []
    with tempfile.TemporaryDirectory() as temporary:
        cwd = Path(temporary)

        def cold() -> None:
            with Worker("bench.calls_process:make", {}) as fresh:
                fresh.call("echo", {"value": 1}, cwd=cwd, timeout=60)

        with Worker("bench.calls_process:make", {}) as worker:

            def call(method: str, **args: Any) -> Any:
                return worker.call(method, args, cwd=cwd, timeout=60, on_request=answer)

            def killed() -> None:
                began = time.perf_counter()
                try:
                    worker.call("sleep", {}, cwd=cwd, timeout=0.2)
                except ToolTimeout:
                    over.append((time.perf_counter() - began - 0.2) * 1e3)

            call("echo", value=1)
            over: list[float] = []
            rows += [
                ["a line there and back, bare", floor()],
                ["a call", median(lambda: call("echo", value=1), 3_000)],
                ["a call that asks the host once", median(lambda: call("ask"), 3_000)],
                ["an answer of 2 MB of text", median(lambda: call("text", size=2_000_000), 20)],
                ["an answer of 20 MB of text", median(lambda: call("text", size=20_000_000), 5)],
                ["an answer of 100,000 rows", median(lambda: call("rows", count=100_000), 5)],
            ]
            for _ in range(5):
                call("echo", value=1)
                killed()
            rows.append(["from the deadline to all dead and buried", sorted(over)[2]])
        rows.append(["start, first call, close", median(cold, 7)])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(echo, 1).result()
        rows.append(["a call of ProcessPoolExecutor", median(lambda: pool.submit(echo, 1).result(), 2_000)])
    show("a worker process", ["what", "ms, median"], rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
