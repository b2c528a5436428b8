"""The child's side of commands.py: shuts itself in, then runs programs and collects what they print.

Entry of a worker process: entry(payload, host) -> handle("run", job) -> the outcome, all plain data.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Any

from .confine import Roots, restrict
from .network import cannot_cut_off, cut_off
from .process import Capture

_GRACE = 0.3  # seconds that are waited for output after the last program has ended: one in the background may hold it
_CHUNK = 1 << 16
_NOT_FOUND, _NOT_RUN = 127, 126


def entry(payload: Mapping[str, Any], host: object) -> Any:
    """payload: confine ({write, read, system}, or None), network (whether it stays), both for good."""
    if payload["confine"] is not None:
        restrict(Roots(**payload["confine"]))
    if not payload["network"] or (payload["confine"] is not None and not cannot_cut_off()):
        cut_off(sockets=payload["network"])

    def handle(method: str, job: Mapping[str, Any]) -> dict[str, Any]:
        return run(job)

    return handle


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Runs the job's pipelines one after the other, as `then` says, until one has run past `seconds`.

    job: steps [{then: "" | "&&" | "||" | ";", cwd, stages}], stages [{argv, stdin, stdout, append, errors, feed}],
    env, seconds, output_bytes. Gives exit_code (of the last that ran), stdout, stderr, timed_out, report.
    """
    with ExitStack() as stack:
        out, err = _Stream(stack, job["output_bytes"]), _Stream(stack, job["output_bytes"])
        report = stack.enter_context(_scratch()) if job["report"] else None
        until = time.monotonic() + job["seconds"]
        code, late = 0, False
        for step in job["steps"]:
            if (step["then"] == "&&" and code) or (step["then"] == "||" and not code):
                continue
            code, late = _pipeline(step, job["env"], out, err, report, until)
            if late:
                break
        out.close_writer()
        err.close_writer()
        _collect((out, err), time.monotonic() + _GRACE)
        told = ""
        if report is not None:
            report.seek(0)
            told = report.read(job["output_bytes"]).decode("utf-8", "replace")
        return {
            "exit_code": code,
            "stdout": out.capture.text(),
            "stderr": err.capture.text(),
            "timed_out": late,
            "report": told,
        }


class _Stream:
    """One pipe that all programs of a job write to, and what came out of it so far."""

    def __init__(self, stack: ExitStack, most: int) -> None:
        self.reader, self.writer = os.pipe()
        self.capture = Capture(most)
        self.open = True
        os.set_blocking(self.reader, False)
        stack.callback(os.close, self.reader)
        stack.callback(self.close_writer)

    def close_writer(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def take(self) -> bool:
        """Reads what there is; False when there was nothing."""
        try:
            chunk = os.read(self.reader, _CHUNK)
        except BlockingIOError:
            return False
        self.open = bool(chunk)
        self.capture.add(chunk)
        return bool(chunk)


def _pipeline(
    step: Mapping[str, Any], env: Mapping[str, str], out: _Stream, err: _Stream, report: IO[bytes] | None, until: float
) -> tuple[int, bool]:
    """The exit code of the last stage, and whether time ran out (all of it is killed then)."""
    running: list[subprocess.Popen[bytes]] = []
    code = 0
    before: int | None = None
    stages = step["stages"]
    for number, stage in enumerate(stages):
        following, write = os.pipe() if number + 1 < len(stages) else (None, out.writer)
        try:
            running.append(_started(stage, step["cwd"], env, (before, write, err.writer), report, running))
        except OSError as error:
            code = _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_RUN
            os.write(err.writer, f"{error.filename or stage['argv'][0]}: {error.strerror}\n".encode())
        finally:
            if before is not None:
                os.close(before)
            if following is not None:
                os.close(write)
            before = following
        if code:
            break
    if before is not None:
        os.close(before)
    late = _wait(running, (out, err), until)
    if late:
        for one in running:
            _kill(one)
    codes = [one.wait() for one in running]
    if not code and codes:
        code = codes[-1] if codes[-1] >= 0 else 128 - codes[-1]
    return code, late


def _started(
    stage: Mapping[str, Any],
    cwd: str,
    env: Mapping[str, str],
    streams: tuple[int | None, int, int],
    report: IO[bytes] | None,
    before: Sequence[subprocess.Popen[bytes]],
) -> subprocess.Popen[bytes]:
    """One stage, in the process group of those before it. streams: what it reads, writes and complains on."""
    read, write, errors = streams
    with ExitStack() as stack:
        stdin: Any = subprocess.DEVNULL if read is None else read
        if stage["stdin"] is not None:
            stdin = stack.enter_context(_opened(cwd, stage["stdin"], os.O_RDONLY))
        stdout: Any = write
        if stage["stdout"] is not None:
            mode = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if stage["append"] else os.O_TRUNC)
            stdout = stack.enter_context(_opened(cwd, stage["stdout"], mode))
        stderr: Any = {"out": stdout, "null": subprocess.DEVNULL}.get(stage["errors"], errors)
        argv, passed = _with_feed(stage, stack, report)
        return subprocess.Popen(
            argv,
            executable=stage["program"],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=dict(env),
            pass_fds=passed,
            process_group=before[0].pid if before and before[0].poll() is None else 0,
        )


def _with_feed(
    stage: Mapping[str, Any], stack: ExitStack, report: IO[bytes] | None
) -> tuple[list[str], tuple[int, ...]]:
    """The argv with {feed} and {report} put in: the numbers of the files to read from and to write a report to."""
    argv: list[str] = list(stage["argv"])
    passed: list[int] = []
    if stage["feed"] is not None:
        feed = stack.enter_context(_scratch())
        feed.write(stage["feed"].encode("utf-8", "surrogatepass"))
        feed.flush()
        feed.seek(0)
        passed.append(feed.fileno())
        argv = [word if word != "{feed}" else str(feed.fileno()) for word in argv]
    if report is not None:
        passed.append(report.fileno())
        argv = [word if word != "{report}" else str(report.fileno()) for word in argv]
    return argv, tuple(passed)


def _opened(cwd: str, path: str, flags: int) -> IO[bytes]:
    """An ordinary file, no link at its end: what was looked at before is what is opened."""
    fd = os.open(Path(cwd, path), flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    return os.fdopen(fd, "rb" if flags & 3 == os.O_RDONLY else "wb", buffering=0)


def _wait(running: list[subprocess.Popen[bytes]], streams: tuple[_Stream, _Stream], until: float) -> bool:
    """Reads along until all have ended; True when time ran out first."""
    with ExitStack() as stack:
        for one in running:
            end = _end_of(one, stack)
            while one.poll() is None:
                left = until - time.monotonic()
                if left <= 0:
                    return True
                _look(streams, min(left, 1.0), end)
    return False


def _end_of(one: subprocess.Popen[bytes], stack: ExitStack) -> list[int]:
    """Something to wait for that tells of its end; nothing where the system has no such thing."""
    native: Any = getattr(os, "pidfd_open", None)
    with suppress(OSError):
        if native is not None:
            fd: int = native(one.pid)
            stack.callback(os.close, fd)
            return [fd]
    return []


def _collect(streams: tuple[_Stream, _Stream], until: float) -> None:
    """What is still in the pipes, until their end or `until`."""
    while any(stream.open for stream in streams) and time.monotonic() < until:
        _look(streams, max(0.0, until - time.monotonic()))
    for stream in streams:
        while stream.open and stream.take():
            if time.monotonic() > until + 1:
                return


def _look(streams: tuple[_Stream, _Stream], seconds: float, ends: Sequence[int] = ()) -> None:
    """Takes what is printed, waiting for it or for one of `ends`."""
    readers = {stream.reader: stream for stream in streams if stream.open}
    ready, _, _ = select.select([*readers, *ends], [], [], seconds if ends else min(seconds, 0.01))
    for fd in ready:
        if fd in readers:
            readers[fd].take()


def _scratch() -> IO[bytes]:
    """A file without a name; in memory where that can be had, since a confined process may have no folder for it."""
    native: Any = getattr(os, "memfd_create", None)
    return tempfile.TemporaryFile() if native is None else os.fdopen(native("sutler"), "w+b")


def _kill(one: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(one.pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        one.kill()
