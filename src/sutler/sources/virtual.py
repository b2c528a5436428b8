"""Tools declared in full, while the harness supplies what runs them, or does not (RFC 0002 section 7, VIR-01)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..errors import ToolUnavailable
from ..schema.from_callable import is_async
from ..spec import Origin, ToolSpec
from ..tables import ToolTable
from .base import VIRTUAL, Quarantined
from .config import at, by_name, specs_of

HarnessResolver = Callable[[str], Callable[..., Any] | None]


class VirtualToolSource:
    """The [[virtual_tools]] of a configuration; `harness_resolver(name)` gives a callable, or None for "not now".

    discover() yields what the harness supplies at that moment; `missing` says why of the rest: (tool, reason).
    """

    host_loop = True
    precedence = VIRTUAL

    def __init__(
        self, tables: Sequence[ToolTable], harness_resolver: HarnessResolver | None = None, *, name: str = "virtual"
    ) -> None:
        self._name = name
        self._resolver = harness_resolver
        self._tables, self.duplicates = by_name(tables, name)
        self.missing: tuple[tuple[str, str], ...] = ()
        self.quarantined: tuple[Quarantined, ...] = ()

    @property
    def name(self) -> str:
        return self._name

    def available(self) -> bool:
        return True

    @property
    def version(self) -> object:
        """What the harness supplies now; a change means that discover() answers differently (VIR-02)."""
        return tuple(self._why_not(name) for name in self._tables)

    def discover(self) -> list[ToolSpec]:
        reasons = {name: self._why_not(name) for name in self._tables}
        self.missing = tuple((name, reason) for name, reason in reasons.items() if reason)
        here = [table for name, table in self._tables.items() if not reasons[name]]
        specs, self.quarantined = specs_of(
            here, Origin(source=self._name, kind="virtual", trust="virtual", precedence=self.precedence)
        )
        # an async callable of the harness works in the folder of this process, and which one it gives may change
        return [replace(spec, meta={**spec.meta, "works_in": "."}) for spec in specs]

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        """A callable that asks the harness again at each call: it may have withdrawn the tool since (VIR-03)."""
        table = self._tables.get(spec.name)
        if table is None:
            raise ToolUnavailable(f"virtual tool {spec.name!r} is not declared any more")

        def call(**arguments: Any) -> Any:
            return self._now(table)(**arguments)

        async def call_async(**arguments: Any) -> Any:
            result = call(**arguments)
            return await result if inspect.isawaitable(result) else result

        return call_async if is_async(self._now(table)) else call

    def _now(self, table: ToolTable) -> Callable[..., Any]:
        supplied, reason = self._ask(table.name)
        if supplied is None:
            raise ToolUnavailable(f"virtual tool {table.name!r} is unavailable: {reason}{at(table)}")
        return supplied

    def _why_not(self, name: str) -> str:
        return self._ask(name)[1]

    def _ask(self, name: str) -> tuple[Callable[..., Any] | None, str]:
        """What the harness supplies for a name, or why nothing."""
        if self._resolver is None:
            return None, "no harness_resolver was given to the runtime"
        try:
            supplied: Any = self._resolver(name)
        except Exception as error:
            return None, f"the harness_resolver raised {type(error).__name__}: {error}"
        if supplied is None:
            return None, "the harness does not supply it now"
        if inspect.iscoroutine(supplied):
            supplied.close()
            return None, "the harness_resolver is a coroutine function; it must give a callable at once"
        if not callable(supplied):
            return None, f"the harness_resolver gave a {type(supplied).__name__}, not a callable"
        return supplied, ""
