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
    """The source `default`. ValueError or KeyError only if the shipped file is broken, which the tests exclude."""
    text = file.read_text(encoding="utf-8")
    raw: list[Mapping[str, Any]] = tomllib.loads(text).get("tools", [])
    lines = [number for number, line in enumerate(text.splitlines(), start=1) if line.strip() == "[[tools]]"]
    tables = [table(entry, f"{file.name}:{line}") for entry, line in zip(raw, lines, strict=True)]
    return ConfigToolSource(tables, file.parent, name="default", precedence=DEFAULTS)


def table(entry: Mapping[str, Any], where: str) -> ToolTable:
    """One table as written; a key that ToolTable does not know is a TypeError."""
    args = tuple(ArgTable(**arg, has_default="default" in arg) for arg in entry.get("args", ()))
    return ToolTable(
        **{
            **entry,
            "args": args,
            "grade": Grade(**entry["grade"]) if "grade" in entry else None,
            "annotations": ToolAnnotations(**entry.get("annotations", {})),
            "where": where,
        }
    )
