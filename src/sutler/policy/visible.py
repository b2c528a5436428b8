"""Text of others made safe to show a person: nothing in it can hide, move, reorder, or be pushed out of sight."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

_HIDES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that show as nothing, blanks that pass for a space, and the brackets of our own remarks.
_BLANK = re.compile(
    "[\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u2000-\u200a\u202f\u205f\u27e6\u27e7\u2800\u3000\u3164\ufe00-\ufe0f"
    "\uffa0\U000e0100-\U000e01ef]"
)
_PADDING = re.compile(r"[ \t]{41,}|(?:[ \t]*\n){7,}")
_READ = 1_000_000  # characters of a text that are looked at whole
_PLAIN = re.compile(r"[\w.:/#@-]+", re.ASCII)


def visible(text: str) -> str:
    """Every character that could hide, move or reorder text is shown as its escape; line breaks and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(escaped(char) if unicodedata.category(char) in _HIDES else char for char in text)


def escaped(char: str) -> str:
    return char if char in "\n\t" else char.encode("unicode_escape").decode("ascii")


def opened(text: str, most: int) -> str:
    """A text for a person who decides about it: `visible`, blanks too; padding cut with its length; at most about
    `most` characters, of a longer one head and tail, with the whole's length and digest.

    Our own remarks stand in double brackets (U+27E6, U+27E7), which the text itself cannot have.
    """
    return shortened(text, most, _laid_open)


def quoted(value: Any, most: int) -> str:
    """A value as JSON, its texts as `opened` shows them. Of a long one head and tail, with length and digest."""
    if isinstance(value, str):
        return f'"{shortened(value, most, _in_quotes)}"'
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return shortened(text, most, _laid_open)


def name(text: str, most: int = 120) -> str:
    """A name in one line: as it is when it is plain, else in quotes, so that it cannot pass for more than a name."""
    return text if len(text) <= most and _PLAIN.fullmatch(text) else quoted(text, most)


def one_line(text: str, most: int) -> str:
    """A text in one line: line breaks and tabs are escapes too."""
    return opened(text, most).replace("\n", "\\n").replace("\t", "\\t")


def shortened(text: str, most: int, show: Callable[[str], str] = str) -> str:
    """Of a text longer than `most` head and tail, each as `show` shows it, with the whole's length and digest."""
    if len(text) <= most:
        return show(text)
    whole = show(text) if len(text) <= _READ else ""
    if whole and len(whole) <= most:  # it was long for its padding
        return whole
    head, tail = most * 2 // 3, most // 3
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    remark = f"\u27e6{len(text) - head - tail:,} of {len(text):,} characters left out, digest {digest}\u27e7"
    return show(text[:head]) + remark + show(text[-tail:])


def _laid_open(text: str) -> str:
    return _without_padding(text, _escaped, "\n")


def _in_quotes(text: str) -> str:
    return _without_padding(text, lambda piece: _escaped(json.dumps(piece, ensure_ascii=False)[1:-1]), "")


def _escaped(text: str) -> str:
    return visible(_BLANK.sub(lambda found: escaped(found[0]), text))


def _without_padding(text: str, show: Callable[[str], str], line_break: str) -> str:
    """line_break: what stands after a remark about left out lines, so that the next line begins as one."""
    parts: list[str] = []
    last = 0
    for found in _PADDING.finditer(text):
        lines = found[0].count("\n")
        what = f"\u27e6{lines:,} line breaks\u27e7{line_break}" if lines else f"\u27e6{len(found[0]):,} blanks\u27e7"
        parts += [show(text[last : found.start()]), what]
        last = found.end()
    return "".join(parts) + show(text[last:])
