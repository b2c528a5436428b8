"""`[policy]`: the level, the rules and the cases that try them, every key and value checked (POL-03)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast, get_args

from ..policy.patterns import Pattern, compiled
from ..policy.rules import HINTS, VERDICTS, Provenance, Rule, Via
from ..spec import Grade, GradeFrom, SourceKind, Trust
from .check import WRONG, Check, Checker, array, boolean, choice, kind_of, name, plain, string, table
from .locate import KeyPath
from .tools import axis
from .values import AUTONOMY_LEVELS, PolicyCase


def rule_tables(cx: Checker, path: KeyPath, value: Any) -> Any:
    if isinstance(value, dict):
        return cx.wrong(path, "must be an array of tables", "write [[policy.rules]], once for each rule")
    return tuple(array(cx, path, value, _rule))


def case_tables(cx: Checker, path: KeyPath, value: Any) -> Any:
    if isinstance(value, dict):
        return cx.wrong(path, "must be an array of tables", "write [[policy.tests]], once for each case")
    return tuple(array(cx, path, value, _case))


def _rule(cx: Checker, path: KeyPath, value: Any) -> Any:
    before = len(cx.problems)
    found = table(cx, path, value, _RULE, required=["decision"], of="a rule")
    if len(cx.problems) > before:
        return WRONG  # a rule that says less than was meant would hold for more calls
    found |= found.pop("grade", {})
    return Rule(**found, where=cx.where(path))


def _case(cx: Checker, path: KeyPath, value: Any) -> Any:
    before = len(cx.problems)
    found = table(cx, path, value, _CASE, required=["call", "expect"], of="a test of the policy")
    return WRONG if len(cx.problems) > before else PolicyCase(**found, where=cx.where(path))


def _some(check: Check) -> Check:
    """One value, or an array of them: always a tuple."""

    def some(cx: Checker, path: KeyPath, value: Any) -> Any:
        if isinstance(value, list):
            if not value:
                return cx.wrong(path, "is empty", "leave it out when it does not matter")
            return tuple(array(cx, path, value, check))
        checked = check(cx, path, value)
        return WRONG if checked is WRONG else (checked,)

    return some


def _glob(cx: Checker, path: KeyPath, value: Any) -> Any:
    if name(cx, path, value) is WRONG:
        return WRONG
    return cx.wrong(path, "names nothing after the !") if value == "!" else value


def _grade(cx: Checker, path: KeyPath, value: Any) -> Any:
    if isinstance(value, dict) and set(cast("dict[str, Any]", value)) & {"w", "d"}:
        return cx.wrong(path, "must say at_least or at_most", "write {at_most = {w = 1, d = 1}}")
    found = table(cx, path, value, _GRADE, of="the grade of a rule")
    least, most = found.get("at_least", Grade(0, 0)), found.get("at_most", Grade(3, 3))
    if not most.covers(least):
        return cx.wrong(path, f"no grade is at least {least} and at most {most}")
    if "from" in found:
        found["grade_from"] = found.pop("from")
    return found if isinstance(value, dict) else WRONG


def _bound(otherwise: int) -> Check:
    def bound(cx: Checker, path: KeyPath, value: Any) -> Any:
        before = len(cx.problems)
        found = table(cx, path, value, {"w": axis, "d": axis}, of="a bound of the grade")
        if len(cx.problems) > before:
            return WRONG
        return Grade(found.get("w", otherwise), found.get("d", otherwise))

    return bound


def _annotations(cx: Checker, path: KeyPath, value: Any) -> Any:
    return table(cx, path, value, dict.fromkeys(HINTS, boolean), of="the annotations of a rule")


def _arguments(cx: Checker, path: KeyPath, value: Any) -> Any:
    if not isinstance(value, dict):
        return cx.wrong(path, f"must be a table, not {kind_of(value)}", 'write arguments = { path = "*.md" }')
    found = {key: _pattern(cx, (*path, key), item) for key, item in cast("dict[str, Any]", value).items()}
    return WRONG if WRONG in found.values() else found


def _pattern(cx: Checker, path: KeyPath, value: Any) -> Any:
    """A table of what must hold; or in short a text, which is a glob, or any other scalar, or an array of them."""
    if not isinstance(value, dict):
        given = _some(_scalar)(cx, path, value)
        if given is WRONG or WRONG in given:
            return WRONG
        texts = all(isinstance(one, str) for one in given)
        return Pattern(glob=given) if texts else Pattern(equals=given)
    before = len(cx.problems)
    found = table(cx, path, value, _PATTERN, of="the pattern of an argument")
    if not value:
        return cx.wrong(path, "says nothing of the argument", f"known here: {', '.join(_PATTERN)}")
    if len(cx.problems) > before:
        return WRONG
    if "not" in found:
        found["negated"] = found.pop("not")
    return Pattern(**found)


def _scalar(cx: Checker, path: KeyPath, value: Any) -> Any:
    if not isinstance(value, str | int | float) or value != value:
        return cx.wrong(path, f"must be a text, a number or a boolean, not {kind_of(cast('object', value))}")
    return value


def _regex(cx: Checker, path: KeyPath, value: Any) -> Any:
    if string(cx, path, value) is WRONG:
        return WRONG
    try:
        compiled(value)
    except ValueError as error:
        return cx.wrong(path, f"{value!r} {error}")
    return value


def _number(cx: Checker, path: KeyPath, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return cx.wrong(path, f"must be a number, not {value if isinstance(value, float) else kind_of(value)}")
    return value


def _place(cx: Checker, path: KeyPath, value: Any) -> Any:
    """A folder as a rule names it; it is found when the first call is judged, from the folder that call works in."""
    if name(cx, path, value) is WRONG:
        return WRONG
    if "${" in value:
        return cx.wrong(path, "variables are not put in here", "use ~, or a path relative to the workspace")
    return value


def _call_arguments(cx: Checker, path: KeyPath, value: Any) -> Any:
    if not isinstance(value, dict):
        return cx.wrong(path, f"must be a table, not {kind_of(value)}", 'write arguments = { path = "a.md" }')
    return plain(cx, path, value)


_VIA = choice(*get_args(Via))
_RULE: Mapping[str, Check] = {
    "decision": choice(*VERDICTS),
    "reason": name,
    "tool": _some(_glob),
    "source": _some(_glob),
    "kind": _some(choice(*get_args(SourceKind))),
    "trust": _some(choice(*get_args(Trust))),
    "provenance": _some(choice(*get_args(Provenance))),
    "grade": _grade,
    "annotations": _annotations,
    "arguments": _arguments,
    "via": _VIA,
}
_GRADE: Mapping[str, Check] = {
    "at_least": _bound(0),
    "at_most": _bound(3),
    "from": _some(choice(*get_args(GradeFrom))),
}
_PATTERN: dict[str, Check] = {
    "equals": _some(_scalar),
    "glob": _some(string),
    "regex": _some(_regex),
    "at_least": _number,
    "at_most": _number,
    "above": _number,
    "below": _number,
    "inside": _some(_place),
    "outside": _some(_place),
}
_PATTERN["not"] = _pattern
_CASE: Mapping[str, Check] = {
    "call": name,
    "arguments": _call_arguments,
    "expect": choice(*VERDICTS),
    "level": choice(*AUTONOMY_LEVELS),
    "via": _VIA,
}
