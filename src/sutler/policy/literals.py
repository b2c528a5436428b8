"""Secrets that stand in the text of a program, taken out of the copy that is kept and shown (PRG-10).

What is given to a parameter, a key or a name that is a secret's, as a literal. The text keeps its lines and its shape.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from .masking import MASK, is_secret_name

_TELLS = re.compile(r"pass|secret|token|key|auth|cred|cookie|bearer|otp|pwd", re.IGNORECASE)
_WORTH = 8  # characters of a value that is masked wherever else it stands

Parameters = Mapping[str, tuple[Sequence[str], frozenset[str]]]
"""By tool: the names of its parameters in order, and those of them that are secret."""


def hide_literals(text: str, tools: Parameters) -> tuple[str, frozenset[str]]:
    """(the text to keep, the values that were hidden and are long enough to be masked elsewhere)."""
    if not _TELLS.search(text) and not any(secret for _, secret in tools.values()):
        return text, frozenset()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):  # it was refused, and is shown as it came
        return text, frozenset()
    found: dict[tuple[int, int], tuple[int, int]] = {}
    values: set[str] = set()
    for value in _given(tree, tools):
        for literal, said in _literals(value):
            found[literal.lineno, literal.col_offset] = (literal.end_lineno or 0, literal.end_col_offset or 0)
            values.update(said)
    if not found:
        return text, frozenset()
    return _replaced(text, found), frozenset(one for one in values if len(one) >= _WORTH)


def _given(tree: ast.AST, tools: Parameters) -> Iterator[ast.expr]:
    """Every expression whose value goes to something that is a secret's."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            order, secret = tools.get(name, ((), frozenset[str]()))
            named = ((one.arg, one.value) for one in node.keywords if one.arg)
            yield from (value for arg, value in named if arg in secret or is_secret_name(arg))
            yield from (value for value, arg in zip(node.args, order, strict=False) if arg in secret)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and is_secret_name(key.value):
                    yield value
        elif isinstance(node, ast.Assign):
            if any(isinstance(one, ast.Name) and is_secret_name(one.id) for one in node.targets):
                yield node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            target = node.target
            if isinstance(target, ast.Name) and is_secret_name(target.id) and node.value is not None:
                yield node.value


def _literals(value: ast.expr) -> Iterator[tuple[ast.expr, Sequence[str]]]:
    """The texts in an expression, and what each says; not those that only name something, such as a key."""
    if isinstance(value, ast.Constant):
        if isinstance(value.value, str) and value.value:
            yield value, (value.value,)
    elif isinstance(value, ast.JoinedStr):
        yield value, [one.value for one in value.values if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    elif isinstance(value, ast.BinOp):
        yield from _literals(value.left)
        yield from _literals(value.right)
    elif isinstance(value, ast.IfExp):
        yield from _literals(value.body)
        yield from _literals(value.orelse)
    elif isinstance(value, ast.List | ast.Tuple | ast.Set):
        for item in value.elts:
            yield from _literals(item)
    elif isinstance(value, ast.Dict):
        for item in value.values:
            yield from _literals(item)


def _replaced(text: str, found: Mapping[tuple[int, int], tuple[int, int]]) -> str:
    """Offsets are in bytes of a line; from the last on, so that those before stay right."""
    lines = [line.encode() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    for (first, start), (last, end) in sorted(found.items(), reverse=True):
        rest = lines[last - 1][end:]
        if first == last:
            lines[first - 1] = lines[first - 1][:start] + f"'{MASK}'".encode() + rest
        else:
            lines[first - 1] = lines[first - 1][:start] + f"'''{MASK}".encode()
            lines[first:last] = [b""] * (last - first)
            lines[last - 1] = b"'''" + rest
    return b"\n".join(lines).decode()
