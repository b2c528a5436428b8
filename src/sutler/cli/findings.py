"""One finding of `sutler doctor`, and how it stands on a terminal."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Literal

from .text import visible

State = Literal["ok", "note", "problem"]

_ABOUT = 24  # columns of a terminal for what a finding is of
_NARROW = 30  # and at least for what is said


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line. about: what it is of; said: how it stands; do: what to do about it."""

    about: str
    state: State
    said: str
    do: str = ""


def lines_of(finding: Finding, width: int, across: int) -> list[str]:
    """A finding under columns of this width; `across`: of the terminal, where what it says wraps under itself."""
    if across:
        width = min(width, _ABOUT)
    begin = f"{finding.state:7}  {finding.about.ljust(width)}  "
    indent = " " * (7 + 2 + width + 2)
    said = [finding.said, *([f"-> {finding.do}"] if finding.do else [])]
    if across:
        room = max(across - len(indent), _NARROW)
        parts = [textwrap.wrap(visible(part), room, break_long_words=False, break_on_hyphens=False) for part in said]
        said = [line for part in parts for line in part]
    if across and len(finding.about) > width:
        return [begin.rstrip(), *(f"{indent}{line}" for line in said)]
    return [f"{begin if number == 0 else indent}{line}" for number, line in enumerate(said)]
