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
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..errors import ToolCallError, ToolTimeout, ToolUnavailable
from ..workspace.cwd import settle_in
from ..workspace.loops import LoopThread
from .frames import being_cancelled, current_frame, held_loops, running_loop

if TYPE_CHECKING:
    from .core import Core
    from .ticket import Ticket

T = TypeVar("T")


class Places:
    """The threads and loops of one runtime."""

    def __init__(self, core: Core, host_loop: asyncio.AbstractEventLoop | None) -> None:
        self._core = core
        self.host_loop = host_loop
        # one, and another for each that somebody blocks while he waits for more
        self._tools_loops: list[LoopThread] = []
        self._lock = threading.Lock()

    def loop_for(self, ticket: Ticket) -> asyncio.AbstractEventLoop:
        tool = ticket.tool
        assert tool is not None
        if tool.place == "portal":
            servers = self._core.servers
            assert servers is not None, "a server's tool without servers"
            return servers.loop
        return ticket.site.threads.loop(held_loops.get()) if tool.place == "workspace_loop" else self.loop_of_host()

    def is_this_loop(self, ticket: Ticket) -> bool:
        """Whether the tool is one of a server whose sessions live on the present loop."""
        tool, servers = ticket.tool, self._core.servers
        if tool is None or servers is None or tool.place != "portal":
            return False
        if not servers.manager.portal.current():
            return False
        held = held_loops.get()
        return not held or running_loop() not in held

    def loop_of_host(self) -> asyncio.AbstractEventLoop:
        """The loop that host code runs on: never one that a caller of ours may be blocking."""
        if self.host_loop is not None:
            if not self.host_loop.is_running():
                raise ToolUnavailable(
                    "the event loop that opened the runtime has ended; open a runtime in the loop that uses it"
                )
            return self.host_loop
        held = held_loops.get()
        with self._lock:
            free = next((one for one in self._tools_loops if not held or one.loop not in held), None)
            if free is None:
                # its folder is the process's: started from a workspace thread it would share that thread's
                self._tools_loops.append(free := LoopThread("sutler-tools-loop", root=Path.cwd()))
        return free.loop

    def enter(self, ticket: Ticket) -> None:
        """Takes the loop of the workspace back to its folder, where an earlier tool may have left it elsewhere."""
        tool, threads = ticket.tool, ticket.site.threads
        if tool is not None and tool.place == "workspace_loop" and threads.own_cwd:
            settle_in(threads.root)

    def submit(self, ticket: Ticket, work: Callable[[], T]) -> Future[T]:
        """Runs `work` where the ticket's sync tool belongs. Raises LimitExceeded above 1,000 threads."""
        tool = ticket.tool
        assert tool is not None
        if tool.place != "fixed":
            return ticket.site.threads.submit(work)
        fixed = self._core.threads.fixed(tool.spec.origin.source)
        if ticket.parent is not None and any(one.fixed is fixed and not one.over for one in ticket.parent.flights):
            raise ToolUnavailable(
                f"{tool.qualified} runs on the one thread of its library, and a tool that waits for this call holds it"
            )
        ticket.flight.fixed = fixed
        return fixed.submit(work, root=ticket.site.root)

    def here(self, ticket: Ticket) -> bool:
        """Whether the present thread may run the ticket's sync tool as it stands."""
        tool = ticket.tool
        assert tool is not None
        frame = current_frame.get()
        if frame is not None and frame.site is not ticket.site:
            return False  # this thread is in another folder
        if tool.place == "fixed":
            return self._core.threads.fixed(tool.spec.origin.source).current()
        return tool.place in ("thread", "worker") and ticket.site.threads.current()

    def abandon(self, ticket: Ticket, future: Future[Any]) -> None:
        """Gives up a sync tool's thread."""
        tool = ticket.tool
        fixed = tool is not None and tool.place == "fixed"
        (self._core.threads if fixed else ticket.site.threads).abandon(future)

    def start_async(self, ticket: Ticket, loop: asyncio.AbstractEventLoop) -> Future[Any]:
        work = self._core.pipeline.perform_async(ticket)
        return _start_here(work, loop) if running_loop() is loop else asyncio.run_coroutine_threadsafe(work, loop)

    def await_for(self, ticket: Ticket, value: Awaitable[T]) -> T:
        """Waits, on a tool's own thread, for something awaitable that a sync tool gave; no longer than the call."""
        if ticket.spec.origin.kind in ("function", "virtual"):
            return self._block(value, self.loop_of_host(), ticket)
        return self._block(value, ticket.site.threads.loop(held_loops.get()), ticket)

    def await_on_host(self, value: Awaitable[T]) -> T:
        return self._block(value, self.loop_of_host())

    def _block(self, value: Awaitable[T], loop: asyncio.AbstractEventLoop, ticket: Ticket | None = None) -> T:
        if running_loop() is loop:
            raise ToolUnavailable("an async result cannot be waited for on the very loop it needs; await it instead")
        future = asyncio.run_coroutine_threadsafe(self._awaited(value, ticket), loop)
        if ticket is None:
            value_of, error = future.result()
        else:
            ticket.inner = future
            try:
                value_of, error = wait(ticket, future)
            finally:
                future.cancel()
        if error is not None:
            raise error
        return cast("T", value_of)

    async def _awaited(self, value: Awaitable[T], ticket: Ticket | None) -> tuple[T | None, BaseException | None]:
        """What is raised is handed on as a value: a SystemExit would end the loop, a CancelledError look like ours."""
        try:
            if ticket is not None:
                self.enter(ticket)
            return await value, None
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and being_cancelled():
                raise
            return None, error

    def close(self, timeout: float) -> tuple[str, ...]:
        """Ends the tools loops. Returns what did not end in time, in words."""
        return tuple(note for loop in self._tools_loops for note in loop.close(timeout))


def wait(ticket: Ticket, future: Future[T]) -> T:
    """Waits on this thread until the work is done or the call is late, which raises ToolTimeout."""
    deadline = ticket.deadline
    assert deadline is not None
    while not future.done():
        try:
            future.exception(timeout=min(deadline.remaining(), 3600.0))
        except FutureCancelled:
            break
        except TimeoutError:
            if deadline.remaining() <= 0 and not future.done():
                raise late(ticket) from None
    return _outcome(future)


def _outcome(future: Future[T]) -> T:
    try:
        return future.result()
    except FutureCancelled:
        raise ToolTimeout("the call was cancelled") from None


async def wait_async(ticket: Ticket, future: Future[T]) -> T:
    """The same without holding the loop."""
    deadline = ticket.deadline
    assert deadline is not None
    loop = asyncio.get_running_loop()
    news = asyncio.Event()
    future.add_done_callback(lambda _: _on(loop, news.set))
    while not future.done() and (left := deadline.remaining()) > 0:
        timer = loop.call_later(min(left, 3600.0), news.set)  # by then the deadline may have moved
        try:
            await news.wait()
        finally:
            timer.cancel()
        news.clear()
    if future.done():
        return _outcome(future)
    future.cancel()
    raise late(ticket)


class Here:
    """Stands for the future of work that its caller does in a task of its own: whoever cancels it ends the work."""

    __slots__ = ("_limit", "_loop", "_over")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = asyncio.timeout(None)
        self._over = False

    async def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits work that keeps to its deadline by itself. Raises ToolTimeout when it was ended."""
        try:
            async with self._limit:
                return await work
        except TimeoutError:
            raise ToolTimeout("the call was cancelled") from None
        finally:
            self._over = True

    def cancel(self) -> bool:
        """From any thread."""
        _on(self._loop, self._end)
        return True

    def _end(self) -> None:
        if not self._over and not self._limit.expired():
            self._limit.reschedule(self._loop.time())


def _start_here(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> Future[T]:
    """run_coroutine_threadsafe for the loop's own thread, without the cost of waking a loop that is awake."""
    future: Future[T] = Future()
    task = loop.create_task(work)
    task.add_done_callback(partial(_hand_on, future))
    future.add_done_callback(partial(_end_too, loop, task))
    return future


def _hand_on(future: Future[T], task: asyncio.Task[T]) -> None:
    if task.cancelled():
        future.cancel()
    if not future.set_running_or_notify_cancel():
        return
    error = task.exception()
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(task.result())


def _end_too(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], future: Future[Any]) -> None:
    if future.cancelled():
        _on(loop, task.cancel)


def _on(loop: asyncio.AbstractEventLoop, act: Callable[[], object]) -> None:
    """On the loop: at once where this is its own thread. A loop that has ended has nobody left who waits."""
    if running_loop() is loop:
        act()
        return
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(act)


def late(ticket: Ticket) -> ToolCallError:
    """The failure of a call past its deadline; it says so when the caller itself holds the loop the tool may need."""
    tool, deadline = ticket.tool, ticket.deadline
    assert tool is not None and deadline is not None
    text = f"{tool.qualified} did not answer within {deadline.seconds:g} s"
    if running_loop() is not None and tool.spec.origin.kind in ("function", "virtual"):
        text += (
            "; this call blocks the event loop of its own thread, so a tool that needs that loop can never answer:"
            " use the async Runtime there, or call from another thread"
        )
    return ToolTimeout(text, retryable=tool.spec.read_only)
