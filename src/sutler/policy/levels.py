"""Who may do what without asking: the table of the autonomy levels, as data and one look-up.

| origin                        | strict | safe (default)                                                | full_access |
|-------------------------------|--------|---------------------------------------------------------------|-------------|
| function of the host's code   | ask    | allow                                                         | allow       |
| config, tool folders          | ask    | allow; declared w = 3 or d = 3: ask                           | allow       |
| tools that ask by themselves  | ask    | allow: they ask by rules of their own                         | allow       |
| shipped default tools         | ask    | inside the workspace: allow; network (w >= 2): ask            | allow       |
| virtual                       | ask    | declared (w <= 2, d <= 2): allow; else ask                    | allow       |
| own MCP servers, openapi      | ask    | read-only (w <= 2, d <= 1): allow; else ask                   | allow       |
| servers from host configs     | ask    | (1, 0): allow; else ask                                       | allow       |
| code text                     | ask    | ask                                                           | allow       |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from ..spec import Decision, Grade, ToolCall, ToolSpec

Level = Literal["strict", "safe", "full_access"]
LEVELS: tuple[Level, ...] = get_args(Level)
Pin = Literal["remote", "all", "none"]

_DEFAULTS = "default"
_HOST_CONFIG_BELOW = 5.0  # precedence of own MCP servers; host configs rank strictly below


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may run unasked. `level` holds for every source, `sources` for single ones by source id.

    network: lets the shipped network tools run without asking at level safe.
    pin: whose definitions are held when they change: what is not the person's own code (remote), all, none (POL-06).
    """

    level: Level = "safe"
    sources: Mapping[str, Level] = field(default_factory=lambda: dict[str, Level]())
    network: bool = False
    pin: Pin = "remote"

    def __post_init__(self) -> None:
        for level in (self.level, *self.sources.values()):
            if level not in LEVELS:
                raise ValueError(f"policy level must be one of {', '.join(LEVELS)}, not {level!r}")

    def level_of(self, source: str) -> Level:
        return self.sources.get(source, self.level)

    def decide(self, call: ToolCall) -> Decision:
        """allow or ask for one call with its effective arguments; the reason names the row of the table."""
        return self._by_level(call.spec)

    def preview(self, spec: ToolSpec) -> Decision:
        """The same before the arguments are known: `depends` where only a call tells."""
        decision = self._by_level(spec)
        return _ITSELF if decision is _ASKS else decision

    def _by_level(self, spec: ToolSpec) -> Decision:
        level = self.level_of(spec.origin.source)
        if level == "full_access":
            return _FULL
        if level == "strict":
            return _STRICT
        return self._safe(spec)

    def _safe(self, spec: ToolSpec) -> Decision:
        grade, declared = spec.grade, spec.grade_from != "undeclared"
        match spec.origin.kind:
            case "function":
                return _ALLOW
            case "config" if spec.origin.source == _DEFAULTS:
                if grade.w < 2 or self.network:
                    return _ALLOW
                return _ask(f"it reaches the network; [policy] allow_network = true allows {spec.name}")
            case "library" if spec.meta.get("asks_itself"):
                return _ASKS
            case "config" | "library":
                if declared and (grade.w == 3 or grade.d == 3):
                    return _ask(f"it is declared to act on the world or destroy {grade}")
                return _ALLOW
            case "virtual":
                if declared and Grade(2, 2).covers(grade):
                    return _ALLOW
                return _ask(f"its implementation is the harness's, and its grade is {grade}")
            case "mcp" | "openapi":
                ceiling = Grade(1, 0) if spec.origin.precedence < _HOST_CONFIG_BELOW else Grade(2, 1)
                return _ALLOW if ceiling.covers(grade) else _ask(f"a server's tool with grade {grade}")
            case "code":
                return _ask("it was registered from code text")


_ALLOW = Decision(outcome="allow", by="level safe")
_FULL = Decision(outcome="allow", by="level full_access")
_ASKS = Decision(outcome="allow", by="level safe", reason="it asks by rules of its own")
_ITSELF = Decision(outcome="depends", by="level safe", reason="it asks by rules of its own")
_STRICT = Decision(outcome="ask", by="level strict", reason="at level strict every call asks")


def _ask(reason: str) -> Decision:
    return Decision(outcome="ask", by="level safe", reason=reason)
