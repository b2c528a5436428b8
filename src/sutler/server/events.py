"""What was sent on the streams of one HTTP session, so that a client whose connection broke can have it again.

The handshake era alone has this (Last-Event-ID). Bounded, oldest first to go; each session has its own, because the
SDK names streams by request ids, which clients of other sessions use too.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCMessage

from ..results.size import size_of

EVENTS: Final = 500  # kept of one session
BYTES: Final = 12_000_000  # kept of one session, about; a result may have 10 MB
RETRY: Final = 500  # milliseconds until a client is to come again


@dataclass(frozen=True, slots=True)
class _Event:
    """message None: nothing but a place on the stream. whole: False for one that was too large to keep."""

    number: int
    stream: str
    message: JSONRPCMessage | None
    size: int
    whole: bool = True


class Events(EventStore):
    """Those of one session."""

    def __init__(self, *, most: int = EVENTS, most_bytes: int = BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._events: deque[_Event] = deque()
        self._bytes = self._last = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._last += 1
        size = 100 + _size(message, self._most_bytes)
        if size > self._most_bytes:
            event = _Event(self._last, stream_id, None, 100, whole=False)
        else:
            event = _Event(self._last, stream_id, message, size)
        self._events.append(event)
        self._bytes += event.size
        while len(self._events) > self._most or self._bytes > self._most_bytes:
            self._bytes -= self._events.popleft().size
        return str(event.number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Nothing at all where something in between is no longer kept: half of it would look like all of it."""
        held = list(self._events)
        seen = next((event for event in held if str(event.number) == last_event_id), None)
        if seen is None:
            return None
        missed = [event for event in held if event.number > seen.number and event.stream == seen.stream]
        if not all(event.whole for event in missed):
            return None
        for event in missed:
            if event.message is not None:
                await send_callback(EventMessage(event.message, str(event.number)))
        return seen.stream


class Sessions(StreamableHTTPSessionManager):
    """The SDK's manager of HTTP sessions, which takes one store for all of them; here each new one gets its own."""

    @property
    def event_store(self) -> EventStore | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Events()

    @event_store.setter
    def event_store(self, given: EventStore | None) -> None:
        del given


def _size(message: JSONRPCMessage | None, enough: int) -> int:
    held = cast("Any", message)
    return size_of(getattr(held, "result", None) or getattr(held, "params", None), enough)
