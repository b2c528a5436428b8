"""Logins at MCP servers, kept on disk: one private file in the user's state directory (`sutler login`).

A login belongs to an issuer and to the resource that it was asked for (RFC 8707): its tokens, who we are to that
issuer, and where they are refreshed. A server's address points at one login. Two addresses point at the same one only
where the server itself says that a resource covers both; no token goes to an address that points elsewhere.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from ..errors import StoreError
from ..state import locked, private_dir, state_dir, write_private

FORMAT = 2
_EARLY = 10.0  # seconds before its end from which an access token counts as ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """One login. client: the registered client, as the issuer has it. tokens: as it gave them.

    named: whether the resource was named when the tokens were asked for, and so has to be when they are refreshed.
    ends: when the access token does, in seconds of the epoch; None when that is not known.
    """

    issuer: str
    resource: str
    named: bool = False
    token_endpoint: str
    client: Mapping[str, Any] = field(repr=False)
    tokens: Mapping[str, Any] = field(repr=False)
    ends: float | None = None

    @property
    def access(self) -> str:
        return str(self.tokens.get("access_token") or "")

    @property
    def ended(self) -> bool:
        return not self.access or (self.ends is not None and time.time() > self.ends - _EARLY)

    @property
    def scope(self) -> str:
        return str(self.tokens.get("scope") or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """An HTTP answer that wants a login: its status, 401 or 403, and its WWW-Authenticate."""

    status: int
    said: str


class Logins:
    """The file as it is now; every change is written at once. StoreError when it cannot be read or written."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder if folder is not None else state_dir()
        self.path = self._folder / "logins.json"

    def of(self, url: str) -> Login | None:
        """The login that this server points at."""
        held = self._read()
        place = held["servers"].get(url, {})
        return _find(held, place.get("issuer"), place.get("resource"))

    def held(self, issuer: str, resource: str) -> Login | None:
        """A login at this issuer for this resource, whichever server it was made for."""
        return _find(self._read(), issuer, resource)

    def keep(self, url: str, login: Login) -> None:
        """Remember a login, in place of the one before for its issuer and resource; this server points at it."""
        with self._changing() as held:
            _replace(held, login)
            held["servers"][url] = {"issuer": login.issuer, "resource": login.resource}

    def refreshed(self, login: Login, tokens: Mapping[str, Any]) -> Login:
        """The login with new tokens, for every server that points at it. What they leave out stays as it was."""
        kept = {name: login.tokens[name] for name in ("scope", "refresh_token") if login.tokens.get(name)}
        given = {name: value for name, value in tokens.items() if value is not None}
        fresh = made(login, {**kept, **given})
        with self._changing() as held:
            _replace(held, fresh)
        return fresh

    def challenge(self, url: str) -> Challenge | None:
        """How the server last said that it wants a login, or more of one; None when it did not since the last."""
        held = self._read()["servers"].get(url, {}).get("challenge")
        return None if held is None else Challenge(**held)

    def challenged(self, url: str, challenge: Challenge) -> None:
        """Remember that, for the next login: it asks for what was missing."""
        if self.challenge(url) != challenge:
            with self._changing() as held:
                held["servers"].setdefault(url, {})["challenge"] = asdict(challenge)

    def forget(self, url: str) -> bool:
        """Whether there was a login to forget. One that other servers point at stays theirs."""
        with self._changing() as held:
            return held["servers"].pop(url, {}).get("issuer") is not None

    @contextmanager
    def _changing(self) -> Generator[dict[str, Any]]:
        """Reads under a lock, and writes what was made of it, without logins that no server points at."""
        private_dir(self._folder)
        with locked(self.path.with_suffix(".lock")):
            held = self._read()
            yield held
            used = {(one.get("issuer"), one.get("resource")) for one in held["servers"].values()}
            held["logins"] = [one for one in held["logins"] if (one["issuer"], one["resource"]) in used]
            write_private(self.path, json.dumps(held, indent=1) + "\n")

    def _read(self) -> dict[str, Any]:
        try:
            held: Any = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {"format": FORMAT, "logins": [], "servers": {}}
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(f"{self.path}: cannot be read: {error} (remove it, and log in again)") from error
        if not isinstance(held, dict) or cast("dict[str, Any]", held).get("format") != FORMAT:
            raise StoreError(f"{self.path}: it is of another version of Sutler (remove it, and log in again)")
        return cast("dict[str, Any]", held)


def made(login: Login, tokens: Mapping[str, Any]) -> Login:
    """The login with these tokens, which count from now: `expires_in` is in seconds."""
    seconds = tokens.get("expires_in")
    ends = None if seconds is None else time.time() + float(seconds)
    return replace(login, tokens=dict(tokens), ends=ends)


def _find(held: Mapping[str, Any], issuer: object, resource: object) -> Login | None:
    for one in cast("list[dict[str, Any]]", held["logins"]):
        if (one["issuer"], one["resource"]) == (issuer, resource):
            return Login(**one)
    return None


def _replace(held: dict[str, Any], login: Login) -> None:
    others = [one for one in held["logins"] if (one["issuer"], one["resource"]) != (login.issuer, login.resource)]
    held["logins"] = [*others, asdict(login)]
