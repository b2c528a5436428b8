"""Checks remembered: a program that runs again against the same inventory is not checked again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..inventory import Inventory
from ..lang import Checked
from .plan import check_program
from .variables import top_level_names

_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Known:
    """A verdict, and the names the program leaves behind (none when it is refused)."""

    checked: Checked
    names: tuple[str, ...]


class Checks:
    """The last verdicts on one inventory; another inventory starts anew.

    ahead: whether reads that do not depend on each other may be under way at once.
    """

    def __init__(self, *, ahead: bool = True) -> None:
        self.ahead = ahead
        self._inventory: Inventory | None = None
        self._known: OrderedDict[tuple[str, str, tuple[str, ...]], Known] = OrderedDict()
        self._lock = threading.Lock()

    def knows(self, text: str, level: str, params: Iterable[str]) -> bool:
        """Whether the verdict on this text is remembered; it may be one on an inventory of before."""
        return (text, level, tuple(params)) in self._known

    def of(self, text: str, inventory: Inventory, level: str, params: Sequence[str]) -> Known:
        key = (text, level, tuple(params))
        with self._lock:
            if self._inventory is not inventory:
                self._inventory = inventory
                self._known.clear()
            known = self._known.get(key)
            if known is not None:
                self._known.move_to_end(key)
                return known
        checked = check_program(text, inventory, level=level, params=params, ahead=self.ahead)
        known = Known(checked, top_level_names(checked.text, without=params) if checked.ok else ())
        with self._lock:
            if self._inventory is inventory:
                self._known[key] = known
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        return known
