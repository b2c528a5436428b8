"""An MCP server with something of everything, for the tests of what is passed through."""

from __future__ import annotations

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import (
    Completion,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ToolAnnotations,
)
from pydantic import BaseModel

server = MCPServer(sys.argv[1])


@server.resource("note://{name}")
def note(name: str) -> str:
    return f"{sys.argv[1]} notes {name}"


@server.resource("data://fixed", mime_type="application/octet-stream")
def fixed() -> bytes:
    return sys.argv[1].encode()


@server.resource(f"data://{sys.argv[1]}")
def own() -> str:
    return "own"


@server.prompt()
def greet(who: str) -> str:
    return f"{sys.argv[1]} greets {who}"


@server.completion()
async def complete(ref: object, argument: object, context: object) -> Completion:
    return Completion(values=[f"{sys.argv[1]}-{argument.value}"])  # type: ignore[attr-defined]


@server.prompt()
async def asks(ctx: Context) -> list[UserMessage] | InputRequiredResult:
    """Wants to know something first."""
    if ctx.input_responses:
        return [UserMessage(f"{sys.argv[1]} knows {ctx.input_responses['who'].content['name']}")]
    form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    params = ElicitRequestFormParams(message="Who?", requested_schema=form)
    return InputRequiredResult(input_requests={"who": ElicitRequest(params=params)}, request_state="halfway")


class Name(BaseModel):
    name: str


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
async def who(ctx: Context) -> str:
    answer = await ctx.elicit("Who are you?", Name)
    return f"{answer.action}: {answer.data.name if answer.action == 'accept' else None}"


@server.tool()
async def shout(ctx: Context) -> str:
    await ctx.info("loud")
    return "shouted"


@server.tool()
async def touch(ctx: Context) -> str:
    await ctx.notify_resource_updated(f"data://{sys.argv[1]}")
    return "touched"


server.run()
