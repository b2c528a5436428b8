"""Questions that tools put to the person: what comes back, and where a secret never goes (LCP-13)."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler import SyncRuntime, tool

Opens = Callable[..., SyncRuntime]
SECRET = "tulips-and-7-roses"

LIBRARY = '''
_ask = None

def set_user_interaction_handler(handler):
    global _ask
    _ask = handler

{decorator}
def tool_ask(kind: str, options: list[str] | None = None) -> dict:
    """Asks."""
    if _ask is None:
        return {{"success": False, "error": "nobody"}}
    answer = _ask({{"type": kind, "title": "Title", "prompt": "Prompt", "options": options}})
    return {{"success": True, "output": answer, "beside": [answer], "prompt_injection": f"it is {{answer}}"}}

{decorator}
def tool_spill(user_interaction_handler=None) -> None:
    """Asks for a secret and is careless with it."""
    answer = user_interaction_handler({{"type": "secret", "title": "Key", "prompt": "Which?"}})
    print("printed", answer)
    raise ValueError(f"cannot log in with {{answer}}")
'''


@pytest.fixture(params=["", '@tool(isolation="process")'], ids=["thread", "process"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / "tools"
    made.mkdir()
    (made / "asks.py").write_text("from sutler import tool\n" + LIBRARY.format(decorator=request.param))
    return made


@pytest.mark.requirement("LCP-13")
def test_a_library_gets_the_persons_answers_and_none_for_what_is_none(runtime: Opens, folder: Path) -> None:
    asked: list[dict[str, Any]] = []
    answers: list[Any] = ["ada", None, 7, ["x"], "b", "c", EOFError(), KeyboardInterrupt(), TimeoutError()]

    def handler(request: dict[str, Any]) -> Any:
        asked.append(request)
        answer = answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    rt = runtime(tool_folders=[folder], user_interaction_handler=handler)

    def ask(kind: str, options: list[str] | None = None) -> Any:
        return rt.call("tool_ask", {"kind": kind, "options": options}).output

    assert [ask("text") for _ in range(4)] == ["ada", None, "7", None]
    assert [ask("select", ["a", "b"]) for _ in range(2)] == ["b", None]
    assert [ask("text") for _ in range(3)] == [None, None, None]
    assert asked[0] == {"type": "text", "title": "Title", "prompt": "Prompt", "options": [], "default": None}
    assert asked[4]["options"] == ["a", "b"]


@pytest.mark.requirement("LCP-13")
def test_nobody_to_answer_is_no_handler(runtime: Opens, folder: Path) -> None:
    result = runtime(tool_folders=[folder]).call("tool_ask", {"kind": "text"})
    assert str(result.error) == "nobody"


@pytest.mark.requirement("LCP-13")
@pytest.mark.parametrize(
    ("kind", "options", "words"), [("password", None, "text, secret, select"), ("select", None, "needs options")]
)
def test_a_request_that_cannot_be_asked_is_the_tools_mistake(
    runtime: Opens, folder: Path, kind: str, options: Any, words: str
) -> None:
    rt = runtime(tool_folders=[folder], user_interaction_handler=lambda request: "x")
    result = rt.call("tool_ask", {"kind": kind, "options": options})
    assert result.error is not None and words in result.error.message


@pytest.mark.requirement("LCP-13")
def test_an_async_handler_is_awaited(runtime: Opens, folder: Path) -> None:
    async def handler(request: dict[str, Any]) -> str:
        return "later"

    assert runtime(tool_folders=[folder], user_interaction_handler=handler).call(
        "tool_ask", {"kind": "text"}
    ).output == ("later")


@pytest.mark.requirement("LCP-13")
def test_a_secret_reaches_no_result_record_event_log_or_file(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="sutler")
    heard: list[Any] = []
    store = tmp_path / "runs.db"
    options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False, "store": store}
    with SyncRuntime(
        tool_folders=[folder], user_interaction_handler=lambda request: SECRET, on_event=heard.append, **options
    ) as rt:
        result = rt.call("tool_ask", {"kind": "secret"})
        assert result.success and result.output == "***" and result.prompt_injection == "it is ***"
        spilt = rt.call("tool_spill")
        assert spilt.error is not None and "***" in spilt.error.message
        run = rt.run("key = tool_ask('secret')['output']\nprint(key)\nlong = 'key ' + key\n[len(key), key]")
        assert run.output == [len(SECRET), "***"] and run.stdout == "***\n"
        assert run.variables["long"] == "key ***"
        failed = rt.run("key = tool_ask('secret')['output']\nraise ValueError('no ' + key)")
        everything = [repr(one) for one in (result, spilt, run, failed, heard, rt.runs(), rt.audit(limit=1000))]
        everything.append(json.dumps([result.to_dict(), spilt.to_dict()]))
        everything += [repr(entry) for entry in (*run.trace, *failed.trace)]
        assert str(failed.error).endswith("no *** (line 2)")
        assert rt.model_text(result) == "***"
    assert SECRET not in "\n".join(everything)
    assert SECRET not in caplog.text
    for file in tmp_path.glob("runs.db*"):
        assert SECRET.encode() not in file.read_bytes()


@pytest.mark.requirement("LCP-13")
def test_a_tool_that_calls_another_gets_the_secret_itself(runtime: Opens, folder: Path) -> None:
    used: list[str] = []

    @tool
    def log_in(tool_context: Any) -> str:
        used.append(tool_context.call_tool("tool_ask", {"kind": "secret"})["output"])
        return f"logged in with {used[0]}"

    rt = runtime(log_in, tool_folders=[folder], user_interaction_handler=lambda request: SECRET)
    assert rt.call("log_in").output == "logged in with ***" and used == [SECRET]
    assert rt.run("log_in()").output == "logged in with ***"


@pytest.mark.requirement("LCP-13")
def test_a_question_about_a_call_does_not_show_a_secret(runtime: Opens, folder: Path) -> None:
    seen: list[str] = []

    def confirm(source: str, *rest: Any) -> tuple[str, str]:
        seen.append(source)
        return "allow", ""

    @tool(confirm_with="command")
    def sh(command: str, env: str = "") -> str:
        return "ran"

    rt = runtime(
        sh,
        tool_folders=[folder],
        policy="strict",
        confirm_handler=confirm,
        user_interaction_handler=lambda request: SECRET,
    )
    run = rt.run("key = tool_ask('secret')['output']\nsh('curl -H ' + key, env=key)")
    assert run.output == "ran" and seen[1] == "curl -H ***"


@pytest.mark.requirement("LCP-13")
def test_a_program_that_holds_a_secret_is_not_stored_to_wait(folder: Path, tmp_path: Path) -> None:
    def send(text: str) -> str:
        """Sends."""
        return text

    store = tmp_path / "runs.db"
    from sutler import Policy

    policy = Policy(level="safe", sources={"functions": "strict"})
    options: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False, "store": store}
    with SyncRuntime(
        tools=[send], tool_folders=[folder], policy=policy, user_interaction_handler=lambda request: SECRET, **options
    ) as rt:
        run = rt.run("key = tool_ask('secret')['output']\nsend('x')", on_ask="wait")
        assert run.status == "failed" and "holds a secret" in str(run.error)
        assert rt.run("send('x')", on_ask="wait").status == "waiting"
    for file in tmp_path.glob("runs.db*"):
        assert SECRET.encode() not in file.read_bytes()


@pytest.mark.requirement("LCP-13")
def test_a_handler_that_takes_no_secrets_says_why_in_the_notes(runtime: Opens, folder: Path) -> None:
    def handler(request: dict[str, Any]) -> str:
        return "an answer"

    handler.no_secrets = "secrets are not asked for here"  # type: ignore[attr-defined]
    rt = runtime(tool_folders=[folder], user_interaction_handler=handler)
    result = rt.call("tool_ask", {"kind": "secret"})
    assert result.output is None and "secrets are not asked for here" in result.notes
    assert rt.call("tool_ask", {"kind": "text"}).output == "an answer"
