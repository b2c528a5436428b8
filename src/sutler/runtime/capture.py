"""What a tool prints belongs to its call: sys.stdout is routed by context, so calls side by side never mix.

Only Python-level output is seen here, and only while a runtime is open; file descriptors are not touched. Raw output is
caught in worker processes, and by the CLI, which keeps fd 1 for itself.
"""

from __future__ import annotations

import io
import sys
import threading
from contextvars import ContextVar, Token
from typing import Any, TextIO

PRINT_LIMIT = 1_000_000  # characters kept of one call's prints; the rest is counted

_current: ContextVar[Prints | None] = ContextVar("sutler_prints", default=None)


class Prints:
    """The prints of one call, bounded."""

    __slots__ = ("_left", "_parts", "dropped", "router")

    def __init__(self, router: Any) -> None:
        self.router = router  # what stood for sys.stdout when the call began
        self._parts: list[str] = []
        self._left = PRINT_LIMIT
        self.dropped = 0

    def write(self, text: str) -> None:
        if len(text) <= self._left:
            self._parts.append(text)
            self._left -= len(text)
        else:
            self._parts.append(text[: self._left])
            self.dropped += len(text) - self._left
            self._left = 0

    @property
    def text(self) -> str:
        return "".join(self._parts) if self._parts else ""


class _Router(io.TextIOBase):
    """Stands where sys.stdout stood; writes go to the call they come from, else to the real one."""

    def __init__(self, real: TextIO) -> None:
        self._real = real

    def write(self, text: str) -> int:
        prints = _current.get()
        if prints is None:
            return self._real.write(text)
        prints.write(text)
        return len(text)

    def flush(self) -> None:
        if _current.get() is None:
            self._real.flush()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._real.fileno()

    def isatty(self) -> bool:
        return self._real.isatty()

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._real.encoding

    @property
    def errors(self) -> str | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._real.errors

    @property
    def real(self) -> TextIO:
        return self._real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


_lock = threading.Lock()
_users = 0
_live: set[Prints] = set()


def install() -> None:
    """Routes sys.stdout from now on; counted, so that runtimes side by side share one router."""
    global _users
    with _lock:
        _users += 1
        if not isinstance(sys.stdout, _Router):
            sys.stdout = _Router(sys.stdout)


def uninstall() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0 and isinstance(sys.stdout, _Router):
            sys.stdout = sys.stdout.real


def begin() -> Token[Prints | None]:
    """From here on this context's prints are collected, until `end`."""
    if type(sys.stdout) is not _Router:  # the host swapped sys.stdout since; what it set stays underneath
        with _lock:
            if not isinstance(sys.stdout, _Router):
                sys.stdout = _Router(sys.stdout)
    prints = Prints(sys.stdout)
    _live.add(prints)
    return _current.set(prints)


def end(token: Token[Prints | None]) -> str:
    """What was printed since `begin`."""
    prints = _current.get()
    _current.reset(token)
    if prints is None:
        return ""
    _live.discard(prints)
    if type(sys.stdout) is not _Router and not _live:
        sys.stdout = prints.router  # a tool took it away; while others run one of them may hold it for a moment
    return prints.text
