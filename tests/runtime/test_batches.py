"""Reads that do not depend on each other are under way at once, and nothing but the time shows it (PRG-08)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sutler import RunResult, Runtime, SyncRuntime, tool
from sutler.programs.checks import Checks
from sutler.workspace import threads

OPTIONS: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}


def in_order(rt: SyncRuntime) -> SyncRuntime:
    """The same runtime with nothing announced ahead."""
    rt._core.runs._checks = Checks(ahead=False)  # pyright: ignore[reportPrivateUsage]
    return rt


class World:
    """What the tools of the property see and change."""

    def __init__(self) -> None:
        self.version = 0
        self.bad: frozenset[int] = frozenset()
        self.waits: dict[int, float] = {}
        self.written: list[Any] = []

    def reset(self, bad: frozenset[int], waits: dict[int, float]) -> None:
        self.__init__()
        self.bad, self.waits = bad, waits

    def tools(self) -> list[Callable[..., Any]]:
        def look(x: int) -> Any:
            if x in self.bad:
                raise ValueError(f"{x} is bad")
            return [x, self.version] if x == 7 else f"{x}@{self.version}"

        @tool(read_only=True)
        async def read(x: int, k: int = 0) -> Any:
            """Reads, on a loop."""
            await asyncio.sleep(self.waits.get(x, 0))
            return look(x)

        @tool(read_only=True)
        def scan(x: int, k: int = 0) -> Any:
            """Reads, on a thread."""
            time.sleep(self.waits.get(x, 0))
            return look(x)

        @tool(read_only=False)
        def write(x: Any) -> int:
            """Writes."""
            self.written.append(x)
            self.version += 1
            return self.version

        return [read, scan, write]


READ = st.sampled_from(["read", "scan"])
ARGUMENT = st.sampled_from(
    [
        "x",
        "x",
        "x",
        "x",
        "x + 1",
        "10 // x",
        "n",
        "rows[x]",
        "d[x]",
        "len(str(x))",
        "x, k=n",
        "k=x, x=n",
        "-x",
        "k",
        "f'{x}'",
        "rows[x:][n]",
        "x % n",
    ]
)
ITEMS = st.sampled_from(
    [
        *["rows", "rows", "range(4)", "[1, 2, 3]", "(0, 1, 7)", "d", "d.values()", "'ab'", "[]", "[5]", "_it"],
        *["zip(rows)", "rows[1:]", "None", "[1, None, 3]", "[read(1), 2]", "d.items()"],
    ]
)
TEST = st.sampled_from(
    ["", "", "", " if x", " if x != 2", " if 6 // x > 1", " if x in rows", " if x if n", " if x in _it"]
)
FORM = st.sampled_from(
    [
        "[{call} for x in {items}{test}]",
        "[{call}\n for x in {items}\n{test}]",
        "{{x: {call} for x in {items}{test}}}",
        "{{d[x]: {call} for x in {items}{test}}}",
        "{{{call} for x in {items}{test}}}",
        "list({call} for x in {items}{test})",
        "any({call} for x in {items}{test})",
        "'-'.join({call} for x in {items}{test})",
        "sorted(({call} for x in {items}{test}), key=str)",
        "[[{call} for x in {items}{test}] for n in (1, 2)]",
        "parallel([{call} for x in {items}{test}])",
        "parallel([{call} for x in {items}{test}]) + parallel([read(1), scan(n), read(rows[n])])",
        "[y for (x, y) in [(1, 2)] for n in [{call} for x in {items}{test}]]",
        "f'{{[{call} for x in {items}{test}]}}'",
        "{call}",
    ]
)


@st.composite
def expressions(draw: st.DrawFn) -> str:
    call = f"{draw(READ)}({draw(ARGUMENT)})"
    return draw(FORM).format(call=call, items=draw(ITEMS), test=draw(TEST))


def indented(text: str) -> str:
    return "\n".join("    " + line for line in text.split("\n"))


SIMPLE = st.one_of(
    expressions().map(lambda one: f"out.append({one})"),
    expressions().map(lambda one: f"n = len(str({one})) % 3"),
    st.sampled_from(["write(n)", "print(n)", "write(x=len(out))", "rows = [2, 0, 3]", "n = 2"]),
)
GROUPED = st.lists(SIMPLE, min_size=1, max_size=3).map("\n".join)
STATEMENT = st.one_of(
    SIMPLE,
    GROUPED.map(lambda body: f"try:\n{indented(body)}\nexcept Exception as error:\n    print(type(error), error)"),
    GROUPED.map(lambda body: f"for x in [1, 2]:\n{indented(body)}"),
    GROUPED.map(lambda body: f"def f(k, rows):\n    n = k\n{indented(body)}\nf(2, [1, 3, 4])"),
)
START = "out = []\nk = n = x = 1\nrows = [0, 1, 2, 3, 7]\nd = {0: 4, 1: 5, 2: 6, 'a': 1}\n_it = [1, 2]\n"
EXOTIC = st.sampled_from(
    ["", "", "", "_it = iter([1, 2, 3])\n", "from collections import defaultdict\nd = defaultdict(int)\nd[1] = 2\n"]
)
PROGRAMS = st.builds(
    lambda more, parts: START + more + "\n".join(parts) + "\n[out, n, rows]",
    EXOTIC,
    st.lists(STATEMENT, min_size=1, max_size=4),
)


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[World, SyncRuntime, SyncRuntime]]:
    world = World()
    with (
        SyncRuntime(tools=world.tools(), limits={"calls": 60}, **OPTIONS) as ahead,
        SyncRuntime(tools=world.tools(), limits={"calls": 60}, **OPTIONS) as plain,
    ):
        yield world, ahead, in_order(plain)


def seen(run: RunResult) -> Any:
    """All that a program's author or its caller can see, but the trace."""
    error = run.error
    failed = (error.kind, error.type, error.message, error.line, error.limit, error.traceback) if error else None
    return run.status, run.output, failed, run.stdout, run.variables


def steps(run: RunResult) -> list[Any]:
    return [(e.tool, e.line, dict(e.args), e.success, e.error, e.kind, e.result, e.decision) for e in run.trace]


@pytest.mark.requirement("PRG-08")
@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    text=PROGRAMS,
    bad=st.frozensets(st.sampled_from([-1, 0, 1, 2, 3, 5]), max_size=2),
    waits=st.dictionaries(st.integers(0, 7), st.sampled_from([0.001, 0.004]), max_size=4),
)
def test_a_program_does_the_same_with_and_without_calls_under_way_at_once(
    pair: tuple[World, SyncRuntime, SyncRuntime], text: str, bad: frozenset[int], waits: dict[int, float]
) -> None:
    world, ahead, plain = pair
    world.reset(bad, waits)
    expected = plain.run(text)
    written = world.written
    world.reset(bad, waits)
    run = ahead.run(text)
    if expected.error is not None and expected.error.kind == "rejected":
        assert run.error == expected.error
        return
    assert [entry.step for entry in run.trace] == list(range(1, len(run.trace) + 1))
    wanted, got = steps(expected), steps(run)
    extra = len(got) - len(wanted)
    if extra > 0 and run.error is not None and run.error.limit == "calls":
        return  # reads that had begun behind a failing one count too
    assert seen(run) == seen(expected)
    assert world.written == written
    position = 0
    for entry in got:  # the calls of the run in order, and between them only reads that had begun when one failed
        if position < len(wanted) and entry == wanted[position]:
            position += 1
        else:
            assert entry[0] in ("read", "scan")
            extra -= 1
    assert position == len(wanted) and extra == 0
    if not bad and "{read(" not in text and "{scan(" not in text:
        assert got == wanted


class Counted:
    """How many calls are inside a tool, and how many were at most."""

    def __init__(self) -> None:
        self.now = self.most = self.began = self.cancelled = 0
        self.lock = threading.Lock()

    def enter(self) -> None:
        with self.lock:
            self.now += 1
            self.began += 1
            self.most = max(self.most, self.now)

    def leave(self) -> None:
        with self.lock:
            self.now -= 1

    def is_empty(self) -> bool:
        """Whether all have left; what was cancelled a moment ago is given the time to notice."""
        until = time.monotonic() + 5
        while self.now and time.monotonic() < until:
            time.sleep(0.01)
        return self.now == 0


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
def nap(counted: Counted) -> Callable[..., Any]:
    @tool(read_only=True)
    async def nap(x: int, seconds: float = 0.03) -> int:
        """Sleeps, on a loop; x below 0 fails."""
        counted.enter()
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            counted.cancelled += 1
            raise
        finally:
            counted.leave()
        if x < 0:
            raise ValueError(f"{x} is below 0")
        return x

    return nap


@pytest.fixture
def snap(counted: Counted) -> Callable[..., Any]:
    @tool(read_only=True)
    def snap(x: int, seconds: float = 0.03) -> int:
        """The same on a thread."""
        counted.enter()
        try:
            time.sleep(seconds)
        finally:
            counted.leave()
        if x < 0:
            raise ValueError(f"{x} is below 0")
        return x

    return snap


Opens = Callable[..., SyncRuntime]


@pytest.mark.requirement("PRG-08")
@pytest.mark.parametrize("name", ["nap", "snap"])
def test_at_most_sixteen_run_at_once(runtime: Opens, nap: Any, snap: Any, counted: Counted, name: str) -> None:
    run = runtime(nap, snap).run(f"[{name}(x) for x in range(40)]")
    assert run.output == list(range(40))
    assert counted.most == 16
    assert [entry.args["x"] for entry in run.trace] == list(range(40))
    assert [entry.step for entry in run.trace] == list(range(1, 41))


@pytest.mark.requirement("PRG-08")
def test_parallel_runs_sync_and_async_tools_at_once(runtime: Opens, nap: Any, snap: Any, counted: Counted) -> None:
    run = runtime(nap, snap).run("n = 3\nparallel([nap(1),\n  snap(2), nap(n)])")
    assert run.output == [1, 2, 3] and counted.most == 3
    assert [(entry.tool, entry.line) for entry in run.trace] == [("nap", 2), ("snap", 3), ("nap", 3)]


@pytest.mark.requirement("PRG-08")
def test_an_async_runtime_runs_them_at_once_on_its_own_loop(nap: Any, counted: Counted) -> None:
    async def main() -> None:
        async with Runtime(tools=[nap], **OPTIONS) as rt:
            runs = await asyncio.gather(*(rt.run("[nap(x) for x in range(5)]") for _ in range(4)))
            assert [run.output for run in runs] == [[0, 1, 2, 3, 4]] * 4

    asyncio.run(main())
    assert counted.most > 5


@pytest.mark.requirement("PRG-08")
def test_the_lowest_failing_index_raises_and_later_calls_never_start(
    runtime: Opens, nap: Any, counted: Counted
) -> None:
    text = "[nap(x, 0.01 if x else 0.2) for x in [0]]\nrows = [(0, 0.1), (-1, 0.05), (-2, 0.0)]\n"
    text += "rows = rows + [(3, 20.0)] * 13 + [(4, 0.0)] * 30\n[nap(x, s)\n for x, s in rows]"
    rt = runtime(nap)
    began = time.monotonic()
    run = rt.run(text)
    assert time.monotonic() - began < 10
    assert run.error is not None
    assert (run.error.type, run.error.message, run.error.line) == ("RuntimeError", "ValueError: -1 is below 0", 4)
    batch = run.trace[1:]
    assert len(batch) == 16 and counted.began == 17, "nothing starts once one has failed"
    assert counted.is_empty() and counted.cancelled == 13
    assert [entry.success for entry in batch] == [True] + [False] * 15
    assert {entry.kind for entry in batch[3:]} == {"timeout"}
    assert all("cancelled" in (entry.error or "") for entry in batch[3:])


@pytest.mark.requirement("PRG-08")
def test_what_holds_a_thread_is_waited_for_when_a_call_before_it_fails(
    runtime: Opens, snap: Any, counted: Counted
) -> None:
    run = runtime(snap).run("rows = [(1, 0.0), (-1, 0.0), (2, 0.1)]\n[snap(x, s) for x, s in rows]")
    assert run.error is not None and run.error.message == "ValueError: -1 is below 0"
    assert counted.now == 0
    assert [entry.success for entry in run.trace] == [True, False, True]


@pytest.mark.requirement("PRG-08", "PRG-11")
def test_a_late_call_raises_at_its_index(runtime: Opens, nap: Any, snap: Any, counted: Counted) -> None:
    rt = runtime(nap, snap, limits={"call_seconds": 0.15})
    text = "try:\n    [{0}(x, s) for x, s in [(1, 0.0), (2, 0.4), (3, 0.0)]]\n"
    text += "except TimeoutError as error:\n    said = str(error)\nsaid"
    for name in ("nap", "snap"):
        run = rt.run(text.format(name))
        assert "did not answer within 0.15 s" in run.output
        assert [entry.success for entry in run.trace] == [True, False, True]
    assert counted.is_empty() and counted.cancelled == 1


@pytest.mark.requirement("PRG-08", "PRG-05")
def test_every_started_call_counts_and_the_limit_ends_the_run_where_it_would_in_order(
    runtime: Opens, snap: Any
) -> None:
    text = "done = [snap(x, 0.0) for x in range(10)]"
    limited = runtime(snap, limits={"calls": 6})
    run, plain = limited.run(text), in_order(runtime(snap, limits={"calls": 6})).run(text)
    assert run.error is not None and run.error == plain.error and run.error.limit == "calls"
    assert steps(run) == steps(plain) and len(run.trace) == 6


@pytest.mark.requirement("PRG-08", "PRG-12")
@pytest.mark.parametrize("name", ["nap", "snap"])
def test_cancelling_the_run_ends_every_call_of_the_batch(
    runtime: Opens, nap: Any, snap: Any, counted: Counted, name: str
) -> None:
    rt = runtime(nap, snap)
    timer = threading.Timer(0.2, lambda: rt.cancel("r1"))
    timer.start()
    run = rt.run(f"[{name}(x, 1.0) for x in range(20)]", run_id="r1")
    timer.join()
    assert run.status == "cancelled"
    assert len(run.trace) == 16 and not any(entry.success for entry in run.trace)
    assert counted.is_empty() and counted.began == 16
    assert rt.run("snap(1, 0.0)").output == 1


@pytest.mark.requirement("PRG-08", "PRG-05")
def test_the_wall_limit_holds_for_a_batch(runtime: Opens, nap: Any, counted: Counted) -> None:
    run = runtime(nap, limits={"wall_seconds": 0.3}).run("[nap(x, 5.0) for x in range(3)]")
    assert run.error is not None and run.error.limit == "wall_seconds"
    assert len(run.trace) == 3 and "ended before" in (run.trace[0].error or "")


@pytest.mark.requirement("PRG-08")
def test_unless_all_are_allowed_the_calls_run_in_order(runtime: Opens, snap: Any, counted: Counted) -> None:
    asked: list[int] = []

    def confirm(source: str, label: str, argv: Any) -> tuple[str, str]:
        asked.append(counted.began)
        return ("allow", "") if len(asked) < 3 else ("reject", "enough")

    rt = runtime(snap, policy="strict", confirm_handler=confirm)
    run = rt.run("[snap(x, 0.0) for x in range(5)]")
    assert run.error is not None and run.error.type == "PermissionError"
    assert asked == [0, 1, 2], "each is asked about when its turn comes"
    assert counted.most == 1 and [entry.success for entry in run.trace] == [True, True, False]


@pytest.mark.requirement("PRG-08")
def test_a_program_that_waits_for_a_person_in_the_midst_of_a_comprehension_goes_on(runtime: Opens, snap: Any) -> None:
    rt = runtime(snap, policy="strict")
    run = rt.run("[snap(x, 0.0) for x in [1, 2]]", on_ask="wait")
    assert run.status == "waiting"
    run = rt.resume(run.run_id, "allow")
    assert run.status == "waiting", "the second call asks too"
    run = rt.resume(run.run_id, "allow")
    assert run.output == [1, 2] and [entry.step for entry in run.trace] == [1, 2]


def test_one_thread_per_library_means_one_call_at_a_time(runtime: Opens, counted: Counted, snap: Any) -> None:
    rt = runtime(tool(read_only=True, affinity="thread")(snap))
    run = rt.run("[snap(x, 0.0) for x in range(4)]")
    assert run.output == [0, 1, 2, 3] and counted.most == 1


@pytest.mark.requirement("PRG-08")
def test_tools_that_ask_a_person_ask_in_order(runtime: Opens, counted: Counted) -> None:
    @tool(read_only=True)
    def ask(x: int, user_interaction_handler: Any = None) -> str:
        """Asks."""
        counted.enter()
        try:
            return user_interaction_handler({"question": str(x)})
        finally:
            counted.leave()

    def answer(request: Any) -> str:
        time.sleep(0.01)
        return f"yes to {request['question']}"

    run = runtime(ask, user_interaction_handler=answer).run("[ask(x) for x in range(3)]")
    assert run.output == ["yes to 0", "yes to 1", "yes to 2"] and counted.most == 1


@pytest.mark.parametrize("level", ["calls", "program", "full"])
def test_every_level_has_it(runtime: Opens, nap: Any, counted: Counted, level: str) -> None:
    assert runtime(nap).run("sum(nap(x) for x in [1, 2, 3])", level=level).output == 6
    assert counted.most == 3


def test_near_the_most_threads_calls_run_in_order(
    runtime: Opens, snap: Any, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    rt = runtime(snap)
    assert rt.run("snap(1, 0.0)").output == 1
    monkeypatch.setattr(threads, "MOST_THREADS", 100)
    run = rt.run("[snap(x, 0.0) for x in range(4)]")
    assert run.output == [0, 1, 2, 3] and counted.most == 1
    assert [entry.step for entry in run.trace] == [1, 2, 3, 4]


def test_results_that_nobody_took_yet_are_bounded(runtime: Opens) -> None:
    released = threading.Event()
    began: list[int] = []
    until_then: list[int] = []

    @tool(read_only=True)
    def page(x: int) -> str:
        """The first comes last."""
        began.append(x)
        if x == 0:
            released.wait(5)
        return "x" * 4_000_000

    rt = runtime(page)

    def release() -> None:
        until_then.extend(began)
        released.set()

    timer = threading.Timer(1.0, release)
    timer.start()
    run = rt.run("sizes = [len(text) for text in [page(x) for x in range(40)]]\nlen(sizes)")
    timer.join()
    assert run.output == 40, run.error
    assert len(until_then) <= 26, "nothing more is started on top of 32 MB"


@pytest.mark.requirement("PRG-08")
def test_a_result_left_behind_is_never_taken_by_another_call(runtime: Opens) -> None:
    count = [0]

    @tool(read_only=True)
    def look(x: int) -> Any:
        """A new value each time; a list first."""
        count[0] += 1
        return [x] if x == 0 else f"{x} at {count[0]}"

    text = "def f(xs):\n    try:\n        return {look(x) for x in xs}\n    except TypeError:\n"
    run = runtime(look).run(text + "        return look(xs[1])\nf([0, 1, 2])")
    assert run.output == f"1 at {count[0]}"
    assert run.trace[-1].line == 5 and run.trace[-1].result == run.output


def test_programs_that_tools_of_a_batch_run_share_what_is_left(runtime: Opens) -> None:
    box: list[SyncRuntime] = []

    @tool(read_only=True)
    def leaf(x: int) -> int:
        """Reads."""
        return x

    @tool(read_only=True)
    def branch(x: int) -> int:
        """Runs a program of its own."""
        run = box[0].run("sum([leaf(i) for i in range(n)])", params={"n": x})
        if run.error is not None:
            raise RuntimeError(run.error.message)
        return run.output

    box.append(runtime(leaf, branch, limits={"calls": 100}))
    assert box[0].run("[branch(x) for x in [5] * 12]").output == [10] * 12
    run = box[0].run("[branch(x) for x in [20] * 12]")
    assert run.status == "failed" and "100 calls" in str(run.error)


def test_the_store_holds_every_call_of_a_batch(runtime: Opens, snap: Any, tmp_path: Any) -> None:
    rt = runtime(snap, store=tmp_path / "runs.db")
    run = rt.run("[snap(x, 0.0) for x in range(20)]")
    kept = rt._core.recorder.store.run(run.run_id)  # pyright: ignore[reportPrivateUsage]
    assert kept is not None and [step.step for step in kept.steps] == list(range(1, 21))
