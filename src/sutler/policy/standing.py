"""A person's word that holds beyond one call: what it covers, how long, and where it is remembered (POL-04)."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..spec import ToolSpec
from .answers import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingApproval:
    """One "always". It covers calls of this very definition: source, tool and digest.

    arguments: the digest of the only arguments it covers, None for any; shown: those arguments in words.
    asked: what asked when it was given, such as a rule. For any arguments, it covers no question of another rule or
    policy source, only those of the level; "" covers whatever asks. run: the only run it covers.
    given, expires: seconds since the epoch; expires None: as long as its scope.
    """

    source: str
    tool: str
    digest: str
    scope: Scope
    arguments: str | None = None
    shown: str = ""
    run: str | None = None
    asked: str = ""
    given: float = field(default_factory=time.time)
    expires: float | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(4))

    @property
    def qualified(self) -> str:
        return f"{self.source}::{self.tool}"

    @property
    def expired(self) -> bool:
        return self.expires is not None and time.time() >= self.expires

    def covers(self, spec: ToolSpec, arguments: Mapping[str, Any], run: str | None, asks: str) -> bool:
        return (
            (self.source, self.tool, self.digest) == (spec.origin.source, spec.name, spec.digest)
            and not self.expired
            and (self.run is None or self.run == run)
            and (self.asked in ("", asks) or asks.startswith("level ") or self.arguments is not None)
            and (self.arguments is None or self.arguments == digest_of(arguments))
        )


def digest_of(arguments: Mapping[str, Any]) -> str:
    """BLAKE2 of canonical JSON: the same for the same arguments, whatever their order."""
    text = json.dumps(dict(arguments), sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=repr)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def covering(
    held: Iterable[StandingApproval], spec: ToolSpec, arguments: Mapping[str, Any], run: str | None, asks: str
) -> StandingApproval | None:
    return next((one for one in held if one.covers(spec, arguments, run, asks)), None)


class Remembered:
    """The standing approvals of one runtime, in memory; they end with it. From any thread."""

    def __init__(self) -> None:
        self._held: tuple[StandingApproval, ...] = ()  # replaced, never changed, so that reading needs no lock
        self._lock = threading.Lock()

    @property
    def all(self) -> tuple[StandingApproval, ...]:
        return tuple(one for one in self._held if not one.expired)

    def find(self, spec: ToolSpec, arguments: Mapping[str, Any], run: str | None, asks: str) -> StandingApproval | None:
        held = self._held
        return covering(held, spec, arguments, run, asks) if held else None

    def add(self, approval: StandingApproval) -> None:
        with self._lock:
            self._held = (*self.all, approval)

    def remove(self, approval_id: str) -> StandingApproval | None:
        with self._lock:
            gone = next((one for one in self._held if one.id == approval_id), None)
            self._held = tuple(one for one in self._held if one is not gone)
        return gone

    def run_ended(self, run: str) -> None:
        if any(one.run == run for one in self._held):
            with self._lock:
                self._held = tuple(one for one in self._held if one.run != run)
