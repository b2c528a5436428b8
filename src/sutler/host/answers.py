"""Reading a model's text: code blocks, thinking, tags, JSON, and a count of its tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, cast

_FENCE = re.compile(r"^[ \t]*+(```++|~~~++)[ \t]*+([^\s`]*+)[^\n`]*+$", re.MULTILINE)
_NAMED = re.compile(r"(?:^|\n)[ \t]*(?:#+[ \t]*|\*\*|`)?([\w./-]+\.\w{1,8})(?:\*\*|`)?:?[ \t]*\n?\s*$")
_THINKING = re.compile(r"<(think|thinking)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_TAG = re.compile(r"<([A-Za-z_][\w.-]*)(?:\s[^<>]*)?>")
_TRIES = 1_000  # places at which JSON may begin
# About how byte-pair tokenizers cut: a word with its blank in pieces, three digits, signs and other letters alone.
_PIECE = re.compile(r"\s?[A-Za-z]{1,7}|\s?[0-9]{1,3}|[^\x00-\x7f]|\s+|.", re.DOTALL)


def table_of(value: object) -> Mapping[str, Any]:
    """A value that should be a JSON object; {} when it is none."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def code_blocks(text: str) -> list[dict[str, Any]]:
    """The fenced blocks: index, file_name (from the line before, "" when none), content, type, is_complete."""
    blocks: list[dict[str, Any]] = []
    at = 0
    while opened := _FENCE.search(text, at):
        fence = opened.group(1)
        begin = min(opened.end() + 1, len(text))
        closing = re.compile(rf"^[ \t]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$", re.MULTILINE).search(text, begin)
        end = closing.start() if closing else len(text)
        named = _NAMED.search(text[max(at, opened.start() - 200) : opened.start()])
        blocks.append(
            {
                "index": len(blocks),
                "file_name": named.group(1) if named else "",
                "content": text[begin:end].rstrip("\n"),
                "type": opened.group(2),
                "is_complete": closing is not None,
            }
        )
        at = closing.end() if closing else len(text)
    return blocks


def thinking_blocks(text: str) -> list[str]:
    """What stands in <think> or <thinking>."""
    return [found.group(2).strip() for found in _THINKING.finditer(text)]


def without_thinking(text: str) -> str:
    return _THINKING.sub("", text).strip()


def tags(text: str) -> dict[str, str]:
    """The text in each <tag>...</tag>, by tag; of two of one name the first."""
    found: dict[str, str] = {}
    unclosed: set[str] = set()
    at = 0
    while opened := _TAG.search(text, at):
        tag, at = opened.group(1), opened.end()
        if tag in unclosed:
            continue
        end = text.find(f"</{tag}>", at)
        if end < 0:
            unclosed.add(tag)
            continue
        found.setdefault(tag, text[at:end].strip())
        at = end + len(tag) + 3
    return found


def json_value(text: str) -> Any:
    """The JSON object or array that an answer holds, whatever stands around it. ValueError when it holds none."""
    clean = without_thinking(text)
    for candidate in (clean, *(block["content"] for block in code_blocks(clean))):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict | list):
            return cast("Any", value)
    decoder = json.JSONDecoder()
    for start in islice(re.finditer(r"[{\[]", clean), _TRIES):
        try:
            return decoder.raw_decode(clean, start.start())[0]
        except (ValueError, RecursionError):
            continue
    raise ValueError("it holds no JSON")


def pieces(text: str) -> list[str]:
    """The text cut about where byte-pair tokenizers cut; joined again it is the same text."""
    return _PIECE.findall(text)
