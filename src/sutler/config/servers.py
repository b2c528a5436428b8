"""`[mcp_servers.<id>]`: every key and value checked, then a ServerSpec (MCP-01, MCP-11)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ..errors import ConfigError
from ..mcp import hidden
from ..policy.masking import is_secret_name
from ..servers import ERAS, HINTS, TRANSPORTS, OAuth, ServerSpec, ToolOverride
from ..sources.base import OWN_MCP
from .check import WRONG, Check, Checker, array, array_of, boolean, choice, kind_of, name, seconds, string, table
from .expand import UnsetError, expand, variables
from .locate import KeyPath, dotted
from .tools import grade

_STDIO_KEYS = ("command", "args", "env", "env_vars", "cwd")
_HTTP_KEYS = ("url", "headers", "oauth")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

# How other hosts spell it, and what to write here instead.
_ELSEWHERE = {
    "type": "write `transport`",
    "serverUrl": "write `url`",
    "httpUrl": "write `url`",
    "http_headers": "write `headers`",
    "env_http_headers": 'write headers = { Name = "${VARIABLE}" }',
    "bearer_token_env_var": 'write headers = { Authorization = "Bearer ${VARIABLE}" }',
    "envFile": "write `env`, or `env_vars` for variables that are set already",
    "enabled_tools": "write `allow`",
    "includeTools": "write `allow`",
    "disabled_tools": "write `deny`",
    "excludeTools": "write `deny`",
    "disabled": "write enabled = false",
    "startup_timeout_sec": "write `connect_timeout`, in seconds",
    "startup_timeout_ms": "write `connect_timeout`, in seconds",
    "tool_timeout_sec": "write `timeout`, in seconds",
    "trust": "what a server may do unasked is said in [policy] and by grades",
}


@dataclass(slots=True)
class _Texts:
    """What the variables of one server came to."""

    unset: list[str] = field(default_factory=list[str])
    secrets: set[str] = field(default_factory=set[str])


def mcp_servers(cx: Checker, path: KeyPath, value: Any) -> Any:
    if not isinstance(value, dict):
        return cx.wrong(
            path, f"must be a table, not {kind_of(value)}", "write [mcp_servers.<id>], once for each server"
        )
    checked = [_server(cx, (*path, key), key, item) for key, item in cast(dict[str, Any], value).items()]
    return [server for server in checked if server is not WRONG]


def servers_in_code(
    given: Mapping[str, Any], *, folder: Path, env: Mapping[str, str]
) -> tuple[tuple[ServerSpec, ...], frozenset[str]]:
    """Servers given by id as a keyword, and the secrets among what they hold: checked as the tables of a file are.

    Also takes tuples for arrays and Path for text. ConfigError names the server and the key.
    """
    cx = Checker("", {}, folder, env)
    checked = mcp_servers(cx, ("mcp_servers",), _as_toml(given))
    if cx.problems:
        raise ConfigError(cx.problems)
    return tuple(checked), frozenset(cx.secrets)


def _as_toml(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _as_toml(item) for key, item in cast("Mapping[Any, Any]", value).items() if item is not None}
    if isinstance(value, list | tuple):
        return [_as_toml(item) for item in cast("list[Any]", value)]
    return str(value) if isinstance(value, Path) else value


def _server(cx: Checker, path: KeyPath, key: str, value: Any) -> Any:
    if not isinstance(value, dict):
        hint = "write [mcp_servers.<id>]" if key in (*_STDIO_KEYS, *_HTTP_KEYS) else ""
        return cx.wrong(path, f"must be the table of a server, not {kind_of(value)}", hint)
    raw = cast(dict[str, Any], value)
    if name(cx, path, key) is WRONG or _bad_id(cx, path, key):
        return WRONG
    before, texts = len(cx.problems), _Texts()
    for foreign in [one for one in raw if one in _ELSEWHERE]:
        cx.wrong((*path, foreign), "unknown key in [mcp_servers.<id>]", _ELSEWHERE[foreign])
    keys = _keys(texts)
    found = table(cx, path, {one: raw[one] for one in raw if one not in _ELSEWHERE}, keys, of="[mcp_servers.<id>]")
    transport = _transport(cx, path, raw)
    if len(cx.problems) > before:
        return WRONG
    found["transport"] = transport
    cwd: Path = found.setdefault("cwd", cx.folder)
    if command := found.get("command"):
        found["command"] = absolute_command(command, cwd)
    for listed in ("args", "env_vars", "deny"):
        found[listed] = tuple(found.get(listed, ()))
    if "allow" in found:
        found["allow"] = tuple(found["allow"])
    secrets = texts.secrets | hidden.of_env(found.get("env", {})) | hidden.of_headers(found.get("headers", {}))
    secrets |= hidden.of_args(found["args"]) | hidden.of_url(found.get("url", ""))
    if (oauth := found.get("oauth")) is not None and oauth.client_secret:
        secrets.add(oauth.client_secret)
    cx.secrets |= secrets
    return ServerSpec(
        id=key,
        **found,
        precedence=OWN_MCP,
        where=cx.where(path),
        unavailable="; ".join(texts.unset),
        secrets=frozenset(secrets),
        notes=tuple(
            f"env_vars names {one}, which is not set, so the server does not get it"
            for one in found["env_vars"]
            if cx.env is not None and one not in cx.env
        ),
    )


def absolute_command(command: str, cwd: Path) -> str:
    """A command with a folder in it, as an absolute path; a bare name is looked up in PATH when it is started."""
    if command.startswith("~"):
        return str(Path(command).expanduser())
    return str(cwd / command) if "/" in command and not Path(command).is_absolute() else command


def _bad_id(cx: Checker, path: KeyPath, key: str) -> bool:
    if "::" in key or "/" in key:
        cx.wrong(path, f"a server's id holds neither `::` nor `/`, which part it from its tools: {key!r}")
        return True
    return False


def _transport(cx: Checker, path: KeyPath, raw: Mapping[str, Any]) -> str:
    """stdio, http or sse: as written, else as command or url says. Reports keys that do not go together."""
    stdio, remote = "command" in raw, "url" in raw
    if stdio and remote:
        cx.wrong((*path, "url"), "command and url exclude each other", "keep one of them")
    elif not stdio and not remote:
        hint = "command for a server that is started here, url for one that is reached over HTTP"
        cx.wrong(path, "neither `command` nor `url` is given", hint)
    else:
        for key in _HTTP_KEYS if stdio else _STDIO_KEYS:
            if key in raw:
                cx.wrong((*path, key), f"goes with {'url' if stdio else 'command'} only")
    written: object = raw.get("transport")
    implied = "stdio" if stdio else "http"
    if not isinstance(written, str) or written not in TRANSPORTS:
        return implied  # reported where the keys were checked
    if stdio != remote and (written == "stdio") != stdio:
        cx.wrong((*path, "transport"), f"is {written!r}, and `{'command' if stdio else 'url'}` says {implied!r}")
    return written


def _keys(texts: _Texts) -> Mapping[str, Check]:
    """The keys of a server. A variable that is unset makes the server unavailable, not the file wrong."""

    def text(cx: Checker, path: KeyPath, value: Any) -> Any:
        if string(cx, path, value) is WRONG or cx.env is None:
            return value if isinstance(value, str) else WRONG
        if "\0" in value:
            return cx.wrong(path, "must not hold the character NUL")
        used = variables(value)
        texts.secrets.update(cx.env[one] for one in used if is_secret_name(one) and len(cx.env.get(one, "")) >= 4)
        try:
            return expand(value, cx.env)
        except UnsetError as error:
            texts.unset.append(f"{cx.where(path)}: {dotted(path)}: {error}")
            return ""
        except ValueError as error:
            return cx.wrong(path, str(error))

    def filled(cx: Checker, path: KeyPath, value: Any) -> Any:
        given = text(cx, path, value)
        return cx.wrong(path, "must not be empty") if isinstance(value, str) and not value.strip() else given

    def cwd(cx: Checker, path: KeyPath, value: Any) -> Any:
        given = filled(cx, path, value)
        if given is WRONG:
            return WRONG
        try:
            return Path(cx.folder, Path(given).expanduser())
        except RuntimeError:
            return cx.wrong(path, f"there is no such user: {given!r}")

    def url(cx: Checker, path: KeyPath, value: Any) -> Any:
        given = filled(cx, path, value)
        if given is WRONG or not given or cx.env is None:
            return given
        problem = url_problem(given)
        return cx.wrong(path, problem) if problem else given

    def texts_by(pattern: re.Pattern[str], what: str) -> Check:
        def check(cx: Checker, path: KeyPath, value: Any) -> Any:
            if not isinstance(value, dict):
                return cx.wrong(path, f"must be a table, not {kind_of(value)}")
            checked: dict[str, str] = {}
            for key, item in cast(dict[str, Any], value).items():
                if not pattern.fullmatch(key):
                    cx.wrong((*path, key), f"is not the name of {what}")
                elif (given := text(cx, (*path, key), item)) is not WRONG:
                    checked[key] = given
            return checked

        return check

    def headers(cx: Checker, path: KeyPath, value: Any) -> Any:
        checked = texts_by(_HEADER, "a header")(cx, path, value)
        for key, given in dict[str, str]({} if checked is WRONG else checked).items():
            if "\n" in given or "\r" in given:  # a variable filled from a file often ends in one
                texts.unset.append(f"{cx.where((*path, key))}: {dotted((*path, key))}: its value holds a line break")
        return checked

    def oauth(cx: Checker, path: KeyPath, value: Any) -> Any:
        keys: dict[str, Check] = {
            "client_id": filled,
            "client_secret": filled,
            "scopes": array_of(name),
            "callback_port": _port,
        }
        found = table(cx, path, value, keys, of="a server's oauth")
        found["scopes"] = tuple(found.get("scopes", ()))
        return OAuth(**found)

    return {
        "transport": choice(*TRANSPORTS),
        "command": filled,
        "args": array_of(text),
        "env": texts_by(_VARIABLE, "an environment variable"),
        "env_vars": _env_vars,
        "cwd": cwd,
        "url": url,
        "headers": headers,
        "oauth": oauth,
        "connect_timeout": seconds,
        "timeout": seconds,
        "enabled": boolean,
        "required": boolean,
        "allow": array_of(name),
        "deny": array_of(name),
        "assume": lambda cx, path, value: table(cx, path, value, dict.fromkeys(HINTS, boolean), of="assume"),
        "tools": _overrides,
        "era": choice(*ERAS),
        "concurrency": _concurrency,
    }


def url_problem(url: str) -> str:
    """Why an address cannot be that of a server, or ""."""
    from urllib.parse import urlsplit  # only a config with such a server pays for it

    try:
        parts = urlsplit(url)
        port_is_right = parts.port is None or parts.port > 0
    except ValueError as error:
        return f"is no address: {error}"
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_right:
        return "must be an address that begins with http:// or https://"
    return ""


def _env_vars(cx: Checker, path: KeyPath, value: Any) -> Any:
    def check(cx: Checker, path: KeyPath, value: Any) -> Any:
        if name(cx, path, value) is WRONG:
            return WRONG
        wrong = "must be the name of an environment variable, not its value"
        return value if _VARIABLE.fullmatch(value) else cx.wrong(path, wrong)

    return array(cx, path, value, check)


def _port(cx: Checker, path: KeyPath, value: Any) -> Any:
    if type(value) is int and 1 <= value <= 65535:
        return value
    return cx.wrong(path, f"must be a port from 1 to 65535, not {value if type(value) is int else kind_of(value)}")


def _concurrency(cx: Checker, path: KeyPath, value: Any) -> Any:
    if type(value) is int and 1 <= value <= 1000:
        return value
    return cx.wrong(
        path, f"must be a number of calls from 1 to 1000, not {value if type(value) is int else kind_of(value)}"
    )


_OVERRIDE: Mapping[str, Check] = {
    "grade": grade,
    "description": string,
    "timeout": seconds,
    "enabled": boolean,
    "alias": name,
}


def _overrides(cx: Checker, path: KeyPath, value: Any) -> Any:
    if not isinstance(value, dict):
        return cx.wrong(path, f"must be a table, not {kind_of(value)}", "write [mcp_servers.<id>.tools.<name>]")
    checked: dict[str, ToolOverride] = {}
    aliases: dict[str, str] = {}
    for tool, item in cast(dict[str, Any], value).items():
        if not isinstance(item, dict):
            cx.wrong((*path, tool), f"must be the table of a tool, not {kind_of(item)}")
            continue
        override = ToolOverride(**table(cx, (*path, tool), item, _OVERRIDE, of="a server's tool"))
        if override.alias is not None:
            other = aliases.setdefault(override.alias, tool)
            if other != tool:
                cx.wrong((*path, tool, "alias"), f"{override.alias!r} is the alias of {other!r} already")
        checked[tool] = override
    return checked
