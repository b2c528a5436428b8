"""How much of a value is shown: to a model by head and tail, in a trace as data cut to size (RUN-14, PRG-10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from .plain import json_text

_kind = cast("Callable[[object], type[object]]", type)  # plain `type` is of an unknown type to the checker
_SCALARS: Final = frozenset((int, float, bool, type(None)))
_CONTAINERS: Final = frozenset((dict, list, tuple, set, frozenset))
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
    """Plain data of at most about `limit` characters, in fresh containers. What is cut says by how much; what is no
    plain data is a repr.

    Costs time for what it keeps, not for what it leaves out.
    """
    kind = _kind(value)
    if kind is str:
        return value if len(value) <= limit else _cut(value, limit)
    return value if kind in _SCALARS else _trim(value, [limit], 0)


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
    if kind in _SCALARS:
        left[0] -= 4
        return value
    if kind not in _CONTAINERS:
        left[0] -= 60
        return _named(value)
    if depth > 20 or (left[0] <= 0 and value):
        return f"... {len(value)} items left out ..."
    left[0] -= 2
    if kind is not dict:
        items: list[Any] = []
        for item in value:
            if left[0] <= 0:
                items.append(f"... {len(value) - len(items)} items left out ...")
                break
            items.append(_trim(item, left, depth + 1))
        return items
    members: dict[str, Any] = {}
    for key, item in cast(Mapping[Any, Any], value).items():
        if left[0] <= 0:
            members["..."] = f"{len(value) - len(members)} keys left out"
            break
        name = key if _kind(key) is str else _named(key)
        left[0] -= len(name) + 4
        members[name if len(name) <= 200 else f"{name[:200]}..."] = _trim(item, left, depth + 1)
    return members


def _named(value: Any) -> str:
    """Arguments of a call may be anything; what is not plain data is shown by a short repr."""
    try:
        return repr(value)[:200]
    except Exception as error:
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
