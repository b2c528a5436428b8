"""What a source of tools is: the whole contract a plugin has to meet, on one screen (RFC 0002 section 2, SRC-02)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..spec import ToolSpec

# Rank for the bare name, highest wins (RFC 0002 section 4, SRC-06).
DIRECT = math.inf
USER_CONFIG = 20.0
CODE = 16.0
FOLDERS = 15.0
DEFAULTS = 10.0
PLUGINS = 10.0  # a source that names no rank of its own: below whatever the user wrote
VIRTUAL = 7.0
OWN_MCP = 5.0


def host_config_precedence(index: int) -> float:
    """The rank of the servers of host config file `index` (0 is the first): 4, 2.5, 2, 1.75... never 1 or less."""
    return 1 + 3 / (1 + index)


@runtime_checkable
class ToolSource(Protocol):
    """Finds tools and hands out what runs them.

    A source may also have: `reason: str` (why available() is false), `precedence: float` (its rank), `steady: bool`
    (true: what it says changes only when the toolbox is told so by refresh()), `host_loop: bool` (its async callables
    belong on the host's own loop), `version: object` (differs whenever discover() would answer differently; without it
    a source is asked once), `imports: bool` (resolve() runs the tool's module, so it is asked where the tool runs, as
    part of the first call), `worker(spec) -> (entry, payload)` (it can run in a worker process; one serves the source,
    or all tools of the same `worker_key(spec) -> str`), and, read after
    discover(), what it could not give: `quarantined: Sequence[Quarantined]`, `duplicates: Sequence[Duplicate]`,
    `missing: Sequence[tuple[tool, reason]]` (declared, but not to be had now), `notes: Sequence[str]`.
    available() and `version` are read for every new inventory, so they must be cheap.
    """

    @property
    def name(self) -> str:
        """The id of the source, the first half of every tool's identity."""
        ...

    def available(self) -> bool:
        """Whether it can be asked now; a source that is not is listed with its reason and asked again later."""
        ...

    def discover(self) -> list[ToolSpec]:
        """Its tools, without running any of their code."""
        ...

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        """What runs this tool: a sync or async callable that takes keyword arguments only (spec.hidden included).

        Raises ToolUnavailable when the tool is listed but cannot be reached now.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """Something that was found and cannot be used: a whole source (tool is None) or one tool of it.

    held: its definition has changed since it was pinned, or nothing can say whether; then difference shows how.
    """

    source: str
    tool: str | None = None
    reason: str
    where: str = ""
    held: bool = False
    difference: str = ""

    def __str__(self) -> str:
        name = self.source if self.tool is None else f"{self.source}::{self.tool}"
        place = f" ({self.where})" if self.where and self.where not in self.reason else ""
        said = "" if self.reason.startswith(f"{name}: ") else f"{name}: "  # of a folder the reason begins with it
        return f"{said}{self.reason}{place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A definition that a later or an earlier one of the same name in the same source makes unreachable."""

    source: str
    tool: str
    where: str
    winner: str  # where the definition stands that is used

    def __str__(self) -> str:
        return f"{self.source}::{self.tool}: the definition at {self.where} is hidden by the one at {self.winner}"
