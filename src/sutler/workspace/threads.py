"""Threads that belong to one workspace for life (DESIGN decision 4): its sync tools run on them."""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ClosedError, LimitExceeded
from .cwd import per_thread_cwd, settle_in

if TYPE_CHECKING:
    import asyncio

    from .loops import LoopThread

T = TypeVar("T")
MOST_THREADS = 1_000  # of all workspaces of the process
_here = threading.local()


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """How many threads run a call, wait for one, or run a call that was given up (a blocked loop is one of those).

    notes: what did not end at close, in words.
    """

    busy: int
    idle: int
    abandoned: int
    notes: tuple[str, ...] = ()


class Hop(Future[T]):
    """The future of one submitted function."""

    runner: _Runner


class WorkspaceThreads:
    """Daemon threads whose current directory is `root`, where the platform can do that (WSP-01, WSP-02).

    Where it cannot, functions run all the same, in the process's directory: ask `own_cwd`. A thread that has waited
    `idle_seconds` for work ends.
    """

    def __init__(self, root: Path, *, idle_seconds: float = 5.0) -> None:
        self.root = root
        self.idle_seconds = idle_seconds
        self.own_cwd = per_thread_cwd().available
        self._lock = threading.Lock()
        self._runners: set[_Runner] = set()
        self._idle: list[_Runner] = []
        self._fixed: dict[str, FixedThread] = {}
        self._loop_lock = threading.Lock()
        self._loop: LoopThread | None = None
        self._spare_loops: list[LoopThread] = []
        self._old_loops: list[LoopThread] = []
        self._closed = False
        self._pid = os.getpid()

    def submit(self, fn: Callable[[], T], *, anywhere: bool = False) -> Hop[T]:
        """Call `fn` on an idle thread or a new one, with the submitter's contextvars.

        anywhere: it is no tool's work, and may run though `root` is gone.
        LimitExceeded(limit="threads") when the process has 1,000 of them; ClosedError after close, and in a forked
        child. The future fails with ToolUnavailable when `root` is gone: `fn` must not run somewhere else. Who gives up
        waiting may settle the future. Its callbacks run on that thread and must not wait for another submission.
        """
        return self.hand_over(fn, None, None if anywhere else self.root)

    def fixed(self, key: str) -> FixedThread:
        """The one dedicated thread of this key, for tools with affinity = "thread"."""
        with self._lock:
            return self._fixed.setdefault(key, FixedThread(self, key))

    def current(self) -> bool:
        """Whether the caller is on one of these threads, fixed ones included (the loop's is not one)."""
        runner: _Runner | None = getattr(_here, "runner", None)
        return runner is not None and runner.pool is self

    @property
    def scarce(self) -> bool:
        """Whether the process is near its 1,000 threads: who can do without a further one should."""
        return _total.count > MOST_THREADS - 100

    def submit_async(self, fn: Callable[[], Awaitable[T]]) -> Future[T]:
        """Call `fn` on the workspace's loop and await what it gives. Cancelling the future cancels the task."""
        return self._loop_thread().submit(fn)

    def loop(self, held: Collection[asyncio.AbstractEventLoop] = ()) -> asyncio.AbstractEventLoop:
        """The loop of this workspace's async tools, on a thread of its own in `root`; started when first asked for.

        Its to_thread goes to these threads. One that a tool has blocked past a deadline is replaced.
        held: loops that whoever asks is blocking; another one is given then, for a wait on those would never end.
        """
        loop = self._loop_thread().loop
        if loop not in held:
            return loop
        with self._loop_lock:
            spare = next((one for one in self._spare_loops if one.loop not in held), None)
            if spare is None:
                self._spare_loops.append(spare := self._new_loop())
        return spare.loop

    def abandon(self, future: Future[Any]) -> None:
        """Give up a call past its deadline. Unstarted, it never starts; a coroutine is cancelled.

        A running function cannot be stopped: its thread is counted as abandoned, ends when the function returns and
        takes no other work; what was queued on a fixed thread behind it goes to a new one.
        """
        if not isinstance(future, Hop):
            future.cancel()
            if self._loop is not None:
                self._loop.suspect()
            return
        if future.cancel():
            return
        runner: _Runner = future.runner
        successor: _Runner | None = None
        with self._lock:
            if runner.current is not future:
                return
            runner.abandoned = True
            fixed = runner.fixed
            if fixed is not None:
                fixed.runner = None
                if not self._closed and not fixed.inbox.empty():
                    with suppress(LimitExceeded):
                        successor = self._add(fixed)
        if successor is not None:
            self._start(successor)
        elif runner.fixed is not None and runner.fixed.runner is None:
            self._refuse(runner.fixed.inbox)

    def stats(self) -> Busy:
        with self._lock:
            abandoned = sum(runner.abandoned for runner in self._runners)
            idle = len(self._idle) + sum(
                runner.fixed is not None and runner.current is None for runner in self._runners
            )
            busy = len(self._runners) - idle - abandoned
        blocked = sum(loop.is_alive() for loop in self._old_loops)
        return Busy(busy=busy, idle=idle, abandoned=abandoned + blocked)

    def close(self, timeout: float = 2.0) -> Busy:
        """Refuse new work, cancel what has not begun, stop the loop, and wait `timeout` seconds for the rest.

        Returns what still runs; those threads end with their functions.
        """
        until = time.monotonic() + timeout
        with self._lock:
            self._closed = True
            runners = list(self._runners)
            for runner in self._idle:
                runner.inbox.put(None)
            self._idle.clear()
            for fixed in self._fixed.values():
                _drain(fixed.inbox, None)
                if fixed.runner is not None:
                    fixed.inbox.put(None)
        notes: list[str] = []
        with self._loop_lock:
            loops = [loop for loop in (self._loop, *self._spare_loops, *self._old_loops) if loop is not None]
        for loop in loops:
            notes += loop.close(max(0.0, until - time.monotonic()))
        for runner in runners:
            if runner.thread is not threading.current_thread():
                runner.thread.join(max(0.0, until - time.monotonic()))
        left = self.stats()
        if left.busy + left.abandoned:
            number = left.busy + left.abandoned
            said = "1 call still runs" if number == 1 else f"{number} calls still run"
            notes.append(f"{said} in {self.root} and cannot be stopped")
        return Busy(busy=left.busy, idle=left.idle, abandoned=left.abandoned, notes=tuple(notes))

    def hand_over(self, fn: Callable[[], T], fixed: FixedThread | None, root: Path | None) -> Hop[T]:
        """root: the folder to be in meanwhile; None for what is no tool's work."""
        future: Hop[T] = Hop()
        fresh = False
        with self._lock:
            if self._closed or os.getpid() != self._pid:
                raise ClosedError(f"the threads of {self.root} are closed, or belong to another process")
            runner = fixed.runner if fixed is not None else self._idle.pop() if self._idle else None
            if runner is None:
                runner, fresh = self._add(fixed), True
            future.runner = runner
            runner.inbox.put((future, fn, contextvars.copy_context(), root))
        if fresh:
            self._start(runner)
        return future

    def _add(self, fixed: FixedThread | None) -> _Runner:
        """A new runner, not started yet. Call with the lock held."""
        _total.take()
        runner = _Runner(self, fixed)
        self._runners.add(runner)
        if fixed is not None:
            fixed.runner = runner
        return runner

    def _start(self, runner: _Runner) -> None:
        try:
            runner.thread.start()
        except RuntimeError:  # the system has no more threads
            self.gone(runner)
            self._refuse(runner.inbox)

    def _refuse(self, inbox: SimpleQueue[_Task | None]) -> None:
        _drain(inbox, LimitExceeded("no thread could be started for this call: too many run", limit="threads"))

    def rest(self, runner: _Runner) -> bool:
        """Called by a runner after each function: whether it goes on."""
        with self._lock:
            runner.current = None
            if runner.abandoned or (self._closed and runner.fixed is None):
                return False
            if runner.fixed is None:
                self._idle.append(runner)
            return True

    def may_leave(self, runner: _Runner) -> bool:
        """Called by a runner that got no work in time: False when some is on its way."""
        with self._lock:
            if runner not in self._idle:
                return False
            self._idle.remove(runner)
            return True

    def gone(self, runner: _Runner) -> None:
        with self._lock:
            self._runners.discard(runner)
            if runner.fixed is not None and runner.fixed.runner is runner:
                runner.fixed.runner = None
        _total.give_back()

    def _loop_thread(self) -> LoopThread:
        with self._loop_lock:
            if self._closed or os.getpid() != self._pid:
                raise ClosedError(f"the threads of {self.root} are closed, or belong to another process")
            if self._loop is not None and self._loop.stuck:
                self._loop.close(0)
                self._old_loops.append(self._loop)
                self._loop = None
            if self._loop is None:
                self._loop = self._new_loop()
            return self._loop

    def _new_loop(self) -> LoopThread:
        from .loops import LoopThread

        return LoopThread(f"sutler-loop {self.root.name}", root=self.root, executor=self.submit)


class FixedThread:
    """One thread for all that is submitted, in order. It does not end when idle: what it opened belongs to it."""

    def __init__(self, pool: WorkspaceThreads, key: str) -> None:
        self.key = key
        self.inbox: SimpleQueue[_Task | None] = SimpleQueue()
        self.runner: _Runner | None = None
        self._pool = pool

    def submit(self, fn: Callable[[], T], *, root: Path | None = None) -> Hop[T]:
        """root: the folder to work in, when it is not the workspace's: this one thread serves calls in any."""
        return self._pool.hand_over(fn, self, root or self._pool.root)

    def current(self) -> bool:
        """Whether this is that very thread: waiting here for a submission of one's own would never end."""
        runner: _Runner | None = getattr(_here, "runner", None)
        return runner is not None and runner.fixed is self


_Task = tuple[Hop[Any], Callable[[], Any], contextvars.Context, Path | None]


class _Runner:
    """One thread: takes a function, runs it in the workspace, rests."""

    def __init__(self, pool: WorkspaceThreads, fixed: FixedThread | None) -> None:
        self.pool = pool
        self.fixed = fixed
        self.inbox: SimpleQueue[_Task | None] = SimpleQueue() if fixed is None else fixed.inbox
        self.current: Hop[Any] | None = None
        self.abandoned = False
        name = f"sutler {pool.root.name}" if fixed is None else f"sutler {pool.root.name} {fixed.key}"
        self.thread = threading.Thread(target=self._main, name=name, daemon=True)

    def _main(self) -> None:
        _here.runner = self
        try:
            while (task := self._next()) is not None:
                goes_on = self._run(*task)
                del task  # what it holds must not live until the next one comes
                if not goes_on:
                    return
        finally:
            self.pool.gone(self)

    def _next(self) -> _Task | None:
        if self.fixed is not None:
            return self.inbox.get()
        try:
            return self.inbox.get(timeout=self.pool.idle_seconds)
        except Empty:
            return None if self.pool.may_leave(self) else self.inbox.get()

    def _run(self, future: Hop[Any], fn: Callable[[], Any], context: contextvars.Context, root: Path | None) -> bool:
        """Whether the thread goes on. It is free again before its result is out: who waits may call again at once,
        and then meets this warm thread instead of a new one."""
        self.current = future
        if not future.set_running_or_notify_cancel():
            return self.pool.rest(self)
        try:
            if self.pool.own_cwd and root is not None:
                settle_in(root, moves=self.fixed is not None)  # an earlier tool may have left this thread elsewhere
            value = context.run(fn)
        except BaseException as error:
            goes_on = self.pool.rest(self)
            with suppress(InvalidStateError):  # whoever waited gave up, and settled it himself
                future.set_exception(error)
            del future  # the error's traceback holds this frame
        else:
            goes_on = self.pool.rest(self)
            with suppress(InvalidStateError):
                future.set_result(value)
        return goes_on


class _Total:
    """The process's workspace threads, counted."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def take(self) -> None:
        with self._lock:
            if self.count >= MOST_THREADS:
                raise LimitExceeded(
                    f"{MOST_THREADS} tool calls run or hang in this process, the most there may be", limit="threads"
                )
            self.count += 1

    def give_back(self) -> None:
        with self._lock:
            self.count -= 1


_total = _Total()


def _drain(inbox: SimpleQueue[_Task | None], error: Exception | None) -> None:
    """Empty a queue: its futures fail with `error`, or are cancelled."""
    with suppress(Empty):
        while True:
            task = inbox.get_nowait()
            if task is None:
                continue
            if error is None:
                task[0].cancel()
                task[0].set_running_or_notify_cancel()
            elif task[0].set_running_or_notify_cancel():
                task[0].set_exception(error)


def _after_fork() -> None:
    global _total
    _total = _Total()  # the parent's threads are not in a forked child


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
