"""The pieces a checked file is made of: each takes a value, and gives it back converted or reports what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ..closest import closest
from ..errors import Problem
from .locate import KeyPath, dotted

WRONG: Any = object()
_CENTURY = 36_525
_MOST = 1_000_000_000
"""What a check gives when it has reported a problem."""


class Checker:
    """Collects the problems of one file. A check never raises: it reports, gives WRONG and lets the rest be checked."""

    def __init__(self, file: str, lines: Mapping[KeyPath, int], folder: Path, env: Mapping[str, str] | None) -> None:
        self.file = file
        self.lines = lines
        self.folder = folder
        self.env = env
        self.problems: list[Problem] = []
        self.secrets: set[str] = set()

    def line(self, path: KeyPath) -> int | None:
        """The key's line, else that of the nearest table around it."""
        for length in range(len(path), 0, -1):
            if (line := self.lines.get(path[:length])) is not None:
                return line
        return None

    def where(self, path: KeyPath) -> str:
        line = self.line(path)
        return self.file if line is None else f"{self.file}:{line}"

    def wrong(self, path: KeyPath, message: str, hint: str = "") -> Any:
        self.problems.append(
            Problem(message=message, file=self.file, line=self.line(path), key=dotted(path), hint=hint)
        )
        return WRONG


Check = Callable[[Checker, KeyPath, Any], Any]


def kind_of(value: object) -> str:
    """What TOML calls a value's type."""
    match value:
        case bool():
            return "a boolean"
        case int():
            return "an integer"
        case float():
            return "a float"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "a table"
        case _:
            return "a date or time"


def table(
    cx: Checker, path: KeyPath, value: Any, keys: Mapping[str, Check], *, required: Sequence[str] = (), of: str = ""
) -> dict[str, Any]:
    """A table with exactly these keys: those present and right. Unknown and missing ones are reported."""
    if not isinstance(value, dict):
        cx.wrong(path, f"must be a table, not {kind_of(value)}")
        return {}
    found: dict[str, Any] = {}
    for key, item in cast(dict[str, Any], value).items():
        check = keys.get(key)
        if check is None:
            unknown(cx, (*path, key), list(keys), of)
            continue
        checked = check(cx, (*path, key), item)
        if checked is not WRONG:
            found[key] = checked
    for key in required:
        if key not in value:
            cx.wrong(path, f"`{key}` is missing")
    return found


def unknown(cx: Checker, path: KeyPath, known: Sequence[str], of: str = "") -> None:
    meant = closest(str(path[-1]), known)
    place = f" in {of}" if of else ""
    hint = f"did you mean `{meant}`?" if meant else f"known{place or ' here'}: {', '.join(known)}"
    cx.wrong(path, f"unknown key{place}", hint)


def array(cx: Checker, path: KeyPath, value: Any, check: Check) -> list[Any]:
    """An array whose elements all pass `check`; the wrong ones are reported and left out."""
    if not isinstance(value, list):
        cx.wrong(path, f"must be an array, not {kind_of(value)}")
        return []
    checked = [check(cx, (*path, index), item) for index, item in enumerate(cast(list[Any], value))]
    return [item for item in checked if item is not WRONG]


def array_of(check: Check) -> Check:
    return lambda cx, path, value: array(cx, path, value, check)


def boolean(cx: Checker, path: KeyPath, value: Any) -> Any:
    return value if isinstance(value, bool) else cx.wrong(path, f"must be true or false, not {kind_of(value)}")


def string(cx: Checker, path: KeyPath, value: Any) -> Any:
    return value if isinstance(value, str) else cx.wrong(path, f"must be a string, not {kind_of(value)}")


def name(cx: Checker, path: KeyPath, value: Any) -> Any:
    """A string with something in it and nothing around it."""
    if string(cx, path, value) is WRONG:
        return WRONG
    if not value.strip():
        return cx.wrong(path, "must not be empty")
    if value != value.strip() or not value.isprintable():
        return cx.wrong(path, f"must have no blanks around it and no control characters: {value!r}")
    return value


def choice(*words: str) -> Check:
    def check(cx: Checker, path: KeyPath, value: Any) -> Any:
        if isinstance(value, str) and value in words:
            return value
        shown = repr(value) if isinstance(value, str) else kind_of(value)
        meant = closest(value, words) if isinstance(value, str) else None
        hint = f"did you mean {meant!r}?" if meant else ""
        return cx.wrong(path, f"must be one of {', '.join(map(repr, words))}, not {shown}", hint)

    return check


def days(cx: Checker, path: KeyPath, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return cx.wrong(path, f"must be a number of days, not {kind_of(value)}")
    if not (math.isfinite(value) and 0 < value <= _CENTURY):
        return cx.wrong(path, f"must be more than 0 days and at most {_CENTURY:,}, a hundred years, not {value}")
    return float(value)


def count(cx: Checker, path: KeyPath, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _MOST:
        return cx.wrong(path, f"must be a whole number from 1 to {_MOST:,}, not {value!r}")
    return value


def seconds(cx: Checker, path: KeyPath, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return cx.wrong(path, f"must be a number of seconds, not {kind_of(value)}")
    if not (math.isfinite(value) and 0 < value <= 366 * 24 * 3600):
        return cx.wrong(path, f"must be more than 0 seconds and at most a year, not {value}")
    return float(value)


def folder(cx: Checker, path: KeyPath, value: Any) -> Any:
    """A path, absolute: `~` is the home directory, a relative one starts at the file's folder."""
    if name(cx, path, value) is WRONG:
        return WRONG
    if "${" in value:
        return cx.wrong(path, "variables are not put in here", "use ~ or a path relative to this file")
    try:
        return Path(cx.folder, Path(value).expanduser())
    except RuntimeError:
        return cx.wrong(path, f"there is no such user: {value!r}")


def plain(cx: Checker, path: KeyPath, value: Any) -> Any:
    """Any value that JSON can hold too."""
    if isinstance(value, (dict, list)):
        inside = cast(dict[str, Any], value).items() if isinstance(value, dict) else enumerate(cast(list[Any], value))
        checked = [plain(cx, (*path, key), item) for key, item in inside]
        return WRONG if WRONG in checked else cast(Any, value)
    if isinstance(value, float) and not math.isfinite(value):
        return cx.wrong(path, f"must be a value that JSON can hold, not {value}")
    if not isinstance(value, (str, int, float, bool)):
        return cx.wrong(path, "must be a value that JSON can hold, not a date or time", "write it as a string")
    return value
