"""`sutler import`: the servers of other hosts on this machine, a .lackpy/config.toml, taking them over (MCP-02)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..policy.trust import TrustStore
from ..state import state_dir
from .context import Cli
from .exits import OK, UNAVAILABLE, Refused
from .text import count

if TYPE_CHECKING:
    from ..config.lackpy import DeclaredTool
    from ..mcp.host_configs import HostFile
    from ..mcp.hosts.dialects import Place
    from ..servers import ServerSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What can be taken over. files: of other hosts. tables: those whose servers can only be copied, with `tools`.

    left: what of the latter cannot be taken, and why. folder: where one of them was found that the person did not name.
    """

    files: Sequence[HostFile]
    tables: Sequence[HostFile] = ()
    tools: Sequence[DeclaredTool] = ()
    left: Sequence[str] = ()
    folder: Path | None = None


def import_(
    cli: Cli,
    which: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[HOST|FILE]...",
            help="Only these hosts (claude-code, cursor, lackpy...), or these files. [default: all that are here]",
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
    """Find the MCP servers that other hosts are configured with, and show what would be taken. Starts nothing.

    The tables of a .lackpy/config.toml upward from here are shown too; with --write they are copied.
    """
    if (copy or yes) and not write_it:
        raise Refused("--copy and --yes go with --write")
    trust = TrustStore(state_dir())
    found = _found(cli, which or [], trust)
    if cli.out.as_json and not write_it:
        cli.out.document({"files": [_document(file, found) for file in (*found.tables, *found.files)]})
        return OK
    if not write_it:
        _show(cli, found)
        return OK if found.files or found.tables else UNAVAILABLE
    if not found.tools and not any(file.servers for file in (*found.files, *found.tables)):
        for sentence in found.left:
            cli.out.say(f"not taken: {sentence}")
        raise Refused("there are no servers and no tools to take over", code=UNAVAILABLE, kind="unavailable")
    from .taking import take_over

    return take_over(cli, found, trust, copy=copy, yes=yes)


def _found(cli: Cli, which: Sequence[str], trust: TrustStore) -> Found:
    from ..config.lackpy import read_lackpy  # no other command pays for these
    from ..mcp.host_configs import HostFile, Surroundings, read_host_files

    places = _wanted(cli, which)
    lackpy = [place for place in places if place.host == "lackpy"]
    read = [read_lackpy(place.path, os.environ) for place in lackpy]
    listed = [path for file in read for path in file.host_configs]
    around = Surroundings(env=os.environ, home=Path.home(), project=cli.project(), trust=trust)
    files = read_host_files([*(place.path for place in places if place.host != "lackpy"), *listed], around)
    left = [sentence for file in read for sentence in (*filter(None, [file.problem]), *file.left)]
    for file in files:
        if file.path in listed and not file.servers:
            left.append(f"{file.problem or f'{file.path}: it names no servers'}; so it is not listed in host_configs")
    return Found(
        files=[file for file in files if file.servers or file.problem or file.path in listed],
        tables=[
            HostFile(
                path=file.path,
                host="lackpy",
                title="lackpy",
                servers=file.servers,
                problem=file.problem,
                notes=file.left,
            )
            for file in read
        ],
        tools=[tool for file in read for tool in file.tools],
        left=left,
        folder=next((place.path.parent.parent for place in lackpy if place.scope == "project"), None),
    )


def _wanted(cli: Cli, which: Sequence[str]) -> list[Place]:
    """The files to look into. Files that are named need not be where a host looks; they are of scope `user`."""
    from ..config.lackpy import find_lackpy, is_lackpy
    from ..mcp.hosts.dialects import DIALECTS, Place, places

    here = [place for place in places(Path.home(), cli.project(), os.environ) if place.path.exists()]
    lackpy = find_lackpy(Path.cwd())
    if lackpy is not None:
        here.append(Place("lackpy", lackpy, "project"))
    if not which:
        return here
    found: list[Place] = []
    for word in which:
        path = Path(word).expanduser()
        if word == "lackpy" or word in DIALECTS:
            found += [place for place in here if place.host == word]
        elif path.exists():
            path = path.absolute() / "config.toml" if path.name == ".lackpy" else path.absolute()
            found.append(Place("lackpy" if is_lackpy(path) else "other", path, "user"))
        else:
            hosts = ", ".join([*(host for host in DIALECTS if host != "other"), "lackpy"])
            raise Refused(f"{word} is no file, and no host that is known; the hosts are {hosts}")
    return list(dict.fromkeys(found))


def _show(cli: Cli, found: Found) -> None:
    files = [*found.tables, *found.files]
    if not files:
        cli.out.say("no config of another host with MCP servers was found here, and no .lackpy/config.toml")
        return
    for file in files:
        cli.out.line(f"{file.title or 'a file'}: {file.path}" + ("" if file.trusted else " (not trusted)"))
        if file.problem:
            cli.out.line(f"  cannot be read: {file.problem.removeprefix(f'{file.path}: ')}")
        for tool in _tools_of(file, found):
            code = f"  {tool.keys['module']}.{tool.keys['function']}" if tool.kind == "tools" else ""
            cli.out.line(f"  {'tool' if code else 'virtual tool'} {tool.name}{code}")
        for server in file.servers:
            cli.out.line(f"  {server.id.rpartition('/')[2]}  {how(server)}")
            for sentence in _about(server, file):
                cli.out.line(f"      {sentence}")
        for note in file.notes:
            what = "not taken" if file in found.tables else "note"
            cli.out.line(f"  {what}: {note.removeprefix(f'{file.path}: ')}")
    if found.files:
        servers = sum(len(file.servers) for file in found.files)
        cli.out.say(f"{count(servers, 'server')}; `sutler import --write` adds these files to [mcp] host_configs")
    if tables := sum(len(file.servers) for file in found.tables) + len(found.tools):
        cli.out.say(f"`sutler import --write` copies {count(tables, 'table')} of lackpy's file to sutler.toml")
    for file in found.files:
        if not file.trusted:
            cli.out.say(f"nothing of {file.path} is started before `sutler trust {file.path}`")


def _tools_of(file: HostFile, found: Found) -> Sequence[DeclaredTool]:
    return [tool for tool in found.tools if tool.file == file.path]


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


def _document(file: HostFile, found: Found) -> dict[str, Any]:
    return {
        "host": file.host,
        "path": str(file.path),
        "trusted": file.trusted,
        "problem": file.problem,
        "notes": list(file.notes),
        "tools": [{"name": tool.name, "table": tool.kind, "where": tool.where} for tool in _tools_of(file, found)],
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
