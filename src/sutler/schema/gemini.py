"""A schema in the part of OpenAPI that Gemini reads: no references, no null type, enums of text only (FH03, FH05)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from .strict import fact, said
from .validate import prepare
from .walk import follow, is_list

MAX_INLINED: Final = 4  # how many references deep a schema is written out

_KEPT: Final = frozenset(("maxItems", "minItems", "maximum", "minimum", "maxLength", "minLength", "pattern"))
_SILENT: Final = frozenset(
    (
        *("$schema", "$id", "id", "$comment", "$anchor", "$defs", "definitions", "title", "description", "type"),
        *("properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "nullable"),
    )
)
_ANY: Final = ("string", "number", "boolean")


def gemini_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parameters of a function declaration; None for a tool without any, which Gemini wants left out.

    References are written out MAX_INLINED deep; what is deeper is an object whose description says so. Keywords that
    Gemini refuses become words in the description. Raises SchemaError when the schema cannot be used at all.
    """
    root = prepare(schema)[0]
    made = _convert(root, root, 0)
    return made if made.get("properties") else None


def _convert(schema: Any, root: Mapping[str, Any], inlined: int) -> dict[str, Any]:
    node, inlined = _inline(schema, root, inlined)
    node = _merged(node, root, inlined)
    if not node:
        return {"anyOf": [{"type": kind} for kind in _ANY], "description": "any JSON value"}
    made: dict[str, Any] = {}
    hidden = _SILENT | _KEPT
    facts = [fact(key, value) for key, value in node.items() if key not in hidden and value is not None]
    branches: Any = node.get("anyOf", node.get("oneOf"))
    kinds: Any = node.get("type")
    if is_list(branches):
        _union([_convert(one, root, inlined) for one in branches if not _is_null(one, root)], made)
        if any(_is_null(one, root) for one in branches):
            made["nullable"] = True
    elif is_list(kinds):
        real = [kind for kind in cast(Sequence[str], kinds) if kind != "null"]
        _union([_typed({**node, "type": kind}, root, inlined, facts) for kind in real], made)
        if "null" in kinds:
            made["nullable"] = True
    else:
        made = _typed(node, root, inlined, facts)
    if text := said(node.get("description") or made.get("description"), facts):
        made["description"] = text
    return made


def _inline(schema: Any, root: Mapping[str, Any], inlined: int) -> tuple[Mapping[str, Any], int]:
    if not isinstance(schema, Mapping):
        return {}, inlined
    node = cast(Mapping[str, Any], schema)
    if "$ref" not in node:
        return node, inlined
    if inlined >= MAX_INLINED:
        name = str(node["$ref"]).rpartition("/")[2]
        return {"type": "object", "description": f"{name}, nested deeper than is written out here"}, inlined
    target, _ = follow(root, node, ())
    beside = {key: value for key, value in node.items() if key != "$ref"}
    inner = cast(Mapping[str, Any], target if isinstance(target, Mapping) else {})
    return {**{key: value for key, value in inner.items() if key != "$ref"}, **beside}, inlined + 1


def _merged(node: Mapping[str, Any], root: Mapping[str, Any], inlined: int) -> Mapping[str, Any]:
    """allOf as one schema: properties and required joined, other keywords from the first that has them."""
    parts: Any = node.get("allOf")
    if not is_list(parts):
        return node
    whole = {key: value for key, value in node.items() if key != "allOf"}
    for part in parts:
        one, _ = _inline(part, root, inlined)
        one = _merged(one, root, inlined + 1) if inlined < MAX_INLINED else one
        for key, value in one.items():
            if key == "properties":
                whole[key] = {**value, **whole.get(key, {})}
            elif key == "required":
                whole[key] = list(dict.fromkeys([*whole.get(key, ()), *value]))
            else:
                whole.setdefault(key, value)
    return whole


def _union(members: list[dict[str, Any]], made: dict[str, Any]) -> None:
    if len(members) == 1:
        made.update(members[0])
    elif members:
        made["anyOf"] = members
    else:
        made["type"] = "string"


def _is_null(schema: Any, root: Mapping[str, Any]) -> bool:
    node, _ = follow(root, schema, ())
    return isinstance(node, Mapping) and cast(Mapping[str, Any], node).get("type") == "null"


def _typed(node: Mapping[str, Any], root: Mapping[str, Any], inlined: int, facts: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {key: node[key] for key in _KEPT if key in node}
    listed: Any = [node["const"]] if "const" in node else node.get("enum")
    kind = node.get("type")
    if is_list(listed):
        values = [value for value in cast(Sequence[Any], listed) if value is not None]
        if values and all(isinstance(value, str) for value in values):
            kind = "string"
            made["enum"] = values
        else:
            facts.append(fact("one of", values))
        if len(values) < len(listed):
            made["nullable"] = True
    if not isinstance(kind, str):
        kind = "object" if "properties" in node else "array" if "items" in node else None
    if kind is None:
        return {**made, "anyOf": [{"type": one} for one in _ANY]}
    made["type"] = "string" if kind == "null" else kind
    if kind == "object" and node.get("properties"):
        properties = {
            name: _convert(member, root, inlined)
            for name, member in cast(Mapping[str, Any], node["properties"]).items()
            if member is not False
        }
        made["properties"] = properties
        required = [name for name in cast(Sequence[str], node.get("required") or ()) if name in properties]
        if required:
            made["required"] = required
    if kind == "array":
        items = node.get("items", node.get("prefixItems"))
        made["items"] = _convert(items if isinstance(items, Mapping) else True, root, inlined)
    return made
