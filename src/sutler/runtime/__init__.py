"""One tool runtime: open it, see its tools, call one, or run a program that composes many."""

from __future__ import annotations

from .context import ToolContext
from .events import Event
from .faces import AsyncToolbox, Face, Runtime, SyncRuntime

__all__ = ["AsyncToolbox", "Event", "Face", "Runtime", "SyncRuntime", "ToolContext"]
