"""`make bench`: every benchmark, one table each. Peers join where their interpreters are named.

SUTLER_PEER_LOLLMS: a Python with lollms-client 1.21.1. SUTLER_PEER_LACKPY: a Python with lackpy 0.15.1 and mcp<2.
`python -m bench NAME ...` runs some of them.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys

NAMES = ("startup", "calls", "programs", "concurrency", "discovery", "inventory", "workspaces", "servers", "policy")


def main() -> None:
    names = sys.argv[1:] or list(NAMES)
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
    cores = os.cpu_count()
    print(f"Python {platform.python_version()}, {platform.machine()}, {cores} cores, load {os.getloadavg()[0]:.1f}")
    sys.argv = sys.argv[:1]
    for name in names:
        importlib.import_module(f".{name}", __package__).main()


if __name__ == "__main__":
    main()
