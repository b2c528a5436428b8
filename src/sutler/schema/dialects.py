"""Tools as model providers and MCP clients want them listed, and the arguments that come back (FH05, FH09).

The tool's own schema is never changed; what a dialect cannot say goes into a description.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, cast

from ..spec import ToolSpec
from .gemini import gemini_schema
from .names import Pair, assign_provider
from .strict import restore_strict, strict_schema
from .validate import prepare
from .walk import rebuild

Dialect: TypeAlias = Literal["openai", "anthropic", "gemini", "mcp"]

STRICT: Final = frozenset(("openai", "anthropic"))
OPENAI_DESCRIPTION: Final = 1024  # characters; the provider refuses a longer one, and with it the whole request


def export(
    specs: Iterable[ToolSpec],
    dialect: Dialect,
    *,
    strict: bool = False,
    names: Mapping[Pair, str] | None = None,
) -> list[dict[str, Any]]:
    """The tool list for a request.

    names: the name of each (source, tool); without it provider names are assigned, for `mcp` the tool's own kept.
    strict: for openai and anthropic; a tool whose schema cannot be strict is listed without (`strict_reason` says why).
    Raises SchemaError for a tool whose schema cannot be used at all, ValueError for strict in a dialect that has none.
    """
    if strict and dialect not in STRICT:
        raise ValueError(f"{dialect} has no strict mode; it is {' and '.join(sorted(STRICT))} that do")
    listed = list(specs)
    if names is None:
        pairs = [(spec.origin.source, spec.name) for spec in listed]
        names = {pair: pair[1] for pair in pairs} if dialect == "mcp" else assign_provider(pairs)
    return [_tool(spec, names[spec.origin.source, spec.name], dialect, strict) for spec in listed]


def strict_reason(spec: ToolSpec) -> str:
    """Why a tool cannot be strict, or "" when it can."""
    if spec.accepts_extra:
        return "the tool takes arguments that its schema does not name"
    return strict_schema(spec.input_schema)[1]


def restore(arguments: Mapping[str, Any], spec: ToolSpec, dialect: Dialect, *, strict: bool = False) -> dict[str, Any]:
    """The arguments of a call under a dialect, as the tool's own schema means them.

    Where strict mode had to make an optional parameter nullable, null is "left out". Otherwise they are as they came.
    """
    if strict and dialect in STRICT and not strict_reason(spec):
        return restore_strict(arguments, spec.input_schema)
    return dict(arguments)


def _tool(spec: ToolSpec, name: str, dialect: Dialect, strict: bool) -> dict[str, Any]:
    if dialect == "mcp":
        return _mcp(spec, name)
    if dialect == "gemini":
        declared = gemini_schema(spec.input_schema)
        tool = {"name": name, "description": spec.description}
        return tool if declared is None else {**tool, "parameters": declared}
    is_strict = strict and not strict_reason(spec)
    schema = strict_schema(spec.input_schema)[0] if is_strict else _loose(spec.input_schema)
    if dialect == "anthropic":
        tool = {"name": name, "description": spec.description, "input_schema": schema}
        return {**tool, "strict": True} if is_strict else tool
    function = {"name": name, "description": _fitted(spec.description), "parameters": schema}
    return {"type": "function", "function": {**function, "strict": is_strict} if strict else function}


def _mcp(spec: ToolSpec, name: str) -> dict[str, Any]:
    schema = dict(spec.input_schema)
    schema.setdefault("type", "object")
    tool: dict[str, Any] = {"name": name, "description": spec.description, "inputSchema": schema}
    if spec.annotations.title is not None:
        tool["title"] = spec.annotations.title
    if spec.output_schema is not None:
        tool["outputSchema"] = dict(spec.output_schema)
    if hints := spec.annotations.to_mcp():
        tool["annotations"] = hints
    return tool


def _loose(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without what providers' own checkers stumble over: boolean subschemas, types that JSON has not."""
    made = cast(dict[str, Any], rebuild(prepare(schema)[0], _without_booleans))
    made.setdefault("properties", {})
    return made


def _without_booleans(schema: Mapping[str, Any], _where: tuple[str | int, ...]) -> Mapping[str, Any]:
    changed = dict(schema)
    properties = changed.get("properties")
    if isinstance(properties, Mapping):
        members = cast(Mapping[str, Any], properties)
        changed["properties"] = {key: {} if one is True else one for key, one in members.items() if one is not False}
    if changed.get("items") is True:
        changed["items"] = {}
    return changed


def _fitted(description: str) -> str:
    if len(description) <= OPENAI_DESCRIPTION:
        return description
    return f"{description[: OPENAI_DESCRIPTION - 6].rstrip()} [...]"
