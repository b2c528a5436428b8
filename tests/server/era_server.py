"""An MCP server that does other things in each era, for the tests of what a served process passes on.

`era_server.py` over stdio, `era_server.py PORT` over HTTP.
"""

from __future__ import annotations

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

server = MCPServer("eras")
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def sampling() -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="The capital of France?"))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=10))


def form() -> ElicitRequest:
    return ElicitRequest(params=ElicitRequestFormParams(message="Who?", requested_schema=FORM))


@server.tool()
async def both(ctx: Context) -> str | InputRequiredResult:
    """Asks the model and the person in one round, and remembers that it did."""
    given = ctx.input_responses or {}
    if {"model", "person"} <= given.keys() and ctx.request_state == "halfway":
        model, person = given["model"], given["person"]
        assert isinstance(model, CreateMessageResult)
        return f"{model.content.text} for {person.content['name']}"  # type: ignore[union-attr]
    return InputRequiredResult(input_requests={"model": sampling(), "person": form()}, request_state="halfway")


@server.tool()
async def endless(ctx: Context) -> InputRequiredResult:
    return InputRequiredResult(input_requests={"person": form()})


@server.tool()
async def capabilities(ctx: Context) -> str:
    has = ctx.client_capabilities
    return ",".join(sorted(has.model_dump(exclude_none=True))) if has is not None else "unknown"


@server.tool()
async def refuse() -> str:
    raise MCPError(code=-32021, message="no sampling", data={"requiredCapabilities": {"sampling": {}}})


class Name(BaseModel):
    name: str


@server.tool()
async def push(ctx: Context) -> str:
    """Asks as servers of the old era do."""
    answer = await ctx.elicit("Who are you?", Name)
    return f"{answer.action}: {answer.data.name if answer.action == 'accept' else None}"


@server.tool()
async def sample(ctx: Context) -> str:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="The capital of France?"))
    answer = await ctx.session.create_message([message], max_tokens=10, related_request_id=ctx.request_id)
    return str(answer.content.text)  # type: ignore[union-attr]


@server.tool()
async def shout(ctx: Context) -> str:
    await ctx.info("loud")
    return "shouted"


@server.tool()
async def grow(ctx: Context) -> str:
    server.add_tool(refuse, name="grown")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool()
async def say_prompts_changed(ctx: Context) -> str:
    await ctx.notify_prompts_changed()
    await ctx.session.send_prompt_list_changed()
    return "said"


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
