"""Which names a program leaves behind: what it binds at its top level (PRG-01)."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator


def top_level_names(text: str, *, without: Collection[str] = ()) -> tuple[str, ...]:
    """The names bound by assignment at the top level, in order; not `_x`, not `without`, not functions or imports."""
    found: dict[str, None] = {}
    for name in _bound(ast.parse(text).body):
        if not name.startswith("_") and name not in without:
            found.setdefault(name)
    return tuple(found)


def _bound(nodes: list[ast.stmt]) -> Iterator[str]:
    waiting: list[ast.AST] = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                yield node.id
            continue
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            # only a walrus inside a comprehension binds outside it
            yield from (inner.target.id for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr))
            continue
        waiting.extend(reversed(list(ast.iter_child_nodes(node))))
