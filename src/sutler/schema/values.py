"""Default values: which have a JSON form for their parameter, and how the others are written (SCH-05).

Only what is written as a literal, or as a member of an Enum, is shown as a value. `limit=MAX` stays Python's business:
the parameter is optional, its description ends in "(default: MAX)", and nothing is ever sent in its place.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any, TypeGuard, cast

from .annotations import dotted_name
from .shapes import Array, Choice, Default, Either, EnumMember, Fixed, Shape, bare

NOT_JSON: Any = object()


def written(node: ast.expr, member: Callable[[str], Any]) -> Default:
    """A default as it stands in source. `member(dotted)` gives the EnumMember of `Color.RED`, else None."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        found = member(dotted_name(node)) if isinstance(node, ast.Attribute) else None
        if found is not None:
            return Default(text=repr(found), value=found, known=True)
        return Default(text=unparsed(node))
    return Default(text=spelled(value), value=value, known=True)


def unparsed(node: ast.expr) -> str:
    if isinstance(node, ast.Lambda):
        return "a function"
    return _short(ast.unparse(node))


def spelled(value: Any) -> str:
    """A value as one would write it; the same for the same value, so no address and no set order of the day."""
    if value is ...:
        return "..."
    if isinstance(value, EnumMember):
        return repr(value)
    if isinstance(value, set | frozenset):
        items = ", ".join(repr(item) for item in in_order(cast("set[Any]", value)))
        return _short(f"{{{items}}}" if items else "set()")
    return _short(repr(value))


def in_order(values: set[Any] | frozenset[Any]) -> list[Any]:
    return sorted(values, key=lambda item: (type(item).__name__, repr(item)))


def as_json(default: Default, shape: Shape | None) -> Any:
    """The default as JSON, or NOT_JSON. A tuple, set or enum member needs a shape that turns JSON back into one."""
    if not default.known:
        return NOT_JSON
    value = default.value
    if isinstance(value, EnumMember):
        fits = any(isinstance(part, Choice) and part.enum == value.enum for part in _options(shape))
        return value.value if fits and is_json(value.value) else NOT_JSON
    if isinstance(value, tuple | set | frozenset):
        if not any(isinstance(part, Array | Fixed) for part in _options(shape)):
            return NOT_JSON
        value = list(cast("tuple[Any]", value)) if isinstance(value, tuple) else in_order(cast("set[Any]", value))
    return value if is_json(value) else NOT_JSON


def is_json(value: Any) -> TypeGuard[Any]:
    """Whether a value is exactly JSON: no tuples, subclasses or NaN, only string keys, nothing that holds itself."""
    try:
        return _is_json(value)
    except RecursionError:
        return False


def _is_json(value: Any) -> bool:
    kind: Any = value.__class__
    if value is None or kind in (bool, int, str):
        return True
    if kind is float:
        return math.isfinite(value)
    if kind is list:
        return all(_is_json(item) for item in value)
    if kind is dict:
        return all(type(key) is str and _is_json(item) for key, item in value.items())
    return False


def _options(shape: Shape | None) -> tuple[Shape, ...]:
    if shape is None:
        return ()
    inner = bare(shape)
    return tuple(bare(option) for option in inner.options) if isinstance(inner, Either) else (inner,)


def _short(text: str, limit: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
