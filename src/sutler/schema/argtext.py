"""Argument text, as a model sends it, to an object (RUN-11, FH16, FH17).

Strict JSON first. When that fails, three slips are mended and no others: quotes (single, typographic, or missing around
a key), trailing commas and Python's True, False, None. The text is cut into tokens first, so text with an open string
or bracket, or with anything after the object, is refused: what was cut off cannot be guessed.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, cast

from ..errors import InvalidArguments
from ..spec import Repair

QUOTED: Final = 300  # characters of a raw text that an error or a repair shows

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<string>"(?:[^"\\\x00-\x1f]|\\.)*")
      | (?P<single>'(?:[^'\\\x00-\x1f]|\\.)*')
      | (?P<curly>“(?:[^“”\\\x00-\x1f]|\\.)*”)
      | (?P<mark>[{}\[\],:])
      | (?P<number>-?[0-9][0-9.eE+-]*)
      | (?P<word>[^\W\d][\w$-]*)""",
    re.VERBOSE,
)
_CLOSED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORDS: Final = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_CLOSES: Final = {"}": "{", "]": "["}


def parse_arguments(raw: str | bytes | bytearray | None) -> tuple[dict[str, Any], Repair | None]:
    """The object a text stands for; empty text, `null` and None are no arguments at all.

    The Repair (rule "json_text", path "") says that the text was mended. Raises InvalidArguments with the position and
    the text, cut to QUOTED characters.
    """
    if raw is None:
        return {}, None
    text = _decoded(raw) if not isinstance(raw, str) else raw.removeprefix("\ufeff")
    if not text.strip():
        return {}, None
    try:
        value = strict_json(text)
    except ValueError as error:
        mended = _mend(text)
        if mended is None:
            raise InvalidArguments(_refusal(text, error)) from None
        return mended, Repair(path="", rule="json_text", before=quote(text), after=mended)
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        raise InvalidArguments(f"the arguments must be a JSON object, not {quote(text)}")
    return cast(dict[str, Any], value), None


def strict_json(text: str) -> Any:
    """JSON by its grammar: no NaN, no number beyond a float's range, no key twice. Raises ValueError, and only that."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def quote(text: str, limit: int = QUOTED) -> str:
    """The text in quotes, cut to `limit` characters with the number of those left out."""
    if len(text) <= limit:
        return repr(text)
    return f"{text[:limit]!r} and {len(text) - limit} more characters"


def _decoded(raw: bytes | bytearray) -> str:
    try:
        return bytes(raw).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidArguments(f"the arguments are not UTF-8: {error.reason} at byte {error.start}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen and seen[key] != value:
                raise ValueError(f"the key {key!r} stands twice with different values")
            seen[key] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits} is beyond what a float holds")
    return value


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)


def _tokens(text: str) -> list[tuple[str, str]] | None:
    found: list[tuple[str, str]] = []
    open_marks: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        position = match.end()
        kind, token = cast(str, match.lastgroup), match.group()
        if kind == "space":
            continue
        if token in ("{", "["):
            open_marks.append(token)
        elif token in _CLOSES and (not open_marks or open_marks.pop() != _CLOSES[token]):
            return None
        found.append((kind, token))
    return None if open_marks else found


def _mend(text: str) -> dict[str, Any] | None:
    tokens = _tokens(text)
    if not tokens:
        return None
    parts: list[str] = []
    for index, (kind, token) in enumerate(tokens):
        after = tokens[index + 1][1] if index + 1 < len(tokens) else ""
        if kind in ("single", "curly"):
            parts.append(_double_quoted(token[1:-1]))
        elif kind == "word" and after == ":":
            parts.append(json.dumps(token))
        elif kind == "word":
            if token not in _WORDS:
                return None
            parts.append(_WORDS[token])
        elif token == "," and after in _CLOSES and index and tokens[index - 1][1] not in ("{", "[", ","):
            continue
        else:
            parts.append(token)
    try:
        # a space between tokens keeps two that touch from becoming one
        value = strict_json(" ".join(parts))
    except ValueError:
        return None
    return cast(dict[str, Any], value) if isinstance(value, dict) else None


def _double_quoted(body: str) -> str:
    body = re.sub(r"\\.|\"", lambda found: {"\\'": "'", '"': '\\"'}.get(found.group(), found.group()), body)
    return f'"{body}"'


def _refusal(text: str, error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        reason = f"{error.msg} at character {min(error.pos + 1, len(text))} of {len(text)}"
    else:
        reason = "a number in it has too many digits" if "int_max_str" in str(error) else str(error)
    cut = ", so it may have been cut off" if _is_open(text) else ""
    return f"the arguments are not a JSON object: {reason}{cut}. Received: {quote(text)}"


def _is_open(text: str) -> bool:
    """Whether a double-quoted string or a bracket is still open at the end."""
    rest = _CLOSED.sub("", text)
    return '"' in rest or sum(map(rest.count, "{[")) > sum(map(rest.count, "}]"))
