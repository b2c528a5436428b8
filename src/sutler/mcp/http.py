"""Streamable HTTP and SSE over the SDK's transports, with an HTTP client that tells what went wrong.

The SDK makes every HTTP status one error code, and one network error the end of its whole transport, which a caller
sees as its own cancellation. So the client here keeps status, headers and the head of the body for the exchange that
the request belongs to, and turns a network error into an answer that fails this one request.
Imports the SDK: to be imported when a server is to be reached.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED

from ..servers import ServerSpec
from .bearer import NotRefreshed
from .exchange import Exchange, HttpFailure, current
from .link import Link
from .stdio import LINE_CAP
from .streams import NOTICE, over_streams

_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError, NotRefreshed)
_BODY_SHOWN = 300
_FAREWELL = 2.0  # seconds that a DELETE of the session, or a notification, may take
_NETWORK_FAILED = 599


class _Client(httpx2.AsyncClient):
    """Records failures of POSTs, the requests that carry messages, and raises none of them."""

    on_failure: Callable[[Exchange], None] | None = None
    receipt_within: float | None = None  # seconds, where the answer to a POST is a receipt

    async def send(self, request: httpx2.Request, **more: Any) -> httpx2.Response:
        exchange = current.get()
        if request.method == "DELETE":
            try:
                async with asyncio.timeout(_FAREWELL):
                    return await super().send(request, **more)
            except (TimeoutError, httpx2.TransportError):
                return httpx2.Response(204, request=request)
        if request.method == "GET" and exchange is not None and exchange.broke is not None:
            exchange.broke()  # in the context of a call a GET is the SDK's for the rest of its stream
        if request.method != "POST" or exchange is None:
            return await super().send(request, **more)
        exchange.sent = True
        try:
            async with asyncio.timeout(_FAREWELL if exchange.method == NOTICE else self.receipt_within):
                response = await super().send(request, **more)
            kind = _kind(response)
            if kind == "application/json" and more.get("stream"):
                await response.aread()  # a body that breaks off fails here, where it costs one request
        except (httpx2.TransportError, TimeoutError) as error:
            exchange.sent = not isinstance(error, _NOT_SENT)
            exchange.failure = HttpFailure(network=_words(error, request), sent=exchange.sent)
            self._failed(exchange)
            return httpx2.Response(_NETWORK_FAILED, request=request)
        if response.status_code >= 300 or (
            response.status_code == 200 and kind not in ("application/json", "text/event-stream")
        ):
            exchange.failure = await _failure(response)
            self._failed(exchange)
        return response

    def _failed(self, exchange: Exchange) -> None:
        if self.on_failure is not None:
            self.on_failure(exchange)


@asynccontextmanager
async def over_http(spec: ServerSpec, link: Link, auth: httpx2.Auth | None = None) -> AsyncGenerator[TransportStreams]:
    """The streams of a server at spec.url."""
    timeout = httpx2.Timeout(30.0, connect=spec.connect_timeout, read=None)  # calls have deadlines of their own
    if spec.transport == "sse":

        def client(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx2.AsyncClient:
            made = _Client(headers=headers, timeout=timeout, auth=auth)
            made.receipt_within = spec.connect_timeout
            made.on_failure = lambda exchange: _refuse_all(exchange, link)
            return made

        async with (
            sse_client(
                spec.url,
                headers=dict(spec.headers),
                timeout=spec.connect_timeout,
                sse_read_timeout=24 * 3600.0,
                httpx_client_factory=client,
                auth=auth,
            ) as streams,
            over_streams(streams, link) as linked,
        ):
            yield linked
        return
    async with (
        _Client(headers=dict(spec.headers), timeout=timeout, auth=auth) as http,
        streamable_http_client(spec.url, http_client=http, max_sse_event_size=LINE_CAP) as streams,
        over_streams(streams, link) as linked,
    ):
        yield linked


def _refuse_all(exchange: Exchange, link: Link) -> None:
    """Over SSE the answer to a POST is only a receipt, so its failure is made the answer, and the last one."""
    for request in tuple(exchange.ids):
        link.refuse(request, CONNECTION_CLOSED, str(exchange.failure))
    link.end()


def _kind(response: httpx2.Response) -> str:
    return response.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _failure(response: httpx2.Response) -> HttpFailure:
    kind = _kind(response)
    head = ""
    try:
        if kind == "application/json":
            await response.aread()
            head = response.text
        elif response.status_code >= 400 or response.status_code == 200:
            async for chunk in response.aiter_text(4096):
                head = chunk
                break
    except (httpx2.HTTPError, httpx2.StreamError, UnicodeError):
        pass
    if "html" in kind:
        title = re.search(r"<title[^>]*>([^<]*)", head, re.IGNORECASE)
        head = title[1] if title else re.sub(r"<[^>]*>", " ", head)
    return HttpFailure(
        status=response.status_code,
        reason=response.reason_phrase,
        authenticate=response.headers.get("www-authenticate", "")[:_BODY_SHOWN],
        retry_after=_seconds(response.headers.get("retry-after")),
        content_type=kind,
        location=_location(response),
        body=" ".join(head.split())[:_BODY_SHOWN],
    )


def _location(response: httpx2.Response) -> str:
    """Where it redirects to, without what may carry state."""
    text = response.headers.get("location", "")
    if not text:
        return ""
    try:
        return str(response.request.url.join(text).copy_with(userinfo=b"", query=None, fragment=None))
    except httpx2.InvalidURL:
        return "a place that is no URL"


def _seconds(text: str | None) -> float | None:
    """Retry-After: seconds, or a date."""
    if not text:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except ValueError:
        return None


def _words(error: Exception, request: httpx2.Request) -> str:
    if isinstance(error, NotRefreshed):
        return str(error)
    if isinstance(error, httpx2.RequestError):
        with suppress(RuntimeError):  # it knows of none
            request = error.request  # where a login is refreshed, it is another host's
    where = f"{request.url.host}:{request.url.port or {'https': 443}.get(request.url.scheme, 80)}"
    match error:
        case TimeoutError():
            return f"{where} did not take the message in time"
        case httpx2.ConnectTimeout():
            return f"no connection to {where} came about in time"
        case httpx2.ConnectError():
            return f"no connection to {where}: {error}"
        case _:
            return f"the connection to {where} broke: {error or type(error).__name__}"
