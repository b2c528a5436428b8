"""On which line each key of a TOML text stands. tomllib reads the values; it keeps no positions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress

KeyPath = tuple[str | int, ...]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t]*")
_BLANK_LINES = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_BASIC = re.compile(r'"((?:[^"\\\n]++|\\.)*+)"')
_LITERAL = re.compile(r"'([^'\n]*)'")
_BASIC_LINES = re.compile(r'"""(?:[^"\\]++|\\[\s\S]|"(?!""))*+"{3,5}')
_LITERAL_LINES = re.compile(r"'''(?:[^']++|'(?!''))*+'{3,5}")
_ATOM = re.compile(r"[^,\]}#\n]+")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}


def locate(text: str) -> Mapping[KeyPath, int]:
    """{path: line} for every key, table and array element; lines count from 1.

    The text should be valid TOML. Of any other it gives what it read before it lost its way.
    """
    scanner = _Scanner(text)
    with suppress(_LostError, RecursionError):
        scanner.document()
    return scanner.lines


def dotted(path: KeyPath) -> str:
    """A path as people write it: `tools[0].args[1].type`, with quotes where TOML needs them."""
    parts: list[str] = []
    for part in path:
        if isinstance(part, int):
            parts.append(f"[{part}]")
            continue
        name = part if _BARE_KEY.fullmatch(part) else '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"'
        parts.append(f".{name}" if parts else name)
    return "".join(parts)


class _LostError(Exception):
    """The text is not what the scanner expects."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self._breaks = [match.start() for match in re.finditer("\n", text)]
        self._lengths: dict[KeyPath, int] = {}

    def document(self) -> None:
        base: KeyPath = ()
        while True:
            self._skip(_BLANK_LINES)
            if self.at >= len(self.text):
                return
            if self.text.startswith("[", self.at):
                base = self._header()
            else:
                self._pair(base)

    def _header(self) -> KeyPath:
        start = self.at
        array = self.text.startswith("[[", start)
        self.at += 2 if array else 1
        keys = self._keys()
        self._expect("]]" if array else "]")
        path: KeyPath = ()
        for key in keys[:-1]:
            path = self._enter((*path, key), start)
        path = (*path, keys[-1])
        self._note(path, start)
        if not array:
            return path
        index = self._lengths.get(path, 0)
        self._lengths[path] = index + 1
        path = (*path, index)
        self._note(path, start)
        return path

    def _enter(self, path: KeyPath, start: int) -> KeyPath:
        self._note(path, start)
        length = self._lengths.get(path)
        return path if length is None else (*path, length - 1)

    def _pair(self, base: KeyPath) -> None:
        start = self.at
        path = base
        for key in self._keys():
            path = (*path, key)
            self._note(path, start)
        self._expect("=")
        self._value(path)

    def _keys(self) -> list[str]:
        keys = [self._key()]
        while self.text.startswith(".", self.at):
            self.at += 1
            keys.append(self._key())
        return keys

    def _key(self) -> str:
        self._skip(_BLANK)
        if match := _BARE_KEY.match(self.text, self.at):
            key = match.group()
        elif match := _LITERAL.match(self.text, self.at):
            key = match.group(1)
        elif match := _BASIC.match(self.text, self.at):
            key = _ESCAPE.sub(_unescape, match.group(1))
        else:
            raise _LostError
        self.at = match.end()
        self._skip(_BLANK)
        return key

    def _value(self, path: KeyPath) -> None:
        self._skip(_BLANK)
        if self.text.startswith("[", self.at):
            self._array(path)
        elif self.text.startswith("{", self.at):
            self._inline_table(path)
        else:
            for pattern in (_BASIC_LINES, _LITERAL_LINES, _BASIC, _LITERAL, _ATOM):
                if match := pattern.match(self.text, self.at):
                    self.at = match.end()
                    return
            raise _LostError

    def _array(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while True:
            self._skip(_BLANK_LINES)
            if self._take("]"):
                return
            self._note((*path, index), self.at)
            self._value((*path, index))
            index += 1
            self._skip(_BLANK_LINES)
            if not self._take(","):
                self._expect("]")
                return

    def _inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while True:
            self._skip(_BLANK_LINES)
            if self._take("}"):
                return
            self._pair(path)
            self._skip(_BLANK_LINES)
            if not self._take(","):
                self._expect("}")
                return

    def _note(self, path: KeyPath, at: int) -> None:
        self.lines.setdefault(path, bisect_right(self._breaks, at - 1) + 1)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        if match := pattern.match(self.text, self.at):
            self.at = match.end()

    def _take(self, token: str) -> bool:
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def _expect(self, token: str) -> None:
        self._skip(_BLANK)
        if not self._take(token):
            raise _LostError


def _unescape(match: re.Match[str]) -> str:
    short, long, plain = match.groups()
    if short or long:
        return chr(int(short or long, 16))
    return _ESCAPED.get(plain, plain)
