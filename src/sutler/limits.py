"""What a run may use. Every limit is finite: none can be switched off (DESIGN: Limits)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from .closest import closest
from .errors import ConfigError, Problem

_YEAR = 366 * 24 * 3600.0
# The most each limit may be raised to: still finite, and inside what timers and the sandbox's integers can hold.
_MOST: Mapping[str, float] = {
    "wall_seconds": _YEAR,
    "compute_seconds": _YEAR,
    "call_seconds": _YEAR,
    "memory_mb": 1_048_576,
    "calls": 1_000_000_000,
    "output_bytes": 1_000_000_000_000,
    "depth": 4,
}
_WHOLE = frozenset({"memory_mb", "calls", "output_bytes", "depth"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one run. Time that a call waits for a person or for a worker counts toward none.

    wall_seconds: the whole run. compute_seconds: the program's own work. memory_mb: the sandbox's memory.
    calls: tool calls of the run and its nested runs. call_seconds: one call. output_bytes: one result, whole.
    depth: how deep runs may nest; 4 is also the most.
    """

    wall_seconds: float = 300
    compute_seconds: float = 10
    memory_mb: int = 256
    calls: int = 1_000
    call_seconds: float = 60
    output_bytes: int = 10_000_000
    depth: int = 4

    def override(self, values: Mapping[str, Any]) -> Limits:
        """These limits with some replaced. ConfigError holds one Problem per unknown name or unusable value."""
        problems = [problem for name, value in values.items() if (problem := limit_problem(name, value))]
        if problems:
            raise ConfigError(problems)
        return replace(self, **values)

    def tighten(self, values: Mapping[str, Any]) -> Limits:
        """Like `override`, but a value above the one in force changes nothing."""
        wanted = self.override(values)
        return replace(self, **{name: min(getattr(self, name), getattr(wanted, name)) for name in values})

    def to_dict(self) -> dict[str, float]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


LIMIT_NAMES: tuple[str, ...] = tuple(field.name for field in fields(Limits))


def limit_problem(name: str, value: Any) -> Problem | None:
    """What is wrong with one limit, or None: an unknown name, or a value that is no finite positive number."""
    if name not in _MOST:
        meant = closest(name, LIMIT_NAMES)
        hint = f"did you mean `{meant}`?" if meant else f"the limits are {', '.join(LIMIT_NAMES)}"
        return Problem(message="no such limit", key=name, hint=hint)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Problem(message=f"must be a number, not {value!r}", key=name)
    if isinstance(value, float) and not math.isfinite(value):
        return Problem(message=f"must be a finite number, not {value}", key=name, hint="no limit can be switched off")
    if value <= 0:
        return Problem(message="must be more than 0", key=name, hint="no limit can be switched off")
    if name in _WHOLE and not isinstance(value, int):
        return Problem(message=f"must be a whole number, not {value}", key=name)
    if value > _MOST[name]:
        return Problem(message=f"must be at most {_MOST[name]:,.0f}", key=name)
    return None
