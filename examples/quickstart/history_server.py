"""An MCP server over stdio, as anybody would write one: what the git history of a checkout says."""

import shutil
import subprocess
from collections import Counter
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

server = MCPServer("history")


@server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
def commits_per_file(
    checkout: Annotated[str, Field(description="The folder of the checkout.")],
    suffix: Annotated[str, Field(description="Only files that end so.")] = ".py",
    top: Annotated[int, Field(description="How many files.", ge=1)] = 5,
) -> dict[str, int]:
    """How many commits touched each file, the most first; empty where there is no history."""
    git = shutil.which("git")
    if git is None:
        return {}
    asked = subprocess.run(
        [git, "-C", checkout, "log", "--format=", "--name-only"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    touched = Counter(line for line in asked.stdout.splitlines() if line.endswith(suffix))
    return dict(touched.most_common(top))


if __name__ == "__main__":
    server.run()
