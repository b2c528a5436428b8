"""A server on the SDK itself: what it sends is what servers of today send. `python sdk_server.py [port]`."""

from __future__ import annotations

import asyncio
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

server = MCPServer("real")
CANCELLED: list[str] = []


class Choice(BaseModel):
    colour: str


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("Which?", Choice)
    return answer.action


@server.tool()
async def colour(mine: str, ctx: Context) -> str:
    answer = await ctx.elicit(f"for {mine}", Choice)
    return answer.data.colour if answer.action == "accept" else answer.action


@server.tool()
async def grow(ctx: Context) -> str:
    server.add_tool(add, name="grown")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool()
async def nap() -> str:
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        CANCELLED.append("nap")
        raise
    return "slept"


@server.tool()
def cancelled() -> list[str]:
    return CANCELLED


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].isdecimal():
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
