"""Who keeps a bare name, and what becomes of the others (RFC 0002 section 4, SRC-06)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from .inventory import Inventory, Row, Shadowed
from .schema.names import assign, assign_qualified, masks
from .sources.base import Duplicate, Quarantined, ToolSource
from .spec import Grade, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one source last said. `state` is what it said of itself: while that stays, it is not asked again."""

    state: object
    specs: Sequence[ToolSpec] = ()
    quarantined: Sequence[Quarantined] = ()
    duplicates: Sequence[Duplicate] = ()
    unavailable: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()


def merge(
    sources: Sequence[ToolSource],
    answers: Sequence[Answer],
    overrides: Mapping[str, Grade],
    hold: Callable[[ToolSpec], Quarantined | None] | None,
) -> Inventory:
    """One inventory of what each source answered. hold(spec): why a tool must not be offered as it is now (POL-06)."""
    pairs = [(source, spec) for source, answer in zip(sources, answers, strict=True) for spec in answer.specs]
    known = {spec.qualified for _, spec in pairs} if overrides else set[str]()
    held: list[Quarantined] = []
    if hold is not None:
        judged = [(pair, hold(pair[1])) for pair in pairs]
        pairs = [pair for pair, item in judged if item is None]
        held = [item for _, item in judged if item is not None]
    best: dict[str, ToolSpec] = {}
    for _, spec in pairs:
        holder = best.setdefault(spec.name, spec)
        if holder is not spec and _outranks(spec, holder):
            best[spec.name] = spec
    bare = assign((spec.origin.source, spec.name) for spec in best.values())
    qualified = assign_qualified(((spec.origin.source, spec.name) for _, spec in pairs), set(bare.values()))
    rows: list[Row] = []
    winners: dict[str, Row] = {}
    losers: list[Row] = []
    for source, spec in pairs:
        key = (spec.origin.source, spec.name)
        won = best[spec.name] is spec
        row = Row(spec, source, bare[key] if won else qualified[key], qualified[key])
        rows.append(row)
        if won:
            winners[spec.name] = row
        else:
            losers.append(row)
    return Inventory(
        rows=tuple(rows),
        tools=winners,
        shadowed=tuple(Shadowed(row, winners[row.spec.name], _why(row.spec, best[row.spec.name])) for row in losers),
        duplicates=tuple(item for answer in answers for item in answer.duplicates),
        quarantined=(*(item for answer in answers for item in answer.quarantined), *held),
        unavailable=tuple(item for answer in answers for item in answer.unavailable),
        notes=(
            *(note for answer in answers for note in answer.notes),
            *_masking(winners.values()),
            *_idle(overrides, known),
        ),
    )


def _outranks(later: ToolSpec, earlier: ToolSpec) -> bool:
    """Higher precedence; when equal the later added, except that of two tool folders the first configured (SRC-06)."""
    a, b = later.origin, earlier.origin
    if a.precedence != b.precedence:
        return a.precedence > b.precedence
    return not (a.kind == b.kind == "library")


def _why(loser: ToolSpec, winner: ToolSpec) -> str:
    low, high = loser.origin, winner.origin
    if low.precedence != high.precedence:
        return f"precedence {low.precedence:g} against {high.precedence:g}"
    if low.kind == high.kind == "library":
        return f"equal precedence {low.precedence:g}, and of tool folders the first configured wins"
    return f"equal precedence {low.precedence:g}, and the source added later wins"


def _masking(rows: Iterable[Row]) -> Iterable[str]:
    for row in rows:
        name = row.spec.name
        if row.program_name != name and (hidden := masks(name)):
            yield (
                f"{row.spec.qualified} has the name of {hidden} `{name}`; "
                f"programs call it {row.program_name} or {row.qualified_program_name}"
            )


def _idle(overrides: Mapping[str, Grade], known: set[str]) -> Iterable[str]:
    for name in overrides:
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.8)
            yield f"[grades] {name!r} is no tool that is there now" + (f"; did you mean {near[0]!r}?" if near else "")
