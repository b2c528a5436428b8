"""The folder a run works in: which paths belong to it, the threads and loops in it, the processes beside it.

Names are loaded when first used: a worker process needs few of them and starts sooner without the rest.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cwd import Probe, per_thread_cwd
    from .root import Workspace, current, resolve_safe_path
    from .threads import Busy, WorkspaceThreads
    from .watchdog import Deadline

_HOMES = {
    "Busy": "threads",
    "Deadline": "watchdog",
    "Probe": "cwd",
    "Workspace": "root",
    "WorkspaceThreads": "threads",
    "current": "root",
    "per_thread_cwd": "cwd",
    "resolve_safe_path": "root",
}

__all__ = [
    "Busy",
    "Deadline",
    "Probe",
    "Workspace",
    "WorkspaceThreads",
    "current",
    "per_thread_cwd",
    "resolve_safe_path",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value
