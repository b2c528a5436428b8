"""One faulty server between two healthy ones: how much later those are, and what is said of the faulty (MCP-03).

`python -m bench.servers_faults`. The faulty servers are those of the tests. Seconds of wall time over the same two
servers alone, the median of ROUNDS; what the loading of the SDK costs is paid before.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from sutler.mcp.manager import ServerManager
from sutler.servers import ServerSpec

from .table import show

SERVER = Path(__file__).parents[1] / "tests" / "faults" / "stdio_server.py"
MODES = """exit die_on_list half_line leave hang hang_list deaf bad_version bad_init silent banner stderr_flood
    slow_start slow_modern ignore_end orphan no_schema list_is_text listed_twice no_tools pages same_cursor endless
    number_cursor""".split()
ROUNDS, MOST = 3, 0.3


def once(mode: str | None, folder: Path) -> tuple[float, str]:
    """When the later of the healthy servers was ready, and the reason of the faulty one."""

    def spec(id: str, mode: str) -> ServerSpec:
        args = ("-S", "-E", str(SERVER), mode, str(folder / f"{id}-{mode}-{time.time_ns()}"))
        return ServerSpec(id=id, command=sys.executable, args=args, cwd=folder, connect_timeout=3)

    faulty = [] if mode is None else [spec("faulty", mode)]
    manager = ServerManager([spec("one", "ok"), *faulty, spec("two", "modern")])
    began = time.time()
    manager.start()
    try:
        assert manager.wait(30, ["one", "two"])
        took = max(manager.state(id).since for id in ("one", "two")) - began
        if mode is None:
            return took, ""
        manager.wait(10, ["faulty"])
        state = manager.state("faulty")
        return took, state.reason or (state.notes[0] if state.notes else "it is used all the same")
    finally:
        assert manager.close() == (), "a process had to be left"


def main() -> None:
    rows: list[list[object]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        once(None, folder)
        alone = statistics.median(once(None, folder)[0] for _ in range(2 * ROUNDS))
        for mode in MODES:
            runs = [once(mode, folder) for _ in range(ROUNDS)]
            rows.append([mode, statistics.median(took for took, _ in runs) - alone, runs[0][1][:80]])
    show(
        f"two healthy servers beside a faulty one, wall s over {alone:.2f}", ["fault", "s later", "what is said"], rows
    )
    late = max(float(str(row[1])) for row in rows)
    print(f"at most {late:.2f} s later; {MOST} is the most")


if __name__ == "__main__":
    sys.exit(main())
