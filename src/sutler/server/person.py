"""The runtime's two ways to the person, over whichever client the call at hand is for (MCP-14)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, cast

from mcp_types import CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestParams, ElicitRequestURLParams
from pydantic import ValidationError

from ..mcp.relay import relay
from ..policy.answers import Answer
from .asking import Exchange, Reply, current
from .strict import strict, strict_text

_MEANS = {
    "allow once": Answer("allow"),
    "always allow this tool": Answer("always"),
    "always allow this tool in this project": Answer("always", scope="project"),
    "reject": Answer("reject", "the person at the MCP client said no"),
}
_HOW = (
    "; allow it beforehand with `sutler approvals grant TOOL` or `sutler serve --policy full_access`, or give the tool"
    " a lower grade in sutler.toml under [grades]"
)
_NO_SECRETS = (
    "a secret was asked for, and none is ever asked for through an MCP client, whose forms may not hold one: give it"
    " beforehand, in [host_tool_configs] or the environment"
)


class Person:
    """confirm_handler and user_interaction_handler of a served runtime. Made on the server's loop.

    shared: clients of several people may be served, so that "always" of one must not hold for all.
    """

    def __init__(self, *, shared: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._choices = [choice for choice, means in _MEANS.items() if means.decision != "always" or not shared]

    async def confirm(self, source: str, script_label: str, argv: list[Any] | None = None) -> tuple[str, str] | Answer:
        """May this call run? (LCP section 5)"""
        del argv
        exchange = current.get()
        if exchange is None:
            return "reject", "the call belongs to no request of an MCP client, so there is nobody to ask"
        field = {"type": "string", "title": "Answer", "enum": self._choices}
        call = "\n".join(f"| {line}" for line in source.split("\n"))  # no line of it can pass for one of ours
        reply = await exchange.ask(_one_field(f"{script_label}\n\n{call}\n\nRun it?", field))
        match reply.action:
            case "unasked":
                return "reject", reply.why + _HOW
            case "accept":
                answer = reply.values.get("answer")
                if answer not in self._choices:
                    return "reject", f"the MCP client sent no answer that was offered ({', '.join(self._choices)})"
                return _MEANS[str(answer)]
            case "decline":
                return "reject", "the person at the MCP client said no"
            case "cancel":
                return "reject", "the person at the MCP client dismissed the question"

    def interact(self, request: Any) -> Any:
        """A question to the person; None when no answer is to be had.

        Of a tool (LCP section 13): {type: text | select, title, prompt, options, default}, answered with a text. A
        secret is never asked for through a client: a form of MCP must not hold any.
        Of an upstream server: {message, schema}, answered with the form's values, or {message, url}, with {} when the
        person has followed the link.
        Called on the asker's own thread, which waits.
        """
        exchange = current.get()
        asked = cast("Mapping[str, Any]", request if isinstance(request, Mapping) else {"prompt": request})
        if exchange is not None and relay.get() is not None and "input_requests" in asked:
            return self._relayed(exchange, asked["input_requests"])
        wanted = asked.get("sample")
        if exchange is not None and isinstance(wanted, CreateMessageRequestParams):
            asking = _asked(exchange, exchange.sample(wanted))
            reply = asyncio.run_coroutine_threadsafe(asking, self._loop).result()
            return reply.values["answer"] if reply is not None else None
        params = _question(asked)
        if exchange is None or params is None or exchange.unaskable(params.mode):
            return None
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            return None  # the answer could never arrive while this loop is held
        reply = asyncio.run_coroutine_threadsafe(_asked(exchange, exchange.ask(params)), self._loop).result()
        return _answer(asked, params, reply) if reply is not None and reply.action == "accept" else None

    def _relayed(self, exchange: Exchange, requests: Mapping[str, Any]) -> Any:
        asking = _asked(exchange, exchange.relay(requests))
        reply = asyncio.run_coroutine_threadsafe(asking, self._loop).result()
        return None if reply is None else {"input_responses": reply.values}

    interact.takes_forms = True  # type: ignore[attr-defined]  # a server's form comes whole, not field by field
    interact.no_secrets = _NO_SECRETS  # type: ignore[attr-defined]


async def _asked(exchange: Exchange, question: Coroutine[Any, Any, Reply]) -> Reply | None:
    asking = asyncio.ensure_future(question)
    await asyncio.wait({asking, exchange.task}, return_when=asyncio.FIRST_COMPLETED)
    if not asking.done():  # the call was given up, so nobody wants the answer
        asking.cancel()
        return None
    return asking.result()


def _answer(asked: Mapping[str, Any], params: ElicitRequestParams, reply: Reply) -> Any:
    if isinstance(params, ElicitRequestURLParams) or "schema" in asked:
        return dict(reply.values)
    answer = reply.values.get("answer")
    options = params.requested_schema["properties"]["answer"].get("enum")
    return None if answer is None or (options is not None and answer not in options) else str(answer)


def _question(asked: Mapping[str, Any]) -> ElicitRequestParams | None:
    """A request as an elicitation; None for what may not or cannot be one."""
    parts = [str(asked[key]) for key in ("title", "prompt", "message") if asked.get(key)]
    message = strict_text("\n\n".join(parts) or "The tool asks for an answer.")
    try:
        if "url" in asked:
            return ElicitRequestURLParams(message=message, url=asked["url"])
        if "schema" in asked:
            return ElicitRequestFormParams(message=message, requested_schema=strict(asked["schema"])[1])
    except ValidationError:
        return None
    kind = asked.get("type", "text")
    if kind == "secret":
        return None
    field: dict[str, Any] = {"type": "string", "title": str(asked.get("title") or "Answer")}
    if kind == "select":
        field["enum"] = [str(option) for option in asked.get("options") or ()]
        if not field["enum"]:
            return None
    default = asked.get("default")
    if isinstance(default, str) and default in field.get("enum", (default,)):
        field["default"] = default
    return _one_field(message, field)


def _one_field(message: str, field: dict[str, Any]) -> ElicitRequestFormParams:
    schema = {"type": "object", "properties": {"answer": strict(field)[1]}, "required": ["answer"]}
    return ElicitRequestFormParams(message=strict_text(message), requested_schema=schema)
