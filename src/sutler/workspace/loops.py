"""An asyncio loop on a thread of its own; imported only when one is wanted (asyncio costs 30 ms)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..errors import ClosedError
from .cwd import per_thread_cwd, settle_in

T = TypeVar("T")
_STUCK_AFTER = 1.0
_CANCEL_WAIT = 1.0


class Submits(Protocol):
    def __call__(self, fn: Callable[[], Any], /) -> Future[Any]: ...


class LoopThread:
    """One loop, one daemon thread, started at the first use and never again after `close`.

    root: the thread's own current directory, where the platform has that. None, or none, leaves it where the starting
    thread is, which for a workspace's thread is the workspace.
    executor: where asyncio.to_thread goes; it gets the function and returns a future.
    """

    def __init__(self, name: str, *, root: Path | None = None, executor: Submits | None = None) -> None:
        self.name = name
        self.root = root if per_thread_cwd().available else None
        self._executor = executor
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._asked: float | None = None
        self._left: list[str] = []

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The running loop. ToolUnavailable when `root` is gone, ClosedError after `close`."""
        with self._lock:
            if self._closed:
                raise ClosedError(f"the loop {self.name} is closed")
            if self._loop is None:
                ready: Future[asyncio.AbstractEventLoop] = Future()
                self._thread = threading.Thread(target=self._run, args=(ready,), name=self.name, daemon=True)
                self._thread.start()
                self._loop = ready.result()
            return self._loop

    def current(self) -> bool:
        """Whether this is the loop's own thread: blocking here on something it must do would never end."""
        return self._thread is threading.current_thread()

    def submit(self, fn: Callable[[], Awaitable[T]]) -> Future[T]:
        """Call `fn` on the loop, from its folder, and await what it gives. Cancelling the future cancels the task.

        The submitter's contextvars go along.
        """
        return asyncio.run_coroutine_threadsafe(self._begin(fn), self.loop)

    async def _begin(self, fn: Callable[[], Awaitable[T]]) -> T:
        task = asyncio.current_task()
        if task is not None:
            task.set_name(getattr(fn, "__qualname__", repr(fn)))
        if self.root is not None:
            settle_in(self.root)  # an earlier tool may have left the loop elsewhere
        return await fn()

    def suspect(self) -> None:
        """Ask for a sign of life; `stuck` tells later whether it came."""
        loop = self._loop
        if loop is not None and self._asked is None and not loop.is_closed():
            self._asked = time.monotonic()
            loop.call_soon_threadsafe(self._alive)

    def _alive(self) -> None:
        self._asked = None

    @property
    def stuck(self) -> bool:
        """Whether something has blocked the loop for over a second since `suspect`."""
        asked = self._asked
        return asked is not None and time.monotonic() - asked > _STUCK_AFTER

    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def close(self, timeout: float = 2.0) -> tuple[str, ...]:
        """Cancel the loop's tasks and end its thread. Returns what did not end within `timeout` seconds, in words."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return ()
        try:
            loop.call_soon_threadsafe(loop.stop)
        except RuntimeError:  # closed already
            return tuple(self._left)
        if thread is threading.current_thread():
            return ()
        thread.join(timeout)
        if thread.is_alive():
            return (f"{self.name}: a task blocks its loop",)
        return tuple(self._left)

    def _run(self, ready: Future[asyncio.AbstractEventLoop]) -> None:
        loop: asyncio.AbstractEventLoop | None = None
        try:
            if self.root is not None:
                settle_in(self.root)
            loop = asyncio.new_event_loop()
            if self._executor is not None:
                loop.set_default_executor(_Elsewhere(self._executor))
        except BaseException as error:
            if loop is not None:
                loop.close()
            ready.set_exception(error)
            return
        asyncio.set_event_loop(loop)
        loop.call_soon(ready.set_result, loop)
        try:
            loop.run_forever()
            loop.run_until_complete(self._wind_up())
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    async def _wind_up(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            _, pending = await asyncio.wait(tasks, timeout=_CANCEL_WAIT)
            self._left = [f"{self.name}: a task ignores its cancellation: {task.get_name()}" for task in pending]
        await asyncio.get_running_loop().shutdown_asyncgens()


class _Elsewhere(ThreadPoolExecutor):
    """A loop's default executor that owns no threads: its own would not be daemons, capped, or in the workspace."""

    def __init__(self, submits: Submits) -> None:
        super().__init__(max_workers=1)
        self._submits = submits

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._submits(partial(fn, *args, **kwargs))
