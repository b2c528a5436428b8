"""Where a callable runs, and how others wait for it (DESIGN decisions 3 and 4; the whole table: docs/threads.md).

thread          a thread of the workspace, whose current directory is the workspace
fixed           one thread of the workspace for one library (affinity = "thread")
worker          a warm process that serves one library; a workspace thread waits for it
workspace_loop  a loop thread of the workspace: async tools of folders, config and code
host_loop       async functions of the host: the loop that opened the async runtime, else a tools loop of our own
portal          the one loop of all MCP sessions, and nothing else
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ToolCallError, ToolTimeout, ToolUnavailable
from ..workspace.loops import LoopThread

if TYPE_CHECKING:
    from .core import Core
    from .ticket import Ticket

T = TypeVar("T")


class Places:
    """The threads and loops of one runtime."""

    def __init__(self, core: Core, host_loop: asyncio.AbstractEventLoop | None) -> None:
        self._core = core
        self.host_loop = host_loop
        # its folder is the process's: started from a workspace thread it would share that thread's
        self._tools_loop = LoopThread("sutler-tools-loop", root=Path.cwd())

    def loop_for(self, ticket: Ticket) -> asyncio.AbstractEventLoop:
        tool = ticket.tool
        assert tool is not None
        if tool.place == "portal":
            servers = self._core.servers
            assert servers is not None, "a server's tool without servers"
            return servers.loop
        return self._core.threads.loop() if tool.place == "workspace_loop" else self.loop_of_host()

    def loop_of_host(self) -> asyncio.AbstractEventLoop:
        """The loop that host code runs on: never one that a caller of ours may be blocking."""
        if self.host_loop is not None:
            if self.host_loop.is_closed():
                raise ToolUnavailable("the event loop that opened the runtime is closed")
            return self.host_loop
        return self._tools_loop.loop

    def submit(self, ticket: Ticket, work: Callable[[], T]) -> Future[T]:
        """Runs `work` where the ticket's sync tool belongs. Raises LimitExceeded above 1,000 threads."""
        tool, threads = ticket.tool, self._core.threads
        assert tool is not None
        if tool.place == "fixed":
            return threads.fixed(tool.spec.origin.source).submit(work)
        return threads.submit(work)

    def here(self, ticket: Ticket) -> bool:
        """Whether the present thread may run the ticket's sync tool as it stands."""
        tool = ticket.tool
        assert tool is not None
        return tool.place in ("thread", "worker") and self._core.threads.current()

    def start_async(self, ticket: Ticket) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(self._core.pipeline.perform_async(ticket), self.loop_for(ticket))

    def await_for(self, ticket: Ticket, value: Awaitable[T]) -> T:
        """Waits, on a tool's own thread, for something awaitable that a sync tool gave back."""
        return self._block(value, self.loop_for_value(ticket))

    def loop_for_value(self, ticket: Ticket) -> asyncio.AbstractEventLoop:
        kind = ticket.spec.origin.kind
        return self.loop_of_host() if kind in ("function", "virtual") else self._core.threads.loop()

    def await_on_host(self, value: Awaitable[T]) -> T:
        return self._block(value, self.loop_of_host())

    def _block(self, value: Awaitable[T], loop: asyncio.AbstractEventLoop) -> T:
        if _running_loop() is loop:
            raise ToolUnavailable("an async result cannot be waited for on the very loop it needs; await it instead")
        return asyncio.run_coroutine_threadsafe(_as_coroutine(value), loop).result()

    def close(self, timeout: float) -> tuple[str, ...]:
        """Ends the tools loop. Returns what did not end in time, in words."""
        return self._tools_loop.close(timeout)


def wait(ticket: Ticket, future: Future[T]) -> T:
    """Waits on this thread until the work is done or the call is late, which raises ToolTimeout."""
    deadline = ticket.deadline
    assert deadline is not None
    while True:
        try:
            return future.result(timeout=min(deadline.remaining(), 3600.0))
        except FutureCancelled:
            raise ToolTimeout("the call was cancelled") from None
        except TimeoutError:
            if future.done():
                continue
            if deadline.remaining() <= 0:
                raise late(ticket) from None


async def wait_async(ticket: Ticket, future: Future[T]) -> T:
    """The same without holding the loop."""
    deadline = ticket.deadline
    assert deadline is not None
    wrapped = asyncio.wrap_future(future)
    while True:
        done, _ = await asyncio.wait({wrapped}, timeout=min(deadline.remaining(), 3600.0))
        if done:
            if wrapped.cancelled():
                raise ToolTimeout("the call was cancelled")
            return wrapped.result()
        if deadline.remaining() <= 0:
            wrapped.cancel()
            raise late(ticket)


def late(ticket: Ticket) -> ToolCallError:
    """The failure of a call past its deadline; it says so when the caller itself holds the loop the tool may need."""
    tool, deadline = ticket.tool, ticket.deadline
    assert tool is not None and deadline is not None
    text = f"{tool.qualified} did not answer within {deadline.seconds:g} s"
    if _running_loop() is not None and tool.spec.origin.kind in ("function", "virtual"):
        text += (
            "; this call blocks the event loop of its own thread, so a tool that needs that loop can never answer:"
            " use the async Runtime there, or call from another thread"
        )
    return ToolTimeout(text, retryable=tool.spec.read_only)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _await(value: Awaitable[T]) -> T:
    return await value


def _as_coroutine(value: Awaitable[T]) -> Coroutine[Any, Any, T]:
    return value if asyncio.iscoroutine(value) else _await(value)
