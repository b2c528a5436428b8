"""A schema as strict modes want it: every property required, every object closed, refused keywords as words (FH05).

Optional parameters become nullable, and `restore_strict` turns the nulls that this invites back into "left out". A
schema that cannot be said this way is refused with a reason, and its tool is offered without strict mode.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from .validate import prepare
from .walk import follow, is_list

MAX_LEVELS: Final = 10  # of nested objects, as providers count them

_KEPT: Final = frozenset(
    ("$defs", "$ref", "additionalProperties", "anyOf", "description", "enum", "items", "properties", "required", "type")
)
_REFUSED: Final = (
    "allOf", "not", "if", "then", "else", "patternProperties", "dependentRequired", "dependentSchemas", "dependencies",
    "prefixItems", "unevaluatedProperties", "propertyNames", "contains", "$dynamicRef", "$recursiveRef",
)  # fmt: skip
_SILENT: Final = frozenset(("$schema", "$id", "$comment", "title", "definitions", "examples", "id", "$anchor"))


class NotStrictError(Exception):
    """Why a schema cannot be strict."""


def strict_schema(schema: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The strict form and "", or None and the reason why there is none. The given schema is not changed.

    Raises SchemaError when the schema cannot be used at all.
    """
    root = prepare(schema)[0]
    try:
        if any(key in root for key in ("$ref", "anyOf", "oneOf")):
            raise NotStrictError("the arguments as a whole are a reference or a union")
        # references lead to where the definitions stand, so both tables stay in place under the name strict modes know
        if any(key in root for key in ("definitions",)):
            root["$defs"] = {**root.pop("definitions"), **root.get("$defs", {})}
            root = _renamed(root)
        made = _strict(root, root, "", 1)
        definitions = root.get("$defs")
        if definitions:
            made["$defs"] = {name: _strict(one, root, f"$defs.{name}", 1) for name, one in definitions.items()}
    except NotStrictError as error:
        return None, str(error)
    return made, ""


def restore_strict(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a model sent under the strict form, as the tool's own schema means it.

    Null becomes absent for an optional parameter that takes no null, at any depth. The given arguments are not changed.
    """
    root = prepare(schema)[0]
    return cast(dict[str, Any], _restore(arguments, root, root, 0))


def takes_null(root: Mapping[str, Any], schema: Any, depth: int = 8) -> bool:
    """Whether null fits a schema, as far as its types say."""
    schema, _ = follow(root, schema, ())
    if not isinstance(schema, Mapping):
        return schema is not False
    node = cast(Mapping[str, Any], schema)
    if "const" in node:
        return node["const"] is None
    if is_list(node.get("enum")) and None not in node["enum"]:
        return False
    kinds = node.get("type")
    if kinds is not None and kinds != "null" and not (is_list(kinds) and "null" in kinds):
        return False
    if not depth:
        return False
    for keyword, every in (("anyOf", False), ("oneOf", False), ("allOf", True)):
        if is_list(node.get(keyword)):
            answers = [takes_null(root, branch, depth - 1) for branch in node[keyword]]
            if not (all(answers) if every else any(answers)):
                return False
    return True


def said(description: Any, facts: Sequence[str]) -> str:
    """A description with the keywords that could not stay, as words: `Page size. (default: 50; minimum: 1)`."""
    text = description.strip() if isinstance(description, str) else ""
    return f"{text} ({'; '.join(dict.fromkeys(facts))})".strip() if facts else text


def fact(keyword: str, value: Any) -> str:
    return f"{keyword}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)}"


def _renamed(node: Any) -> Any:
    """Every `#/definitions/` reference as one into `$defs`."""
    if isinstance(node, Mapping):
        members = cast(Mapping[str, Any], node)
        return {
            key: value.replace("#/definitions/", "#/$defs/", 1)
            if key == "$ref" and isinstance(value, str)
            else _renamed(value)
            for key, value in members.items()
        }
    return [_renamed(item) for item in cast(Sequence[Any], node)] if is_list(node) else node


def _strict(schema: Any, root: Mapping[str, Any], path: str, level: int) -> dict[str, Any]:
    at = path or "the arguments"
    if not isinstance(schema, Mapping):
        raise NotStrictError(
            f"{at}: {'nothing' if schema is False else 'any value'} is allowed, and no type says which"
        )
    node = cast(Mapping[str, Any], schema)
    for keyword in _REFUSED:
        if keyword in node:
            raise NotStrictError(f"{at}: strict schemas have no {keyword}")
    if level > MAX_LEVELS:
        raise NotStrictError(f"{at}: objects are nested deeper than {MAX_LEVELS} levels")
    if "$ref" in node:
        if not str(node["$ref"]).startswith("#/$defs/"):
            raise NotStrictError(f"{at}: a strict schema refers to $defs only, not to {node['$ref']}")
        # a reference may have no neighbours, so what stands beside it goes around it
        words = _words(node)
        return {"anyOf": [{"$ref": node["$ref"]}], "description": words} if words else {"$ref": node["$ref"]}
    made: dict[str, Any] = {}
    if words := _words(node):
        made["description"] = words
    branches = node.get("anyOf", node.get("oneOf"))
    if is_list(branches):
        made["anyOf"] = [_strict(branch, root, f"{path}|{index}", level) for index, branch in enumerate(branches)]
        return made
    listed = [node["const"]] if "const" in node else node.get("enum")
    kinds = node.get("type") or _types_of(listed)
    if not kinds:
        raise NotStrictError(f"{at}: it has no type")
    made["type"] = kinds
    if is_list(listed):
        made["enum"] = list(cast(Sequence[Any], listed))
    named = list(kinds) if is_list(kinds) else [kinds]
    if "array" in named:
        if not isinstance(node.get("items"), Mapping):
            raise NotStrictError(f"{at}: the list does not say what its items are")
        made["items"] = _strict(node["items"], root, f"{path}[]", level)
    if "object" in named:
        made.update(_closed(node, root, path, level))
    return made


def _closed(node: Mapping[str, Any], root: Mapping[str, Any], path: str, level: int) -> dict[str, Any]:
    extra = node.get("additionalProperties")
    if extra not in (None, False) or (path and extra is None and not node.get("properties")):
        raise NotStrictError(f"{path or 'the arguments'}: the object takes keys that its schema does not name")
    properties = cast(Mapping[str, Any], node.get("properties") or {})
    required = set(cast(Sequence[str], node.get("required") or ()))
    made: dict[str, Any] = {}
    for name, member in properties.items():
        if member is False and name not in required:
            continue  # a parameter that takes no value is one that is never sent
        one = _strict(member, root, f"{path}.{name}" if path else name, level + 1)
        made[name] = one if name in required else _nullable(one, root, member)
    return {"properties": made, "required": list(made), "additionalProperties": False}


def _nullable(made: dict[str, Any], root: Mapping[str, Any], member: Any) -> dict[str, Any]:
    if takes_null(root, member):
        return made
    if "type" in made:
        kinds = made["type"]
        made["type"] = [*(kinds if is_list(kinds) else [kinds]), "null"]
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
        return made
    inner = made if "anyOf" in made else {"anyOf": [made]}
    inner["anyOf"] = [*inner["anyOf"], {"type": "null"}]
    return inner


def _words(node: Mapping[str, Any]) -> str:
    known = _KEPT | _SILENT | {"oneOf", "const"}
    facts = [fact(keyword, value) for keyword, value in node.items() if keyword not in known and value is not None]
    return said(node.get("description"), facts)


def _types_of(values: Any) -> Any:
    names: dict[object, str] = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    kinds = list(dict.fromkeys(names.get(value.__class__, "") for value in values)) if is_list(values) else []
    return None if not kinds or "" in kinds else kinds[0] if len(kinds) == 1 else kinds


def _restore(value: Any, schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    schema, _ = follow(root, schema, ())
    if not isinstance(schema, Mapping) or depth > 100:
        return value
    node = cast(Mapping[str, Any], schema)
    if isinstance(value, Mapping):
        required: Any = node.get("required") or ()
        properties = cast(Mapping[str, Any], node.get("properties") or {})
        value = {
            name: _restore(item, properties.get(name, True), root, depth + 1)
            for name, item in cast(Mapping[str, Any], value).items()
            if item is not None or name in required or takes_null(root, properties.get(name, True))
        }
    elif isinstance(value, list) and isinstance(node.get("items"), Mapping):
        value = [_restore(item, node["items"], root, depth + 1) for item in cast(list[Any], value)]
    for keyword in ("anyOf", "oneOf"):
        for branch in node[keyword] if is_list(node.get(keyword)) else ():
            if _could_be(value, branch, root):
                return _restore(value, branch, root, depth + 1)
    return cast(Any, value)


def _could_be(value: Any, branch: Any, root: Mapping[str, Any]) -> bool:
    """Whether a container is meant by this branch of a union: its kind and, for an object, its keys."""
    branch, _ = follow(root, branch, ())
    if not isinstance(branch, Mapping):
        return False
    node = cast(Mapping[str, Any], branch)
    if isinstance(value, list):
        return node.get("type") == "array"
    properties: Any = node.get("properties") or {}
    return (
        isinstance(value, dict) and bool(properties) and all(key in properties for key in cast(dict[str, Any], value))
    )
