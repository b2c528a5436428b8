"""MCPBinding: MCP servers under the names that LCP hosts and bridge libraries use (LCP-11, LCP-18)."""

from __future__ import annotations

import atexit
import inspect
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from .. import calling
from ..closest import closest
from ..errors import ClosedError, ConfigError, Problem
from ..results import fresh
from ..runtime import SyncRuntime
from ..spec import ToolFailure, ToolResult

BindingName = "MCPBinding"
TOOL_NAME_SEPARATOR = "::"

_TYPES = {"stdio": "stdio", "http": "http", "sse": "sse", "streamable_http": "http", "streamable-http": "http"}
_PREFIX = "tool_"
_OPTIONS = frozenset(inspect.signature(SyncRuntime).parameters) - {"mcp_servers"}
_NAMED = 40  # tools that an error lists


class MCPBinding:
    """Tools of MCP servers, called as alias::tool.

    servers: [{"alias": ..., "type": "stdio", "command": ..., "args": [...], "env": {...}, "cwd": ...}] or
    [{"alias": ..., "type": "http", "url": ..., "headers": {...}}]; every other key of [mcp_servers.<id>] too, such as
    `timeout` (seconds a call may take). ConfigError names the server and the key.
    options: keywords of SyncRuntime, `policy` and `confirm_handler` above all: a tool that is not declared read-only
    asks, as any server's does. Opened inside a tool library, it asks the person of the runtime that runs the library,
    at that library's level, and ends with that runtime.
    """

    def __init__(self, servers: Sequence[Mapping[str, Any]] = (), **options: Any) -> None:
        for name in options:
            if name not in _OPTIONS:
                meant = closest(name, ("servers", *_OPTIONS))
                raise TypeError(f"MCPBinding takes no {name!r}" + (f"; did you mean {meant!r}?" if meant else ""))
        tables = _tables(servers)
        call = calling.caller()
        if call is not None and "confirm_handler" not in options and options.get("policy") is None:
            options["confirm_handler"] = _persons_of(call)
        keywords: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False, **options}
        self._aliases = tuple(tables)
        self._patience = {alias: float(table.get("connect_timeout", 10.0)) for alias, table in tables.items()}
        self.runtime = SyncRuntime(mcp_servers=tables, **keywords).open()
        if call is not None:
            call.owner.at_close.append(self.close)
        else:
            atexit.register(self.close)

    def execute_tool(
        self, tool_name: str, params: Mapping[str, Any] | str | None = None, **host: Any
    ) -> dict[str, Any]:
        """Calls alias::tool; gives the LCP wrapper, whatever happens.

        Where a server has no tool_x, alias::tool_x means its x. host: the objects that LCP hosts pass along; a server
        has no use for them.
        """
        alias, mark, tool = tool_name.partition(TOOL_NAME_SEPARATOR)
        try:
            if not mark or alias not in self._aliases:
                return _failed("not_found", self._no_such_server(tool_name, alias), 404)
            name, failure = self._find(alias, tool)
            if failure is not None:
                return failure
            return self.runtime.call(f"{alias}{TOOL_NAME_SEPARATOR}{name}", params).to_dict()
        except ClosedError as error:
            return _failed("unavailable", f"{tool_name} cannot be called: {error}", 500)

    def list_tools(self) -> list[dict[str, Any]]:
        """name (alias::tool), description and input_schema of every tool; waits for servers that are still starting."""
        self._wait(self._aliases)
        return [
            {
                "name": row.spec.qualified,
                "description": row.spec.description,
                "input_schema": fresh(row.spec.input_schema),
            }
            for row in self.runtime.inventory().rows
            if row.spec.origin.source in self._aliases
        ]

    def discover_tools(self, specific_tool_names: Iterable[str] | None = None, **_: Any) -> list[dict[str, Any]]:
        """list_tools, or those of these names; what has changed on a server is known without asking anew."""
        wanted = None if specific_tool_names is None else set(specific_tool_names)
        return [tool for tool in self.list_tools() if wanted is None or tool["name"] in wanted]

    def close(self) -> None:
        """Ends the servers. Idempotent."""
        atexit.unregister(self.close)
        self.runtime.close()

    def __enter__(self) -> MCPBinding:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<MCPBinding: {', '.join(self._aliases) or 'no servers'}>"

    # ------------------------------------------------------------------

    def _find(self, alias: str, tool: str) -> tuple[str, dict[str, Any] | None]:
        """The server's own name for the tool, or why there is none."""
        known = self._tools_of(alias)
        if tool not in known:
            self._wait((alias,))
            known = self._tools_of(alias)
        for name in (tool, tool.removeprefix(_PREFIX)):
            if name in known:
                return name, None
        reason = next((why for where, why in self.runtime.inventory().unavailable if where == alias), None)
        if reason is not None and not known:
            return "", _failed("unavailable", f"the server {alias!r} cannot be had: {reason}", 500)
        meant = closest(tool, known)
        listed = ", ".join(known[:_NAMED]) + (f" and {len(known) - _NAMED} more" if len(known) > _NAMED else "")
        text = f"the server {alias!r} has no tool {tool!r}" + (f" (did you mean {meant!r}?)" if meant else "")
        return "", _failed("not_found", f"{text}; it has {listed or 'none'}", 404)

    def _tools_of(self, alias: str) -> list[str]:
        rows = self.runtime.inventory().rows
        return [row.spec.name for row in rows if row.spec.origin.source == alias]

    def _wait(self, aliases: Iterable[str]) -> None:
        """Until these servers are up or have failed, for as long as their connecting may take."""
        servers = self.runtime.core.servers
        if servers is not None:
            for alias in aliases:
                servers.manager.wait(self._patience[alias], (alias,))

    def _no_such_server(self, tool_name: str, alias: str) -> str:
        known = ", ".join(self._aliases) or "none"
        if TOOL_NAME_SEPARATOR not in tool_name:
            return f"{tool_name!r} names no server: write alias{TOOL_NAME_SEPARATOR}tool; the servers are: {known}"
        meant = closest(alias, self._aliases)
        hint = f" (did you mean {meant!r}?)" if meant else ""
        return f"there is no server {alias!r}{hint}; the servers are: {known}"


def _persons_of(call: calling.Caller) -> Callable[..., tuple[str, str]]:
    """Asks whoever the runtime of the library asks, in the call that is under way then."""

    def confirm(source: str, script_label: str = "", argv: list[Any] | None = None) -> tuple[str, str]:
        now = calling.caller() or call
        return now.owner.library_confirm(source, script_label, argv)

    return confirm


def _failed(kind: Any, message: str, status: int) -> dict[str, Any]:
    failure = ToolFailure(kind=kind, message=message)
    return ToolResult(success=False, error=failure, status_code=status).to_dict()


def _tables(servers: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The list of the LCP document as tables by id. What is not of it is left to the check of the tables."""
    problems: list[Problem] = []
    tables: dict[str, dict[str, Any]] = {}
    if isinstance(servers, Mapping):
        listed = [
            {"alias": alias, **table} for alias, table in cast("Mapping[str, Mapping[str, Any]]", servers).items()
        ]
        return _tables(listed)
    for number, server in enumerate(servers):
        key = f"servers[{number}]"
        if not isinstance(cast("object", server), Mapping):
            problems.append(Problem(message=f"must be a table, not a {type(server).__name__}", key=key))
            continue
        table = dict(server)
        alias, kind = table.pop("alias", None), table.pop("type", None)
        if not isinstance(alias, str) or not alias.strip():
            problems.append(Problem(message="`alias` is missing", key=key, hint="it names the server in alias::tool"))
            continue
        if alias in tables:
            problems.append(Problem(message=f"two servers of the alias {alias!r}", key=key))
        if kind is not None and kind not in _TYPES:
            meant = closest(str(kind), _TYPES)
            hint = f"did you mean {meant!r}?" if meant else f"the types are {', '.join(_TYPES)}"
            problems.append(Problem(message=f"no such type of server: {kind!r}", key=f"{key}.type", hint=hint))
        elif kind is not None:
            table["transport"] = _TYPES[kind]
        _split_command(table)
        tables[alias] = table
    if problems:
        raise ConfigError(problems)
    return tables


def _split_command(table: dict[str, Any]) -> None:
    """A command written as a list, or with its arguments in one text, as LCP hosts also have it."""
    command: Any = table.get("command")
    parts: list[Any] = []
    if isinstance(command, list | tuple):
        parts = list(cast("Sequence[Any]", command))
    elif isinstance(command, str) and "args" not in table and " " in command.strip():
        is_file = Path(command).exists() or shutil.which(command) is not None
        parts = [] if is_file else shlex.split(command)
    if parts:
        table["command"], table["args"] = parts[0], [*parts[1:], *table.get("args", ())]
