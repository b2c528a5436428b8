"""The server itself, over any transport: what a client asks, answered from a runtime (SRV-01, SRV-02)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal, get_args

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from .. import __version__
from ..errors import ClosedError, ToolNotFound, ToolUnavailable
from ..inventory import Inventory, Row
from ..mcp.relay import relay, whose
from ..runtime import Event, Runtime
from .asking import Context, Exchange, Question, Wire, connection_of, current
from .listing import Definition, Listed, Listing, make_listing
from .outcome import error, of_call
from .parked import Parked
from .programs import INSTRUCTIONS, Programs, own_tools
from .strict import strict_text
from .upstream import Servers, Upstream

Mode = Literal["flat", "program"]

_log = logging.getLogger("sutler.server")
_LOOK = 1.0  # seconds between two looks at whether the tools are still those that clients were told of
_LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)  # the least first
_TELL = 5.0  # seconds that a client may take to be told that they are not


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How the tools are offered. pinned: in program mode, tools that are listed beside the three, by any name."""

    mode: Mode = "flat"
    pinned: Sequence[str] = ()


class Hearing:
    """Hears the runtime's events and tells each to the exchange that its call belongs to."""

    def __init__(self) -> None:
        self._exchanges: dict[str, Exchange] = {}

    def __call__(self, event: Event) -> None:
        """From whichever thread the thing happened on. A call is known by where it was started: a tool may report
        its progress from a thread of its own, which carries no context."""
        match event.kind:
            case "call_started":
                exchange = current.get()
                if exchange is not None:
                    self._exchanges[event.call_id] = exchange
                    if event.run_id is not None:
                        exchange.progress(f"calls {event.tool}")
            case "progress":
                exchange = self._exchanges.get(event.call_id)
                if exchange is not None:
                    fraction = event.data.get("fraction")
                    share = float(fraction) if isinstance(fraction, int | float) and event.run_id is None else None
                    exchange.progress(str(event.data.get("text") or ""), share)
            case "call_finished":
                self._exchanges.pop(event.call_id, None)
            case _:
                pass


class Face:
    """One runtime as one MCP server. Used on the loop that opened the runtime."""

    def __init__(self, runtime: Runtime, shape: Shape) -> None:
        self._runtime = runtime
        self._shape = shape
        self._programs = Programs(runtime) if shape.mode == "program" else None
        self._parked = Parked()
        self._exchanges: set[Exchange] = set()
        self._connections: set[Connection] = set()
        self._telling: set[asyncio.Task[None]] = set()
        self._listing: tuple[Inventory, Listing] | None = None
        self._looking = asyncio.Lock()
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._upstream: Upstream | None = None
        self._levels: dict[Connection, types.LoggingLevel] = {}
        self.server: Server[Any] = _Server(
            "sutler",
            version=__version__,
            title="Sutler",
            instructions=INSTRUCTIONS if self._programs is not None else None,
            get_tool_input_schema=self._input_schema,
            on_subscriptions_listen=self._serve_events,
        )
        # registered so that results go out as the wire has them, with all that an upstream server said
        self.server.add_request_handler("tools/list", types.PaginatedRequestParams, self._list_tools)
        self.server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        self.server.add_notification_handler(
            "notifications/initialized", types.NotificationParams, self._client_is_there
        )

    # ------------------------------------------------------------------ the tools

    async def listing(self) -> Listing:
        """The tools as they are now. Clients are told when they are not those they were."""
        async with self._looking:
            inventory = await asyncio.to_thread(self._pinned)
            known = self._listing
            if known is not None and known[0] is inventory:
                return known[1]
            listing = self._make(inventory)
            if known is not None and listing.same_as(known[1]):
                self._listing = (inventory, listing)
                return listing
            self._listing = (inventory, listing)
        if known is not None:
            await self._tell(ToolsListChanged(), Connection.send_tool_list_changed)
        return listing

    def _pinned(self) -> Inventory:
        """The tools that there are, each held to the definition that a client saw first (POL-06)."""
        core = self._runtime.core
        core.pins.look()
        inventory = core.program_inventory()
        if self._programs is None:
            rows = list(inventory.tools.values())
        else:
            rows = [row for name in self._shape.pinned if (row := _found(inventory, name)) is not None]
        return inventory if core.pins.listed(rows) else core.program_inventory()

    def _make(self, inventory: Inventory) -> Listing:
        if self._programs is None:
            return make_listing(list(inventory.tools.items()))
        pinned: dict[str, Row] = {}
        for name in self._shape.pinned:
            row = _found(inventory, name)
            if row is not None:
                pinned.setdefault(name if name in inventory.tools else row.spec.name, row)
        return make_listing(list(pinned.items()), own_tools())

    async def watch(self) -> None:
        """Looks at the tools from time to time, for as long as it is not cancelled."""
        while True:
            await asyncio.sleep(_LOOK)
            try:
                await self.listing()
            except ClosedError:
                return
            except Exception:
                _log.exception("looking at the tools failed")

    async def _tell(self, event: ServerEvent, send: Callable[[Connection], Awaitable[None]]) -> None:
        """Handshake-era clients get a notification, the others whatever they subscribed to."""
        await self._bus.publish(event)
        for connection in list(self._connections):
            task = asyncio.create_task(_send(connection, send))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def offer(self, servers: Servers) -> None:
        """In flat mode: what these upstream servers have beside tools is passed through."""
        if self._programs is None:
            self._upstream = Upstream(servers, self._updated)
            await self._upstream.offer(self.server)
            self.server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, self._set_level)

    async def _set_level(self, context: Context, params: types.SetLevelRequestParams) -> Wire:
        """From now on this client hears what upstream servers log, from this level up."""
        connection = connection_of(context)
        if connection not in self._levels:
            connection.exit_stack.callback(self._levels.pop, connection, None)
        self._levels[connection] = params.level
        return {}

    async def notified(self, method: str, params: Mapping[str, Any]) -> None:
        """What an upstream server tells, for the clients that it concerns."""
        match method:
            case "sutler/changed":
                await self.listing()
            case "notifications/tools/list_changed":  # the list is what it was; a client may have seen another
                await self._tell(ToolsListChanged(), Connection.send_tool_list_changed)
            case "notifications/resources/list_changed":
                await self._tell(ResourcesListChanged(), Connection.send_resource_list_changed)
            case "notifications/prompts/list_changed":
                await self._tell(PromptsListChanged(), Connection.send_prompt_list_changed)
            case "notifications/resources/updated":
                await self._updated(str(params.get("uri")))
            case "notifications/message":
                for connection, level in list(self._levels.items()):
                    if params.get("level") in _LEVELS[_LEVELS.index(level) :]:
                        await connection.notify(method, params)
            case _:
                pass

    async def _updated(self, uri: str) -> None:
        await self._tell(ResourceUpdated(uri), lambda client: client.send_resource_updated(uri))

    async def _serve_events(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        upstream, followed = self._upstream, list[str]()
        try:
            for uri in params.notifications.resource_subscriptions or ():
                if upstream is not None:
                    with suppress(MCPError):  # a resource that nobody has never changes
                        await upstream.follow(uri)
                        followed.append(uri)
            return await self._listen(context, params)
        finally:
            for uri in followed:
                assert upstream is not None
                upstream.leave(uri)

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        """For the SDK's check of headers that mirror arguments."""
        tool = self._listing[1].tools.get(name) if self._listing is not None else None
        return tool.definitions[True]["inputSchema"] if tool is not None else None

    # ------------------------------------------------------------------ what clients ask

    async def _client_is_there(self, context: Context, params: types.NotificationParams) -> None:
        del params
        connection = connection_of(context)
        self._connections.add(connection)
        connection.exit_stack.callback(self._connections.discard, connection)

    async def _list_tools(self, context: Context, params: types.PaginatedRequestParams) -> Wire:
        if params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="there is one page of tools, and no such cursor")
        modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        listing = await self.listing()
        tools = await self._said(listing, listing.definitions(modern=modern))
        return {"tools": tools, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def _said(self, listing: Listing, tools: list[Definition]) -> list[Definition]:
        """The definitions with what libraries say of themselves now (LIB-06)."""
        rows = {tool.row.spec.qualified: tool.row for tool in listing.tools.values() if tool.row is not None}
        prompts = self._runtime.core.prompts
        if not prompts.any(rows.values()):
            return tools
        texts = await asyncio.to_thread(prompts.texts, list(rows.values()))
        said = {
            tool.name: texts.get(tool.row.spec.qualified) for tool in listing.tools.values() if tool.row is not None
        }
        return [
            {**tool, "description": strict_text(f"{tool.get('description', '')}\n\n{text}".strip())}
            if (text := said.get(tool["name"]))
            else tool
            for tool in tools
        ]

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> Any:
        if params.request_state is not None:
            exchange = self._parked.take(params)
        else:
            tool = await self._tool(params.name)
            if tool is None:
                return await self._unknown(params.name)
            exchange = Exchange(context, partial(self._work, tool=tool, arguments=params.arguments or {}))
            self._exchanges.add(exchange)
            exchange.task.add_done_callback(lambda _: self._exchanges.discard(exchange))
        outcome = await exchange.turn(context)
        return self._parked.put(exchange, outcome, params) if isinstance(outcome, Question) else outcome

    async def _tool(self, name: str) -> Listed | None:
        known = self._listing[1] if self._listing is not None else None
        tool = known.tools.get(name) if known is not None else None
        return tool or (await self.listing()).tools.get(name)

    async def _unknown(self, name: str) -> Wire:
        """A result and no error of the protocol: a model sees it, and can call the tool that it meant."""
        tools = (await self.listing()).tools
        held = next(iter(self._runtime.core.pins.held(name)), None)
        if held is not None:
            return error(strict_text(str(held)), "unavailable")
        near = get_close_matches(name, tools, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return error(strict_text(f"there is no tool {name!r}{hint}"), "not_found")

    async def _work(self, exchange: Exchange, *, tool: Listed, arguments: dict[str, Any]) -> Wire:
        whose.set(exchange.connection)
        if tool.row is None:
            assert self._programs is not None
            return await self._programs.call(tool.name, arguments)
        relay.set(exchange.as_relay(logs=not exchange.modern and exchange.connection not in self._levels))
        result = await self._runtime.call(tool.row.spec.qualified, arguments)
        return of_call(result, tool.contracts[exchange.modern], modern=exchange.modern)

    async def close(self) -> None:
        """Ends the calls in flight."""
        self._parked.close()
        if self._upstream is not None:
            self._upstream.close()
        self._listen.close()
        tasks = [exchange.task for exchange in self._exchanges]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=2.0)


class _Server(Server[Any]):
    """Says of itself, on every transport, that its lists change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(
            tools_changed=True, resources_changed=True, prompts_changed=True
        )
        return super().create_initialization_options(options, experimental_capabilities, extensions)


async def _send(connection: Connection, send: Callable[[Connection], Awaitable[None]]) -> None:
    try:
        async with asyncio.timeout(_TELL):
            await send(connection)
    except TimeoutError:
        _log.warning("a client did not take the news that something has changed")


def _found(inventory: Inventory, name: str) -> Row | None:
    """A pinned tool by any name; one that is not there now may come yet."""
    try:
        return inventory.tools.get(name) or inventory.find(name)
    except (ToolNotFound, ToolUnavailable):
        return None
