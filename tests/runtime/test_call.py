"""One call through the whole pipeline: lookup, bind, decide, run, normalize, record."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sutler import Runtime, ToolResult, tool


def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


def test_a_function_is_called_with_its_defaults_and_repaired_arguments(runtime: Any) -> None:
    result = runtime(add).call("add", {"a": "2"})
    assert isinstance(result, ToolResult)
    assert (result.success, result.output, result.status_code) == (True, 3, 200)
    assert [(repair.path, repair.before, repair.after) for repair in result.repairs] == [("a", "2", 2)]
    assert result.duration > 0


def test_arguments_may_be_json_text(runtime: Any) -> None:
    assert runtime(add).call("add", '{"a": 4, "b": 5}').output == 9


@pytest.mark.requirement("RUN-01", "RUN-15")
def test_an_unknown_tool_is_404_and_names_the_closest(runtime: Any) -> None:
    result = runtime(add).call("ad", {"a": 1})
    wrapper = result.to_dict()
    assert wrapper["status_code"] == 404 and wrapper["success"] is False
    assert wrapper["kind"] == "not_found" and "add" in wrapper["error"]
    assert "output" in wrapper


@pytest.mark.requirement("RUN-15")
def test_every_other_failure_is_500_with_its_kind_beside_it(runtime: Any) -> None:
    wrapper = runtime(add).call("add", {"a": "five"}).to_dict()
    assert wrapper["status_code"] == 500 and wrapper["kind"] == "invalid_arguments"
    assert "a" in wrapper["error"] and "five" in wrapper["error"]


@pytest.mark.requirement("RUN-02")
def test_a_mutable_default_never_leaks_into_the_next_call(runtime: Any) -> None:
    def gather(item: str, into: list[str] = []) -> list[str]:  # noqa: B006 - the very trap
        into.append(item)
        return into

    rt = runtime(gather)
    assert rt.call("gather", {"item": "a"}).output == ["a"]
    assert rt.call("gather", {"item": "b"}).output == ["b"]


@pytest.mark.requirement("RUN-05")
def test_an_unknown_parameter_is_reported_or_refused(runtime: Any) -> None:
    rt = runtime(add)
    dropped = rt.call("add", {"a": 1, "colour": "red"})
    assert dropped.output == 2
    assert [(repair.path, repair.rule) for repair in dropped.repairs] == [("colour", "dropped")]

    def scan(symbol: str, max_depth: int = 3) -> int:
        return max_depth

    near = runtime(scan).call("scan", {"symbol": "f", "depth": 1})
    assert not near.success and "max_depth" in str(near.error)
    strict = runtime(add, strict_arguments=True).call("add", {"a": 1, "colour": "red"})
    assert strict.error is not None and strict.error.kind == "invalid_arguments"


@pytest.mark.requirement("RUN-06")
def test_host_objects_come_from_the_host_and_never_from_the_model(runtime: Any) -> None:
    def peek(question: str, discussion_instance: Any = None) -> str:
        return f"{question}:{discussion_instance}"

    rt = runtime(peek, discussion="the host's")
    spec = rt.tools()[0]
    assert list(spec.input_schema["properties"]) == ["question"]
    spoofed = rt.call("peek", {"question": "q", "discussion_instance": "EVIL"})
    assert spoofed.output == "q:the host's"
    assert [repair.path for repair in spoofed.repairs] == ["discussion_instance"]
    assert rt.call("peek", {"question": "q"}, context={"discussion_instance": "this call's"}).output == "q:this call's"


@pytest.mark.requirement("RUN-06")
def test_with_kwargs_too_the_host_names_are_removed_when_the_host_gave_none(runtime: Any) -> None:
    def everything(**kwargs: Any) -> list[str]:
        return sorted(kwargs)

    rt = runtime(everything)
    result = rt.call("everything", {"a": 1, "tool_context": "EVIL", "lollms_client_instance": "EVIL"})
    assert result.output == ["a"]
    assert sorted(repair.path for repair in result.repairs) == ["lollms_client_instance", "tool_context"]


@pytest.mark.requirement("RUN-07")
@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(3), KeyboardInterrupt(), MemoryError("m")])
def test_whatever_a_tool_raises_becomes_a_failed_result(runtime: Any, error: BaseException) -> None:
    def explode() -> None:
        raise error

    wrapper = runtime(explode).call("explode").to_dict()
    assert wrapper["success"] is False and wrapper["status_code"] == 500
    assert type(error).__name__ in wrapper["error"]
    assert "explode" in wrapper["traceback"] and "runtime/pipeline.py" not in wrapper["traceback"]
    assert "output" in wrapper


@pytest.mark.requirement("RUN-07")
def test_a_systemexit_in_an_async_tool_leaves_the_loop_running() -> None:
    async def quitter() -> None:
        raise SystemExit(3)

    async def main() -> None:
        async with Runtime(tools=[quitter], config=False, default_tools=False) as rt:
            result = await rt.call("quitter")
            assert not result.success and "SystemExit" in str(result.error)

    asyncio.run(main())


@pytest.mark.requirement("RUN-07")
def test_ctrl_c_of_the_person_still_stops_the_host(tmp_path: Path) -> None:
    import signal
    import subprocess

    script = tmp_path / "host.py"
    script.write_text(
        "import time\n"
        "from sutler import SyncRuntime\n"
        "def hang():\n    print('hanging', flush=True)\n    time.sleep(60)\n"
        "with SyncRuntime(tools=[hang], config=False, default_tools=False) as rt:\n"
        "    print('ready', flush=True)\n    rt.call('hang')\n"
    )
    child = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert child.returncode != 0 and "KeyboardInterrupt" in err


@pytest.mark.requirement("RUN-12")
def test_a_tool_past_its_deadline_is_a_timeout_and_its_thread_is_counted(runtime: Any) -> None:
    release = threading.Event()

    def hang() -> None:
        release.wait(30)

    rt = runtime(hang, limits={"call_seconds": 0.2})
    began = time.monotonic()
    result = rt.call("hang")
    assert time.monotonic() - began < 5
    assert result.error is not None and result.error.kind == "timeout" and "0.2" in result.error.message
    assert rt.core.threads.stats().abandoned == 1
    release.set()


@pytest.mark.requirement("RUN-12")
def test_an_async_tool_past_its_deadline_is_cancelled(runtime: Any) -> None:
    cancelled = threading.Event()

    @tool(timeout=0.2)
    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    result = runtime(slow).call("slow")
    assert result.error is not None and result.error.kind == "timeout"
    assert cancelled.wait(5)


@pytest.mark.requirement("RUN-12")
def test_time_waiting_for_a_person_does_not_count(runtime: Any) -> None:
    def ask_person(user_interaction_handler: Any = None) -> str:
        return user_interaction_handler({"type": "text", "prompt": "name?"})

    def person(request: dict[str, Any]) -> str:
        time.sleep(0.6)
        return "Ada"

    rt = runtime(ask_person, user_interaction_handler=person, limits={"call_seconds": 0.3})
    assert rt.call("ask_person").output == "Ada"


@pytest.mark.requirement("RUN-13")
def test_what_a_tool_prints_belongs_to_its_call_also_with_four_at_once(runtime: Any, capsys: Any) -> None:
    barrier = threading.Barrier(4)

    def speak(word: str) -> str:
        print(word)
        barrier.wait(10)
        print(word.upper())
        return word

    rt = runtime(speak)
    results: dict[str, ToolResult] = {}

    def call(word: str) -> None:
        results[word] = rt.call("speak", {"word": word})

    threads = [threading.Thread(target=call, args=(word,)) for word in ("a", "b", "c", "d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {word: result.stdout for word, result in results.items()} == {w: f"{w}\n{w.upper()}\n" for w in "abcd"}
    assert capsys.readouterr().out == ""
    print("the host's own")
    assert capsys.readouterr().out == "the host's own\n"


@pytest.mark.requirement("RUN-14")
def test_a_model_sees_head_tail_and_a_handle_and_the_whole_can_be_read(runtime: Any) -> None:
    def report() -> str:
        return "start " + "x" * 100_000 + " end"

    rt = runtime(report)
    result = rt.call("report")
    text = rt.model_text(result)
    assert len(text) < 25_000 and text.startswith("start") and " end" in text and result.handle in text
    assert rt.read_output(result.handle) == result.output


@pytest.mark.requirement("RUN-14")
def test_a_result_over_the_hard_limit_is_a_limit_failure(runtime: Any) -> None:
    def flood() -> str:
        return "x" * 2_000

    result = runtime(flood, limits={"output_bytes": 1_000}).call("flood")
    assert result.error is not None and result.error.kind == "limit" and "output_bytes" in result.error.message


@pytest.mark.requirement("RUN-09")
@pytest.mark.parametrize("value", [0, False, "", [], {}, None, 0.0])
def test_falsy_outputs_arrive_unchanged(runtime: Any, value: Any) -> None:
    def give() -> Any:
        return value

    output = runtime(give).call("give").output
    assert output == value and type(output) is type(value)


@pytest.mark.requirement("WSP-01")
def test_a_tool_sees_the_workspace_as_its_current_directory(runtime: Any, tmp_path: Path) -> None:
    def write(name: str) -> str:
        Path(name).write_text("here")
        return os.getcwd()

    before = os.getcwd()
    rt = runtime(write, workspace=tmp_path / "work")
    assert rt.call("write", {"name": "a.txt"}).output == str(tmp_path / "work")
    assert (tmp_path / "work" / "a.txt").read_text() == "here"
    assert os.getcwd() == before


@pytest.mark.requirement("SRC-11")
def test_functions_can_be_added_at_any_time_sync_and_async(runtime: Any) -> None:
    rt = runtime()

    async def later(x: int) -> int:
        await asyncio.sleep(0)
        return x * 2

    rt.toolbox.add(add)
    rt.toolbox.add(later)
    assert [spec.name for spec in rt.tools()] == ["add", "later"]
    assert rt.call("later", {"x": 4}).output == 8


def test_a_tool_may_call_another_through_its_context(runtime: Any) -> None:
    def outer(tool_context: Any = None) -> Any:
        assert "call_tool" in tool_context and tool_context.get("nothing") is None
        return tool_context["call_tool"]("add", {"a": 40, "b": 2})

    assert runtime(add, outer).call("outer").output["output"] == 42


def test_progress_and_the_rest_are_heard(runtime: Any) -> None:
    heard: list[Any] = []

    def work(tool_context: Any = None) -> str:
        tool_context.emit_progress("half", 0.5)
        return "done"

    runtime(work, on_event=heard.append).call("work")
    assert [event.kind for event in heard] == ["call_started", "progress", "call_finished"]
    assert heard[1].data == {"text": "half", "fraction": 0.5}
    assert len({event.call_id for event in heard}) == 1


def test_a_closed_runtime_says_so(runtime: Any) -> None:
    from sutler.errors import ClosedError

    rt = runtime(add)
    rt.close()
    with pytest.raises(ClosedError):
        rt.call("add", {"a": 1})


def test_cancelling_the_awaiting_task_cancels_the_call() -> None:
    cancelled = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def main() -> None:
        async with Runtime(tools=[slow], config=False, default_tools=False) as rt:
            task = asyncio.create_task(rt.call("slow"))
            await asyncio.sleep(0.2)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(cancelled.wait, 5)

    asyncio.run(main())
    assert cancelled.is_set()
