"""`[[tools]]` and `[[virtual_tools]]` as plain values, checked by config and read by the sources (SRC-14, VIR-01)."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .spec import JSON_TYPES, Grade, ToolAnnotations

# A Python name, or a JSON Schema one, for each type an argument may be declared with.
TYPE_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    **{python: {"type": json} for json, python in JSON_TYPES.items()},
    **{json: {"type": json} for json in JSON_TYPES},
    "Any": {},
    "any": {},
}
TYPE_NAMES = ("str", "int", "float", "bool", "list", "dict", "Any", *(name for name in JSON_TYPES if name != "null"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgTable:
    """One entry of `args`. Without a default the argument is required."""

    name: str
    type: str = "Any"
    description: str = ""
    default: Any = None
    has_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTable:
    """One declared tool, as written. module and function are None for a virtual tool.

    args and input_schema exclude each other; `schema` is whichever was given. grade None means undeclared.
    timeout: seconds. where: `file:line` of the table.
    """

    name: str
    description: str = ""
    args: Sequence[ArgTable] = ()
    input_schema: Mapping[str, Any] | None = None
    returns: str = "Any"
    grade: Grade | None = None
    annotations: ToolAnnotations = field(default_factory=ToolAnnotations)
    examples: Sequence[Any] = ()
    docs: str = ""
    timeout: float | None = None
    isolation: str | None = None
    module: str | None = None
    function: str | None = None
    where: str = ""

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments, of type object."""
        if self.input_schema is not None:
            return {"type": "object", **self.input_schema}
        return to_input_schema(self.args)


def to_input_schema(args: Sequence[ArgTable]) -> dict[str, Any]:
    """A JSON Schema of type object from declared arguments, in their order. ValueError for an unknown type name."""
    properties: dict[str, Any] = {}
    for arg in args:
        schema = type_schema(arg.type)
        if arg.description:
            schema["description"] = arg.description
        if arg.has_default:
            schema["default"] = arg.default
        properties[arg.name] = schema
    result: dict[str, Any] = {"type": "object", "properties": properties}
    required = [arg.name for arg in args if not arg.has_default]
    if required:
        result["required"] = required
    return result


def type_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a type name: a plain one, list[T], dict[str, T], or unions of them with `|`.

    ValueError names the types there are.
    """
    try:
        return _schema(ast.parse(name.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(
            f"unknown type `{name}`; the types are {', '.join(TYPE_NAMES)}, and list[T], dict[str, T], T | None of them"
        ) from None


def _schema(node: ast.expr) -> dict[str, Any]:
    match node:
        case ast.Name(id=name) if name in TYPE_SCHEMAS:
            return dict(TYPE_SCHEMAS[name])
        case ast.Constant(value=None):
            return {"type": "null"}
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return {"anyOf": [_schema(left), _schema(right)]}
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return {"type": "array", "items": _schema(item)}
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[ast.Name(id="str"), item])):
            return {"type": "object", "additionalProperties": _schema(item)}
        case _:
            raise ValueError("not a type")
