"""Drives one program from its first call to its end, on whatever thread is free to do so.

A sync tool runs right on the driving thread. If it passes its deadline another thread takes the waiting program
over and goes on with a timeout; the first thread finds that out when its tool returns at last, and ends. So a
tool can hang, a program cannot.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ApprovalPending, ClosedError, LimitExceeded, SutlerError, ToolCallError, ToolTimeout
from ..spec import RunError, RunStatus
from ..workspace import watchdog
from ..workspace.watchdog import Deadline
from .steps import Call, Done, ProgramFailed

if TYPE_CHECKING:
    from .engine import Session


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call came to, for the program: a value, or a builtin exception's name and message."""

    value: Any = None
    raises: str | None = None
    message: str = ""


class Invocation(Protocol):
    """One call in flight. `run` and `expire` race; the first to settle it gets the answer, the other gets None."""

    @property
    def due(self) -> float:
        """When the call is late (time.monotonic), math.inf while nothing can be late."""
        ...

    @property
    def holds_thread(self) -> bool:
        """Whether the tool itself occupies the driving thread, which is then lost until the tool returns."""
        ...

    def run(self) -> Answer | None: ...

    def expire(self, failure: ToolCallError | None) -> Answer | None:
        """Settles the call as late (None) or as ended by `failure`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Why a run is ended from outside: a limit, or a person's or host's cancel."""

    status: RunStatus
    error: RunError


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended. `snapshot` holds a program that waits for a person."""

    status: RunStatus
    output: Any = None
    error: RunError | None = None
    stdout: str = ""
    variables: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    snapshot: bytes | None = None


class Driver:
    """One program's run. `finished` resolves to Ended exactly once, whichever thread gets there."""

    def __init__(
        self,
        session: Session,
        *,
        begin: Callable[[Call], Invocation],
        spawn: Callable[[Callable[[], None]], Future[None]],
        abandon: Callable[[Future[None]], object],
        deadline: Deadline,
        wall_seconds: float,
        keep: Sequence[str] = (),
    ) -> None:
        self.finished: Future[Ended] = Future()
        self.computed = 0.0
        self._session = session
        self._begin = begin
        self._spawn = spawn
        self._abandon = abandon
        self._job: Future[None] | None = None
        self._deadline = deadline
        self._wall_seconds = wall_seconds
        self._keep = keep
        self._lock = threading.Lock()
        self._current: Invocation | None = None
        self._stop: Stop | None = None
        self._over = False

    def start(self, inputs: Mapping[str, Any]) -> None:
        """Sets the program going on a thread of its own."""
        self._launch(lambda: self._session.start(inputs))

    def resume(self, state: bytes, settle: Callable[[Call], Answer]) -> None:
        """Goes on with a stored program: `settle` answers the call it waits at."""
        self._launch(lambda: self._give(settle(self._session.load(state))))

    def _launch(self, first: Callable[[], Call | Done]) -> None:
        watchdog.register(self)
        try:
            self._job = self._spawn(lambda: self._drive(first))
        except SutlerError as error:  # no thread to be had, or the runtime is closed
            self._finish(error)
        else:
            self._job.add_done_callback(self._let_down)

    def stop(self, stop: Stop) -> None:
        """Ends the run from any thread; the call in flight is abandoned or cancelled, the sandbox worker ended."""
        with self._lock:
            if self._over or self._stop is not None:
                return
            self._stop = stop
            current = self._current
        if current is not None and current.expire(_failure_of(stop)) is not None:
            self._let_go(current)
            self._finish(None)
        else:
            self._session.kill()

    @property
    def due(self) -> float:
        """For the watchdog: when the run or its call in flight is late."""
        current = self._current
        return min(self._deadline.due, current.due if current is not None else math.inf)

    def expired(self) -> None:
        """For the watchdog: something is late. Never blocks."""
        if self._deadline.remaining() <= 0:
            text = f"the run took longer than {self._wall_seconds:g} s"
            error = RunError(kind="limit", type="TimeoutError", message=text, limit="wall_seconds")
            self._aside(lambda: self.stop(Stop(status="failed", error=error)))
            return
        current = self._current
        if current is not None and current.due <= time.monotonic():
            answer = current.expire(None)
            if answer is not None:
                self._let_go(current)
                self._job = self._aside(lambda: self._drive(lambda: self._give(answer)))

    def _let_down(self, job: Future[None]) -> None:
        """A job that never ran must not leave the caller waiting for ever; after one that did this finds all done."""
        if job.cancelled():
            self._finish(ClosedError("the runtime was closed before the program began"))
        elif (error := job.exception()) is not None:
            self._finish(error)

    def _let_go(self, invocation: Invocation) -> None:
        if invocation.holds_thread and self._job is not None:
            self._abandon(self._job)

    def _aside(self, work: Callable[[], None]) -> Future[None] | None:
        try:
            job = self._spawn(work)
            job.add_done_callback(self._let_down)
            return job
        except SutlerError:  # no thread to be had: a late run must end all the same
            threading.Thread(target=work, daemon=True).start()
            return None

    def _drive(self, first: Callable[[], Call | Done]) -> None:
        try:
            step = self._timed(first)
            while not isinstance(step, Done):
                invocation = self._begin(step)
                with self._lock:
                    self._current = invocation
                    stopped = self._stop
                if stopped is not None:
                    break
                answer = invocation.run()
                if answer is None:
                    return  # the deadline passed, and another thread drives this program now
                self._current = None
                if self._stop is not None:
                    break
                step = self._timed(lambda given=answer: self._give(given))
            self._finish(step)
        except ApprovalPending:
            self._suspend()
        except (ProgramFailed, SutlerError) as error:
            self._finish(error)
        except BaseException as error:  # a fault of ours must not leave the caller waiting for ever
            self._finish(error)
            raise

    def _timed(self, work: Callable[[], Call | Done]) -> Call | Done:
        began = time.monotonic()
        try:
            return work()
        finally:
            self.computed += time.monotonic() - began

    def _give(self, answer: Answer) -> Call | Done:
        if answer.raises is not None:
            return self._session.fail(answer.raises, answer.message)
        try:
            return self._session.answer(answer.value)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            # the value did not cross; the program is still waiting and must hear of it
            return self._session.fail("ValueError", f"the result cannot be given to a program: {error}")

    def _suspend(self) -> None:
        snapshot = self._session.dump()
        self._end(Ended(status="waiting", stdout=self._session.stdout, snapshot=snapshot))

    def _finish(self, last: Call | Done | BaseException | None) -> None:
        stop = self._stop
        if stop is not None:
            self._end(Ended(status=stop.status, error=stop.error, stdout=self._session.stdout))
        elif isinstance(last, Done):
            variables = self._session.variables(self._keep)
            self._end(Ended(status="completed", output=last.output, stdout=self._session.stdout, variables=variables))
        else:
            self._end(Ended(status="failed", error=_error_of(last), stdout=self._session.stdout))

    def _end(self, ended: Ended) -> None:
        with self._lock:
            if self._over:
                return
            self._over = True
            self._current = None
        watchdog.unregister(self)
        with suppress(SutlerError):
            self._session.close()
        self.finished.set_result(ended)


def _failure_of(stop: Stop) -> ToolCallError:
    return ToolTimeout(f"the run ended before this call did: {stop.error.message}")


def _error_of(error: Call | Done | BaseException | None) -> RunError:
    if isinstance(error, ProgramFailed):
        return RunError(
            kind=error.kind,
            type=error.type,
            message=str(error),
            line=error.line,
            limit=error.limit or None,
            traceback=error.trace or None,
        )
    if isinstance(error, LimitExceeded):
        return RunError(kind="limit", type="LimitExceeded", message=str(error), limit=error.limit)
    return RunError(kind="crashed", type=type(error).__name__, message=str(error) or "the run broke off")
