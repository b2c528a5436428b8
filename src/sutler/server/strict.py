"""Data that any JSON reader takes, as the same data: no NaN, no lone surrogates (FH22)."""

from __future__ import annotations

import json
from typing import Any, cast

from ..results import json_text


def strict(value: Any) -> tuple[str, Any, tuple[str, ...]]:
    """Plain data as JSON text, the very data that the text holds, and what had to be changed, one sentence each."""
    text, notes = json_text(value)
    if notes:
        value = json.loads(text)
    if "\\ud" in text and text.isascii():  # json_text writes a lone surrogate as an escape, which many readers refuse
        value = _encodable(json.loads(text))
        again, _ = json_text(value)
        if again != text:
            text, notes = again, (*notes, "text that is not Unicode is given with \\ud... escapes")
    return text, value, notes


def strict_text(text: str) -> str:
    """Text that has a UTF-8 form; a lone surrogate (an undecodable file name) becomes its escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return strict_text(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {strict_text(key): _encodable(item) for key, item in members.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in cast("list[Any]", value)]
    return value
