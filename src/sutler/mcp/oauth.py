"""`sutler login`: the SDK's OAuth flow once, with a person's browser, and what it brought into Logins.

Imports the SDK: used by `sutler login` only. What is kept is sent by `bearer`.
"""

from __future__ import annotations

import asyncio
import html
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import is_valid_client_metadata_url
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from ..errors import SourceError
from ..servers import OAuth, ServerSpec
from .bearer import Bearer
from .logins import Challenge, Login, Logins, made

_REVISION = "2025-11-25"
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": _REVISION,
        "capabilities": {},
        "clientInfo": {"name": "sutler", "version": "0"},
    },
}
_LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
_SECONDS = 30.0  # one request of the flow

# what goes wrong is raised, and said in words; a host that listens to the SDK's log still hears it
logging.getLogger("mcp.client.auth").addHandler(logging.NullHandler())


class _Covered(Exception):
    """There is a login for this issuer and resource already, made for another server."""

    def __init__(self, login: Login) -> None:
        super().__init__(login.resource)
        self.login = login


async def login(spec: ServerSpec, logins: Logins, show: Callable[[str], Any], *, seconds: float = 300.0) -> bool:
    """Takes a person through a login and keeps the tokens. False when the server wants none.

    show(url): where the person goes; not called where a login that is kept covers this server too (RFC 8707).
    SourceError with the reason when it does not come to a login within `seconds`.
    """
    try:
        async with asyncio.timeout(seconds):
            try:
                return await _logged_in(spec, logins, show, share=logins.of(spec.url) is None)
            except _Covered as found:
                if await _accepted(spec, Bearer(spec.url, found.login, logins)):
                    logins.keep(spec.url, logins.held(found.login.issuer, found.login.resource) or found.login)
                    return True
                return await _logged_in(spec, logins, show, share=False)
    except TimeoutError:
        raise SourceError(f"{spec.id}: nobody logged in within {seconds:g} s") from None
    except OAuthRegistrationError as error:
        said = f"the authorization server registers no client by itself ({_first_line(error)})"
        hint = "register one there by hand, and give its id as `client_id` in the server's `oauth` table"
        raise SourceError(f"{spec.id}: {said}; {hint}") from error
    except (OAuthFlowError, httpx2.HTTPError, ValueError) as error:
        raise SourceError(f"{spec.id}: {error or type(error).__name__}") from error


async def _logged_in(spec: ServerSpec, logins: Logins, show: Callable[[str], Any], *, share: bool) -> bool:
    oauth = spec.oauth or OAuth()
    answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
    try:
        door = await asyncio.start_server(
            lambda read, write: _answer(read, write, answer), "127.0.0.1", oauth.callback_port
        )
    except OSError as error:
        raise SourceError(f"{spec.id}: the callback port {oauth.callback_port} is not free: {error}") from error
    address = f"http://127.0.0.1:{door.sockets[0].getsockname()[1]}/callback"
    before, challenge = logins.of(spec.url), logins.challenge(spec.url)
    fresh = _Fresh(oauth, address, before.scope if before is not None else "")

    async def redirect(page: str) -> None:
        kept = logins.held(_issuer(auth.context), auth.context.get_resource_url()) if share else None
        if kept is not None:
            raise _Covered(kept)
        show(page)

    async def callback() -> AuthorizationCodeResult:
        return await answer

    by_address = is_valid_client_metadata_url(oauth.client_id)
    auth = OAuthClientProvider(
        spec.url,
        OAuthClientMetadata(client_name="Sutler", redirect_uris=[AnyUrl(address)]),
        fresh,
        redirect_handler=redirect,
        callback_handler=callback,
        client_metadata_url=oauth.client_id if by_address else None,
    )
    try:
        status = await _first_words(spec, auth, challenge=challenge, done=lambda: fresh.tokens is not None)
    finally:
        door.close()
    if status in (401, 403):
        raise SourceError(f"{spec.id}: the server does not accept the login (HTTP {status})")
    if fresh.tokens is None:
        return False
    logins.keep(spec.url, _made(auth.context, fresh.tokens))
    return True


async def _first_words(
    spec: ServerSpec, auth: OAuthClientProvider, *, challenge: Challenge | None, done: Callable[[], bool]
) -> int:
    """First messages to the server, and the login where it wants one. The last HTTP status.

    challenge: what it refused before: the flow gets to hear that first, so that it asks for what was missing.
    """
    scopes = spec.oauth.scopes if spec.oauth is not None else ()
    async with httpx2.AsyncClient(timeout=_SECONDS) as http:
        headers = {**spec.headers, "accept": "application/json, text/event-stream"}
        status = 0
        for message in (_HELLO, _LIST):  # some let everybody in, and nobody see anything
            request = http.build_request("POST", spec.url, json=message, headers=headers)
            flow = auth.async_auth_flow(request)
            asked = await anext(flow)
            heard = challenge or await _send(http, asked, server=asked is request)
            while True:
                response = heard if isinstance(heard, httpx2.Response) else _refusal(request, heard)
                if scopes and asked is request and response.status_code == 401:
                    said = _asking(response.headers.get("www-authenticate") or "Bearer", scopes)
                    response = _refusal(request, Challenge(status=401, said=said))
                try:
                    asked = await flow.asend(response)
                except StopAsyncIteration:
                    break
                heard = await _send(http, asked, server=asked is request)
            status = response.status_code
            if done() or status >= 300:
                return status
            if session := response.headers.get("mcp-session-id"):
                headers["mcp-session-id"] = session
            headers["mcp-protocol-version"] = _REVISION
        return status


def _refusal(request: httpx2.Request, challenge: Challenge) -> httpx2.Response:
    return httpx2.Response(challenge.status, headers={"www-authenticate": challenge.said}, request=request)


def _asking(said: str, scopes: tuple[str, ...]) -> str:
    """The challenge with these scopes in place of its own."""
    said = re.sub(r'[, ]*\bscope=("[^"]*"|[^\s,]+)', "", said)
    return f'{said}{"," if "=" in said else ""} scope="{" ".join(scopes)}"'


async def _accepted(spec: ServerSpec, auth: httpx2.Auth) -> bool:
    """Whether the server takes this login."""
    async with httpx2.AsyncClient(auth=auth, timeout=_SECONDS) as http:
        headers = {**spec.headers, "accept": "application/json, text/event-stream"}
        async with http.stream("POST", spec.url, json=_HELLO, headers=headers) as response:
            return response.status_code not in (401, 403)


async def _send(http: httpx2.AsyncClient, request: httpx2.Request, *, server: bool) -> httpx2.Response:
    """server: it is its own answer, which may be a stream without an end: of that the head is enough."""
    response = await http.send(request, stream=True)
    if not server or response.status_code >= 400:
        await response.aread()
    await response.aclose()
    return response


def _first_line(error: Exception) -> str:
    """Some answer with a whole page."""
    return " ".join(str(error).partition("<")[0].split()) or type(error).__name__


def _issuer(context: OAuthContext) -> str:
    if context.oauth_metadata is not None:
        return str(context.oauth_metadata.issuer)
    return context.auth_server_url or context.get_authorization_base_url(context.server_url)


def _made(context: OAuthContext, tokens: OAuthToken) -> Login:
    """What the flow has found out, to be kept."""
    metadata, client = context.oauth_metadata, context.client_info
    base = context.get_authorization_base_url(context.server_url)
    endpoint = str(metadata.token_endpoint) if metadata is not None else urljoin(base, "/token")
    login = Login(
        issuer=_issuer(context),
        resource=context.get_resource_url(),
        named=context.should_include_resource_param(context.protocol_version),
        token_endpoint=endpoint,
        client=_plain(client) if client is not None else {},
        tokens={},
    )
    return made(login, _plain(tokens))


class _Fresh:
    """The SDK's TokenStorage for a login that is being made. What is kept stays until there are tokens."""

    def __init__(self, oauth: OAuth, callback: str, scope: str) -> None:
        self.tokens: OAuthToken | None = None
        self._scope = scope  # granted before: a login for more keeps it
        self._client: OAuthClientInformationFull | None = None
        if oauth.client_id and not is_valid_client_metadata_url(oauth.client_id):
            self._client = OAuthClientInformationFull(
                client_id=oauth.client_id,
                client_secret=oauth.client_secret or None,
                redirect_uris=[AnyUrl(callback)],
                token_endpoint_auth_method="client_secret_basic" if oauth.client_secret else "none",
            )

    async def get_tokens(self) -> OAuthToken | None:
        return OAuthToken(access_token="", scope=self._scope) if self._scope else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        del client_info


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
