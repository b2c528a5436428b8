"""For whom a call is made, when it is a client of the server face: what it may be asked, and what it has answered.

A context variable, because between the face and the session lies the runtime, which need know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Relay:
    """One client's request. modern: its era, in which a server's questions go to the client as they came.

    capabilities: what the client declares, as the wire has it. responses: answers that came with the request itself.
    log: told what the server logs in this call, from any thread. broke: told, from any thread, when the server ends the
    stream that the call waits on, to be asked for the rest later.
    The `ask` of its call takes {"input_requests": ...} and gives {"input_responses": ...}, both as the wire has them.
    """

    modern: bool
    capabilities: Mapping[str, Any]
    responses: Any = None
    log: Callable[[Mapping[str, Any]], None] | None = None
    broke: Callable[[], None] | None = None


whose: ContextVar[object | None] = ContextVar("sutler_mcp_whose", default=None)  # tells the clients of a face apart
relay: ContextVar[Relay | None] = ContextVar("sutler_mcp_relay", default=None)
