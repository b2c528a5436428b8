"""The text for the engine: the same lines, with the few idioms spelled out that the engine takes differently.

Its generator expressions, map, filter, zip, enumerate and reversed are lists, which next() refuses: they get an iter().
It has no str.lower as a value and no format_map. `parallel([...])` runs in order here, as a list.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .levels import PARALLEL
from .model import Problem
from .parse import Source, quietly

_EAGER = frozenset(("map", "filter", "zip", "enumerate", "reversed"))
_NOT_A_METHOD = frozenset(("__name__", "maketrans"))

Edit = tuple[int, int, int, str]  # line from 1, byte, bytes to drop, text to put there


def engine_text(source: Source, level: str, more: Sequence[Edit] = ()) -> str | Problem:
    """What to feed the engine, or the problem of an idiom that stands where it cannot be spelled out.

    more: edits to make beside its own.
    """
    edits: list[Edit] = list(more)
    within = {
        id(inner) for node in ast.walk(source.tree) if isinstance(node, ast.JoinedStr) for inner in ast.walk(node)
    }
    iterated = _iterated(source.tree)
    for node in ast.walk(source.tree):
        target, found = _edits(node, level, source, iterated)
        if target is None or not found:
            continue
        if id(target) in within and not stands(target, source):
            text = source.segment(target)
            return source.problem(
                target, f"{text} cannot stand inside this f-string", f"value = {text} on a line before"
            )
        edits += found
    if not edits:
        return source.text
    text = apply(source, edits)
    try:
        quietly(lambda: ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        line, _, _, _ = min(edits)
        message = "this line is too involved to be prepared for the engine"
        return Problem(line=line, column=1, message=message, rewrite="its parts on lines of their own")
    return text


def _iterated(tree: ast.AST) -> frozenset[str]:
    """Names given to next(); what they hold must be an iterator."""
    return frozenset(
        node.args[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and _is_name(node.func, "next")
        and node.args
        and isinstance(node.args[0], ast.Name)
    )


def _is_name(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _edits(node: ast.AST, level: str, source: Source, iterated: frozenset[str]) -> tuple[ast.expr | None, list[Edit]]:
    if isinstance(node, ast.Call):
        if _is_name(node.func, "next") and node.args:
            return node, _iter(node.args[0], source, shared=_shares_parentheses(node))
        if _is_name(node.func, PARALLEL):
            return node, [(node.func.lineno, node.func.col_offset, len(PARALLEL), "list".ljust(len(PARALLEL)))]
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format_map" and len(node.args) == 1:
            literal = isinstance(node.func.value, ast.Constant)
            if literal or level != "full":
                return node, _format_map(node.func, source)
    elif isinstance(node, ast.Attribute) and _is_name(node.value, "str") and node.attr not in _NOT_A_METHOD:
        size = (node.end_col_offset or 0) - node.col_offset
        if node.lineno == node.end_lineno:
            return node, [(node.lineno, node.col_offset, size, f"(lambda s, *a, **k: s.{node.attr}(*a, **k))")]
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in iterated:
            return node.value, _iter(node.value, source, shared=False)
    return None, []


def _iter(node: ast.expr, source: Source, *, shared: bool) -> list[Edit]:
    end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
    if isinstance(node, ast.GeneratorExp):
        before, after = ("(iter([", "]))") if shared else ("iter([", "])")
        return [(node.lineno, node.col_offset, 1, before), (end_line, end - 1, 1, after)]
    if isinstance(node, ast.Call) and _is_name(node.func, *_EAGER):
        return [(node.lineno, node.col_offset, 0, "iter("), (end_line, end, 0, ")")]
    return []


def _shares_parentheses(call: ast.Call) -> bool:
    """Whether next(x for x in xs) is written without parentheses of the generator's own."""
    only = call.args[0]
    return (only.end_lineno, only.end_col_offset) == (call.end_lineno, call.end_col_offset)


def _format_map(func: ast.Attribute, source: Source) -> list[Edit]:
    line, end = func.end_lineno or func.lineno, func.end_col_offset or 0
    opening = source.lines[line - 1].find(b"(", end)
    if opening < 0:
        return [(line, end, 0, "\0")]  # cannot be parsed, so it is reported
    size = len("format_map")
    return [(line, end - size, size, "format"), (line, opening + 1, 0, "**")]


def stands(node: ast.expr, source: Source) -> bool:
    """Whether the node's recorded place is right; Python 3.11 is at times wrong about places inside f-strings."""
    try:
        found = quietly(lambda: ast.parse(source.exact(node), mode="eval")).body
        return ast.dump(found) == ast.dump(node)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def apply(source: Source, edits: list[Edit]) -> str:
    lines = list(source.lines)
    # From the end, so that places stay true; at one place the replacement goes before what is put in front of it.
    for line, at, drop, text in sorted(edits, key=lambda edit: edit[:3], reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[:at] + text.encode() + old[at + drop :]
    return b"\n".join(lines).decode()
