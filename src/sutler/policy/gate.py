"""The policy of one runtime: rules, then the level, then the policy sources; one answer for each call (POL-02).

A rule that denies always wins. Else the first rule that holds decides, and where none does, the autonomy level. Policy
sources come last and can only make that stricter. `decide` is for a call; `preview` and `explain` say the same before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..spec import Decision, ToolCall, ToolSpec
from .levels import LEVELS, Level, Pin, by_level, depends
from .paths import Folders
from .patterns import Place
from .rules import Arguments, Rule, Via, unseen_defaults
from .screens import Screens
from .sources import PolicySource, opinion

_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What may run unasked. It is never changed, only replaced.

    level: for every source; sources: for single ones by source id. network: lets the shipped network tools run without
    asking at level safe. rules: in their order. guards: policy sources, the first asked first. pin: whose definitions
    are held when they change: what is not the person's own code (remote), all, none (POL-06).
    """

    level: Level = "safe"
    sources: Mapping[str, Level] = field(default_factory=lambda: dict[str, Level]())
    network: bool = False
    rules: Sequence[Rule] = ()
    guards: Sequence[PolicySource] = ()
    pin: Pin = "remote"
    _tools: dict[str, _Tool] = field(default_factory=lambda: dict[str, _Tool](), init=False, repr=False, compare=False)
    _folders: dict[tuple[tuple[str, ...], str], Folders] = field(
        default_factory=lambda: dict[tuple[tuple[str, ...], str], Folders](), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        for level in (self.level, *self.sources.values()):
            if level not in LEVELS:
                raise ValueError(f"policy level must be one of {', '.join(LEVELS)}, not {level!r}")

    def level_of(self, source: str) -> Level:
        return self.sources.get(source, self.level)

    def decide(self, call: ToolCall, root: str | os.PathLike[str] | None = None) -> Decision:
        """allow, ask or deny for one call with its effective arguments, and what decided it.

        root: the folder that the call works in, from where relative paths begin; the current one when None.
        """
        tool = self._tool(call.spec)
        decision = tool.floor
        if tool.rules:
            via: Via = "direct" if call.run_id is None else "run"
            view = Arguments(call.arguments, self._place(root, call.spec), via=via, unseen=tool.unseen)
            decision = next((rule.answer for rule in tool.screens.that_may_hold(view) if rule.holds(view)), decision)
        return self._guarded(decision, call) if self.guards else decision

    def preview(
        self,
        spec: ToolSpec,
        arguments: Mapping[str, Any] | None = None,
        *,
        partial: bool | None = None,
        via: Via | None = "direct",
        root: str | os.PathLike[str] | None = None,
    ) -> Decision:
        """What `decide` would say of a call of this tool; `depends` where that cannot be known yet.

        arguments: those that are known. partial: whether others may come; when None, just when there are none here.
        """
        tool = self._tool(spec)
        if not tool.rules and not self.guards:
            return depends(tool.floor)
        return self.explain(spec, arguments, partial=partial, via=via, root=root).decision

    def explain(
        self,
        spec: ToolSpec,
        arguments: Mapping[str, Any] | None = None,
        *,
        partial: bool | None = None,
        via: Via | None = "direct",
        root: str | os.PathLike[str] | None = None,
    ) -> Explanation:
        """As `preview`, with everything that has to do with it."""
        partial = arguments is None if partial is None else partial
        given = arguments or {}
        names = None if not partial or spec.accepts_extra else {arg.name for arg in spec.args}
        tool = self._tool(spec)
        view = Arguments(given, self._place(root, spec), via=via, partial=partial, names=names, unseen=tool.unseen)
        decision, rule, perhaps = _foreseen(tool, view)
        opinions: tuple[Decision, ...] = ()
        if self.guards and decision.outcome != "deny":
            if partial:
                by = f"policy source {self.guards[0].name}"
                decision = Decision(outcome="depends", by=by, reason="policy sources look at each call")
            else:
                run_id = "plan" if via == "run" else None
                call = ToolCall(call_id="plan", spec=spec, arguments=given, run_id=run_id)
                opinions = tuple(said for guard in self.guards if (said := opinion(guard, call)) is not None)
                decision = _strictest(decision, opinions)
        return Explanation(
            decision=decision,
            rule=rule if rule is not None and decision == rule.answer else None,
            held=tuple(one for one in self.rules if one.is_of(spec) and one.holds(view)),
            perhaps=perhaps,
            level=depends(by_level(spec, self.level_of(spec.origin.source), network=self.network)),
            opinions=opinions,
        )

    def looks_at_arguments(self, spec: ToolSpec) -> bool:
        """Whether a decision may depend on what is in the arguments, which must then not change after it."""
        return bool(self.guards) or any(rule.arguments for rule in self._tool(spec).rules)

    def is_quick(self, spec: ToolSpec) -> bool:
        """Whether a decision touches no file and asks no policy source, so that an event loop may take it."""
        return not self.guards and not self._tool(spec).files

    def _guarded(self, decision: Decision, call: ToolCall) -> Decision:
        for guard in self.guards:
            if decision.outcome == "deny":
                break
            said = opinion(guard, call)
            if said is not None:
                decision = _strictest(decision, (said,))
        return decision

    def asker(self, decision: Decision) -> str:
        """What made a decision to ask, as a standing approval remembers it: of a rule what it says, not its place."""
        found = next((rule for rule in self.rules if rule.answer is decision), None)
        return decision.by if found is None else f"rule {found.fingerprint}"

    def _place(self, root: str | os.PathLike[str] | None, spec: ToolSpec) -> Place:
        here = os.getcwd() if root is None else os.fspath(root)  # noqa: PTH109 - a text is wanted
        return Place(here, self._folders, elsewhere=spec.meta.get("works_in"))

    def _tool(self, spec: ToolSpec) -> _Tool:
        """What the rules come to for one definition."""
        known = self._tools.get(spec.qualified)
        if known is None or known.spec is not spec:
            known = self._tools[spec.qualified] = self._settled(spec)
        return known

    def _settled(self, spec: ToolSpec) -> _Tool:
        about = [rule for rule in self.rules if rule.is_of(spec)]
        rules: list[Rule] = []
        last: Rule | None = None
        for rule in sorted(about, key=lambda rule: rule.decision != "deny"):  # stable
            if not rule.is_of_calls:
                last = rule
                break
            rules.append(rule)
        level = by_level(spec, self.level_of(spec.origin.source), network=self.network)
        return _Tool(
            spec=spec,
            rules=tuple(rules),
            last=last,
            floor=level if last is None else last.answer,
            screens=Screens(rules),
            unseen=unseen_defaults(spec) if any(rule.arguments for rule in rules) else (),
            files=any(rule.looks_at_files for rule in rules),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tool:
    """What is settled for one definition: the rules that look at the call, those that deny first, and `floor`, which
    holds where none of them does: the answer of the first rule that holds for every call (`last`), else the level's."""

    spec: ToolSpec
    rules: tuple[Rule, ...]
    last: Rule | None
    floor: Decision
    screens: Screens
    unseen: Sequence[str]
    files: bool


def _foreseen(tool: _Tool, view: Arguments) -> tuple[Decision, Rule | None, tuple[Rule, ...]]:
    """The decision, the rule that makes it, and the rules before it that cannot be told yet."""
    perhaps: list[Rule] = []
    decision, decides = depends(tool.floor), tool.last
    for rule in tool.rules:
        holds = rule.holds(view)
        if holds:
            decision, decides = rule.answer, rule
            break
        if holds is None:
            perhaps.append(rule)
    other = next((rule for rule in perhaps if rule.decision != decision.outcome), None)
    if other is not None:
        decision = replace(other.answer, outcome="depends", reason="the arguments decide")
    return decision, decides, tuple(perhaps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a call meets its decision.

    rule: the one that decided, if one did. held: all that hold, in their order. perhaps: those before it that cannot be
    told yet. level: what the autonomy level says alone. opinions: what policy sources said.
    """

    decision: Decision
    rule: Rule | None
    held: Sequence[Rule]
    perhaps: Sequence[Rule]
    level: Decision
    opinions: Sequence[Decision]


def _strictest(decision: Decision, others: Sequence[Decision]) -> Decision:
    for other in others:
        if _STRICTNESS[other.outcome] > _STRICTNESS.get(decision.outcome, 0):
            decision = other
    return decision
