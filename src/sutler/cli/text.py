"""Text from tools, made safe to show on a terminal; small shapes of text that several commands share."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import datetime

from ..policy.visible import escaped, visible

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def tame(text: str) -> str:
    """Control characters and direction changes as escapes; joiners, which many scripts need, stay. For tool output."""
    if text.isprintable():
        return text
    return "".join(
        escaped(char) if char in _BIDI or unicodedata.category(char) in ("Cc", "Cs") else char for char in text
    )


def one_line(text: str, most: int = 0) -> str:
    """The text in one visible line, cut to `most` characters when that is given."""
    flat = visible(" ".join(text.split()))
    return flat if not most or len(flat) <= most else f"{flat[: most - 3]}..."


def first_line(text: str, most: int) -> str:
    """The first line that is not blank, cut to `most` characters; `...` says that more follow."""
    first, _, rest = text.strip().partition("\n")
    return one_line(first, most) + (" ..." if rest else "")


def summary(text: str) -> str:
    """The first paragraph of a description, in one line."""
    return one_line(text.strip().partition("\n\n")[0])


def when(seconds: float) -> str:
    """A time since the epoch as local date and time."""
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def lasting(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def columns(rows: Iterable[tuple[str, str]], indent: str = "") -> list[str]:
    """Pairs as lines, the second of each standing under the other."""
    pairs = list(rows)
    width = max((len(name) for name, _ in pairs), default=0)
    return [f"{indent}{name.ljust(width)}  {value}".rstrip() for name, value in pairs]
