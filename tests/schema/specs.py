"""Specs and recorded tool lists that the tests of this folder share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sutler.spec import Origin, SourceKind, ToolSpec

PAYLOADS = Path(__file__).parent.parent / "cases" / "payloads"

TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/N"}},
    "$defs": {
        "N": {
            "type": "object",
            "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/N"}}},
            "required": ["v"],
        }
    },
}


def spec(
    properties: dict[str, Any] | None = None,
    required: list[str] | None = None,
    *,
    kind: SourceKind = "function",
    schema: dict[str, Any] | None = None,
    name: str = "tool",
    **more: Any,
) -> ToolSpec:
    made = {"type": "object", "properties": properties or {}, "required": required or []} if schema is None else schema
    return ToolSpec(name=name, origin=Origin(source="s", kind=kind), input_schema=made, **more)


def recorded_tools() -> list[tuple[str, dict[str, Any]]]:
    """Every tool of the recorded tools/list answers, with the file it stands in."""
    found: list[tuple[str, dict[str, Any]]] = []
    for path in sorted(PAYLOADS.glob("*.tools.json")):
        raw = path.read_bytes()
        answer = json.loads(raw.decode("utf-16" if raw.startswith(b"\xff\xfe") else "utf-8"))
        found += [(path.name, tool) for tool in answer.get("result", answer)["tools"]]
    return found
