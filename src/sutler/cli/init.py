"""`sutler init`: a folder to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..config import FILE_NAME
from ..policy.trust import TrustStore
from ..state import state_dir
from .context import Cli, here
from .exits import OK, Refused

CONFIG = """\
# What Sutler does in this folder. `sutler doctor` shows what is in force.
# This file is trusted as it was written; after a change, say yes to it again with `sutler trust`.

# default_tools = false             # leave the tools that come with Sutler out

[libraries]
folders = ["tools"]                 # every function named tool_* in a file there is a tool

[policy]
level = "safe"                      # strict: every call asks; safe: what is declared harmless runs; full_access
# allow_network = true              # let the shipped network tools run without asking

# [workspace]
# root = "work"                     # where tools work; without it, this folder
# read = ["../data"]                # more folders that the shipped tools may read

# [limits]
# call_seconds = 60                 # one call
# wall_seconds = 300                # one program, all its calls included

# [mcp_servers.files]               # an MCP server; `sutler import` takes over those of other hosts
# command = "npx"
# args = ["-y", "@modelcontextprotocol/server-filesystem", "."]

# [models.writer]                   # what a tool's lollms_client_instance writes with; any server of the OpenAI API
# base_url = "http://localhost:8080/v1"

# [[tools]]                         # a function of any module here, or of an installed one
# name = "word_lengths"
# description = "How long each word of a text is."
# module = "my_module"
# function = "word_lengths"
# args = [{ name = "text", type = "str" }]
# returns = "list[int]"
# grade = { w = 0, d = 0 }          # reach and effects, each 0..3; (0, 0) is pure

# [host_tool_configs.text_stats]    # what a library of the tools folder is given when it starts
# language = "en"

# [grades]                          # your word on how far a tool reaches, over its own
# "text_stats::tool_count_words" = { w = 0, d = 0 }

# [profiles.words]                  # sutler run --profile words program.py
# tools = ["tool_count_words"]
"""

LIBRARY_NAME = "text_stats.py"
LIBRARY = '''\
"""A library of tools: every function named tool_* is one. Delete it, or make it yours."""

from __future__ import annotations

from collections import Counter

from sutler import tool

TOOL_LIBRARY_NAME = "Text statistics"
TOOL_LIBRARY_DESC = "Counts words of a text."


@tool(read_only=True, open_world=False)
def tool_count_words(text: str, top: int = 5) -> dict[str, int]:
    """Count how often each word stands in a text.

    Args:
        text: The text to look at.
        top: How many words to give, the most frequent first.
    """
    words = (word.strip(".,;:!?()\\"'").lower() for word in text.split())
    return dict(Counter(word for word in words if word).most_common(top))
'''


def init(
    cli: Cli,
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Where. [default: this folder]", show_default=False)
    ] = None,
) -> int:
    """Write a commented sutler.toml and a tools/ folder with one small library, and trust them. Overwrites nothing."""
    root = (folder or here()).absolute()
    config = root / FILE_NAME
    if config.exists() or config.is_symlink():
        raise Refused(f"{config} is here already; nothing was written")
    if root.exists() and not root.is_dir():
        raise Refused(f"{root} is not a folder")
    tools = root / "tools"
    tools.mkdir(parents=True, exist_ok=True)
    library = tools / LIBRARY_NAME
    written: list[Path] = []
    if _write(library, LIBRARY):
        written.append(library)
    if not _write(config, CONFIG):
        raise Refused(f"{config} has just been made by somebody else; it was left alone")
    written.append(config)
    TrustStore(state_dir()).trust(config, CONFIG)
    if cli.out.as_json:
        cli.out.document({"folder": str(root), "written": [str(path) for path in written], "trusted": str(config)})
        return OK
    for path in written:
        cli.out.line(f"wrote {path}")
    if library not in written:
        cli.out.note(f"{library} was there, and was left as it is")
    cli.out.line(f"{config} is trusted. Now try:")
    cli.out.line('  sutler call tool_count_words text="one fish two fish"')
    return OK


def _write(path: Path, text: str) -> bool:
    """Make a new file. False when one is there, which is never touched."""
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
