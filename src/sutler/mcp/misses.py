"""Which servers did not answer the last time, on disk: a start does not wait for them again, though it tries them.

One small file per server beside what is remembered of its tools, 0600. It holds for an hour, for as long as the server
is configured as it was, variables and the program's own file included, and until the server answers.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..servers import ServerSpec
from ..state import private_dir, write_private
from .cache import key

HOLDS = 3600.0  # seconds
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """reason: masked. at: seconds of the epoch. seconds: how long it was waited for."""

    reason: str
    at: float
    seconds: float

    def __str__(self) -> str:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.at))
        return f"last tried {when}: {self.reason}"


class Misses:
    """`directory` None: nothing is remembered. What cannot be read or written is as if it were not there."""

    def __init__(self, directory: Path | None) -> None:
        self._folder = None if directory is None else directory / "mcp"

    def of(self, spec: ServerSpec) -> Miss | None:
        path = self._path(spec)
        if path is None:
            return None
        try:
            held: Any = json.loads(path.read_bytes())
            miss = Miss(reason=str(held["reason"]), at=float(held["at"]), seconds=float(held["seconds"]))
            good = held["format"] == FORMAT and held["setting"] == _setting(spec, bytes.fromhex(held["salt"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return miss if good and 0 <= time.time() - miss.at < HOLDS else None

    def note(self, spec: ServerSpec, reason: str, seconds: float) -> Miss:
        """Remember that it could not be had."""
        miss = Miss(reason=reason, at=time.time(), seconds=seconds)
        path, salt = self._path(spec), secrets.token_bytes(16)
        if path is not None:
            body = {"format": FORMAT, "reason": reason, "at": miss.at, "seconds": seconds}
            body |= {"salt": salt.hex(), "setting": _setting(spec, salt)}
            with suppress(StoreError, ValueError):
                private_dir(path.parent)
                write_private(path, json.dumps(body))
        return miss

    def clear(self, spec: ServerSpec) -> None:
        path = self._path(spec)
        if path is not None:
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _path(self, spec: ServerSpec) -> Path | None:
        return None if self._folder is None else self._folder / f"{key(spec)}.miss.json"


def _setting(spec: ServerSpec, salt: bytes) -> str:
    """A salted digest of what the file's name does not tell: the values of variables and headers, the program's age."""
    found = shutil.which(spec.command, path=spec.env.get("PATH")) if spec.command else None
    age = 0
    with suppress(OSError):
        age = Path(found).stat().st_mtime_ns if found else 0
    named = {name: os.environ.get(name, "") for name in spec.env_vars}
    parts = [sorted(spec.env.items()), sorted(named.items()), sorted(spec.headers.items()), age]
    text = json.dumps(parts, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=8, key=salt).hexdigest()
