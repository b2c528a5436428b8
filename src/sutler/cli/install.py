"""`sutler install HOST`: a host starts `sutler serve` from now on (docs/serve.md)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..config import find_config
from .context import Cli
from .exits import CONFIG, DENIED, OK, Refused

Host = Literal["claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini"]
Scope = Literal["project", "user"]

_USER_FIRST = ("claude-desktop", "codex")  # these read a project's file not at all, or only of trusted projects


def install(
    cli: Cli,
    host: Annotated[
        Host, typer.Argument(metavar="HOST", help="claude-code, claude-desktop, cursor, vscode, codex, gemini.")
    ],
    scope: Annotated[
        Scope | None,
        typer.Option(
            "--scope",
            help="This project's file of the host, or your own. [default: project; user for claude-desktop and codex]",
            show_default=False,
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What the host calls the server.")] = "sutler",
    mode: Annotated[Literal["flat", "program"], typer.Option("--mode", help="As for `sutler serve`.")] = "flat",
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="NAME", help="As for `sutler serve`.", show_default=False)
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Only show the change.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Make the change without asking.")] = False,
) -> int:
    """Write a host's config so that it starts `sutler serve` for this folder. Shows the change and asks first."""
    if not name.strip() or not name.isprintable():
        raise Refused("--name is the name of a server, and must not be empty")
    from ..mcp.host_configs import host_secrets  # no other command pays for these
    from ..mcp.hosts.dialects import DIALECTS
    from ..mcp.hosts.install import with_server
    from ..mcp.hosts.text import decode, encode, read
    from .change import agreed, difference, write

    path = _file(cli, host, scope)
    command, args = start(cli, mode=mode, profile=profile)
    try:
        before = read(path) if path.exists() else None
        text, mark, encoding = decode(before) if before is not None else ("", b"", "utf-8")
        changed = with_server(text, host, name, command, args)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Refused(f"{path}: {reason}; nothing was changed", code=CONFIG, kind="config") from error
    title = DIALECTS[host].title
    if changed == text and before is not None:
        return _ended(cli, path, [command, *args], written=False, said=f"{title} starts it already")
    shown = difference(path, text, changed, host_secrets(path))
    if show:
        return _ended(cli, path, [command, *args], written=False, said="nothing was written", shown=shown)
    if not cli.out.as_json:
        cli.out.say(shown)
    if not agreed(cli, f"Write this to {path}?", yes=yes):
        return _ended(cli, path, [command, *args], written=False, said="nothing was written", code=DENIED)
    backup = write(path, encode(changed, mark, encoding), before=before)
    said = f"{title} starts `sutler serve` when it is started next"
    return _ended(cli, path, [command, *args], written=True, said=said, backup=backup)


def start(cli: Cli, *, mode: str, profile: str | None) -> tuple[str, list[str]]:
    """How a host starts the server of this folder: by full paths, for it has a PATH and a folder of its own."""
    own = Path(sys.argv[0]).absolute()
    installed = own.stem == "sutler" and own.is_file()
    command, args = (str(own), ["serve"]) if installed else (sys.executable, ["-m", "sutler.cli", "serve"])
    config = cli.given.config or find_config(Path.cwd())
    if not cli.config().trusted:
        # named by --config it would count as trusted, without anybody having said so
        raise Refused(f"{config} is not trusted yet; look at it with `sutler trust --show`", code=DENIED, kind="denied")
    workspace = cli.given.workspace
    if config is not None:
        args += ["--config", str(config.absolute())]
    if workspace is not None or config is None:
        folder = (workspace or Path.cwd()).absolute()
        if folder in (Path(folder.anchor), Path.home()):
            raise Refused(f"{folder} is no folder to serve; run this in a project, or name one with --workspace")
        args += ["--workspace", str(folder)]
    if mode != "flat":
        args += ["--mode", mode]
    if profile is not None:
        args += ["--profile", profile]
    if cli.given.policy is not None:
        args += ["--policy", cli.given.policy]
    return command, args


def _file(cli: Cli, host: Host, scope: Scope | None) -> Path:
    from ..mcp.hosts.dialects import DIALECTS, project_file, user_files

    if scope is None:
        scope = "user" if host in _USER_FIRST else "project"
    if scope == "user":
        return user_files(host, Path.home(), os.environ)[0]
    path = project_file(host, cli.project())
    if path is None:
        raise Refused(f"{DIALECTS[host].title} has no config file in projects; use --scope user")
    return path


def _ended(
    cli: Cli,
    path: Path,
    command: list[str],
    *,
    written: bool,
    said: str,
    shown: str = "",
    backup: Path | None = None,
    code: int = OK,
) -> int:
    if cli.out.as_json:
        kept = None if backup is None else str(backup)
        cli.out.document({"path": str(path), "command": command, "written": written, "backup": kept, "change": shown})
    elif shown:
        cli.out.line(shown)
    say = cli.out.say if cli.out.as_json or shown else cli.out.line
    say(f"{path}: {said}")
    if backup is not None:
        cli.out.say(f"what it held before is in {backup}")
    return code
