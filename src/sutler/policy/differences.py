"""How two texts differ, as a person is shown it: nothing in them can hide or reorder what stands there."""

from __future__ import annotations

import difflib


def unified(before: str, after: str, was: str, now: str) -> str:
    """A unified diff under these two headings; empty when the texts are equal."""
    # Lines end at "\n" alone: any other character that some programs break lines at must stay visible in its line.
    return "\n".join(map(visible, difflib.unified_diff(_lines(before), _lines(after), was, now, lineterm="")))


def visible(line: str) -> str:
    """A line with every character that a terminal would not show, or would act on, as its escape."""
    return "".join(
        char if char.isprintable() or char == "\t" else char.encode("unicode_escape").decode("ascii") for char in line
    )


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
