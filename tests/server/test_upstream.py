"""What upstream servers have beside tools passes through in flat mode: over real servers and their manager."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import (
    ElicitResult,
    EmptyResult,
    InputRequiredResult,
    PromptReference,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
    SetLevelRequest,
    SetLevelRequestParams,
)

from mcp import Client
from sutler.mcp.manager import ServerManager
from sutler.servers import ServerSpec

from ..cli.conftest import Project
from .conftest import ERAS, over_stdio, texts
from .test_face import MODES, faced

HEARERS: list[Callable[..., Any]] = []


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerManager]:
    script = str(Path(__file__).with_name("upstream_server.py"))
    cwd = tmp_path_factory.mktemp("upstream")
    specs = [
        ServerSpec(id=name, command=sys.executable, args=(script, name), cwd=cwd, era=era)
        for name, era in (("old", "legacy"), ("new", "modern"))
    ]
    made = ServerManager(specs, on_notification=lambda *told: [hear(*told) for hear in HEARERS])
    made.start()
    assert made.wait(30)
    yield made
    assert made.close() == ()


@pytest.mark.requirement("SRV-02")
@MODES
def test_resources_prompts_and_completions_of_upstream_servers_pass_through(manager: ServerManager, mode: str) -> None:
    async def go() -> None:
        async with faced() as (_, face):
            await face.offer(manager)
            async with Client(face.server, mode=mode) as client:
                resources = {one.uri: one.mime_type for one in (await client.list_resources()).resources}
                assert list(resources) == ["data://fixed", "data://old", "data://new"]
                assert resources["data://fixed"] == "application/octet-stream"
                (template,) = (await client.list_resource_templates()).resource_templates
                assert template.uri_template == "note://{name}"
                (blob,) = (await client.read_resource("data://fixed")).contents
                assert blob.blob == "b2xk"  # "old", the first server
                (text,) = (await client.read_resource("note://me")).contents
                assert text.text == "old notes me"
                with pytest.raises(MCPError):
                    await client.read_resource("none://at-all")

                prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
                assert prompts == ["greet", "asks", "new__greet", "new__asks"]
                for name, said in (("greet", "old greets you"), ("new__greet", "new greets you")):
                    (message,) = (await client.get_prompt(name, {"who": "you"})).messages
                    assert message.content.text == said
                with pytest.raises(MCPError, match="Unknown prompt: nobody"):
                    await client.get_prompt("nobody")

                named = {"name": "who", "value": "x"}
                done = await client.complete(PromptReference(name="new__greet"), named)
                assert done.completion.values == ["new-x"]
                done = await client.complete(ResourceTemplateReference(uri="note://{name}"), named)
                assert done.completion.values == ["old-x"]

    asyncio.run(go())


@pytest.mark.requirement("SRV-02")
@MODES
def test_who_follows_a_resource_of_an_upstream_server_hears_that_it_changed(manager: ServerManager, mode: str) -> None:
    async def go() -> None:
        heard = anyio.Event()

        async def message(item: Any) -> None:
            if isinstance(item, ResourceUpdatedNotification):
                assert item.params.uri == "data://new"
                heard.set()

        async def touch_until(done: Callable[[], bool]) -> None:
            with anyio.fail_after(20):
                while not done():  # the upstream stream may not be open yet, and nothing is replayed
                    await asyncio.to_thread(manager.portal.run, manager.call("new", "touch", {}))
                    await asyncio.sleep(0.05)

        async with faced() as (_, face):
            await face.offer(manager)
            async with Client(face.server, mode=mode, message_handler=message) as client:
                if mode == "legacy":
                    with pytest.warns(MCPDeprecationWarning):
                        await client.subscribe_resource("data://new")
                    await touch_until(heard.is_set)
                    with pytest.warns(MCPDeprecationWarning):
                        await client.unsubscribe_resource("data://new")
                else:
                    async with client.listen(resource_subscriptions=["data://new"]) as events:
                        first = asyncio.ensure_future(anext(aiter(events)))
                        await touch_until(first.done)
                        assert first.result().uri == "data://new"
            with anyio.fail_after(10):
                while face._upstream._following:
                    await asyncio.sleep(0.02)

    asyncio.run(go())


@pytest.mark.requirement("SRV-02", "MCP-14")
def test_a_modern_servers_own_question_before_a_prompt_goes_through_under_its_own_key(manager: ServerManager) -> None:
    async def person(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def go() -> None:
        async with faced() as (_, face):
            await face.offer(manager)
            async with Client(face.server, mode="auto", elicitation_callback=person) as client:
                first = await client.session.get_prompt("new__asks", allow_input_required=True)
                assert isinstance(first, InputRequiredResult)
                assert list(first.input_requests) == ["who"]
                (message,) = (await client.get_prompt("new__asks")).messages
                assert message.content.text == "new knows Ada"

    asyncio.run(go())


@pytest.mark.requirement("SRV-02")
def test_a_client_that_sets_a_level_hears_what_upstream_servers_log_from_there_up(manager: ServerManager) -> None:
    async def go() -> None:
        heard: list[Any] = []

        async def log(params: Any) -> None:
            heard.append(params.data)

        async with faced() as (_, face):
            loop = asyncio.get_running_loop()
            HEARERS[:] = [
                lambda server, method, params: asyncio.run_coroutine_threadsafe(face.notified(method, params), loop)
            ]
            await face.offer(manager)
            async with Client(face.server, mode="legacy", logging_callback=log) as client:
                for level, after in (("error", []), ("info", ["loud"])):
                    params = SetLevelRequestParams(level=level)
                    await client.session.send_request(SetLevelRequest(params=params), EmptyResult)
                    await asyncio.to_thread(manager.portal.run, manager.call("old", "shout", {}))
                    await asyncio.sleep(0.2)
                    assert heard == after
            HEARERS.clear()

    asyncio.run(go())


CONFIG = """default_tools = false

[mcp_servers.up]
command = {python}
args = [{script}, "up"]
era = "legacy"
"""


@pytest.mark.requirement("SRV-01", "SRV-02", "MCP-14")
@pytest.mark.parametrize("mode", ERAS)
def test_a_configured_server_stands_behind_a_served_process_with_all_it_has(tmp_path: Path, mode: str) -> None:
    project = Project(tmp_path / "project", tmp_path / "home")
    project.root.mkdir()
    script = json.dumps(str(Path(__file__).with_name("upstream_server.py")))
    project.config(CONFIG.format(python=json.dumps(sys.executable), script=script))

    async def person(context: Any, params: Any) -> ElicitResult:
        assert params.message == "Who are you?"
        return ElicitResult(action="accept", content={"name": "Ada"})

    async def go() -> None:
        async with over_stdio(project, mode=mode, person=person) as client:
            with anyio.fail_after(30):  # a server that is slow to start joins late
                while not {"who", "shout", "touch"} <= {tool.name for tool in (await client.list_tools()).tools}:
                    await asyncio.sleep(0.1)
            answered = await client.call_tool("who")
            assert texts(answered) == ["accept: Ada"]
            assert answered.structured_content == {"result": "accept: Ada"}
            (message,) = (await client.get_prompt("greet", {"who": "you"})).messages
            assert message.content.text == "up greets you"
            (text,) = (await client.read_resource("note://me")).contents
            assert text.text == "up notes me"

    asyncio.run(go())
