"""The tools that come with Sutler: data, read from default_tools.toml like anybody's [[tools]] (SRC-01, SRC-05)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..spec import Grade, ToolAnnotations
from ..tables import ArgTable, ToolTable
from .base import DEFAULTS
from .config import ConfigToolSource

FILE = Path(__file__).parent.parent / "data" / "default_tools.toml"


def default_source(file: Path = FILE) -> ConfigToolSource:
    """The source `default`: whatever the file lists, nothing when it is empty."""
    return ConfigToolSource(tables_of(file), file.parent, name="default", precedence=DEFAULTS)


def tables_of(file: Path) -> list[ToolTable]:
    """The [[tools]] of our own file, which the tests hold to what the configuration reader makes of it."""
    text = file.read_text(encoding="utf-8")
    entries: list[Mapping[str, Any]] = tomllib.loads(text).get("tools", [])
    lines = [number for number, line in enumerate(text.splitlines(), start=1) if line.strip() == "[[tools]]"]
    return [_table(entry, f"{file.name}:{line}") for entry, line in zip(entries, lines, strict=True)]


def _table(entry: Mapping[str, Any], where: str) -> ToolTable:
    values: dict[str, Any] = {
        **entry,
        "args": tuple(ArgTable(**arg, has_default="default" in arg) for arg in entry.get("args", ())),
        "grade": Grade(**entry["grade"]) if "grade" in entry else None,
        "annotations": ToolAnnotations(**entry.get("annotations", {})),
    }
    return ToolTable(**values, where=where)
