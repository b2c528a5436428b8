"""The language of programs: what a text may say, checked and planned before anything of it runs.

A leaf: the standard library only, nothing of the runtime (PRG-09). See DESIGN.md "The language".
"""

from __future__ import annotations

from .checker import check
from .levels import LEVELS, builtins_for, modules_for
from .model import CallSite, Checked, Param, Problem, ToolSig

__all__ = [
    "LEVELS",
    "CallSite",
    "Checked",
    "Param",
    "Problem",
    "ToolSig",
    "builtins_for",
    "check",
    "modules_for",
]
