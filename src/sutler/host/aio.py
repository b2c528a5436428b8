"""A client for coroutines: the same methods, awaited; the work is done on a thread, so that no loop waits for it."""

from __future__ import annotations

import asyncio
from typing import Any


class Aio:
    """`await client.aio.generate_text(...)`. Attributes that are no methods are those of the client."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        held = getattr(self._target, name)
        if name == "tools":
            return Aio(held)
        if not callable(held) or name in getattr(self._target, "__dict__", {}):
            return held

        async def call(*args: Any, **options: Any) -> Any:
            return await asyncio.to_thread(held, *args, **options)

        return call
