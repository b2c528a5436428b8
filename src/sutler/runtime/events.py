"""What a host hears while calls and runs go on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EventKind = Literal[
    "call_started", "progress", "call_finished", "approval", "run_started", "run_finished", "tools_changed"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened. `data` is plain and already masked; `tool` is source::tool, empty for runs.

    tools_changed: data has added, removed and changed (lists of source::tool) and libraries (ids), see LIB-09.
    """

    kind: EventKind
    tool: str = ""
    call_id: str = ""
    run_id: str | None = None
    data: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())


EventHandler = Callable[[Event], object]

_log = logging.getLogger("sutler")


def tell(handler: EventHandler | None, event: Event) -> None:
    """Tells the host; a handler that fails is logged and never harms the call."""
    if handler is None:
        return
    try:
        handler(event)
    except Exception:
        _log.exception("on_event failed on %s", event.kind)
