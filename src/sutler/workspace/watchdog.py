"""Deadlines: one clock that can be paused, and one thread that looks at all of them."""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

_LOOK_EVERY = 0.03


class Watched(Protocol):
    """`due`: when it is over, by time.monotonic(); math.inf for never. A plain attribute, written without a lock."""

    @property
    def due(self) -> float: ...

    def expired(self) -> None:
        """Called on the watchdog's thread, once for each value of `due` that passes. Must be quick and not wait."""
        ...


class Deadline:
    """So many seconds from now, not counting pauses (RUN-12). None or math.inf: no end.

    `due` is the moment it ends, math.inf while paused; it is what a watched object passes on.
    """

    __slots__ = ("_left", "_lock", "_pauses", "due", "seconds")

    def __init__(self, seconds: float | None) -> None:
        self.seconds = math.inf if seconds is None else float(seconds)
        self.due = time.monotonic() + self.seconds
        self._left = self.seconds
        self._pauses = 0
        self._lock = threading.Lock()

    def remaining(self) -> float:
        """Seconds left, not below 0; they stand still while paused."""
        with self._lock:
            left = self._left if self._pauses else self.due - time.monotonic()
        return max(0.0, left)

    @property
    def expired(self) -> bool:
        return self.remaining() <= 0

    @contextmanager
    def pause(self) -> Generator[None]:
        """Stop the clock; it goes on when the last of all pauses, from whatever thread, has ended."""
        with self._lock:
            if not self._pauses:
                self._left = self.due - time.monotonic()
                self.due = math.inf
            self._pauses += 1
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1
                if not self._pauses:
                    self.due = time.monotonic() + self._left

    def extend(self, seconds: float) -> None:
        """Give it more time (or less, when negative)."""
        with self._lock:
            self.seconds += seconds
            if self._pauses:
                self._left += seconds
            else:
                self.due += seconds

    def __repr__(self) -> str:
        return f"Deadline({self.remaining():.3f} s left of {self.seconds:g})"


class Watchdog:
    """Looks at everything registered, every 30 ms while there is anything; its thread sleeps otherwise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._watched: dict[int, tuple[Watched, float | None]] = {}
        self._thread: threading.Thread | None = None

    def register(self, watched: Watched) -> None:
        with self._lock:
            self._watched.setdefault(id(watched), (watched, None))
            self._some.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sutler-watchdog", daemon=True)
                self._thread.start()

    def unregister(self, watched: Watched) -> None:
        """Harmless when it is not registered. A call of `expired` that has begun still ends."""
        with self._lock:
            self._watched.pop(id(watched), None)
            if not self._watched:
                self._some.clear()

    def _run(self) -> None:
        while True:
            self._some.wait()
            time.sleep(_LOOK_EVERY)
            for watched in self._overdue():
                try:
                    watched.expired()
                except Exception:
                    logging.getLogger("sutler").exception("a deadline's expired() failed: %r", watched)

    def _overdue(self) -> list[Watched]:
        """Those whose `due` passed and was not reported yet. A `due` set again meanwhile is another value: not lost."""
        now = time.monotonic()
        late: list[Watched] = []
        with self._lock:
            for key, (watched, reported) in self._watched.items():
                due = watched.due
                if due <= now and due != reported:
                    self._watched[key] = (watched, due)
                    late.append(watched)
        return late


_watchdog = Watchdog()


def register(watched: Watched) -> None:
    """Have the process's one watchdog look at it until `unregister`."""
    _watchdog.register(watched)


def unregister(watched: Watched) -> None:
    _watchdog.unregister(watched)


def _after_fork() -> None:
    global _watchdog
    _watchdog = Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
