"""What `sutler doctor` finds of MCP servers and of the files that other hosts keep them in (MCP-05)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..mcp.states import last_words
from .findings import Finding, State
from .text import count

if TYPE_CHECKING:
    from ..mcp.states import ServerState
    from ..runtime import SyncRuntime
    from ..servers import ServerSpec

_QUIET = ("ready", "disabled", "stopped")


def of_servers(runtime: SyncRuntime) -> list[Finding]:
    """How each server stands, what was odd about it, and the files that were read."""
    servers = runtime.core.servers
    if servers is None:
        return []
    found: list[Finding] = []
    for file in servers.files:
        about = f"servers of {file.path.name}"
        if file.problem:
            found.append(Finding(about=about, state="problem", said=f"{file.path}: {file.problem}"))
        elif not file.trusted:
            said = f"{file.path} is a project's file that nobody has said yes to; its servers are not started"
            found.append(Finding(about=about, state="note", said=said, do=f"`sutler trust {file.path}`"))
        else:
            found.append(Finding(about=about, state="ok", said=f"{file.path}: {count(len(file.servers), 'server')}"))
        found += [Finding(about=about, state="note", said=note) for note in file.notes]
    specs = {spec.id: spec for spec in servers.specs}
    for state in servers.manager.states():
        found += _of_server(state, specs[state.id])
    return found


def _of_server(server: ServerState, spec: ServerSpec) -> list[Finding]:
    about = f"server {server.id}"
    parts = [server.state if not server.era else f"{server.state}, {server.era}"]
    if server.server:
        parts.append(server.server)
    if server.state == "ready":
        parts.append(count(server.tools, "tool"))
    elif server.cached:
        parts.append(f"{count(server.tools, 'tool')} remembered from before")
    if server.restarts:
        parts.append(f"started again {count(server.restarts, 'time')}")
    said = "; ".join(parts) + (f": {server.reason}" if server.reason else "")
    state: State = "ok" if server.state in _QUIET else "note" if spec.unavailable else "problem"
    found = [Finding(about=about, state=state, said=said)]
    if state == "problem" and server.stderr_tail.strip():
        found.append(
            Finding(about=about, state="note", said=f"it last wrote: {last_words(server.stderr_tail.strip(), 500)}")
        )
    if server.junk_lines:
        shown = f", such as {server.junk[0][:80]!r}" if server.junk else ""
        said = f"{count(server.junk_lines, 'line')} on its standard output that are no JSON-RPC{shown}"
        found.append(Finding(about=about, state="note", said=said))
    found += [Finding(about=about, state="note", said=str(change)) for change in server.changes]
    return found + [
        Finding(about=about, state="note", said=note) for note in dict.fromkeys((*server.notes, *spec.notes))
    ]
