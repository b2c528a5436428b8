"""JSON with comments and trailing commas, as editors write it: its value, its places, and a change in one place.

Comments and trailing commas are blanked out, never cut, so that every offset stays what it was in the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*+"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*+"|,(?=\s*[}\]])', re.DOTALL)
_BLANK = re.compile(r"\s*")
_INK = re.compile(r"[^\s]")
_STEP = re.compile(r"\n([ \t]+)\S")
_DECODER = json.JSONDecoder(strict=False)


class JsoncError(ValueError):
    """The text is no JSON, not even with comments."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object, by the offsets of its key and its value."""

    key: str
    at: int
    start: int
    end: int


class Document:
    """One file's text. `text` has no byte order mark."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _uncommented(self) -> str:
        return self.text if self._strict else _COMMENT.sub(_blanked, self.text)

    @cached_property
    def plain(self) -> str:
        """The text as strict JSON, of the same length."""
        return self.text if self._strict else _COMMA.sub(_blanked, self._uncommented)

    @cached_property
    def _strict(self) -> bool:
        """Whether it is plain JSON already, as large files that hosts write themselves are."""
        try:
            json.loads(self.text, strict=False)
        except (ValueError, RecursionError):
            return False
        return True

    @cached_property
    def value(self) -> Any:
        """What it says. JsoncError names line and column."""
        try:
            return json.loads(self.plain, strict=False)
        except json.JSONDecodeError as error:
            raise JsoncError(error.msg, error.lineno, error.colno) from None
        except (RecursionError, ValueError) as error:  # ValueError: a number of thousands of digits
            raise JsoncError(
                "is nested too deeply" if isinstance(error, RecursionError) else str(error), 1, 1
            ) from None

    def members(self, start: int) -> list[Member]:
        """The members of the object that begins at an offset."""
        found: list[Member] = []
        at = self._skip(start + 1)
        while self.plain[at] != "}":
            key, colon = cast("tuple[str, int]", json.decoder.scanstring(self.plain, at + 1, False))  # type: ignore[attr-defined]
            begin = self._skip(self._skip(colon) + 1)
            _, end = _DECODER.raw_decode(self.plain, begin)
            found.append(Member(key, at, begin, end))
            at = self._skip(end)
            if self.plain[at] == ",":
                at = self._skip(at + 1)
        return found

    def find(self, path: Sequence[str]) -> Member | None:
        """The member at a path of keys; of a key that stands twice the last, which is the one that counts."""
        found: Member | None = None
        start = self._skip(0)
        for key in path:
            if self.plain[start : start + 1] != "{":
                return None
            found = next((one for one in reversed(self.members(start)) if one.key == key), None)
            if found is None:
                return None
            start = found.start
        return found

    def line(self, path: Sequence[str]) -> int | None:
        found = self.find(path)
        return None if found is None else self.text.count("\n", 0, found.at) + 1

    def with_member(self, path: Sequence[str], value: Any) -> str:
        """The text with the member at `path` set to `value`, made where it is missing; all else stays as it is.

        JsoncError when something on the way is there and is no object.
        """
        if not self.text.strip():
            return json.dumps(_nested(path, value), indent=2, ensure_ascii=False) + "\n"
        _ = self.value  # raises for what is no JSON
        start = self._skip(0)
        for depth, key in enumerate(path):
            if self.plain[start] != "{":
                line = self.text.count("\n", 0, start) + 1
                raise JsoncError(f"{'.'.join(path[:depth]) or 'the file'} is no object", line, 1)
            found = next((one for one in reversed(self.members(start)) if one.key == key), None)
            if found is None:
                return self._inserted(start, key, _nested(path[depth + 1 :], value))
            if depth == len(path) - 1:
                text = self._written(value, self._indent_at(found.at))
                return self.text[: found.start] + text + self.text[found.end :]
            start = found.start
        raise ValueError("a path has at least one key")

    # ------------------------------------------------------------------ writing

    @cached_property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    @cached_property
    def _step(self) -> str:
        """One step of indentation, as the file has it; "" for a file in one line."""
        found = _STEP.search(self.text)
        return found.group(1) if found else "" if "\n" not in self.text.strip() else "  "

    def _inserted(self, start: int, key: str, value: Any) -> str:
        """A new last member of the object at `start`."""
        members = self.members(start)
        close = self._skip(members[-1].end if members else start + 1)
        while self.plain[close] != "}":
            close = self._skip(close + 1)
        pretty = bool(self._step)
        outer = self._indent_at(start)
        own_line = bool(members) and not self.text[self.text.rfind("\n", 0, members[0].at) + 1 : members[0].at].strip()
        indent = self._indent_at(members[0].at) if own_line else outer + self._step
        member = f"{json.dumps(key, ensure_ascii=False)}: {self._written(value, indent)}"
        # Behind whatever stands there last, comments included, so that a comment stays with its member.
        last = len(self.text[:close].rstrip())
        lead = f"{self._newline}{indent}" if pretty else (" " if members else "")
        tail = self.text[last:close] if "\n" in self.text[last:close] or not pretty else f"{self._newline}{outer}"
        if not members:
            return self.text[:last] + lead + member + tail + self.text[close:]
        end = members[-1].end
        behind = self._skip_in(self._uncommented, end)
        has_comma = self._uncommented[behind] == ","
        comma = "" if has_comma else ","
        return (
            self.text[:end] + comma + self.text[end:last] + lead + member + ("," * has_comma) + tail + self.text[close:]
        )

    def _written(self, value: Any, indent: str) -> str:
        if not self._step:
            return json.dumps(value, ensure_ascii=False)
        text = json.dumps(value, indent=self._step, ensure_ascii=False)
        return text.replace("\n", f"{self._newline}{indent}")

    def _indent_at(self, at: int) -> str:
        line = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return line[: len(line) - len(line.lstrip())]

    def _skip(self, at: int) -> int:
        return self._skip_in(self.plain, at)

    @staticmethod
    def _skip_in(text: str, at: int) -> int:
        match = _BLANK.match(text, at)
        return match.end() if match else at


def duplicates(document: Document, path: Sequence[str]) -> Iterator[str]:
    """Keys that stand more than once in the object at a path."""
    found = document.find(path)
    if found is None or document.plain[found.start] != "{":
        return
    seen: set[str] = set()
    for member in document.members(found.start):
        if member.key in seen:
            yield member.key
        seen.add(member.key)


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _blanked(match: re.Match[str]) -> str:
    text = match.group()
    return text if text.startswith('"') else _INK.sub(" ", text)
