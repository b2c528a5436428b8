"""The client that omni-tools are given: one object over a host's text, image, speech, music and other models (LCP 12).

A modality is a binding: an object with methods of its own, a callable, or a model behind an OpenAI-compatible server.
Loaded when first used, like the names of the package itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import Client
    from .openai_server import OpenAIServer

__all__ = ["Client", "OpenAIServer"]

_HOMES = {"Client": "client", "OpenAIServer": "openai_server"}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
