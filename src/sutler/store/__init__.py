"""Runs, calls and events, kept in memory or in one SQLite file (DESIGN: Store)."""

from __future__ import annotations

from .memory import MemoryStore
from .records import EventRecord, Masks, RunRecord, StepRecord, Store, StoredStatus
from .sqlite import SqliteStore, default_path

__all__ = [
    "EventRecord",
    "Masks",
    "MemoryStore",
    "RunRecord",
    "SqliteStore",
    "StepRecord",
    "Store",
    "StoredStatus",
    "default_path",
]
