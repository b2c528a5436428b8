"""Sends the token of a kept login with every request, and refreshes it. It asks nobody (MCP-01).

A server that wants a login, or more of one, is noted for `sutler login`, which asks for what was missing.

Not the SDK's own provider: that one refreshes at the MCP server's address when it has not met the issuer in this
process, and lets one request of a server wait for the answer to the one before.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, cast
from urllib.parse import quote

import httpx2

from ..errors import StoreError
from .logins import Challenge, Login, Logins
from .portal import off_loop


class NotRefreshed(httpx2.TransportError):
    """The issuer gave no word on a token that has to be refreshed, so the request was not sent."""


class Bearer(httpx2.Auth):
    """The login of one server, if there is one. Another process may refresh it too: the file is looked at first."""

    requires_response_body = False

    def __init__(self, url: str, login: Login | None, logins: Logins) -> None:
        self._url = url
        self._login = login
        self._logins = logins
        self._lock = asyncio.Lock()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        refused: set[str] = set()
        while True:
            if self._of_no_use(refused):
                async with self._lock:  # one of the requests that wait refreshes it for all
                    if self._of_no_use(refused):
                        self._login = await off_loop(lambda: self._logins.of(self._url)) or self._login
                    if self._of_no_use(refused) and (ask := _refresh(self._login)) is not None:
                        answer = yield ask
                        await answer.aread()
                        await self._take(answer)
            login = self._login
            if login is not None:
                request.headers["Authorization"] = f"Bearer {login.access}"
            response = yield request
            if response.status_code == 401 and login is not None and not refused and login.tokens.get("refresh_token"):
                refused.add(login.access)  # it may have been ended before its time
                continue
            if response.status_code in (401, 403):
                await self._note(response.status_code, response.headers.get("www-authenticate", ""))
            return

    async def _note(self, status: int, said: str) -> None:
        if status == 401 or "insufficient_scope" in said:
            challenge = Challenge(status=status, said=said)
            with suppress(StoreError):  # it is only for convenience
                await off_loop(lambda: self._logins.challenged(self._url, challenge))

    def _of_no_use(self, refused: set[str]) -> bool:
        return self._login is not None and (self._login.ended or self._login.access in refused)

    async def _take(self, answer: httpx2.Response) -> None:
        login = self._login
        assert login is not None
        if answer.status_code >= 500 or answer.status_code == 429:
            raise NotRefreshed(f"the login cannot be refreshed now: {login.issuer} says {answer.status_code}")
        tokens: Any = None
        if answer.status_code == 200:
            with suppress(ValueError):
                tokens = json.loads(answer.content)
        if isinstance(tokens, dict) and "access_token" in tokens:
            self._login = await off_loop(lambda: self._logins.refreshed(login, cast("dict[str, Any]", tokens)))


def _refresh(login: Login | None) -> httpx2.Request | None:
    """The request for new tokens; None where there is nothing to ask with."""
    if login is None or not login.tokens.get("refresh_token"):
        return None
    client = login.client
    data = {
        "grant_type": "refresh_token",
        "refresh_token": str(login.tokens["refresh_token"]),
        "client_id": str(client.get("client_id")),
    }
    if login.named:
        data["resource"] = login.resource
    headers: dict[str, str] = {"Accept": "application/json"}
    secret = client.get("client_secret")
    if secret and client.get("token_endpoint_auth_method") == "client_secret_basic":
        pair = f"{quote(data['client_id'], safe='')}:{quote(str(secret), safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    elif secret and client.get("token_endpoint_auth_method") == "client_secret_post":
        data["client_secret"] = str(secret)
    return httpx2.Request("POST", login.token_endpoint, data=data, headers=headers)
