"""Asking the person: one question, one answer, bound to exactly what will run.

A handler is `confirm_handler(source, script_label, argv) -> (decision, reason)`, sync or async (LCP section 5):
source is the call with its effective arguments, script_label the tool and the level, argv the arguments as a list or
None; decision is "allow", "always" (this definition, any arguments, this session) or "reject". Any other answer, an
exception and a timeout reject. Nobody to ask rejects, naming what would allow the call.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any, cast

from ..errors import ToolDenied, words
from ..spec import Decision, ToolCall, ToolSpec
from .prompts import label_of, source_of

ConfirmHandler = Callable[..., Any]


class Approvals:
    """The session's memory of "always", and the person behind `handler` (None: nobody)."""

    def __init__(self, handler: ConfirmHandler | None) -> None:
        self.handler = handler
        self._always: set[tuple[str, str, str]] = set()
        self._lock = threading.Lock()

    @property
    def is_async(self) -> bool:
        handler = self.handler
        return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)

    def remembered(self, spec: ToolSpec) -> bool:
        return bool(self._always) and _key(spec) in self._always

    def question(self, call: ToolCall, level: str) -> tuple[str, str, list[Any] | None]:
        """What a handler is given: the text of the call, its label, its argument list."""
        return source_of(call), label_of(call.spec, level), None

    def settle(self, call: ToolCall, answer: object) -> Decision:
        """The decision that a handler's answer means. Raises ToolDenied unless it allows."""
        decision, reason = self.read(answer)
        if decision == "always":
            with self._lock:
                self._always.add(_key(call.spec))
        if decision in ("allow", "always"):
            return Decision(outcome="allow", by="the person", how=decision, reason=reason)
        raise ToolDenied(f"{call.spec.qualified} was rejected: {reason or 'no reason was given'}")

    @staticmethod
    def read(answer: object) -> tuple[str, str]:
        """(decision, reason) as a handler gave them; anything that is no such pair is a reject that says so."""
        if isinstance(answer, tuple | list):
            parts = tuple(cast("tuple[object, ...]", answer))
            if len(parts) == 2 and parts[0] in ("allow", "always", "reject"):
                return str(parts[0]), _reason(parts[1])
        shown = _shown(cast(object, answer))
        return "reject", f"the confirm handler answered {shown} instead of (allow | always | reject, reason)"

    def failed(self, call: ToolCall, error: BaseException) -> ToolDenied:
        return ToolDenied(f"{call.spec.qualified} was rejected: the confirm handler failed with {words(error)}")


def _reason(given: object) -> str:
    return given if isinstance(given, str) else _shown(given) if given else ""


def _shown(value: object) -> str:
    """What a handler gave, in short: it may be anything."""
    try:
        return repr(value)[:120]
    except Exception as error:
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"


def nobody(call: ToolCall, decision: Decision) -> ToolDenied:
    """The refusal when there is nobody to ask: it says why, and what would allow the call."""
    spec = call.spec
    text = (
        f"{spec.qualified} needs approval and there is nobody to ask ({decision.reason or decision.by})."
        " Give the runtime a confirm_handler; or allow it: policy level full_access"
    )
    if decision.by == "level safe" and spec.origin.kind != "code":  # elsewhere its grade decides nothing
        text += (
            f', or, when its grade is too high, a lower one in sutler.toml: [grades] "{spec.qualified}" ='
            " { w = 1, d = 2 }"
        )
    return ToolDenied(text)


def _key(spec: ToolSpec) -> tuple[str, str, str]:
    return spec.origin.source, spec.name, spec.digest
