"""The example of the interaction protocol: all three request types, and a secret that no model sees."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sutler import SyncRuntime
from sutler.workspace import held

Request = Mapping[str, Any]
SECRET = "tulips-and-daisies-7"


def answering(*answers: str | None) -> tuple[list[Request], Callable[[Request], str | None]]:
    asked: list[Request] = []
    left = list(answers)

    def handler(request: Request) -> str | None:
        asked.append(request)
        return left.pop(0)

    return asked, handler


def runtime(handler: Any = None, **more: Any) -> SyncRuntime:
    return SyncRuntime(
        config=False,
        default_tools=False,
        shipped=["user_interactive_tools"],
        user_interaction_handler=handler,
        **more,
    )


@pytest.mark.requirement("LCP-13")
def test_a_text_a_choice_and_a_secret_are_asked_for_as_the_document_says() -> None:
    asked, handler = answering("Ada", "green", SECRET)
    with runtime(handler) as rt:
        assert rt.call("tool_ask_text", {"prompt": "Who?", "default": "Bob"}).output == "Ada"
        assert rt.call("tool_ask_choice", {"prompt": "Which?", "options": ["red", "green"]}).output == "green"
        assert rt.call("tool_ask_secret", {"prompt": "Token?", "name": "token"}).success
    assert [request["type"] for request in asked] == ["text", "select", "secret"]
    assert all(set(request) == {"type", "title", "prompt", "options", "default"} for request in asked)
    assert asked[0]["default"] == "Bob"
    assert asked[1]["options"] == ["red", "green"]


@pytest.mark.requirement("LCP-13")
def test_a_secret_is_held_for_the_session_and_is_in_no_result_trace_or_store(tmp_path: Path) -> None:
    _, handler = answering(SECRET)
    revealed: list[str] = []

    def use(handle: str) -> str:
        """Uses a secret."""
        revealed.append(held.reveal(handle))
        return f"used {revealed[0]}"

    text = 'handle = tool_ask_secret(name="token", prompt="Token?")["handle"]\nuse(handle)\nhandle'
    store = tmp_path / "runs.db"
    with runtime(handler, tools=[use], store=store) as rt:
        run = rt.run(text)
        assert run.output == "secret:token"
        assert revealed == [SECRET]
        assert SECRET not in json.dumps([[str(step.args), str(step.result)] for step in run.trace])
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir() if file.is_file())


@pytest.mark.requirement("LCP-13")
def test_a_secret_of_one_runtime_is_not_there_for_another() -> None:
    def peek(name: str) -> str:
        """Looks for a secret."""
        return held.reveal(name)

    _, handler = answering(SECRET)
    with runtime(handler, tools=[peek]) as one, runtime(tools=[peek]) as other:
        assert one.call("tool_ask_secret", {"prompt": "Token?", "name": "token"}).success
        assert one.call("peek", {"name": "secret:token"}).success
        result = other.call("peek", {"name": "secret:token"})
    assert result.error is not None and "no secret is held as 'secret:token'" in str(result.error)


@pytest.mark.requirement("LCP-13")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("tool_ask_text", {"prompt": "?"}),
        ("tool_ask_choice", {"prompt": "?", "options": ["a"]}),
        ("tool_ask_secret", {"prompt": "?", "name": "key"}),
    ],
)
def test_cancelling_and_nobody_to_ask_are_told_apart_and_neither_is_an_answer(
    tool: str, arguments: dict[str, Any]
) -> None:
    with runtime(answering(None)[1]) as rt:
        assert str(rt.call(tool, arguments).error).startswith("there is no answer: the person gave none")
    with runtime() as rt:
        assert "nobody to ask" in str(rt.call(tool, arguments).error)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"prompt": "?", "options": []}, "at least one text"),
        ({"prompt": "?", "options": ["a", "a"]}, "each only once"),
        ({"prompt": "?", "options": ["a"], "default": "b"}, "none of the options: a"),
    ],
)
def test_a_choice_that_makes_no_sense_is_not_put_to_the_person(arguments: dict[str, Any], says: str) -> None:
    asked, handler = answering()
    with runtime(handler) as rt:
        assert says in str(rt.call("tool_ask_choice", arguments).error)
    assert not asked


@pytest.mark.parametrize("name", ["", "a-b", "1a", "a b", "ä", "x" * 65, "PATH=1"])
def test_a_secret_has_a_plain_name(name: str) -> None:
    asked, handler = answering()
    with runtime(handler) as rt:
        assert "a secret's name is letters" in str(rt.call("tool_ask_secret", {"prompt": "?", "name": name}).error)
    assert not asked
