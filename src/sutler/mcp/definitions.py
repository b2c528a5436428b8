"""One entry of a server's tools/list, as a ToolSpec (MCP-06, MCP-16). What cannot be one says why."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, cast

from ..errors import SchemaError
from ..servers import RemoteTool, ServerSpec, ToolOverride
from ..spec import Origin, ToolAnnotations, ToolSpec
from .grades import grade_from_hints, why
from .hidden import masked

_HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
_NO_OVERRIDE = ToolOverride()
_ACTED_ON = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


def to_spec(tool: RemoteTool, server: ServerSpec, origin: Origin, fingerprint: str) -> ToolSpec:
    """The spec of a tool, with the user's overrides in. SchemaError says why there is none.

    Any legal JSON Schema is taken as it is, with its own dialect. The Toolbox looks into it.
    """
    name = tool.name
    problem = name_problem(tool)
    if problem:
        raise SchemaError(problem)
    definition = cast("Mapping[str, Any]", tool.definition)
    notes: list[str] = []
    override = server.tools.get(name, _NO_OVERRIDE)
    annotations = _annotations(definition, notes)
    grade, grade_from = grade_from_hints(annotations, server.assume)
    meta: dict[str, Any] = {"server": fingerprint, "provenance": server.provenance, "tool": name}
    meta["place"] = place_of(server)
    meta["works_in"] = str(server.cwd) if server.transport == "stdio" else "?"  # where its relative paths begin
    meta["definition"] = definition  # for a face that passes on what it says beside (title, icons, _meta)
    if override.grade is not None:
        grade, grade_from = override.grade, "override"
        meta["grade_why"] = f"[mcp_servers.{server.id}.tools.{name}] grade"
    else:
        meta["grade_why"] = why(annotations, server.assume)
    said = _description(definition)
    return ToolSpec(
        name=override.alias or name,
        description=override.description or said or "No description provided.",
        docs=said,
        input_schema=_input_schema(definition),
        output_schema=_output_schema(definition, notes),
        annotations=annotations,
        grade=grade,
        grade_from=grade_from,
        origin=origin,
        timeout=override.timeout or server.timeout,
        notes=tuple(notes),
        meta=meta,
    )


def same(one: Any, other: Any) -> bool:
    """Whether two entries of a list say the same of a tool, as far as anybody acts on it."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return one == other
    first, second = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
    return all(first.get(key) == second.get(key) for key in _ACTED_ON)


def name_problem(tool: RemoteTool) -> str:
    """Why an entry cannot be named, or ""."""
    definition: object = tool.definition
    if not isinstance(definition, dict):
        return f"the server lists {_kind(definition)} where a tool should be"
    if not tool.name:
        return (
            f"its name is {_kind(cast('dict[str, Any]', definition).get('name'))}"
            if "name" in definition
            else ("it has no name")
        )
    if not tool.name.isprintable() or tool.name != tool.name.strip():
        return f"its name holds blanks around it or characters that cannot be seen: {tool.name!r}"
    return ""


def fingerprint(server: ServerSpec) -> str:
    """What an approval of this server's tools is bound to: its command and arguments, or its address; no secret."""
    text = json.dumps([server.transport, *_place(server)], ensure_ascii=False)
    return f"{server.transport} {hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def place_of(server: ServerSpec) -> str:
    """Its command and arguments, or its address, for people; no secret."""
    return " ".join(_place(server))


def _place(server: ServerSpec) -> list[str]:
    place = [server.command, *server.args] if server.transport == "stdio" else [server.url]
    # a token that is renewed makes no other server of it
    return [masked(part, server.secrets) for part in place]


def _description(definition: Mapping[str, Any]) -> str:
    for value in (definition.get("description"), definition.get("title")):
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _annotations(definition: Mapping[str, Any], notes: list[str]) -> ToolAnnotations:
    raw: object = definition.get("annotations")
    given: Mapping[str, Any] = {}
    if isinstance(raw, Mapping):
        given = cast("Mapping[str, Any]", raw)
    elif raw is not None:
        notes.append(f"its annotations are {_kind(raw)}, not an object, and count as absent")
    hints: dict[str, bool] = {}
    for name, key in _HINTS.items():
        value = given.get(key)
        if isinstance(value, bool):
            hints[name] = value
        elif value is not None:
            notes.append(f"its {key} is {_kind(value)}, not true or false, and counts as absent")
    title = given.get("title") or definition.get("title")
    return ToolAnnotations(title=title if isinstance(title, str) else None, **hints)


def _input_schema(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: object = definition.get("inputSchema")
    if isinstance(schema, dict):
        found = cast("dict[str, Any]", schema)
        required: object = found.get("required")
        if required is not None and not _is_names(required):
            raise SchemaError(f"required in its inputSchema is {_kind(required)}, not a list of names")
        return found
    if "inputSchema" in definition:
        raise SchemaError(f"its inputSchema is {_kind(schema)}, not an object")
    instead = next((key for key in ("input_schema", "parameters", "arguments") if key in definition), "")
    raise SchemaError("it has no inputSchema" + (f" (it gives `{instead}`, which is not MCP)" if instead else ""))


def _output_schema(definition: Mapping[str, Any], notes: list[str]) -> Mapping[str, Any] | None:
    schema: object = definition.get("outputSchema")
    if schema is None or isinstance(schema, dict):
        return cast("Mapping[str, Any] | None", schema)
    notes.append(f"its outputSchema is {_kind(schema)}, not an object, and counts as absent")
    return None


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in cast("list[Any]", value))


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return "empty" if not value else "text"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"
