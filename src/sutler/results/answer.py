"""What a source gives when a tool's value alone does not say all: content blocks and notes beside it (MCP-08)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A value with what came beside it. A program gets `value`; content, extra and notes stand in the ToolResult.

    content: MCP content blocks, exactly as the server sent them. extra: payload keys beside the output.
    wire: the server's whole answer, for a face that passes it on as it came.
    """

    value: Any
    content: Sequence[Mapping[str, Any]] = ()
    extra: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    notes: Sequence[str] = ()
    wire: Any = None
