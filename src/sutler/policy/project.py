"""Standing approvals of a project: one small file in the state directory, never in the project itself (POL-04).

A file that cannot be read, or holds anything that was not written here, counts for nothing: calls ask.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..spec import ToolSpec
from ..state import locked, private_dir, state_dir, write_private
from .standing import StandingApproval, covering

_FORMAT = 1
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "source": str,
    "tool": str,
    "digest": str,
    "scope": str,
    "arguments": (str, type(None)),
    "shown": str,
    "asked": str,
    "run": type(None),
    "given": (int, float),
    "expires": (int, float, type(None)),
    "id": str,
}


class ProjectApprovals:
    """The approvals that were given for one project folder. Another process may change them at any time.

    `trouble`: why the file counts for nothing, in words; None when it is in order or not there.
    """

    def __init__(self, project: Path, folder: Path | None = None) -> None:
        self.project = Path(os.path.realpath(project))
        name = blake2b(os.fsencode(self.project), digest_size=16).hexdigest()
        self.path = (state_dir() if folder is None else folder) / "approvals" / f"{name}.json"
        self._seen: tuple[tuple[int, int, int] | None, tuple[StandingApproval, ...], str | None] | None = None

    @property
    def all(self) -> tuple[StandingApproval, ...]:
        """Those of the file as it is now, expired ones included."""
        return self._look()[0]

    @property
    def trouble(self) -> str | None:
        return self._look()[1]

    def find(self, spec: ToolSpec, arguments: Mapping[str, Any], asks: str) -> StandingApproval | None:
        return covering(self.all, spec, arguments, None, asks)

    def add(self, approval: StandingApproval) -> None:
        """StoreError when the file cannot be written, or is damaged: nothing in it is thrown away."""
        self._change(lambda held: [*(one for one in held if not one.expired), approval])

    def remove(self, approval_id: str) -> StandingApproval | None:
        """StoreError as for `add`. None when there is none of that id."""
        gone = next((one for one in self.all if one.id == approval_id), None)
        if gone is not None:
            self._change(lambda held: [one for one in held if one.id != approval_id])
        return gone

    def clear(self) -> None:
        """Forget all; the way out when the file is damaged. StoreError when it cannot be removed."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot be removed: {error.strerror}") from error

    def _change(self, changed: Callable[[Iterable[StandingApproval]], list[StandingApproval]]) -> None:
        private_dir(self.path.parent)
        with locked(self.path.with_suffix(".lock")):
            self._seen = None
            held, trouble = self._look()
            if trouble is not None:
                raise StoreError(f"{trouble}, so nothing can be added to it")
            body = {
                "format": _FORMAT,
                "project": str(self.project),
                "approvals": [asdict(approval) for approval in changed(held)],
            }
            write_private(self.path, json.dumps(body, indent=1))
            self._seen = None

    def _look(self) -> tuple[tuple[StandingApproval, ...], str | None]:
        """(approvals, trouble) of the file as it is now; read again only when it has changed."""
        try:
            held = self.path.stat()
            stamp = (held.st_mtime_ns, held.st_size, held.st_ino)
        except FileNotFoundError:
            return (), None
        except OSError as error:
            return (), self._unusable(error.strerror or str(error))
        seen = self._seen
        if seen is None or seen[0] != stamp:
            self._seen = seen = (stamp, *self._read())
        return seen[1], seen[2]

    def _read(self) -> tuple[tuple[StandingApproval, ...], str | None]:
        try:
            body: Any = json.loads(self.path.read_text(encoding="utf-8"))
            if body["format"] != _FORMAT or body["project"] != str(self.project):
                raise ValueError("it is of another project, or of another version")
            return tuple(_approval(row) for row in body["approvals"]), None
        except OSError as error:
            return (), self._unusable(error.strerror or str(error))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return (), self._unusable(f"it is damaged ({error})")

    def _unusable(self, why: str) -> str:
        return (
            f"{self.path}: the standing approvals of {self.project} cannot be read, so none of them holds: {why}"
            " (`sutler approvals revoke --all` starts afresh)"
        )


def _approval(row: Any) -> StandingApproval:
    """A row of the file. ValueError for one that nobody here wrote."""
    if set(row) != {field.name for field in fields(StandingApproval)}:
        raise ValueError("an approval has not the fields it should have")
    for key, kind in _TYPES.items():
        if not isinstance(row[key], kind) or isinstance(row[key], bool):
            raise ValueError(f"{key} of an approval is {row[key]!r}")  # noqa: TRY004 - all of it is one kind of damage
    if row["scope"] not in ("project", "exact"):
        raise ValueError(f"scope of an approval is {row['scope']!r}")
    if (row["scope"] == "exact") != (row["arguments"] is not None):
        raise ValueError("an approval of exact arguments must say which")
    return StandingApproval(**row)
