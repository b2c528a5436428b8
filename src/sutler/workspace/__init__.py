"""The folder a run works in: which paths belong to it, the threads and loops that live in it, the processes beside it."""

from __future__ import annotations

from .cwd import Probe, per_thread_cwd
from .root import Workspace, current, resolve_safe_path
from .threads import Busy, WorkspaceThreads
from .watchdog import Deadline

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
