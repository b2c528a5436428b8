"""Concurrency without await: reads of one comprehension, under way at once and one after the other (PRG-08).

Figures: wall milliseconds of the whole program, the best of five. "In order" announces nothing ahead.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .table import show

NAPS, NAP = 20, 0.05
MOST = 150.0  # ms for 20 reads of 50 ms, of which 16 may be under way at once: two rounds and a little
FILES, QUICK = 200, 500


def best(rt: Any, text: str, expected: Any, **params: Any) -> float:
    took: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        run = rt.run(text, params=params)
        took.append(time.perf_counter() - began)
        assert run.output == expected, run.error
    return min(took) * 1000


def main() -> None:
    from sutler import SyncRuntime, tool
    from sutler.programs.checks import Checks

    @tool(read_only=True)
    async def look(i: int) -> int:
        """An answer that takes a while, awaited."""
        await asyncio.sleep(NAP)
        return i

    @tool(read_only=True)
    def fetch(i: int) -> int:
        """The same on a thread."""
        time.sleep(NAP)
        return i

    @tool(read_only=True)
    def same(i: int) -> int:
        """Nothing to wait for."""
        return i

    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{number}.txt" for number in range(FILES)]
        for path in paths:
            (Path(folder) / path).write_text("a line of text\n" * 500)
        options: dict[str, Any] = {"tools": [look, fetch, same], "config": False, "workspace": folder}
        with SyncRuntime(**options) as ahead, SyncRuntime(**options) as plain:
            plain._core.runs._checks = Checks(ahead=False)  # pyright: ignore[reportPrivateUsage]
            sizes = "sum([len(text) for text in [read_file(path) for path in paths]])"
            programs: list[tuple[str, str, Any, dict[str, Any]]] = [
                (f"{NAPS} async reads of 50 ms", f"[look(i) for i in range({NAPS})]", list(range(NAPS)), {}),
                (f"{NAPS} sync reads of 50 ms", f"[fetch(i) for i in range({NAPS})]", list(range(NAPS)), {}),
                ("parallel([...]) of 3 reads of 50 ms", "parallel([look(1), fetch(2), look(3)])", [1, 2, 3], {}),
                (f"read_file of {FILES} small files", sizes, FILES * 500 * 15, {"paths": paths}),
                (f"{QUICK} reads that take no time", f"[same(i) for i in range({QUICK})]", list(range(QUICK)), {}),
            ]
            for what, text, expected, params in programs:
                together, apart = best(ahead, text, expected, **params), best(plain, text, expected, **params)
                rows.append([what, together, apart, f"{together / apart:.2f}"])
    show("concurrency, wall ms", ["what", "at once", "in order", "ratio"], rows)
    first = rows[0][1]
    assert isinstance(first, float) and first <= MOST, (
        f"{NAPS} reads of 50 ms took {first:.0f} ms; {MOST:.0f} is the most"
    )


if __name__ == "__main__":
    sys.exit(main())
