"""The face over a runtime in this process: lists that change, answers of servers passed on, calls that wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult, InputRequiredResult, ToolListChangedNotification

from mcp import Client
from sutler import Runtime
from sutler.errors import ToolError
from sutler.results import Answer
from sutler.server import face as face_module
from sutler.server.contract import OutputContract
from sutler.server.face import Face, Hearing, Shape
from sutler.server.listing import provider_names
from sutler.server.person import Person as Asker
from sutler.servers import RemoteResult
from sutler.spec import Origin, ToolSpec

from .conftest import texts

MODES = pytest.mark.parametrize(
    "mode", [pytest.param("legacy", id="2025-11-25"), pytest.param("auto", id="2026-07-28")]
)


@asynccontextmanager
async def faced(*tools: Any, sources: Sequence[Any] = (), **options: Any) -> AsyncGenerator[tuple[Runtime, Face]]:
    asker = Asker(shared=False)
    runtime = Runtime(
        tools=tools,
        sources=sources,
        config=False,
        default_tools=False,
        plugins=False,
        confirm_handler=asker.confirm,
        user_interaction_handler=asker.interact,
        on_event=Hearing(),
        **options,
    )
    async with runtime:
        face = Face(runtime, Shape())
        await face.listing()
        watching = asyncio.create_task(face.watch())
        try:
            yield runtime, face
        finally:
            watching.cancel()
            await face.close()


def one() -> str:
    """The first."""
    return "1"


def two() -> str:
    return "2"


@dataclass
class Remote:
    """A source that answers as a server would: `answers` by tool."""

    name: str
    specs: list[ToolSpec]
    answers: dict[str, RemoteResult]
    precedence: float = 5.0

    def available(self) -> bool:
        return True

    def discover(self) -> list[ToolSpec]:
        return self.specs

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        def call(**arguments: Any) -> Answer:
            wire = self.answers[spec.name]
            if wire.is_error:
                raise ToolError("it failed", wire=wire)
            return Answer(value=wire.structured, content=wire.content, wire=wire)

        return call


def remote_spec(name: str, definition: dict[str, Any]) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=definition.get("description") or "No description provided.",
        docs=definition.get("description") or "",
        input_schema=definition["inputSchema"],
        output_schema=definition.get("outputSchema"),
        origin=Origin(source="upstream", kind="mcp", trust="mcp", precedence=5.0),
        meta={"definition": definition},
    )


@pytest.mark.requirement("SRV-02")
@MODES
def test_clients_are_told_when_the_tools_change(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(face_module, "_LOOK", 0.05)

    async def go() -> None:
        told = anyio.Event()

        async def message(item: Any) -> None:
            if isinstance(item, ToolListChangedNotification):
                told.set()

        async with faced(one) as (runtime, face), Client(face.server, mode=mode, message_handler=message) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["one"]
            with anyio.fail_after(10):
                if mode == "legacy":
                    runtime.toolbox.add(two)
                    await told.wait()
                else:
                    async with client.listen(tools_list_changed=True) as events:
                        runtime.toolbox.add(two)
                        await anext(aiter(events))
            listed = await client.list_tools(cache_mode="refresh")
            assert [tool.name for tool in listed.tools] == ["one", "two"]
            assert texts(await client.call_tool("two")) == ["2"]

    asyncio.run(go())


@pytest.mark.requirement("SRV-02")
@MODES
def test_a_servers_definition_and_answer_go_on_as_they_came(mode: str) -> None:
    definition = {
        "name": "look",
        "title": "Look",
        "description": "Looks.",
        "inputSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"deep": {"$ref": "#/definitions/deep"}, "any": True},
            "definitions": {"deep": {"type": "array", "items": {"type": ["string", "null"], "default": None}}},
            "additionalProperties": False,
        },
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        "annotations": {"title": "Looker", "readOnlyHint": True},
        "icons": [{"src": "data:image/png;base64,AA=="}],
        "_meta": {"vendor/x": {"y": 1}},
    }
    blocks = (
        {"type": "text", "text": "seen", "annotations": {"audience": ["user"], "priority": 0.5}},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
        {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
        {"type": "resource", "resource": {"uri": "file:///b", "text": "b", "mimeType": "text/plain"}},
    )
    answer = RemoteResult(content=blocks, structured={"n": 3, "more": None}, has_structured=True, meta={"v/k": 1})
    failure = RemoteResult(content=({"type": "text", "text": "no such thing"},), is_error=True)
    bare = {"name": "fail", "inputSchema": {"type": "object"}}
    source = Remote(
        "upstream", [remote_spec("look", definition), remote_spec("fail", bare)], {"look": answer, "fail": failure}
    )

    async def go() -> None:
        async with (
            faced(sources=[source], policy="full_access") as (_, face),
            Client(face.server, mode=mode) as client,
        ):
            shown = [tool.model_dump(by_alias=True, exclude_unset=True) for tool in (await client.list_tools()).tools]
            assert [{**tool} for tool in shown] == [definition, bare]
            looked = await client.call_tool("look", {"deep": ["a"]})
            content = [block.model_dump(by_alias=True, exclude_unset=True) for block in looked.content]
            assert content == list(blocks)
            assert looked.structured_content == {"n": 3, "more": None}
            assert looked.meta["v/k"] == 1
            failed = await client.call_tool("fail")
            assert failed.is_error
            assert texts(failed) == ["no such thing"]
            assert failed.meta["sutler/kind"] == "tool_error"

    asyncio.run(go())


@pytest.mark.requirement("SRV-02")
@MODES
def test_structured_content_that_is_no_object_is_wrapped_only_where_the_era_needs_it(mode: str) -> None:
    definition = {"name": "n", "inputSchema": {"type": "object"}, "outputSchema": {"type": "integer"}}
    answer = RemoteResult(content=({"type": "text", "text": "3"},), structured=3, has_structured=True)
    source = Remote("upstream", [remote_spec("n", definition)], {"n": answer})

    async def go() -> None:
        async with (
            faced(sources=[source], policy="full_access") as (_, face),
            Client(face.server, mode=mode) as client,
        ):
            (tool,) = (await client.list_tools()).tools
            got = (await client.call_tool("n")).structured_content
            wrapped = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
            assert (tool.output_schema, got) == (
                (wrapped, {"result": 3}) if mode == "legacy" else ({"type": "integer"}, 3)
            )

    asyncio.run(go())


class Stats(TypedDict):
    count: int


def good() -> Stats:
    return {"count": 2}


def lying() -> Stats:
    return {"count": "many"}  # type: ignore[typeddict-item]


@pytest.mark.requirement("SRV-02")
@MODES
def test_a_result_that_breaks_its_own_declared_schema_is_shown_all_the_same(mode: str) -> None:
    async def go() -> None:
        async with faced(good, lying) as (_, face), Client(face.server, mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["good"].output_schema["required"] == ["count"]
            assert (await client.call_tool("good")).structured_content == {"count": 2}
            lied = await client.call_tool("lying")
            assert lied.is_error
            assert texts(lied)[0] == '{"count": "many"}'
            assert "breaks the output schema" in texts(lied)[1]

    asyncio.run(go())


@pytest.mark.requirement("SRV-02")
def test_a_wrapped_schema_keeps_its_references_or_is_not_listed() -> None:
    def contract(schema: dict[str, Any], kind: Any = "function") -> OutputContract:
        return OutputContract(
            ToolSpec(name="t", output_schema=schema, origin=Origin(source="s", kind=kind)), modern=True
        )

    listed = contract({"type": "array", "items": {"$ref": "#/$defs/P"}, "$defs": {"P": {"type": "integer"}}})
    assert listed.schema is not None
    assert listed.schema["$defs"] == {"P": {"type": "integer"}}
    assert listed.fault({"result": ["x"]}) != ""
    assert listed.fault({"result": [1]}) == ""
    assert contract({"type": "array", "items": {"$ref": "#"}}).schema is None
    # a folder tool's dict is read as a wrapper when it has one of its keys
    assert contract({"type": "object", "properties": {"output": {}}}, "library").schema is None
    assert contract({"type": "object", "properties": {"count": {}}}, "library").schema is not None


@pytest.mark.requirement("SRV-01")
def test_names_have_at_most_64_characters_differ_and_lead_back() -> None:
    async def go() -> None:
        long = [replace_name(f"{'a' * 80}{end}") for end in ("x", "y")]
        odd = [replace_name(name) for name in ("a.b", "a_b", "a b", "\u4f60\u597d", "run_program")]
        source = Remote(
            "upstream", [*long, *odd], {spec.name: RemoteResult(content=(text(spec.name),)) for spec in [*long, *odd]}
        )
        async with (
            faced(sources=[source], policy="full_access") as (runtime, face),
            Client(face.server, mode="auto") as client,
        ):
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert len(set(names)) == 7
            assert all(len(name) <= 64 and name.replace("-", "_").isidentifier() and name.isascii() for name in names)
            assert "a_b" in names
            said = [texts(await client.call_tool(name))[0] for name in names]
            assert sorted(said) == sorted(source.answers)
            rows = list(runtime.inventory().tools.items())
            assert "upstream__run_program" in provider_names(rows, taken=["run_program"])

    asyncio.run(go())


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def replace_name(name: str) -> ToolSpec:
    return replace(remote_spec("x", {"inputSchema": {"type": "object"}}), name=name)


@pytest.mark.requirement("SRV-02")
def test_a_tool_that_the_protocol_cannot_carry_is_left_out_and_named_alone() -> None:
    async def go() -> None:
        bad = remote_spec("bad", {"inputSchema": {"type": "object", "properties": {"a": {}}}})
        bad = replace(bad, meta={"definition": {"icons": "none", "_meta": {}}})
        source = Remote("upstream", [bad], {})
        async with faced(one, sources=[source]) as (_, face), Client(face.server, mode="auto") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["one"]
            ((name, why),) = (await face.listing()).dropped
            assert name == "upstream::bad"
            assert "icons" in why

    asyncio.run(go())


def passes_on(request: dict[str, Any], user_interaction_handler: Any = None) -> Any:
    return {"said": user_interaction_handler(request)}


@pytest.mark.requirement("MCP-14")
@MODES
def test_a_form_or_a_link_of_an_upstream_server_reaches_the_person_whole(mode: str) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "sure": {"type": "boolean", "default": False}},
        "required": ["n"],
    }
    seen: list[Any] = []

    async def person(context: Any, params: Any) -> ElicitResult:
        seen.append(params)
        values = {"n": 2, "sure": True} if params.mode == "form" else None
        return ElicitResult(action="accept", content=values)

    async def go() -> None:
        async with (
            faced(passes_on) as (_, face),
            Client(face.server, mode=mode, elicitation_callback=person) as client,
        ):
            form = await client.call_tool("passes_on", {"request": {"message": "How many?", "schema": schema}})
            assert form.structured_content == {"said": {"n": 2, "sure": True}}
            link = {"message": "Log in", "url": "https://login.example/"}
            assert (await client.call_tool("passes_on", {"request": link})).structured_content == {"said": {}}
        asked, linked = seen
        assert (asked.message, asked.requested_schema) == ("How many?", schema)
        assert (linked.mode, linked.url) == ("url", "https://login.example/")

    asyncio.run(go())


def asks(user_interaction_handler: Any = None) -> str:
    return str(user_interaction_handler({"type": "text", "title": "Name", "prompt": "Who?", "options": []}))


@pytest.mark.requirement("MCP-14")
def test_a_call_that_waits_is_only_gone_on_with_by_its_key_for_the_same_request_and_once() -> None:
    async def go() -> None:
        async def unused(context: Any, params: Any) -> ElicitResult:
            raise AssertionError("the test answers by hand")

        async with (
            faced(asks) as (_, face),
            Client(face.server, mode="auto", elicitation_callback=unused) as client,
        ):
            first = await client.session.call_tool("asks", {}, allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            (key,) = first.input_requests
            answers = {key: ElicitResult(action="accept", content={"answer": "me"})}

            async def again(name: str, arguments: dict[str, Any], state: str | None) -> Any:
                return await client.session.call_tool(
                    name, arguments, input_responses=answers, request_state=state, allow_input_required=True
                )

            for name, arguments, state in (
                ("asks", {}, "a guess"),
                ("asks", {"x": 1}, first.request_state),
                ("other", {}, first.request_state),
            ):
                with pytest.raises(MCPError, match="Invalid or expired requestState"):
                    await again(name, arguments, state)
            assert texts(await again("asks", {}, first.request_state)) == ["me"]
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await again("asks", {}, first.request_state)

    asyncio.run(go())


@pytest.mark.requirement("MCP-14")
def test_a_call_whose_client_never_comes_back_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sutler.server.parked.WAIT", 0.05)

    async def go() -> None:
        async def unused(context: Any, params: Any) -> ElicitResult:
            raise AssertionError("the test answers by hand")

        async with (
            faced(asks) as (_, face),
            Client(face.server, mode="auto", elicitation_callback=unused) as client,
        ):
            first = await client.session.call_tool("asks", {}, allow_input_required=True)
            assert isinstance(first, InputRequiredResult)
            (exchange,) = face._exchanges
            await asyncio.wait([exchange.task], timeout=10)
            assert exchange.task.cancelled()
            assert not face._exchanges

    asyncio.run(go())


@pytest.mark.requirement("SRV-02")
def test_a_wrapper_that_only_says_that_it_failed_is_answered_with_that_alone(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(
        "def tool_fail() -> dict:\n    return {'success': False, 'error': 'it would not'}\n"
    )

    async def go() -> None:
        async with faced(tool_folders=[tmp_path]) as (_, face), Client(face.server) as client:
            assert texts(await client.call_tool("tool_fail")) == ["tool_error: it would not"]

    asyncio.run(go())
