"""How much of a value is shown: to a model by head and tail, in a trace as data cut to size (RUN-14, PRG-10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from .plain import json_text

_kind = cast("Callable[[object], type[object]]", type)  # plain `type` is of an unknown type to the checker
MODEL_SEES: Final = 20_000
TRACE_SHOWS: Final = 2_000


def preview(value: Any, limit: int = MODEL_SEES) -> tuple[str, bool]:
    """What a model sees of plain data, text as it is and all else as JSON, and whether it is cut to `limit` characters.

    Cut, it is a head, how many characters are left out, and a tail half as long as the head.
    """
    text = value if isinstance(value, str) else json_text(value)[0]
    if len(text) <= limit:
        return text, False
    return _cut(text, limit), True


def bounded(value: Any, limit: int = TRACE_SHOWS) -> Any:
    """Plain data of at most about `limit` characters, in fresh containers; what is cut says by how much.

    Costs time for what it keeps, not for what it leaves out.
    """
    kind = _kind(value)
    if kind is str:
        return value if len(value) <= limit else _cut(value, limit)
    if kind is dict or kind is list:
        return _trim(value, [limit], 0)
    return value


def _cut(text: str, limit: int) -> str:
    room = limit - 40
    if room < 3:
        return text[:limit]
    head, tail = room - room // 3, room // 3
    return f"{text[:head]}\n... {len(text) - head - tail} characters left out ...\n{text[-tail:]}"


def _trim(value: Any, left: list[int], depth: int) -> Any:
    """`left` holds how many characters may still be spent; it falls as they are."""
    kind = _kind(value)
    if kind is str:
        room = max(left[0], 60)
        left[0] -= min(len(value), room) + 2
        return value if len(value) <= room else _cut(value, room)
    if kind is not dict and kind is not list:
        left[0] -= 4
        return value
    if depth > 20 or (left[0] <= 0 and value):
        return f"... {len(value)} items left out ..."
    left[0] -= 2
    if kind is list:
        items: list[Any] = []
        for item in value:
            if left[0] <= 0:
                items.append(f"... {len(value) - len(items)} items left out ...")
                break
            items.append(_trim(item, left, depth + 1))
        return items
    members: dict[str, Any] = {}
    for key, item in cast(Mapping[str, Any], value).items():
        if left[0] <= 0:
            members["..."] = f"{len(value) - len(members)} keys left out"
            break
        left[0] -= len(key) + 4
        members[key if len(key) <= 200 else f"{key[:200]}..."] = _trim(item, left, depth + 1)
    return members
