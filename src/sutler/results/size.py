"""How large plain data is, about as JSON would have it, measured no further than it matters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

_kind = cast("Callable[[object], type[object]]", type)  # plain `type` is of an unknown type to the checker


def size_of(value: Any, enough: int) -> int:
    """Bytes of plain data, about; stops counting once past `enough`. Text counts 1 byte a character."""
    kind = _kind(value)
    if kind is str:
        return len(value)
    if kind is not dict and kind is not list:
        return 8
    total = 0
    waiting: list[Any] = [value]
    while waiting:
        item: Any = waiting.pop()
        kind = _kind(item)
        if kind is str:
            total += len(item) + 2
        elif kind is dict:
            total += 2 + sum(len(key) + 4 for key in item)
            waiting.extend(item.values())
        elif kind is list:
            total += 2 + len(item)
            waiting.extend(item)
        else:
            total += 8
        if total > enough:
            return total
    return total
