"""Plain words for whole constructs that a level or the engine does not have."""

from __future__ import annotations

import ast
from collections.abc import Callable

from .levels import modules_for
from .messages import module_words
from .parse import Source

OPERATORS: dict[str, tuple[str, str]] = {
    "LShift": ("<<", "x * 2 ** n"),
    "RShift": (">>", "x // 2 ** n"),
    "BitOr": ("|", "{**a, **b} for dicts, a.union(b) for sets, `or` for conditions"),
    "BitAnd": ("&", "a.intersection(b) for sets, `and` for conditions"),
    "BitXor": ("^", "a.symmetric_difference(b) for sets, a ** b for powers"),
    "Invert": ("~", "not x, or -x - 1"),
    "MatMult": ("@", "sum(a * b for a, b in zip(xs, ys))"),
}

_FIXED: dict[str, tuple[str, str]] = {
    "Lambda": ("lambda is available only as key= at this level", "a comprehension, or key=lambda row: row['name']"),
    "While": ("while is not available at this level", "for i in range(100): ... with break"),
    "Try": ("try is not available at this level", "the call alone; a failure ends the program with its message"),
    "Raise": ("raise is not available at this level", "if ...: with the message as the last line"),
    "Assert": ("assert is not available at this level", "if not ...: print(message)"),
    "Match": ("match is not available at this level", "if, elif and else"),
    "TryStar": ("except* is not available", "except ValueError as e:"),
    "Global": ("global is not available at this level", "the program without this line"),
    "Nonlocal": ("nonlocal is not available at this level", "the program without this line"),
    "TypeAlias": ("type aliases are not available", "the program without this line"),
    "TemplateStr": ("t-strings are not available", 'an f-string: f"..."'),
    "Interpolation": ("t-strings are not available", 'an f-string: f"..."'),
    "Yield": ("yield is not available", "a list: out = [], out.append(value), return out"),
    "YieldFrom": ("yield is not available", "a list: out = [], out.extend(values), return out"),
}


def refused(node: ast.AST, level: str, source: Source) -> tuple[str, str]:
    """What is wrong with a construct that this level lacks, and what to write instead."""
    kind = type(node).__name__
    special = _SPECIAL.get(kind)
    if special is not None:
        return special(node, level, source)
    if kind in _FIXED:
        return _FIXED[kind]
    return "this construct is not part of the language", "plain assignments, loops, conditions and calls"


def _delete(node: ast.AST, level: str, source: Source) -> tuple[str, str]:
    assert isinstance(node, ast.Delete)
    target = node.targets[0]
    if isinstance(target, ast.Subscript):
        holder = source.segment(target.value, 60)
        if isinstance(target.slice, ast.Slice):
            return "del is not available", f"{source.segment(target, 80)} = []"
        return "del is not available", f"{holder}.pop({source.segment(target.slice, 60)})"
    return "del is not available", f"{source.segment(target, 60)} = None"


def _await(node: ast.AST, level: str, source: Source) -> tuple[str, str]:
    assert isinstance(node, ast.Await)
    return "there is no await: a tool call gives its value at once", source.segment(node.value)


def _async(node: ast.AST, level: str, source: Source) -> tuple[str, str]:
    instead = "the same without async"
    if isinstance(node, ast.AsyncFunctionDef):
        instead = f"def {node.name}(...):"
    return "there is no async: a tool call gives its value at once", instead


def _class(node: ast.AST, level: str, source: Source) -> tuple[str, str]:
    return "classes are not available at this level", (
        "plain data: a dict" if level == "calls" else "a dict for the data and plain functions (def)"
    )


def _function(node: ast.AST, level: str, source: Source) -> tuple[str, str]:
    return "functions cannot be defined at this level", "the lines in place, in a for loop where they repeat"


def _return(node: ast.AST, level: str, source: Source) -> tuple[str, str]:
    assert isinstance(node, ast.Return)
    value = source.segment(node.value) if node.value is not None else "the value"
    return "return is not available at this level", f"{value} as the last line"


def _with(node: ast.AST, level: str, source: Source) -> tuple[str, str]:
    assert isinstance(node, ast.With)
    item = node.items[0]
    value = source.segment(item.context_expr, 80)
    if value.startswith("open("):
        return "with open is not available: files are reached only through tools", "a call of the tool that reads files"
    name = source.segment(item.optional_vars, 40) if item.optional_vars is not None else "value"
    return "with is not available here: what a tool gives is plain data and needs no closing", f"{name} = {value}"


def _walrus(node: ast.AST, level: str, source: Source) -> tuple[str, str]:
    assert isinstance(node, ast.NamedExpr)
    return (
        ":= is not available at this level",
        f"{source.segment(node.target)} = {source.segment(node.value, 80)} on a line before",
    )


def _import(node: ast.AST, level: str, source: Source) -> tuple[str, str]:
    assert isinstance(node, ast.Import | ast.ImportFrom)
    name = (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
    assert not modules_for(level), "levels with modules judge imports one by one"
    return module_words(name.split(".")[0], level)


_SPECIAL: dict[str, Callable[[ast.AST, str, Source], tuple[str, str]]] = {
    "Delete": _delete,
    "Await": _await,
    "AsyncFunctionDef": _async,
    "AsyncFor": _async,
    "AsyncWith": _async,
    "ClassDef": _class,
    "FunctionDef": _function,
    "Return": _return,
    "With": _with,
    "NamedExpr": _walrus,
    "Import": _import,
    "ImportFrom": _import,
}
