"""100 callers in 100 workspaces at once: how many jobs met another workspace's files, and what a job costs.

A job reads a relative file, asks for the current directory, sleeps a little as tools do, writes a relative file, and
every 20th runs a subprocess. Compared: threads that belong to a workspace, a process-wide chdir before each job, the
same under one lock. Figures: wall time, all in one process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sutler.workspace.cwd import per_thread_cwd
from sutler.workspace.threads import WorkspaceThreads

from .table import show

SPACES = 100
JOBS = 6_000
PAUSE = 0.002

Job = Callable[[int, int], None]


def job(number: int, turn: int, wrong: list[int]) -> None:
    """What a tool does in workspace `number`; appends to `wrong` when it met something else."""
    try:
        seen = {Path("name").read_text(), Path.cwd().name}
        time.sleep(PAUSE)
        Path(f"made-{turn % 4}").write_text(str(number))
        seen.add(Path(f"made-{turn % 4}").read_text())
        seen.add(Path("name").resolve().parent.name)
        if turn % 20 == 0:
            seen.add(subprocess.run(["cat", "name"], capture_output=True, text=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        wrong.append(number)
    else:
        if seen != {str(number)}:
            wrong.append(number)


def drive(run: Job) -> float:
    """All jobs, from one caller per workspace; seconds."""

    def caller(number: int) -> None:
        for turn in range(JOBS // SPACES):
            run(number, turn)

    began = time.perf_counter()
    with ThreadPoolExecutor(SPACES) as callers:
        list(callers.map(caller, range(SPACES)))
    return time.perf_counter() - began


def hops(threads: WorkspaceThreads, count: int = 5_000) -> float:
    """Microseconds of one empty function there and back, the median."""
    took: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        threads.submit(int).result()
        took.append(time.perf_counter() - began)
    return sorted(took)[count // 2] * 1e6


def main() -> int:
    home = Path.cwd()
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as temporary:
        roots = [Path(temporary).resolve() / str(number) for number in range(SPACES)]
        for root in roots:
            root.mkdir()
            (root / "name").write_text(root.name)
        pools = [WorkspaceThreads(root) for root in roots]
        lock = threading.Lock()
        wrong: list[int] = []

        def owned(number: int, turn: int) -> None:
            pools[number].submit(lambda: job(number, turn, wrong)).result()

        def moved(number: int, turn: int) -> None:
            os.chdir(roots[number])
            job(number, turn, wrong)

        def locked(number: int, turn: int) -> None:
            with lock:
                moved(number, turn)

        for name, run in (("thread of its workspace", owned), ("chdir", moved), ("chdir under a lock", locked)):
            wrong.clear()
            seconds = drive(run)
            rows.append([name, JOBS, len(wrong), seconds, seconds / JOBS * 1e3, Path.cwd() == home])
            os.chdir(home)
        hop = hops(pools[0])
        for pool in pools:
            pool.close()
    show(
        f"{SPACES} workspaces at once (own directory per thread: {per_thread_cwd().how or per_thread_cwd().reason})",
        ["way", "jobs", "wrong", "seconds", "ms a job", "process cwd kept"],
        rows,
    )
    show("one empty function on an idle workspace thread and back", ["us, median"], [[hop]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
