"""What a server's tools were when it was last reached, on disk: a warm start lists them before any server is up.

One file per server, 0600, in the user's cache directory. Its name is a digest of what makes the server the one it is;
neither arguments nor values of variables stand in it. It is only ever a promise: the server confirms it or not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..errors import StoreError
from ..servers import RemoteTool, ServerSpec
from ..state import private_dir, write_private

FORMAT = 1
_LARGEST = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """era: `legacy`, `modern` or "" for not known. server: its own name and version."""

    era: str = ""
    server: str = ""
    tools: tuple[RemoteTool, ...] = ()


def key(spec: ServerSpec) -> str:
    """The digest of how a server is reached: not of secrets' values, of the names that they go by."""
    parts = [
        *(spec.id, spec.transport, spec.command, list(spec.args), spec.url, str(spec.cwd)),
        *(sorted(spec.env), sorted(spec.env_vars), sorted(name.lower() for name in spec.headers)),
    ]
    text = json.dumps(parts, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class ServerCache:
    """`directory` None: nothing is remembered."""

    def __init__(self, directory: Path | None) -> None:
        self._folder = None if directory is None else directory / "mcp"

    def load(self, spec: ServerSpec) -> tuple[Remembered | None, str]:
        """What is remembered, and a note when it could not be read."""
        if self._folder is None:
            return None, ""
        path = self._folder / f"{key(spec)}.json"
        try:
            if path.stat().st_size > _LARGEST:
                raise ValueError("it is too large")
            held: Any = json.loads(path.read_bytes())
            if held["format"] != FORMAT:
                return None, ""
            tools = tuple(RemoteTool(definition=entry, cached=True) for entry in cast("list[Any]", held["tools"]))
            return Remembered(era=_text(held["era"]), server=_text(held["server"]), tools=tools), ""
        except FileNotFoundError:
            return None, ""
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            return None, f"{path}: what is remembered of it is damaged and is made anew: {error}"

    def save(self, spec: ServerSpec, tools: Sequence[RemoteTool], *, era: str, server: str) -> str:
        """Remember. Returns a note when that failed, "" otherwise."""
        if self._folder is None:
            return ""
        body = {"format": FORMAT, "era": era, "server": server, "tools": [tool.definition for tool in tools]}
        try:
            private_dir(self._folder)
            write_private(self._folder / f"{key(spec)}.json", json.dumps(body, separators=(",", ":")))
        except (StoreError, ValueError, RecursionError) as error:
            return f"its tools cannot be remembered: {error}"
        return ""


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError("not a text")
    return value
