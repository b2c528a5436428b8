"""All pages of a server's tools/list, whatever it does with its cursors (FH28)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..servers import RemoteTool

MAX_PAGES = 500
MAX_TOOLS = 20_000

Page = Callable[[str | None], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Entries in the server's order, each once, and what was odd. Entries are as they came, good or bad."""

    tools: tuple[RemoteTool, ...]
    notes: tuple[str, ...] = ()


async def read_all(page: Page, seconds: float) -> Listing:
    """Ask page by page. TimeoutError when not even the first comes within `seconds`; else what came is kept."""
    entries: list[Any] = []
    notes: list[str] = []
    seen: set[str] = set()
    cursor: str | None = None
    count = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                result = await page(cursor)
                count += 1
                found: Any = result.get("tools")
                if isinstance(found, list):
                    entries.extend(cast("list[Any]", found))
                else:
                    notes.append(f"page {count} of its tools holds no list of tools: {found!r:.100}")
                following: Any = result.get("nextCursor")
                if following is None or following == "":
                    break
                if not isinstance(following, str):
                    notes.append(f"its tools may not be complete: the cursor {following!r:.100} is no text")
                    break
                if following in seen:
                    notes.append(f"its cursor does not advance after page {count}: the listing ends there")
                    break
                if count >= MAX_PAGES or len(entries) >= MAX_TOOLS:
                    notes.append(f"its tools may not be complete: after {count} pages there were still more")
                    break
                seen.add(following)
                cursor = following
    except TimeoutError:
        if not count:
            raise
        notes.append(f"its tools may not be complete: after {count} pages in {seconds:g} s there were still more")
    return Listing(tools=_once(entries), notes=tuple(notes))


def _once(entries: list[Any]) -> tuple[RemoteTool, ...]:
    """Pages overlap: the same entry counts once. Two that differ under one name are for the source to judge."""
    kept: dict[str, list[RemoteTool]] = {}
    others: list[RemoteTool] = []
    for entry in entries:
        tool = RemoteTool(definition=entry)
        if not tool.name:
            others.append(tool)
        elif tool not in kept.setdefault(tool.name, []):
            kept[tool.name].append(tool)
    return (*(tool for tools in kept.values() for tool in tools), *others)
