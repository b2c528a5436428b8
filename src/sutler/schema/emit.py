"""Shapes -> JSON Schema (2020-12), for both readers.

A class used once is written in place; one used more than once, or holding itself, goes to `$defs`, so the schema's size
is linear in the source. Optional is `anyOf` with null.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .shapes import (
    Anything,
    Array,
    Choice,
    Either,
    Fixed,
    Keyed,
    Limits,
    Marked,
    Record,
    Refined,
    Scalar,
    Shape,
    Unknown,
    bare,
    limits_of,
)
from .values import NOT_JSON, as_json, is_json

NUMBER_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
LENGTH_BOUNDS = {
    "min_length": {"string": "minLength", "array": "minItems", "object": "minProperties"},
    "max_length": {"string": "maxLength", "array": "maxItems", "object": "maxProperties"},
}
JSON_TYPE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


class Emitter:
    """Writes the schemas of one signature; `defs` is what belongs under `$defs`, `unknown` what had no JSON form."""

    def __init__(self, roots: Iterable[Shape]) -> None:
        self.defs: dict[str, Any] = {}
        self.unknown: list[str] = []
        self._uses: dict[int, int] = {}
        self._names: dict[int, str] = {}
        for root in roots:
            self._count(root)

    def schema(self, shape: Shape) -> dict[str, Any]:
        match shape:
            case Anything():
                return {}
            case Unknown():
                if shape.text not in self.unknown:
                    self.unknown.append(shape.text)
                return {}
            case Scalar():
                return _scalar(shape)
            case Choice():
                return _choice(shape)
            case Array():
                array: dict[str, Any] = {"type": "array"}
                if shape.items is not None and (items := self.schema(shape.items)):
                    array["items"] = items
                return array | {"uniqueItems": True} if shape.unique else array
            case Fixed():
                fixed: dict[str, Any] = {"type": "array"}
                if shape.items:  # an empty prefixItems is not legal
                    fixed["prefixItems"] = [self.schema(item) for item in shape.items]
                return fixed | {"minItems": len(shape.items), "maxItems": len(shape.items)}
            case Keyed():
                return self._keyed(shape)
            case Either():
                return {"anyOf": [self.schema(option) for option in shape.options]}
            case Marked():
                return self.schema(shape.inner)
            case Refined():
                return self._refined(shape)
            case Record():
                return self._record(shape)

    def described(self, shape: Shape, text: str = "") -> dict[str, Any]:
        """The schema with a description; words in the annotation win over `text`, the docstring's."""
        schema = self.schema(shape)
        words = limits_of(shape).description or text
        return {**schema, "description": words} if words else schema

    def _count(self, shape: Shape) -> None:
        for part in _parts(shape):
            self._count(part)
        if isinstance(shape, Record):
            seen = self._uses.get(id(shape), 0)
            self._uses[id(shape)] = seen + 1
            if not seen:
                for field in shape.fields:
                    self._count(field.shape)

    def _keyed(self, shape: Keyed) -> dict[str, Any]:
        keyed: dict[str, Any] = {"type": "object"}
        if shape.values is not None:
            keyed["additionalProperties"] = self.schema(shape.values)
        match bare(shape.keys) if shape.keys else None:
            case Choice(values=values) if all(isinstance(value, str) for value in values):
                keyed["propertyNames"] = {"enum": list(values)}
            case Scalar(type="integer"):
                keyed["propertyNames"] = {"pattern": "^-?[0-9]+$"}
            case _:
                pass
        return keyed

    def _refined(self, shape: Refined) -> dict[str, Any]:
        schema = self.schema(shape.inner)
        return {**schema, **_keywords(schema, shape.limits)}

    def _record(self, record: Record) -> dict[str, Any]:
        if self._uses.get(id(record), 0) < 2:
            return self._fields(record)
        name = self._names.get(id(record))
        if name is None:
            wanted = re.sub(r"\W", "_", record.name) or "Record"
            name, number = wanted, 1
            while name in self.defs:
                number += 1
                name = f"{wanted}_{number}"
            self._names[id(record)] = name
            self.defs[name] = {}  # holds the place while the fields, which may refer to it, are written
            self.defs[name] = self._fields(record)
        return {"$ref": f"#/$defs/{name}"}

    def _fields(self, record: Record) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        for field in record.fields:
            schema = self.described(field.shape)
            default = NOT_JSON if field.default is None else as_json(field.default, field.shape)
            properties[field.name] = schema if default is NOT_JSON else {**schema, "default": default}
        written: dict[str, Any] = {"type": "object", "properties": properties}
        if required := [field.name for field in record.fields if field.required]:
            written["required"] = required
        if record.extra is not None:
            written["additionalProperties"] = record.extra
        if record.doc:
            written["description"] = record.doc
        return written


def _parts(shape: Shape) -> tuple[Shape, ...]:
    match shape:
        case Array(items=items):
            return () if items is None else (items,)
        case Fixed(items=items):
            return items
        case Keyed(values=values):
            return () if values is None else (values,)
        case Either(options=options):
            return options
        case Refined(inner=inner) | Marked(inner=inner):
            return (inner,)
        case _:
            return ()


def _scalar(shape: Scalar) -> dict[str, Any]:
    if shape.format == "decimal":  # a JSON number may have lost digits before it is read
        return {"anyOf": [{"type": "number"}, {"type": "string", "format": "decimal"}]}
    return {"type": shape.type} if shape.format is None else {"type": shape.type, "format": shape.format}


def _choice(shape: Choice) -> dict[str, Any]:
    types = {JSON_TYPE[type(value)] for value in shape.values}
    values = list(shape.values)
    return {"type": types.pop(), "enum": values} if len(types) == 1 else {"enum": values}


def _keywords(schema: dict[str, Any], limits: Limits) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if limits.title:
        found["title"] = limits.title
    if limits.description:
        found["description"] = limits.description
    types = {schema.get("type"), *(option.get("type") for option in schema.get("anyOf", ()))}
    for key, value in limits.bounds.items():
        if key in NUMBER_BOUNDS:
            if types & {"number", "integer", None}:
                found[NUMBER_BOUNDS[key]] = value
        elif key == "pattern":
            if types & {"string", None}:
                found["pattern"] = value
        else:
            found.update({word: value for kind, word in LENGTH_BOUNDS[key].items() if kind in types})
    if limits.examples and is_json(list(limits.examples)):
        found["examples"] = list(limits.examples)
    return found
