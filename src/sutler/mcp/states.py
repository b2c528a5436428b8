"""What is known of a server at a moment, as plain data for `sutler doctor` and `sutler tools show`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..servers import RemoteTool

State = Literal[
    "new", "connecting", "ready", "backoff", "parked", "auth_required", "unavailable", "disabled", "stopped"
]
_NOTES_KEPT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChange:
    """How a server's tools came to differ from those it had before, by name (MCP-10). `at`: seconds of the epoch."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    at: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        parts = (("added", self.added), ("removed", self.removed), ("changed", self.changed))
        return "; ".join(f"{word} {', '.join(names)}" for word, names in parts if names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """One server now. Texts are masked: no secret of its spec stands in them.

    reason: why it is not ready, or, of a ready one, why it was started again. era: `legacy` or `modern` with the
    protocol version, "" before it is known. pid: of the server itself. restarts: connections after the first.
    junk_lines, junk: lines on its stdout that are no JSON-RPC, counted and sampled. stderr_tail: the last it wrote.
    tools: how many it lists. since: when this state began, seconds of the epoch. notes: what was odd, one sentence
    each. changes: how its list of tools changed, newest last.
    """

    id: str
    state: State
    reason: str = ""
    era: str = ""
    pid: int | None = None
    restarts: int = 0
    junk_lines: int = 0
    junk: tuple[str, ...] = ()
    stderr_tail: str = ""
    tools: int = 0
    cached: bool = False
    since: float = 0.0
    server: str = ""
    notes: tuple[str, ...] = ()
    changes: tuple[ToolChange, ...] = ()


def take_notes(held: dict[str, None], notes: Iterable[str]) -> None:
    """Add to what was odd, each sentence once, and not without end."""
    for note in notes:
        if len(held) < _NOTES_KEPT:
            held[note] = None


def difference(before: Sequence[RemoteTool], after: Sequence[RemoteTool], *, at: float) -> ToolChange:
    """What changed between two lists of one server's tools."""
    old, new = _by_name(before), _by_name(after)
    return ToolChange(
        added=tuple(name for name in new if name not in old),
        removed=tuple(name for name in old if name not in new),
        changed=tuple(name for name, tool in new.items() if name in old and old[name].definition != tool.definition),
        at=at,
    )


def _by_name(tools: Sequence[RemoteTool]) -> Mapping[str, RemoteTool]:
    """Nameless entries go by their place: they are told apart, and nobody calls them."""
    found: dict[str, RemoteTool] = {}
    for place, tool in enumerate(tools):
        found.setdefault(tool.name or f"<entry {place}>", tool)
    return found


def last_words(text: str, most: int) -> str:
    """The end of a text that is too long, from a whole word on; `...` says that there was more."""
    if len(text) <= most:
        return text
    end = text[-most:]
    at = next((place for place, letter in enumerate(end[: most // 2]) if letter.isspace()), -1)
    return f"... {end[at + 1 :].lstrip()}"
