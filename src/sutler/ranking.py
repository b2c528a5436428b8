"""Which tools have to do with some words: the one search of the command line and of the server face."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .inventory import Row
from .spec import ToolSpec

_SAID = 4  # the weight of a description
_WEAKER = 5  # a match that scores this many times less than the best is left out
_MOST = 10  # matches that are shown
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def best(found: Sequence[tuple[int, int, Row]]) -> tuple[list[tuple[int, Row]], int]:
    """Of ranked tools those worth showing, and how many are left out.

    Where a tool has all the words that any has, those with fewer are left out, and so is what hardly has to do with it.
    """
    if not found:
        return [], 0
    most, top, _ = found[0]
    kept = [(score, row) for hits, score, row in found if hits == most and score * _WEAKER >= top][:_MOST]
    return kept, len(found) - len(kept)


def ranked(rows: Iterable[Row], words: Sequence[str]) -> list[tuple[int, int, Row]]:
    """The tools that have to do with the words, the best first: (words it has, score, row); equals by name.

    A word counts most in the name, then in a parameter's name, then in the source, then in a description; at the
    beginning of a word of the tool's half as much. A tool that has all the words stands before one that has some.
    """
    wanted = [word for text in words for word in _words(text)]
    found: list[tuple[int, int, Row]] = []
    for row in rows:
        fields = _fields(row.spec)
        scores = [_score(word, fields) for word in wanted]
        hits = sum(score > 0 for score in scores)
        if hits:
            found.append((hits, sum(scores), row))
    found.sort(key=lambda one: (-one[0], -one[1], one[2].spec.name, one[2].spec.origin.source))
    return found


def _fields(spec: ToolSpec) -> list[tuple[int, frozenset[str]]]:
    """(weight, words) of each part of a tool."""
    texts = [
        (16, [spec.name]),
        (6, [arg.name for arg in spec.args]),
        (4, [spec.origin.source]),
        (_SAID, [spec.description, spec.annotations.title or ""]),
        (2, [arg.description for arg in spec.args]),
    ]
    return [(weight, frozenset(word for text in several for word in _words(text))) for weight, several in texts]


def _score(word: str, fields: Sequence[tuple[int, frozenset[str]]]) -> int:
    best = 0
    for weight, words in fields:
        if word in words:
            best += weight
        elif any(one.startswith(word) for one in words):
            best += weight // 2
        elif any(word.startswith(one) and len(one) >= (3 if weight > _SAID else 4) for one in words):
            best += weight // 4  # `dir` for directory; of a description's short words that would say nothing
    return best


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text))]
