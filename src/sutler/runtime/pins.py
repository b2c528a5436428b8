"""Holding tools to the definition they were first used with (POL-06).

A tool of a server, or one that the host supplies, is pinned at its first call; one that `serve` lists, when it is
listed: a model reads a description as soon as it is listed, and hosts remember what their person allowed by name.
From then on another definition is held: it is neither listed nor called until somebody has looked and said yes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import StoreError, ToolNotFound, ToolUnavailable
from ..inventory import Row
from ..policy.levels import Pin
from ..policy.pins import changed, definition_of, difference, digest_of
from ..sources.base import Quarantined
from ..spec import ToolSpec
from ..store import AuditFilter, PinRecord

if TYPE_CHECKING:
    from .core import Core

_REMOTE = frozenset(("mcp", "openapi", "virtual"))
_LOOK = 0.5  # seconds between two looks at whether somebody has accepted what is held

Key = tuple[str, str]


class Pins:
    """Those of one runtime, over its store. Safe from any thread."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._which: Pin = core.settings.policy.pin
        self._lock = threading.RLock()
        self._known: dict[Key, PinRecord] | None = None
        self._trouble = ""
        self._held: dict[Key, ToolSpec] = {}
        self._passed: dict[Key, ToolSpec] = {}  # as they were last found to be what is pinned
        self._vetted: dict[Key, Any] = {}  # what a server listed then
        self._looked = 0.0

    def watches(self, spec: ToolSpec) -> bool:
        return spec.origin.kind in _REMOTE if self._which == "remote" else self._which == "all"

    # ------------------------------------------------------------------ at the inventory

    def hold(self, spec: ToolSpec) -> Quarantined | None:
        """Why this tool must not be offered as it is now, or None. What cannot be read holds everything."""
        if not self.watches(spec):
            return None
        key = (spec.origin.source, spec.name)
        if self._passed.get(key) is spec:
            return None
        with self._lock:
            pin = self._pin(key)
            if self._trouble:
                reason = f"nothing says whether its definition is the one that was first used: {self._trouble}"
                return Quarantined(source=key[0], tool=key[1], reason=reason, where=spec.origin.where, held=True)
            if pin is None:
                return None
            now = definition_of(spec)
            if not changed(pin.digest, pin.definition, now):
                self._held.pop(key, None)
                return None
            new = self._held.get(key) is not spec
            self._held[key] = spec
        shown = difference(spec.qualified, pin.definition, now, _when(pin.at))
        if new and not self._said_held(spec):
            self._core.audit(
                "change.definition", tool=spec.qualified, what="held", definition=spec.digest, difference=shown
            )
        return Quarantined(
            source=key[0], tool=key[1], reason=_reason(spec), where=spec.origin.where, held=True, difference=shown
        )

    def _said_held(self, spec: ToolSpec) -> bool:
        """Whether the log's last word on the tool is that this very definition is held: each command finds it anew."""
        try:
            last = self._core.recorder.store.audit(AuditFilter(kind="change.definition", tool=spec.qualified), 1)
        except StoreError:
            return False
        return any(line.data.get("what") == "held" and line.data.get("definition") == spec.digest for line in last)

    def _pin(self, key: Key) -> PinRecord | None:
        if self._known is None and not self._trouble:
            try:
                self._known = {(pin.source, pin.tool): pin for pin in self._core.recorder.store.pins()}
            except StoreError as error:
                self._trouble = str(error)
        return None if self._known is None else self._known.get(key)

    def look(self) -> bool:
        """Whether another process has accepted what is held here, or a store can be read again. Not on a loop."""
        if not (self._held or self._trouble) or time.monotonic() < self._looked:
            return False
        self._looked = time.monotonic() + _LOOK
        with self._lock:
            before, self._known, self._trouble = self._known, None, ""
            self._pin(("", ""))
            if self._known == before:
                return False
            self._passed.clear()
        self._core.toolbox.reconsider()
        return True

    # ------------------------------------------------------------------ at a use

    def use(self, spec: ToolSpec) -> None:
        """Before a call: pins the tool, if it is not. ToolUnavailable when it is pinned otherwise. Not on a loop."""
        if self._passed.get((spec.origin.source, spec.name)) is spec or not self.watches(spec):
            return
        if not self._pinned([spec]):
            raise ToolUnavailable(f"{spec.qualified}: {_reason(spec)}")

    def listed(self, rows: Iterable[Row]) -> bool:
        """Before they are shown to a host: pins those that are not. False when one is held after all. Not on a loop."""
        specs = [row.spec for row in rows if self.watches(row.spec)]
        new = [spec for spec in specs if self._passed.get((spec.origin.source, spec.name)) is not spec]
        return not new or self._pinned(new)

    def _pinned(self, specs: Sequence[ToolSpec]) -> bool:
        """Pins those that are not, and says whether all are as they are pinned."""
        with self._lock:
            new = [_record(spec) for spec in specs if self._pin((spec.origin.source, spec.name)) is None]
            if new and not self._trouble:
                self._keep(new)
        held = [spec for spec in specs if self.hold(spec) is not None]
        if held:  # another process has pinned another definition just before
            self._core.toolbox.reconsider()
            return False
        self._passed.update({(spec.origin.source, spec.name): spec for spec in specs})
        return True

    def _keep(self, pins: list[PinRecord]) -> None:
        store = self._core.recorder.store
        try:
            store.pin(pins)
        except StoreError as error:
            names = ", ".join(f"{pin.source}::{pin.tool}" for pin in pins[:3])
            raise ToolUnavailable(f"{names}: its definition cannot be pinned, so it is not used: {error}") from error
        for pin in pins:
            what = "accepted" if pin.accepted else "pinned"
            self._core.audit("change.definition", tool=f"{pin.source}::{pin.tool}", what=what, digest=pin.digest)
        self._known = None
        self._pin(("", ""))

    def replaced(self, before: ToolSpec, now: ToolSpec) -> None:
        """A tool that was used here has another definition: of the person's own code that is work, and is recorded."""
        if before.digest != now.digest and not self.watches(now):
            shown = difference(now.qualified, definition_of(before), definition_of(now), "its last use")
            self._core.audit("change.definition", tool=now.qualified, what="edited", difference=shown)

    async def vet(self, spec: ToolSpec, live: Any) -> None:
        """On the sessions' loop, before a call goes out: whether the server still lists what was decided on.

        live: its entry of the server's list as it is now, None when it is in it no more. It may differ from the spec:
        that came from a cache, or from the inventory that a run began with. ToolUnavailable when it does.
        """
        key = (spec.origin.source, spec.name)
        if live is None or not self.watches(spec):
            return
        if self._vetted.get(key) is live and self._passed.get(key) is spec:
            return
        from ..mcp.definitions import same
        from ..mcp.portal import off_loop

        if not same(live, spec.meta.get("definition")):
            await off_loop(partial(self._changed, spec))
        await off_loop(partial(self.use, spec))
        self._vetted[key] = live

    def _changed(self, spec: ToolSpec) -> None:
        self._core.toolbox.refresh(spec.origin.source)
        self._core.inventory().find(spec.qualified)  # ToolUnavailable when it is held
        raise ToolUnavailable(
            f"{spec.qualified} was not called: its server lists another definition of it than this call was made for;"
            " look at it and call it again",
            retryable=True,
        )

    # ------------------------------------------------------------------ saying yes

    def held(self, name: str) -> list[Quarantined]:
        """What is held under a name: a tool's, source::tool, or all of a source."""
        found = [item for item in self._core.inventory().quarantined if item.held and item.tool is not None]
        return [item for item in found if name in (item.source, item.tool, f"{item.source}::{item.tool}")]

    def accept(self, name: str) -> list[Quarantined]:
        """Pins the definitions that are held under this name as they are now. ToolNotFound when none is."""
        items = self.held(name)
        if not items:
            raise ToolNotFound(f"no tool is held under the name {name!r}: there is nothing to accept")
        sources = {item.source for item in items}
        if name not in {*sources, *(f"{item.source}::{item.tool}" for item in items)} and len(sources) > 1:
            both = ", ".join(f"{item.source}::{item.tool}" for item in items)
            raise ToolNotFound(f"{name!r} could be {both}; use one of these names")
        pins: list[PinRecord] = []
        with self._lock:
            for item in items:
                spec = self._held.get((item.source, str(item.tool)))
                if spec is None:
                    raise StoreError(f"{item.source}::{item.tool} cannot be accepted: {item.reason}")
                pins.append(_record(spec, accepted=True))
            self._keep(pins)
            for item in items:
                self._passed.pop((item.source, str(item.tool)), None)
        self._core.toolbox.reconsider()
        return items

    def accepted_since(self, spec: ToolSpec, at: float) -> bool:
        """Whether a person has said yes to the definition as it is now, after this time."""
        with self._lock:
            pin = self._pin((spec.origin.source, spec.name))
        if pin is None or not pin.accepted or pin.at <= at:
            return False
        return not changed(pin.digest, pin.definition, definition_of(spec))


def _record(spec: ToolSpec, *, accepted: bool = False) -> PinRecord:
    now = definition_of(spec)
    return PinRecord(
        source=spec.origin.source,
        tool=spec.name,
        digest=digest_of(now),
        definition=now,
        at=time.time(),
        accepted=accepted,
    )


def _reason(spec: ToolSpec) -> str:
    return f"its definition is not the one that was first used; `sutler trust {spec.qualified}` shows and accepts it"


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().isoformat(sep=" ", timespec="seconds")
