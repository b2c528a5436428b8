"""What a tool may be given by its host beside its arguments (LCP 4.5, 7.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

HOST_PARAMETERS = ("tool_context", "lollms_client_instance", "discussion_instance", "user_interaction_handler")


class ToolContext(Mapping[str, Any]):
    """The `tool_context` a tool gets when its host gave none: by attribute, and as a mapping (get, [], in).

    client, discussion: what the host set, or None. workspace: the run's folder.
    emit_progress(text, fraction=None): tells the host.
    call_tool(name, arguments): calls another tool under the same policy and limits and gives the LCP wrapper (a
    dict); in an async tool it is awaited.
    """

    __slots__ = ("call_tool", "client", "discussion", "emit_progress", "workspace")

    def __init__(
        self,
        *,
        client: Any,
        discussion: Any,
        workspace: Path,
        emit_progress: Callable[..., object],
        call_tool: Callable[..., Any],
    ) -> None:
        self.client = client
        self.discussion = discussion
        self.workspace = workspace
        self.emit_progress = emit_progress
        self.call_tool = call_tool

    def __getitem__(self, name: str) -> Any:
        if name not in self.__slots__:
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.__slots__)

    def __len__(self) -> int:
        return len(self.__slots__)
