"""Which file a text may mean, and whether it lies in a folder: judged on real paths, in every reading (FH34).

A rule must hold whatever the tool does with the text: take it as it stands, expand `~` or `$VAR`, strip blanks, or read
a file: URL. Every link and `..` is followed first. What no path can be told of (hard links, mounts, a link that is
swapped afterwards) is not seen here.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from ..workspace.root import is_no_path

# ruff: noqa: PTH111, PTH118, PTH206 - texts go in and out; a Path for each would cost more than the judgement


class Folders:
    """Folders as a rule names them: `~` is the home directory, a relative one starts at `root`."""

    __slots__ = ("_exact", "folded")

    def __init__(self, named: Sequence[str], root: str) -> None:
        real = [os.path.realpath(os.path.join(root, os.path.expanduser(one))) for one in named]
        self._exact = tuple(map(_ended, real))
        self.folded = tuple(map(_folded, self._exact))

    def surely_hold(self, meant: Readings) -> bool:
        """Whether every reading of a text lies in one of them."""
        for path in meant.paths:
            if not path.startswith(self._exact):
                return False
        return meant.sure

    def may_hold(self, meant: Readings) -> bool:
        """Whether any reading may; some file systems do not tell upper from lower case."""
        return any(path.startswith(self.folded) for path in meant.folded)


@dataclass(frozen=True, slots=True)
class Readings:
    """The real path, with a separator at its end, of each file that a text may mean.

    folded: the same without case and in one form of Unicode, as some file systems take them.
    sure: whether each reading of the text is a path at all.
    """

    paths: tuple[str, ...]
    folded: tuple[str, ...]
    sure: bool

    def and_from(self, text: str, elsewhere: str) -> Readings:
        """The same and what the text means when its relative paths begin elsewhere: see Place."""
        if elsewhere == "?":
            return replace(self, sure=self.sure and all(map(os.path.isabs, _meant(text))))
        other = readings(text, os.path.realpath(elsewhere))
        return Readings((*self.paths, *other.paths), (*self.folded, *other.folded), self.sure and other.sure)


def readings(text: str, root: str) -> Readings:
    """What a text may mean, relative paths from `root`, which is a real path."""
    found: list[str] = []
    sure = True
    for one in _meant(text):
        if is_no_path(one):  # but a tool may cut it at a null character, or fold it before it is used
            sure = False
            one = os.path.normpath(one.partition("\0")[0])
            if is_no_path(one):
                continue
        try:
            real = _ended(_real(os.path.join(root, one), root))
        except (OSError, ValueError):
            sure = False
            continue
        if real not in found:
            found.append(real)
    return Readings(tuple(found), tuple(map(_folded, found)), sure)


def _folded(path: str) -> str:
    return path.casefold() if path.isascii() else unicodedata.normalize("NFC", path.casefold())


def _ended(path: str) -> str:
    return path if path.endswith(os.sep) else path + os.sep


def _real(path: str, root: str) -> str:
    """os.path.realpath, in a third of its time where no link lies between the root, which is real, and the file."""
    below = _ended(root)
    parts = path[len(below) :].split(os.sep)
    if not path.startswith(below) or not {"", ".", ".."}.isdisjoint(parts):
        return os.path.realpath(path)
    here = root.rstrip(os.sep)
    for part in parts:
        here = f"{here}{os.sep}{part}"
        try:
            if stat.S_ISLNK(os.lstat(here).st_mode):
                return os.path.realpath(path)
        except FileNotFoundError:
            return path  # nothing is there, and so no link below it
        except OSError:
            return os.path.realpath(path)
    return path


def _meant(text: str) -> list[str]:
    meant = [text]
    bare = text.strip()
    if bare != text:
        meant.append(bare)
    if bare.startswith("~"):
        meant.append(os.path.expanduser(bare))
    if "$" in bare:
        meant.append(os.path.expanduser(os.path.expandvars(bare)))
    if bare[:5].lower() == "file:":
        try:
            path = unquote(urlsplit(bare).path)
        except ValueError:
            path = "\0"  # no path at all
        meant.append(path)
    return meant
