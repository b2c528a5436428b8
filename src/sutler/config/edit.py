"""Adding to a sutler.toml and leaving every other byte of it as it is (MCP-02)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..mcp.hosts.toml import string
from .locate import locate

_TOKEN = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]]', re.DOTALL)


def with_host_configs(text: str, paths: Sequence[str]) -> str:
    """The text with these files at the end of `[mcp] host_configs`. ValueError when its place is not to be found."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = locate(text)
    listed = ", ".join(map(string, paths))
    if ("mcp", "host_configs") in lines:
        return _into_array(text, lines["mcp", "host_configs"], paths, newline)
    header = next(
        (number for number, row in enumerate(text.split("\n")) if row.partition("#")[0].strip() == "[mcp]"), None
    )
    if header is None and ("mcp",) in lines:
        raise ValueError("[mcp] is written in a way that cannot be added to; write host_configs in it by hand")
    if header is None:
        return appended(text, f"[mcp]{newline}host_configs = [{listed}]{newline}", newline)
    rows = text.split("\n")
    end = "\r" if newline == "\r\n" else ""
    rows.insert(header + 1, f"host_configs = [{listed}]{end}")
    return "\n".join(rows) if header + 2 < len(rows) or text.endswith("\n") else "\n".join(rows) + newline


def appended(text: str, tables: str, newline: str = "\n") -> str:
    """The text with tables after it, apart by one empty line."""
    if not text.strip():
        return text + tables
    return text + ("" if text.endswith("\n") else newline) + newline + tables


def _into_array(text: str, line: int, paths: Sequence[str], newline: str) -> str:
    """New elements at the end of the array that begins on a line."""
    start = _offset(text, line)
    at = text.index("[", text.index("=", start))
    depth, last = 0, at + 1
    for token in _TOKEN.finditer(text, at):
        word = token.group()
        if word == "[":
            depth += 1
        elif word == "]":
            depth -= 1
            if not depth:
                return _before_bracket(text, at, last, token.start(), paths, newline)
        if not word.startswith("#"):
            last = token.end()
    raise ValueError("the array host_configs has no end")


def _before_bracket(text: str, at: int, last: int, close: int, paths: Sequence[str], newline: str) -> str:
    """last: the end of the last element, or of the opening bracket."""
    empty = last == at + 1
    between = text[last:close]
    comma_at = re.sub(r"#[^\n]*", lambda match: " " * len(match.group()), between).find(",")
    if "\n" not in text[at:close]:
        listed = ", ".join(map(string, paths))
        lead = "" if empty else " " if comma_at >= 0 else ", "
        return text[:last] + (between[: comma_at + 1] if comma_at >= 0 else "") + lead + listed + text[close:]
    row = text[text.rfind("\n", 0, last) + 1 : last]
    indent = row[: len(row) - len(row.lstrip())] or "  "
    added = "".join(f"{indent}{string(path)},{newline}" for path in paths)
    comma = "" if comma_at >= 0 or empty else ","
    head = text[:last] + comma + between.rstrip(" \t")
    if not head.endswith("\n"):
        head += newline
    return head + added + text[close:]


def _offset(text: str, line: int) -> int:
    at = 0
    for _ in range(line - 1):
        at = text.index("\n", at) + 1
    return at
