"""An annotation as it is written -> its shape. Serves files, and the string annotations of live functions.

What a name means is the scope's business; this module knows the grammar: subscripts, `|`, strings, Literal, Annotated.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from . import known
from .shapes import NO_LIMITS, NULL, Choice, Default, EnumMember, Limits, Scalar, Shape, Unknown, either, refined

BOUNDS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern")
# annotated_types' positional arguments, in pydantic's words
POSITIONAL_BOUNDS = {
    "Ge": ("ge",),
    "Gt": ("gt",),
    "Le": ("le",),
    "Lt": ("lt",),
    "MultipleOf": ("multiple_of",),
    "MinLen": ("min_length",),
    "MaxLen": ("max_length",),
    "Len": ("min_length", "max_length"),
    "Interval": (),
}


class Scope(Protocol):
    """Where names are looked up."""

    def resolve(self, dotted: str) -> str | Shape | None:
        """A full name (`typing.List`, `numpy.ndarray`), the shape of a class or alias, or None for an unknown name."""
        ...

    def text(self, text: str) -> Shape:
        """The shape of an annotation written as a string."""
        ...

    def value(self, node: ast.expr) -> Default:
        """The value of a literal, a constant or an enum member."""
        ...

    def limits(self, node: ast.expr) -> Limits:
        """What one piece of Annotated metadata says."""
        ...


def read(node: ast.expr, scope: Scope) -> Shape:
    """The shape of an annotation; what has no JSON form is Unknown, never an error."""
    try:
        return _read(node, scope)
    except RecursionError:
        return Unknown("a type that is nested too deeply")


def read_text(text: str, scope: Scope) -> Shape:
    """The shape of an annotation written as a string."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Unknown(text)
    return read(node, scope)


def _read(node: ast.expr, scope: Scope) -> Shape:
    match node:
        case ast.Constant(value=None):
            return NULL
        case ast.Constant(value=str() as text):
            return scope.text(text)
        case ast.Name() | ast.Attribute():
            return _name(node, scope)
        case ast.Subscript():
            return _subscript(node, scope)
        case ast.BinOp(op=ast.BitOr()):
            return _named(either([_read(node.left, scope), _read(node.right, scope)]), node)
        case ast.Call():
            return _constrained(node, scope)
        case _:
            return Unknown(ast.unparse(node))


def _name(node: ast.expr, scope: Scope) -> Shape:
    found = scope.resolve(dotted_name(node))
    if isinstance(found, str):
        found = known.bare(found)
    return Unknown(ast.unparse(node)) if found is None else found


def _subscript(node: ast.Subscript, scope: Scope) -> Shape:
    found = scope.resolve(dotted_name(node.value))
    if found is None:
        return Unknown(ast.unparse(node))
    if not isinstance(found, str):
        return found  # a generic class of the file's own: its arguments are open
    args = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    full = known.canonical(found)
    if full == "typing.Literal":
        return _named(_literal(args, scope), node)
    if full == "typing.Annotated":
        limits = NO_LIMITS
        for part in args[1:]:
            limits = limits.then(scope.limits(part))
        return refined(_read(args[0], scope), limits)
    shapes = [None if _is_ellipsis(arg) else _read(arg, scope) for arg in args]
    return _named(known.generic(full, shapes) or Unknown(""), node)


def _literal(args: list[ast.expr], scope: Scope) -> Shape:
    values: list[Any] = []
    enum = ""
    for arg in args:
        if isinstance(arg, ast.Subscript):  # Literal[Literal["a"], "b"]
            inner = _read(arg, scope)
            if not isinstance(inner, Choice):
                return Unknown("")
            values.extend(inner.values)
            continue
        default = scope.value(arg)
        if not default.known:
            return Unknown("")
        values.append(default.value)
        if isinstance(default.value, EnumMember):
            enum = default.value.enum
    return choice(values, enum)


def choice(values: list[Any], enum: str = "", make: Any = None) -> Shape:
    """A closed set; Unknown when a value is not a JSON scalar."""
    plain = [value.value if isinstance(value, EnumMember) else value for value in values]
    if not all(map(_is_json_scalar, plain)):
        return Unknown(f"{enum or 'Literal'} with values that JSON does not have")
    seen: dict[tuple[type, Any], Any] = {(type(value), value): value for value in plain}
    if list(seen.values()) == [None]:
        return NULL
    return Choice(tuple(seen.values()), enum, make)


def _is_json_scalar(value: Any) -> bool:
    return math.isfinite(value) if type(value) is float else type(value) in (str, int, bool, type(None))


def _constrained(node: ast.Call, scope: Scope) -> Shape:
    found = scope.resolve(dotted_name(node.func))
    kind = known.CONSTRAINED.get(known.canonical(found)) if isinstance(found, str) else None
    if kind is None:
        return Unknown(ast.unparse(node))
    words = {word.arg: scope.value(word.value) for word in node.keywords if word.arg}
    return refined(Scalar(kind), Limits(bounds=bounds(words)))


def _named(shape: Shape, node: ast.expr) -> Shape:
    """An unknown shape keeps the text of the whole annotation, which is what a reader of the note looks for."""
    return Unknown(ast.unparse(node)) if isinstance(shape, Unknown) else shape


def limits_of_call(node: ast.Call, name: str, value: Callable[[ast.expr], Default]) -> Limits:
    """What `Field(...)`, `Ge(1)`, `Doc("...")` or a like call written in metadata says; `name` is its last name."""
    words = {word.arg: value(word.value) for word in node.keywords if word.arg}
    given = [value(arg) for arg in node.args if not isinstance(arg, ast.Starred)]
    if name in ("Doc", "doc"):
        return Limits(description=_text((given or [words.get("documentation")])[0]))
    if name != "Field":
        for word, default in zip(POSITIONAL_BOUNDS.get(name, ()), given, strict=False):
            words.setdefault(word, default)
        return Limits(bounds=bounds(words))
    default = words.get("default") or (given[0] if given else None)
    factory = next((word.value for word in node.keywords if word.arg == "default_factory"), None)
    if factory is not None:
        default = Default(text=f"{ast.unparse(factory)}()")
    elif default is not None and default.known and default.value is ...:
        default = None
    examples: Any = words["examples"].value if "examples" in words else None
    alias = words.get("validation_alias") or words.get("alias")
    return Limits(
        description=_text(words.get("description")),
        bounds=bounds(words),
        examples=tuple(examples) if examples.__class__ is list else (),
        title=_text(words.get("title")),
        alias=_text(alias) or None,
        default=default,
    )


def bounds(words: Mapping[str, Default]) -> dict[str, Any]:
    """The limits among a call's keywords that JSON Schema can say."""
    return usable_bounds({key: words[key].value for key in BOUNDS if key in words and words[key].known})


def usable_bounds(found: Mapping[str, Any]) -> dict[str, Any]:
    usable: dict[str, Any] = {}
    for key, value in found.items():
        if key == "pattern":
            if isinstance(value, str):
                usable[key] = value
        elif key in ("min_length", "max_length"):
            if type(value) is int and value >= (1 if key == "min_length" else 0):
                usable[key] = value
        elif type(value) in (int, float):
            usable[key] = value
    return usable


def dotted_name(node: ast.expr) -> str:
    """`a.b.c` of a name or attribute chain, empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _text(default: Default | None) -> str:
    return default.value if default is not None and isinstance(default.value, str) else ""
