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

from typing import Literal, get_args

from ..spec import Decision, Grade, ToolSpec

Level = Literal["strict", "safe", "full_access"]
LEVELS: tuple[Level, ...] = get_args(Level)
Pin = Literal["remote", "all", "none"]

_DEFAULTS = "default"


def by_level(spec: ToolSpec, level: Level, *, network: bool = False) -> Decision:
    """allow or ask for any call of a tool; the reason names the row of the table."""
    if level == "full_access":
        return _FULL
    if level == "strict":
        return _STRICT
    return _safe(spec, network)


def depends(decision: Decision) -> Decision:
    """The same as a plan says it: a tool that asks by itself may ask."""
    return _ITSELF if decision is _ASKS else decision


def _safe(spec: ToolSpec, network: bool) -> Decision:
    grade, declared = spec.grade, spec.grade_from != "undeclared"
    match spec.origin.kind:
        case "function":
            return _ALLOW
        case "config" if spec.origin.source == _DEFAULTS:
            if grade.w < 2 or network:
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
            ceiling = _CLOSED_READ if spec.origin.provenance != "own" else _READ
            return _ALLOW if ceiling.covers(grade) else _ask(f"a server's tool with grade {grade}")
        case "code":
            return _ask("it was registered from code text")


_READ, _CLOSED_READ = Grade(2, 1), Grade(1, 0)
_ALLOW = Decision(outcome="allow", by="level safe")
_FULL = Decision(outcome="allow", by="level full_access")
_ASKS = Decision(outcome="allow", by="level safe", reason="it asks by rules of its own")
_ITSELF = Decision(outcome="depends", by="level safe", reason="it asks by rules of its own")
_STRICT = Decision(outcome="ask", by="level strict", reason="at level strict every call asks")


def _ask(reason: str) -> Decision:
    return Decision(outcome="ask", by="level safe", reason=reason)
