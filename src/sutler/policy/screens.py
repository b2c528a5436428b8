"""Which of many rules may hold for a call, without asking each: one question to many patterns at once.

Rules that say something of the same argument are asked together: all their texts are one automaton, all their folders
one set, all their bounds one range. Only where that answer is yes, or in doubt, is each of them asked by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from .patterns import LONGEST, Place, text_of
from .rules import Arguments, Condition, Rule

_FEW = 4  # rules that are asked one by one as quickly

Screen = Callable[[Any, Place], bool]  # whether a value may fit any of them


class Screens:
    """The rules of one tool, in their order."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)
        groups: dict[tuple[str, str], list[tuple[int, Any]]] = {}
        asked: list[int] = []
        for number, rule in enumerate(rules):
            found = _handle(rule)
            if found is None:
                asked.append(number)
            else:
                name, kind, part = found
                groups.setdefault((name, kind), []).append((number, part))
        self._groups: list[tuple[Condition, Screen, tuple[int, ...]]] = []
        for (name, kind), held in groups.items():
            numbers = tuple(number for number, _ in held)
            screen = _MAKERS[kind](tuple(part for _, part in held)) if len(held) >= _FEW else None
            if screen is None:
                asked += numbers
            else:
                self._groups.append((Condition(name, ()), screen, numbers))
        self._asked = sorted(asked)

    def that_may_hold(self, call: Arguments) -> Iterator[Rule]:
        """In their order, all that hold among them."""
        numbers = self._asked
        for condition, screen, held in self._groups:
            values = condition.values(call, eager=True)
            if values is None or any(screen(value, call.place) for value in values) or condition.is_left(call):
                numbers = sorted([*numbers, *held])
        rules = self._rules
        return (rules[number] for number in numbers)


def _handle(rule: Rule) -> tuple[str, str, Any] | None:
    """What a rule can be grouped by: the name of an argument, and something that must be so of it."""
    for name, pattern in rule.arguments.items():
        if pattern.equals and all(isinstance(one, str) for one in pattern.equals):
            return name, "texts", tuple(f"^{re.escape(str(one))}$" for one in pattern.equals)
        if pattern.glob and not any("[" in one for one in pattern.glob):
            return name, "texts", tuple(map(_as_regex, pattern.glob))
        if pattern.regex:
            return name, "texts", tuple(f"(?:{one})" for one in pattern.regex)
        if pattern.inside:
            return name, "folders", pattern.inside
        low = [bound for bound in (pattern.at_least, pattern.above) if bound is not None]
        high = [bound for bound in (pattern.at_most, pattern.below) if bound is not None]
        if low or high:
            return name, "bounds", (max(low, default=float("-inf")), min(high, default=float("inf")))
    return None


def _as_regex(glob: str) -> str:
    parts = [".*" if char == "*" else "." if char == "?" else re.escape(char) for char in glob]
    return f"^(?s:{''.join(parts)})$"


@lru_cache(maxsize=64)
def _texts(parts: tuple[tuple[str, ...], ...]) -> Screen | None:
    """One automaton for all; None when they are too much for one."""
    import jsonschema_rs as rs

    options = rs.RegexOptions(size_limit=20_000_000, dfa_size_limit=20_000_000)
    try:
        whole = rs.validator_for({"pattern": "|".join(one for some in parts for one in some)}, pattern_options=options)
    except (rs.ValidationError, ValueError):
        return None
    fits = whole.is_valid

    def screen(value: Any, place: Place) -> bool:
        text = text_of(value)
        try:
            return len(text) > LONGEST or fits(text)
        except UnicodeEncodeError:
            return True

    return screen


def _folders(parts: tuple[tuple[str, ...], ...]) -> Screen:
    every = tuple(dict.fromkeys(one for some in parts for one in some))

    def screen(value: Any, place: Place) -> bool:
        return not isinstance(value, str) or place.folders(every).may_hold(place.readings(value))

    return screen


def _bounds(parts: tuple[tuple[float, float], ...]) -> Screen:
    low, high = min(low for low, _ in parts), max(high for _, high in parts)

    def screen(value: Any, place: Place) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return True
        return not (value < low or value > high)  # so that NaN is in doubt

    return screen


_MAKERS: dict[str, Callable[[Any], Screen | None]] = {"texts": _texts, "folders": _folders, "bounds": _bounds}
