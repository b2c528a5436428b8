"""What a person answers, and how an answer is read: whatever is not clearly an allow is a reject (LCP-01)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, cast, get_args

Decided = Literal["allow", "always", "reject"]
Scope = Literal["call", "session", "run", "exact", "project"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

CANCELLED = "cancelled by user"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a confirm_handler may answer in place of `(decision, reason)`.

    scope: how far an "always" reaches. call: no further than an "allow". session: this definition, any arguments, until
    the runtime is closed. run: the same, within the run that the call belongs to. exact: this definition with exactly
    these arguments, until the runtime is closed. project: this definition, any arguments, kept in the state directory.
    expires: seconds, or a timedelta, after which an "always" is forgotten.
    arguments: what the call is to be made with instead; they are bound and judged by policy again.
    """

    decision: Decided
    reason: str = ""
    scope: Scope = "session"
    expires: float | timedelta | None = None
    arguments: Mapping[str, Any] | None = None

    @property
    def seconds(self) -> float | None:
        return self.expires.total_seconds() if isinstance(self.expires, timedelta) else self.expires


def read_answer(given: object) -> Answer:
    """A handler's answer; anything that is neither a pair nor an Answer as they should be is a reject that says so."""
    if isinstance(given, Answer):
        wrong = _wrong(given)
        return Answer("reject", f"the confirm handler's Answer cannot be used: {wrong}") if wrong else given
    if isinstance(given, tuple | list):
        parts = tuple(cast("tuple[object, ...]", given))
        if len(parts) == 2 and _is_one_of(parts[0], get_args(Decided)):
            return Answer(cast("Decided", str(parts[0])), _reason(parts[1]))
    shown = _shown(cast("object", given))
    return Answer("reject", f"the confirm handler answered {shown} instead of (allow | always | reject, reason)")


def _wrong(answer: Answer) -> str:
    expires, arguments = cast("tuple[object, object]", (answer.expires, answer.arguments))
    if not _is_one_of(answer.decision, get_args(Decided)):
        return f"decision is {_shown(answer.decision)}, not allow, always or reject"
    if not _is_one_of(answer.scope, SCOPES):
        return f"scope is {_shown(answer.scope)}, not one of {', '.join(SCOPES)}"
    if not isinstance(arguments, Mapping | None):
        return f"arguments is {_shown(arguments)}, not a mapping"
    if expires is not None and (isinstance(expires, bool) or not isinstance(expires, int | float | timedelta)):
        return f"expires is {_shown(expires)}, not a number of seconds or a timedelta"
    if answer.seconds is not None and not (answer.seconds > 0 and math.isfinite(answer.seconds)):
        return f"expires is {_shown(expires)}, which is no time from now"
    return ""


def _is_one_of(value: object, words: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in words


def _reason(given: object) -> str:
    return given if isinstance(given, str) else _shown(given) if given else ""


def _shown(value: object) -> str:
    """What a handler gave, in short: it may be anything."""
    try:
        return repr(value)[:120]
    except Exception as error:
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
