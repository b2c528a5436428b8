"""Moving through a JSON Schema: which keywords hold schemas, where a local reference leads.

A schema is data from outside: a property may be called `type` or `$ref`, a reference may lead in circles, and nesting
may be as deep as its author liked. Everything that visits a schema goes through here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast
from urllib.parse import unquote

from ..errors import SchemaError

Schema: TypeAlias = Mapping[str, Any] | bool

ONE: Final = frozenset(
    (
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)
MANY: Final = frozenset(("allOf", "anyOf", "items", "oneOf", "prefixItems"))
NAMED: Final = frozenset(
    ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
)

MAX_DEPTH: Final = 64
MAX_HOPS: Final = 32

_IDENTIFIER = re.compile(r"[^\W\d]\w*\Z")


def pointer(parts: Sequence[str | int]) -> str:
    """`#/a~1b/0`: the parts as a URI fragment JSON pointer."""
    return "#" + "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def readable(parts: Sequence[str | int]) -> str:
    """`root.kids[0].v`: where a value stands, as a person writes it; empty for the whole."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _IDENTIFIER.match(part):
            text += f".{part}" if text else part
        else:
            text += f"[{part!r}]" if text else part
    return text


def is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def children(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Schema]]:
    """Every direct subschema with its place below this one. What is no schema, where one belongs, is skipped."""
    for keyword, value in schema.items():
        if keyword in ONE and isinstance(value, (Mapping, bool)):
            yield (keyword,), cast(Schema, value)
        elif keyword in MANY and is_list(value):
            for index, item in enumerate(value):
                if isinstance(item, (Mapping, bool)):
                    yield (keyword, index), cast(Schema, item)
        elif keyword in NAMED and isinstance(value, Mapping):
            for name, item in cast(Mapping[str, Any], value).items():
                if isinstance(item, (Mapping, bool)):
                    yield (keyword, name), cast(Schema, item)


def rebuild(
    schema: Any,
    visit: Callable[[Mapping[str, Any], tuple[str | int, ...]], Mapping[str, Any] | bool],
    where: tuple[str | int, ...] = (),
) -> Any:
    """A fresh copy in which `visit` has replaced every schema, parents first. What is no schema is copied as it is.

    Raises SchemaError when schemas are nested deeper than MAX_DEPTH.
    """
    if not isinstance(schema, Mapping):
        return schema
    if len(where) > 2 * MAX_DEPTH:
        raise SchemaError(f"{readable(where[:6])}...: schemas are nested deeper than {MAX_DEPTH} levels")
    seen = visit(cast(Mapping[str, Any], schema), where)
    if isinstance(seen, bool):
        return seen
    copy: dict[str, Any] = {}
    for keyword, value in seen.items():
        if keyword in NAMED and isinstance(value, Mapping):
            named = cast(Mapping[str, Any], value)
            copy[keyword] = {
                name: rebuild(item, visit, (*where, keyword, name)) if isinstance(item, Mapping) else plain(item)
                for name, item in named.items()
            }
        elif keyword in MANY and is_list(value):
            copy[keyword] = [rebuild(item, visit, (*where, keyword, index)) for index, item in enumerate(value)]
        elif keyword in ONE and isinstance(value, Mapping):
            copy[keyword] = rebuild(value, visit, (*where, keyword))
        else:
            copy[keyword] = plain(value)
    return copy


def plain(value: Any, depth: int = 0) -> Any:
    """Frozen mappings and tuples as dicts and lists; other values as they are. Fresh containers throughout."""
    if isinstance(value, Mapping):
        if depth > MAX_DEPTH:
            raise SchemaError(f"a value in the schema is nested deeper than {MAX_DEPTH} levels")
        return {key: plain(item, depth + 1) for key, item in cast(Mapping[str, Any], value).items()}
    if is_list(value):
        if depth > MAX_DEPTH:
            raise SchemaError(f"a value in the schema is nested deeper than {MAX_DEPTH} levels")
        return [plain(item, depth + 1) for item in value]
    return value


def lookup(root: Any, parts: Sequence[str | int]) -> Any:
    """What stands at a place in a schema. Raises LookupError when nothing does."""
    found = root
    for part in parts:
        if isinstance(found, Mapping):
            found = cast(Mapping[str, Any], found)[str(part)]
        elif is_list(found):
            found = cast(Sequence[Any], found)[int(part)]
        else:
            raise LookupError(part)
    return found


def reference(ref: str) -> tuple[str, ...] | None:
    """The parts of a local pointer reference (`#/$defs/N`); None for an anchor or a remote one."""
    if ref == "#":
        return ()
    if not ref.startswith("#/"):
        return None
    return tuple(unquote(part).replace("~1", "/").replace("~0", "~") for part in ref[2:].split("/"))


def follow(root: Mapping[str, Any], schema: Any, where: tuple[str | int, ...]) -> tuple[Any, tuple[str | int, ...]]:
    """The schema behind a chain of local references, and its place; the last one reached where the chain breaks."""
    found: Any = schema
    for _ in range(MAX_HOPS):
        ref = cast(Any, found).get("$ref") if isinstance(found, Mapping) else None
        parts = reference(ref) if isinstance(ref, str) else None
        if parts is None:
            break
        try:
            found, where = lookup(root, parts), parts
        except (LookupError, ValueError):
            break
    return cast(Any, found), where
