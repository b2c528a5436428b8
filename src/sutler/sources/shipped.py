"""The tool libraries that come with Sutler: an ordinary tool folder, off until somebody asks for it (LCP-20)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "data" / "libraries"


@cache
def shipped_stems() -> tuple[str, ...]:
    """What there is, sorted: each folder that holds a file of its own name."""
    return tuple(sorted(entry.name for entry in FOLDER.iterdir() if (entry / f"{entry.name}.py").is_file()))


def chosen_stems(wanted: bool | Sequence[str] | None) -> tuple[str, ...]:
    """The stems that are meant by True (all), False or None (none), or a list. ValueError names an unknown one."""
    if wanted is None or wanted is False:
        return ()
    if wanted is True:
        return shipped_stems()
    chosen = (wanted,) if isinstance(wanted, str) else tuple(dict.fromkeys(wanted))
    for stem in chosen:
        if stem not in shipped_stems():
            raise ValueError(f"no shipped library {stem!r}; there are {', '.join(shipped_stems())}")
    return chosen
