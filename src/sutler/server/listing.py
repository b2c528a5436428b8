"""What tools/list says: definitions under provider names, and the way back from a name to its tool (SRV-01, SRV-02)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from mcp_types import methods
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import ValidationError

from ..inventory import Row
from ..schema.names import assign_provider
from ..spec import ToolSpec
from .contract import OutputContract, is_remote
from .strict import strict

_log = logging.getLogger("sutler.server")

_PASSED_ON: Final = ("title", "icons", "_meta", "execution", "annotations")  # as a server's own definition has them
Definition = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One tool as it is listed, in both eras. row: the tool behind it; None for one of the face's own."""

    name: str
    row: Row | None = None
    definitions: Mapping[bool, Definition]  # by whether the era is the modern one
    contracts: Mapping[bool, OutputContract] = field(default_factory=lambda: dict[bool, OutputContract]())


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A snapshot. `dropped`: (source::tool, why) of what no client could be shown."""

    tools: Mapping[str, Listed]
    dropped: tuple[tuple[str, str], ...] = ()

    def definitions(self, *, modern: bool) -> list[Definition]:
        return [tool.definitions[modern] for tool in self.tools.values()]

    def same_as(self, other: Listing | None) -> bool:
        """Whether a client would see any difference."""
        if other is None or list(self.tools) != list(other.tools):
            return False
        return all(tool.definitions == other.tools[name].definitions for name, tool in self.tools.items())


def make_listing(rows: Sequence[tuple[str, Row]], own: Sequence[Listed] = ()) -> Listing:
    """(bare name or alias, row) under provider names, after the face's own tools, whose names nothing else can take."""
    tools: dict[str, Listed] = {tool.name: tool for tool in own}
    dropped: list[tuple[str, str]] = []
    for name, row in provider_names(rows, taken=tools).items():
        try:
            tools[name] = _listed(name, row)
        except (ValidationError, ValueError) as error:
            why = " ".join(str(error).split())[:300]
            dropped.append((row.spec.qualified, why))
            _log.warning("%s is not listed: %s", row.spec.qualified, why)
    return Listing(tools=tools, dropped=tuple(dropped))


def provider_names(rows: Sequence[tuple[str, Row]], taken: Collection[str] = ()) -> dict[str, Row]:
    """{name: row}, each name at most 64 characters and of one row alone. A taken name gives way to source__tool."""
    by_pair: dict[tuple[str, str], Row] = {}
    for name, row in rows:
        by_pair[(row.spec.origin.source, f"{row.spec.origin.source}__{name}" if name in taken else name)] = row
    return {name: by_pair[pair] for pair, name in assign_provider(by_pair).items()}


def _listed(name: str, row: Row) -> Listed:
    contracts = {modern: OutputContract(row.spec, modern=modern) for modern in (False, True)}
    definitions = {modern: _definition(name, row.spec, contracts[modern]) for modern in (False, True)}
    return checked(Listed(name=name, row=row, definitions=definitions, contracts=contracts))


def checked(tool: Listed) -> Listed:
    """The tool, if the protocol can carry it in both eras; one that it cannot would take the whole list with it."""
    for modern, version in ((False, LATEST_HANDSHAKE_VERSION), (True, LATEST_MODERN_VERSION)):
        page = {"tools": [tool.definitions[modern]], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        methods.serialize_server_result("tools/list", version, page)
    return tool


def _definition(name: str, spec: ToolSpec, contract: OutputContract) -> Definition:
    definition: Definition = {"name": name, "description": spec.description, "inputSchema": _input_schema(spec)}
    if contract.schema is not None:
        definition["outputSchema"] = contract.schema
    hints = spec.annotations.to_mcp()
    if hints:
        definition["annotations"] = hints
    came = _of_server(spec)
    definition.update({key: came[key] for key in _PASSED_ON if came.get(key) is not None})
    if came and "description" not in came and not spec.docs:
        del definition["description"]
    return cast("Definition", strict(definition)[1])


def _input_schema(spec: ToolSpec) -> Mapping[str, Any]:
    schema = spec.input_schema
    return schema if schema.get("type") == "object" else {**schema, "type": "object"}


def _of_server(spec: ToolSpec) -> Mapping[str, Any]:
    """A server's own definition of its tool, as its source kept it."""
    kept: object = spec.meta.get("definition") if is_remote(spec) else None
    return cast("Mapping[str, Any]", kept) if isinstance(kept, Mapping) else {}
