"""Program mode: three tools that stand for all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..cli.conftest import Project
from .conftest import ERAS, Served, served_by, texts


@pytest.fixture(scope="module", params=ERAS)
def programs(kit: Project, request: pytest.FixtureRequest) -> Iterator[Served]:
    with served_by(
        kit, "--mode", "program", "--pin", "few", "--pin", "tool_data", mode=request.param, asks=True
    ) as made:
        yield made


@pytest.mark.requirement("SRV-01")
def test_three_tools_are_listed_and_those_that_are_pinned(programs: Served) -> None:
    tools = {tool.name: tool for tool in programs.run(lambda client: client.list_tools()).tools}
    assert list(tools) == ["search_tools", "describe_tool", "run_program", "tool_echo", "tool_fail", "tool_data"]
    assert tools["search_tools"].annotations.read_only_hint
    assert texts(programs.run(lambda client: client.call_tool("tool_echo", {"text": "pinned"}))) == ["pinned"]
    unlisted = programs.run(lambda client: client.call_tool("tool_wipe", {"path": "x"}))
    assert unlisted.meta["sutler/kind"] == "not_found"


@pytest.mark.requirement("SRV-01")
def test_a_tool_is_found_by_words_and_described_as_a_program_calls_it(programs: Served) -> None:
    found = programs.run(lambda client: client.call_tool("search_tools", {"query": "give text back"}))
    best = found.structured_content["tools"][0]
    assert best["name"] == "tool_echo"
    assert best["signature"] == "tool_echo(text: str, times: int = 1)"
    assert best["signature"] in texts(found)[0]
    none = programs.run(lambda client: client.call_tool("search_tools", {"query": "zzz"}))
    assert "an empty query lists them" in texts(none)[0]
    everything = programs.run(lambda client: client.call_tool("search_tools", {"query": "", "limit": 2}))
    assert everything.structured_content["found"] == 11
    assert texts(everything)[0].endswith("and 9 more")

    told = programs.run(lambda client: client.call_tool("describe_tool", {"name": "kit::tool_wipe"}))
    assert told.structured_content["inputSchema"]["required"] == ["path"]
    assert told.structured_content["decision"] == "ask"
    assert "needs the person's approval" in texts(told)[0]
    unknown = programs.run(lambda client: client.call_tool("describe_tool", {"name": "tool_ecko"}))
    assert unknown.is_error
    assert "tool_echo" in texts(unknown)[0]
    wrong = programs.run(lambda client: client.call_tool("search_tools", {"words": "x"}))
    assert wrong.meta["sutler/kind"] == "invalid_arguments"


@pytest.mark.requirement("SRV-01")
def test_a_program_gives_its_output_its_prints_and_its_calls(programs: Served) -> None:
    heard: list[str | None] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    text = 'print("counting")\nwords = [tool_echo(word, times=2) for word in names]\n{"words": words, "n": len(words)}'
    ran = programs.run(
        lambda client: client.call_tool(
            "run_program", {"program": text, "params": {"names": ["a", "b"]}}, progress_callback=progress
        )
    )
    assert not ran.is_error
    document = ran.structured_content
    assert document["output"] == {"words": ["a a", "b b"], "n": 2}
    assert document["stdout"] == "counting\n"
    assert [(step["tool"], step["line"]) for step in document["trace"]] == [("kit::tool_echo", 2)] * 2
    (said,) = texts(ran)
    assert said == '{"words": ["a a", "b b"], "n": 2}\nprinted:\ncounting\ncalls: 2 (tool_echo)'
    assert heard == ["calls kit::tool_echo"] * 2


@pytest.mark.requirement("SRV-01")
def test_a_program_that_fails_says_on_which_line_and_what_went_before(programs: Served) -> None:
    failed = programs.run(lambda client: client.call_tool("run_program", {"program": 'tool_echo("x")\n\ntool_fail()'}))
    assert failed.is_error
    assert failed.structured_content["error"]["line"] == 3
    assert "it broke" in failed.structured_content["error"]["message"]
    assert [step["success"] for step in failed.structured_content["trace"]] == [True, False]
    assert "(line 3)" in texts(failed)[0]
    rejected = programs.run(lambda client: client.call_tool("run_program", {"program": "import os"}))
    assert rejected.is_error
    assert rejected.structured_content["error"]["kind"] == "rejected"
    misnamed = programs.run(lambda client: client.call_tool("run_program", {"program": "1", "params": {"a b": 1}}))
    assert misnamed.meta["sutler/kind"] == "invalid_arguments"


@pytest.mark.requirement("SRV-01")
def test_a_long_output_is_cut_for_the_model_and_says_so(programs: Served) -> None:
    ran = programs.run(lambda client: client.call_tool("run_program", {"program": '"x" * 100000'}))
    assert len(texts(ran)[0]) < 25_000
    assert "let the program select" in texts(ran)[0]
    assert ran.structured_content["cut"] == "output"


@pytest.mark.requirement("MCP-14")
def test_a_program_asks_the_person_in_the_middle_and_goes_on_with_the_answer(programs: Served) -> None:
    text = """
done = [tool_echo("before")]
for path in ["a", "b"]:
    try:
        done.append(tool_wipe(path))
    except PermissionError:
        done.append("denied")
done.append(tool_choose())
done"""
    programs.person.will("allow once")
    ran = programs.run(lambda client: client.call_tool("run_program", {"program": text}))
    # "allow once" is none of the sizes that tool_choose offers, so it counts as no answer
    assert ran.structured_content["output"] == ["before", "wiped a", "wiped b", "chose None"]
    assert len(programs.person.questions) == 3
    programs.person.will(None, "decline")
    ran = programs.run(lambda client: client.call_tool("run_program", {"program": text}))
    assert ran.structured_content["output"] == ["before", "denied", "denied", "chose None"]
