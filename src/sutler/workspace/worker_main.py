"""The worker proper: loads one entry, then serves calls of it, one at a time, over two private pipes.

An entry is `entry(payload, host) -> handle`, and a call is `handle(method, args) -> value`. `host.request(name, args)`
asks the host in the middle of a call, from any thread; a call that the host makes meanwhile runs inside that request.
"""

from __future__ import annotations

import faulthandler
import importlib
import io
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any, Protocol, TextIO

from . import wire
from .confine import Roots, WorkerLimits, apply_limits, limit_cpu, restrict


class Host(Protocol):
    """What an entry gets to speak to the host with."""

    def request(self, name: str, args: Mapping[str, Any] | None = None) -> Any:
        """Have the host do something by name and wait for its value; what it raises is raised here.

        One request at a time: a second thread's waits. RuntimeError when no call is running; wire.Uncarried when the
        arguments cannot cross.
        """
        ...


Handle = Callable[[str, dict[str, Any]], Any]


def serve(lines: IO[bytes], first: bytes, answers: int, out: int, err: int) -> None:
    """Run until the host says close, or its pipe ends."""
    faulthandler.enable(2)
    start = wire.load(first)
    limits = WorkerLimits(**start["limits"])
    _Worker(lines, answers, Streams(out, err), limits).run(start)


class Streams:
    """sys.stdout and sys.stderr on pipes of their own, apart from fds 1 and 2; put back when a tool took them away."""

    def __init__(self, out: int, err: int) -> None:
        self._fds = (out, err)
        self._held: list[TextIO] = []

    def put(self) -> None:
        if self._held and all(not stream.closed for stream in self._held):
            sys.stdout, sys.stderr = self._held
            return
        self._held = [
            io.TextIOWrapper(
                open(fd, "wb", closefd=False),  # noqa: SIM115 - the stream owns it, the fd outlives both
                encoding="utf-8",
                errors="backslashreplace",
                line_buffering=True,
            )
            for fd in self._fds
        ]
        sys.stdout, sys.stderr = self._held

    def flush(self) -> None:
        taken = [stream for stream in (sys.stdout, sys.stderr) if stream not in self._held]
        for stream in (*self._held, *taken):
            try:
                stream.flush()
            except Exception:  # closed, or no stream at all: what a tool put there
                continue


class _Worker:
    def __init__(self, lines: IO[bytes], answers: int, streams: Streams, limits: WorkerLimits) -> None:
        self._lines = lines
        self._answers = answers
        self._streams = streams
        self._limits = limits
        self._pid = os.getpid()
        self._turn = threading.Lock()  # held by whoever reads and writes the pipes
        self._call = 0  # counts the calls from outside; a request belongs to one
        self._running = False
        self._handle: Handle | None = None

    def run(self, start: wire.Message) -> None:
        self._streams.put()
        self._turn.acquire()
        apply_limits(self._limits)
        answer = self._outcome(lambda: self._load(start), start["cwd"])
        self._send({"op": "ready", **answer})
        if not answer["ok"]:
            return
        while (message := self._read()) is not None and message["op"] == "call":
            self._serve(message)
        self._turn.release()  # a thread that asks too late gets its error and can end

    def request(self, name: str, args: Mapping[str, Any] | None = None) -> Any:
        if os.getpid() != self._pid:
            raise RuntimeError("a forked child of a worker cannot speak to the host")
        call = self._call if self._running else None
        if call is None:
            raise _over(name)  # at once: whoever rests holds the turn until the next call
        with self._turn:
            if not self._running or call != self._call:
                raise _over(name)
            self._streams.flush()
            self._send({"op": "request", "name": name, "args": dict(args or {})})
            while (message := self._read()) is not None:
                if message["op"] == "call":
                    self._serve(message)
                elif message["ok"]:
                    return message["value"]
                else:
                    raise wire.revive(message["error"])
        os._exit(1)  # the host is gone, and so will this be

    def _load(self, start: wire.Message) -> None:
        confine = start["confine"]
        if confine is not None:
            restrict(Roots(**confine))
        module, _, name = start["entry"].partition(":")
        entry: Any = importlib.import_module(module)
        for part in name.split("."):
            entry = getattr(entry, part)
        self._handle = entry(start["payload"], self)

    def _serve(self, message: wire.Message) -> None:
        """Run one call and answer it. The turn is held before and after, and free in between for requests."""
        handle = self._handle
        before = _cwd() if self._running else None

        def work() -> Any:
            if handle is None:
                raise RuntimeError("called while it is being loaded")
            return handle(message["method"], message["args"])

        answer = self._outcome(work, message["cwd"])
        if before is not None:
            with suppress(OSError):
                os.chdir(before)
        self._send({"op": "result", **answer})

    def _outcome(self, work: Callable[[], Any], cwd: str) -> wire.Message:
        """Run `work` in `cwd` with the turn given free; whatever it raises is an answer."""
        outer = self._running
        self._call += not outer
        self._running = True
        self._streams.put()
        self._turn.release()
        try:
            os.chdir(cwd)
            limit_cpu(self._limits.cpu_seconds)
            answer: wire.Message = {"ok": True, "value": work()}
        except BaseException as error:  # SystemExit too: a tool must not end the library's process by sys.exit
            answer = {"ok": False, "error": wire.describe(error, skip=2)}
        if os.getpid() != self._pid:
            self._leave_fork(answer)
        self._turn.acquire()
        self._running = outer
        self._streams.flush()
        return answer

    def _leave_fork(self, answer: wire.Message) -> None:
        """A child that the call forked came back here: it must not answer in the worker's name."""
        self._streams.flush()
        if not answer["ok"]:
            os.write(2, answer["error"]["traceback"].encode("utf-8", "backslashreplace"))
        os._exit(0 if answer["ok"] else 1)

    def _read(self) -> wire.Message | None:
        line = self._lines.readline()
        return wire.load(line) if line else None

    def _send(self, message: wire.Message) -> None:
        try:
            line = wire.dump(message)
            if len(line) > self._limits.result_bytes:
                raise wire.Uncarried(f"an answer of {len(line):,} bytes, the most is {self._limits.result_bytes:,}")
        except (wire.Uncarried, MemoryError) as error:
            if message["op"] == "request":
                raise
            line = wire.dump({"op": message["op"], "ok": False, "error": wire.describe(error)})
        left = memoryview(line)
        while left:
            left = left[os.write(self._answers, left) :]


def _over(name: str) -> RuntimeError:
    return RuntimeError(f"nobody listens for {name!r}: the call that could ask is over")


def _cwd() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return None
