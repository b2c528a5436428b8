"""Rules and decisions in words, and as --json has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..policy.patterns import Pattern
from ..policy.rules import Rule
from ..spec import Decision, Grade


def decided(decision: Decision) -> str:
    """A decision with what makes it: `deny by rule /p/sutler.toml:3: no keys`."""
    return f"{decision.outcome} by {decision.by}" + (f": {decision.reason}" if decision.reason else "")


def decision_document(decision: Decision) -> dict[str, str]:
    return {"outcome": decision.outcome, "by": decision.by, "reason": decision.reason}


def about(rule: Rule) -> str:
    """Which calls a rule is about, in one line."""
    parts = [
        *(f"{name} {_list(getattr(rule, name))}" for name in ("tool", "source", "kind", "trust", "provenance")),
        f"grade at least {rule.at_least}" if rule.at_least != Grade(0, 0) else "",
        f"grade at most {rule.at_most}" if rule.at_most != Grade(3, 3) else "",
        f"grade from {_list(rule.grade_from)}",
        *(f"{name} {str(value).lower()}" for name, value in rule.annotations.items()),
        *(f"{name} {pattern_words(pattern)}" for name, pattern in rule.arguments.items()),
        {"run": "called by a program", "direct": "called directly", None: ""}[rule.via],
    ]
    return "; ".join(part for part in parts if part and not part.endswith(" ")) or "every call"


def pattern_words(pattern: Pattern) -> str:
    """What a pattern says of a value: `outside ., not glob *.md`."""
    words = [
        *(f"{name} {_list(given)}" for name in ("equals", "glob", "regex") if (given := getattr(pattern, name))),
        *(
            f"{name.replace('_', ' ')} {bound}"
            for name in ("at_least", "at_most", "above", "below")
            if (bound := getattr(pattern, name)) is not None
        ),
        *(f"{name} {_list(given)}" for name in ("inside", "outside") if (given := getattr(pattern, name))),
        *([f"not ({pattern_words(pattern.negated)})"] if pattern.negated is not None else []),
    ]
    return ", ".join(words)


def rule_document(rule: Rule) -> dict[str, Any]:
    """A rule under the keys of [[policy.rules]]; what it does not say is left out."""
    held: dict[str, Any] = {"where": rule.where, "decision": rule.decision, "reason": rule.reason}
    for name in ("tool", "source", "kind", "trust", "provenance"):
        if given := getattr(rule, name):
            held[name] = list(given)
    grade: dict[str, Any] = {}
    if rule.at_least != Grade(0, 0):
        grade["at_least"] = {"w": rule.at_least.w, "d": rule.at_least.d}
    if rule.at_most != Grade(3, 3):
        grade["at_most"] = {"w": rule.at_most.w, "d": rule.at_most.d}
    if rule.grade_from:
        grade["from"] = list(rule.grade_from)
    held |= {"grade": grade} if grade else {}
    held |= {"annotations": dict(rule.annotations)} if rule.annotations else {}
    if rule.arguments:
        held["arguments"] = {name: _pattern(pattern) for name, pattern in rule.arguments.items()}
    held |= {"via": rule.via} if rule.via is not None else {}
    return {**held, "about": about(rule)}


def _pattern(pattern: Pattern) -> dict[str, Any]:
    held: dict[str, Any] = {
        name: list(given)
        for name in ("equals", "glob", "regex", "inside", "outside")
        if (given := getattr(pattern, name))
    }
    for name in ("at_least", "at_most", "above", "below"):
        if (bound := getattr(pattern, name)) is not None:
            held[name] = bound
    return held if pattern.negated is None else {**held, "not": _pattern(pattern.negated)}


def _list(words: Sequence[Any]) -> str:
    return " or ".join(map(str, words))
