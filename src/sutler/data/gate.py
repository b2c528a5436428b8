"""How the shipped libraries ask by themselves: one question over the host's confirm_handler (LCP section 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

LEVELS = ("strict", "safe", "full_access")

Handler = Callable[..., Any]


class Refused(Exception):
    """The person said no, or there is nobody to ask. The text is for the model."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A library's level, and whom it asks. Replaced as a whole, so that a call sees one or the other."""

    stem: str
    level: str = "safe"
    handler: Handler | None = None

    def configured(self, config: Mapping[str, Any] | None) -> Gate:
        """As a host's config has it: autonomy_level, confirm_handler. ValueError for a level that there is not."""
        given = config or {}
        level = given.get("autonomy_level", "safe")
        if level not in LEVELS:
            raise ValueError(
                f"host_tool_configs.{self.stem}.autonomy_level must be one of {', '.join(LEVELS)}, not {level!r}"
            )
        return Gate(self.stem, str(level), given.get("confirm_handler", self.handler))

    def permit(self, why: str | None, source: str, argv: list[str] | None = None) -> None:
        """Returns when `source` may run. why: the reason to ask, None when it is harmless. Raises Refused.

        An answer of "always" counts for this time; remembering is the host's.
        """
        if self.level == "full_access" or (self.level == "safe" and why is None):
            return
        reason = why or "every call asks at level strict"
        if self.handler is None:
            raise Refused(f"{self.stem} needs approval ({reason}), and there is nobody to ask")
        answer: object = self.handler(source, f"[{self.level.upper()}] {self.stem}: {reason}", argv)
        parts = tuple(cast("tuple[object, ...]", answer)) if isinstance(answer, tuple | list) else ()
        if len(parts) == 2 and parts[0] in ("allow", "always"):
            return
        said = str(parts[1]) if len(parts) == 2 and parts[0] == "reject" and parts[1] else ""
        raise Refused(f"{self.stem}: rejected ({reason}){f': {said}' if said else ''}")
