"""The person behind a runtime, and what he has said so far (POL-04).

A handler is `confirm_handler(source, script_label, argv) -> (decision, reason)`, or an Answer, sync or async (LCP
section 5): source is the call with its effective arguments, script_label the level and the tool, argv the words of a
plain command or None. An approval is bound to source, tool, definition and arguments; it never leaves its runtime,
but for those of scope "project".
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import StoreError, ToolDenied
from ..spec import Decision, ToolCall
from .answers import Answer, Scope
from .project import ProjectApprovals
from .standing import Remembered, StandingApproval, digest_of

ConfirmHandler = Callable[..., Any]


class Approvals:
    """handler: None when there is nobody. project: where approvals of scope "project" are kept; None: nowhere."""

    def __init__(self, handler: ConfirmHandler | None, *, project: ProjectApprovals | None = None) -> None:
        self.handler = handler
        self.project = project
        self.session = Remembered()

    @property
    def is_async(self) -> bool:
        handler = self.handler
        return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)

    @property
    def all(self) -> tuple[StandingApproval, ...]:
        """Every standing approval that holds now."""
        kept = self.project.all if self.project is not None else ()
        return (*self.session.all, *(one for one in kept if not one.expired))

    def find(self, call: ToolCall, run: str | None, asks: str) -> StandingApproval | None:
        """The one that covers this call, which a rule, a policy source or the level asks about. May read a file."""
        found = self.session.find(call.spec, call.arguments, run, asks)
        if found is None and self.project is not None:
            return self.project.find(call.spec, call.arguments, asks)
        return found

    def revoke(self, approval_id: str) -> StandingApproval | None:
        """Takes one back; None when there is none of that id. StoreError when the project's file cannot be changed."""
        gone = self.session.remove(approval_id)
        if gone is None and self.project is not None:
            return self.project.remove(approval_id)
        return gone

    def remember(self, call: ToolCall, answer: Answer, *, run: str | None, shown: str, asked: str) -> tuple[str, str]:
        """(how far the answer reaches, in words; what else is to be said) after remembering an "always".

        run: the id of the run that the call belongs to. shown: the call in words, secrets masked. asked: what asked.
        """
        scope, note = answer.scope, ""
        if scope == "call" or (scope == "run" and run is None):
            return "allow", ""
        if scope == "project" and self.project is not None:
            try:
                self.keep(call, answer, shown="", asked=asked)
            except StoreError as error:
                return "allow", f"the approval holds for this call only: {error}"
            return reach(scope), ""
        if scope == "project":
            scope, note = "session", "the approval holds until the runtime is closed: it was given no project"
        self.session.add(_standing(call, scope, answer, run=run if scope == "run" else None, shown=shown, asked=asked))
        return reach(scope), note

    def keep(self, call: ToolCall, answer: Answer, *, shown: str, asked: str = "") -> StandingApproval:
        """Remembers an "always" of scope project or exact for the project. StoreError when it cannot be written.

        asked: what asked; "" for one that is given ahead, and covers whatever asks.
        """
        assert self.project is not None, "a runtime without a project keeps no approvals"
        approval = _standing(call, answer.scope, answer, run=None, shown=shown, asked=asked)
        self.project.add(approval)
        return approval


def _standing(
    call: ToolCall, scope: Scope, answer: Answer, *, run: str | None, shown: str, asked: str
) -> StandingApproval:
    return StandingApproval(
        source=call.spec.origin.source,
        tool=call.spec.name,
        digest=call.spec.digest,
        scope=scope,
        arguments=digest_of(call.arguments) if scope == "exact" else None,
        shown=shown if scope == "exact" else "",
        asked=asked,
        run=run,
        expires=None if answer.seconds is None else time.time() + answer.seconds,
    )


def reach(scope: Scope) -> str:
    """How far an "always" reaches, in words."""
    return _HOW[scope]


_HOW: Mapping[Scope, str] = {
    "call": "allow",
    "session": "always",
    "run": "always, in this run",
    "exact": "always, with these arguments",
    "project": "always, in this project",
}


def denied(decision: Decision, tool: str) -> ToolDenied:
    """The refusal of a call that nobody is asked about."""
    return ToolDenied(f"{tool} is denied by {decision.by}" + (f": {decision.reason}" if decision.reason else ""))


def nobody(call: ToolCall, decision: Decision, *, project: bool = False) -> ToolDenied:
    """The refusal when there is nobody to ask: it says why, and what would allow the call.

    project: standing approvals of a project are looked at, so that one would do.
    """
    spec = call.spec
    text = (
        f"{spec.qualified} needs approval and there is nobody to ask ({decision.reason or decision.by})."
        " Give the runtime a confirm_handler; or allow it: "
    )
    by_level = decision.by.startswith("level ")  # a rule or a policy source asks at every level
    text += "policy level full_access" if by_level else f"change {decision.by}"
    if project:
        text += f", or `sutler approvals grant {spec.qualified}`"
    if decision.by == "level safe" and spec.origin.kind != "code":  # elsewhere its grade decides nothing
        text += (
            f', or, when its grade is too high, a lower one in sutler.toml: [grades] "{spec.qualified}" ='
            " { w = 1, d = 2 }"
        )
    return ToolDenied(text)
