"""The protocol on standard input and output, which belong to it alone (RUN-13, FH35).

The SDK's own transport wraps text files: one lone surrogate in an answer ends it, and every line is a hop to a thread
of its pool, which calls may have filled. Here two threads do nothing but read and write.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from queue import SimpleQueue
from typing import Any, Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

_log = logging.getLogger("sutler.server")
_CHUNK: Final = 1 << 18
MAX_LINE: Final = 64 << 20  # bytes of one message
_BUFFERED: Final = 64  # messages read ahead
_LAST_ANSWERS: Final = 2.0  # seconds that calls may still take when the input has ended

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


def private_input() -> int:
    """Standard input for the protocol alone: a tool or child that reads descriptor 0 gets its end at once."""
    own = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return own


@asynccontextmanager
async def streams(read_fd: int, write_fd: int) -> AsyncGenerator[Streams]:
    """The two ends that a Server runs on. The read side ends with the input, or when nobody reads the output."""
    incoming, to_server = anyio.create_memory_object_stream[Incoming](_BUFFERED)
    from_server, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue()
    room = threading.Semaphore(_BUFFERED)
    writer = _Writer(write_fd, loop)

    def arrived(line: bytes | None) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lines.put_nowait, line)

    threading.Thread(target=_read, args=(read_fd, arrived, room), name="sutler-stdin", daemon=True).start()

    owed = _Owed()

    async def read() -> None:
        async with incoming:
            while (line := await lines.get()) is not None:
                room.release()
                message = _parsed(line)
                owed.heard(message)
                await incoming.send(message)
            with anyio.move_on_after(_LAST_ANSWERS):
                await owed.nothing.wait()

    async def write() -> None:
        async with outgoing:
            async for message in outgoing:
                if not await writer.write(_line(message)):
                    lines.put_nowait(None)
                    owed.forgive()
                    return
                owed.said(message)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_quietly(read))
        tasks.start_soon(_quietly(write))
        yield to_server, from_server
        tasks.cancel_scope.cancel()
    writer.close()


class _Owed:
    """Requests still to be answered: the end of the input (`printf ... | sutler serve`) drops none of them."""

    def __init__(self) -> None:
        self._ids: set[str | int] = set()
        self.nothing = anyio.Event()
        self.nothing.set()

    def heard(self, item: Incoming) -> None:
        body = item.message if isinstance(item, SessionMessage) else None
        if isinstance(body, JSONRPCRequest) and body.method != "subscriptions/listen":
            self._ids.add(body.id)
            if self.nothing.is_set():
                self.nothing = anyio.Event()
        elif isinstance(body, JSONRPCNotification) and body.method == "notifications/cancelled":
            self._answered((body.params or {}).get("requestId"))

    def said(self, item: SessionMessage) -> None:
        body = item.message
        if isinstance(body, JSONRPCResponse | JSONRPCError):
            self._answered(body.id)

    def forgive(self) -> None:
        self._ids.clear()
        self.nothing.set()

    def _answered(self, id: object) -> None:
        if isinstance(id, str | int):
            self._ids.discard(id)
        if not self._ids:
            self.nothing.set()


def _quietly(work: Callable[[], Any]) -> Callable[[], Any]:
    async def run() -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # the server has gone
            await work()

    return run


def _read(fd: int, arrived: Callable[[bytes | None], None], room: threading.Semaphore) -> None:
    """Lines, in time linear to their length, for as long as there are any."""
    parts: list[bytes] = []
    size, skips = 0, False
    with suppress(OSError):
        while chunk := os.read(fd, _CHUNK):
            *ended, rest = chunk.split(b"\n")
            for end in ended:
                if not skips and (line := b"".join((*parts, end)).strip()):
                    room.acquire()
                    arrived(line)
                parts, size, skips = [], 0, False
            if rest and not skips:
                parts.append(rest)
                size += len(rest)
                if size > MAX_LINE:
                    _log.error("a message of more than %s bytes is not read", MAX_LINE)
                    parts, skips = [], True
    if parts and (line := b"".join(parts).strip()):
        arrived(line)
    arrived(None)


def _parsed(line: bytes) -> Incoming:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        _log.warning("a line that is no JSON-RPC message: %r", line[:200])
        return error


def _line(message: SessionMessage) -> bytes:
    body = message.message
    try:
        return body.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError:  # text that has no UTF-8; JSON has escapes for it
        return json.dumps(body.model_dump(by_alias=True, exclude_unset=True, mode="python")).encode() + b"\n"


class _Writer:
    """One thread that writes whole lines; the loop never waits for a reader that is slow."""

    def __init__(self, fd: int, loop: asyncio.AbstractEventLoop) -> None:
        self._fd = fd
        self._loop = loop
        self._lines: SimpleQueue[tuple[bytes, asyncio.Future[bool]] | None] = SimpleQueue()
        threading.Thread(target=self._run, name="sutler-stdout", daemon=True).start()

    async def write(self, line: bytes) -> bool:
        """False when nobody reads any more."""
        written: asyncio.Future[bool] = self._loop.create_future()
        self._lines.put((line, written))
        return await written

    def close(self) -> None:
        self._lines.put(None)

    def _run(self) -> None:
        while (item := self._lines.get()) is not None:
            line, written = item
            done = self._put(line)
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_settle, written, done)

    def _put(self, line: bytes) -> bool:
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._fd, left) :]
        except OSError:
            return False
        return True


def _settle(future: asyncio.Future[bool], value: bool) -> None:
    if not future.done():
        future.set_result(value)
