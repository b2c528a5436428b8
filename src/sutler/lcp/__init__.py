"""The names that hosts of LCP libraries know, as thin faces over the runtime (docs/coming-from-lcp.md).

Loaded when first used, like those of the package itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..policy.handlers.queue import make_gui_confirm_handler, make_gui_interaction_handler
    from ..policy.handlers.terminal import cli_confirm_handler
    from ..policy.handlers.terminal_questions import cli_interaction_handler
    from ..sources.aliases import install_aliases, remove_aliases
    from .binding import LCPBinding
    from .client import LollmsClient
    from .mcp import MCPBinding

__all__ = [
    "BindingName",
    "LCPBinding",
    "LollmsClient",
    "MCPBinding",
    "cli_confirm_handler",
    "cli_interaction_handler",
    "install_aliases",
    "make_gui_confirm_handler",
    "make_gui_interaction_handler",
    "remove_aliases",
]

BindingName = "LCPBinding"

_HOMES = {
    "LCPBinding": ".binding",
    "LollmsClient": ".client",
    "MCPBinding": ".mcp",
    "cli_confirm_handler": "..policy.handlers.terminal",
    "cli_interaction_handler": "..policy.handlers.terminal_questions",
    "install_aliases": "..sources.aliases",
    "make_gui_confirm_handler": "..policy.handlers.queue",
    "make_gui_interaction_handler": "..policy.handlers.queue",
    "remove_aliases": "..sources.aliases",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home, __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
