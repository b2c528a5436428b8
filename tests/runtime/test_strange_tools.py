"""Tools that do what no tool should: the host stays whole, and the next call finds everything as it was."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler import Runtime


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class Base(BaseException):
    pass


STRANGE: list[Callable[[], BaseException]] = [
    Unspeakable,
    lambda: Base("b"),
    lambda: ExceptionGroup("several", [ValueError("one of them")]),
    lambda: BaseExceptionGroup("several", [KeyboardInterrupt()]),
    lambda: StopIteration(1),
    StopAsyncIteration,
    GeneratorExit,
    lambda: asyncio.CancelledError("made up"),
    KeyboardInterrupt,
    lambda: SystemExit(0),
    TimeoutError,
]


@pytest.mark.requirement("RUN-07")
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("make", STRANGE, ids=lambda make: type(make()).__name__)
def test_whatever_is_raised_is_a_failed_result_and_can_be_caught_by_a_program(
    runtime: Any, make: Callable[[], BaseException], is_async: bool
) -> None:
    def sync_boom() -> None:
        raise make()

    async def async_boom() -> None:
        raise make()

    async def later() -> None:
        raise make()

    def gives_a_coroutine() -> Any:
        return later()

    sync_boom.__name__ = async_boom.__name__ = "boom"
    rt = runtime(async_boom if is_async else sync_boom, gives_a_coroutine)
    for name in ("boom", "gives_a_coroutine"):
        result = rt.call(name)
        assert not result.success and result.error is not None
        assert result.error.kind == "tool_error", result.error
        run = rt.run(f"try:\n    {name}()\nexcept RuntimeError as error:\n    seen = str(error)\nseen")
        assert run.status == "completed" and run.output, run.error


@pytest.mark.requirement("RUN-07")
def test_a_group_of_errors_says_what_is_in_it(runtime: Any) -> None:
    async def fails() -> None:
        raise ValueError("the cause")

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    assert "ValueError: the cause" in str(runtime(both).call("both").error)


@pytest.mark.requirement("RUN-07")
def test_a_strange_error_of_an_async_tool_does_not_end_the_hosts_loop() -> None:
    async def boom() -> None:
        raise Base("b")

    async def main() -> None:
        async with Runtime(tools=[boom], config=False, default_tools=False) as rt:
            assert not (await rt.call("boom")).success
            assert (await rt.run("boom()")).status == "failed"

    asyncio.run(main())


@pytest.mark.requirement("PRG-10")
def test_what_a_tool_does_to_its_arguments_is_not_done_to_the_caller_or_to_the_trace(runtime: Any) -> None:
    def spoil(items: list[Any], deep: dict[str, Any]) -> int:
        items.append("spoilt")
        deep["a"]["b"] = "spoilt"
        return len(items)

    rt = runtime(spoil)
    mine: dict[str, Any] = {"items": [1], "deep": {"a": {"b": 1}}}
    assert rt.call("spoil", mine).output == 2
    assert mine == {"items": [1], "deep": {"a": {"b": 1}}}
    run = rt.run("spoil([1], {'a': {'b': 1}})")
    assert run.trace[0].args == mine


@pytest.mark.requirement("RUN-09")
def test_lazy_values_are_read_and_endless_or_cyclic_ones_have_an_end(runtime: Any) -> None:
    def counted() -> Iterator[int]:
        yield from range(3)

    def endless() -> Iterator[int]:
        while True:
            yield 1

    def cyclic() -> list[Any]:
        ring: list[Any] = []
        ring.append(ring)
        return ring

    async def stream() -> AsyncIterator[int]:
        yield 1

    rt = runtime(counted, endless, cyclic, stream)
    assert rt.call("counted").output == [0, 1, 2]
    assert rt.call("endless").notes
    assert "refers to itself" in str(rt.call("cyclic").error)
    assert "async_generator" in str(rt.call("stream").error)


@pytest.mark.requirement("RUN-12")
def test_a_coroutine_that_a_sync_tool_gave_is_cancelled_at_the_deadline_and_its_thread_is_free_again(
    runtime: Any,
) -> None:
    cancelled = threading.Event()

    async def later() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            cancelled.set()

    def gives() -> Any:
        return later()

    rt = runtime(gives, limits={"call_seconds": 0.2})
    result = rt.call("gives")
    assert result.error is not None and result.error.kind == "timeout"
    assert cancelled.wait(5)
    until(lambda: rt.core.threads.stats().busy + rt.core.threads.stats().abandoned == 0)


@pytest.mark.requirement("RUN-13")
def test_a_tool_that_takes_stdout_away_takes_it_from_nobody_else(runtime: Any, capsys: Any) -> None:
    def thief() -> None:
        sys.stdout = io.StringIO()
        print("lost")

    def honest() -> None:
        print("heard")

    rt = runtime(thief, honest)
    before = sys.stdout
    rt.call("thief")
    assert sys.stdout is before
    assert rt.call("honest").stdout == "heard\n"
    print("the host's")
    assert capsys.readouterr().out == "the host's\n"


@pytest.mark.requirement("RUN-13")
def test_the_hosts_stdout_keeps_its_encoding_and_file_descriptor_while_a_runtime_is_open(
    runtime: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "out").open("w", encoding="latin-1", errors="replace") as real:
        monkeypatch.setattr(sys, "stdout", real)
        rt = runtime()
        out = sys.stdout
        assert out is not real
        assert (out.encoding, out.errors, out.fileno(), out.isatty()) == ("latin-1", "replace", real.fileno(), False)
        rt.close()
        assert sys.stdout is real


@pytest.mark.requirement("WSP-02")
def test_directory_and_umask_that_a_tool_changes_are_back_at_the_next_call(runtime: Any, tmp_path: Path) -> None:
    def stray() -> None:
        os.chdir("/")
        os.umask(0o777)

    def look() -> list[Any]:
        Path("made").write_text("x")
        return [os.getcwd(), oct(Path("made").stat().st_mode & 0o777)]

    rt = runtime(stray, look, workspace=tmp_path / "w")
    before, mask = os.getcwd(), os.umask(0o022)
    os.umask(mask)
    rt.call("stray")
    assert rt.call("look").output == [str(tmp_path / "w"), oct(0o666 & ~mask)]
    assert os.getcwd() == before
    assert os.umask(mask) == mask


@pytest.mark.requirement("WSP-01")
def test_an_async_folder_tool_that_leaves_the_workspace_leaves_only_itself(runtime: Any, tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(
        "import os\nasync def tool_stray():\n    os.chdir('/')\n\nasync def tool_look():\n    return os.getcwd()\n"
    )
    rt = runtime(tool_folders=[tmp_path], workspace=tmp_path / "w")
    assert rt.call("tool_stray").success
    assert rt.call("tool_look").output == str(tmp_path / "w")


@pytest.mark.requirement("WSP-01")
def test_a_tool_that_removes_the_workspace_makes_later_calls_fail_by_name_until_it_is_back(
    runtime: Any, tmp_path: Path
) -> None:
    (tmp_path / "lib.py").write_text("import os\nasync def tool_where():\n    return os.getcwd()\n")

    def remove() -> None:
        shutil.rmtree(os.getcwd())

    def where() -> str:
        return os.getcwd()

    root = tmp_path / "w"
    rt = runtime(remove, where, tool_folders=[tmp_path], workspace=root)
    assert rt.call("remove").success
    for name in ("where", "tool_where"):
        gone = rt.call(name)
        assert gone.error is not None and gone.error.kind == "unavailable" and str(root) in gone.error.message
    lost = rt.run("where()")
    assert lost.status == "failed" and str(root) in str(lost.error)
    root.mkdir()
    assert rt.run("[where(), tool_where()]").output == [str(root)] * 2


def test_a_tool_that_never_stops_calling_itself_fails(runtime: Any) -> None:
    def again() -> Any:
        return again()

    assert "RecursionError" in str(runtime(again).call("again").error)


def test_contextvars_of_the_caller_reach_every_kind_of_tool(runtime: Any, tmp_path: Path) -> None:
    from contextvars import ContextVar

    who: ContextVar[str] = ContextVar("who", default="nobody")

    def sync_who() -> str:
        return who.get()

    async def async_who() -> str:
        return who.get()

    rt = runtime(sync_who, async_who)
    who.set("me")
    assert rt.call("sync_who").output == rt.call("async_who").output == "me"
    assert rt.run("[sync_who(), async_who()]").output == ["me", "me"]


def until(true: Callable[[], bool]) -> None:
    import time

    for _ in range(200):
        if true():
            return
        time.sleep(0.025)
    raise AssertionError("it did not come true within 5 s")
