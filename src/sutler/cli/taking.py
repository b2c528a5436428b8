"""What `sutler import --write` puts into a sutler.toml: the files of other hosts, or their servers (MCP-02)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import FILE_NAME, find_config, load_text, read_config
from ..config.edit import appended, with_host_configs
from ..errors import ConfigError
from ..mcp.hosts.toml import table
from .change import agreed, difference, write
from .context import Cli
from .exits import CONFIG, DENIED, OK, Refused

if TYPE_CHECKING:
    from ..mcp.host_configs import HostFile
    from ..policy.trust import TrustStore
    from ..servers import ServerSpec


def take_over(cli: Cli, files: Sequence[HostFile], trust: TrustStore, *, copy: bool, yes: bool) -> int:
    """Show the change, ask, write it. A config that was trusted stays so: the person has seen what is new."""
    path = cli.given.config or find_config(Path.cwd()) or Path.cwd() / FILE_NAME
    path = path.absolute()
    before = path.read_bytes() if path.exists() else None
    text = read_config(path) if before is not None else ""
    was_trusted = before is None or trust.trusted(path, text)
    load_text(text, path, trusted=False)  # a file that is wrong already is said to be that first
    variables: Mapping[str, str] = {}
    if copy:
        changed, variables = _with_tables(text, path, files)
    else:
        new = _new_paths(text, path, files)
        try:
            changed = with_host_configs(text, new) if new else text
        except ValueError as error:
            raise Refused(f"{path}: {error}", code=CONFIG, kind="config") from error
    if changed == text:
        cli.out.line(f"{path} has all of it already")
        return OK
    try:
        load_text(changed, path, trusted=False)
    except ConfigError as error:
        raise Refused(f"{path} would not be right any more: {error}; nothing was written", code=CONFIG) from error
    shown = difference(path, text, changed)
    if not cli.out.as_json:
        cli.out.say(shown)
    if not agreed(cli, f"Write this to {path}?", yes=yes):
        return DENIED
    mark = b"\xef\xbb\xbf" if before is not None and before.startswith(b"\xef\xbb\xbf") else b""
    backup = write(path, mark + changed.encode(), before=before)
    if was_trusted:
        trust.trust(path, changed)
    _tell_written(cli, path, files, backup, variables, copy=copy, was_trusted=was_trusted, shown=shown)
    return OK


def _new_paths(text: str, path: Path, files: Sequence[HostFile]) -> list[str]:
    """The files that are not listed yet, as they are best written in this config."""
    listed = set(load_text(text, path, env={}).host_configs) if text else set[Path]()
    new = [file.path for file in files if file.servers and file.path not in listed]
    return [_spelled(file, path.parent) for file in new]


def _spelled(file: Path, folder: Path) -> str:
    if file.is_relative_to(folder):
        return file.relative_to(folder).as_posix()
    home = Path.home()
    return f"~/{file.relative_to(home).as_posix()}" if file.is_relative_to(home) else str(file)


def _with_tables(text: str, path: Path, files: Sequence[HostFile]) -> tuple[str, dict[str, str]]:
    """The text with a table for each server, and the variables that stand for the secrets that are not copied."""
    taken = {server.id for server in load_text(text, path, env={}).mcp_servers} if text else set[str]()
    tables: list[str] = []
    variables: dict[str, str] = {}
    for file in files:
        for server in file.servers:
            name = server.id.rpartition("/")[2].replace("::", ":")
            if name not in taken and file.trusted and not server.unavailable and server.enabled:
                taken.add(name)
                tables.append(table(["mcp_servers", name], _keys(replace(server, id=name), variables)))
    return (appended(text, "\n".join(tables)), variables) if tables else (text, variables)


def _keys(server: ServerSpec, variables: dict[str, str]) -> dict[str, Any]:
    """A server as keys of [mcp_servers.<id>]. A secret becomes a variable: no token is copied into a project."""

    def text(value: str, name: str) -> str:
        plain = value.replace("${", "$${")
        for secret in secrets:
            escaped = secret.replace("${", "$${")
            if escaped in plain:
                names = (one for one in _variables(server.id, name) if variables.get(one, secret) == secret)
                variable = next(names)
                variables[variable] = secret
                plain = plain.replace(escaped, f"${{{variable}}}")
        return plain

    # Of `Bearer x` and `x` the latter is the token.
    tokens = [one for one in server.secrets if not any(one.endswith(f" {other}") for other in server.secrets)]
    secrets = sorted(tokens, key=len, reverse=True)

    keys: dict[str, Any] = {}
    if server.transport == "stdio":
        keys["command"] = text(server.command, "command")
        if server.args:
            keys["args"] = [text(arg, f"ARG_{number}") for number, arg in enumerate(server.args, 1)]
        if server.env:
            keys["env"] = {name: text(value, name) for name, value in server.env.items()}
        if server.env_vars:
            keys["env_vars"] = list(server.env_vars)
        keys["cwd"] = str(server.cwd)
    else:
        if server.transport == "sse":
            keys["transport"] = "sse"
        keys["url"] = text(server.url, "URL")
        if server.headers:
            keys["headers"] = {name: text(value, name) for name, value in server.headers.items()}
        if (oauth := server.oauth) is not None:
            given: dict[str, Any] = {
                "client_id": text(oauth.client_id, "client_id"),
                "client_secret": text(oauth.client_secret, "client_secret"),
                "scopes": list(oauth.scopes),
                "callback_port": oauth.callback_port,
            }
            keys["oauth"] = {key: value for key, value in given.items() if value}
    if server.timeout is not None:
        keys["timeout"] = server.timeout
    if server.allow is not None:
        keys["allow"] = list(server.allow)
    if server.deny:
        keys["deny"] = list(server.deny)
    return keys


def _variables(server: str, name: str) -> Iterator[str]:
    """Names of the variable that is to hold a secret, best first: an env value's own, else one after its server."""
    if name.isidentifier() and name.isascii() and name.isupper() and not name.startswith("ARG_"):
        yield name
    folded = "".join(char if char.isascii() and char.isalnum() else "_" for char in f"{server}_{name}".upper())
    if folded[:1].isdigit():
        folded = f"MCP_{folded}"
    yield folded
    for number in count(2):
        yield f"{folded}_{number}"


def _tell_written(
    cli: Cli,
    path: Path,
    files: Sequence[HostFile],
    backup: Path | None,
    variables: Mapping[str, str],
    *,
    copy: bool,
    was_trusted: bool,
    shown: str,
) -> None:
    if cli.out.as_json:
        kept = None if backup is None else str(backup)
        cli.out.document({"path": str(path), "backup": kept, "change": shown, "variables": list(variables)})
    say = cli.out.say if cli.out.as_json else cli.out.line
    say(f"wrote {path}")
    if backup is not None:
        cli.out.say(f"what it held before is in {backup}")
    for name in variables:
        cli.out.say(f"set the environment variable {name}: its value stands in the host's file and was not copied")
    if not was_trusted:
        cli.out.say(f"{path} is not trusted; say yes to it with `sutler trust`")
    for file in files:
        if not file.trusted:
            left = "nothing of it was copied" if copy else "nothing of it is started"
            cli.out.say(f"{file.path} is not trusted: {left} before `sutler trust {file.path}`")
