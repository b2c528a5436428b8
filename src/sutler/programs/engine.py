"""The sandbox that programs run in: pydantic-monty, seen through one door, which is imported at the first program.

Nothing else in Sutler knows Monty. A session is one program in one worker process. It stops at every call of a name it
does not define (`Call`), is answered with a value or an error, and ends with `Done` or `ProgramFailed`.
One pool serves the process; it is made at the first program and never crosses a fork.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

from pydantic_monty import (
    CollectString,
    FunctionSnapshot,
    Monty,
    MontyComplete,
    MontyConversionError,
    MontyCrashedError,
    MontyError,
    MontyRuntimeError,
    MontySession,
    MontySyntaxError,
    NameLookupSnapshot,
)

from ..errors import ClosedError, SutlerError
from .crossing import GUARD, prelude_of
from .slots import MAX_DEPTH, TOP_LEVEL_RUNS
from .steps import Call, Done, ProgramFailed

_SHOWN_FRAMES = 6

_lock = threading.Lock()
_pool: Monty | None = None
_forked = False


_inherited: list[Monty] = []  # in a forked child: dropping the pool there makes the parent wait for it for ever at exit


def _in_child() -> None:
    global _pool, _forked
    if _pool is not None:
        _inherited.append(_pool)
        _forked = True
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _shared_pool() -> Monty:
    global _pool
    if _pool is not None:
        return _pool
    with _lock:
        if _forked:
            raise ClosedError(
                "this process was forked after programs had run in its parent, and the sandbox cannot cross a fork;"
                " start worker processes with spawn, or run the first program after the fork"
            )
        if _pool is None:
            pool = Monty(
                min_processes=1,
                max_processes=TOP_LEVEL_RUNS * (MAX_DEPTH + 1),
                checkout_timeout=30.0,
                max_checkouts_per_worker=1000,
            )
            pool.__enter__()
            atexit.register(_close_pool)
            _pool = pool
    return _pool


def _close_pool() -> None:
    global _pool
    with _lock:
        pool, _pool = _pool, None
    if pool is not None:
        pool.__exit__(None, None, None)


def warm() -> None:
    """Starts the pool now, so that the first program does not pay for it."""
    with _shared_pool().checkout():
        pass


class Session:
    """One program in one worker. Used by one thread at a time; `kill` may come from any."""

    def __init__(self, text: str, *, shown: str, compute_seconds: float, memory_mb: int, output_bytes: int) -> None:
        """`text` is what runs, `shown` the same lines as their author wrote them."""
        self._prelude = prelude_of(text)
        self._prelude_lines = self._prelude.count("\n")
        self._text = text
        self._shown = shown.split("\n")
        self._limits = {
            "max_feed_duration_secs": compute_seconds,
            "max_memory": memory_mb * 1024 * 1024,
            # The driver counts calls; this only keeps the engine's own count from ending a run before it.
            "max_suspensions": 2**31,
            "max_total_sleep_secs": 0.0,
        }
        self._output_bytes = output_bytes
        self._starts: list[int] | None = None
        self._session: MontySession | None = None
        self._snapshot: FunctionSnapshot | None = None
        self._prints: CollectString | None = None
        self._pid: int | None = None
        self._guard = threading.Lock()
        self._killed = False

    @property
    def stdout(self) -> str:
        return self._prints.output if self._prints is not None else ""

    def start(self, inputs: Mapping[str, Any]) -> Call | Done:
        session = self._open()
        try:
            return self._step(
                session.feed_start(self._prelude + self._text, inputs=dict(inputs), print_callback=self._prints)
            )
        except MontyError as error:
            raise self._failed(error) from None

    def load(self, state: bytes) -> Call:
        """Restores a program stored by `dump`; it waits at the same call. The bytes must be ones we wrote ourselves."""
        session = self._open()
        try:
            step = self._step(session.load_snapshot(state, print_callback=self._prints))
        except MontyError as error:
            raise self._failed(error) from None
        if not isinstance(step, Call):
            raise SutlerError("the stored program does not wait at a call")
        return step

    def _open(self) -> MontySession:
        try:
            session = _shared_pool().checkout(limits=self._limits)  # pyright: ignore[reportArgumentType]
            session.__enter__()
        except TimeoutError as error:
            raise ProgramFailed(
                "limit", "TimeoutError", "no sandbox worker became free in 30 s", line=None, trace="", limit="workers"
            ) from error
        with self._guard:
            self._session = session
            self._pid = session.worker_pid
            if self._killed and self._pid is not None:
                os.kill(self._pid, signal.SIGKILL)
        self._prints = CollectString(max_bytes=self._output_bytes)
        return session

    def answer(self, value: Any) -> Call | Done:
        """Goes on with `value` as what the call returned: plain data only (results.to_plain)."""
        return self._resume({"return_value": value})

    def fail(self, type_: str, message: str) -> Call | Done:
        """Goes on by raising a builtin exception at the call."""
        return self._resume({"exc_type": type_, "message": message})

    def variables(self, names: Sequence[str]) -> dict[str, Any]:
        """The values the program left in these top-level names; a name it never bound is absent."""
        if not names or self._session is None:
            return {}
        lines = ["_sutler_seen = {}"]
        for name in names:
            lines += [
                "try:",
                f"    _sutler_seen[{name!r}] = {GUARD}({name}, True)",
                "except NameError:",
                "    pass",
                "except (TypeError, ValueError) as reason:",
                f"    _sutler_seen[{name!r}] = '<' + str(reason) + '>'",
            ]
        try:
            step: Any = self._session.feed_start("\n".join([*lines, "_sutler_seen"]))
            while isinstance(step, NameLookupSnapshot):
                step = step.resume()
            return dict(step.output) if isinstance(step, MontyComplete) else {}
        except (MontyError, RecursionError, ValueError):
            return {}

    def dump(self) -> bytes:
        """The suspended program as bytes (2.5 to 10 KB); the session stays usable."""
        if self._snapshot is None:
            raise SutlerError("only a program that waits at a call can be stored")
        return self._snapshot.dump()

    def kill(self) -> None:
        """Ends the worker at once; the pool replaces it."""
        with self._guard:
            self._killed = True
            if self._pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        with self._guard:
            session, self._session, self._pid = self._session, None, None
        if session is not None:
            with suppress(MontyError):
                session.__exit__(None, None, None)

    def _resume(self, answer: dict[str, Any]) -> Call | Done:
        snapshot, self._snapshot = self._snapshot, None
        assert snapshot is not None, "the program is not waiting at a call"
        try:
            return self._step(snapshot.resume(answer))  # pyright: ignore[reportArgumentType]
        except MontyError as error:
            if not _did_not_cross(error):
                raise self._failed(error) from None
            self._snapshot = snapshot  # the program still waits, and may be told
            raise ValueError(str(error)) from None

    def _step(self, snapshot: Any) -> Call | Done:
        while True:
            if type(snapshot) is FunctionSnapshot:
                if not snapshot.is_os_function:
                    self._snapshot = snapshot
                    line = self._line(snapshot.position.start)
                    return Call(snapshot.function_name, snapshot.args, snapshot.kwargs, line)
                snapshot = self._refuse_os(snapshot)
            elif type(snapshot) is MontyComplete:
                return Done(snapshot.output)
            elif type(snapshot) is NameLookupSnapshot:
                snapshot = snapshot.resume()
            else:
                raise SutlerError(f"the sandbox stopped in a way this version does not know: {snapshot!r}")

    def _refuse_os(self, snapshot: FunctionSnapshot) -> Any:
        if snapshot.function_name == "system.sleep":
            return snapshot.resume({"exc_type": "RuntimeError", "message": "a program cannot sleep; call a tool"})
        return snapshot.resume_not_handled()

    def _line(self, offset: int) -> int:
        if self._starts is None:
            whole = (self._prelude + self._text).encode("utf-8", "replace")
            self._starts = [0, *accumulate(len(line) for line in whole.splitlines(keepends=True))]
        return max(1, bisect_right(self._starts, offset) - self._prelude_lines)

    def _failed(self, error: MontyError) -> ProgramFailed:
        if isinstance(error, MontyCrashedError):
            return self._crashed(error)
        message = str(error)
        line, trace = None, message
        if isinstance(error, MontyRuntimeError | MontySyntaxError):
            before = self._prelude_lines
            places = [frame.line - before for frame in error.traceback() if frame.line > before]
            line = places[-1] if places else None  # where it went wrong, not who called that
            message = error.display("msg")
            trace = self._shorten(places, error.display("type-msg"))
        type_ = type(error.exception()).__name__
        limit = self._limit_met(type_, message)
        if limit is not None:
            return ProgramFailed("limit", type_, limit[1], line=line, trace=trace, limit=limit[0])
        return ProgramFailed("error", type_, _reword(message), line=line, trace=trace)

    def _shorten(self, places: Sequence[int], last: str) -> str:
        """The frames of the program, with the lines as their author wrote them."""
        shown = places if len(places) <= _SHOWN_FRAMES else [*places[:3], *places[-3:]]
        lines = [f"  line {line}: {self._shown[line - 1].strip()[:200]}" for line in shown if line <= len(self._shown)]
        if len(places) > len(shown):
            lines.insert(3, f"  ... {len(places) - len(shown)} frames left out ...")
        return "\n".join([*lines, last[:2000]])

    def _crashed(self, error: MontyCrashedError) -> ProgramFailed:
        seconds = self._limits["max_feed_duration_secs"]
        if error.timed_out:
            text = f"the program computed for longer than {seconds:g} s"
            return ProgramFailed("limit", "TimeoutError", text, line=None, trace="", limit="compute_seconds")
        return ProgramFailed("crashed", "WorkerCrashed", f"the sandbox worker died: {error}", line=None, trace="")

    def _limit_met(self, type_: str, message: str) -> tuple[str, str] | None:
        if type_ == "TimeoutError" and message.startswith("feed time limit exceeded"):
            seconds = self._limits["max_feed_duration_secs"]
            return "compute_seconds", f"the program computed for longer than {seconds:g} s"
        if type_ == "MemoryError" and message.startswith("memory limit exceeded"):
            if message.endswith(f"> {self._output_bytes} bytes"):
                return "output_bytes", f"the program printed more than {self._output_bytes} bytes"
            megabytes = int(self._limits["max_memory"]) >> 20
            return "memory_mb", f"the program needed more than {megabytes} MB of memory"
        if type_ == "RecursionError":
            return "recursion", "the program called itself too deeply (1,000 frames)"
        return None


def _did_not_cross(error: MontyError) -> bool:
    """Whether a value of the host could not be given to the sandbox (half a character, a type it does not have)."""
    if isinstance(error, MontyConversionError):
        return True
    return isinstance(error, MontyRuntimeError) and not error.traceback() and "codec can't encode" in str(error)


def _reword(message: str) -> str:
    if "cannot suspend in this synchronous context" in message:
        name = message.split("'")[1] if "'" in message else "the tool"
        return (
            f"{name} was called inside a callback (key=, map, filter), where a program cannot wait for a tool;"
            f" call it in a loop or comprehension first and use the results"
        )
    return message
