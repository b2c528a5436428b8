"""A tool as one Python-like line, for prompts and error messages, and as a stub with its docstring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ..spec import JSON_TYPES, ToolSpec
from .names import parameter_names
from .walk import follow, is_list

_DEPTH: Final = 3
_UNION: Final = 8  # members of a union or a Literal that are written out
_LONG: Final = 60  # characters of a default that are written out


def signature(spec: ToolSpec, name: str | None = None) -> str:
    """`read_file(path: str, encoding: str = 'utf-8') -> str`, with the spelling of parameters that a program uses.

    An optional parameter without a default in the schema shows `= ...`. A bare `*` stands before the first parameter
    that Python would not let follow the ones before it.
    """
    return f"{name or spec.name}({parameters(spec)}){_returns(spec)}"


def parameters(spec: ToolSpec) -> str:
    """What stands between the parentheses of the signature."""
    properties = _mapping(spec.input_schema.get("properties"))
    required: Any = spec.input_schema.get("required")
    names: set[str] = set(required) if is_list(required) else set()
    parts: list[str] = []
    optional = keyword_only = False
    for safe, real in parameter_names(properties).items():
        schema = properties[real]
        if schema is False:
            continue
        kind = "Any" if real in spec.untyped else type_text(spec.input_schema, schema)
        if real in names:
            if optional and not keyword_only:
                parts.append("*")
                keyword_only = True
            parts.append(f"{safe}: {kind}")
        else:
            optional = True
            parts.append(f"{safe}: {kind} = {_default(schema)}")
    if spec.accepts_extra:
        parts.append("**extra")
    return ", ".join(parts)


def stub(spec: ToolSpec, name: str | None = None) -> str:
    """The signature as a `def` with the description and the parameters' descriptions as its docstring."""
    properties = _mapping(spec.input_schema.get("properties"))
    lines = [spec.description.strip()]
    described = [
        f"    {safe}: {' '.join(text.split())}"
        for safe, real in parameter_names(properties).items()
        if isinstance(text := _mapping(properties[real]).get("description"), str) and text.strip()
    ]
    if described:
        lines += ["", "Args:", *described]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    if text.endswith('"'):
        text += " "
    body = text.replace("\n", "\n    ").replace("\n    \n", "\n\n")
    return f'def {signature(spec, name)}:\n    """{body}"""\n    ...\n'


def type_text(root: Mapping[str, Any], schema: Any, depth: int = _DEPTH) -> str:
    """A schema as a Python annotation: `list[int]`, `Literal['a', 'b'] | None`; `Any` where nothing shorter is true."""
    schema, _ = follow(root, schema, ())
    if schema is False:
        return "Never"
    if not isinstance(schema, Mapping):
        return "Any"
    node = cast(Mapping[str, Any], schema)
    if "const" in node:
        return f"Literal[{node['const']!r}]"
    if is_list(node.get("enum")):
        return _literal(node["enum"])
    for keyword in ("anyOf", "oneOf"):
        if is_list(node.get(keyword)):
            return _union([type_text(root, member, depth - 1) if depth else "Any" for member in node[keyword]])
    if is_list(node.get("allOf")) and len(node["allOf"]) == 1:
        return type_text(root, node["allOf"][0], depth - 1) if depth else "Any"
    kinds = node.get("type")
    if is_list(kinds):
        return _union([_one(root, node, kind, depth) for kind in cast(Sequence[Any], kinds)])
    return _one(root, node, kinds, depth)


def _one(root: Mapping[str, Any], node: Mapping[str, Any], kind: Any, depth: int) -> str:
    if kind == "array" and depth:
        items = node.get("items")
        return (
            "list"
            if items is None or items is True or is_list(items)
            else _of("list", type_text(root, items, depth - 1))
        )
    if kind == "object" and depth and not node.get("properties"):
        values = node.get("additionalProperties")
        return _of("dict[str", type_text(root, values, depth - 1)) if isinstance(values, Mapping) and values else "dict"
    return JSON_TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"


def _of(outer: str, inner: str) -> str:
    return f"{outer}, {inner}]" if "[" in outer else f"{outer}[{inner}]"


def _literal(values: Sequence[Any]) -> str:
    real = [value for value in values if value is not None]
    shown = ", ".join(repr(value) for value in real[:_UNION])
    more = ", ..." if len(real) > _UNION else ""
    text = f"Literal[{shown}{more}]" if real else ""
    return " | ".join(part for part in (text, "None" if len(real) < len(values) else "") if part) or "Never"


def _union(members: Sequence[str]) -> str:
    seen = list(dict.fromkeys(part for member in members for part in _split(member)))
    if "Any" in seen or not seen:
        return "Any"
    if "None" in seen:
        seen.remove("None")
        seen.append("None")
    return " | ".join(seen) if len(seen) <= _UNION else "Any"


def _split(member: str) -> Sequence[str]:
    # only a union's own bars part it: one inside brackets or quotes belongs to its member
    return (
        member.split(" | ")
        if "[" not in member
        else (member.removesuffix(" | None"), "None")
        if member.endswith(" | None")
        else (member,)
    )


def _default(schema: Any) -> str:
    node = _mapping(schema)
    if "default" not in node:
        return "..."
    text = repr(node["default"])
    return text if len(text) <= _LONG else "..."


def _returns(spec: ToolSpec) -> str:
    if spec.output_schema is None:
        return ""
    return f" -> {type_text(spec.output_schema, spec.output_schema)}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}
