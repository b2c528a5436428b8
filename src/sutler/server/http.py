"""Streamable HTTP: who may come in, and the web server (SRV-03)."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import secrets
import socket
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from .events import RETRY, Sessions

PATH: Final = "/mcp"
MAX_BODY: Final = 32 << 20  # bytes of one request
_LOOPBACK: Final = frozenset(("localhost", "127.0.0.1", "::1"))
_ANY: Final = frozenset(("0.0.0.0", "::", ""))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound there."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    return secrets.token_urlsafe(32)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. OSError says why not."""
    family, _, _, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError:
        listening.close()
        raise
    return listening


def url_of(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Who may come in. token: None lets everybody in who passes the rest. host: where the server is bound.

    A page of a web site that somebody has open can send requests to this machine, under a name of its own that it lets
    resolve to here. Such a request carries that name as its Host, and the site as its Origin.
    """

    host: str
    token: str | None

    def refusal(self, headers: MutableMapping[str, str]) -> tuple[int, str] | None:
        """(status, words) for a request that may not come in."""
        host = headers.get("host", "")
        if not self._knows(host):
            return 421, f"Host {host[:100]!r} is not this server"
        origin = headers.get("origin")
        if origin is not None and not self._same(origin, host):
            return 403, f"requests from {origin[:100]!r} are not taken"
        if self.token is not None:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self.token.encode()):
                return 401, "a bearer token is needed: the one that `sutler serve` printed, or was given"
        return None

    def _knows(self, host: str) -> bool:
        name = _name(host)
        if name is None:
            return False
        if is_loopback(self.host):
            return name in _LOOPBACK or name == self.host.strip("[]").lower()
        return self.host in _ANY or name in (self.host.strip("[]").lower(), *_LOOPBACK)

    def _same(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
            name = (parts.hostname or "").lower()
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and (name in _LOOPBACK or name == _name(host))


def _name(host: str) -> str | None:
    """The name in a Host header, without its port."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises for one that is none
    except ValueError:
        return None
    return None if parts.username is not None or parts.path or not parts.hostname else parts.hostname.lower()


class Guarded:
    """An ASGI app behind its door."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers: dict[str, str] = {}
            for raw, value in scope["headers"]:
                headers.setdefault(raw.decode("latin-1").lower(), value.decode("latin-1"))
            refused = self._door.refusal(headers)
            if refused is not None:
                await _refuse(send, *refused)
                return
        await self._app(scope, receive, send)


async def _refuse(send: Send, status: int, words: str) -> None:
    error: dict[str, Any] = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": words}}
    headers = [(b"content-type", b"application/json")]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(error).encode()})


async def serve_http(server: Server[Any], door: Door, listening: socket.socket, end: asyncio.Event) -> None:
    """Serves until `end` is set."""
    import uvicorn

    class Web(uvicorn.Server):
        """Leaves the signals alone: they are the whole server's."""

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            yield

    sessions = Sessions(
        app=server,
        retry_interval=RETRY,
        max_request_body_size=MAX_BODY,
        # the door has looked at Host and Origin already, and knows where the server is bound
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app = Starlette(routes=[Route(PATH, endpoint=StreamableHTTPASGIApp(sessions))], lifespan=lambda app: sessions.run())
    config = uvicorn.Config(
        Guarded(app, door),
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    web = Web(config)

    async def stop() -> None:
        await end.wait()
        web.should_exit = True

    stopping = asyncio.create_task(stop())
    try:
        await web.serve(sockets=[listening])
    finally:
        stopping.cancel()
