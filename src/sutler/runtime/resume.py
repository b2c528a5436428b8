"""A program that waited for a person goes on: from its snapshot, in any process, against the tools of today."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..errors import LimitExceeded, SutlerError
from ..policy.answers import Answer, read_answer
from ..programs.driver import Answer as Settled
from ..programs.signatures import program_row
from ..programs.steps import Call
from ..store import RunRecord, Store
from .frames import CallBudget, RunState
from .program_call import open_call

if TYPE_CHECKING:
    from ..inventory import Row
    from .core import Core

PersonsAnswer = Literal["allow", "reject", "ask"]


def waiting_run(core: Core, run_id: str) -> RunRecord:
    """The record of a run that waits. SutlerError when there is none, or it does not wait."""
    record = core.recorder.store.run(run_id)
    if record is None:
        raise SutlerError(f"there is no run {run_id!r} in the store")
    if record.status != "waiting" or record.snapshot is None:
        raise SutlerError(f"run {run_id} does not wait for anybody: its status is {record.status}")
    for source, tool, _ in record.names.values():
        for item in core.pins.held(f"{source}::{tool}"):
            raise SutlerError(f"run {run_id} cannot go on, and still waits: {item}")
    return record


def claim(store: Store, run_id: str) -> None:
    """Takes a waiting run for whoever calls. SutlerError when somebody else was faster."""
    if not store.claim_run(run_id):
        raise SutlerError(f"run {run_id} does not wait any more: somebody else has just answered")


def restore(core: Core, state: RunState, record: RunRecord) -> None:
    """Puts back what the run had done: its steps count, and tools that changed since are held.

    But for those whose change a person has accepted meanwhile.
    """
    steps = list(record.steps)
    state.steps = max((step.step for step in steps), default=0)
    state.trace.extend(steps)
    state.budget = CallBudget(max(0, core.limits.calls - len(steps)))
    state.held = frozenset(
        name
        for name, owner in record.names.items()
        if not _is_as_it_was(core, program_row(state.inventory, name), owner, record.started)
    )


def _is_as_it_was(core: Core, row: Row | None, owner: tuple[str, str, str], since: float) -> bool:
    if row is None or (row.spec.origin.source, row.spec.name) != owner[:2]:
        return False
    return row.spec.digest == owner[2] or core.pins.accepted_since(row.spec, since)


def settle(
    core: Core, state: RunState, answer: Answer | None, asked: Mapping[str, Any] | None
) -> Callable[[Call], Settled]:
    """What settles the call that the program waits at: it runs, or is denied, as the person said to what was `asked`.

    None: it is decided as any other call, by policy and standing approvals as they are now.
    """

    def settle_call(call: Call) -> Settled:
        pending = open_call(core.calls, call, state)
        if answer is not None:
            pending.answer(answer, asked)
        settled = pending.run()
        if settled is None:
            raise LimitExceeded(
                "the call passed its deadline while the program was being restored", limit="call_seconds"
            )
        return settled

    return settle_call


def read_persons_answer(given: PersonsAnswer | Answer, reason: str) -> Answer | None:
    """The answer as `settle` takes it. ValueError for a word that is none."""
    if isinstance(given, Answer):
        return read_answer(given)
    match given:
        case "allow":
            return Answer("allow", reason)
        case "reject":
            return Answer("reject", reason or "the person said no")
        case "ask":
            return None
        case _:
            raise ValueError(f'answer must be "allow", "reject", "ask" or an Answer, not {given!r}')
