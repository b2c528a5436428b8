"""The grade of an MCP tool from its behaviour hints (RFC 0002 section 6, MCP-07).

| hints                                    | grade  |
|------------------------------------------|--------|
| read-only, closed world                  | (1, 0) |
| read-only, open world                    | (2, 1) |
| a write, idempotent and not destructive  | (3, 2) |
| any other write                          | (3, 3) |
| readOnlyHint or another relevant one out | (3, 3) |

Relevant are: openWorldHint for a read-only tool, destructiveHint and idempotentHint for a write.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..servers import HINTS, Hint
from ..spec import UNDECLARED, Grade, GradeFrom, ToolAnnotations

_MCP_NAMES: Mapping[Hint, str] = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


def grade_from_hints(
    annotations: ToolAnnotations, assume: Mapping[Hint, bool] | None = None
) -> tuple[Grade, GradeFrom]:
    """The grade, and `hints`, or `undeclared` where a relevant hint is out.

    assume: what a hint that the server leaves out means; a hint that is there is never overruled.
    """
    hints = _filled(annotations, assume)
    if any(hints[name] is None for name in relevant(hints)):
        return UNDECLARED, "undeclared"
    if hints["read_only"]:
        return (Grade(2, 1) if hints["open_world"] else Grade(1, 0)), "hints"
    return (Grade(3, 2) if hints["idempotent"] and not hints["destructive"] else Grade(3, 3)), "hints"


def why(annotations: ToolAnnotations, assume: Mapping[Hint, bool] | None = None) -> str:
    """What decided the grade, in words, for `sutler tools why`."""
    hints = _filled(annotations, assume)
    absent = [_MCP_NAMES[name] for name in relevant(hints) if hints[name] is None]
    if absent:
        return f"the server leaves {' and '.join(absent)} out, so the tool counts as (3, 3)"
    said = [
        f"{_MCP_NAMES[name]} {str(hints[name]).lower()}" + (" (assumed)" if getattr(annotations, name) is None else "")
        for name in relevant(hints)
    ]
    return f"from the server's hints: {', '.join(said)}"


def relevant(hints: Mapping[Hint, bool | None]) -> tuple[Hint, ...]:
    """The hints that the grade of such a tool hangs on."""
    match hints["read_only"]:
        case None:
            return ("read_only",)
        case True:
            return ("read_only", "open_world")
        case False:
            return ("read_only", "destructive", "idempotent")


def _filled(annotations: ToolAnnotations, assume: Mapping[Hint, bool] | None) -> dict[Hint, bool | None]:
    given: dict[Hint, bool | None] = {name: getattr(annotations, name) for name in HINTS}
    return {name: (assume or {}).get(name) if value is None else value for name, value in given.items()}
