"""OpenTelemetry spans of programs and calls, for a host that has set up an SDK; else two look-ups a call (POL-07).

A program's span holds those of its calls, and a call's span what the tool does, in whatever thread, loop or worker it
runs: further calls, and the request to an MCP server, whose `_meta` carries the traceparent. A span processor of the
host's that fails is logged, and harms no call. Names and attributes follow the conventions for GenAI (`execute_tool`,
gen_ai.tool.*) and MCP; what is our own begins with `sutler.`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..store.records import masked_step

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

    from ..policy.masking import Masker
    from ..spec import RunResult
    from .frames import RunState
    from .ticket import Ticket

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable by which OpenTelemetry asks for arguments too; they are masked."""

_log = logging.getLogger("sutler")
_MISSING = object()
_made: tuple[object, Tracer] | None = None


def tracer() -> Tracer | None:
    """The tracer of the SDK that the host has set up, None without one. The API is never imported for this."""
    global _made
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    provider: Any = getattr(api, "_TRACER_PROVIDER", _MISSING)  # asking by the public way takes several us
    if provider is None:
        return None
    if provider is _MISSING:
        provider = api.get_tracer_provider()
    if _made is None or _made[0] is not provider:
        from .. import __version__

        _made = (provider, provider.get_tracer("sutler", __version__))
    return _made[1]


def begin_run(state: RunState) -> None:
    """A program begins: its span stands under what is current."""
    made = tracer()
    if made is not None:
        with _harmless():
            state.span = made.start_span("sutler.run", attributes={"sutler.run.id": state.run_id})


def end_run(state: RunState, result: RunResult, masker: Masker) -> None:
    span, state.span = state.span, None
    if span is None:
        return
    with _harmless():
        span.set_attribute("sutler.run.status", result.status)
        if result.error is not None:
            _failed(span, result.error.type, masker.value(result.error.message))
        span.end()


def begin_call(ticket: Ticket) -> None:
    """A call begins: its span stands under that of its program, or under what is current."""
    made = tracer()
    if made is not None:
        with _harmless():
            run = ticket.run
            parent = _within(run.span) if ticket.program and run is not None and run.span is not None else None
            ticket.span = made.start_span(f"execute_tool {ticket.name}", context=parent)


def end_call(ticket: Ticket, masker: Masker) -> None:
    """When a call is on record, or waits for a person while its program is put by."""
    span, ticket.span = ticket.span, None
    if span is None:
        return
    record = ticket.record
    with _harmless():
        span.set_attributes(_attributes(ticket, masker))
        if ticket.tool is not None:
            span.update_name(f"execute_tool {ticket.tool.spec.name}")
        if record is None:
            span.add_event("approval.waits")
        elif record.kind is not None:
            _failed(span, record.kind, masked_step(record, masker)[2] or "")
        span.end()


def note(ticket: Ticket, name: str, **attributes: str) -> None:
    """Something happened within a call: a person was asked, or has answered."""
    if ticket.span is not None:
        with _harmless():
            ticket.span.add_event(name, attributes)


def enter(ticket: Ticket) -> Token[Context] | None:
    """Makes the call's span current for what the tool does."""
    if ticket.span is None:
        return None
    from opentelemetry.context import attach

    return attach(_within(ticket.span))


def leave(token: Token[Context] | None) -> None:
    if token is not None:
        from opentelemetry.context import detach

        detach(token)


@contextmanager
def _harmless() -> Generator[None]:
    try:
        yield
    except Exception:
        _log.exception("OpenTelemetry failed on a span")


def _within(span: Span) -> Context:
    from opentelemetry.trace import set_span_in_context

    return set_span_in_context(span)


def _attributes(ticket: Ticket, masker: Masker) -> dict[str, Any]:
    found: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": ticket.tool.spec.name if ticket.tool is not None else ticket.name,
        "gen_ai.tool.call.id": ticket.call_id,
        "sutler.decision": ticket.decision.outcome,
    }
    if ticket.decision.by:
        found["sutler.decision.by"] = ticket.decision.by
    if ticket.run is not None:
        found["sutler.run.id"] = ticket.run.run_id
    if ticket.tool is None:
        return found
    origin = ticket.tool.spec.origin
    remote = origin.kind in ("mcp", "openapi")
    found |= {
        "gen_ai.tool.type": "extension" if remote else "function",
        "sutler.source": origin.source,
        "sutler.source.kind": origin.kind,
    }
    if origin.kind == "mcp":
        found["mcp.method.name"] = "tools/call"
    if os.environ.get(CONTENT, "").lower() == "true" and ticket.call is not None:
        import json

        shown = masker.arguments(ticket.call.arguments, ticket.tool.spec.input_schema)
        found["gen_ai.tool.call.arguments"] = json.dumps(dict(shown), default=str)
    return found


def _failed(span: Span, kind: str, message: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, message))
