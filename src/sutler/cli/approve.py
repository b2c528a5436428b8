"""Asks the person at the terminal before a call: the question on stderr, the answer from stdin."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, TextIO

from .text import visible

_SHOWN = 500  # characters of a call that are shown at once; the rest on request
_CANCELLED = "cancelled by user"

Answer = tuple[str, str]


class TerminalApproval:
    """A confirm_handler. `y` allows this call, `n` rejects it, `a` allows this tool until the command ends.

    An empty or another answer asks again; end of input and Ctrl-C reject. `pause` holds the progress display meanwhile.
    """

    def __init__(self, stream: TextIO, *, pause: Callable[[], AbstractContextManager[object]]) -> None:
        self._stream = stream
        self._pause = pause
        self._lock = threading.Lock()  # one question at a time
        self._wake: tuple[int, int] | None = None

    def __call__(self, source: str, script_label: str, argv: list[Any] | None = None) -> Answer:
        with self._lock, self._pause():
            self._wake = os.pipe()
            try:
                return self._ask(source, script_label)
            finally:
                wake, self._wake = self._wake, None
                for end in wake:
                    os.close(end)

    def interrupt(self) -> bool:
        """Ctrl-C while a question is open rejects that call. False when none is open."""
        wake = self._wake
        if wake is None:
            return False
        os.write(wake[1], b"\0")
        return True

    def _ask(self, source: str, label: str) -> Answer:
        drop_typed_ahead()
        shown = source if len(source) <= _SHOWN else source[:_SHOWN]
        self._say(f"\n{label}\n{_indented(shown)}\n")
        left = len(source) - len(shown)
        more = f", v = view the other {left:,} characters" if left else ""
        while True:
            self._say(f"Run it? [y = once, n = no, a = always in this command{more}] ")
            answer = self._read()
            if answer is None:
                self._say("\n")
                return "reject", _CANCELLED
            match answer.strip().lower():
                case "y" | "yes":
                    return "allow", ""
                case "a" | "always":
                    return "always", ""
                case "n" | "no":
                    return "reject", "the person at the terminal said no"
                case "v" | "view" if left:
                    self._say(f"{_indented(source)}\n")
                case _:
                    pass

    def _say(self, text: str) -> None:
        self._stream.write(visible(text))
        self._stream.flush()

    def _read(self) -> str | None:
        """One line from the person; None at the end of input and at Ctrl-C."""
        assert self._wake is not None
        if os.name != "posix":
            try:
                return sys.stdin.readline() or None
            except KeyboardInterrupt:
                return None
        typed = b""
        while not typed.endswith(b"\n"):
            ready, _, _ = select.select([0, self._wake[0]], [], [])
            if self._wake[0] in ready:
                return None
            piece = os.read(0, 4096)
            if not piece:
                return None
            typed += piece
        return typed.decode("utf-8", "replace")


def drop_typed_ahead() -> None:
    """What was typed before the question was shown is no answer to it."""
    with suppress(ImportError, OSError):
        import termios

        termios.tcflush(0, termios.TCIFLUSH)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
