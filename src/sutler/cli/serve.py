"""`sutler serve`: the tools as one MCP server, for any host (docs/serve.md)."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import ToolNotFound, ToolUnavailable
from .context import Cli
from .exits import OK, UNAVAILABLE, Refused
from .text import count

if TYPE_CHECKING:
    from ..config import Config
    from ..runtime import Runtime
    from ..server.serve import Http, Stdio

Mode = Literal["flat", "program"]

_TOKEN = "SUTLER_TOKEN"
_PORT = 8765


def serve(
    cli: Cli,
    mode: Annotated[
        Mode,
        typer.Option("--mode", help="flat: every tool. program: search_tools, describe_tool and run_program."),
    ] = "flat",
    profile: Annotated[
        str | None,
        typer.Option("--profile", metavar="NAME", help="Only the tools of this profile.", show_default=False),
    ] = None,
    pin: Annotated[
        list[str] | None,
        typer.Option(
            "--pin",
            metavar="NAME",
            help="With --mode program: list this tool, or each of this profile, beside the three. Repeatable.",
            show_default=False,
        ),
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP instead of standard input and output.")] = False,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="With --http: the address.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", help="With --http: the port; 0 takes a free one.", min=0, max=65535)
    ] = _PORT,
    token_env: Annotated[
        str, typer.Option("--token-env", metavar="NAME", help="With --http: the variable that holds the bearer token.")
    ] = _TOKEN,
    no_watch: Annotated[
        bool, typer.Option("--no-watch", help="Do not pick up tool files that change while it runs.")
    ] = False,
    no_token: Annotated[bool, typer.Option("--no-token", help="With --http on this machine alone: no token.")] = False,
) -> int:
    """Serve the tools to an MCP host: over standard input and output, or over HTTP. Runs until it is told to end."""
    if find_spec("mcp") is None:
        raise Refused("serving needs the mcp package: pip install 'sutler[mcp]'", code=UNAVAILABLE, kind="unavailable")
    options: dict[str, Any] = {**cli.options(profile=profile), "watch": not no_watch}
    config: Config = options["config"]
    _safe_workspace(Path(options["workspace"]))
    _known_profile(config, profile, "--profile")
    pinned = _pinned(config, mode, profile, pin or [])
    from ..server.face import Shape

    shape = Shape(mode=mode, pinned=pinned)
    if os.environ.get("SUTLER_DEBUG") != "1":
        logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    if http:
        transport, said = _http(cli, host, port, token_env, no_token)
    else:
        transport, said = _stdio(cli)

    def ready(runtime: Runtime, tools: int) -> None:
        _all_there(runtime, profile, pin or [], config)
        cli.out.say(f"sutler serves {count(tools, 'tool')} {said}")
        _tell_trouble(cli, runtime)
        if http and cli.out.as_json:
            cli.out.document({"tools": tools, "url": said.removeprefix("at "), "mode": mode})

    from ..server.serve import serve as run

    for sentence in run(options, shape, transport, ready):
        cli.out.note(sentence)
        cli.given.process.lingers = True
    return OK


def _stdio(cli: Cli) -> tuple[Stdio, str]:
    if cli.out.as_json:
        raise Refused("--json: standard output is the protocol's own; with --http there is a document")
    from ..server.serve import Stdio
    from ..server.stdio import private_input

    write = cli.out.fileno()
    return Stdio(read=private_input(), write=write), "over standard input and output"


def _http(cli: Cli, host: str, port: int, token_env: str, no_token: bool) -> tuple[Http, str]:
    from ..server.http import Door, bind, is_loopback, new_token, url_of
    from ..server.serve import Http
    from ..server.stdio import private_input

    given = os.environ.pop(token_env, None)  # no tool, and no child of one, is to find it
    if no_token and not is_loopback(host):
        raise Refused(f"--no-token: {host} can be reached from other machines, so a token is needed there")
    if given is not None and (not given.isascii() or not given.isprintable() or not given.strip() or " " in given):
        raise Refused(f"{token_env} holds no usable token: printable ASCII without blanks is wanted")
    if given is None and token_env != _TOKEN and not no_token:
        raise Refused(f"--token-env: there is no variable {token_env}")
    try:
        listening = bind(host, port)
    except OSError as error:
        raise Refused(f"--host {host} --port {port}: {error.strerror or error}", kind="os") from error
    private_input()  # a tool that reads must not wait for the terminal
    token = None if no_token else given or new_token()
    url = url_of(host, listening)
    if token is None:
        cli.out.say("no token is needed: every program on this machine may call the tools")
    elif given is None:
        cli.out.say(f"token: {token}\n(send it as `Authorization: Bearer ...`; to set your own: {token_env})")
    return Http(listening=listening, door=Door(host=host, token=token)), f"at {url}"


def _safe_workspace(root: Path) -> None:
    """Tools may write anywhere in the workspace: a host that starts us in / or at home must say where they may."""
    real, home = root.resolve(), Path.home().resolve()
    if real == home or home.is_relative_to(real):
        raise Refused(
            f"{real} is no workspace to serve: tools may write anywhere in it; name a folder: --workspace DIR"
        )


def _known_profile(config: Config, name: str | None, option: str) -> None:
    if name is None or name in config.profiles:
        return
    near = get_close_matches(name, config.profiles, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the profiles are {', '.join(config.profiles) or 'none'}"
    raise Refused(f"{option}: there is no profile {name!r}; {hint}")


def _pinned(config: Config, mode: Mode, profile: str | None, pin: Sequence[str]) -> tuple[str, ...]:
    """The tools that --pin names, each by itself or as one of a profile's, and those of the profile in force."""
    if pin and mode != "program":
        raise Refused("--pin: in flat mode every tool is listed; it goes with --mode program")
    in_force = config.profiles[profile].tools if profile is not None else None
    names = list(in_force or ())  # by the names that the profile gives
    for name in pin:
        known = config.profiles.get(name)
        names += [name] if known is None else (known.tools or {}).values()
    return tuple(dict.fromkeys(names))


def _all_there(runtime: Runtime, profile: str | None, pin: Sequence[str], config: Config) -> None:
    """Refuses a pin that is neither a profile nor a tool."""
    inventory = runtime.core.program_inventory()
    for name in pin:
        if name in config.profiles or name == profile:
            continue
        try:
            inventory.find(name)
        except ToolUnavailable:  # it is held, as is said beside
            continue
        except ToolNotFound as error:
            raise Refused(f"--pin: {error}") from error


def _tell_trouble(cli: Cli, runtime: Runtime) -> None:
    inventory = runtime.inventory()
    said: list[str] = [f"{where} is unavailable: {reason}" for where, reason in inventory.unavailable]
    said += [f"quarantined: {item}" for item in inventory.quarantined]
    for sentence in said:
        cli.out.note(sentence)
