"""What starting costs: importing the package, and the command line's own version, as whole processes.

Peers: lollms-client in SUTLER_PEER_LOLLMS, lackpy in SUTLER_PEER_LACKPY. Figures: seconds of CPU, the median of seven,
an empty Python taken off.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from .table import show


def cpu(command: list[str]) -> float:
    took: list[float] = []
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(took)


def main() -> None:
    python = sys.executable
    empty = cpu([python, "-c", "pass"])
    rows: list[list[object]] = [
        ["import sutler", cpu([python, "-c", "import sutler"]) - empty],
        ["from sutler import SyncRuntime", cpu([python, "-c", "from sutler import SyncRuntime"]) - empty],
        ["sutler --version, the whole process", cpu([str(Path(python).parent / "sutler"), "--version"])],
    ]
    for name, variable, module in (
        ("lollms-client's LCPBinding", "SUTLER_PEER_LOLLMS", "lollms_client.tools_bindings.lcp"),
        ("lackpy's service", "SUTLER_PEER_LACKPY", "lackpy.service"),
    ):
        peer = os.environ.get(variable)
        if peer:
            rows.append([name, cpu([peer, "-c", f"import {module}"]) - cpu([peer, "-c", "pass"])])
    show("starting, CPU s", ["what", "s"], rows)


if __name__ == "__main__":
    main()
