"""Asking the person, before a call and for a library that asks by itself: where an answer is given its effect.

What is asked is what runs: the arguments are frozen before the question; ones that the person changed are bound and
judged again; and a tool that became another one meanwhile is not run (POL-04, LCP-01, LCP-17).
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ToolCallError, ToolDenied, ToolUnavailable, words
from ..policy.answers import CANCELLED, Answer, read_answer
from ..policy.approvals import denied, nobody, reach
from ..policy.masking import MASK
from ..policy.prompts import Question, of_library, question, source_of
from ..results import bounded, fresh
from ..spec import Decision, Repair, ToolCall
from . import tracing
from .events import Event, tell
from .frames import being_cancelled
from .ticket import Ticket

if TYPE_CHECKING:
    from ..policy.standing import StandingApproval
    from .core import Core

PERSON = "the person"
NOBODY = "nobody"
_FAULTS = (Exception, SystemExit, asyncio.CancelledError)
_OF_LIBRARY = "asked by its library"
_GRADED = re.compile(r"^\[[A-Z_]+\] | \(\d, \d\)(?=$|, with )")  # what a label says that may change meanwhile

# The runtimes whose person is being asked right now: a call that the handler itself makes cannot ask him again.
_asking: ContextVar[frozenset[int]] = ContextVar("sutler_asking", default=frozenset())


class Asking:
    """The person behind one runtime."""

    def __init__(self, core: Core) -> None:
        self._core = core

    # ------------------------------------------------------------------ before a call

    def recall(self, ticket: Ticket) -> None:
        """Allows a call that an approval of this runtime covers; reads no file."""
        call, run = ticket.call, ticket.run
        assert call is not None
        found = self._core.approvals.session.find(
            call.spec, call.arguments, run.root if run is not None else None, self._asker(ticket)
        )
        if found is not None:
            self._recalled(ticket, found)

    def look(self, ticket: Ticket) -> bool:
        """Whether a standing approval covers the call; it is then allowed. May read a file."""
        call, run = ticket.call, ticket.run
        assert call is not None
        found = self._core.approvals.find(call, run.root if run is not None else None, self._asker(ticket))
        if found is None:
            return False
        self._recalled(ticket, found)
        return True

    def _asker(self, ticket: Ticket) -> str:
        return self._core.policy.asker(ticket.decision)

    def _recalled(self, ticket: Ticket, found: StandingApproval) -> None:
        ticket.decision = Decision(outcome="allow", by=PERSON, how=f"{reach(found.scope)}, given before")
        ticket.granted = True

    def ask(self, ticket: Ticket) -> None:
        """Settles a call that policy says to ask about, on this thread. Leaves a refusal in ticket.error."""
        if self.look(ticket):
            return
        try:
            asked = self._question(ticket)
            tracing.note(ticket, "approval.asked")
            with ticket.paused(), self._turn() as waited:
                if waited and (ticket.settled or self.look(ticket)):
                    return  # given up meanwhile, or covered by the answer to the question before
                self._settle(ticket, self._consult(asked))
        except ToolCallError as error:
            ticket.error = error
            self._tell(ticket, Answer("reject", str(error)), by=self._who())

    async def ask_async(self, ticket: Ticket) -> None:
        """The same for a coroutine: nothing here holds its loop."""
        core = self._core
        if not core.approvals.is_async:
            await core.hop(lambda: self.ask(ticket))
            return
        if core.approvals.project is not None and await core.hop(lambda: self.look(ticket)):
            return
        try:
            asked = self._question(ticket)
            tracing.note(ticket, "approval.asked")
            with ticket.paused():
                answer = await self._consult_async(asked)
            await core.hop(lambda: self._settle(ticket, answer))
        except ToolCallError as error:
            ticket.error = error
            self._tell(ticket, Answer("reject", str(error)), by=self._who())

    def grant(self, ticket: Ticket, answer: Answer, asked: Mapping[str, Any] | None) -> None:
        """A person's answer that came later, to a program that waited for it. Leaves a refusal in ticket.error.

        asked: the question as it was stored. What a call comes to may have changed since, without its tool's digest:
        the order of parameters is no part of that, and a program gives some by position.
        """
        if ticket.error is not None:
            return
        if answer.decision != "reject" and answer.arguments is None and not self._is_what_was_asked(ticket, asked):
            ticket.error = ToolUnavailable(
                f"{ticket.spec.qualified} was not run: its parameters have changed since the person was asked, so that"
                " the call is another one now; start the run anew"
            )
            return
        try:
            self._settle(ticket, answer)
        except ToolCallError as error:
            ticket.error = error
            self._tell(ticket, Answer("reject", str(error)))

    def _is_what_was_asked(self, ticket: Ticket, asked: Mapping[str, Any] | None) -> bool:
        if asked is None:
            return False
        now, mask = self.waiting(ticket), self._core.recorder.masker.value
        before, after = ([mask(str(of.get(part))) for part in ("tool", "source", "label")] for of in (asked, now))
        before[2], after[2] = (_GRADED.sub("", label) for label in (before[2], after[2]))
        return all(_shows(one, other) for one, other in zip(before, after, strict=True))

    def waiting(self, ticket: Ticket) -> dict[str, Any]:
        """The question of a call that waits to be answered later, as it may be stored: secrets masked."""
        call, core = ticket.call, self._core
        assert call is not None
        shown = core.recorder.masker.arguments(call.arguments, call.spec.input_schema)
        level = core.policy.level_of(call.spec.origin.source)
        asked = self._masked(question(replace(call, arguments=shown), level))
        return {
            "tool": call.spec.qualified,
            "digest": call.spec.digest,
            "label": asked.label,
            "source": asked.source,
            "argv": asked.argv,
            "line": ticket.line,
        }

    def revoke(self, approval_id: str) -> bool:
        """Takes a standing approval back. StoreError when the file that holds it cannot be changed."""
        gone = self._core.approvals.revoke(approval_id)
        if gone is not None:
            self._core.audit("change.approval", tool=gone.qualified, revoked=reach(gone.scope))
        return gone is not None

    def question(self, ticket: Ticket) -> Question:
        """What the person is shown of a call: known secrets masked, all else as it will run."""
        call = ticket.call
        assert call is not None
        asked = question(call, self._core.policy.level_of(call.spec.origin.source))
        return self._masked(asked)

    def _question(self, ticket: Ticket) -> Question:
        call, core = ticket.call, self._core
        assert call is not None
        if core.approvals.handler is None:
            raise nobody(call, ticket.decision, project=core.approvals.project is not None)
        self._check_nested(call.spec.qualified)
        return self.question(ticket)

    @contextmanager
    def _turn(self) -> Generator[bool]:
        """Waits for the handler's turn, when it asks one thing at a time; whether it may have had to wait."""
        lock = getattr(self._core.approvals.handler, "one_at_a_time", None)
        if not isinstance(lock, AbstractContextManager):
            yield False
            return
        with lock:
            yield True

    def _check_nested(self, what: str) -> None:
        if id(self._core) in _asking.get():
            raise ToolDenied(f"{what} needs approval, and it is called by the very handler that would be asked")

    def _settle(self, ticket: Ticket, answer: Answer) -> None:
        """Gives an answer its effect. Raises ToolDenied unless it allows the call."""
        call = ticket.call
        assert call is not None
        if answer.decision == "reject":
            raise ToolDenied(f"{call.spec.qualified} was rejected: {answer.reason or 'no reason was given'}")
        edits: tuple[Repair, ...] = ()
        if answer.arguments is not None:
            call, edits = self._edited(ticket, answer.arguments)
        self._check_unchanged(call)
        how = self._remember(ticket, call, answer)
        if edits:
            how = f"{how}, with arguments he changed"
            ticket.repairs = (*ticket.repairs, *edits)
        ticket.call = call
        ticket.decision = Decision(outcome="allow", by=PERSON, how=how, reason=answer.reason)
        ticket.granted = True
        self._tell(ticket, answer, edited=bool(edits))

    def _remember(self, ticket: Ticket, call: ToolCall, answer: Answer) -> str:
        """Keeps an "always"; how far the answer reaches, in words."""
        if answer.decision != "always":
            return "allow"
        core = self._core
        masked = core.recorder.masker.arguments(call.arguments, call.spec.input_schema)
        shown = self._masked(Question(source=source_of(replace(call, arguments=masked)), label=""))
        root = ticket.run.root if ticket.run is not None else None
        how, note = core.approvals.remember(call, answer, run=root, shown=shown.source, asked=self._asker(ticket))
        if note:
            ticket.notes = (*ticket.notes, note)
        if how != "allow":
            core.audit("change.approval", tool=call.spec.qualified, run_id=call.run_id, given=how)
        return how

    def _edited(self, ticket: Ticket, given: Any) -> tuple[ToolCall, tuple[Repair, ...]]:
        """The call with the arguments that the person wrote, bound and judged anew, and what he changed."""
        core, call, tool = self._core, ticket.call, ticket.tool
        assert call is not None and tool is not None
        try:
            bound = tool.binder.bind(dict(given))
        except ToolCallError as error:
            raise ToolDenied(
                f"{call.spec.qualified} was not run: the arguments that the person changed do not fit: {error}"
            ) from error
        changed = replace(call, arguments=fresh(bound.arguments))
        decision = core.policy.decide(changed, ticket.site.root)
        if decision.outcome == "deny":
            raise denied(decision, f"{call.spec.qualified}, with the arguments that the person changed,")
        before, after = call.arguments, changed.arguments
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        schema = call.spec.input_schema
        old, new = (core.recorder.masker.arguments(dict(one), schema) for one in (before, after))
        edits = tuple(
            Repair(path=name, rule="edited", before=fresh(old.get(name)), after=fresh(new.get(name))) for name in names
        )
        ticket.notes = (*ticket.notes, *bound.notes)
        return changed, (*edits, *bound.repairs) if edits else ()

    def _check_unchanged(self, call: ToolCall) -> None:
        """The person was shown a definition; a tool that is another one by now is not what he said yes to."""
        row = self._core.inventory().qualified.get(call.spec.qualified)
        if row is not None and row.spec.digest != call.spec.digest:
            raise ToolDenied(
                f"{call.spec.qualified} was not run: its definition changed while the person was asked, so the approval"
                " is for another one; call it again to have it asked about as it is now"
            )

    # ------------------------------------------------------------------ for a library that asks by itself

    def of_library(self, ticket: Ticket | None, source: object, label: object, argv: object) -> tuple[str, str]:
        """The confirm_handler that a library has (LCP-17). ticket: the call it asks from, None when that is not known.

        It is not asked twice what the gate has just asked; at level full_access it is answered allow.
        """
        core = self._core
        if ticket is not None and ticket.flight.ended:
            return "reject", "the call that asks this was given up"
        if ticket is not None and ticket.flight.over:
            ticket = None  # what its call was allowed ended with it
        if self._is_open(ticket) or (ticket is not None and ticket.granted):
            return "allow", ""
        if ticket is not None and self.look(ticket):
            return "allow", ""
        asked = self._masked(of_library(source, label, argv))
        if core.approvals.handler is None:
            answer = Answer("reject", self._nobody(ticket))
        else:
            try:
                self._check_nested(asked.label)
                with ticket.paused() if ticket is not None else nullcontext():
                    answer = self._consult(asked)
            except ToolDenied as error:
                answer = Answer("reject", str(error))
        if answer.arguments is not None and answer.decision != "reject":
            answer = Answer("reject", "the person wants other arguments, and a library's question takes none")
        return self._settle_library(ticket, answer)

    def _settle_library(self, ticket: Ticket | None, answer: Answer) -> tuple[str, str]:
        if ticket is not None and ticket.call is not None:
            if answer.decision == "reject":
                decision = Decision(outcome="deny", by=self._who(), how=f"reject, {_OF_LIBRARY}", reason=answer.reason)
            else:
                how = self._remember(ticket, ticket.call, answer)
                decision = Decision(outcome="allow", by=PERSON, how=f"{how}, {_OF_LIBRARY}", reason=answer.reason)
            ticket.decision = decision
            self._tell(ticket, answer, by=self._who())
        # An "always" that ends, or covers less than the library would take it for, is remembered here alone.
        lasting = answer.expires is None and answer.scope in ("session", "project")
        decision_given = "allow" if answer.decision == "always" and not lasting else answer.decision
        return decision_given, answer.reason

    def _is_open(self, ticket: Ticket | None) -> bool:
        """Whether the level in force is full_access: the library's own, or, when that is not known, everybody's."""
        policy = self._core.policy
        if ticket is not None:
            return policy.level_of(ticket.spec.origin.source) == "full_access"
        return all(level == "full_access" for level in (policy.level, *policy.sources.values()))

    def _nobody(self, ticket: Ticket | None) -> str:
        """What a library is told when there is nobody to ask, with what would allow the call."""
        text = "there is nobody to ask; give the runtime a confirm_handler, or allow it: policy level full_access"
        if ticket is not None and self._core.approvals.project is not None:
            text += f", or `sutler approvals grant {ticket.spec.qualified}` (with NAME=VALUE for such a call alone)"
        return text

    # ------------------------------------------------------------------ the handler

    def _who(self) -> str:
        """Who answered just now: without a handler nobody was asked."""
        return NOBODY if self._core.approvals.handler is None else PERSON

    def _consult(self, asked: Question) -> Answer:
        """What the handler answers, on this thread; whatever goes wrong with it is a reject that says what."""
        core = self._core
        token = _asking.set(_asking.get() | {id(core)})
        try:
            handler: Any = core.approvals.handler
            answer = handler(asked.source, asked.label, asked.argv)
            if inspect.isawaitable(answer):
                answer = core.places.await_on_host(answer)
        except KeyboardInterrupt:
            return Answer("reject", CANCELLED)
        except _FAULTS as error:
            return _fault(error)
        finally:
            _asking.reset(token)
        return read_answer(answer)

    async def _consult_async(self, asked: Question) -> Answer:
        token = _asking.set(_asking.get() | {id(self._core)})
        try:
            handler: Any = self._core.approvals.handler
            answer = await handler(asked.source, asked.label, asked.argv)
        except _FAULTS as error:
            if being_cancelled():
                raise
            return _fault(error)
        finally:
            _asking.reset(token)
        return read_answer(answer)

    def _masked(self, asked: Question) -> Question:
        mask = self._core.recorder.masker.value
        return Question(source=mask(asked.source), label=mask(asked.label), argv=mask(asked.argv))

    def _tell(self, ticket: Ticket, answer: Answer, *, by: str = PERSON, edited: bool = False) -> None:
        """The host, the audit log and the call's span hear of it."""
        core = self._core
        tracing.note(ticket, "approval.answered", decision=answer.decision)
        tool = ticket.tool.qualified if ticket.tool is not None else ticket.name
        run_id = ticket.run.run_id if ticket.run is not None else None
        reason = core.recorder.masker.value(answer.reason)
        call = ticket.call
        args = None if call is None else core.recorder.masker.arguments(call.arguments, call.spec.input_schema)
        core.audit(
            "decision",
            tool=tool,
            run_id=run_id,
            decision=answer.decision,
            by=by,
            reason=reason,
            arguments=None if args is None else bounded(args),
        )
        data = {"decision": answer.decision, "reason": reason}
        if edited:
            data["edited"] = "yes"
        tell(core.on_event, Event(kind="approval", tool=tool, call_id=ticket.call_id, run_id=run_id, data=data))


def _shows(asked: str, now: str) -> bool:
    """Whether a text of a stored question is today's; what was masked then may not be known as a secret any more."""
    return re.fullmatch(".*".join(map(re.escape, asked.split(MASK))), now, re.DOTALL) is not None


def _fault(error: BaseException) -> Answer:
    if isinstance(error, TimeoutError):
        return Answer("reject", "the approval request timed out")
    return Answer("reject", f"the confirm handler failed with {words(error)}")
