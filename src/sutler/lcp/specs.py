"""Tools as LCP hosts want them listed: plain dicts, each its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from ..results import fresh
from ..spec import ToolSpec


def listed(name: str, spec: ToolSpec) -> dict[str, Any]:
    """name, description and input_schema."""
    return {"name": name, "description": spec.description, "input_schema": fresh(dict(spec.input_schema))}


def for_chat(name: str, spec: ToolSpec, run: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """name, description, parameters (a flat list), output, and `callable`: keywords in, wrapper out."""
    return {
        "name": name,
        "description": spec.description,
        "parameters": _parameters(spec),
        "output": [],
        "callable": run,
    }


def _parameters(spec: ToolSpec) -> list[dict[str, Any]]:
    properties = cast("Mapping[str, Any]", spec.input_schema.get("properties") or {})
    required = set(cast("list[str]", spec.input_schema.get("required") or ()))
    found: list[dict[str, Any]] = []
    for name, raw in properties.items():
        schema = cast("Mapping[str, Any]", raw if isinstance(raw, Mapping) else {})
        one: dict[str, Any] = {
            "name": name,
            "type": schema.get("type", "string"),
            "description": str(schema.get("description") or ""),
            "optional": name not in required,
        }
        if "default" in schema:
            one["default"] = fresh(schema["default"])
        found.append(one)
    return found
