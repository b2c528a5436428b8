"""Logins at MCP servers, kept on disk: one private file in the user's state directory (`sutler login`).

By the server's URL: who we are there (the registered client, which names its issuer), the tokens, and when the access
token ends. The tokens of one server are never sent to another.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from ..errors import StoreError
from ..state import locked, private_dir, state_dir, write_private

FORMAT = 1
_EARLY = 10.0  # seconds before its end from which an access token counts as ended


class Logins:
    """The file as it is now; every change is written at once. StoreError when it cannot be read or written."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder if folder is not None else state_dir()
        self.path = self._folder / "logins.json"

    def has(self, url: str) -> bool:
        return "tokens" in self._read().get(url, {})

    def client(self, url: str) -> dict[str, Any] | None:
        """The registered client, as the SDK wrote it."""
        return self._read().get(url, {}).get("client")

    def tokens(self, url: str) -> dict[str, Any] | None:
        """The tokens as the server gave them; an access token that has ended is "", so that it is asked for anew."""
        entry = self._read().get(url, {})
        tokens: dict[str, Any] | None = entry.get("tokens")
        ends = entry.get("ends")
        if tokens is not None and ends is not None and time.time() > ends - _EARLY:
            return {**tokens, "access_token": ""}
        return tokens

    def keep(self, url: str, *, client: dict[str, Any] | None = None, tokens: dict[str, Any] | None = None) -> None:
        """Remember these, or one of them. tokens: with `expires_in`, in seconds from now, or without an end."""
        with self._changing() as held:
            entry = held.setdefault(url, {})
            if client is not None:
                entry["client"] = client
            if tokens is not None:
                entry["tokens"] = tokens
                seconds = tokens.get("expires_in")
                entry["ends"] = None if seconds is None else time.time() + float(seconds)

    def forget(self, url: str) -> bool:
        """Whether there was a login to forget."""
        with self._changing() as held:
            return held.pop(url, None) is not None

    @contextmanager
    def _changing(self) -> Generator[dict[str, dict[str, Any]]]:
        """Reads under a lock, and writes what was made of it."""
        private_dir(self._folder)
        with locked(self.path.with_suffix(".lock")):
            held = self._read()
            yield held
            write_private(self.path, json.dumps({"format": FORMAT, "servers": held}, indent=1) + "\n")

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            held: Any = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(f"{self.path}: cannot be read: {error} (remove it, and log in again)") from error
        if not isinstance(held, dict) or cast("dict[str, Any]", held).get("format") != FORMAT:
            raise StoreError(f"{self.path}: it is of another version of Sutler (remove it, and log in again)")
        return cast("dict[str, dict[str, dict[str, Any]]]", held)["servers"]
