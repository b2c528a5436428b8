"""The words a person is asked with: the call as it will run, in one line or a few."""

from __future__ import annotations

import json
from typing import Any

from ..spec import ToolCall, ToolSpec


def source_of(call: ToolCall) -> str:
    """The call with its effective arguments, as a program would write it."""
    parts = [f"{name}={_shown(value)}" for name, value in call.arguments.items()]
    one_line = f"{call.spec.qualified}({', '.join(parts)})"
    if len(one_line) <= 100:
        return one_line
    return f"{call.spec.qualified}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def label_of(spec: ToolSpec, level: str) -> str:
    return f"[{level.upper()}] {spec.qualified} {spec.grade}"


def _shown(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError):
        return repr(value)
