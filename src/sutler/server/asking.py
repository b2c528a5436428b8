"""One request of a client that a tool or program works for, and the person behind that client (MCP-14).

In the handshake era a question is a request of ours to the client (elicitation/create). In the modern one a server may
send none: it answers with `input_required`, and the client sends its request again with the person's answer. The call
meanwhile waits where it stands. A client that cannot ask its person is never asked: the answer is no, at once.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from uuid import uuid4

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ..mcp.relay import Relay

Context = ServerRequestContext[Any, Any]
Wire = dict[str, Any]
Mode = Literal["form", "url"]
Action = Literal["accept", "decline", "cancel", "unasked"]

current: ContextVar[Exchange | None] = ContextVar("sutler_exchange", default=None)

KEY: Final = "question"  # of a form of ours
_BACKLOG: Final = 64  # progress that is waiting to be sent; more of it would only be late
_STEP: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the person said to a form. action `unasked`: the client cannot ask, `why` says in words."""

    action: Action
    values: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What waits for the client in the modern era, by key: a form of ours, or the questions of a server as they came.

    relayed: the client's answers are the reply's values, as they come.
    """

    requests: Mapping[str, Any]
    relayed: bool = False
    reply: asyncio.Future[Reply]


@dataclass(frozen=True, slots=True)
class _Progress:
    text: str
    fraction: float | None


@dataclass(frozen=True, slots=True)
class _Log:
    params: Mapping[str, Any]


class Exchange:
    """One tools/call from its first request to its result. Made and used on the server's loop, but for `progress`."""

    def __init__(self, context: Context, work: Callable[[Exchange], Coroutine[Any, Any, Wire]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._context = context
        self._inbox: asyncio.Queue[_Progress | _Log | Question | None] = asyncio.Queue()
        self._asking = asyncio.Lock()
        self._sent = -1.0
        self._backlog = 0
        own = contextvars.copy_context()
        own.run(current.set, self)
        self.task = self._loop.create_task(work(self), context=own)
        self.task.add_done_callback(self._ended)

    @property
    def modern(self) -> bool:
        return self._context.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def connection(self) -> Connection:
        return connection_of(self._context)

    def as_relay(self, *, logs: bool) -> Relay:
        """The client, for the sessions with upstream servers. logs: it is to hear what they log in this call."""
        params: Any = self._context.params or {}
        declared = self._context.session.client_capabilities
        has = declared.model_dump(by_alias=True, mode="json", exclude_none=True) if declared is not None else {}
        return Relay(
            modern=self.modern,
            capabilities=has,
            responses=params.get("inputResponses"),
            log=self._log if logs else None,
            broke=self._break,
        )

    def _break(self) -> None:
        """From any thread: as the upstream server does, have the client come back for the rest, where it can."""
        close = self._context.close_sse_stream
        if close is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(lambda: self._loop.create_task(_awaited(close())))

    async def turn(self, context: Context) -> Wire | Question:
        """Serves one request of the client until there is a result, or a question that the client must answer first.

        Cancelling it cancels the work.
        """
        self._context = context
        try:
            while True:
                item = await self._inbox.get()
                if isinstance(item, _Progress | _Log):
                    self._backlog -= 1
                    await (self._send(item) if isinstance(item, _Progress) else self._send_log(item))
                elif item is not None:
                    if not item.reply.done():
                        return item
                elif self.task.cancelled():
                    raise MCPError(code=-32000, message="the server is closing")
                else:
                    return self.task.result()
        except asyncio.CancelledError:
            self.task.cancel()
            raise

    def _ended(self, task: asyncio.Task[Wire]) -> None:
        if not task.cancelled():
            task.exception()  # read here, for nobody may be left to read it
        self._inbox.put_nowait(None)

    # ------------------------------------------------------------------ progress

    def progress(self, text: str, fraction: float | None = None) -> None:
        """From any thread: what the tool says of how far it is."""
        if "progressToken" not in ((self._context.params or {}).get("_meta") or {}):
            return
        self._later(_Progress(text, fraction))

    def _log(self, params: Mapping[str, Any]) -> None:
        """From any thread: what an upstream server logs."""
        self._later(_Log(params))

    def _later(self, item: _Progress | _Log) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._note, item)

    def _note(self, item: _Progress | _Log) -> None:
        if self._backlog < _BACKLOG:
            self._backlog += 1
            self._inbox.put_nowait(item)

    async def _send(self, item: _Progress) -> None:
        """As the protocol wants it: each number above the last. Without a share done it is the count of messages."""
        if item.fraction is None or not 0 <= item.fraction <= 1:
            self._sent, total = (self._sent + _STEP, 1.0) if 0 <= self._sent < 1 else (max(self._sent, 0) + 1, None)
        else:
            self._sent, total = max(item.fraction, self._sent + _STEP), 1.0
        await self._context.session.report_progress(self._sent, total, item.text or None)

    async def _send_log(self, item: _Log) -> None:
        with suppress(ValidationError):  # it is no log message of the protocol
            params = LoggingMessageNotificationParams.model_validate(dict(item.params))
            told = LoggingMessageNotification(params=params)
            await self._context.session.send_notification(told, self._context.request_id)

    # ------------------------------------------------------------------ the person

    def unaskable(self, mode: Mode = "form") -> str:
        """Why this client cannot ask its person so, or ""."""
        if not _takes(self._context.session.client_capabilities, mode):
            return f"the MCP client cannot ask its user (it declares no {mode} elicitation)"
        if not self.modern and not self._context.session.can_send_request:
            return "this connection has no way to ask the MCP client's user"
        return ""

    async def ask(self, params: ElicitRequestParams) -> Reply:
        """Puts a form, or a link to follow, before the person; one at a time."""
        why = self.unaskable(params.mode)
        if why:
            return Reply(action="unasked", why=why)
        async with self._asking:
            if not self.modern:
                return await self._push(params)
            return await self._put(Question(requests={KEY: _form(params)}, reply=self._loop.create_future()))

    async def relay(self, requests: Mapping[str, Any]) -> Reply:
        """Puts a modern server's own questions before a modern client."""
        async with self._asking:
            return await self._put(Question(requests=requests, relayed=True, reply=self._loop.create_future()))

    async def sample(self, params: CreateMessageRequestParams) -> Reply:
        """An answer of the handshake-era client's model, as the one value of the reply. MCPError when it refuses."""
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        request = CreateMessageRequest(params=params)
        answer = await self._context.session.send_request(request, CreateMessageResult, metadata=related)
        return Reply(action="accept", values={"answer": answer})

    async def _put(self, question: Question) -> Reply:
        self._inbox.put_nowait(question)
        return await question.reply

    async def _push(self, params: ElicitRequestParams) -> Reply:
        session, request = self._context.session, self._context.request_id
        try:
            if isinstance(params, ElicitRequestFormParams):
                result = await session.elicit_form(params.message, params.requested_schema, related_request_id=request)
            else:
                result = await session.elicit_url(
                    params.message, params.url, params.elicitation_id or uuid4().hex, related_request_id=request
                )
        except (MCPError, ValidationError) as error:
            return Reply(action="unasked", why=f"the MCP client could not ask its user: {error}")
        return reply_of(result)


async def _awaited(work: Awaitable[None]) -> None:
    await work


def _form(params: ElicitRequestParams) -> Wire:
    return ElicitRequest(params=params).model_dump(by_alias=True, mode="json", exclude_none=True)


def connection_of(context: Context) -> Connection:
    """The client behind a request; nothing else names it."""
    return context.session._connection  # pyright: ignore[reportPrivateUsage]


def reply_of(result: ElicitResult) -> Reply:
    return Reply(action=result.action, values=result.content or {})


def _takes(capabilities: ClientCapabilities | None, mode: Mode) -> bool:
    """An elicitation capability that names no mode means forms."""
    asks = capabilities.elicitation if capabilities is not None else None
    if asks is None:
        return False
    return asks.url is not None if mode == "url" else asks.form is not None or asks.url is None
