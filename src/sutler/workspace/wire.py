"""What crosses between the host and a worker process: one JSON value a line, with tags for what JSON lacks.

Never pickle: a worker's answer must not be able to run code in the host.
"""

from __future__ import annotations

import base64
import builtins
import datetime
import decimal
import json
import traceback
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any, cast

_TAG = "$sutler"
_TAG_BYTES = b'"$sutler"'
_LONG = 1 << 4_000  # Python refuses to write much longer integers as decimal digits
_DEEPEST = 200
_PLAIN = frozenset({str, bool, float, type(None)})
Message = dict[str, Any]


class Uncarried(TypeError):
    """A value that cannot cross; the message names where in it, and its type."""


def dump(message: Mapping[str, Any]) -> bytes:
    """One line. Uncarried when a value in it cannot cross or contains itself."""
    try:
        plain = _encode(dict(message), 0)
    except Uncarried as error:
        raise Uncarried(f"{_place_of_fault(message)}{error}") from None
    return json.dumps(plain, separators=(",", ":")).encode("ascii") + b"\n"


def load(line: bytes) -> Message:
    """What `dump` was given. ValueError when the line is not one of its lines."""
    value: Any = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError("not a message")  # noqa: TRY004 - the line is wrong, not an argument
    message = cast("Message", value)
    return _decode(message) if _TAG_BYTES in line else message


def _encode(value: Any, depth: int) -> Any:
    kind = cast("type[Any]", type(value))
    if kind in _PLAIN or (kind is int and -_LONG < value < _LONG):
        return value
    if depth > _DEEPEST:
        raise Uncarried(f"is nested more than {_DEEPEST} deep, or contains itself")
    if kind is list:
        return [item if type(item) in _PLAIN else _encode(item, depth + 1) for item in value]
    if kind is dict:
        if _TAG not in value and all(type(key) is str for key in value):
            return {
                key: item if type(item) in _PLAIN else _encode(item, depth + 1)  # the test spares most calls
                for key, item in value.items()
            }
        return {_TAG: "dict", "v": [[_encode(key, depth + 1), _encode(item, depth + 1)] for key, item in value.items()]}
    if kind is int:
        return {_TAG: "int", "v": hex(value)}
    if kind in (tuple, set, frozenset):
        return {_TAG: kind.__name__, "v": _encode(list(value), depth + 1)}
    for base, tag, write in _WRITERS:
        if isinstance(value, base):
            return {_TAG: tag, "v": write(value)}
    if isinstance(value, str):  # StrEnum, and below IntEnum, numpy's float64 and the like: their plain value
        return str.__str__(value)
    if isinstance(value, (int, float)):
        return _encode(int(value) if isinstance(value, int) else float(value), depth)
    if isinstance(value, Mapping):
        return _encode(dict(cast("Mapping[Any, Any]", value)), depth)
    if isinstance(value, (list, tuple)):
        return _encode(list(cast("list[Any]", value)), depth)
    raise Uncarried(f"is a {kind.__module__}.{kind.__qualname__}, which cannot leave its process: give plain data")


def _place_of_fault(value: Any) -> str:
    """Where the first value lies that cannot cross, e.g. `args.rows[3] `; only walked when one was met."""
    place = ""
    for _ in range(_DEEPEST):
        parts: Iterable[tuple[str, Any]]
        if isinstance(value, Mapping):
            mapping = cast("Mapping[Any, Any]", value)
            parts = [(f".{key}" if isinstance(key, str) else f"[{key!r}]", item) for key, item in mapping.items()]
        elif isinstance(value, (list, tuple)):
            parts = [(f"[{at}]", item) for at, item in enumerate(cast("list[Any]", value))]
        else:
            break
        for step, item in parts:
            try:
                _encode(item, 0)
            except Uncarried:
                place, value = place + step, item
                break
        else:
            break
        if len(place) > 100:
            return f"{place[1:100]}... "
    return f"{place[1:]} "


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        plain = cast("dict[str, Any]", value)
        tag = plain.get(_TAG)
        if tag is None:
            return {key: _decode(item) for key, item in plain.items()}
        return _READERS[tag](plain["v"])
    return value


_WRITERS: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    ((bytes, bytearray, memoryview), "bytes", lambda value: base64.b64encode(value).decode("ascii")),
    (datetime.datetime, "datetime", lambda value: value.isoformat()),
    (datetime.date, "date", lambda value: value.isoformat()),
    (datetime.time, "time", lambda value: value.isoformat()),
    (datetime.timedelta, "timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    (decimal.Decimal, "decimal", str),
    (complex, "complex", lambda value: [value.real, value.imag]),
    (uuid.UUID, "uuid", str),
    (PurePath, "path", str),
)
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "dict": lambda pairs: {_decode(key): _decode(item) for key, item in pairs},
    "int": lambda text: int(text, 16),
    "tuple": lambda items: tuple(_decode(items)),
    "set": lambda items: set(_decode(items)),
    "frozenset": lambda items: frozenset(_decode(items)),
    "bytes": lambda text: base64.b64decode(text),
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": lambda parts: datetime.timedelta(*parts),
    "decimal": decimal.Decimal,
    "complex": lambda parts: complex(*parts),
    "uuid": uuid.UUID,
    "path": Path,
}


def describe(error: BaseException, *, skip: int = 0) -> Message:
    """An exception as {type, message, traceback}, all text; the traceback without its outermost `skip` frames."""
    message = _text_of(error)
    trace = error.__traceback__
    for _ in range(skip):
        trace = trace.tb_next if trace is not None else None
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
    except Exception:
        text = f"{type(error).__name__}: {message}"
    return {"type": type(error).__name__, "message": message, "traceback": text}


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its text cannot be shown)"


def revive(described: Mapping[str, Any]) -> Exception:
    """An exception to raise on this side: the same built-in or Sutler class where that can be, else RemoteError."""
    from .. import errors

    name, message = str(described.get("type")), str(described.get("message"))
    for home in (builtins, errors):
        kind = getattr(home, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            try:
                return kind(message)
            except TypeError:  # a class that wants more than a message
                break
    return RemoteError(name, message)


class RemoteError(RuntimeError):
    """An exception of the other process whose class is not known here; `type` is its class's name."""

    def __init__(self, type: str, message: str) -> None:
        super().__init__(f"{type}: {message}")
        self.type = type
