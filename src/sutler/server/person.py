"""The runtime's two ways to the person, over whichever client the call at hand is for (MCP-14)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from .asking import Exchange, Form, current
from .strict import strict_text

_MEANS = {"allow once": "allow", "always allow this tool": "always", "reject": "reject"}
_HOW = (
    "; allow it beforehand with `sutler serve --policy full_access`, or give the tool a lower grade in sutler.toml"
    " under [grades]"
)


class Person:
    """confirm_handler and user_interaction_handler of a served runtime. `loop`: the server's.

    shared: clients of several people may be served, so that "always" of one must not hold for all.
    """

    def __init__(self, *, shared: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._choices = [choice for choice, means in _MEANS.items() if means != "always" or not shared]

    async def confirm(self, source: str, script_label: str, argv: list[Any] | None = None) -> tuple[str, str]:
        """May this call run? (LCP section 5)"""
        del argv
        exchange = current.get()
        if exchange is None:
            return "reject", "the call belongs to no request of an MCP client, so there is nobody to ask"
        reply = await exchange.ask(strict_text(f"{script_label}\n\n{source}\n\nRun it?"), self._confirmation())
        match reply.action:
            case "unasked":
                return "reject", reply.why + _HOW
            case "accept":
                answer = reply.values.get("answer")
                if answer not in self._choices:
                    return "reject", f"the MCP client sent no answer that was offered ({', '.join(self._choices)})"
                decision = _MEANS[str(answer)]
                return decision, "" if decision != "reject" else "the person at the MCP client said no"
            case "decline":
                return "reject", "the person at the MCP client said no"
            case "cancel":
                return "reject", "the person at the MCP client dismissed the question"

    def interact(self, request: Any) -> str | None:
        """A tool's question to the person (LCP section 13): their answer, None when there is none to be had.

        Called on the tool's own thread, which waits. Secrets are never asked for through a client: a form of MCP must
        not hold any.
        """
        exchange = current.get()
        asked = cast("Mapping[str, Any]", request if isinstance(request, Mapping) else {"prompt": request})
        form = _form(asked)
        if exchange is None or form is None or exchange.unaskable:
            return None
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            return None  # the answer could never arrive while this loop is held
        return asyncio.run_coroutine_threadsafe(self._answer(exchange, _message(asked), form), self._loop).result()

    async def _answer(self, exchange: Exchange, message: str, form: Form) -> str | None:
        asking = asyncio.ensure_future(exchange.ask(message, form))
        await asyncio.wait({asking, exchange.task}, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():  # the call was given up, so nobody wants the answer
            asking.cancel()
            return None
        reply = asking.result()
        answer = reply.values.get("answer") if reply.action == "accept" else None
        options = form["properties"]["answer"].get("enum")
        if answer is None or (options is not None and answer not in options):
            return None
        return str(answer)

    def _confirmation(self) -> Form:
        return _one_field({"type": "string", "title": "Answer", "enum": self._choices})


def _form(asked: Mapping[str, Any]) -> Form | None:
    """The form of a request of type text or select; None for a secret."""
    kind = asked.get("type", "text")
    field: dict[str, Any] = {"type": "string", "title": strict_text(str(asked.get("title") or "Answer"))}
    if kind == "secret":
        return None
    if kind == "select":
        options = [strict_text(str(option)) for option in asked.get("options") or ()]
        if not options:
            return None
        field["enum"] = options
    default = asked.get("default")
    if isinstance(default, str) and default in field.get("enum", (default,)):
        field["default"] = strict_text(default)
    return _one_field(field)


def _one_field(field: dict[str, Any]) -> Form:
    return {"type": "object", "properties": {"answer": field}, "required": ["answer"]}


def _message(asked: Mapping[str, Any]) -> str:
    parts = [str(asked[key]) for key in ("title", "prompt") if asked.get(key)]
    return strict_text("\n\n".join(parts) or "The tool asks for an answer.")
