"""`sutler import`: the servers that other hosts on this machine have, and taking them over (MCP-02)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..policy.trust import TrustStore
from ..state import state_dir
from .context import Cli
from .exits import OK, UNAVAILABLE, Refused
from .text import count

if TYPE_CHECKING:
    from ..mcp.host_configs import HostFile
    from ..mcp.hosts.dialects import Place
    from ..servers import ServerSpec


def import_(
    cli: Cli,
    which: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[HOST|FILE]...",
            help="Only these hosts (claude-code, cursor...), or these files. [default: all that are here]",
            show_default=False,
        ),
    ] = None,
    write_it: Annotated[
        bool, typer.Option("--write", help="Add the files to [mcp] host_configs of this project's sutler.toml.")
    ] = False,
    copy: Annotated[
        bool, typer.Option("--copy", help="With --write: write each server as [mcp_servers.<id>] instead.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --write: do not ask.")] = False,
) -> int:
    """Find the MCP servers that other hosts are configured with, and show what would be taken. Starts nothing."""
    if (copy or yes) and not write_it:
        raise Refused("--copy and --yes go with --write")
    from ..mcp.host_configs import Surroundings, read_host_files  # no other command pays for it

    trust = TrustStore(state_dir())
    around = Surroundings(env=os.environ, home=Path.home(), project=cli.project(), trust=trust)
    files = [
        file for file in read_host_files([place.path for place in _wanted(cli, which or [])], around) if _speaks(file)
    ]
    if cli.out.as_json and not write_it:
        cli.out.document({"files": [_document(file) for file in files]})
        return OK
    if not write_it:
        _show(cli, files)
        return OK if files else UNAVAILABLE
    if not any(file.servers for file in files):
        raise Refused("there are no servers to take over", code=UNAVAILABLE, kind="unavailable")
    from .taking import take_over

    return take_over(cli, files, trust, copy=copy, yes=yes)


def _wanted(cli: Cli, which: Sequence[str]) -> list[Place]:
    """The files to look into. Files that are named need not be where a host looks."""
    from ..mcp.hosts.dialects import DIALECTS, Place, places

    here = [place for place in places(Path.home(), cli.project(), os.environ) if place.path.exists()]
    if not which:
        return here
    found: list[Place] = []
    for word in which:
        if word in DIALECTS:
            found += [place for place in here if place.host == word]
        elif Path(word).expanduser().exists():
            found.append(Place("other", Path(word).expanduser().absolute(), "user"))
        else:
            hosts = ", ".join(host for host in DIALECTS if host != "other")
            raise Refused(f"{word} is no file, and no host that is known; the hosts are {hosts}")
    return found


def _speaks(file: HostFile) -> bool:
    """A settings file without servers is not worth a line."""
    return bool(file.servers or file.problem)


def _show(cli: Cli, files: Sequence[HostFile]) -> None:
    if not files:
        cli.out.say("no config of another host with MCP servers was found here")
        return
    for file in files:
        cli.out.line(f"{file.title or 'a file'}: {file.path}" + ("" if file.trusted else " (not trusted)"))
        if file.problem:
            cli.out.line(f"  cannot be read: {file.problem.removeprefix(f'{file.path}: ')}")
        for server in file.servers:
            cli.out.line(f"  {server.id.rpartition('/')[2]}  {how(server)}")
            for sentence in _about(server, file):
                cli.out.line(f"      {sentence}")
        for note in file.notes:
            cli.out.line(f"  note: {note.removeprefix(f'{file.path}: ')}")
    servers = sum(len(file.servers) for file in files)
    cli.out.say(f"{count(servers, 'server')}; `sutler import --write` adds these files to [mcp] host_configs")
    for file in files:
        if not file.trusted:
            cli.out.say(f"nothing of {file.path} is started before `sutler trust {file.path}`")


def how(server: ServerSpec) -> str:
    """How a server is reached, in one line, without a secret in it."""
    from ..mcp.hidden import masked

    if server.transport != "stdio":
        return masked(f"{server.transport} {server.url}".strip(), server.secrets)
    return masked(" ".join([server.command, *server.args]).strip() or "no command", server.secrets)


def _about(server: ServerSpec, file: HostFile) -> list[str]:
    """The names of its env and headers, never their values, and what stands in its way."""
    said: list[str] = []
    if names := [*server.env, *server.env_vars]:
        said.append(f"env: {', '.join(names)}")
    if server.headers:
        said.append(f"headers: {', '.join(server.headers)}")
    if not server.enabled and not any("itself" in note for note in server.notes):
        said.append("it is disabled there")
    if server.unavailable and file.trusted:
        said.append(f"cannot be started: {server.unavailable}")
    return [*said, *server.notes]


def _document(file: HostFile) -> dict[str, Any]:
    return {
        "host": file.host,
        "path": str(file.path),
        "trusted": file.trusted,
        "problem": file.problem,
        "notes": list(file.notes),
        "servers": [
            {
                "id": server.id,
                "transport": server.transport,
                "command": how(server),
                "env": [*server.env, *server.env_vars],
                "headers": list(server.headers),
                "enabled": server.enabled,
                "unavailable": server.unavailable,
                "notes": list(server.notes),
                "where": server.where,
            }
            for server in file.servers
        ],
    }
