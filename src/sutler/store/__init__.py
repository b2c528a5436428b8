"""Runs, calls and the audit log, kept in memory or in one SQLite file (DESIGN: Store)."""

from __future__ import annotations

from .audit import AuditFilter, AuditRecord
from .keeping import Keep
from .memory import MemoryStore
from .pins import PinRecord
from .records import Masks, RunRecord, StepRecord, Store, StoredStatus
from .sqlite import SqliteStore, default_path
from .verify import AuditCheck

__all__ = [
    "AuditCheck",
    "AuditFilter",
    "AuditRecord",
    "Keep",
    "Masks",
    "MemoryStore",
    "PinRecord",
    "RunRecord",
    "SqliteStore",
    "StepRecord",
    "Store",
    "StoredStatus",
    "default_path",
]
