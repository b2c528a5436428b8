"""A tool made ready to be called: its binder, its callable, and where that callable must run (DESIGN 3, 4)."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any, Literal

from ..errors import ToolCallError, ToolUnavailable
from ..inventory import Row
from ..schema.bind import Binder
from ..spec import ToolSpec

Place = Literal["thread", "fixed", "worker", "workspace_loop", "host_loop", "portal"]

_HOST_KINDS = ("function", "virtual")


class Tool:
    """One row of the inventory, ready. Made at the first call and kept; resolving is tried again until it works."""

    __slots__ = ("_binder", "_fn", "_lock", "_place", "qualified", "row", "spec", "strict", "thread_cwd")

    def __init__(self, row: Row, *, strict: bool, thread_cwd: bool) -> None:
        self.row = row
        self.spec: ToolSpec = row.spec
        self.qualified = self.spec.qualified
        self.strict = strict
        self.thread_cwd = thread_cwd
        self._binder: Binder | None = None
        self._fn: Callable[..., Any] | None = None
        self._place: Place | None = None
        self._lock = threading.Lock()

    @property
    def binder(self) -> Binder:
        if self._binder is None:
            self._binder = Binder(self.spec, strict=self.strict)
        return self._binder

    @property
    def is_warm(self) -> bool:
        """Whether the next call finds everything in memory."""
        return self._place is not None and self._binder is not None

    def warm(self) -> None:
        """Does now what the first call would do: reads the schema, imports the module of a [[tools]] entry."""
        _ = self.binder, self.place

    def resolve(self) -> Callable[..., Any]:
        """The callable. Raises ToolUnavailable, naming the tool, when its source cannot give it."""
        if self._fn is not None:
            return self._fn
        with self._lock:
            if self._fn is None:
                try:
                    self._fn = self.row.source.resolve(self.spec)
                except ToolCallError:
                    raise
                except Exception as error:
                    raise ToolUnavailable(f"{self.qualified} cannot be resolved: {error}") from error
            return self._fn

    @property
    def is_async(self) -> bool:
        return _is_async(self.resolve())

    @property
    def place(self) -> Place:
        if self._place is not None:
            return self._place
        if self._fn is None and getattr(self.row.source, "imports", False) and not self._moves:
            return "thread"  # the module is imported there, by the first call, as part of it; then more is known
        self._place = self._choose()
        return self._place

    @property
    def _moves(self) -> bool:
        """Whether it runs in a worker process; the host then never imports it."""
        spec = self.spec
        can_move = hasattr(self.row.source, "worker") and spec.origin.kind not in _HOST_KINDS
        return can_move and (spec.isolation == "process" or not self.thread_cwd)

    def _choose(self) -> Place:
        if getattr(self.row.source, "portal", False):
            return "portal"
        if self._moves:
            return "worker"  # one thread there serves all calls, which is what an affinity asks for
        if self.is_async:
            return "host_loop" if self.spec.origin.kind in _HOST_KINDS else "workspace_loop"
        return "fixed" if self.spec.affinity == "thread" else "thread"


def _is_async(fn: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)
