"""The word that was most likely meant, for "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word nearest to `word`, or None when none is near.

    Case, separators and a `Hint` at the end do not count. One that differs by a slip of a letter is nearest, then one
    that begins or ends the other, then one that looks like it.
    """
    names = {_plain(name): name for name in known}
    plain = _plain(word)
    if plain in names:
        return names[plain]
    from difflib import get_close_matches  # only an error pays for it

    if slips := get_close_matches(plain, names, n=1, cutoff=0.9):  # one letter wrong says more than a part in common
        return names[slips[0]]
    if len(plain) > 2:
        parts = [name for name in names if len(name) > 2 and (_within(plain, name) or _within(name, plain))]
        if len(parts) == 1:
            return names[parts[0]]
    close = get_close_matches(plain, names, n=1, cutoff=0.6)
    return names[close[0]] if close else None


def _within(part: str, whole: str) -> bool:
    return whole.startswith(part) or whole.endswith(part)


def _plain(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "").replace(" ", "").removesuffix("hint")
