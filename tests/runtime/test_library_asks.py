"""A tool library that asks the person by itself gets the runtime's own person, in the name of the call (LCP-17)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from sutler import Answer, Policy, Runtime, SyncRuntime, make_gui_confirm_handler

Opens = Callable[..., SyncRuntime]

LIBRARY = '''
from sutler import tool

_confirm = None

def init_tools_library(config):
    global _confirm
    _confirm = config["confirm_handler"]

@tool({isolation}asks_itself=True)
def tool_sh(command: str) -> dict:
    """Runs a command, after asking."""
    decision, reason = _confirm(command, "Shell command", command.split())
    return {{"success": decision != "reject", "output": [decision, reason], "error": reason or None}}

@tool({isolation}asks_itself=True)
def tool_twice(first: str, second: str) -> list:
    """Asks two things."""
    return [list(_confirm(first, "first")), list(_confirm(second, "second"))]
'''


@pytest.fixture(params=["", 'isolation="process", '], ids=["thread", "process"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / "tools"
    made.mkdir()
    (made / "shell.py").write_text(LIBRARY.format(isolation=request.param))
    return made


class Person:
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Any, ...]] = []

    def __call__(self, *question: Any) -> Any:
        self.asked.append(question)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.mark.requirement("LCP-17")
def test_its_question_reaches_the_person_with_its_own_words_and_is_recorded(runtime: Opens, folder: Path) -> None:
    person = Person(("allow", ""), ("reject", "not on my disk"))
    rt = runtime(tool_folders=[folder], confirm_handler=person)
    run = rt.run(
        "a = tool_sh('ls')\ntry:\n    tool_sh('rm x')\nexcept PermissionError as error:\n    b = str(error)\n[a, b]"
    )
    assert run.output == [["allow", ""], "not on my disk"]
    assert person.asked == [("ls", "Shell command", ["ls"]), ("rm x", "Shell command", ["rm", "x"])]
    first, second = (entry.decision for entry in run.trace)
    assert first is not None and (first.outcome, first.by) == ("allow", "the person") and "library" in first.how
    assert second is not None and (second.outcome, second.reason) == ("deny", "not on my disk")
    assert [line.data["decision"] for line in rt.audit(kind="decision")] == ["reject", "allow"]


@pytest.mark.requirement("LCP-17")
def test_what_the_gate_has_just_asked_is_not_asked_twice(runtime: Opens, folder: Path) -> None:
    person = Person(("allow", ""), ("reject", "no"))
    rt = runtime(tool_folders=[folder], confirm_handler=person, policy="strict")
    assert rt.call("tool_sh", {"command": "ls"}).output == ["allow", ""]
    assert len(person.asked) == 1 and person.asked[0][0] == 'shell::tool_sh(command="ls")'
    assert rt.call("tool_sh", {"command": "ls"}).error is not None and len(person.asked) == 2


@pytest.mark.requirement("LCP-17")
def test_two_questions_of_one_call_are_both_asked(runtime: Opens, folder: Path) -> None:
    person = Person(("allow", ""), ("reject", "not the second"))
    rt = runtime(tool_folders=[folder], confirm_handler=person)
    result = rt.call("tool_twice", {"first": "a", "second": "b"})
    assert result.output == [["allow", ""], ["reject", "not the second"]] and len(person.asked) == 2


@pytest.mark.requirement("LCP-17")
def test_always_is_remembered_for_the_tool_by_the_runtime(runtime: Opens, folder: Path) -> None:
    person = Person(("always", ""), ("reject", "enough"))
    rt = runtime(tool_folders=[folder], confirm_handler=person)
    assert rt.call("tool_sh", {"command": "a"}).output == ["always", ""]
    assert rt.call("tool_sh", {"command": "b"}).output == ["allow", ""]
    (held,) = rt.approvals()
    assert held.qualified == "shell::tool_sh" and rt.revoke_approval(held.id)
    assert rt.call("tool_sh", {"command": "c"}).error is not None


@pytest.mark.requirement("LCP-17", "POL-04")
@pytest.mark.parametrize(
    "answer", [Answer("always", scope="exact"), Answer("always", scope="call"), Answer("always", expires=3600)]
)
def test_an_always_that_is_less_than_always_is_told_the_library_as_an_allow(
    runtime: Opens, folder: Path, answer: Answer
) -> None:
    rt = runtime(tool_folders=[folder], confirm_handler=Person(answer))
    assert rt.call("tool_sh", {"command": "a"}).output == ["allow", ""]


@pytest.mark.requirement("LCP-17")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("yes", "instead of"),
        (None, "instead of"),
        (("maybe", ""), "instead of"),
        (OSError("the window is gone"), "the window is gone"),
        (KeyboardInterrupt(), "cancelled by user"),
        (TimeoutError(), "timed out"),
        (Answer("allow", arguments={"command": "ls"}), "other arguments"),
    ],
)
def test_anything_but_a_clear_allow_is_a_reject_with_its_reason(
    runtime: Opens, tmp_path: Path, answer: Any, words: str
) -> None:
    (tmp_path / "shell.py").write_text(LIBRARY.format(isolation=""))
    rt = runtime(tool_folders=[tmp_path], confirm_handler=Person(answer))
    result = rt.call("tool_sh", {"command": "a"})
    assert result.error is not None and words in result.error.message and result.output[0] == "reject"


@pytest.mark.requirement("LCP-17")
def test_full_access_answers_allow_for_everybody_or_for_one_library(runtime: Opens, folder: Path) -> None:
    person = Person(("reject", "asked"))
    rt = runtime(tool_folders=[folder], confirm_handler=person, policy="full_access")
    assert rt.call("tool_sh", {"command": "a"}).output == ["allow", ""]
    own = runtime(
        tool_folders=[folder], confirm_handler=person, host_tool_configs={"shell": {"autonomy_level": "full_access"}}
    )
    assert own.call("tool_sh", {"command": "a"}).output == ["allow", ""] and person.asked == []
    tight = runtime(
        tool_folders=[folder], confirm_handler=person, policy=Policy(level="full_access", sources={"shell": "safe"})
    )
    assert tight.call("tool_sh", {"command": "a"}).error is not None and len(person.asked) == 1


@pytest.mark.requirement("LCP-17")
def test_with_nobody_it_is_a_reject_and_never_none(runtime: Opens, folder: Path) -> None:
    result = runtime(tool_folders=[folder]).call("tool_sh", {"command": "a"})
    assert result.error is not None and "nobody to ask" in result.error.message and result.output[0] == "reject"


@pytest.mark.requirement("LCP-17", "POL-07")
def test_with_nobody_the_library_is_told_what_would_allow_it_and_the_log_names_no_person(
    runtime: Opens, folder: Path, tmp_path: Path
) -> None:
    rt = runtime(tool_folders=[folder], project=tmp_path)
    result = rt.call("tool_sh", {"command": "a"})
    assert "`sutler approvals grant shell::tool_sh` (with NAME=VALUE" in str(result.error)
    assert [line.data["by"] for line in rt.audit(kind="decision")] == ["nobody"]
    (ended,) = rt.audit(kind="call.ended")
    assert ended.data["decision"]["by"] == "nobody"


@pytest.mark.requirement("LCP-17")
def test_it_is_synchronous_over_an_async_handler_and_over_a_queue(folder: Path) -> None:
    async def confirm(*question: Any) -> tuple[str, str]:
        await asyncio.sleep(0.01)
        return "allow", ""

    events: Queue[Any] = Queue()
    threading.Thread(target=lambda: events.get()["response_queue"].put(("allow", "")), daemon=True).start()

    async def main() -> None:
        options: dict[str, Any] = {"config": False, "default_tools": False, "tool_folders": [folder]}
        for handler in (confirm, make_gui_confirm_handler(events)):
            async with Runtime(confirm_handler=handler, **options) as rt:
                assert (await rt.call("tool_sh", {"command": "a"})).output == ["allow", ""]

    asyncio.run(main())


@pytest.mark.requirement("LCP-17")
def test_no_clock_runs_while_the_library_waits_for_the_person(runtime: Opens, folder: Path) -> None:
    import time

    def confirm(*question: Any) -> tuple[str, str]:
        time.sleep(2.2)
        return "allow", ""

    rt = runtime(tool_folders=[folder], confirm_handler=confirm, limits={"call_seconds": 2})
    assert rt.call("tool_sh", {"command": "a"}).output == ["allow", ""]


@pytest.mark.requirement("LCP-17", "LCP-02")
def test_what_it_shows_can_hide_nothing(runtime: Opens, tmp_path: Path) -> None:
    (tmp_path / "shell.py").write_text(LIBRARY.format(isolation=""))
    person = Person(("allow", ""))
    rt = runtime(tool_folders=[tmp_path], confirm_handler=person)
    assert rt.call("tool_sh", {"command": "a\u202eb\x1b[2K"}).success
    assert person.asked[0][0] == "a\\u202eb\\x1b[2K"


LATER = '''
import contextvars, threading

_confirm, _thread = None, None
go, said = threading.Event(), []

def init_tools_library(config):
    global _confirm
    _confirm = config["confirm_handler"]

def tool_start(seconds: int) -> str:
    """Leaves something behind that asks later, in the name of this call."""
    global _thread
    context = contextvars.copy_context()
    def later():
        go.wait(10)
        said.append(list(_confirm("rm -rf /", "later")))
    _thread = threading.Thread(target=context.run, args=(later,))
    _thread.start()
    return "started"

def tool_end() -> list:
    """What it was told."""
    go.set()
    _thread.join(10)
    return said
'''


@pytest.mark.requirement("LCP-17")
def test_what_a_call_was_allowed_ends_with_it(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "later.py").write_text(LATER)
    person = Person(("allow", ""), ("allow", ""), ("reject", "no"))
    options: dict[str, Any] = {"config": False, "default_tools": False}
    with SyncRuntime(tool_folders=[tmp_path / "tools"], policy="strict", confirm_handler=person, **options) as rt:
        assert rt.call("tool_start", {"seconds": 1}).success
        assert rt.call("tool_end").output == [["reject", "no"]]
    assert [question[0] for question in person.asked][2] == "rm -rf /"
