"""What stands between a transport and the SDK's session: every message of one connection passes here, both ways.

It keeps whole answers out of the SDK, whose models lose a page of tools to one bad entry and a result to one block
they do not know: the session gets a stand-in, the caller of the exchange gets what the server sent. It answers for a
server that is silent on server/discover, so that the wait for an old server is ours to choose. It takes notifications
that come in storms before each costs a task. Imports the SDK: to be imported when a server is to be reached.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

import anyio
import mcp_types as types
import pydantic_core
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from .exchange import Exchange, current
from .states import take_notes
from .stdio import Junk, TooLong

for _name in ("mcp", "client"):  # what the SDK logs is told as a reason or a note; unasked it would go to stderr
    logging.getLogger(_name).addHandler(logging.NullHandler())

_STAND_IN: dict[str, Any] = {"content": [], "isError": True, "resultType": "complete"}
_RESPONSE = frozenset(("jsonrpc", "id", "result"))
_LOGS_KEPT = 20
_ASKED_KEPT = 1000  # requests of a server that nobody has looked at yet
_FORWARDED = frozenset(
    (
        "notifications/cancelled",
        "notifications/progress",
        "notifications/subscriptions/acknowledged",
        "notifications/resources/updated",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
    )
)
_ID_FIRST = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?"id"\s*:\s*(\d+|"[^"\\]*")')
_ID_LAST = re.compile(rb'[,{]\s*"id"\s*:\s*(\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2.0"\s*)?\}\s*$')


class Link:
    """One connection. `on_changed`: the server says its tools changed. `on_gone`: it will say nothing more.

    `mask`: takes secrets out of what a server says of a failure.
    """

    def __init__(
        self,
        *,
        probe: float | None,
        on_changed: Callable[[], None],
        on_gone: Callable[[], None],
        on_notification: Callable[[str, Mapping[str, Any]], None] | None = None,
        junk: Junk | None = None,
        mask: Callable[[str], str] = str,
    ) -> None:
        self._mask = mask
        self._probe = probe
        self._on_changed = on_changed
        self._on_gone = on_gone
        self._on_notification = on_notification
        self._requests: dict[types.RequestId, tuple[str, Exchange | None]] = {}
        self._in, self.reader = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
        self._silence: asyncio.TimerHandle | None = None
        self._silent: types.RequestId | None = None  # the discover request that was answered for the server
        self._late: dict[str, Any] | None = None  # what the server then said after all
        self.junk = Junk() if junk is None else junk
        self.logs: deque[str] = deque(maxlen=_LOGS_KEPT)
        self.notes: dict[str, None] = {}
        self.gone = False
        self._asked: dict[types.RequestId, Exchange] = {}

    # ------------------------------------------------------------------ to the server

    def outgoing(self, message: types.JSONRPCMessage) -> Exchange | None:
        """Note what is being asked. The exchange that the request belongs to, if any."""
        if not isinstance(message, types.JSONRPCRequest):
            if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
                self._requests.pop((message.params or {}).get("requestId", 0), None)
            return None
        exchange = current.get()
        self._requests[message.id] = (message.method, exchange)
        if exchange is not None:
            exchange.ids.append(message.id)
            if exchange.failure is not None and exchange.failure.status == 401:
                exchange.unauthorized = exchange.failure
            exchange.error = exchange.failure = None  # of the request before it
            if exchange.relay is not None and message.method == "tools/call" and message.params is not None:
                meta: dict[str, Any] = message.params.setdefault("_meta", {})
                meta[types.CLIENT_CAPABILITIES_META_KEY] = dict(exchange.relay.capabilities)
        if message.method == "server/discover" and self._probe is not None:
            loop = asyncio.get_running_loop()
            self._silence = loop.call_later(self._probe, self._answer_discover, message.id)
        return exchange

    def forget(self, exchange: Exchange) -> None:
        """Nobody waits for its answers any more."""
        for one in exchange.ids:
            self._requests.pop(one, None)

    def in_flight(self) -> list[Exchange]:
        """The calls that wait for an answer, oldest first."""
        found = [exchange for method, exchange in self._requests.values() if method == "tools/call"]
        return [exchange for exchange in found if exchange is not None]

    def _answer_discover(self, request: types.RequestId) -> None:
        if request in self._requests:
            self._silent = request
            self.refuse(request, types.REQUEST_TIMEOUT, "the server is silent on server/discover")

    def refuse(self, request: types.RequestId, code: int, message: str, data: Any = None) -> None:
        """Answer one of our own requests with an error, in the server's stead."""
        self._requests.pop(request, None)
        error = types.ErrorData(code=code, message=message, data=data)
        self._push(types.JSONRPCError(jsonrpc="2.0", id=request, error=error))

    # ------------------------------------------------------------------ from the server

    def line(self, line: bytes | TooLong) -> None:
        """One line of a stdio server."""
        if isinstance(line, TooLong):
            self._too_long(line)
            return
        text = line.strip().removeprefix(b"\xef\xbb\xbf")
        if not text:
            return
        if text[:1] not in (b"{", b"["):
            self.junk.add(line)
            return
        try:
            held = pydantic_core.from_json(text)
        except ValueError:
            try:
                held = json.loads(text.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                self.junk.add(line)
                return
            try:
                text.decode()
            except UnicodeDecodeError:
                take_notes(self.notes, ["it wrote bytes that are no UTF-8: they are read as U+FFFD"])
        batch = cast("list[Any]", held) if isinstance(held, list) else [held]  # 2025-03-26 knew batches
        heard = [self.message(one) for one in batch]
        if not all(heard):
            self.junk.add(line)

    def message(self, held: Any) -> bool:
        """One JSON value. False: it is no message of the protocol, and answers nothing."""
        plain: Any = held
        if type(plain) is dict and plain.keys() == _RESPONSE and plain["jsonrpc"] == "2.0":
            request = self._known(plain["id"])
            if request is not None and isinstance(plain["result"], dict):
                self._result(request, cast("dict[str, Any]", plain["result"]))
                return True
        try:
            self.incoming(types.jsonrpc_message_adapter.validate_python(held, by_name=False))
            return True
        except ValidationError:
            pass
        if not isinstance(held, dict):
            return False
        record = cast("dict[str, Any]", held)
        request = self._known(record.get("id"))
        if request is None or "method" in record:
            return False
        self.refuse(request, types.INTERNAL_ERROR, "the server's answer is no legal JSON-RPC")
        return True

    def asked_with(self, request: types.RequestId) -> Exchange | None:
        """The call on whose stream the server sent this request of its own; asked for once."""
        return self._asked.pop(request, None)

    def incoming(self, message: types.JSONRPCMessage, of: Exchange | None = None) -> None:
        """One message, passed on to the session, kept back, or replaced. of: the exchange it is known to come with."""
        if of is not None and of.method == "tools/call" and isinstance(message, types.JSONRPCRequest):
            while len(self._asked) >= _ASKED_KEPT:
                self._asked.pop(next(iter(self._asked)))
            self._asked[message.id] = of
        match message:
            case types.JSONRPCResponse():
                self._answered(message)
            case types.JSONRPCError():
                self._failed(message)
            case types.JSONRPCNotification():
                self._told(message)
            case _:
                self._push(message)

    def _answered(self, message: types.JSONRPCResponse) -> None:
        request = self._known(message.id)
        if request is None:
            if self._silent is not None and message.id == self._silent:
                self._late = message.result
            return
        self._result(request, message.result)

    def _result(self, request: types.RequestId, result: dict[str, Any]) -> None:
        method, exchange = self._requests.pop(request)
        if method == "server/discover" and self._silence is not None:
            self._silence.cancel()
        shown = result
        if method == "tools/list":
            if exchange is not None and exchange.method == method:
                exchange.raw = result
            shown = _listing_for_session(result)
        elif method == "tools/call" and exchange is not None and (exchange.relay or not _asks(result)):
            exchange.raw = result  # a question that is to be relayed too: the SDK would ask by itself
            shown = _STAND_IN
        self._push(types.JSONRPCResponse(jsonrpc="2.0", id=request, result=shown))

    def _failed(self, message: types.JSONRPCError) -> None:
        request = self._known(message.id)
        if request is None:
            return
        method, exchange = self._requests.pop(request)
        # here, for the SDK puts it into a span of its own
        error = message.error.model_copy(update={"message": self._mask(message.error.message)})
        if method == "initialize" and self._late is not None:
            # It was slow, not old: the SDK asks again when it is told which versions the server speaks.
            asked: dict[str, Any] = {
                "supported": self._late.get("supportedVersions") or [],
                "requested": types.LATEST_PROTOCOL_VERSION,
            }
            error = types.ErrorData(code=types.UNSUPPORTED_PROTOCOL_VERSION, message=error.message, data=asked)
            self._silent = self._late = self._probe = None
        if exchange is not None:
            exchange.error = error
        self._push(types.JSONRPCError(jsonrpc="2.0", id=request, error=error))

    def _told(self, message: types.JSONRPCNotification) -> None:
        params = message.params or {}
        if message.method == "notifications/tools/list_changed":
            self._on_changed()  # told on once the new list is here
            return
        if message.method == "notifications/message":
            self.logs.append(f"{params.get('level', 'info')}: {params.get('data')}"[: _LOGS_KEPT * 50])
            calls = self.in_flight()
            if len(calls) == 1 and calls[0].log is not None:  # of several nothing says which one it is of
                calls[0].log(params)
        elif message.method == "notifications/progress":
            token = self._known(params.get("progressToken"))
            if token is not None and (exchange := self._requests[token][1]) is not None and exchange.progress:
                self._push(message)
            return
        elif message.method in _FORWARDED:
            self._push(message)
        if self._on_notification is not None:
            self._on_notification(message.method, params)

    def _too_long(self, line: TooLong) -> None:
        note = f"a line of {line.size:,} bytes is longer than is taken"
        take_notes(self.notes, [note])
        found = _ID_FIRST.match(line.head) or _ID_LAST.search(line.tail)
        request = self._known(json.loads(found[1])) if found else None
        if request is None and len(self._requests) == 1:
            (request,) = self._requests
        if request is None:
            self.junk.add(line.head)
        else:
            self.refuse(request, types.INTERNAL_ERROR, f"the answer was dropped: {note}")

    def _known(self, request: Any) -> types.RequestId | None:
        """The id as we gave it: servers answer 7 with "7"."""
        if type(request) is str and request not in self._requests and request.isdecimal():
            request = int(request)
        return request if type(request) in (int, str) and request in self._requests else None

    def _push(self, message: types.JSONRPCMessage) -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._in.send_nowait(SessionMessage(message))

    def end(self) -> None:
        """Nothing more will come. Whoever looks after the connection learns it before any waiter wakes."""
        if not self.gone:
            self.gone = True
            self._on_gone()
        self._in.close()

    def close(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
        self._in.close()
        self.reader.close()


def _asks(result: Mapping[str, Any]) -> bool:
    return result.get("resultType") == "input_required"


def _listing_for_session(result: Mapping[str, Any]) -> dict[str, Any]:
    """What the session needs of a page: the names, and the schemas that put arguments into HTTP headers."""
    kept: list[dict[str, Any]] = []
    entries: Any = result.get("tools")
    for entry in cast("list[Any]", entries) if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        tool = cast("dict[str, Any]", entry)
        name, schema = tool.get("name"), tool.get("inputSchema")
        if isinstance(name, str) and header_fault(schema) is None:
            mirrored = isinstance(schema, dict) and x_mcp_header_map(cast("dict[str, Any]", schema))
            kept.append({"name": name, "inputSchema": schema if mirrored else {"type": "object"}})
    cursor = result.get("nextCursor")
    page: dict[str, Any] = {"tools": kept, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    return page | ({"nextCursor": cursor} if isinstance(cursor, str) else {})


def header_fault(schema: Any) -> str | None:
    """Why a tool's x-mcp-header marks are unusable, which makes the tool one that a client must drop (2026-07-28)."""
    return find_invalid_x_mcp_header(schema) if isinstance(schema, dict) else None
