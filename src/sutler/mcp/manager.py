"""All MCP servers of a runtime: started together, each on its own, none waiting for another (MCP-03, MCP-05).

Safe to use from any thread. Knows no SDK: with no `mcp` package every server is listed as unavailable (MCP-15).
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..closest import closest
from ..errors import ClosedError, ToolNotFound
from ..servers import RemoteResult, RemoteTool, ServerSpec
from . import calls
from .cache import ServerCache
from .misses import Misses
from .portal import Portal, off_loop
from .server_task import ServerTask
from .states import ServerState, ToolChange
from .twins import Twins

Ask = Callable[[dict[str, Any]], Any]

_STARTING = 16  # servers that start at one time: their imports take whole processors
_NO_SDK = "the mcp package is not installed: pip install 'sutler[mcp]'"


class ServerManager:
    """Owns the sessions of `specs`.

    cache_dir: where tools and eras are remembered; None: nowhere. on_change(server id): its tools or its state changed;
    called on the portal's thread, so it must be quick. ask(request) -> answers or None: a server asks the person, with
    `message` and `schema` or `url`; sync (it gets a thread of its own) or async. auth(spec): an httpx2.Auth or None.
    on_notification(server id, method, params): what else a server tells. portal: a loop to share; its owner closes it.
    """

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        *,
        cache_dir: Path | None = None,
        on_change: Callable[[str], None] | None = None,
        ask: Ask | None = None,
        auth: Callable[[ServerSpec], Any] | None = None,
        on_notification: Callable[[str, str, Mapping[str, Any]], None] | None = None,
        portal: Portal | None = None,
    ) -> None:
        self.ask = ask
        self.cache, self.misses = ServerCache(cache_dir), Misses(cache_dir)
        self.starting = asyncio.Semaphore(_STARTING)
        self.portal = Portal() if portal is None else portal
        self._owns_portal = portal is None
        self._on_change = on_change
        self._auth = auth
        self._on_notification = on_notification
        self._pid = os.getpid()
        self._closed = False
        self._left: tuple[str, ...] = ()
        self._loading: asyncio.Future[None] | None = None
        self._without = "" if not specs or importlib.util.find_spec("mcp") is not None else _NO_SDK
        self._tasks: dict[str, ServerTask] = {}
        self._twins = Twins(self)
        for spec in specs:
            if spec.id in self._tasks:
                raise ValueError(f"two servers of the id {spec.id!r}")
            self._tasks[spec.id] = ServerTask(spec, self, without=self._without)

    # ------------------------------------------------------------------ from any thread

    def start(self, *ids: str) -> None:
        """Connect these servers, or all, in the background and at once. Any other starts with its first call."""
        wanted = [self._task(one) for one in ids] or list(self._tasks.values())
        wanted = [task for task in wanted if not task.off]
        self._check()
        for task in wanted:
            task.wanted = True
        if wanted:
            self.portal.loop.call_soon_threadsafe(_start, wanted)

    def wait(self, seconds: float, ids: Iterable[str] = ()) -> bool:
        """Wait until each of these servers, or of all that were started, is ready or has failed once."""
        tasks = self._some(ids)
        if all(task.settled.is_set() for task in tasks):
            return True
        return self.portal.run(self.settled(seconds, ids))

    async def settled(self, seconds: float, ids: Iterable[str] = ()) -> bool:
        """`wait` for a caller on the portal's loop."""
        waits = [asyncio.ensure_future(task.settled.wait()) for task in self._some(ids)]
        if not waits:
            return True
        _, pending = await asyncio.wait(waits, timeout=seconds)
        for one in pending:
            one.cancel()
        return not pending

    def states(self) -> tuple[ServerState, ...]:
        return tuple(task.snapshot() for task in self._tasks.values())

    def state(self, server: str) -> ServerState:
        return self._task(server).snapshot()

    def tools(self, server: str) -> list[RemoteTool]:
        """Its tools as it lists them, or listed them when it was last reached."""
        return list(self._task(server).tools)

    def version(self, server: str) -> int:
        """Another number whenever `tools` has changed."""
        return self._task(server).known.version

    def silent(self, server: str, seconds: float) -> bool:
        """Whether waiting for it so long was in vain the last time, and nothing is known of its tools."""
        known = self._task(server).known
        return known.version == 0 and known.miss is not None and known.miss.seconds >= seconds

    def changes(self, server: str) -> tuple[ToolChange, ...]:
        """How its list of tools changed since the start, the last 20 times (MCP-10)."""
        return tuple(self._task(server).known.changes)

    def missing(self) -> tuple[str, ...]:
        """Why a start must fail: the `required` servers that are not to be had, each with its reason."""
        lost = [task for task in self._tasks.values() if task.spec.required and task.state != "ready"]
        return tuple(f"{task.spec.id}: {task.snapshot().reason or task.state}" for task in lost)

    def stop(self, server: str) -> tuple[str, ...]:
        """End one server for good. Returns what did not end, in words."""
        task = self._task(server)
        self._check()
        return self.portal.run(self._stop(task))

    def close(self) -> tuple[str, ...]:
        """End every server, in any order, from any thread but the portal's. Returns what did not end, in words."""
        if self._closed or self._pid != os.getpid():
            return self._left
        if self.portal.current():
            raise ClosedError("this is the portal's own loop: await aclose() instead")
        self._closed = True
        left = list(self.portal.run(self.aclose()))
        if self._owns_portal:
            left.extend(self.portal.close())
        self._left = tuple(left)
        return self._left

    async def _stop(self, task: ServerTask) -> tuple[str, ...]:
        return (*await task.stop(), *await self._twins.drop(task.spec.id))

    async def aclose(self) -> tuple[str, ...]:
        """`close` for a caller on the portal's loop; the portal stays."""
        self._closed = True
        ends = await asyncio.gather(self._twins.stop(), *(task.stop() for task in self._tasks.values()))
        self._left = tuple(one for end in ends for one in end)
        return self._left

    # ------------------------------------------------------------------ on the portal's loop

    async def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - it covers more than one wait, and stands still while a person is asked
        progress: Callable[[float, float | None, str | None], Any] | None = None,
        ask: Ask | None = None,
        vet: Callable[[Any], Awaitable[None]] | None = None,
    ) -> RemoteResult:
        """Call a tool by the server's own name for it; what it answered, a failure of the tool included.

        timeout: seconds for all of it, waiting for the server and for a place included, a person not; None takes the
        tool's or the server's own, else 60. Cancelling the task cancels the call on the server. progress: told what the
        server tells. ask: for this call, instead of the manager's.
        Raises InvalidArguments (no JSON), ToolTimeout, ToolUnavailable (with what to do), ToolCrashed (the server went,
        and whether the call took effect is not known), ToolError (the server refused, or broke the protocol).
        """
        self._check()
        if not self.portal.current():
            raise RuntimeError("a call has to be awaited on the portal's loop: submit it there")
        return await calls.call(
            self._task(server),
            tool,
            arguments,
            choose=self._twins.choose,
            seconds=timeout,
            progress=progress,
            ask=ask,
            vet=vet,
        )

    async def client(self, server: str) -> Any:
        """The live mcp.Client, for what is passed on as it is (resources, prompts, completions). Not to be closed."""
        self._check()
        if not self.portal.current():
            raise RuntimeError("a session belongs to the portal's loop: ask for it there")
        return (await self._task(server).session()).client

    # ------------------------------------------------------------------ for the server tasks

    def changed(self, server: str) -> None:
        if self._on_change is not None:
            try:
                self._on_change(server)
            except Exception:
                logging.getLogger("sutler").exception("on_change failed for the server %s", server)

    def notified(self, server: str, method: str, params: Mapping[str, Any]) -> None:
        if self._on_notification is not None:
            try:
                self._on_notification(server, method, params)
            except Exception:
                logging.getLogger("sutler").exception("on_notification failed for the server %s", server)

    def auth(self, spec: ServerSpec) -> Any:
        return None if self._auth is None or spec.transport == "stdio" else self._auth(spec)

    async def load(self) -> None:
        """Import the SDK, once, beside the loop: it takes a second, in which servers start and others answer."""
        if self._loading is None:
            self._loading = asyncio.ensure_future(off_loop(_import_sdk))
        await asyncio.shield(self._loading)

    # ------------------------------------------------------------------

    def _task(self, server: str) -> ServerTask:
        task = self._tasks.get(server)
        if task is None:
            meant = closest(server, self._tasks)
            raise ToolNotFound(f"no server {server!r}" + (f"; did you mean {meant!r}?" if meant else ""))
        return task

    def _some(self, ids: Iterable[str]) -> list[ServerTask]:
        return [self._task(one) for one in ids] or [task for task in self._tasks.values() if task.wanted]

    def _check(self) -> None:
        if self._closed:
            raise ClosedError("the servers are closed")
        if self._pid != os.getpid():
            raise ClosedError("the servers belong to the process that this one was forked from")


def _start(tasks: Iterable[ServerTask]) -> None:
    for task in tasks:
        task.start()


def _import_sdk() -> None:
    from . import session as session
