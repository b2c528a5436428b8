"""`ascii_colors` for tool libraries: their messages, uncoloured, among what a tool prints."""

from __future__ import annotations

import traceback
from typing import Any

__all__ = ["ASCIIColors", "trace_exception"]


def _say(text: object, end: str = "\n") -> None:
    print(text, end=end)


def _plain(text: object = "", *args: Any, end: str = "\n", **_: Any) -> None:
    _say(str(text) % args if args else text, end)


def _marked(level: str) -> Any:
    def say(text: object = "", *args: Any, **_: Any) -> None:
        _say(f"{level}: {str(text) % args if args else text}")

    return staticmethod(say)


class ASCIIColors:
    """The calls that libraries make: levels, colours, and a panel."""

    debug = _marked("DEBUG")
    info = _marked("INFO")
    warning = _marked("WARNING")
    error = _marked("ERROR")
    critical = _marked("CRITICAL")
    success = print = staticmethod(_plain)
    black = red = green = yellow = blue = magenta = cyan = white = orange = bold = staticmethod(_plain)
    bright_red = bright_green = bright_yellow = bright_blue = bright_magenta = bright_cyan = staticmethod(_plain)

    @staticmethod
    def panel(content: object = "", title: str | None = None, **_: Any) -> str:
        """The text under its title."""
        text = f"{title}\n{content}" if title else str(content)
        _say(text)
        return text


def trace_exception(ex: BaseException, *_: Any, **__: Any) -> None:
    """The traceback of an exception."""
    _say("".join(traceback.format_exception(ex)), end="")
