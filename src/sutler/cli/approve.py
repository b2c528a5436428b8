"""Asks the person at the terminal before a call: the question on stderr, the answer from stdin."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TextIO

from .text import visible

_SHOWN = 500  # characters of a call that are shown at once; the rest on request
_CANCELLED = "cancelled by user"
_CTRL_C = "\x03"

Answer = tuple[str, str]


class TerminalApproval:
    """A confirm_handler. `y` allows this call, `n` rejects it, `a` allows this tool until the command ends.

    An empty or another answer asks again; end of input and Ctrl-C reject. `pause` holds the progress display meanwhile.
    """

    def __init__(self, stream: TextIO, *, pause: Callable[[], AbstractContextManager[object]]) -> None:
        self._stream = stream
        self._pause = pause
        self._lock = threading.Lock()  # one question at a time

    def __call__(self, source: str, script_label: str, argv: list[Any] | None = None) -> Answer:
        with self._lock, self._pause(), own_interrupt():
            return self._ask(source, script_label)

    def _ask(self, source: str, label: str) -> Answer:
        shown = source if len(source) <= _SHOWN else source[:_SHOWN]
        self._say(f"\n{label}\n{_indented(shown)}\n")
        left = len(source) - len(shown)
        more = f", v = view the other {left:,} characters" if left else ""
        while True:
            self._say(f"Run it? [y = once, n = no, a = always in this command{more}] ")
            match read_answer():
                case None:
                    self._say("\n")
                    return "reject", _CANCELLED
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


def read_answer() -> str | None:
    """One line from the terminal, bare and in lower case; None at the end of input and at Ctrl-C."""
    try:
        # Not through sys.stdin, which would wait for the end of a line that Ctrl-C has cut.
        line = os.read(0, 4096).decode("utf-8", "replace")
    except KeyboardInterrupt:
        return None
    return None if not line or _CTRL_C in line else line.strip().lower()


@contextmanager
def own_interrupt() -> Generator[None]:
    """While a question is open, Ctrl-C is an answer to it, and no signal that would end the sandbox's workers too.

    What was typed before the question was shown is dropped: it is no answer to it.
    """
    try:
        import termios
    except ImportError:  # Windows: Ctrl-C arrives as KeyboardInterrupt
        yield
        return
    before = termios.tcgetattr(0)
    asking = termios.tcgetattr(0)
    asking[3] &= ~termios.ISIG
    asking[6][termios.VEOL] = _CTRL_C.encode()  # so that it ends the line, without Enter
    termios.tcsetattr(0, termios.TCSAFLUSH, asking)
    _asking.append(before)
    try:
        yield
    finally:
        restore_terminal()


_asking: list[list[Any]] = []  # how the terminal was before the question that is open


def restore_terminal() -> None:
    """The terminal as it was before a question; the process may end while another thread still asks one."""
    with suppress(IndexError):
        before = _asking.pop()
        import termios

        with suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, before)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))
