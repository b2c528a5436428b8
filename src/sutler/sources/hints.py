"""What a folder without tools might have meant to offer, for `sutler doctor`. Reads and parses; imports nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

from ..errors import SourceError
from .cache import read_text

_FILES = 20  # looked into


def plain_functions(files: Iterable[Path]) -> Mapping[Path, tuple[str, ...]]:
    """The public functions at the top level of each file that has some: tools, if they were named or marked so."""
    found: dict[Path, tuple[str, ...]] = {}
    for file in islice(files, _FILES):
        try:
            tree = ast.parse(read_text(file))
        except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        names = tuple(node.name for node in functions if not node.name.startswith("_"))
        if names:
            found[file] = names
    return found
