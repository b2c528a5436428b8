"""A warm child process that serves one entry: calls of it, captured, bounded and killed at their deadline.

The machinery of isolation = "process" (RUN-12, RUN-13, LCP-16); see worker_main for the child's side.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypedDict

from ..errors import ClosedError, InvalidArguments, LimitExceeded, ToolCrashed, ToolTimeout, ToolUnavailable
from . import wire
from .confine import Roots, WorkerLimits
from .process import Gone, Late, Printed, Process
from .watchdog import Deadline

OnRequest = Callable[[str, dict[str, Any]], Any]
# Passed to every worker whatever the list says: without them Python and most programs do not work.
BASIC_ENV = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR",
    "PYTHON*", "VIRTUAL_ENV", "SSL_CERT_*",
)  # fmt: skip
_SHOWN = 2_000


def basic_environment(names: Sequence[str] = ()) -> dict[str, str]:
    """The variables of this process that BASIC_ENV or `names` let through; `*` in a name stands for any characters."""
    allowed = (*BASIC_ENV, *names)
    return {key: value for key, value in os.environ.items() if any(fnmatchcase(key, one) for one in allowed)}


class Failed(TypedDict):
    """What the entry raised: its class's bare name, its text, its traceback in the child."""

    type: str
    message: str
    traceback: str


class Reply(TypedDict):
    """What one call gave. `value` when ok, else `error` (None otherwise).

    stdout, stderr: what Python printed. raw: what came on fds 1 and 2 (C code, subprocesses).
    stray: what was printed before, while the entry was loaded or between calls. notes: what else is to be told.
    """

    ok: bool
    value: Any
    error: Failed | None
    stdout: str
    stderr: str
    raw: str
    stray: str
    notes: tuple[str, ...]


class Stopper:
    """Ends one call of a worker, from any thread, and no other: also one that still waits for its turn."""

    def __init__(self) -> None:
        self.stopped = False
        self._process: Process | None = None
        self._lock = threading.Lock()

    def stop(self, why: str) -> None:
        with self._lock:
            self.stopped = True
            if self._process is not None:
                self._process.kill(why)

    def begin(self, process: Process) -> None:
        with self._lock:
            if self.stopped:
                raise ToolTimeout("the call was given up before its turn came")
            self._process = process

    def end(self) -> None:
        with self._lock:
            self._process = None


class Worker:
    """One entry in one child process, started at the first call and again after it had to be killed.

    entry: `package.module:function`, imported in the child by the host's import path and called there with `payload`
    (plain data) and a host object; it returns `handle(method, args) -> value`.
    confine: folders the child is confined to (Linux with Landlock; else ToolUnavailable).
    env: names of the host's environment variables to pass besides BASIC_ENV, `*` allowed; None passes all.
    """

    def __init__(
        self,
        entry: str,
        payload: Mapping[str, Any],
        *,
        limits: WorkerLimits | None = None,
        confine: Roots | None = None,
        env: Sequence[str] | None = None,
        name: str = "",
    ) -> None:
        self.entry = entry
        self.name = name or entry
        self.limits = limits or WorkerLimits()
        self.confine = confine
        self.starts = 0  # how many child processes there have been
        self._payload = dict(payload)
        self._env = None if env is None else tuple(env)
        self._turn = threading.Lock()
        self._process: Process | None = None
        self._lost: tuple[str, ...] = ()  # told with the next reply
        self._closed = False
        self._owner = os.getpid()

    def renew(self, payload: Mapping[str, Any]) -> None:
        """What the next child process is started with."""
        self._payload = dict(payload)

    @property
    def pid(self) -> int | None:
        """The process group's guard, for `doctor`; None when no child runs."""
        process = self._process
        return None if process is None else process.pid

    def call(
        self,
        method: str,
        args: Mapping[str, Any],
        *,
        cwd: Path,
        timeout: float | Deadline,
        on_request: OnRequest | None = None,
        stopper: Stopper | None = None,
    ) -> Reply:
        """Have the child handle one call in `cwd`, starting it if need be. What the entry raises is in the reply.

        timeout: seconds, or a Deadline that `on_request` may pause. Waiting for another call to end does not count.
        on_request(name, args): serves what the child asks in mid-call, on this thread; what it raises is raised in the
        child. It may call this worker again: that call runs inside the child's waiting one.
        stopper: gives this call up, and only this one; a running one is then a ToolCrashed.

        ToolTimeout: the child and all it started are killed. ToolCrashed: it died. LimitExceeded: it used up its
        processor time. ToolUnavailable: the entry cannot be loaded or confined. InvalidArguments: `args` cannot
        cross. ClosedError. After each of these the next call starts a fresh child.
        """
        deadline = timeout if isinstance(timeout, Deadline) else Deadline(timeout)
        with self._my_turn(deadline) as nested:
            try:
                line = wire.dump({"op": "call", "method": method, "args": args, "cwd": str(cwd)})
            except wire.Uncarried as error:
                raise InvalidArguments(f"{self.name}: {method}: {error}") from None
            if deadline.expired:  # a warm child is not to be killed for a call that never began
                raise ToolTimeout(f"{self.name}: {method} had no time left when its turn came")
            process = self._ready(cwd, deadline, on_request)
            stopper = stopper or Stopper()
            stopper.begin(process)
            before, printed = process.printed, Printed(self.limits.output_bytes)
            process.printed = printed
            try:
                process.send(line)
                answer = self._exchange(process, method, deadline, on_request)
            finally:
                stopper.end()
                process.printed = before if nested else Printed(self.limits.output_bytes)
            notes, self._lost = self._lost, ()
            return _reply(answer, printed, None if nested else before, notes)

    def start(self, *, cwd: Path, timeout: float | Deadline, on_request: OnRequest | None = None) -> None:
        """Start the child and load the entry now. Raises as `call` does."""
        deadline = timeout if isinstance(timeout, Deadline) else Deadline(timeout)
        with self._my_turn(deadline):
            self._ready(cwd, deadline, on_request)

    def kill(self, why: str = "it was stopped") -> None:
        """End the child now, from any thread; a running call raises ToolCrashed. The next call starts a fresh one."""
        process = self._process
        if process is None:
            return
        process.kill(why)
        if self._turn.acquire(blocking=False):  # nobody else will bury it soon
            try:
                if self._process is process:
                    self._end(process, why)
            finally:
                self._turn.release()

    def close(self, timeout: float = 2.0) -> None:
        """Refuse new calls, let an idle child end by itself within `timeout` seconds, kill a busy one."""
        self._closed = True
        if not self._turn.acquire(blocking=False):
            self.kill("its worker was closed")
            if not self._turn.acquire(timeout=timeout):
                return  # killed; a request handler that still runs buries it when it returns
        try:
            if self._process is not None:
                self._end(self._process, "its worker was closed", gently=timeout)
        finally:
            self._turn.release()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def _my_turn(self, deadline: Deadline) -> Generator[bool]:
        """One call at a time. A call made by this worker's own request handler is nested and has that one's turn."""
        self._check_open()
        asking = next((one for one in reversed(_asking.get()) if one.worker is self and one.open), None)
        turn = self._turn if asking is None else asking.turn
        if not turn.acquire(blocking=False):
            with deadline.pause():
                turn.acquire()
        try:
            self._check_open()
            yield asking is not None
        finally:
            turn.release()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"the worker of {self.name} is closed")
        if os.getpid() != self._owner:
            raise ClosedError(f"the worker of {self.name} belongs to another process")

    def _ready(self, cwd: Path, deadline: Deadline, on_request: OnRequest | None) -> Process:
        """The running child, or a fresh one with its entry loaded."""
        self._check_cwd(cwd)
        if self._process is not None:
            try:
                if self._process.ended_by:  # it was killed, and is not dead yet
                    raise Gone
                self._process.look()
            except Gone:
                how = self._end(self._process, "")
                self._lost = (f"the worker process had ended since the last call ({how}); what it held is lost",)
            else:
                return self._process
        process = self._spawn(cwd)
        answer = self._exchange(process, "being loaded", deadline, on_request)
        if not answer["ok"]:
            error = answer["error"]
            self._end(process, "")
            raise ToolUnavailable(
                f"{self.name} cannot be loaded in a worker process: {error['type']}: {error['message']}",
                traceback=error["traceback"],
                notes=_notes(process.printed),
            )
        return process

    def _spawn(self, cwd: Path) -> Process:
        if not hasattr(os, "fork"):
            raise ToolUnavailable(f"{self.name}: this platform has no worker processes")
        roots = self.confine
        start = {
            "entry": self.entry,
            "payload": self._payload,
            "limits": asdict(self.limits),
            "confine": None if roots is None else {"write": roots.write, "read": roots.read},
            "cwd": str(cwd),
        }
        try:
            process = Process(start, limits=self.limits, env=self._environment())
        except wire.Uncarried as error:
            raise ToolUnavailable(f"{self.name} cannot be loaded in a worker process: {error}") from None
        except OSError as error:
            raise ToolUnavailable(f"{self.name}: no worker process can be started: {error}", retryable=True) from error
        self.starts += 1
        self._process = process
        if self._closed:  # while it was being started, so nobody else knows of it
            self._end(process, "its worker was closed")
        self._check_open()
        return process

    def _check_cwd(self, cwd: Path) -> None:
        """A confined child could not read there, and would say so in a confusing way."""
        if self.confine is None or self.confine.read is None:
            return
        if not any(cwd.is_relative_to(root) for root in (*self.confine.write, *self.confine.read)):
            raise ToolUnavailable(f"{self.name}: its worker process is confined to folders that do not hold {cwd}")

    def _environment(self) -> dict[str, str]:
        return dict(os.environ) if self._env is None else basic_environment(self._env)

    def _exchange(
        self, process: Process, method: str, deadline: Deadline, on_request: OnRequest | None
    ) -> wire.Message:
        """Serve the child's requests until it answers. Anything that ends this early ends the child."""
        try:
            while True:
                message = process.receive(deadline)
                if message["op"] != "request":
                    return message
                process.send(self._serve(message, on_request))
        except Late:
            how = self._end(process, f"{method} ran past its deadline")
            raise ToolTimeout(
                f"{self.name}: {method} ran past its {deadline.seconds:g} s; its worker process was stopped ({how})",
                notes=_notes(process.printed),
            ) from None
        except Gone as gone:
            how = self._end(process, gone.why)
            raise self._crash(process, method, how) from None
        except BaseException:
            self._end(process, f"{method} was given up")
            raise

    def _crash(self, process: Process, method: str, how: str) -> ToolCrashed | LimitExceeded:
        notes = _notes(process.printed)
        if how == "killed by SIGXCPU":
            return LimitExceeded(
                f"{self.name}: {method} used more than {self.limits.cpu_seconds} s of processor time",
                limit="cpu_seconds",
                notes=notes,
            )
        why = f" because {process.ended_by}" if process.ended_by else ""
        written = (process.printed.err.text() + process.printed.raw.text()).strip()
        fatal = written.find("Fatal Python error")  # what comes after it are stacks
        last = written[fatal : fatal + 300] if fatal >= 0 else written[-500:]
        shown = f"; the last it wrote: {last}" if last else ""
        return ToolCrashed(f"{self.name}: the worker process died in {method}{why}: {how}{shown}", notes=notes)

    def _serve(self, message: wire.Message, on_request: OnRequest | None) -> bytes:
        name = message["name"]
        asking = _Asking(self)
        before = _asking.set((*_asking.get(), asking))
        try:
            if on_request is None:
                raise RuntimeError(f"the host does not serve {name!r} here")
            return wire.dump({"op": "response", "ok": True, "value": on_request(name, message["args"])})
        except Exception as error:
            described = {**wire.describe(error), "traceback": ""}  # the host's own code is no business of the child
            return wire.dump({"op": "response", "ok": False, "error": described})
        finally:
            asking.open = False
            _asking.reset(before)

    def _end(self, process: Process, why: str, *, gently: float = 0.0) -> str:
        """End and bury it. A nested call may have done so before."""
        if self._process is process:
            self._process = None
        return process.end(why, gently=gently)


class _Asking:
    """A request of the child that the host is serving: the turn for calls made meanwhile."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.open = True
        self.turn = threading.Lock()


# What the current context is serving, outermost first; it follows a handler into other threads and loops.
_asking: ContextVar[tuple[_Asking, ...]] = ContextVar("sutler_worker_asking", default=())


def _reply(answer: wire.Message, printed: Printed, stray: Printed | None, notes: tuple[str, ...]) -> Reply:
    return Reply(
        ok=answer["ok"],
        value=answer.get("value"),
        error=answer.get("error"),
        stdout=printed.out.text(),
        stderr=printed.err.text(),
        raw=printed.raw.text(),
        stray="" if stray is None else stray.out.text() + stray.err.text() + stray.raw.text(),
        notes=notes,
    )


def _notes(printed: Printed) -> tuple[str, ...]:
    """The end of what was printed, for a call that has no reply."""
    streams = (("stdout", printed.out), ("stderr", printed.err), ("fds 1 and 2", printed.raw))
    return tuple(f"printed on {name}: {text[-_SHOWN:]}" for name, one in streams if (text := one.text()))
