"""The tools of one MCP server as a ToolSource: over a manager that has the sessions (MCP-06, MCP-15, MCP-16)."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from ..closest import closest
from ..errors import SchemaError, ToolUnavailable
from ..results import Answer
from ..servers import RemoteResult, RemoteTool, ServerSpec
from ..sources.base import Duplicate, Quarantined
from ..spec import Origin, ToolSpec
from .definitions import fingerprint, name_problem, to_spec
from .results import OutputSchema, to_value

NO_PACKAGE = "the mcp package is not installed; it comes with `pip install 'sutler[mcp]'`"


class State(Protocol):
    """What a manager says of one server."""

    @property
    def id(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def reason(self) -> str: ...


class Manager(Protocol):
    """What a source needs of the manager of the sessions."""

    def states(self) -> Sequence[State]: ...
    def tools(self, server: str, /) -> Sequence[RemoteTool]: ...
    def version(self, server: str, /) -> int: ...

    async def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, Any],
        /,
        *,
        timeout: float | None,  # noqa: ASYNC109 - the manager must tell the server when it gives up
        progress: Any = None,
        ask: Any = None,
        vet: Any = None,
    ) -> RemoteResult: ...


class McpToolSource:
    """One server. It offers what the manager has of it: from the disk cache before it is up, live afterwards.

    portal: its callables are awaited on the manager's own loop. manager: None where the mcp package is missing, or
    for a server that must not be started; the source is then listed with its reason. steady: whoever made the manager
    refreshes the toolbox when the server changes.
    """

    portal = True

    def __init__(self, manager: Manager | None, server: ServerSpec, *, steady: bool = False) -> None:
        self.steady = steady
        self._manager = manager
        self._server = server
        self._fingerprint = fingerprint(server)
        self._lock = threading.Lock()
        self._outputs: dict[str, tuple[Mapping[str, Any], OutputSchema]] = {}
        self.quarantined: tuple[Quarantined, ...] = ()
        self.duplicates: tuple[Duplicate, ...] = ()
        self.missing: tuple[tuple[str, str], ...] = ()
        self.notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self._server.id

    @property
    def server(self) -> ServerSpec:
        return self._server

    @property
    def precedence(self) -> float:
        return self._server.precedence

    def available(self) -> bool:
        return not self.reason

    @property
    def reason(self) -> str:
        """Why there is nothing to be had of it now, "" when there is."""
        server, manager = self._server, self._manager
        if not server.enabled:
            return f"it is disabled in {server.where}" if server.where else "it is disabled"
        if server.unavailable:
            return server.unavailable
        if manager is None:
            return NO_PACKAGE
        if manager.version(server.id) > 0:
            return ""
        state = next((one for one in manager.states() if one.id == server.id), None)
        if state is None:
            return "it was not started"
        return state.reason or f"it is {state.state}"

    @property
    def version(self) -> object:
        """Differs whenever the server lists other tools than before."""
        return 0 if self._manager is None else self._manager.version(self._server.id)

    def discover(self) -> list[ToolSpec]:
        """Its tools under the user's overrides; those left out and those that cannot be used are told apart."""
        if self._manager is None or self.reason:
            self.quarantined = self.duplicates = self.missing = self.notes = ()
            return []
        listed = self._manager.tools(self._server.id)
        found = _Listing(self._server, self._fingerprint)
        for tool in listed:
            found.take(tool)
        self.quarantined = tuple(found.quarantined)
        self.duplicates = tuple(found.duplicates)
        self.missing = tuple(found.missing)
        self.notes = (*server_notes(self._server), *unknown_names(self._server, {tool.name for tool in listed}))
        return found.settled()

    def resolve(self, spec: ToolSpec) -> Callable[..., Awaitable[Answer]]:
        """A coroutine function that calls the tool on the server; to be awaited on the manager's loop."""
        manager = self._manager
        if manager is None or not self._server.enabled or self._server.unavailable:
            raise ToolUnavailable(f"{spec.qualified} is unavailable: {self.reason}")
        return RemoteCall(manager, self._server.id, spec, self._output(spec))

    def _output(self, spec: ToolSpec) -> OutputSchema | None:
        schema = spec.output_schema
        if schema is None:
            return None
        with self._lock:
            known = self._outputs.get(spec.name)
            if known is None or known[0] is not schema:
                self._outputs[spec.name] = known = (schema, OutputSchema(schema))
            return known[1]


class RemoteCall:
    """One tool of a server, ready. `run` is the same call with a handler for progress and one that asks the person."""

    __slots__ = ("_manager", "_output", "_server", "_timeout", "_tool")

    def __init__(self, manager: Manager, server_id: str, spec: ToolSpec, output: OutputSchema | None) -> None:
        self._manager = manager
        self._server = server_id
        self._tool: str = spec.meta.get("tool", spec.name)
        self._timeout = spec.timeout
        self._output = output

    async def __call__(self, /, **arguments: Any) -> Answer:
        return await self.run(arguments)

    async def run(
        self,
        arguments: Mapping[str, Any],
        *,
        seconds: float | None = None,
        progress: Any = None,
        ask: Any = None,
        vet: Any = None,
    ) -> Answer:
        """seconds: that it may take, instead of the tool's own."""
        result = await self._manager.call(
            self._server, self._tool, arguments, timeout=seconds or self._timeout, progress=progress, ask=ask, vet=vet
        )
        return to_value(result, self._output)


class _Listing:
    """Sorts what a server lists."""

    def __init__(self, server: ServerSpec, fingerprint: str) -> None:
        self._server = server
        self._fingerprint = fingerprint
        self._origin = Origin(
            source=server.id,
            kind="mcp",
            trust="mcp",
            precedence=server.precedence,
            where=server.where or f"server {server.id}",
            provenance=server.provenance,
        )
        self._specs: dict[str, ToolSpec] = {}  # by the server's own name
        self.quarantined: list[Quarantined] = []
        self.duplicates: list[Duplicate] = []
        self.missing: list[tuple[str, str]] = []

    def take(self, tool: RemoteTool) -> None:
        server, name = self._server, tool.name
        if name and (reason := left_out(server, name)):
            self.missing.append((name, reason))
            return
        if name in self._specs:
            where = self._origin.where
            self.duplicates.append(
                Duplicate(source=server.id, tool=name, where=where, winner=f"{where}, listed before")
            )
            return
        try:
            self._specs[name] = to_spec(tool, server, self._origin, self._fingerprint)
        except SchemaError as error:
            shown = None if name_problem(tool) and not name else name
            self.quarantined.append(
                Quarantined(source=server.id, tool=shown or "(unnamed)", reason=str(error), where=self._origin.where)
            )

    def settled(self) -> list[ToolSpec]:
        """The specs; of two that want one name, an alias gives way to the server's own name."""
        own = {name for name, spec in self._specs.items() if spec.name == name}
        settled: list[ToolSpec] = []
        taken = set(own)
        for name, spec in self._specs.items():
            if spec.name != name:
                if spec.name in taken:
                    sentence = f"the alias {spec.name!r} is the name of another of its tools, so it keeps its own"
                    spec = replace(spec, name=name, notes=(*spec.notes, sentence))
                taken.add(spec.name)
            settled.append(spec)
        return settled


def left_out(server: ServerSpec, name: str) -> str:
    """Why the user's config leaves a tool out, or ""."""
    place = f" ({server.where})" if server.where else ""
    override = server.tools.get(name)
    if name in server.deny:
        return f"deny of the server names it{place}"
    if override is not None and override.enabled is False:
        return f"it is disabled in tools.{name}{place}"
    if server.allow is not None and name not in server.allow and not (override is not None and override.enabled):
        return f"allow of the server does not name it{place}"
    return ""


def server_notes(server: ServerSpec) -> tuple[str, ...]:
    """What the config of a server says and Sutler does otherwise."""
    return tuple(f"{server.id}: {note}" for note in server.notes)


def unknown_names(server: ServerSpec, listed: set[str]) -> list[str]:
    """One sentence for each tool that the config names and the server does not list: a misspelt deny denies nothing."""
    found: list[str] = []
    for key, names in (("allow", server.allow or ()), ("deny", server.deny), ("tools", tuple(server.tools))):
        for name in names:
            if name not in listed:
                meant = closest(name, listed)
                hint = f"; did you mean {meant!r}?" if meant else ""
                found.append(f"{server.id}: {key} names {name!r}, which is no tool of this server{hint}")
    return found
