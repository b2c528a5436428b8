"""Programs: checked, driven, recorded. A run keeps the inventory it started with."""

from __future__ import annotations

import asyncio
import keyword
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from ..errors import LimitExceeded, SutlerError, ToolCallError, ToolTimeout
from ..lang import CallSite, Checked
from ..limits import Limits
from ..policy.answers import Answer
from ..programs.checks import Checks
from ..programs.driver import Driver, Ended, Stop
from ..programs.plan import PlannedProgram, plan_program
from ..programs.slots import SLOTS
from ..results import to_plain
from ..spec import Grade, Outcome, RunError, RunResult
from ..store import RunRecord
from ..workspace.flight import Flight
from ..workspace.watchdog import Deadline
from . import tracing
from .batches import open_step
from .events import Event, tell
from .frames import CallBudget, Frame, RunState, current_frame, holding_its_loop
from .resume import PersonsAnswer, claim, read_persons_answer, restore, settle, waiting_run
from .sites import Stay

if TYPE_CHECKING:
    from ..inventory import Row
    from ..programs.engine import Session
    from .core import Core

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Going:
    """One program that has passed the check, on its way."""

    state: RunState
    checked: Checked
    text: str
    inputs: Mapping[str, Any]
    keep: Sequence[str]
    level: str
    parent: Frame | None
    began: float
    slot: Future[None]
    session: Session
    stay: Stay
    driver: Driver | None = None
    record: RunRecord | None = None
    cancelled: bool = False


class Runs:
    """The programs of one runtime."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._going: dict[str, Going] = {}
        self._lock = threading.Lock()
        self._checks = Checks()

    def check(self, text: str, level: str, params: Sequence[str]) -> Checked:
        return self._checks.of(text, self._core.program_inventory(), level, params).checked

    def plan(self, text: str, level: str, params: Sequence[str]) -> PlannedProgram:
        return plan_program(text, self._core.program_inventory(), level=level, params=params, preview=self._preview)

    def _preview(self, row: Row, site: CallSite) -> Outcome:
        """What policy will say of a call of a program, as far as what is literal in it tells."""
        core = self._core
        arguments: Mapping[str, Any] = site.partly
        if site.args is not None:
            binder = core.tool(row).binder
            try:
                arguments = binder.bind(binder.positional((), site.args), program=True).arguments
            except ToolCallError:  # it will fail before policy is asked
                arguments = site.args
        root = core.sites.home.root
        return core.policy.preview(row.spec, arguments, partial=site.args is None, via="run", root=root).outcome

    def run(self, text: str, params: Mapping[str, Any], *, level: str, run_id: str | None, on_ask: str) -> RunResult:
        """Runs a program and blocks this thread until it has ended."""
        going = self._prepare(text, params, level=level, run_id=run_id, on_ask=on_ask)
        if isinstance(going, RunResult):
            return going
        try:
            return self._ended(going, self._wait(going))
        except BaseException:
            self._give_up(going)
            raise

    async def run_async(
        self, text: str, params: Mapping[str, Any], *, level: str, run_id: str | None, on_ask: str
    ) -> RunResult:
        """The same for a coroutine. Cancelling the task cancels the run and its calls in flight."""
        core = self._core

        def prepare() -> Going | RunResult:
            return self._prepare(text, params, level=level, run_id=run_id, on_ask=on_ask)

        # a text seen before, and a store in memory: nothing to read, check or write
        known = not core.recorder.blocks and core.toolbox.is_current() and self._checks.knows(text, level, params)
        going = prepare() if known else await core.hop(prepare)
        if isinstance(going, RunResult):
            return going
        try:
            if not going.slot.done():
                with suppress(FutureCancelled):
                    await _arrival(going.slot)
            ended = _NEVER_BEGAN if going.slot.cancelled() else await _arrival(self._start(going))
            return await core.aside(lambda: self._ended(going, ended))
        except BaseException:
            core.leave(lambda: self._give_up(going))
            raise

    def resume(self, run_id: str, answer: PersonsAnswer | Answer, reason: str) -> RunResult:
        """Lets a waiting run go on with a person's answer, and blocks this thread until it ends or waits again."""
        said = read_persons_answer(answer, reason)
        record = waiting_run(self._core, run_id)
        assert record.snapshot is not None
        store = self._core.recorder.store
        state, secrets = self._core.recorder.seal.open(run_id, record.program, record.snapshot)
        asked = record.waiting
        claim(store, run_id)
        try:
            going = self._prepare(
                record.program, record.params, level=record.level, run_id=run_id, on_ask="wait", resumed=record
            )
            if isinstance(going, RunResult):
                raise SutlerError(f"run {run_id} cannot go on as things are, and still waits: {going.error}")
        except BaseException:
            store.finish_run(record)
            raise
        self._core.recorder.hide(going.state, secrets)
        try:
            return self._ended(
                going,
                self._wait(going, lambda driver: driver.resume(state, settle(self._core, going.state, said, asked))),
            )
        except BaseException:
            self._give_up(going)
            raise

    def cancel_waiting(self, run_id: str) -> None:
        """Ends a run that waits for a person. SutlerError when it does not wait."""
        core = self._core
        record = waiting_run(core, run_id)
        claim(core.recorder.store, run_id)
        record.status, record.snapshot, record.waiting, record.ended = "cancelled", None, None, time.time()
        record.error = _cancelled("the run was cancelled while it waited").error
        core.recorder.store.finish_run(record)

    def cancel(self, run_id: str, reason: str = "the run was cancelled") -> bool:
        """Ends a run that is going on; False when there is none of that id."""
        with self._lock:
            going = self._going.get(run_id)
        if going is None:
            return False
        going.cancelled = True
        if going.driver is not None:
            going.driver.stop(_cancelled(reason))
        else:
            going.slot.cancel()  # it has not begun; whoever waits for its turn is told
        return True

    def cancel_all(self) -> None:
        with self._lock:
            going = list(self._going)
        for run_id in going:
            self.cancel(run_id, "the runtime was closed")

    def cancel_within(self, flight: Flight) -> None:
        """Ends the runs that a call which was given up has started."""
        with self._lock:
            within = [one.state.run_id for one in self._going.values() if one.parent and flight in one.parent.flights]
        for run_id in within:
            self.cancel(run_id, "the call that started this run was given up")

    def use(self, source: object) -> bool:
        """Whether a program in progress began with this source."""
        with self._lock:
            inventories = {id(one.state.inventory): one.state.inventory for one in self._going.values()}
        return any(row.source is source for inventory in inventories.values() for row in inventory.rows)

    @property
    def count(self) -> int:
        return len(self._going)

    def _prepare(
        self,
        text: str,
        params: Mapping[str, Any],
        *,
        level: str,
        run_id: str | None,
        on_ask: str,
        resumed: RunRecord | None = None,
    ) -> Going | RunResult:
        from ..programs.engine import Session  # the sandbox is loaded at the first program, not with the runtime

        core = self._core
        core.check_open()
        if on_ask not in ("reject", "wait"):
            raise ValueError(f'on_ask must be "reject" or "wait", not {on_ask!r}')
        run_id = run_id or uuid4().hex[:12]
        parent = current_frame.get()
        if parent is not None and parent.owner is not core:
            parent = None
        if parent is not None:
            parent.check()
        inventory = core.program_inventory()
        known = self._checks.of(text, inventory, level, tuple(params))
        checked = known.checked
        if not checked.ok:
            return self._rejected(run_id, text, params, level, checked, on_record=resumed is None)
        inputs = _inputs(params)
        outer = parent.run if parent is not None else None
        limits = core.limits
        depth = outer.depth + 1 if outer is not None else 1 if parent is not None else 0
        if depth > limits.depth:
            raise LimitExceeded(f"programs nest at most {limits.depth} deep", limit="depth")
        stay = Stay(core.sites)
        state = RunState(
            run_id=run_id,
            depth=depth,
            site=stay.enter(None, parent.site if parent is not None else None),
            inventory=inventory,
            budget=outer.budget if outer is not None else CallBudget(limits.calls),
            deadline=outer.deadline if outer is not None else Deadline(limits.wall_seconds),
            compute_seconds=self._compute_left(outer, limits),
            on_ask=on_ask if outer is None else "reject",
            root=outer.root if outer is not None else run_id,
        )
        going = Going(
            state=state,
            checked=checked,
            text=text,
            inputs=inputs,
            keep=known.names,
            stay=stay,
            level=level,
            parent=parent,
            began=time.monotonic(),
            slot=SLOTS[depth].acquire(),
            session=Session(
                checked.text,
                shown=text,
                compute_seconds=state.compute_seconds,
                memory_mb=limits.memory_mb,
                output_bytes=limits.output_bytes,
            ),
        )
        with self._lock:
            taken = run_id in self._going
            self._going.setdefault(run_id, going)
        if taken:
            stay.leave()
            if not going.slot.cancel():
                SLOTS[depth].release()
            raise SutlerError(f"a run with the id {run_id} is going on already")
        if resumed is not None:
            restore(core, state, resumed)
        if parent is not None and any(flight.ended for flight in parent.flights):  # since it was checked
            self.cancel(run_id, "the call that started this run was given up")
        tracing.begin_run(state)
        core.recorder.run_begun(going, resumed)
        tell(core.on_event, Event(kind="run_started", run_id=run_id))
        return going

    def _compute_left(self, outer: RunState | None, limits: Limits) -> float:
        if outer is None:
            return limits.compute_seconds
        with self._lock:
            parent = self._going.get(outer.run_id)
        used = parent.driver.computed if parent is not None and parent.driver is not None else 0.0
        return max(0.01, outer.compute_seconds - used)

    def _wait(self, going: Going, launch: Callable[[Driver], None] | None = None) -> Ended:
        """Runs it, from the wait for its turn to its end, on this thread's time."""

        def work() -> Ended:
            with suppress(FutureCancelled):
                going.slot.result()
                return self._start(going, launch).result()
            return _NEVER_BEGAN

        return holding_its_loop(work)

    def _start(self, going: Going, launch: Callable[[Driver], None] | None = None) -> Future[Ended]:
        core, state = self._core, going.state
        if state.depth == 0:
            state.deadline = Deadline(core.limits.wall_seconds)  # waiting for a worker counts toward nothing
        going.driver = driver = Driver(
            going.session,
            begin=lambda call: open_step(core.calls, call, state),
            spawn=state.site.threads.submit,
            abandon=state.site.threads.abandon,
            deadline=state.deadline,
            wall_seconds=core.limits.wall_seconds,
            keep=going.keep,
        )
        if launch is None:
            driver.start(going.inputs)
        else:
            launch(driver)
        if going.cancelled:
            driver.stop(_cancelled("the run was cancelled"))
        return driver.finished

    def _ended(self, going: Going, ended: Ended) -> RunResult:
        core, state = self._core, going.state
        if state.batch is not None:
            state.batch.stop(ToolTimeout("the run ended before this call did"))
        output, error, status = ended.output, ended.error, ended.status
        variables: dict[str, Any] = {}
        try:
            output = to_plain(output)[0]
            core.check_output(output, "the program's output")
            variables = {name: to_plain(value)[0] for name, value in ended.variables.items()}
        except SutlerError as late:
            output, status = None, "failed"
            limit = late.limit if isinstance(late, LimitExceeded) else None
            kind = "limit" if limit else "error"
            error = RunError(kind=kind, type=type(late).__name__, message=str(late), limit=limit)
        snapshot = ended.snapshot
        if snapshot is not None and core.recorder.typed.stand_in(snapshot):
            status, snapshot, error = "failed", None, _HOLDS_A_SECRET
        result = RunResult(
            run_id=state.run_id,
            status=status,
            output=output,
            error=error,
            stdout=ended.stdout,
            variables=variables,
            trace=core.recorder.trace(state.trace),
            grade=Grade(*going.checked.grade),
            duration=time.monotonic() - going.began,
            waiting=state.waiting if status == "waiting" else None,
        )
        self._forget(going)
        core.recorder.run_ended(going, result, snapshot)
        tracing.end_run(state, result, core.recorder.masker)
        tell(core.on_event, Event(kind="run_finished", run_id=state.run_id, data={"status": status}))
        return result if going.parent is not None else core.recorder.outward_run(result)

    def _rejected(
        self, run_id: str, text: str, params: Mapping[str, Any], level: str, checked: Checked, *, on_record: bool
    ) -> RunResult:
        first = checked.errors[0]
        error = RunError(
            kind="rejected",
            type="ProgramRejected",
            message="\n".join(str(problem) for problem in checked.errors),
            line=first.line,
        )
        result = RunResult(run_id=run_id, status="failed", error=error)
        if on_record:
            self._core.recorder.run_rejected(text, params, level, result)
        return result

    def _give_up(self, going: Going) -> None:
        """The waiting caller went away: the run ends with it."""
        driver = going.driver
        if driver is None:
            self._forget(going)
            return
        driver.finished.add_done_callback(lambda done: self._close_out(going, done))
        driver.stop(_cancelled("the run was cancelled by its caller"))

    def _close_out(self, going: Going, done: Future[Ended]) -> None:
        if going.state.run_id in self._going:
            self._ended(going, done.result())

    def _forget(self, going: Going) -> None:
        with self._lock:
            known = self._going.pop(going.state.run_id, None)
        going.stay.leave()
        if going.parent is None or going.state.root == going.state.run_id:
            self._core.approvals.session.run_ended(going.state.run_id)
        self._core.workers.sweep()
        if known is not None and not going.slot.cancel():  # a slot that was never granted needs no release
            SLOTS[going.state.depth].release()


async def _arrival(finished: Future[T]) -> T:
    """Waits for a run's end; cancelling the wait does not touch the run. A third of what wrap_future costs."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Future[None] = loop.create_future()

    def arrive() -> None:
        if not arrived.done():
            arrived.set_result(None)

    def tell(_: Future[T]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(arrive)

    finished.add_done_callback(tell)
    await arrived
    return finished.result()


def _cancelled(reason: str) -> Stop:
    return Stop(status="cancelled", error=RunError(kind="cancelled", type="Cancelled", message=reason))


_HOLDS_A_SECRET = RunError(
    kind="error",
    type="PermissionError",
    message="a call needs approval, and the program holds a secret that the person typed, so it cannot be stored to"
    " wait; ask for the approval before the secret, or have a confirm_handler there",
)
_NEVER_BEGAN = Ended(
    status="cancelled",
    error=RunError(kind="cancelled", type="Cancelled", message="the run was cancelled before it began"),
)


def _inputs(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as plain data; a program gets copies, never the caller's own objects."""
    inputs: dict[str, Any] = {}
    for name, value in params.items():
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
            raise ValueError(f"{name!r} cannot be a parameter: a program could not name it")
        inputs[name] = to_plain(value, path=name)[0]
    return inputs
