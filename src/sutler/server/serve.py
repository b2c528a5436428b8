"""From a runtime's keywords to a running server, and its end."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..runtime import Runtime
from .face import Face, Hearing, Shape
from .http import Door, serve_http
from .person import Person
from .stdio import streams

_log = logging.getLogger("sutler.server")
_LATE = 2.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Stdio:
    """The protocol on two descriptors that nothing else of the process has."""

    read: int
    write: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Http:
    """The protocol over HTTP on a socket that listens."""

    listening: socket.socket
    door: Door


def serve(
    options: Mapping[str, Any],
    shape: Shape,
    transport: Stdio | Http,
    ready: Callable[[Runtime, int], None],
) -> tuple[str, ...]:
    """Opens a Runtime with these keywords, serves it and closes it. Returns what did not end, in words.

    ready(runtime, tools) is called when clients may come; what it raises ends the server.
    """
    return asyncio.run(_serve(options, shape, transport, ready))


async def _serve(
    options: Mapping[str, Any], shape: Shape, transport: Stdio | Http, ready: Callable[[Runtime, int], None]
) -> tuple[str, ...]:
    person = Person(shared=isinstance(transport, Http))
    runtime = Runtime(
        **options,
        confirm_handler=person.confirm,
        user_interaction_handler=person.interact,
        on_event=Hearing(),
        share_loop=True,
    )
    await runtime.open()
    try:
        await runtime.ready(_LATE)  # many hosts ask for the tools once; who comes later than this is told of
        face = Face(runtime, shape)
        listing = await face.listing()
        await _pass_through(runtime, face)
        ready(runtime, len(listing.tools))
        watching = asyncio.create_task(face.watch())
        try:
            await _run(face, transport)
        finally:
            watching.cancel()
            await face.close()
    finally:
        left = await runtime.close()
    return left


async def _pass_through(runtime: Runtime, face: Face) -> None:
    """What upstream servers have beside tools, and what they tell."""
    servers = runtime.core.servers
    if servers is None:
        return
    loop = asyncio.get_running_loop()

    tasks: set[asyncio.Task[None]] = set()

    def hears(server: str, method: str, params: Mapping[str, Any]) -> None:
        task = loop.create_task(face.notified(method, params))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    servers.hears = hears
    await face.offer(servers.manager)


async def _run(face: Face, transport: Stdio | Http) -> None:
    """Serves until there is nobody to serve, or a signal asks the process to end."""
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError, ValueError):  # Windows; not the main thread
            loop.add_signal_handler(number, end.set)
    if isinstance(transport, Http):
        await serve_http(face.server, transport.door, transport.listening, end)
        return
    serving = asyncio.ensure_future(_serve_streams(face, transport))
    ending = asyncio.ensure_future(end.wait())
    await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
    ending.cancel()
    serving.cancel()
    try:
        await serving
    except (Exception, asyncio.CancelledError) as error:
        if not end.is_set():
            raise
        _log.debug("the server was ended: %r", error)  # a server cancelled amid a message trips over its own streams


async def _serve_streams(face: Face, transport: Stdio) -> None:
    async with streams(transport.read, transport.write) as (read, write):
        await face.server.run(read, write, face.server.create_initialization_options())
