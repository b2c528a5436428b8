"""What of a tool is pinned at its first use, and how a changed definition is shown (POL-06)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from ..spec import ToolSpec
from .differences import unified

_SHOWN = 20_000  # characters of a difference
_TEXTS = ("description", "source_text", "server")


def definition_of(spec: ToolSpec) -> dict[str, Any]:
    """What its source says of it, as plain data.

    What the person's own config says (alias, grade, description) is not in it: a change of that is his own.
    """
    own = cast("Mapping[str, Any]", spec.meta.get("definition") or {})
    found = {
        "description": _said(own) if own else spec.description,
        "input_schema": spec.input_schema,
        "output_schema": spec.output_schema,
        "annotations": spec.annotations.to_mcp(),
        "grade": str(spec.grade) if spec.grade_from != "override" else None,
        "source_text": spec.source_text,
        "server": spec.meta.get("place"),
        "server_id": spec.meta.get("server"),
    }
    kept = {name: value for name, value in found.items() if value is not None}
    return json.loads(json.dumps(kept, default=_plain))


def digest_of(definition: Mapping[str, Any]) -> str:
    """The same for the same definition, in whatever order its keys stand. Without the grade: see `changed`."""
    pinned = {name: value for name, value in definition.items() if name not in ("grade", "server")}
    text = json.dumps(pinned, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def changed(digest: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a definition is another than the one pinned. A grade that the person's config sets hides its own."""
    grades = {was.get("grade"), now.get("grade")} - {None}
    return digest != digest_of(now) or len(grades) > 1


def difference(name: str, was: Mapping[str, Any], now: Mapping[str, Any], pinned: str) -> str:
    """A unified diff of two definitions of the tool `name`; pinned: when the first was."""
    shown = unified(_text(was), _text(now), f"{name} as of {pinned}", f"{name} now")
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}\n... (+{len(shown) - _SHOWN} characters)"


def _plain(value: object) -> object:
    """What JSON has no form for: another kind of mapping, or anything else by its text."""
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else str(value)


def _said(own: Mapping[str, Any]) -> str:
    text = own.get("description")
    return text if isinstance(text, str) else ""


def _text(definition: Mapping[str, Any]) -> str:
    """One line for each small thing; texts and schemas over several, so that a diff shows the part that changed."""
    lines: list[str] = []
    for name, value in definition.items():
        if name == "server_id" and "server" in definition:
            continue
        title = name.replace("_", " ")
        if name in _TEXTS or isinstance(value, str):
            parts = str(value).split("\n")
        else:
            parts = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False).split("\n")
        lines += [f"{title}: {parts[0]}"] if len(parts) == 1 else [f"{title}:", *(f"  {part}" for part in parts)]
    return "\n".join(lines)
