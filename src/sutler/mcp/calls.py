"""One call of a tool on a server: within a time, in a place, made again only where that can do no harm (MCP-09)."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from ..errors import InvalidArguments, ToolCrashed, ToolError, ToolTimeout, ToolUnavailable
from ..servers import InputRequired, RemoteError, RemoteResult
from .exchange import Exchange, Lost
from .relay import relay, whose
from .server_task import ServerTask

CALL_SECONDS = 60.0
_TRIES = 3
_PATIENCE = 5.0  # the longest Retry-After that a safe call waits out


async def call(
    own: ServerTask,
    tool: str,
    arguments: Mapping[str, Any],
    *,
    choose: Callable[[ServerTask], Awaitable[ServerTask]],
    seconds: float | None = None,
    progress: Callable[..., Any] | None = None,
    ask: Callable[[dict[str, Any]], Any] | None = None,
    vet: Callable[[Any], Awaitable[None]] | None = None,
) -> RemoteResult:
    """See ServerManager.call. choose(task): which of the server's sessions is the one for this call."""
    task, spec = own, own.spec
    name = f"{spec.id}::{tool}"
    _encodable(arguments, name)
    override = spec.tools.get(tool)
    seconds = seconds or (override.timeout if override else None) or spec.timeout or CALL_SECONDS
    doing = ""
    exchange: Exchange | None = None
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            notes: list[str] = []
            client = relay.get()
            responses, state = client.responses if client is not None else None, None
            attempt = 0
            while attempt < _TRIES:
                attempt += 1
                doing = "the server is not ready" + (f" ({task.reason})" if task.reason else "")
                if client is not None:
                    task = await choose(own)
                session = task.present or await task.session()
                if vet is not None:
                    await own.known.read()
                    await vet((own if own.live else task).known.definition(tool))
                doing = f"all {spec.concurrency} places of the server were taken"
                async with own.slots:
                    doing = "no answer"
                    exchange = Exchange(
                        method="tools/call",
                        tool=tool,
                        whose=whose.get(),
                        progress=progress,
                        ask=ask,
                        relay=client if client is not None and client.modern and session.era == "modern" else None,
                        log=client.log if client is not None else None,
                        broke=client.broke if client is not None else None,
                        deadline=limit,
                        notes=[*notes],
                    )
                    try:
                        answer = await session.call(tool, arguments, exchange, responses=responses, state=state)
                    except Lost as lost:
                        await _again(own, lost, tool, attempt)
                        notes.append(f"it was asked again: {task.words(str(lost))}")
                        continue
                    except ToolUnavailable as error:
                        raise ToolUnavailable(task.words(f"{spec.id}: {error}"), retryable=error.retryable) from None
                    except ToolError as error:
                        raise ToolError(
                            task.words(str(error)),
                            output=error.output,
                            notes=exchange.notes,
                            wire=_masked(task, error.wire),
                        ) from None
                if not isinstance(answer, InputRequired):
                    return _without_secrets(task, answer) if answer.is_error else answer
                attempt = 0
                from .questions import unhurried

                # outside of its place, which others can have while a person thinks
                asked = {"server": spec.id, "tool": tool, "input_requests": answer.requests}
                given = await unhurried(ask, asked, exchange) if ask is not None else None
                if given is None:
                    raise ToolError("the server asks for input, and the client gave none", notes=exchange.notes)
                responses, state = given["input_responses"], answer.state
    except TimeoutError:
        harmless = exchange is None or not exchange.sent or _safe(own, tool)
        raise ToolTimeout(task.words(f"{name}: {doing} within {seconds:g} s"), retryable=harmless) from None
    raise AssertionError("unreachable")


def _without_secrets(task: ServerTask, answer: RemoteResult) -> RemoteResult:
    """What a tool says of its failure, which may be what it was started with."""
    content, structured, meta = task.masked((answer.content, answer.structured, answer.meta))
    return replace(answer, content=tuple(content), structured=structured, meta=meta)


def _masked(task: ServerTask, wire: Any) -> Any:
    if not isinstance(wire, RemoteError):
        return wire
    return RemoteError(code=wire.code, message=task.words(wire.message), data=task.masked(wire.data))


async def _again(task: ServerTask, lost: Lost, tool: str, attempt: int) -> None:
    """Return when the call may be made once more: it was never sent, or does no harm twice."""
    name, why = f"{task.spec.id}::{tool}", task.words(str(lost))
    may = not lost.sent or _safe(task, tool)
    if not may and not lost.refused:
        raise ToolCrashed(
            f"{name}: {why}; whether the call took effect is not known, and it is not one to repeat unasked"
        ) from None
    if not may or attempt == _TRIES or lost.again_in > _PATIENCE:
        raise ToolUnavailable(f"{name}: {why}; try again later", retryable=True) from None
    await asyncio.sleep(lost.again_in)


def _safe(task: ServerTask, tool: str) -> bool:
    """Whether the server says that calling it twice is as good as once."""
    for one in task.tools:
        if one.name == tool:
            hints: Any = one.definition.get("annotations")
            if isinstance(hints, dict):
                held = cast("dict[str, Any]", hints)
                return held.get("readOnlyHint") is True or held.get("idempotentHint") is True
    return False


def _encodable(arguments: Mapping[str, Any], name: str) -> None:
    """Refuse here what JSON has no form for: in the transport it would cost the connection, or silently become null."""
    if all(_plainly(key) and _plainly(value) for key, value in arguments.items()):
        return
    try:
        json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArguments(f"{name}: the arguments have no form in JSON: {error}") from None


def _plainly(value: Any) -> bool:
    """Whether one look tells that JSON has a form for it."""
    kind = cast("type[object]", type(value))
    if kind is str:
        return value.isascii()
    return value is None or kind is bool or (kind is float and math.isfinite(value))
