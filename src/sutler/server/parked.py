"""Calls that wait for a person in the modern era: the client holds the key, and comes back with the answer."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams, ElicitResult

from .asking import KEY, Exchange, Question, Reply, Wire, reply_of

WAIT: Final = 600.0  # seconds that a call waits for the client to come back
MOST: Final = 256  # calls that wait at one time


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    exchange: Exchange
    question: Question
    request: str
    timer: asyncio.TimerHandle


class Parked:
    """The calls that wait. A key is a secret of its request: 192 random bits, good once, for that very call."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    def put(self, exchange: Exchange, question: Question, params: CallToolRequestParams) -> Wire:
        """What the client is answered with. The oldest call is given up when too many wait."""
        if len(self._waiting) >= MOST:
            self._give_up(next(iter(self._waiting)))
        key = secrets.token_urlsafe(24)
        timer = asyncio.get_running_loop().call_later(WAIT, self._give_up, key)
        self._waiting[key] = _Waiting(exchange=exchange, question=question, request=_told(params), timer=timer)
        return {"resultType": "input_required", "inputRequests": dict(question.requests), "requestState": key}

    def take(self, params: CallToolRequestParams) -> Exchange:
        """The call that the client comes back to, with its answer given. MCPError for a key that is none."""
        waiting = self._waiting.get(params.request_state or "")
        if waiting is None or waiting.request != _told(params):
            raise MCPError(code=INVALID_PARAMS, message="Invalid or expired requestState")
        del self._waiting[params.request_state or ""]
        waiting.timer.cancel()
        if not waiting.question.reply.done():
            waiting.question.reply.set_result(_reply(waiting.question, params.input_responses or {}))
        return waiting.exchange

    def close(self) -> None:
        for key in list(self._waiting):
            self._give_up(key)

    def _give_up(self, key: str) -> None:
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            waiting.timer.cancel()
            waiting.exchange.task.cancel()


def _reply(question: Question, responses: Mapping[str, Any]) -> Reply:
    if question.relayed:
        return Reply(action="accept", values=responses)
    response = responses.get(KEY)
    if isinstance(response, ElicitResult):
        return reply_of(response)
    return Reply(action="unasked", why="the MCP client came back without an answer")


def _told(params: CallToolRequestParams) -> str:
    """What a request asks for; one that comes back must ask for the same."""
    return json.dumps([params.name, params.arguments or {}], sort_keys=True)
