"""What a tool promises of its output on the wire, and the structured content that keeps the promise (SRV-02).

MCP has structured content as an object (through 2025-11-25), and clients refuse a result that breaks the schema that
was listed. So:

| tool                                              | listed output schema              | structured content           |
|---------------------------------------------------|-----------------------------------|------------------------------|
| of a server, the schema an object                 | as it came                        | as it came                   |
| of a server, any other schema, 2026-07-28         | as it came                        | as it came                   |
| of a server, any other schema, before             | an object of the property result  | {"result": ...}              |
| one of ours, the schema an object                 | that                              | the output                   |
| one of ours, any other schema                     | an object of the property result  | {"result": output}           |
| of a folder, the output read out of a wrapper     | none                              | the output, if an object     |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..errors import SchemaError
from ..results.normalize import WRAPPED, interpret
from ..schema.validate import Validator
from ..spec import ToolSpec

_REMOTE = frozenset(("mcp", "openapi"))
_NO_OBJECT = frozenset(("string", "integer", "number", "boolean", "array", "null"))
_SHARED = ("$defs", "definitions", "$schema")  # what references point to stays at the root
_LOCAL = ("#/$defs/", "#/definitions/")


def is_remote(spec: ToolSpec) -> bool:
    """Whether the schema is a server's word, which is passed on and not judged here."""
    return spec.origin.kind in _REMOTE


class OutputContract:
    """One tool's, in one era. `schema` is what is listed, None for nothing."""

    def __init__(self, spec: ToolSpec, *, modern: bool) -> None:
        self.remote = is_remote(spec)
        schema = spec.output_schema
        is_object = schema is not None and schema.get("type") == "object"
        self.wraps = schema is not None and not is_object and not (self.remote and modern)
        self.schema: Mapping[str, Any] | None = schema
        if schema is not None and _is_unwrapped(spec, schema):
            self.schema, self.wraps = None, False
        elif self.wraps and schema is not None:
            self.schema = _wrapped(schema)
            self.wraps = self.schema is not None
        self._modern = modern
        self._validator: Validator | None = None

    def structured(self, output: Any) -> tuple[bool, Any]:
        """(whether there is any, what) for an output of a tool of ours."""
        if self.wraps:
            return True, {"result": output}
        if isinstance(output, dict):
            return True, cast("dict[str, Any]", output)
        if self._modern and isinstance(output, list):
            return True, cast("list[Any]", output)
        return False, None

    def fault(self, structured: Any) -> str:
        """Why a tool of ours broke its own schema, or ""."""
        if self.schema is None or self.remote:
            return ""
        if self._validator is None:
            self._validator = Validator(self.schema, of_arguments=False)
        try:
            errors = self._validator.errors(structured)
        except (SchemaError, ValueError) as error:
            return str(error)
        return errors[0].message if errors else ""


def _is_unwrapped(spec: ToolSpec, schema: Mapping[str, Any]) -> bool:
    """Whether the runtime would read a dict of this schema as a wrapper (LCP 7.7), and give a part of it."""
    if spec.origin.kind not in WRAPPED:
        return False
    if schema.get("type") != "object":
        return schema.get("type") not in _NO_OBJECT
    sample = dict.fromkeys(schema.get("properties") or ("output",), 0)
    return interpret(sample, spec)[0].output != sample


def _wrapped(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """An object whose one property `result` is of the schema; None when references would no longer lead anywhere."""
    if not _references_hold(schema):
        return None
    shared = {key: schema[key] for key in _SHARED if key in schema}
    inner = {key: value for key, value in schema.items() if key not in _SHARED}
    return {"type": "object", "properties": {"result": inner}, "required": ["result"], **shared}


def _references_hold(node: Any) -> bool:
    if isinstance(node, Mapping):
        members = cast("Mapping[str, Any]", node)
        ref = members.get("$ref")
        if isinstance(ref, str) and not ref.startswith(_LOCAL):
            return False
        return all(_references_hold(value) for value in members.values())
    if isinstance(node, list):
        return all(_references_hold(value) for value in cast("list[Any]", node))
    return True
