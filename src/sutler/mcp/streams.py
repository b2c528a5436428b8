"""The pairs of streams that the SDK's session reads and writes, with the link between them and the transport.

Imports the SDK: to be imported when a server is to be reached.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any

import anyio
import mcp_types as types
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from .exchange import Exchange, current
from .link import Link
from .states import take_notes
from .stdio import Child, Framer

NOTICE = "notice"  # the method of an exchange that is no request: nobody waits for what comes of it


class _ToServer:
    """The write side for the session: what it sends is noted in the link first."""

    def __init__(self, send: Callable[[SessionMessage], Any], link: Link) -> None:
        self._send = send
        self._link = link

    async def send(self, item: SessionMessage, /) -> None:
        if self._link.gone:
            raise anyio.BrokenResourceError
        await self._send(item)

    async def aclose(self) -> None:
        """The transport closes what is beneath."""

    async def __aenter__(self) -> _ToServer:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


@asynccontextmanager
async def over_stdio(child: Child, link: Link) -> AsyncGenerator[TransportStreams]:
    """The streams of a running stdio server. The process is ended by whoever started it."""

    framer = Framer()

    def take(chunk: bytes) -> None:
        for line in framer.feed(chunk):
            link.line(line)

    def ended() -> None:
        if rest := framer.rest():
            link.junk.add(rest)
            take_notes(link.notes, ["it ended in the middle of a line"])
        link.end()

    async def send(item: SessionMessage) -> None:
        message = item.message
        exchange = link.outgoing(message)
        text = message.model_dump_json(by_alias=True, exclude_unset=True, ensure_ascii=True)
        if exchange is not None:
            exchange.sent = True
        child.stdin.write(text.encode("ascii") + b"\n")
        if isinstance(message, types.JSONRPCRequest):  # a cancellation must not wait for a server that does not read
            with suppress(OSError):
                await child.stdin.drain()

    child.listen(take, ended)
    try:
        yield link.reader, _ToServer(send, link)
    finally:
        child.listen(_nothing, lambda: None)
        link.close()


def _nothing(chunk: bytes) -> None:
    del chunk


@asynccontextmanager
async def over_streams(streams: TransportStreams, link: Link) -> AsyncGenerator[TransportStreams]:
    """The streams of one of the SDK's own transports, with the link between."""
    theirs, write = streams

    async def read() -> None:
        try:
            async for item in theirs:
                if isinstance(item, SessionMessage):
                    # a server's own request comes on the stream of the call that it is about, and so in its context
                    of = getattr(theirs, "last_context", None)
                    link.incoming(item.message, of.get(current) if of is not None else None)
                else:
                    take_notes(link.notes, [f"its stream failed: {item}"])
        except anyio.ClosedResourceError:
            pass
        finally:
            link.end()

    telling: set[asyncio.Task[None]] = set()

    async def tell(item: SessionMessage) -> None:
        token = current.set(Exchange(method=NOTICE))
        try:
            await write.send(item)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass
        finally:
            current.reset(token)

    async def send(item: SessionMessage) -> None:
        link.outgoing(item.message)
        if isinstance(item.message, types.JSONRPCRequest):
            await write.send(item)
        elif isinstance(item.message, types.JSONRPCNotification) and item.message.method == "notifications/cancelled":
            task = asyncio.ensure_future(tell(item))  # whoever gave up does not wait for the server to hear of it
            telling.add(task)
            task.add_done_callback(telling.discard)
        else:
            await tell(item)

    reading = asyncio.ensure_future(read())
    try:
        yield link.reader, _ToServer(send, link)
    finally:
        for task in (reading, *telling):
            task.cancel()
        await asyncio.wait([reading, *telling])
        await write.aclose()
        link.close()
