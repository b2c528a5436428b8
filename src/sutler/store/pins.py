"""Pinned definitions of tools, one row each: what a tool was when it was first used, or last accepted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .rows import Row, text

if TYPE_CHECKING:
    import sqlite3

_COLUMNS = "source, tool, digest, definition, at, accepted"
_FIRST = f"INSERT OR IGNORE INTO pins ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
_AGAIN = f"INSERT OR REPLACE INTO pins ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PinRecord:
    """definition: plain data. at: seconds since the epoch.

    accepted: a person looked at it and said yes, after another had been pinned.
    """

    source: str
    tool: str
    digest: str
    definition: Mapping[str, Any]
    at: float
    accepted: bool = False


def pin_row(pin: PinRecord) -> Row:
    """The first pin of a tool stays; one that is accepted takes its place."""
    definition = json.dumps(pin.definition)
    return (_AGAIN if pin.accepted else _FIRST), (
        text(pin.source),
        text(pin.tool),
        pin.digest,
        definition,
        pin.at,
        int(pin.accepted),
    )


def read_pins(connection: sqlite3.Connection) -> list[PinRecord]:
    return [
        PinRecord(source=source, tool=tool, digest=digest, definition=json.loads(held), at=at, accepted=bool(accepted))
        for source, tool, digest, held, at, accepted in connection.execute(f"SELECT {_COLUMNS} FROM pins")
    ]
