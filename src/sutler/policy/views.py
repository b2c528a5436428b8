"""A bounded picture of any value, for traces and logs: plain data, never more than so many characters (PRG-10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

TRACE_CHARS = 2_000
_DEEPEST = 20


def bounded(value: Any, chars: int = TRACE_CHARS) -> Any:
    """A copy of about `chars` characters at most; what is cut says how much. Other objects become their repr."""
    if value is None or isinstance(value, (bool, float)):
        return value
    return _Picture(chars).of(value, 0)


class _Picture:
    def __init__(self, chars: int) -> None:
        self.left = chars

    def of(self, value: Any, depth: int) -> Any:
        if value is None or isinstance(value, (bool, float)):
            self.left -= 5
            return value
        if isinstance(value, int):
            # str() of a huge integer is slow, and refused by Python above some thousand digits.
            self.left -= 2 + value.bit_length() // 3
            return value if value.bit_length() < 256 else f"<integer of {value.bit_length()} bits>"
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, (bytes, bytearray)):
            self.left -= 20
            return f"<{len(value)} bytes>"
        if isinstance(value, Mapping):
            return self._table(cast(Mapping[Any, Any], value), depth)
        if isinstance(value, (list, tuple, set, frozenset)):
            return self._items(cast(list[Any], value), depth)
        try:
            return self._text(repr(value))
        except Exception as error:
            return self._text(f"<{type(value).__name__} whose repr raised {type(error).__name__}>")

    def _text(self, text: str) -> str:
        room = max(self.left, 0)
        self.left -= len(text) + 2
        return text if len(text) <= room else f"{text[:room]}... (+{len(text) - room} characters)"

    def _table(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        self.left -= 4
        for key, item in value.items():
            if self.left <= 0 or depth >= _DEEPEST:
                shown["..."] = f"+{len(value) - len(shown)} keys"
                break
            name = self._text(str(key))
            while name in shown:
                name += "'"  # two keys that look alike here are still two
            shown[name] = self.of(item, depth + 1)
        return shown

    def _items(self, value: list[Any], depth: int) -> list[Any]:
        shown: list[Any] = []
        self.left -= 4
        for item in value:
            if self.left <= 0 or depth >= _DEEPEST:
                shown.append(f"... (+{len(value) - len(shown)} items)")
                break
            shown.append(self.of(item, depth + 1))
        return shown
