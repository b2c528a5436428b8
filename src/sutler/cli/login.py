"""`sutler login SERVER`: a person logs in at an MCP server, once, with a browser."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from ..closest import closest
from .context import Cli
from .exits import OK, UNAVAILABLE, Refused

if TYPE_CHECKING:
    from ..servers import ServerSpec


def login(
    cli: Cli,
    server: Annotated[str, typer.Argument(metavar="SERVER", help="A server by its id.", show_default=False)],
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only show the address to open.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Remove the login that is kept.")] = False,
) -> int:
    """Log in at an MCP server that wants OAuth. The tokens are kept in the state directory, readable by you only."""
    if find_spec("mcp") is None:
        raise Refused("a login needs the mcp package: pip install 'sutler[mcp]'", code=UNAVAILABLE, kind="unavailable")
    from ..mcp.logins import Logins

    spec = _server(cli, server)
    logins = Logins()
    if forget:
        said = "is forgotten" if logins.forget(spec.url) else "was not kept"
        return _ended(cli, spec, logged_in=False, said=f"the login at {spec.id} {said}")
    import asyncio

    from ..mcp.oauth import login as log_in

    def show(url: str) -> None:
        cli.out.say(f"open this address and say yes to it:\n{url}")
        if not no_browser:
            import threading
            import webbrowser

            # a text browser stays until it is closed, and is answered from here meanwhile
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    if asyncio.run(log_in(spec, logins, show)):
        return _ended(cli, spec, logged_in=True, said=f"logged in at {spec.id}; kept in {logins.path}")
    return _ended(cli, spec, logged_in=logins.of(spec.url) is not None, said=f"{spec.id} answers without a login")


def _server(cli: Cli, wanted: str) -> ServerSpec:
    from ..mcp.host_configs import Surroundings, read_host_files
    from ..policy.trust import TrustStore
    from ..state import state_dir

    config = cli.config()
    files = read_host_files(config.host_configs, Surroundings.here(config.folder, TrustStore(state_dir())))
    specs = {spec.id: spec for spec in (*config.mcp_servers, *(spec for file in files for spec in file.servers))}
    spec = specs.get(wanted)
    if spec is None:
        near = closest(wanted, specs)
        meant = f"did you mean {near}?" if near else "`sutler doctor` lists them"
        raise Refused(f"there is no server {wanted!r}; {meant}")
    if spec.transport == "stdio":
        raise Refused(f"{spec.id} runs on this machine, over stdio; what it needs stands in its env")
    if spec.unavailable:
        raise Refused(f"{spec.id}: {spec.unavailable}", code=UNAVAILABLE, kind="unavailable")
    return spec


def _ended(cli: Cli, spec: ServerSpec, *, logged_in: bool, said: str) -> int:
    if cli.out.as_json:
        cli.out.document({"server": spec.id, "logged_in": logged_in})
    else:
        cli.out.line(said)
    return OK
