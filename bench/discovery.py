"""Discovery of tool folders: cold, from the cache, and with every schema built; flat folders of 1 to 3,000 files.

Peer: lollms-client's LCPBinding over the same folder, in the interpreter SUTLER_PEER_LOLLMS (or SUTLER_PEER_PYTHON).
Figures: CPU seconds (process_time), each in a fresh process; `import` is apart, the best of RUNS.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .table import show

SIZES = (1, 27, 300, 3000)
RUNS = 3

FILE = '''"""Library {n}: what one person's scripts look like."""

import json
from pathlib import Path
from typing import Any, Dict, List, Optional

TOOL_LIBRARY_NAME = "Library {n}"
TOOL_LIBRARY_DESC = "Reads and writes things of kind {n}."

_LIMIT = 50


def _clean(text: str) -> str:
    return " ".join(text.split())[:_LIMIT]


def tool_search_{n}(query: str, limit: int = 10, tags: Optional[List[str]] = None) -> Dict[str, Any]:
    """Searches things of kind {n}.

    Args:
        query (str): What to look for.
        limit (int): How many results at most.
        tags (list): Only things with one of these tags.
    """
    found = []
    for index in range(int(limit)):
        if tags and str(index) in tags:
            continue
        found.append({{"title": _clean(query), "rank": index}})
    return {{"success": True, "output": found}}


def tool_store_{n}(name: str, value: dict, overwrite: bool = False) -> Dict[str, Any]:
    """Stores one thing of kind {n} in a file.

    Args:
        name: The name of the file.
        value: What to store.
        overwrite: Whether a file that is there may be replaced.
    """
    path = Path(name)
    if path.exists() and not overwrite:
        return {{"success": False, "error": f"{{name}} is there already"}}
    path.write_text(json.dumps(value))
    return {{"success": True, "output": str(path)}}
'''

OURS = """
import json, sys, time
folder, cache, schemas = sys.argv[1], sys.argv[2], sys.argv[3] == "schemas"
from pathlib import Path
start = time.process_time()
from sutler.sources.shelf import open_folders
imported = time.process_time()
sources = open_folders([folder], cache=Path(cache) if cache else False)
specs = [spec for source in sources for spec in source.discover()]
if schemas:
    for spec in specs:
        spec.input_schema
took = time.process_time() - imported
import resource
print(json.dumps([len(specs), imported - start, took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""

PEER = """
import contextlib, io, json, sys, time
start = time.process_time()
with contextlib.redirect_stdout(io.StringIO()):
    from lollms_client.tools_bindings.lcp import LCPBinding
    imported = time.process_time()
    binding = LCPBinding(tools_folders=[sys.argv[1]])
    took = time.process_time() - imported
import resource
print(json.dumps([len(binding.discovered_tools), imported - start, took,
                  resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def make(folder: Path, files: int) -> None:
    """Writes `files` files of two tools each, as old as files that nobody is writing at this moment."""
    old = time.time() - 3600
    for number in range(files):
        file = folder / f"lib{number:05}.py"
        file.write_text(FILE.format(n=number), encoding="utf-8")
        os.utime(file, (old, old))


def fresh(python: str, code: str, *args: str) -> list[float]:
    """[tools, import s, discovery s, peak MiB] of a new process."""
    done = subprocess.run([python, "-c", code, *args], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def best(python: str, code: str, *args: str, runs: int = RUNS) -> list[float]:
    return min((fresh(python, code, *args) for _ in range(runs)), key=lambda figures: figures[2])


def main() -> None:
    peer = os.environ.get("SUTLER_PEER_LOLLMS") or os.environ.get("SUTLER_PEER_PYTHON")
    rows: list[list[object]] = []
    for files in SIZES:
        with tempfile.TemporaryDirectory() as temporary:
            folder, cache = Path(temporary, "tools"), Path(temporary, "cache")
            folder.mkdir()
            make(folder, files)
            cold = best(sys.executable, OURS, str(folder), "", "names")
            schemas = best(sys.executable, OURS, str(folder), "", "schemas", runs=1)
            fresh(sys.executable, OURS, str(folder), str(cache), "names")
            cached = best(sys.executable, OURS, str(folder), str(cache), "names")
            theirs = best(peer, PEER, str(folder), runs=1 if files > 1000 else RUNS) if peer else None
            rows.append(
                [files, int(cold[0]), cold[1], cold[2], cached[2], schemas[2], cold[3]]
                + (["-"] * 4 if theirs is None else [theirs[1], theirs[2], theirs[3], f"{theirs[2] / cold[2]:.1f}"])
            )
            assert int(cold[0]) == int(cached[0]) == files * 2
    ours = ["files", "tools", "import", "cold", "cached", "cold + schemas", "peak MiB"]
    show("discovery, CPU s", [*ours, "lollms import", "lollms", "lollms peak MiB", "lollms/cold"], rows)
    if peer is None:
        print("\n(no peer: SUTLER_PEER_LOLLMS is not set)")


if __name__ == "__main__":
    sys.exit(main())
