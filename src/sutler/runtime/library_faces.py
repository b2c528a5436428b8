"""Tool libraries as both faces have them: mounted by name, configured and given other handlers while they are open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ..spec import ToolSpec
from .libraries import Change

if TYPE_CHECKING:
    from .core import Core


class Opened(Protocol):
    """A face."""

    @property
    def core(self) -> Core: ...


class LibraryFace:
    """What neither face waits for."""

    def set_confirm_handler(self: Opened, handler: Callable[..., Any] | None) -> None:
        """Another person from the next question on, None for nobody; libraries that are loaded too (LCP-07)."""
        self.core.set_confirm_handler(_handler(handler, "confirm_handler"))

    def set_user_interaction_handler(self: Opened, handler: Callable[..., Any] | None) -> None:
        """The same for what tools ask the person beside approvals (LCP-13)."""
        self.core.set_user_interaction_handler(_handler(handler, "user_interaction_handler"))

    def configure_library(self: Opened, stem: str, config: Mapping[str, Any] | None) -> None:
        """The host config of a stem from the next call on, instead of what it was; None takes it away (LCP-06, LCP-20).

        Its init_tools_library runs again with it, before its next call. ConfigError for an unknown autonomy_level.
        """
        self.core.libraries.configure(stem, config)

    def set_session_flags(self: Opened, flags: Mapping[str, Any]) -> Change:
        """Load flags of libraries, instead of those before: {flag: True} turns on, all else is off (LIB-05)."""
        return self.core.libraries.set_flags(flags)

    def library_changes(self: Opened) -> list[Change]:
        """What was picked up from the folders while the runtime is open, oldest first; the last hundred (LIB-09)."""
        return list(self.core.libraries.changes)

    def why_not_mounted(self: Opened) -> str:
        """Why the last mount was refused; empty when it was not."""
        return self.core.mounting.refused


class SyncLibraries(LibraryFace):
    """What a thread waits for."""

    def refresh(self: Opened) -> Change:
        """Picks up what was edited, added and removed in the tool folders; runs in progress keep what they have."""
        return self.core.libraries.refresh()

    def mount_tool_library(self: Opened, name: str) -> bool:
        """Turns on a library of the configured folders, or one that comes with Sutler, by a forgiving name (LCP-09).

        Whether it is on now; `why_not_mounted` says why not.
        """
        return self.core.mounting.mount(name)

    def mount_tool_library_if_absent(self: Opened, name: str) -> bool:
        """The same. Mounting what is on changes nothing."""
        return self.core.mounting.mount(name)

    def is_library_mounted(self: Opened, name: str) -> bool:
        """Whether the library that a forgiving name means is on."""
        return self.core.mounting.is_mounted(name)

    def find_library_for_tool(self: Opened, tool: str) -> str | None:
        """The stem of the library that has a tool, on or not; None when none has."""
        return self.core.mounting.library_of(tool)

    def is_tool_available(self: Opened, tool: str) -> bool:
        """Whether a tool can be called, or could be once its library is mounted."""
        return self.core.mounting.has_tool(tool)

    def load_tool_by_name(self: Opened, name: str) -> ToolSpec | None:
        """The tool, its library mounted if need be; for a library's name its first tool. None when there is none."""
        return self.core.mounting.load(name)


class AsyncLibraries(LibraryFace):
    """The same for coroutines: what reads folders is awaited."""

    async def refresh(self: Opened) -> Change:
        """As SyncRuntime.refresh."""
        return await asyncio.to_thread(self.core.libraries.refresh)

    async def mount_tool_library(self: Opened, name: str) -> bool:
        """As SyncRuntime.mount_tool_library."""
        return await asyncio.to_thread(self.core.mounting.mount, name)

    async def mount_tool_library_if_absent(self: Opened, name: str) -> bool:
        """As SyncRuntime.mount_tool_library_if_absent."""
        return await asyncio.to_thread(self.core.mounting.mount, name)

    async def is_library_mounted(self: Opened, name: str) -> bool:
        """As SyncRuntime.is_library_mounted."""
        return await asyncio.to_thread(self.core.mounting.is_mounted, name)

    async def find_library_for_tool(self: Opened, tool: str) -> str | None:
        """As SyncRuntime.find_library_for_tool."""
        return await asyncio.to_thread(self.core.mounting.library_of, tool)

    async def is_tool_available(self: Opened, tool: str) -> bool:
        """As SyncRuntime.is_tool_available."""
        return await asyncio.to_thread(self.core.mounting.has_tool, tool)

    async def load_tool_by_name(self: Opened, name: str) -> ToolSpec | None:
        """As SyncRuntime.load_tool_by_name."""
        return await asyncio.to_thread(self.core.mounting.load, name)


def _handler(handler: Any, name: str) -> Callable[..., Any] | None:
    if handler is not None and not callable(handler):
        raise TypeError(f"the {name} is a function, or None for nobody, not {handler!r}")
    return handler
