"""One request to a server and what came of it, as whoever asks, the session and the transport see it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .relay import Relay

if TYPE_CHECKING:
    import mcp_types as types


@dataclass(slots=True, kw_only=True)
class HttpFailure:
    """An HTTP answer that carries no protocol. status 0: there was none, `network` says why."""

    status: int = 0
    reason: str = ""
    network: str = ""
    sent: bool = True
    authenticate: str = ""
    retry_after: float | None = None
    content_type: str = ""
    location: str = ""
    body: str = ""

    def __str__(self) -> str:
        if not self.status:
            return self.network
        said = f"HTTP {self.status} {self.reason}".rstrip()
        if self.status < 300:
            said = f"it answers with {self.content_type or 'no content type'} where MCP was expected"
        if self.location:
            said += f", a redirect to {self.location}, which is not followed"
        if self.authenticate:
            said += f", WWW-Authenticate: {self.authenticate}"
        if self.retry_after is not None:
            said += f", Retry-After: {self.retry_after:g} s"
        return f"{said}: {self.body}" if self.body else said


@dataclass(slots=True, kw_only=True, eq=False)
class Exchange:
    """One request of ours and what came of it, MRTR rounds included. Found by context, and by id once it has one.

    sent: some of it may have reached the server. raw: the answer as it came. error: an error of the peer's own making,
    None for one that was made on this side. unauthorized: a 401 that a request before the last one was refused with.
    relay: the modern client that the server's questions go to as they come. whose: the client that the call is for, of
    the several that a server face may have; None for the host itself.
    """

    method: str
    tool: str = ""
    whose: object = None
    sent: bool = False
    raw: dict[str, Any] | None = None
    error: types.ErrorData | None = None
    failure: HttpFailure | None = None
    unauthorized: HttpFailure | None = None
    progress: Callable[..., Any] | None = None
    ask: Callable[[dict[str, Any]], Any] | None = None
    relay: Relay | None = None
    log: Callable[[Mapping[str, Any]], None] | None = None
    broke: Callable[[], None] | None = None
    deadline: asyncio.Timeout | None = None
    asking: int = 0
    left: float = 0.0
    ids: list[int | str] = field(default_factory=lambda: list[int | str]())
    notes: list[str] = field(default_factory=lambda: list[str]())


current: ContextVar[Exchange | None] = ContextVar("sutler_mcp_exchange", default=None)


class Lost(Exception):
    """A call has no answer. sent: it may have run; refused: it was sent, and the server says that it did not run it.

    again_in: seconds the server wants to be left alone.
    """

    def __init__(self, why: str, *, sent: bool, refused: bool = False, again_in: float = 0.0) -> None:
        super().__init__(why)
        self.sent = sent
        self.refused = refused
        self.again_in = again_in
