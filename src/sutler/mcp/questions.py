"""What a server asks while it serves: something of the person, or an answer of the client's model (MCP-14).

Imports the SDK: to be imported when a server is to be reached.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import mcp_types as types
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from ..servers import ServerSpec
from .exchange import Exchange, current
from .link import Link
from .portal import off_loop
from .reasons import brief
from .states import take_notes

Ask = Callable[[dict[str, Any]], Any]

_ONE_OF = "({server} does not say which call it asks for. One of these that are under way: {calls}.)"
_NOT_TOLD = (
    "the server asked {message!r} while calls of several clients were under way, and did not say for which: nobody was"
    " asked, and the answer was no; concurrency = 1 for this server keeps its calls apart"
)


class Questions:
    """Those of one connection, which begins to `serve` when it is negotiated. ask: for a question of no known call."""

    def __init__(self, spec: ServerSpec, link: Link, ask: Ask | None) -> None:
        self._spec = spec
        self._link = link
        self._ask = ask
        self.serve = False

    async def elicit(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        """A server asks the person something. Declined at once when there is nobody to ask (MCP-14)."""
        if not self.serve:
            return types.ElicitResult(action="decline")
        calls = self._of(context)
        if len({id(call.whose) for call in calls}) > 1:
            for call in calls:
                self._noted(call, _NOT_TOLD.format(message=params.message[:200]))
            return types.ElicitResult(action="decline")
        exchange = calls[-1] if calls else None
        ask = exchange.ask if exchange is not None and exchange.ask is not None else self._ask
        if ask is None:
            return types.ElicitResult(action="decline")
        request: dict[str, Any] = {"message": params.message, "server": self._spec.id}
        if len(calls) > 1:
            request["calls"] = [call.tool for call in calls]
            request["message"] += "\n\n" + _ONE_OF.format(server=self._spec.id, calls=", ".join(request["calls"]))
        elif exchange is not None and exchange.tool:
            request["tool"] = exchange.tool
        if isinstance(params, types.ElicitRequestURLParams):
            request["url"] = params.url
        else:
            request["schema"] = params.requested_schema
        try:
            answer = await unhurried(ask, request, *calls)
            if answer is None:
                return types.ElicitResult(action="decline")
            return types.ElicitResult(action="accept", content=None if "url" in request else answer)
        except ValidationError as error:
            self._noted(exchange, f"what was answered to the server's question has no form it can take: {brief(error)}")
        except Exception as error:
            self._noted(exchange, f"the server's question could not be asked: {type(error).__name__}: {error}")
        return types.ElicitResult(action="cancel")

    def _of(self, context: ClientRequestContext) -> list[Exchange]:
        """The call that the server asks for; where nothing tells, every call that waits for an answer, oldest first.

        The modern era asks within the call, HTTP on the call's own stream. Over stdio a server of the handshake era
        sends its question beside all calls, and the protocol has no field that says which one it is of.
        """
        exchange = current.get()
        if exchange is None or exchange.method != "tools/call":
            exchange = self._link.asked_with(context.request_id)
        return [exchange] if exchange is not None else self._link.in_flight()

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """A handshake-era server asks for the model of the client that a call is for."""
        waiting = self._of(context)
        exchange = waiting[0] if len(waiting) == 1 else None  # of several, the prompt could reach the wrong client
        if exchange is None or exchange.ask is None:
            said = f"{len(waiting)} calls are in flight, so it is not known whose model is meant"
            return types.ErrorData(code=types.INVALID_REQUEST, message=said)
        try:
            answer = await unhurried(exchange.ask, {"server": self._spec.id, "sample": params}, exchange)
        except MCPError as error:
            return error.error
        if not isinstance(answer, types.CreateMessageResult):
            return types.ErrorData(code=types.INVALID_REQUEST, message="the client gave no answer of a model")
        return answer

    def _noted(self, exchange: Exchange | None, note: str) -> None:
        if exchange is not None:
            exchange.notes.append(note)
        else:
            take_notes(self._link.notes, [note])


async def unhurried(ask: Ask, request: dict[str, Any], *calls: Exchange) -> Any:
    """Ask, with the clocks of these calls stopped: a person's time counts toward no limit."""
    with ExitStack() as stack:
        for call in calls:
            stack.enter_context(_still(call))
        return await _asked(ask, request)


@contextmanager
def _still(call: Exchange) -> Generator[None]:
    limit, loop = call.deadline, asyncio.get_running_loop()
    if limit is None:
        yield
        return
    call.asking += 1
    if call.asking == 1 and (until := limit.when()) is not None:
        call.left = until - loop.time()
        limit.reschedule(None)
    try:
        yield
    finally:
        call.asking -= 1
        if not call.asking and call.left:
            with suppress(RuntimeError):  # the call was given up meanwhile
                limit.reschedule(loop.time() + call.left)


async def _asked(ask: Ask, request: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(ask):
        return await ask(request)
    return await off_loop(lambda: ask(request))
