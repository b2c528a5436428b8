"""Sutler: one tool runtime for LLM agents.

It finds tools in many places, merges them by declared precedence, and lets a model call one, or run a small sandboxed
program that composes many. Names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import ConfigError, ProgramRejected, SutlerError, ToolCallError
    from .policy.answers import Answer
    from .policy.gate import Policy
    from .policy.handlers.queue import make_gui_confirm_handler, make_gui_interaction_handler
    from .policy.handlers.terminal import cli_confirm_handler
    from .policy.handlers.terminal_questions import cli_interaction_handler
    from .policy.patterns import Pattern
    from .policy.rules import Rule
    from .policy.sources import PolicySource
    from .runtime import Event, Runtime, SyncRuntime, ToolContext
    from .schema.decorator import tool
    from .sources.base import ToolSource
    from .sources.config import ConfigToolSource
    from .sources.virtual import VirtualToolSource
    from .spec import (
        ArgSpec,
        Decision,
        Grade,
        Origin,
        RunResult,
        ToolAnnotations,
        ToolCall,
        ToolFailure,
        ToolResult,
        ToolSpec,
        TraceEntry,
        compute_grade,
    )
    from .toolbox import Toolbox
    from .workspace import Workspace, resolve_safe_path

_WHERE = {
    "Answer": "policy.answers",
    "ArgSpec": "spec",
    "ConfigError": "errors",
    "ConfigToolSource": "sources.config",
    "Decision": "spec",
    "Event": "runtime",
    "Grade": "spec",
    "Origin": "spec",
    "Pattern": "policy.patterns",
    "Policy": "policy.gate",
    "PolicySource": "policy.sources",
    "ProgramRejected": "errors",
    "Rule": "policy.rules",
    "RunResult": "spec",
    "Runtime": "runtime",
    "SutlerError": "errors",
    "SyncRuntime": "runtime",
    "ToolAnnotations": "spec",
    "ToolCall": "spec",
    "ToolCallError": "errors",
    "ToolContext": "runtime",
    "ToolFailure": "spec",
    "ToolResult": "spec",
    "ToolSource": "sources.base",
    "ToolSpec": "spec",
    "Toolbox": "toolbox",
    "TraceEntry": "spec",
    "VirtualToolSource": "sources.virtual",
    "Workspace": "workspace",
    "cli_confirm_handler": "policy.handlers.terminal",
    "cli_interaction_handler": "policy.handlers.terminal_questions",
    "compute_grade": "spec",
    "make_gui_confirm_handler": "policy.handlers.queue",
    "make_gui_interaction_handler": "policy.handlers.queue",
    "resolve_safe_path": "workspace",
    "tool": "schema.decorator",
}

__all__ = [
    "Answer",
    "ArgSpec",
    "ConfigError",
    "ConfigToolSource",
    "Decision",
    "Event",
    "Grade",
    "Origin",
    "Pattern",
    "Policy",
    "PolicySource",
    "ProgramRejected",
    "Rule",
    "RunResult",
    "Runtime",
    "SutlerError",
    "SyncRuntime",
    "ToolAnnotations",
    "ToolCall",
    "ToolCallError",
    "ToolContext",
    "ToolFailure",
    "ToolResult",
    "ToolSource",
    "ToolSpec",
    "Toolbox",
    "TraceEntry",
    "VirtualToolSource",
    "Workspace",
    "cli_confirm_handler",
    "cli_interaction_handler",
    "compute_grade",
    "make_gui_confirm_handler",
    "make_gui_interaction_handler",
    "resolve_safe_path",
    "tool",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'sutler' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
