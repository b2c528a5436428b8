"""`sutler serve` over standard input and output, to the SDK's own client, in both eras."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp import Client

from ..cli.conftest import Project
from .conftest import Served, over_stdio, texts, until


@pytest.mark.requirement("SRV-01", "SRV-02")
def test_every_tool_is_listed_with_its_schema_and_hints_and_can_be_called(served: Served) -> None:
    async def go(client: Client) -> None:
        assert client.protocol_version == {"legacy": "2025-11-25", "auto": "2026-07-28"}[served.mode]
        assert client.server_capabilities.tools.list_changed
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert len(tools) == 11
        echo = tools["tool_echo"]
        assert echo.description.startswith("Give a text back.")
        assert echo.input_schema["properties"]["text"] == {"type": "string", "description": "What to give back."}
        assert echo.input_schema["required"] == ["text"]
        hints = echo.annotations.model_dump(by_alias=True, exclude_none=True)
        assert hints == {"readOnlyHint": True, "openWorldHint": False, "idempotentHint": True}
        assert "user_interaction_handler" not in tools["tool_choose"].input_schema["properties"]

        said = await client.call_tool("tool_echo", {"text": "hi", "times": "2"})
        assert (texts(said), said.is_error) == (["hi hi"], False)
        assert said.meta["sutler/repairs"][0] == {"path": "times", "rule": "number", "from": "2", "to": 2}

        data = await client.call_tool("tool_data")
        assert json.loads(texts(data)[0]) == data.structured_content
        assert data.structured_content == {"rows": [1, None, "NaN"], "name": "café ", "nothing": None}
        assert "NaN" in data.meta["sutler/notes"][0]

        assert texts(await client.call_tool("tool_broken_text")) == ["a\\udcffb"]

    served.run(go)


@pytest.mark.requirement("SRV-02")
def test_a_failure_is_an_error_with_its_text_and_kind_and_so_is_an_unknown_tool(served: Served) -> None:
    async def go(client: Client) -> None:
        failed = await client.call_tool("tool_fail")
        assert failed.is_error
        assert texts(failed) == ["tool_error: ValueError: it broke"]
        assert failed.meta["sutler/kind"] == "tool_error"
        wrong = await client.call_tool("tool_echo", {"txt": "x"})
        assert wrong.is_error
        assert wrong.meta["sutler/kind"] == "invalid_arguments"
        assert "'text'" in texts(wrong)[0]
        unknown = await client.call_tool("tool_ecko", {})
        assert unknown.is_error
        assert texts(unknown) == ["not_found: there is no tool 'tool_ecko'; did you mean tool_echo?"]

    served.run(go)


@pytest.mark.requirement("RUN-13")
def test_nothing_that_a_tool_or_its_children_print_or_read_reaches_the_protocol(served: Served) -> None:
    async def go(client: Client) -> None:
        flooded, echoed = await asyncio.gather(
            client.call_tool("tool_flood"), client.call_tool("tool_echo", {"text": "beside"})
        )
        assert texts(flooded) == ["read 0 characters"]
        assert texts(echoed) == ["beside"]
        printed = flooded.meta["sutler/printed"]
        assert "printed line 0\n" in printed
        assert "characters left out" in printed
        assert "printed line" not in (echoed.meta or {}).get("sutler/printed", "")

    served.run(go)


@pytest.mark.requirement("SRV-02")
def test_progress_rises_and_reaches_the_client_that_asked_for_it(served: Served) -> None:
    async def go(client: Client) -> None:
        heard: list[tuple[float, float | None, str | None]] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            heard.append((done, total, message))

        result = await client.call_tool("tool_steps", progress_callback=progress)
        assert texts(result) == ["done"]
        assert [message for _, _, message in heard] == ["step 0", "step 1", "step 2", "nearly"]
        shares = [done for done, _, _ in heard]
        assert shares[:3] == pytest.approx([0, 1 / 3, 2 / 3])
        assert sorted(set(shares)) == shares

    served.run(go)


@pytest.mark.requirement("SRV-02")
def test_a_cancelled_request_cancels_the_tool_and_the_server_goes_on(served: Served, tmp_path: Path) -> None:
    async def go(client: Client) -> None:
        mark = tmp_path / "mark"
        call = asyncio.create_task(client.call_tool("tool_slow", {"mark": str(mark)}))
        await until(Path(f"{mark}.begun").exists)
        call.cancel()
        await until(lambda: mark.exists() and mark.read_text() == "cancelled")
        assert texts(await client.call_tool("tool_echo", {"text": "still here"})) == ["still here"]

    served.run(go)


@pytest.mark.requirement("MCP-14")
@pytest.mark.parametrize(
    ("answer", "action"), [("reject", "accept"), (None, "decline"), (None, "cancel"), ("?", "accept")]
)
def test_a_call_that_the_person_at_the_client_does_not_allow_is_denied(
    served: Served, answer: str | None, action: str
) -> None:
    served.person.will(answer, action)
    refused = served.run(lambda client: client.call_tool("tool_wipe", {"path": "a.txt"}))
    assert refused.is_error
    assert refused.meta["sutler/kind"] == "denied"
    assert len(served.person.questions) == 1


@pytest.mark.requirement("MCP-14", "LCP-02")
def test_no_line_of_a_call_passes_for_a_line_of_the_question(served: Served) -> None:
    served.person.will("reject")
    served.run(
        lambda client: client.call_tool("tool_wipe", {"path": "a\n\nRun it?\n\n[SAFE] kit::tool_echo" + "x" * 90})
    )
    ((message, _),) = served.person.questions
    first, *call, last = [line for line in message.split("\n") if line]
    assert first == "[SAFE] kit::tool_wipe (3, 3)" and last == "Run it?"
    assert all(line.startswith("| ") for line in call)


@pytest.mark.requirement("MCP-14")
def test_the_person_at_the_client_allows_a_call_once_or_always(served: Served) -> None:
    for answer, questions in (("allow once", 2), ("always allow this tool", 1)):
        served.person.will(answer)
        for _ in range(2):
            wiped = served.run(lambda client: client.call_tool("tool_wipe", {"path": "a.txt"}))
            assert texts(wiped) == ["wiped a.txt"]
        message, field = served.person.questions[0]
        assert len(served.person.questions) == questions
        assert 'kit::tool_wipe(path="a.txt")' in message
        assert field["enum"] == [
            "allow once",
            "always allow this tool",
            "always allow this tool in this project",
            "reject",
        ]


@pytest.mark.requirement("MCP-14")
def test_a_client_that_cannot_ask_is_told_no_at_once_and_what_would_allow_it(mute: Served) -> None:
    refused = mute.run(lambda client: client.call_tool("tool_wipe", {"path": "a.txt"}, read_timeout_seconds=10))
    assert refused.is_error
    (said,) = texts(refused)
    assert said.startswith("denied: kit::tool_wipe was rejected")
    assert "cannot ask its user" in said
    assert "--policy full_access" in said
    assert texts(mute.run(lambda client: client.call_tool("tool_choose"))) == ["chose None"]


@pytest.mark.requirement("MCP-14", "LCP-13")
def test_a_tools_question_reaches_the_person_at_the_client_but_never_one_for_a_secret(served: Served) -> None:
    served.person.will("large")
    assert texts(served.run(lambda client: client.call_tool("tool_choose"))) == ["chose large"]
    said = served.run(lambda client: client.call_tool("tool_secret"))
    assert texts(said) == ["got None"]
    assert "a secret was asked for" in json.dumps(said.meta)
    ((message, field),) = served.person.questions
    assert message == "Size\n\nWhich?"
    assert (field["enum"], field["default"]) == (["small", "large"], "small")


def _request(number: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


HELLO = (
    _request(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"})
    + json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
    + "\n"
)


@pytest.mark.requirement("SRV-01", "RUN-13")
def test_every_line_of_standard_output_is_protocol_and_the_end_of_the_input_drops_no_answer(kit: Project) -> None:
    asked = HELLO + "this is no JSON\n\n" + '{"jsonrpc": "2.0"}\n' + _request(2, "tools/call", name="tool_flood")
    asked += _request(3, "tools/call", name="tool_echo", arguments={"text": "\xff"}) + "half a line"
    done = kit.process("serve", stdin=asked)
    assert done.code == 0
    answers = {answer["id"]: answer for answer in map(json.loads, done.out.splitlines())}
    assert set(answers) == {1, 2, 3}
    assert answers[2]["result"]["content"][0]["text"] == "read 0 characters"
    assert answers[3]["result"]["content"][0]["text"] == "\xff"
    assert "from a child" in done.err
    assert "by the real stdout" in done.err


@pytest.mark.requirement("SRV-01")
def test_a_signal_ends_the_server_though_a_call_runs_and_the_input_is_open(kit: Project) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sutler.cli", "serve"],
        cwd=kit.root,
        env=kit.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write((HELLO + _request(2, "tools/call", name="tool_slow")).encode())
        process.stdin.flush()
        assert b'"id":1' in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


@pytest.mark.requirement("SRV-01")
@pytest.mark.parametrize("place", ["/", "home"])
def test_the_root_and_the_home_folder_are_no_workspace_to_serve(kit: Project, place: str) -> None:
    home = kit.home / "person"
    home.mkdir(exist_ok=True)
    done = kit.process("serve", "--workspace", "/" if place == "/" else str(home), HOME=str(home))
    assert done.code == 2
    assert "is no workspace to serve" in done.err
    assert "--workspace DIR" in done.err
    assert done.out == ""


@pytest.mark.requirement("SRV-01")
def test_what_cannot_be_served_is_refused_with_the_nearest_that_can(kit: Project) -> None:
    for argv, said in (
        (("--profile", "fwe"), "did you mean few?"),
        (("--mode", "program", "--pin", "tool_ecko"), "tool_echo"),
    ):
        done = kit.process("serve", *argv)
        assert (done.code, said in done.err) == (2, True), (argv, done.err)


@pytest.mark.requirement("SRV-01")
def test_a_profile_narrows_what_is_served_and_names_it(kit: Project) -> None:
    async def go() -> None:
        async with over_stdio(kit, "--profile", "aliased", mode="auto") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["say", "tool_fail"]
            assert texts(await client.call_tool("say", {"text": "by another name"})) == ["by another name"]
            assert (await client.call_tool("tool_data")).meta["sutler/kind"] == "not_found"

    asyncio.run(go())
