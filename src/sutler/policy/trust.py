"""Which found config files the person has said yes to, word for word (TRU-01).

One small file per config in the state directory holds the digest and the whole text, so that a change can be shown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..state import locked, private_dir, state_dir, write_private
from .differences import unified


class TrustStore:
    """Trust in config files by their place and content. `folder` is the state directory; made when first written to."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = (state_dir() if folder is None else folder) / "trust"

    def trusted(self, path: Path, text: str) -> bool:
        """Whether exactly this text, at this place, was trusted. A record that cannot be read is no trust."""
        record = self._record(path)
        return record is not None and record["digest"] == _digest(text)

    def trust(self, path: Path, text: str) -> None:
        """Remember this text as trusted. StoreError when that cannot be written."""
        record = {
            "path": str(_real(path)),
            "digest": _digest(text),
            "text": text,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        private_dir(self._folder)
        with locked(self._folder / ".lock"):
            write_private(self._file(path), json.dumps(record, indent=1))

    def untrust(self, path: Path) -> bool:
        """Forget a config. False when there was nothing to forget."""
        try:
            self._file(path).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreError(f"{self._file(path)}: cannot be removed: {error.strerror}") from error
        return True

    def difference(self, path: Path, text: str) -> str:
        """A unified diff from the text last trusted (nothing, for a new file) to this one; empty when they are equal.

        Characters that could hide or reorder text on a terminal are shown as escapes.
        """
        record = self._record(path)
        if record is None:
            return unified("", text, "nothing trusted yet", str(path))
        return unified(str(record["text"]), text, f"{path} as trusted on {record['at']}", str(path))

    def _file(self, path: Path) -> Path:
        name = str(_real(path)).encode("utf-8", "surrogateescape")
        return self._folder / f"{blake2b(name, digest_size=16).hexdigest()}.json"

    def _record(self, path: Path) -> Mapping[str, Any] | None:
        """What was written by `trust`, or None: never written, unreadable, damaged, or another file's."""
        try:
            record: Any = json.loads(self._file(path).read_text(encoding="utf-8"))
            if record["path"] == str(_real(path)) and record["digest"] == _digest(record["text"]) and record["at"]:
                return record
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return None


def _real(path: Path) -> Path:
    """The file's own place: a link to a trusted file elsewhere is another file, with other folders beside it."""
    return Path(os.path.realpath(path.parent), path.name)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()
