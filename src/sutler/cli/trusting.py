"""`sutler trust`: saying yes to a sutler.toml, word for word (TRU-01), or to a tool that has changed (POL-06)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..config import FILE_NAME, find_config, load_text, read_config
from ..errors import ConfigError, Problem
from ..policy.trust import TrustStore
from ..state import state_dir
from .change import said_yes
from .context import Cli, at_terminal, here
from .exits import DENIED, OK, Refused


def trust(
    cli: Cli,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH|TOOL|SERVER",
            help="A sutler.toml or its folder, or a project's config of another host; or a tool whose definition has"
            " changed, or a server with all of its tools. [default: the nearest sutler.toml upward]",
            show_default=False,
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Only show what is new since it was last trusted.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Trust it without asking.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Trust it no longer.")] = False,
) -> int:
    """Trust a sutler.toml as it stands now. Until then nothing it names is run, and its policy may only tighten.

    So with a project's .mcp.json and its like: none of its servers is started before. A tool that is held because its
    definition has changed since it was first used, or all those of a server, are accepted as they are now.
    """
    if remove and (show or yes):
        raise Refused("--remove goes with neither --show nor --yes")
    if what is not None and _is_name(what):
        if remove:
            raise Refused("--remove goes with a file: a tool that changes again is held again")
        from .trusting_tools import trust_tools

        return trust_tools(cli, what, show=show, yes=yes)
    path = Path(what) if what is not None else None
    store = TrustStore(state_dir())
    file = _file(path)
    if remove:
        removed = store.untrust(file)
        if removed:
            _record(cli, file, "trusted no longer")
        return _ended(cli, file, trusted=False, said="is trusted no longer" if removed else "was not trusted")
    text = _usable(file)  # a file that cannot be used is not worth a yes; its problems are the error
    if store.trusted(file, text):
        return _ended(cli, file, trusted=True, said="is trusted as it stands")
    difference = store.difference(file, text)
    if _is_host_file(file):
        from ..mcp.hidden import masked
        from ..mcp.host_configs import host_secrets

        difference = masked(difference, host_secrets(file))
    if show:
        if cli.out.as_json:
            return _ended(cli, file, trusted=False, said="", difference=difference)
        cli.out.line(difference)
        cli.out.say(f"{file} is not trusted as it stands; `sutler trust` says yes to it")
        return OK
    if not yes and not _agrees(cli, file, difference):
        return _ended(cli, file, trusted=False, said="is not trusted", difference=difference, code=DENIED)
    store.trust(file, text)
    _record(cli, file, "trusted")
    return _ended(cli, file, trusted=True, said="is trusted now", difference=difference)


def _record(cli: Cli, file: Path, what: str) -> None:
    """A line of the project's audit log."""
    from ..store import SqliteStore

    held = SqliteStore(cli.store_path())
    try:
        held.event("change.trust", {"file": str(file), "what": what})
    finally:
        held.close()


def _is_name(what: str) -> bool:
    """Whether a tool or server is meant: what is there as a file, or looks like one, is one."""
    path = Path(what)
    if "::" in what:
        return True
    return not (path.is_file() or (path / FILE_NAME).is_file() or "/" in what or what in (".", "..") or path.suffix)


def _file(path: Path | None) -> Path:
    if path is None:
        found = find_config(here())
        if found is None:
            raise Refused(f"there is no {FILE_NAME} in this folder or above it; `sutler init` makes one")
        return found
    return (path / FILE_NAME if path.is_dir() else path).absolute()


def _is_host_file(path: Path) -> bool:
    """Whether a file is another host's, by its name: JSON, or what Codex reads."""
    return path.suffix in (".json", ".jsonc") or path.parent.name == ".codex"


def _usable(file: Path) -> str:
    """The text of a file that is right. ConfigError says what is wrong with it."""
    if not _is_host_file(file):
        text = read_config(file)
        load_text(text, file, trusted=False)
        return text
    from ..mcp.host_configs import Surroundings, read_host_file, read_host_text

    held = read_host_file(file, Surroundings.here())
    if held.problem:
        raise ConfigError([Problem(message=held.problem.removeprefix(f"{file}: "), file=str(file))])
    return read_host_text(file)


def _agrees(cli: Cli, file: Path, difference: str) -> bool:
    if not at_terminal():
        raise Refused(
            f"{file} is not trusted as it stands, and there is nobody to ask; look with --show, then say --yes",
            code=DENIED,
            kind="denied",
        )
    cli.out.say(difference)
    return said_yes(cli, f"Trust {file} as it stands, so that what it names may run?")


def _ended(cli: Cli, file: Path, *, trusted: bool, said: str, difference: str = "", code: int = OK) -> int:
    if cli.out.as_json:
        cli.out.document({"path": str(file), "trusted": trusted, "difference": difference})
    if said:
        shown = file.relative_to(here()) if file.is_relative_to(here()) else file
        (cli.out.say if cli.out.as_json else cli.out.line)(f"{shown} {said}")
    return code
