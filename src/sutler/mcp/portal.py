"""The one loop on which all sessions of a runtime live (DESIGN decision 3)."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ClosedError
from ..workspace.loops import LoopThread

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


class Portal:
    """One daemon thread with one loop, started at the first use.

    Anybody may submit to it. Only a caller on another thread may wait for what it submitted: on the loop's own thread
    that could never end, so `run` refuses there at once.
    """

    def __init__(self, name: str = "sutler-mcp") -> None:
        self._loop = LoopThread(name)

    @property
    def loop(self) -> Any:
        """The asyncio loop. ClosedError after `close`."""
        return self._loop.loop

    def current(self) -> bool:
        """Whether this is the portal's own thread."""
        return self._loop.current()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop, with the caller's contextvars. Cancelling the future cancels it."""

        async def begin() -> T:
            return await work

        try:
            return self._loop.submit(begin)
        except BaseException:
            work.close()
            raise

    def run(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Submit and wait. ClosedError on the portal's own thread; TimeoutError, and the work cancelled, when late."""
        if self.current():
            work.close()
            raise ClosedError("this is the loop that would have to do the work: await it instead of waiting for it")
        future = self.submit(work)
        try:
            return future.result(timeout)
        except BaseException:
            future.cancel()
            raise

    def close(self, timeout: float = 5.0) -> tuple[str, ...]:
        """End the loop and its thread. Returns what did not end, in words."""
        return self._loop.close(timeout)


class HostLoop(Portal):
    """A loop of the host's that the sessions share, so that no call from it changes threads. The host ends it.

    Whoever blocks that loop blocks every session: it is for a host that never does.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._host = loop

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        if self._host.is_closed():
            raise ClosedError("the event loop that opened the runtime has ended")
        return self._host

    def current(self) -> bool:
        import asyncio

        try:
            return asyncio.get_running_loop() is self._host
        except RuntimeError:
            return False

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        import asyncio

        try:
            return asyncio.run_coroutine_threadsafe(work, self.loop)
        except BaseException:
            work.close()
            raise

    def close(self, timeout: float = 5.0) -> tuple[str, ...]:
        del timeout
        return ()


async def off_loop(fn: Callable[[], T | Awaitable[T]]) -> T:
    """Call what may block, a person's answer say, on a daemon thread of its own and await what it gives.

    The loop's default executor would keep the process from ending while somebody is still being asked.
    """
    import asyncio
    import contextvars
    import inspect

    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T | Awaitable[T]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: T | Awaitable[T] | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(value)  # type: ignore[arg-type]
        else:
            answer.set_exception(error)

    def work() -> None:
        value, failed = None, None
        try:
            value = context.run(fn)
        except BaseException as error:
            failed = error
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(settle, value, failed)

    threading.Thread(target=work, name="sutler-mcp-asks", daemon=True).start()
    value = await answer
    if inspect.isawaitable(value):
        return await value
    return value
