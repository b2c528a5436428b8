"""One child process of a worker, seen from the host: its pipes, what it prints, and its end."""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from . import wire
from .confine import WorkerLimits
from .watchdog import Deadline

_GUARD = Path(__file__).with_name("guard.py")
_CHUNK = 1 << 16
_ANSWER_PIPE = 1 << 20
_F_SETPIPE_SZ = 1031
_END_WITHIN = 5.0


class Late(Exception):
    """The deadline passed before the child said anything."""


class Gone(Exception):
    """The child's end of the pipe is closed, or it sent what it must not. `why` is empty when it just ended."""

    def __init__(self, why: str = "") -> None:
        super().__init__(why)
        self.why = why


class Capture:
    """Printed bytes: the first and the last half of `most`, and how many were left out between."""

    __slots__ = ("_half", "_head", "_left_out", "_tail")

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def add(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        if len(self._tail) > 2 * self._half + _CHUNK:
            self._cut()

    def _cut(self) -> None:
        extra = len(self._tail) - self._half
        if extra > 0:
            self._left_out += extra
            del self._tail[:extra]

    def text(self) -> str:
        """All of it as text; bytes that are no UTF-8 as \\xNN."""
        if len(self._tail) <= self._half and not self._left_out:
            return (self._head + self._tail).decode("utf-8", "backslashreplace")
        self._cut()
        head, tail = (part.decode("utf-8", "backslashreplace") for part in (self._head, self._tail))
        return f"{head}\n[... {self._left_out:,} bytes left out ...]\n{tail}"


class Printed:
    """What one call printed: by Python on stdout and stderr, and raw on fds 1 and 2."""

    __slots__ = ("err", "out", "raw")

    def __init__(self, most: int) -> None:
        self.out, self.err, self.raw = Capture(most), Capture(most), Capture(most)


class Process:
    """A running child. Only the thread whose turn it is may use it; `kill` may be called from any.

    start: the first message, with what worker_main needs. env: the whole environment.
    """

    def __init__(self, start: wire.Message, *, limits: WorkerLimits, env: Mapping[str, str]) -> None:
        line = wire.dump({**start, "path": _import_path()})
        self._limits = limits
        self._life_lock = threading.Lock()
        pairs: list[tuple[int, int]] = []
        try:
            for _ in range(6):
                pairs.append(os.pipe())  # one by one, so that those made before a failure are closed
            (life, self._life), (requests, self._requests), *rest = pairs
            (self._answers, answers), (self._out, out), (self._err, err), (self._raw, raw) = rest
            theirs = (life, requests, answers, out, err)
            self._popen = subprocess.Popen(
                [sys.executable, "-P", str(_GUARD), *map(str, theirs)],
                stdin=subprocess.DEVNULL,
                stdout=raw,
                stderr=raw,
                pass_fds=theirs,
                start_new_session=True,
                cwd="/",
                env=dict(env),
            )
        except BaseException:
            for fd in (fd for pair in pairs for fd in pair):
                os.close(fd)
            raise
        for fd in (*theirs, raw):
            os.close(fd)
        self.pid = self._popen.pid
        self.ended_by = ""  # why the host ended it
        self.printed = Printed(limits.output_bytes)
        self._how = ""
        self._outgoing = memoryview(line)
        self._parts: list[bytes] = []  # of a line that is not whole yet
        self._size = 0
        self._lines: list[bytes] = []
        self._poll = select.poll()
        for fd in (self._requests, self._answers, self._out, self._err, self._raw):
            os.set_blocking(fd, False)
        for fd in (self._answers, self._out, self._err, self._raw):
            self._poll.register(fd, select.POLLIN)
        _widen(self._answers)
        _widen(self._requests)
        self._poll.register(self._requests, select.POLLOUT)

    def send(self, line: bytes) -> None:
        """Queue one line; `receive` writes what the pipe does not take at once."""
        if self._how:
            return
        self._outgoing = memoryview(line)
        if self._write():
            self._poll.register(self._requests, select.POLLOUT)

    def receive(self, deadline: Deadline) -> wire.Message:
        """The child's next message. All that it had printed before is in `printed` then. Late, Gone."""
        if self._how:
            raise Gone  # a call nested in this one ended it
        while not self._lines:
            left = deadline.remaining()
            if left <= 0:
                raise Late
            self._look(None if left == math.inf else math.ceil(min(left, 3_600) * 1000))
        self._drain()
        try:
            return wire.load(self._lines.pop(0))
        except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError) as error:
            raise Gone(f"it sent a broken answer: {error}") from error

    def look(self) -> None:
        """Take what it has printed since, without waiting. Gone when it has ended, or speaks unasked."""
        for fd, _ in self._poll.poll(0):
            if fd == self._answers:
                raise Gone
            self._read_print(fd)

    def _look(self, timeout: int | None) -> None:
        for fd, _ in self._poll.poll(timeout):
            if fd == self._answers:
                self._read_answer()
            elif fd == self._requests:
                if not self._write():
                    self._poll.unregister(fd)
            else:
                self._read_print(fd)

    def _write(self) -> bool:
        """Whether anything is left to write."""
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[os.write(self._requests, self._outgoing) :]
        except BlockingIOError:
            return True
        except OSError:  # the reader is gone; its other pipe will say so
            self._outgoing = memoryview(b"")
        return False

    def _read_answer(self) -> None:
        chunk = os.read(self._answers, _ANSWER_PIPE if self._parts else _CHUNK)
        if not chunk:
            raise Gone
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._lines.append(b"".join((*self._parts, line)))
            self._parts.clear()
            self._size = 0
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > self._limits.result_bytes:  # an honest child refuses before it sends
                raise Gone(f"it sent more than {self._limits.result_bytes:,} bytes in one answer")

    def _read_print(self, fd: int) -> int:
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return 0
        if not chunk:
            self._poll.unregister(fd)
            return 0
        into = self.printed.out if fd == self._out else self.printed.err if fd == self._err else self.printed.raw
        into.add(chunk)
        return len(chunk)

    def _drain(self) -> None:
        """Take what is in the printing pipes now; a flood that goes on is left for the next look."""
        taken = 0
        while taken < _ANSWER_PIPE:
            ready = [fd for fd, _ in self._poll.poll(0) if fd not in (self._answers, self._requests)]
            got = sum(self._read_print(fd) for fd in ready)
            if not got:
                return
            taken += got

    def kill(self, why: str) -> None:
        """Have the guard end the child and all that it started. From any thread; `end` must follow in the owner's."""
        with self._life_lock:
            if self._life >= 0:
                self.ended_by = self.ended_by or why
                os.close(self._life)
                self._life = -1

    def end(self, why: str, *, gently: float = 0.0) -> str:
        """End it, wait for that and close every pipe; again does nothing. Returns how it ended, in words.

        gently: how many seconds it gets to end by itself after a `close` message.
        """
        if self._how:
            return self._how
        if gently > 0 and self._life >= 0:
            with suppress(Late, Gone):
                self.send(wire.dump({"op": "close"}))
                until = Deadline(gently)
                while True:
                    self._lines.clear()
                    self.receive(until)
        self.kill(why)  # one that is already dying keeps the status it dies with
        try:
            self._popen.wait(_END_WITHIN)
        except subprocess.TimeoutExpired:  # the guard itself hangs (stopped, say): take it down from here
            self._popen.kill()
            self._popen.wait()
        with suppress(OSError):
            self._drain()
        for fd in (self._requests, self._answers, self._out, self._err, self._raw):
            os.close(fd)
        self._how = _how(self._popen.returncode)
        return self._how


def _how(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _import_path() -> list[str]:
    """The host's import path, made absolute: the child starts elsewhere, and this thread may be in a workspace."""
    try:
        base = os.readlink("/proc/self/cwd")  # noqa: PTH115 - the main thread's, so the process's
    except OSError:
        base = os.getcwd()  # noqa: PTH109
    return [os.path.join(base, entry) for entry in sys.path]  # noqa: PTH118


def _widen(fd: int) -> None:
    """A larger pipe, where the system grants it: fewer hops for large answers."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(fd, _F_SETPIPE_SZ, _ANSWER_PIPE)
