"""Interfaces that live on events are asked through a queue, and never held up."""

from __future__ import annotations

import asyncio
import threading
from queue import Queue
from typing import Any

import pytest

from sutler import Answer, Runtime, SyncRuntime, make_gui_confirm_handler, make_gui_interaction_handler


def wipe(path: str) -> str:
    """Wipes something."""
    return f"wiped {path}"


OPTIONS: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False, "policy": "strict"}


class Interface:
    """An interface of another thread: takes what comes, answers as told."""

    def __init__(self, *answers: Any) -> None:
        self.queue: Queue[Any] = Queue()
        self.events: list[dict[str, Any]] = []
        self._answers = list(answers)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for answer in self._answers:
            event = self.queue.get()
            self.events.append(event)
            event["response_queue"].put(answer)


@pytest.mark.requirement("LCP-03")
def test_each_question_comes_with_a_queue_for_its_answer() -> None:
    interface = Interface(("allow", ""), ("reject", "not that one"), Answer("allow", arguments={"path": "z"}), "what")
    with SyncRuntime(tools=[wipe], confirm_handler=make_gui_confirm_handler(interface.queue), **OPTIONS) as rt:
        results = [rt.call("wipe", {"path": path}) for path in "abcd"]
    assert [result.output for result in results] == ["wiped a", None, "wiped z", None]
    assert "not that one" in str(results[1].error) and "'what'" in str(results[3].error)
    first = interface.events[0]
    assert set(first) == {"type", "source", "script_label", "argv", "response_queue"}
    assert (first["type"], first["source"]) == ("approval_request", 'functions::wipe(path="a")')
    assert first["script_label"].startswith("[STRICT] functions::wipe") and first["argv"] is None


@pytest.mark.requirement("LCP-03")
def test_no_answer_in_time_rejects_and_says_so_and_a_late_one_harms_nobody() -> None:
    events: Queue[Any] = Queue()
    handler = make_gui_confirm_handler(events, timeout=0.05)
    with SyncRuntime(tools=[wipe], confirm_handler=handler, **OPTIONS) as rt:
        result = rt.call("wipe", {"path": "a"})
        events.get()["response_queue"].put(("always", ""))
        again = rt.call("wipe", {"path": "a"})
    assert result.error is not None and result.error.kind == "denied" and "timed out" in result.error.message
    assert not again.success


@pytest.mark.requirement("LCP-03")
def test_a_full_queue_is_an_interface_that_does_not_answer() -> None:
    events: Queue[Any] = Queue(maxsize=1)
    events.put("busy")
    assert "timed out" in make_gui_confirm_handler(events, timeout=0.05)("wipe()", "label", None)[1]
    assert make_gui_interaction_handler(events, timeout=0.05)({"type": "text"}) is None


@pytest.mark.requirement("LCP-03")
def test_the_time_is_300_seconds_when_none_is_said() -> None:
    import inspect

    for make in (make_gui_confirm_handler, make_gui_interaction_handler):
        assert inspect.signature(make).parameters["timeout"].default == 300


@pytest.mark.requirement("LCP-03")
def test_questions_that_are_open_at_once_are_answered_in_any_order_and_the_loop_runs_on() -> None:
    async def main() -> None:
        events: Queue[Any] = Queue()
        async with Runtime(tools=[wipe], confirm_handler=make_gui_confirm_handler(events), **OPTIONS) as rt:
            calls = [asyncio.create_task(rt.call("wipe", {"path": str(number)})) for number in range(3)]
            while events.qsize() < 3:
                await asyncio.sleep(0.005)  # which it could not, were the loop held
            waiting = sorted((events.get() for _ in range(3)), key=lambda event: event["source"], reverse=True)
            for event in waiting:
                event["response_queue"].put(("allow", "") if '"1"' in event["source"] else ("reject", "no"))
            assert [(await call).success for call in calls] == [False, True, False]

    asyncio.run(main())


@pytest.mark.requirement("LCP-03")
@pytest.mark.parametrize("make", [make_gui_confirm_handler, make_gui_interaction_handler])
def test_what_is_no_queue_for_threads_is_refused_at_once(make: Any) -> None:
    with pytest.raises(TypeError, match=r"asyncio\.Queue"):
        make(asyncio.Queue())
    with pytest.raises(TypeError, match="have its put"):
        make(None)
    for timeout in (0, -1, True, float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            make(Queue(), timeout=timeout)


@pytest.mark.requirement("LCP-13")
def test_a_request_comes_whole_and_its_answer_is_given_back() -> None:
    interface = Interface("ada", None, "c", "b")
    ask = make_gui_interaction_handler(interface.queue)

    def tool_ask(kind: str, options: list[str] | None = None, user_interaction_handler: Any = None) -> Any:
        return [user_interaction_handler({"type": kind, "title": "T", "prompt": "P", "options": options})]

    with SyncRuntime(tools=[tool_ask], user_interaction_handler=ask, **{**OPTIONS, "policy": "safe"}) as rt:
        asked = [("text", None), ("text", None), ("select", ["a", "b"]), ("select", ["a", "b"])]
        answers = [rt.call("tool_ask", {"kind": kind, "options": options}).output for kind, options in asked]
    assert answers == [["ada"], [None], [None], ["b"]]
    assert interface.events[0]["type"] == "interaction_request"
    assert interface.events[2]["request"] == {
        "type": "select",
        "title": "T",
        "prompt": "P",
        "options": ["a", "b"],
        "default": None,
    }
