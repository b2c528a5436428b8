"""One connection to a server through mcp.Client: negotiated, asked for its tools, called.

Imports the SDK: to be imported when a server is to be reached. Entered and left by the server's owner task alone.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import mcp_types as types
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp import Client

from ..errors import ToolCallError, ToolError, ToolUnavailable
from ..servers import InputRequired, RemoteResult, ServerSpec
from .answers import to_result
from .exchange import Exchange, HttpFailure, Lost, current
from .http import over_http
from .link import Link, header_fault
from .listing import Listing, read_all
from .questions import Ask, Questions
from .reasons import HttpRefused, brief, needs_login, refused, root
from .states import take_notes
from .stdio import Child
from .streams import over_stdio

_LISTEN_AGAIN = 1.0
_ACK_WITHIN = 10.0
_BUSY = frozenset((429, 502, 503, 504))


class Session:
    """What the owner task and the calls share of one connection. `dead`: it can serve no further call."""

    def __init__(self, spec: ServerSpec, client: Client, link: Link, dead: asyncio.Event) -> None:
        self.spec = spec
        self.client = client
        self.link = link
        self.dead = dead
        self.ended = asyncio.Event()  # torn down: `why` is as good as it gets
        self.why = ""

    @property
    def era(self) -> str:
        return "modern" if self.client.protocol_version in MODERN_PROTOCOL_VERSIONS else "legacy"

    @property
    def server(self) -> str:
        """Its own name and version, for people."""
        info = self.client.server_info
        return "" if info is None else f"{info.name} {info.version}".strip()

    @property
    def usable(self) -> bool:
        return not self.dead.is_set()

    @property
    def tells(self) -> tuple[bool, bool, bool]:
        """Whether it says that it tells when its tools, prompts and resources change."""
        has = self.client.server_capabilities
        return (
            bool(has.tools and has.tools.list_changed),
            bool(has.prompts and has.prompts.list_changed),
            bool(has.resources and has.resources.list_changed),
        )

    async def list_tools(self, seconds: float) -> Listing:
        """All its tools. ToolUnavailable when it does not answer, or nothing that can be read."""

        async def page(cursor: str | None) -> Mapping[str, Any]:
            exchange = Exchange(method="tools/list")
            token = current.set(exchange)
            try:
                await self.client.list_tools(cursor=cursor)
            except MCPError:
                if exchange.failure is not None:
                    raise HttpRefused(exchange.failure) from None
                raise
            except ValidationError as error:
                if exchange.raw is None:
                    raise ToolUnavailable(f"its answer to tools/list breaks the protocol: {brief(error)}") from error
            finally:
                current.reset(token)
                self.link.forget(exchange)
            return exchange.raw or {}

        try:
            listing = await read_all(page, seconds)
        except TimeoutError:
            raise ToolUnavailable("it did not answer tools/list in time") from None
        except MCPError as error:
            if error.code == types.METHOD_NOT_FOUND and self.client.server_capabilities.tools is None:
                return Listing(tools=(), notes=("it has no tools",))
            raise
        if self.era == "legacy":
            return listing
        faults = {id(tool): header_fault(_schema(tool.definition)) for tool in listing.tools}
        dropped = [f"{tool.name!r} is left out: {why}" for tool in listing.tools if (why := faults[id(tool)])]
        return Listing(
            tools=tuple(tool for tool in listing.tools if not faults[id(tool)]), notes=(*listing.notes, *dropped)
        )

    async def listen(self, heard: Callable[[], None]) -> None:
        """Hold the subscription that a server of 2026-07-28 sends its changes to; the link sees them pass.

        heard(): from now on. Nothing is replayed, so what has changed until then has to be asked for.
        """
        tools, prompts, resources = self.tells
        while self.usable:
            try:
                stream = self.client.listen(
                    tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
                )
                async with asyncio.timeout(_ACK_WITHIN) as limit, stream as told:
                    limit.reschedule(None)
                    heard()
                    async for _ in told:
                        pass
            except SubscriptionLost:
                pass
            except (MCPError, TimeoutError) as error:
                take_notes(self.link.notes, [f"it does not say when its tools change: {error}"])
                return
            if self.usable:
                await asyncio.sleep(_LISTEN_AGAIN)

    # ------------------------------------------------------------------ calls

    async def call(
        self, tool: str, arguments: Mapping[str, Any], exchange: Exchange, *, responses: Any = None, state: Any = None
    ) -> RemoteResult | InputRequired:
        """One call. Lost when there is no answer; a ToolCallError when the server refused; as it came otherwise.

        responses, state: of an InputRequired before, which only a relayed exchange gets.
        """
        if not self.usable:
            raise await self._ended(exchange)
        token = current.set(exchange)
        try:
            await self.client.call_tool(
                tool,
                dict(arguments),
                progress_callback=_progress(exchange) if exchange.progress else None,
                input_responses=responses,
                request_state=state,
            )
        except MCPError as error:
            raise await self._failed(error, exchange) from None
        except ValidationError as error:
            raise ToolError(f"the server's answer breaks the protocol: {brief(error)}") from None
        except RuntimeError as error:  # the SDK's cap on rounds of input_required, or a session that ended between two
            raise (ToolError(str(error)) if self.usable else await self._ended(exchange)) from None
        except BaseExceptionGroup as group:  # a callback of an input_required round
            error = root(group)
            raise (error if isinstance(error, ToolCallError) else ToolError(str(error))) from None
        finally:
            current.reset(token)
            self.link.forget(exchange)
        raw = exchange.raw or {}
        if raw.get("resultType") == "input_required":
            return InputRequired(requests=raw.get("inputRequests") or {}, state=raw.get("requestState"))
        return to_result(raw, exchange.notes)

    async def _failed(self, error: MCPError, exchange: Exchange) -> Exception:
        if exchange.failure is not None:
            return self._http_failed(exchange.failure, error)
        broken = self.spec.transport != "stdio" and error.message.startswith("SSE stream")  # the SDK's own words
        if exchange.error is not None and not broken:
            return refused(exchange.error)
        if error.code != types.CONNECTION_CLOSED:
            return ToolError(error.message)
        return Lost(error.message, sent=exchange.sent) if broken else await self._ended(exchange)

    async def _ended(self, exchange: Exchange) -> Lost:
        """The session is over: what can be said of it once it is torn down."""
        self.dead.set()
        await self.ended.wait()
        return Lost(self.why, sent=exchange.sent)

    def _http_failed(self, failure: HttpFailure, error: MCPError) -> Exception:
        if not failure.status:
            if not failure.sent:
                self.why = str(failure)
                self.dead.set()
            return Lost(str(failure), sent=failure.sent)
        if failure.status in (401, 403):
            return ToolUnavailable(needs_login(self.spec, failure))
        if self._session_gone(failure):
            return self._forgotten(failure)
        if failure.status in _BUSY:
            wait = 0.5 if failure.retry_after is None else failure.retry_after
            return Lost(str(failure), sent=True, refused=failure.status == 429, again_in=wait)
        if failure.status >= 500:
            return Lost(str(failure), sent=True)
        if failure.status < 400:
            return ToolUnavailable(error.message if failure.status >= 300 else str(failure))
        plain = failure.content_type == "application/json" and error.code != types.INTERNAL_ERROR
        return refused(error.error) if plain else ToolError(str(failure))

    def _session_gone(self, failure: HttpFailure) -> bool:
        if self.era != "legacy" or self.spec.transport != "http":
            return False
        return failure.status == 404 or (failure.status == 400 and "session" in failure.body.lower())

    def _forgotten(self, failure: HttpFailure) -> Lost:
        self.why = f"the server no longer knows the session ({failure.status})"
        self.dead.set()
        return Lost(self.why, sent=True)


@asynccontextmanager
async def connect(
    spec: ServerSpec,
    link: Link,
    dead: asyncio.Event,
    *,
    child: Child | None,
    mode: str,
    ask: Ask | None,
    auth: Any = None,
    samples: bool = False,
) -> AsyncGenerator[Session]:
    """A negotiated session. Failures come as the SDK has them: `explain` puts them in words."""
    from .. import __version__

    questions = Questions(spec, link, ask)
    client = Client(
        over_stdio(child, link) if child is not None else over_http(spec, link, auth),
        mode=mode,
        elicitation_callback=questions.elicit,
        sampling_callback=questions.sample if samples else None,
        client_info=types.Implementation(name="sutler", version=__version__),
        cache=None,
    )
    async with client:
        if spec.era == "modern" and client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            raise ToolUnavailable(f'era = "modern" is set, and it only speaks {client.protocol_version}')
        questions.serve = True
        yield Session(spec, client, link, dead)


def _progress(exchange: Exchange) -> ProgressFnT:
    async def told(progress: float, total: float | None, message: str | None) -> None:
        if exchange.progress is not None:
            said = exchange.progress(progress, total, message)
            if inspect.isawaitable(said):
                await said

    return told


def _schema(definition: Any) -> Any:
    return cast("dict[str, Any]", definition).get("inputSchema") if isinstance(definition, dict) else None
