"""What a program would do: every call site with the decision it would meet, and the grade of the whole (PRG-07)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..inventory import Inventory, Row
from ..lang import CallSite, Checked, Problem, check
from ..spec import PURE, Grade, Outcome
from .crossing import guarded
from .signatures import Signatures, program_row


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """One call site. `args` by parameter name when all are literal, else None, and `partly` those that are.

    The plan says where, not how often.
    """

    tool: str
    source: str
    line: int
    args: Mapping[str, Any] | None
    in_loop: bool
    decision: Outcome
    partly: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedProgram:
    """The plan. When `ok` is False, `errors` says why the program would not start, and `calls` is empty."""

    ok: bool
    errors: tuple[Problem, ...] = ()
    calls: tuple[PlannedCall, ...] = ()
    grade: Grade = PURE
    checked: Checked

    def __bool__(self) -> bool:
        return self.ok


def check_program(text: str, inventory: Inventory, *, level: str, params: Iterable[str], ahead: bool = True) -> Checked:
    """The check alone, against one inventory; `text` is then what to run, with every way out guarded.

    ahead: whether reads that do not depend on each other may be under way at once (PRG-08).
    Raises ValueError only for an unknown level.
    """
    params = tuple(params)
    checked = check(text, Signatures(inventory), level=level, params=params, ahead=ahead)
    if not checked.ok:
        return checked
    safe = guarded(checked.text, checked.tools)
    if not isinstance(safe, Problem):
        return replace(checked, text=safe)
    if ahead:  # what is announced makes a text longer and deeper; it may be too much only for that
        return check_program(text, inventory, level=level, params=params, ahead=False)
    return replace(checked, ok=False, errors=(safe,))


def plan_program(
    text: str,
    inventory: Inventory,
    *,
    level: str,
    params: Iterable[str],
    preview: Callable[[Row, CallSite], Outcome],
) -> PlannedProgram:
    """The check, and for each call what policy would say of it; `preview` answers for a tool and a call site."""
    checked = check_program(text, inventory, level=level, params=params)
    if not checked.ok:
        return PlannedProgram(ok=False, errors=checked.errors, checked=checked)
    calls: list[PlannedCall] = []
    for site in checked.calls:
        row = program_row(inventory, site.tool)
        assert row is not None, f"the checker let an unknown tool through: {site.tool}"
        calls.append(
            PlannedCall(
                tool=row.spec.name,
                source=row.spec.origin.source,
                line=site.line,
                args=site.args,
                partly=site.partly,
                in_loop=site.in_loop,
                decision=preview(row, site),
            )
        )
    return PlannedProgram(ok=True, calls=tuple(calls), grade=Grade(*checked.grade), checked=checked)
