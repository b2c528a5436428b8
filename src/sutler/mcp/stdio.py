"""A stdio server's process: how it is started, read line by line, and ended with all that it started.

Nothing here knows the protocol beyond "one JSON text a line". Own framing, because the SDK's is quadratic in the length
of a line and loses its session to one byte that is no UTF-8; own process handling, because a server that ends leaves
its children, and its stderr is lost (FH24, FH25, FH26, FS06).
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from ..servers import ServerSpec

LINE_CAP = 64 << 20  # bytes of one line; DESIGN: output 10 MB, and base64 and JSON make more of it
GRACE = 1.0  # seconds for EOF, and again for TERM, before the next step
STDERR_KEPT = 16 << 10
_CHUNK = 1 << 18
_PIPE = 1 << 20
_F_SETPIPE_SZ = 1031
_ENDS_KEPT = 4096  # of a line that is too long: where its id may stand
_JUNK_SAMPLES = 5
_JUNK_SHOWN = 200
_KEEPER = Path(__file__).with_name("keeper.py")
_INHERITED = frozenset(
    ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "TMPDIR", "TZ", "SYSTEMROOT")
)


def environment(spec: ServerSpec, of: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a server gets: an allow-list of this process's variables, those its config names, what it configures.

    The same rule whether or not anything is configured (FS08, MCP-11): no other secret of the host reaches a server.
    """
    held = os.environ if of is None else of
    env = {
        name: value
        for name, value in held.items()
        if (name in _INHERITED or name.startswith("LC_")) and not value.startswith("()")  # a shell's function
    }
    env.update({name: held[name] for name in spec.env_vars if name in held})
    env.update(spec.env)
    return env


class TooLong:
    """A line above the cap: its first and last bytes, for whoever can read an id out of them."""

    def __init__(self, head: bytes) -> None:
        self.head = head
        self.tail = b""
        self.size = 0


class Framer:
    """Bytes to lines, linear in their number, at most `cap` of them held."""

    def __init__(self, cap: int = LINE_CAP) -> None:
        self._cap = cap
        self._parts: list[bytes] = []
        self._size = 0
        self._over: TooLong | None = None

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """The lines that this chunk completes. One that is too long comes out once, when it ends."""
        found: list[bytes | TooLong] = []
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._add(end)
            found.append(self._over or b"".join(self._parts))
            self._parts, self._size, self._over = [], 0, None
        if rest:
            self._add(rest)
        return found

    def rest(self) -> bytes:
        """What came after the last line break: half a line, when the server ended in it."""
        return b"".join(self._parts)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._over is None:
            self._parts.append(part)
            if self._size <= self._cap:
                return
            self._over = TooLong(b"".join(self._parts)[:_ENDS_KEPT])
            self._parts = []
        self._over.size = self._size
        self._over.tail = (self._over.tail + part[-_ENDS_KEPT:])[-_ENDS_KEPT:]


class Junk:
    """Lines that are no protocol: counted, the first few kept as samples."""

    def __init__(self) -> None:
        self.lines = 0
        self.samples: list[str] = []

    def add(self, line: bytes) -> None:
        self.lines += 1
        if len(self.samples) < _JUNK_SAMPLES:
            text = line[:_JUNK_SHOWN].decode("utf-8", "backslashreplace")
            self.samples.append(text + ("..." if len(line) > _JUNK_SHOWN else ""))


class Tail:
    """The last bytes written to stderr, whatever their line breaks."""

    def __init__(self, most: int = STDERR_KEPT) -> None:
        self._most = most
        self._parts: deque[bytes] = deque()
        self._size = 0

    def add(self, chunk: bytes) -> None:
        self._parts.append(chunk[-self._most :])
        self._size += len(self._parts[-1])
        while self._size - len(self._parts[0]) >= self._most:
            self._size -= len(self._parts.popleft())

    def text(self) -> str:
        held = b"".join(self._parts)[-self._most :]
        return held.decode("utf-8", "backslashreplace").replace("\r", "\n").strip("\n")


class _Stdout(asyncio.Protocol):
    """Hands bytes on as they come, without a task between: each turn of the loop that a call waits for costs it."""

    def __init__(self) -> None:
        self._take: Callable[[bytes], None] | None = None
        self._ended: Callable[[], None] = lambda: None
        self._transport: asyncio.ReadTransport | None = None
        self._over = False

    def listen(self, take: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._take, self._ended = take, ended
        if self._over:
            ended()
        elif self._transport is not None:
            self._transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)
        self._transport.pause_reading()  # until somebody listens

    def data_received(self, data: bytes) -> None:
        if self._take is not None:
            self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._over = True
        self._ended()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class Child:
    """A running server process. Belongs to the loop it was started on; only `kill` may be called from elsewhere."""

    def __init__(self, process: asyncio.subprocess.Process, life: int, stderr: Tail, stdout: _Stdout) -> None:
        assert process.stdin is not None and process.stderr is not None
        self._process = process
        self._life = life
        self._stdout = stdout
        self.pid = 0  # of the server, not of its keeper
        self.stdin = process.stdin
        self.stderr = stderr
        self.how = ""  # how it ended, in words
        self.forced = False  # it did not end when its stdin was closed
        self._ending: asyncio.Task[None] | None = None
        self._draining = asyncio.ensure_future(self._drain(process.stderr))

    @classmethod
    async def start(cls, spec: ServerSpec, stderr: Tail) -> Child:
        """Spawn it. OSError, with the whole reason as its text, when it cannot be."""
        if os.name != "posix":
            raise OSError("a stdio server can be started on Linux, macOS and other POSIX systems only")
        if any("\0" in text for text in (spec.command, *spec.args, str(spec.cwd))):
            raise OSError("its command holds a NUL character")
        env = environment(spec)
        life, ours = os.pipe()
        told, status = os.pipe()
        out, into = os.pipe()
        _widen(out)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                "-S",
                str(_KEEPER),
                *(str(life), str(status), str(int("LC_CTYPE" not in env))),
                *(str(spec.cwd), spec.command, *spec.args),
                stdin=asyncio.subprocess.PIPE,
                stdout=into,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=(life, status),
                start_new_session=True,
                limit=_PIPE,
                cwd="/",
                env=env,
            )
        except BaseException:
            os.close(ours)
            os.close(told)
            os.close(out)
            raise
        finally:
            os.close(life)
            os.close(status)
            os.close(into)
        child = cls(process, ours, stderr, _Stdout())
        pipe = os.fdopen(out, "rb", buffering=0)
        try:
            await asyncio.get_running_loop().connect_read_pipe(lambda: child._stdout, pipe)
            await child._started(told, spec)
        except BaseException:
            await child.end(grace=0)
            raise
        return child

    async def _started(self, told: int, spec: ServerSpec) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        pipe, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(told, "rb", buffering=0)
        )
        try:
            said = (await reader.read()).split(b"\n")  # up to the exec of the server, which closes the pipe
        finally:
            pipe.close()
        if not said[0]:
            raise OSError("the process that keeps it ended at once")
        self.pid = int(said[0])
        if said[1:2] != [b""]:
            step, _, number = said[1].partition(b" ")
            raise OSError(_why(step.decode(), int(number), spec))

    async def _drain(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(_CHUNK):
            self.stderr.add(chunk)

    def listen(self, take: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        """Have every piece of its stdout taken as it comes. ended(): it is closed, whatever the process does then."""
        self._stdout.listen(take, ended)

    async def end(self, grace: float | None = None) -> None:
        """Close its stdin, then TERM, then KILL, each after `grace` seconds (GRACE); at last nothing of it is left.

        The caller may be cancelled: the ending goes on, and whoever calls again waits for the same one.
        """
        if self._ending is None:
            self._ending = asyncio.ensure_future(self._end(GRACE if grace is None else grace))
        await asyncio.shield(self._ending)

    async def _end(self, grace: float) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self.stdin.close()
        if not (grace and await self._gone(grace)):
            self.forced = True
            if grace:
                self._signal(signal.SIGTERM)
                await self._gone(grace)
            self.kill()
            if not await self._gone(5.0):  # its keeper hangs (stopped, say)
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
                self._signal(signal.SIGKILL)
                await self._gone(1.0)
        self.kill()
        self._stdout.close()
        self.how = _how(self._process.returncode)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._draining, 0.5)

    async def _gone(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def kill(self) -> None:
        """Have its keeper end it and all that it started, now. Again does nothing."""
        life, self._life = self._life, -1
        if life >= 0:
            os.close(life)

    def _signal(self, number: signal.Signals) -> None:
        if self.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    @property
    def running(self) -> bool:
        return self._process.returncode is None


def _why(step: str, number: int, spec: ServerSpec) -> str:
    said = os.strerror(number)
    if step == "cwd":
        return f"its cwd {spec.cwd} cannot be entered: {said}"
    if number == errno.ENOENT and "/" not in spec.command:
        return f"the command {spec.command!r} is not on the PATH (install it, or give its whole path)"
    if number == errno.ENOEXEC:
        return f"the command {spec.command!r} is no program: {said} (a script needs a first line such as #!/bin/sh)"
    return f"the command {spec.command!r} cannot be run in {spec.cwd}: {said}"


def _how(code: int | None) -> str:
    if code is None:
        return "did not end"
    if code >= 0:
        return f"ended with exit status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def _widen(pipe: int) -> None:
    """A larger pipe, where the system grants it: fewer wake-ups for large results."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, _F_SETPIPE_SZ, _PIPE)
