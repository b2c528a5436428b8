"""Stored programs are sealed: the sandbox does not authenticate what it loads, so only our own bytes get there."""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..errors import SutlerError
from ..state import locked, private_dir, state_dir, write_private

_SIZE = 32


class Seal:
    """Signs with the key of the user's state directory, or, for a store in memory, with one that dies with us."""

    def __init__(self, *, on_disk: bool) -> None:
        self._key = _stored_key(state_dir()) if on_disk else secrets.token_bytes(_SIZE)

    def close(self, run_id: str, program: str, state: bytes, secrets: Iterable[str] = ()) -> bytes:
        """secrets: what is hidden in the program, and must go on being masked."""
        hidden = json.dumps(sorted(secrets)).encode()
        body = len(hidden).to_bytes(8, "big") + hidden + state
        return self._sign(run_id, program, body) + body

    def open(self, run_id: str, program: str, sealed: bytes) -> tuple[bytes, list[str]]:
        """The bytes and secrets that were sealed for this run and program. SutlerError when they are anything else."""
        mark, body = sealed[:_SIZE], sealed[_SIZE:]
        if not hmac.compare_digest(mark, self._sign(run_id, program, body)):
            raise SutlerError(f"run {run_id}: the stored program is not as it was stored here; it cannot go on")
        end = 8 + int.from_bytes(body[:8], "big")
        return body[end:], json.loads(body[8:end])

    def _sign(self, run_id: str, program: str, state: bytes) -> bytes:
        mac = hmac.new(self._key, b"2", digestmod="blake2s")
        for part in (run_id.encode(), program.encode("utf-8", "surrogatepass"), state):
            mac.update(len(part).to_bytes(8, "big") + part)
        return mac.digest()


def _stored_key(folder: Path) -> bytes:
    private_dir(folder)
    path = folder / "key"
    with locked(folder / "key.lock"):
        with suppress(FileNotFoundError, ValueError):
            key = bytes.fromhex(path.read_text(encoding="ascii"))
            if len(key) == _SIZE:
                return key
        key = os.urandom(_SIZE)
        write_private(path, key.hex())
        return key
