"""OAuth at MCP servers: the SDK's flow, with tokens kept in Logins, and a person's browser for `sutler login`.

Imports the SDK: used on the portal's loop and by `sutler login` only.
"""

from __future__ import annotations

import asyncio
import html
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from ..errors import SourceError
from ..servers import ServerSpec
from .logins import Logins

_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "sutler", "version": "0"},
    },
}
_SECONDS = 30.0  # one request of the flow

# what goes wrong is raised, and said in words; a host that listens to the SDK's log still hears it
logging.getLogger("mcp.client.auth").addHandler(logging.NullHandler())


def provider(spec: ServerSpec, logins: Logins) -> OAuthClientProvider:
    """Sends the kept token, and refreshes it. Asks nobody: a login that has ended is a failure that says so."""
    return OAuthClientProvider(spec.url, _who_we_are("http://127.0.0.1/callback"), _Kept(logins, spec.url))


async def login(spec: ServerSpec, logins: Logins, show: Callable[[str], None], *, seconds: float = 300.0) -> bool:
    """Takes a person through a login and keeps the tokens. False when the server wants none.

    show(url): where the person goes. SourceError with the reason when it does not come to a login within `seconds`.
    """
    answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
    door = await asyncio.start_server(lambda read, write: _answer(read, write, answer), "127.0.0.1", 0)
    port = door.sockets[0].getsockname()[1]
    fresh = _Kept(logins, spec.url, fresh=True)

    async def redirect(url: str) -> None:
        show(url)

    async def callback() -> AuthorizationCodeResult:
        return await answer

    auth = OAuthClientProvider(
        spec.url,
        _who_we_are(f"http://127.0.0.1:{port}/callback"),
        fresh,
        redirect_handler=redirect,
        callback_handler=callback,
    )
    headers = {**spec.headers, "accept": "application/json, text/event-stream"}
    try:
        async with (
            asyncio.timeout(seconds),
            httpx2.AsyncClient(auth=auth, timeout=_SECONDS) as http,
            http.stream("POST", spec.url, json=_HELLO, headers=headers) as response,
        ):
            status = response.status_code
    except TimeoutError:
        raise SourceError(f"{spec.id}: nobody logged in within {seconds:g} s") from None
    except (OAuthFlowError, httpx2.HTTPError, ValueError) as error:
        raise SourceError(f"{spec.id}: {error or type(error).__name__}") from error
    finally:
        door.close()
    if status in (401, 403):
        raise SourceError(f"{spec.id}: the server does not accept the login (HTTP {status})")
    return fresh.changed


def _who_we_are(callback: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(client_name="Sutler", redirect_uris=[AnyUrl(callback)])


class _Kept:
    """The SDK's TokenStorage over Logins.

    fresh: a login that is being made. What is there is not looked at, and stays until there are tokens.
    """

    def __init__(self, logins: Logins, url: str, *, fresh: bool = False) -> None:
        self._logins = logins
        self._url = url
        self._fresh = fresh
        self._client: dict[str, Any] | None = None  # of a fresh login: registered, and without tokens yet
        self.changed = False

    async def get_tokens(self) -> OAuthToken | None:
        held = None if self._fresh else self._logins.tokens(self._url)
        return None if held is None else OAuthToken.model_validate(held)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._logins.keep(self._url, client=self._client, tokens=_plain(tokens))
        self.changed = True

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        held = self._client if self._fresh else self._logins.client(self._url)
        return None if held is None else OAuthClientInformationFull.model_validate(held)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = _plain(client_info)
        if not self._fresh:
            self._logins.keep(self._url, client=self._client)


def _plain(model: Any) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: asyncio.Future[AuthorizationCodeResult]
) -> None:
    """One visit of the browser: the redirect of the authorization server, or something else that is sent away."""
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, TimeoutError):
        async with asyncio.timeout(10):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        where = urlsplit(head.split(" ", 2)[1])
        given = {name: values[0] for name, values in parse_qs(where.query).items()}
        status, said = "200 OK", "You are logged in. This page can be closed."
        if where.path != "/callback" or not ({"code", "error"} & set(given)):
            status, said = "404 Not Found", "There is nothing here."
        elif "code" not in given:
            said = f"The login was refused: {given.get('error_description') or given['error']}"
            if not answer.done():
                answer.set_exception(OAuthFlowError(said))
        elif not answer.done():
            answer.set_result(
                AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=given.get("iss"))
            )
        body = f"<!doctype html><title>Sutler</title><p>{html.escape(said)}</p>".encode()
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n".encode()
            + body
        )
        await writer.drain()
    writer.close()
