"""Searching the text of files."""

from __future__ import annotations

import re
from typing import Any

from ._guard import relative, to_read, walk_files
from .folders import glob_regex

SEARCHED_BYTES = 5_000_000
SHOWN_LINE = 500


def search_text(
    pattern: str,
    path: str = ".",
    glob: str = "**/*",
    ignore_case: bool = False,
    literal: bool = False,
    max_matches: int = 200,
) -> dict[str, Any]:
    """Lines of files that match a regular expression: file, line number, text. Stops after max_matches."""
    try:
        wanted = re.compile(re.escape(pattern) if literal else pattern, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        hint = "use literal to search for plain text"
        raise ValueError(f"not a regular expression: {pattern!r} ({error}); {hint}") from None
    top = to_read(path)
    fits = glob_regex(glob).fullmatch
    files = [top] if top.is_file() else (file for file in walk_files(top) if fits(file.relative_to(top).as_posix()))
    matches: list[dict[str, Any]] = []
    skipped: list[str] = []
    searched = 0
    for file in files:
        try:
            if file.stat().st_size > SEARCHED_BYTES:
                skipped.append(f"{relative(file)}: more than {SEARCHED_BYTES:,} bytes")
                continue
            raw = file.read_bytes()
        except OSError as error:
            skipped.append(f"{relative(file)}: {error.strerror}")
            continue
        if b"\0" in raw:
            skipped.append(f"{relative(file)}: not text")
            continue
        searched += 1
        for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), start=1):
            if wanted.search(line) is None:
                continue
            if len(matches) == max_matches:
                return answer(matches, searched, skipped, truncated=True)
            matches.append({"file": relative(file), "line": number, "text": line[:SHOWN_LINE]})
    return answer(matches, searched, skipped, truncated=False)


def answer(matches: list[dict[str, Any]], searched: int, skipped: list[str], *, truncated: bool) -> dict[str, Any]:
    return {"matches": matches, "files_searched": searched, "skipped": skipped, "truncated": truncated}
