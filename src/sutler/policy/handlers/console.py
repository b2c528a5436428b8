"""The terminal as a place to ask: questions on standard error, answers from standard input, one question at a time."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from ..visible import opened

_CTRL_C = "\x03"
_EDGE = "| "

turn = threading.RLock()  # there is one terminal, whoever asks


def somebody_there() -> bool:
    """A terminal is somebody only when both stdin and stderr are one (DESIGN 5)."""
    return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)


def say(text: str, stream: TextIO | None = None) -> None:
    out = sys.stderr if stream is None else stream
    try:
        out.write(text)
    except UnicodeEncodeError:
        encoding = out.encoding or "ascii"
        out.write(text.encode(encoding, "backslashreplace").decode(encoding))
    out.flush()


def framed(text: str, *, edge: str = _EDGE) -> str:
    """A text of others for the terminal: each row, wrapped ones too, behind an edge that it cannot write itself."""
    width = max(20, shutil.get_terminal_size().columns - len(edge) - 1)
    return "".join(f"{edge}{row}\n" for line in text.split("\n") for row in _rows(line.expandtabs(8), width))


def titled(text: str) -> str:
    """The first lines of a question. What they quote stays behind their edge."""
    first, *more = framed(text, edge="+- ").splitlines()
    return "\n".join([first, *(f"   {row[3:]}" for row in more)]) + "\n"


def shown(text: str) -> str:
    """A tool's own words for the person, made safe to show; the whole of it."""
    return opened(text, 20_000)


def read_line() -> str | None:
    """One line from the terminal, without its end; None at the end of input and at Ctrl-C."""
    try:
        # Not through sys.stdin, where it is the terminal: that would wait for the end of a line that Ctrl-C has cut.
        line = os.read(0, 4096).decode("utf-8", "replace") if _is_descriptor_0() else sys.stdin.readline()
    except (KeyboardInterrupt, OSError):
        return None
    return None if not line or _CTRL_C in line else line.rstrip("\r\n")


@contextmanager
def own_interrupt(*, echo: bool = True) -> Generator[None]:
    """While a question is open, Ctrl-C is an answer to it, and no signal that would end the sandbox's workers too.

    What was typed before the question was shown is dropped: it is no answer to it. echo: what is typed is seen.
    """
    try:
        import termios

        before = termios.tcgetattr(0)
    except (ImportError, OSError, ValueError):  # Windows: Ctrl-C arrives as KeyboardInterrupt
        yield
        return
    except Exception as error:
        if type(error).__name__ != "error":  # termios.error, whose module may not be there
            raise
        yield
        return
    asking = termios.tcgetattr(0)
    asking[3] &= ~termios.ISIG
    if not echo:
        asking[3] &= ~termios.ECHO
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


def _rows(line: str, width: int) -> Iterable[str]:
    """A line cut into rows of the terminal, wide characters counted as two."""
    if line.isascii():
        return [line[at : at + width] for at in range(0, len(line), width)] or [""]
    from rich.cells import chop_cells

    return chop_cells(line, width) or [""]


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream is not None and stream.isatty())
    except ValueError:  # it is closed
        return False


def _is_descriptor_0() -> bool:
    """Whether stdin is the process's own, and not something that a host put there."""
    try:
        return sys.stdin.fileno() == 0
    except (OSError, ValueError, AttributeError):
        return False
