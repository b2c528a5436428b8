"""The names that hosts of LCP libraries know, as thin faces over the runtime (docs/coming-from-lcp.md).

Loaded when first used, like those of the package itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .binding import LCPBinding

__all__ = ["BindingName", "LCPBinding"]

BindingName = "LCPBinding"

_HOMES = {
    "LCPBinding": "binding",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{home}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
