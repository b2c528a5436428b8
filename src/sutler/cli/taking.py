"""What `sutler import --write` puts into a sutler.toml: the files of other hosts, or their servers (MCP-02)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..config import FILE_NAME, find_config, load_text, read_config
from ..config.edit import appended, with_host_configs
from ..errors import ConfigError
from .change import agreed, difference, write
from .context import Cli
from .exits import CONFIG, DENIED, OK, Refused
from .taking_tables import Tables

if TYPE_CHECKING:
    from ..mcp.host_configs import HostFile
    from ..policy.trust import TrustStore
    from .importing import Found


_INLINE = ". A table that stands as a value, such as `tools = [{...}]`, cannot be added to; write it as [[tools]] first"


def take_over(cli: Cli, found: Found, trust: TrustStore, *, copy: bool, yes: bool) -> int:
    """Show the change, ask, write it. A config that was trusted stays so: the person has seen what is new.

    But not when it takes tables of a file that nobody named, and nobody was asked: they may be somebody else's.
    """
    path = cli.given.config or find_config(Path.cwd()) or (found.folder or Path.cwd()) / FILE_NAME
    path = path.absolute()
    before = path.read_bytes() if path.exists() else None
    text = read_config(path) if before is not None else ""
    was_trusted = before is None or trust.trusted(path, text)
    load_text(text, path, trusted=False)  # a file that is wrong already is said to be that first
    tables = Tables.of(text, path)
    changed = text if copy else _with_paths(text, path, found.files)
    tables.add_servers([*found.tables, *(found.files if copy else ())])
    tables.add_tools(found.tools)
    if tables.texts:
        newline = "\r\n" if "\r\n" in text else "\n"
        changed = appended(changed, "\n".join(tables.texts).replace("\n", newline), newline)
    left = [*found.left, *tables.left]
    for sentence in left:
        cli.out.say(f"not taken: {sentence}")
    if changed == text:
        cli.out.line(f"there is nothing to add to {path}" if left else f"{path} has all of it already")
        return OK
    try:
        load_text(changed, path, trusted=False)
    except ConfigError as error:
        # Both halves are TOML, so what clashes is a table that is written as a value.
        hint = "" if "not valid TOML" not in str(error) else _INLINE
        raise Refused(
            f"{path} would not be right any more: {error}; nothing was written{hint}", code=CONFIG, kind="config"
        ) from error
    shown = difference(path, text, changed)
    if not cli.out.as_json:
        cli.out.say(shown)
    if not agreed(cli, f"Write this to {path}?", yes=yes):
        return DENIED
    mark = b"\xef\xbb\xbf" if before is not None and before.startswith(b"\xef\xbb\xbf") else b""
    backup = write(path, mark + changed.encode(), before=before)
    trusted = was_trusted and not (yes and found.folder is not None)
    if trusted:
        trust.trust(path, changed)
    if cli.out.as_json:
        kept = None if backup is None else str(backup)
        document = {"path": str(path), "backup": kept, "change": shown, "variables": list(tables.variables)}
        cli.out.document({**document, "left": left, "trusted": trusted})
    _tell_written(cli, path, found.files, backup, tables.variables, copy=copy, trusted=trusted)
    return OK


def _with_paths(text: str, path: Path, files: Sequence[HostFile]) -> str:
    """The text with the files that are not listed yet, as they are best written in this config."""
    mcp: Mapping[str, list[str]] = tomllib.loads(text).get("mcp", {})
    listed = {path.parent / Path(one).expanduser() for one in mcp.get("host_configs", ())}
    new = [file.path for file in files if file.servers and file.path not in listed]
    try:
        return with_host_configs(text, [_spelled(file, path.parent) for file in new]) if new else text
    except ValueError as error:
        raise Refused(f"{path}: {error}", code=CONFIG, kind="config") from error


def _spelled(file: Path, folder: Path) -> str:
    if file.is_relative_to(folder):
        return file.relative_to(folder).as_posix()
    home = Path.home()
    return f"~/{file.relative_to(home).as_posix()}" if file.is_relative_to(home) else str(file)


def _tell_written(
    cli: Cli,
    path: Path,
    files: Sequence[HostFile],
    backup: Path | None,
    variables: Mapping[str, str],
    *,
    copy: bool,
    trusted: bool,
) -> None:
    say = cli.out.say if cli.out.as_json else cli.out.line
    say(f"wrote {path}")
    if backup is not None:
        cli.out.say(f"what it held before is in {backup}")
    for name in variables:
        cli.out.say(f"set the environment variable {name}: its value stands in the host's file and was not copied")
    if not trusted:
        cli.out.say(f"{path} is not trusted; say yes to it with `sutler trust`")
    for file in files:
        if not file.trusted:
            left = "nothing of it was copied" if copy else "nothing of it is started"
            cli.out.say(f"{file.path} is not trusted: {left} before `sutler trust {file.path}`")
