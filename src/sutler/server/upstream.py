"""Resources, prompts and completions of upstream servers, passed through in flat mode (SRV-02).

They are no tools: nothing of the runtime is asked, each request goes to the server that has the thing. Of two servers
with the same URI the first one is read; of two with the same prompt name the later one's is listed as server__name.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from ..errors import SutlerError
from .asking import Context, Wire

T = TypeVar("T")

_log = logging.getLogger("sutler.server")
_SECONDS: Final = 10.0  # that one server may take to list what it has
_PAGES: Final = 100


class Fetch(Protocol):
    """One page, from a client."""

    def __call__(self, client: Any, /, cursor: str | None) -> Awaitable[Any]: ...


class State(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def state(self) -> str: ...


class Portal(Protocol):
    def current(self) -> bool: ...
    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]: ...


class Servers(Protocol):
    """What is needed of the manager of the sessions (mcp.manager.ServerManager)."""

    @property
    def portal(self) -> Portal: ...
    def states(self) -> Sequence[State]: ...
    async def client(self, server: str) -> Any: ...


class Upstream:
    """The way to what upstream servers have beside tools. Used on the server's loop; the sessions may have another."""

    def __init__(self, servers: Servers, updated: Callable[[str], Awaitable[None]]) -> None:
        """updated(uri): a resource that is followed has changed."""
        self._servers = servers
        self._updated = updated
        self._loop = asyncio.get_running_loop()
        self._followers: dict[str, int] = {}
        self._following: dict[str, tuple[str, Future[None] | None]] = {}  # by URI: its server, a modern one's stream
        self._resources: dict[str, str] = {}  # by URI or template, the server that has it
        self._prompts: dict[str, tuple[str, str]] = {}  # by listed name, the server and its own name

    async def offer(self, server: Server[Any]) -> None:
        """Adds to the server what any upstream server has. One that is not up yet may have anything."""
        states = self._servers.states()
        kinds: set[str] = set()
        for state in states:
            kinds |= {"resources", "prompts", "completions"} if state.state != "ready" else await self._kinds(state.id)
        if "resources" in kinds:
            server.add_request_handler("resources/list", types.PaginatedRequestParams, self._list_resources)
            server.add_request_handler("resources/templates/list", types.PaginatedRequestParams, self._list_templates)
            server.add_request_handler("resources/read", types.ReadResourceRequestParams, self._read_resource)
            server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, self._subscribe)
            server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, self._unsubscribe)
        if "prompts" in kinds:
            server.add_request_handler("prompts/list", types.PaginatedRequestParams, self._list_prompts)
            server.add_request_handler("prompts/get", types.GetPromptRequestParams, self._get_prompt)
        if "completions" in kinds:
            server.add_request_handler("completion/complete", types.CompleteRequestParams, self._complete)

    # ------------------------------------------------------------------ resources

    async def _list_resources(self, context: Context, params: types.PaginatedRequestParams) -> Wire:
        del context
        found = await self._gather("resources", params, lambda client, cursor: client.list_resources(cursor=cursor))
        return self._listed("resources", found, "uri")

    async def _list_templates(self, context: Context, params: types.PaginatedRequestParams) -> Wire:
        del context
        found = await self._gather(
            "resources", params, lambda client, cursor: client.list_resource_templates(cursor=cursor)
        )
        return self._listed("resourceTemplates", found, "uriTemplate")

    def _listed(self, key: str, found: Sequence[tuple[str, Wire]], identity: str) -> Wire:
        items: dict[str, Wire] = {}
        for server, page in found:
            for item in page.get(key, ()):
                if items.setdefault(item[identity], item) is item:
                    self._resources[item[identity]] = server
        return {key: list(items.values()), "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def _read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> Wire:
        more = _passed_on(context, params)
        return await self._first(params.uri, lambda client: _asker(client, more).read_resource(params.uri, **more))

    async def _subscribe(self, context: Context, params: types.SubscribeRequestParams) -> Wire:
        del context
        await self.follow(params.uri)
        return {}

    async def _unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> Wire:
        del context
        self.leave(params.uri)
        return {}

    async def follow(self, uri: str) -> None:
        """Hears of changes of a resource, until as many have left as follow it. MCPError when no server has it."""
        if uri not in self._following:
            server = self._resources.get(uri) or await self._owner(uri)
            if await self._is_modern(server):
                self._following[uri] = (server, self._servers.portal.submit(self._hear(server, uri)))
            else:
                request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
                await self._on(server, lambda client: client.session.send_request(request, types.EmptyResult))
                self._following[uri] = (server, None)
        self._followers[uri] = self._followers.get(uri, 0) + 1

    def leave(self, uri: str) -> None:
        left = self._followers.get(uri, 0) - 1
        if left > 0:
            self._followers[uri] = left
            return
        self._followers.pop(uri, None)
        server, stream = self._following.pop(uri, ("", None))
        if stream is not None:
            stream.cancel()
        elif server:

            async def unsubscribe() -> None:
                request = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
                await (await self._servers.client(server)).session.send_request(request, types.EmptyResult)

            self._servers.portal.submit(unsubscribe())

    def close(self) -> None:
        for _, stream in self._following.values():
            if stream is not None:
                stream.cancel()
        self._following.clear()

    async def _owner(self, uri: str) -> str:
        for server in await self._having("resources"):
            with suppress(MCPError):
                await self._on(server, lambda client: client.read_resource(uri))
                return server
        raise MCPError(code=types.INVALID_PARAMS, message=f"Resource not found: {uri}", data={"uri": uri})

    async def _is_modern(self, server: str) -> bool:
        async def look() -> bool:
            return (await self._servers.client(server)).protocol_version in MODERN_PROTOCOL_VERSIONS

        return await self._there(look())

    async def _hear(self, server: str, uri: str) -> None:
        """On the sessions' loop: what a modern server tells of one resource."""
        client = await self._servers.client(server)
        async with client.listen(resource_subscriptions=[uri]) as events:
            async for _ in events:
                asyncio.run_coroutine_threadsafe(_awaited(self._updated(uri)), self._loop)

    async def _first(self, uri: str, ask: Callable[[Any], Awaitable[Any]]) -> Wire:
        """Asks the server that listed it; for a URI that none did (one of a template), each until one knows it."""
        known = self._resources.get(uri)
        failure: MCPError | None = None
        for server in [known] if known is not None else await self._having("resources"):
            try:
                return await self._on(server, ask)
            except MCPError as error:
                failure = failure or error
        raise failure or MCPError(code=types.INVALID_PARAMS, message=f"Resource not found: {uri}", data={"uri": uri})

    # ------------------------------------------------------------------ prompts

    async def _list_prompts(self, context: Context, params: types.PaginatedRequestParams) -> Wire:
        del context
        found = await self._gather("prompts", params, lambda client, cursor: client.list_prompts(cursor=cursor))
        prompts: list[Wire] = []
        routes: dict[str, tuple[str, str]] = {}
        for server, page in found:
            for item in page.get("prompts", ()):
                name = item["name"] if item["name"] not in routes else f"{server}__{item['name']}"
                if name not in routes:
                    routes[name] = (server, item["name"])
                    prompts.append({**item, "name": name})
        self._prompts = routes
        return {"prompts": prompts, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

    async def _get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> Wire:
        server, name = await self._route(context, params.name)
        more = _passed_on(context, params)
        return await self._on(server, lambda client: _asker(client, more).get_prompt(name, params.arguments, **more))

    async def _route(self, context: Context, name: str) -> tuple[str, str]:
        if name not in self._prompts:
            await self._list_prompts(context, types.PaginatedRequestParams())
        if name not in self._prompts:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown prompt: {name}")
        return self._prompts[name]

    # ------------------------------------------------------------------ completions

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> Wire:
        ref, argument = params.ref, {"name": params.argument.name, "value": params.argument.value}
        given = params.context.arguments if params.context is not None else None
        if isinstance(ref, types.PromptReference):
            server, name = await self._route(context, ref.name)
            own = ref.model_copy(update={"name": name})
            return await self._on(server, lambda client: client.complete(own, argument, given))
        return await self._first(ref.uri, lambda client: client.complete(ref, argument, given))

    # ------------------------------------------------------------------ the sessions

    async def _gather(self, kind: str, params: types.PaginatedRequestParams, fetch: Fetch) -> list[tuple[str, Wire]]:
        """Every page of every server of this kind, in the servers' order; one that fails is left out, and told."""
        if params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="there is one page, and no such cursor")
        servers = await self._having(kind)
        answers = await asyncio.gather(*(self._pages(server, fetch) for server in servers))
        return [(server, page) for server, pages in zip(servers, answers, strict=True) for page in pages]

    async def _pages(self, server: str, fetch: Fetch) -> list[Wire]:
        pages: list[Wire] = []
        cursor: str | None = None
        seen: set[str | None] = {None}
        try:
            async with asyncio.timeout(_SECONDS):
                while len(pages) < _PAGES:
                    pages.append(await self._on(server, partial(fetch, cursor=cursor)))
                    cursor = pages[-1].get("nextCursor")
                    if cursor in seen:
                        break
                    seen.add(cursor)
        except (MCPError, TimeoutError) as error:
            _log.warning("the server %s does not list what it has: %s", server, error or "it is late")
        return pages

    async def _having(self, kind: str) -> list[str]:
        ready = [state.id for state in self._servers.states() if state.state == "ready"]
        return [server for server in ready if kind in await self._kinds(server)]

    async def _kinds(self, server: str) -> set[str]:
        async def look() -> set[str]:
            has = (await self._servers.client(server)).server_capabilities
            return {kind for kind in ("resources", "prompts", "completions") if getattr(has, kind) is not None}

        try:
            return await self._there(look())
        except SutlerError:
            return set()

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """On the sessions' loop, which under `sutler serve` is this one."""
        portal = self._servers.portal
        return await (work if portal.current() else asyncio.wrap_future(portal.submit(work)))

    async def _on(self, server: str, ask: Callable[[Any], Awaitable[Any]]) -> Wire:
        """One request to one server. MCPError is the server's own, or says why it cannot be asked."""

        async def go() -> BaseModel:
            return await ask(await self._servers.client(server))

        try:
            result = await self._there(go())
        except SutlerError as error:
            raise MCPError(code=types.INTERNAL_ERROR, message=f"{server}: {error}") from error
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def _passed_on(context: Context, params: types.InputResponseRequestParams) -> dict[str, Any]:
    """In the modern era a server's own questions, and the answers to them, go through as they are."""
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return {}
    return {
        "input_responses": params.input_responses,
        "request_state": params.request_state,
        "allow_input_required": True,
    }


def _asker(client: Any, more: dict[str, Any]) -> Any:
    """The session asks once; the client itself goes on until there is an answer."""
    return client.session if more else client


async def _awaited(work: Awaitable[None]) -> None:
    await work
