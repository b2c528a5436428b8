"""A second session in the handshake era, beside a server's modern one, for the calls of handshake-era clients.

A server of both eras asks and tells in the era that it is spoken to, and what it pushes has no way to an old client
over a modern session. Only over HTTP: a second process of a stdio server would have a state of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..errors import ToolUnavailable
from ..servers import ServerSpec
from .cache import ServerCache
from .connection import Hub
from .misses import Misses
from .relay import relay
from .server_task import ServerTask


class Twins:
    """Those of one manager; made when first needed. Belongs to the portal's loop."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._tasks: dict[tuple[str, bool], ServerTask] = {}  # by server, and whether its clients lend a model
        self._refused: dict[str, int] = {}  # by server, which connection of it had no second one

    async def choose(self, task: ServerTask) -> ServerTask:
        """The session for the call at hand: the server's own, or its twin in the era of the call's client."""
        client, spec = relay.get(), task.spec
        if client is None or client.modern or spec.transport != "http" or spec.era != "auto" or task.era != "modern":
            return task
        if self._refused.get(spec.id) == task.restarts:
            return task
        key = (spec.id, "sampling" in client.capabilities)
        twin = self._tasks.get(key)
        if twin is None:
            self._tasks[key] = twin = ServerTask(replace(spec, era="legacy"), _Quiet(self._hub), samples=key[1])
        try:
            await twin.session()
        except ToolUnavailable:  # it speaks the modern era alone
            self._refused[spec.id] = task.restarts
            await self.drop(spec.id)
            return task
        return twin

    async def stop(self) -> tuple[str, ...]:
        """End all. Returns what did not end, in words."""
        ends = await asyncio.gather(*(self.drop(server) for server in {server for server, _ in self._tasks}))
        return tuple(one for end in ends for one in end)

    async def drop(self, server: str) -> tuple[str, ...]:
        """End those of this server, if there are any."""
        twins = [self._tasks.pop(key) for key in list(self._tasks) if key[0] == server]
        ends = await asyncio.gather(*(twin.stop() for twin in twins))
        return tuple(one for end in ends for one in end)


class _Quiet:
    """What a twin needs of the manager. Its tools and state are the server's own, which is heard already."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.ask: Callable[[dict[str, Any]], Any] | None = hub.ask
        self.starting = hub.starting
        self.cache, self.misses = ServerCache(None), Misses(None)

    def changed(self, server: str) -> None:
        del server

    def notified(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/message":
            self._hub.notified(server, method, params)

    def auth(self, spec: ServerSpec) -> Any:
        return self._hub.auth(spec)

    async def load(self) -> None:
        await self._hub.load()
