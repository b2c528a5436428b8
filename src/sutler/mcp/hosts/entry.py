"""One server of a host's file as a ServerSpec, or the reason why it cannot be started (MCP-02)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ...servers import CONNECT_TIMEOUT, OAuth, ServerSpec, Transport
from .. import hidden
from .dialects import Dialect
from .text import SMALL, decode, read
from .variables import Scope, Unset

_TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "custom": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
}
_READ = frozenset(
    """type transport source command args env envFile env_vars cwd url serverUrl httpUrl headers http_headers
    env_http_headers bearer_token_env_var timeout startup_timeout_sec startup_timeout_ms tool_timeout_sec enabled
    disabled required includeTools excludeTools enabled_tools disabled_tools disabledTools description name
    oauth auth""".split()
)
# What a host decides with these, Sutler decides by its own policy; nothing is lost.
_HOSTS_OWN = frozenset("trust alwaysAllow autoApprove default_tools_approval_mode gallery version icon".split())
_ENV_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)")
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What an entry is read with. id, where, provenance, precedence: as the spec will have them.

    base: where relative paths start, and the cwd of a server that names none.
    """

    id: str
    where: str
    provenance: str
    precedence: float
    base: Path
    dialect: Dialect
    enabled: bool = True


class _Reader:
    """Reads one entry. A problem never ends it: the server is listed with all of them."""

    def __init__(self, raw: Mapping[str, Any], given: Given, scope: Scope) -> None:
        self.raw = raw
        self.given = given
        self.scope = scope
        self.problems: list[str] = []
        self.notes: list[str] = []

    def text(self, key: str, value: object, *, what: str = "") -> str:
        """A string with its variables put in; "" with a problem where that cannot be done."""
        if isinstance(value, bool):
            value = str(value).lower()
        elif isinstance(value, int | float):
            value = str(value)
        if not isinstance(value, str):
            self.problems.append(f"{what or key} is no text")
            return ""
        try:
            text = self.given.dialect.expand(value, self.scope)
        except Unset as error:
            self.problems.append(f"{what or key}: {error}")
            return ""
        if "\0" in text:
            self.problems.append(f"{what or key} holds the character NUL")
            return ""
        return text

    def optional(self, *keys: str) -> str:
        for key in keys:
            if self.raw.get(key) not in (None, ""):
                return self.text(key, self.raw[key])
        return ""

    def texts(self, key: str, value: object = None) -> tuple[str, ...]:
        value = self.raw.get(key) if value is None else value
        if value is None:
            return ()
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list):
            self.problems.append(f"{key} is no list")
            return ()
        items = cast("list[Any]", value)
        return tuple(self.text(key, item, what=f"{key}[{index}]") for index, item in enumerate(items))

    def pairs(self, key: str, value: object = None) -> dict[str, str]:
        value = self.raw.get(key) if value is None else value
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.problems.append(f"{key} is no object")
            return {}
        found: dict[str, str] = {}
        for name, item in cast("dict[str, Any]", value).items():
            if item is None:
                self.notes.append(f"{key}.{name} is null and is left out")
            else:
                found[name] = self.text(key, item, what=f"{key}.{name}")
        return found

    def names(self, *keys: str) -> tuple[str, ...] | None:
        found: list[str] = []
        given = False
        for key in keys:
            value: object = self.raw.get(key)
            if isinstance(value, list):
                given = True
                found += [item for item in cast("list[Any]", value) if isinstance(item, str)]
            elif value is not None:
                self.problems.append(f"{key} is no list")
        return tuple(dict.fromkeys(found)) if given else None

    def number(self, key: str) -> float | None:
        value: object = self.raw.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
            self.notes.append(f"{key} is no time and is not used")
            return None
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        value: object = self.raw.get(key)
        return value if isinstance(value, bool) else default


def read_entry(raw: object, given: Given, scope: Scope) -> ServerSpec:
    """The spec of one entry. Whatever is wrong with it stands in `unavailable`, by field."""
    if not isinstance(raw, dict):
        return ServerSpec(
            id=given.id,
            cwd=given.base,
            enabled=given.enabled,
            provenance=given.provenance,
            precedence=given.precedence,
            where=given.where,
            unavailable=f"{given.where}: the entry is no object",
        )
    reader = _Reader(cast("dict[str, Any]", raw), given, scope)
    scope.secrets = set()
    command, args, env = _command(reader)
    url = reader.optional("httpUrl", "serverUrl", "url")
    transport = _transport(reader, command, url)
    headers: dict[str, str] = {}
    oauth: OAuth | None = None
    env_vars: tuple[str, ...] = ()
    cwd = given.base
    if transport == "stdio":
        env, env_vars = _environment(reader, env)
        cwd = _cwd(reader)
        command = _absolute(reader, command, cwd)
        url = ""
    else:
        headers = _headers(reader)
        oauth = _oauth(reader)
        _check_url(reader, url)
        command, args, env = "", (), {}
    connect, timeout = _times(reader)
    _unused(reader)
    secrets = (
        scope.secrets | hidden.of_env(env) | hidden.of_headers(headers) | hidden.of_args(args) | hidden.of_url(url)
    )
    if oauth is not None and oauth.client_secret:
        secrets.add(oauth.client_secret)
    itself = transport == "stdio" and is_sutler(command, args)
    if itself:
        reader.notes.append("it is Sutler itself, which is not started by Sutler")
    return ServerSpec(
        id=given.id,
        transport=transport,
        command=command,
        args=args,
        env=env,
        env_vars=env_vars,
        cwd=cwd,
        url=url,
        headers=headers,
        oauth=oauth,
        connect_timeout=connect,
        timeout=timeout,
        enabled=given.enabled and reader.flag("enabled", True) and not reader.flag("disabled", False) and not itself,
        required=reader.flag("required", False),
        allow=reader.names("includeTools", "enabled_tools"),
        deny=reader.names("excludeTools", "disabled_tools", "disabledTools") or (),
        provenance=given.provenance,
        precedence=given.precedence,
        where=given.where,
        unavailable="; ".join(f"{given.where}: {problem}" for problem in reader.problems),
        secrets=frozenset(secrets),
        notes=tuple(reader.notes),
    )


def is_sutler(command: str, args: Sequence[str]) -> bool:
    """Whether a server is `sutler serve`: started from here it would start itself without end."""
    name = re.split(r"[\\/]", command)[-1].removesuffix(".exe")
    words = [re.split(r"[\\/]", arg)[-1] for arg in args]
    runs = name == "sutler" or "sutler" in words or "sutler.cli" in words or "sutler.cli.main" in words
    return runs and "serve" in words


def env_file(path: Path) -> dict[str, str]:
    """The variables of a `.env` file. OSError and ValueError (not UTF-8, no plain file) as they come."""
    found: dict[str, str] = {}
    for line in decode(read(path, SMALL))[0].splitlines():
        match = _ENV_LINE.fullmatch(line)
        if match is None:
            continue
        value = match.group(2).strip()
        if value[:1] in ("'", '"') and (end := value.find(value[0], 1)) > 0:
            quote, value = value[0], value[1:end]
            if quote == '"':
                value = value.replace("\\n", "\n")
        else:
            value = value.partition(" #")[0].strip()
        found[match.group(1)] = value
    return found


def _command(reader: _Reader) -> tuple[str, tuple[str, ...], dict[str, str]]:
    """command, args and env; older files of Zed have them inside `command`."""
    raw: object = reader.raw.get("command")
    if isinstance(raw, dict):
        inner = cast("dict[str, Any]", raw)
        path = reader.text("command.path", inner.get("path")) if "path" in inner else ""
        return (
            path,
            reader.texts("command.args", inner.get("args") or []),
            reader.pairs("command.env", inner.get("env") or {}),
        )
    if isinstance(raw, list):
        words = reader.texts("command", cast("object", raw))
        return (words[0] if words else ""), (*words[1:], *reader.texts("args")), reader.pairs("env")
    return reader.optional("command"), reader.texts("args"), reader.pairs("env")


def _transport(reader: _Reader, command: str, url: str) -> Transport:
    raw, dialect = reader.raw, reader.given.dialect
    word = raw.get("type") or raw.get("transport")
    written = _TRANSPORTS.get(word.lower()) if isinstance(word, str) else None
    if word is not None and written is None:
        reader.problems.append(f"its transport {word!r} is none that Sutler speaks (stdio, http, sse)")
    has_url = any(raw.get(key) for key in ("httpUrl", "serverUrl", "url"))
    if not raw.get("command") and not has_url:
        reader.problems.append("it has neither a command nor an address")
        return written or "stdio"
    if written == "stdio" or (raw.get("command") and written is None):
        if has_url and raw.get("command"):
            reader.notes.append("it has a command and an address; the command is used")
        if not raw.get("command"):
            reader.problems.append("its type is stdio and it has no command")
        return "stdio"
    if not has_url:
        reader.problems.append(f"its type is {word} and it has no address")
    if written is not None:
        return written
    if not raw.get("httpUrl") and (dialect.url_transport == "sse" or url.rstrip("/").endswith("/sse")):
        if dialect.url_transport != "sse":
            reader.notes.append("its address ends in /sse, so it is taken for an SSE server")
        return "sse"
    return "http"


def _environment(reader: _Reader, env: dict[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """env over the variables of envFile, and the names of variables to pass on (Codex)."""
    if named := reader.optional("envFile"):
        path = Path(reader.given.base, Path(named).expanduser())
        try:
            env = {**env_file(path), **env}
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            reader.problems.append(f"envFile {path} cannot be read: {reason}")
    names: list[str] = []
    forwarded: object = reader.raw.get("env_vars")
    for item in cast("list[Any]", forwarded) if isinstance(forwarded, list) else []:
        if isinstance(item, str):
            names.append(item)
        elif isinstance(item, dict) and isinstance(name := cast("dict[str, Any]", item).get("name"), str):
            names.append(name)
    for name in [name for name in env if not name or "=" in name or "\0" in name]:
        del env[name]
        reader.problems.append(f"env: {name!r} cannot be the name of a variable")
    unset = [name for name in names if name not in reader.scope.env]
    if unset:
        reader.notes.append(f"env_vars names {', '.join(unset)}, not set here, so the server does not get it")
    return env, tuple(names)


def _cwd(reader: _Reader) -> Path:
    named = reader.optional("cwd")
    return Path(reader.given.base, Path(named).expanduser()) if named else reader.given.base


def _absolute(reader: _Reader, command: str, cwd: Path) -> str:
    if os.name != "nt" and _WINDOWS.match(command):
        reader.problems.append("its command is a path of Windows")
        return command
    if command.startswith("~"):
        return str(Path(command).expanduser())
    return str(cwd / command) if "/" in command and not Path(command).is_absolute() else command


def _headers(reader: _Reader) -> dict[str, str]:
    found = {**reader.pairs("headers"), **reader.pairs("http_headers")}
    for name, variable in reader.pairs("env_http_headers").items():
        _from_env(reader, found, name, variable, "env_http_headers")
    if isinstance(token := reader.raw.get("bearer_token_env_var"), str):
        _from_env(reader, found, "Authorization", token, "bearer_token_env_var", "Bearer ")
    for name, value in list(found.items()):
        if not value and not any(name in problem for problem in reader.problems):
            del found[name]
            reader.notes.append(f"the header {name} is empty and is not sent")
        elif "\n" in value or "\r" in value:
            reader.problems.append(f"the header {name} holds a line break")
        elif "${" in value:
            reader.problems.append(
                f"the header {name} holds a variable that {reader.given.dialect.title} does not put in"
            )
    return found


def _from_env(reader: _Reader, found: dict[str, str], name: str, variable: str, key: str, before: str = "") -> None:
    try:
        value = reader.scope.variable(variable)
    except Unset as error:
        reader.problems.append(f"{key}: {error}")
        return
    reader.scope.secrets.add(value)
    found[name] = before + value


def _oauth(reader: _Reader) -> OAuth | None:
    """What a login needs: `oauth` of Claude Code and Gemini CLI, `auth` of Cursor."""
    raw: object = reader.raw.get("oauth") or reader.raw.get("auth")
    if not isinstance(raw, dict):
        if isinstance(raw, str):  # the kind of login alone
            reader.notes.append(f"its auth {raw!r} is not used: `sutler login` takes you through a login")
        return None
    given = cast("dict[str, Any]", raw)
    found: dict[str, str] = {}
    for key in ("clientId", "clientSecret", "CLIENT_ID", "CLIENT_SECRET"):
        if given.get(key):
            found[key.replace("_", "").lower()] = reader.text(key, given[key], what=f"oauth.{key}")
    scopes: Any = given.get("scopes") or given.get("scope") or ()
    names = scopes.split() if isinstance(scopes, str) else cast("list[Any]", scopes) if isinstance(scopes, list) else []
    port: object = given.get("callbackPort")
    rest = set(given) - {"clientId", "clientSecret", "CLIENT_ID", "CLIENT_SECRET", "scopes", "scope", "callbackPort"}
    if rest := sorted(rest - {"enabled"}):
        reader.notes.append(f"not used of its oauth: {', '.join(rest)}")
    return OAuth(
        client_id=found.get("clientid", ""),
        client_secret=found.get("clientsecret", ""),
        scopes=tuple(one for one in names if isinstance(one, str)),
        callback_port=port if isinstance(port, int) and 0 < port < 65536 else 0,
    )


def _check_url(reader: _Reader, url: str) -> None:
    if url and not url.startswith(("http://", "https://")):
        scheme = url.partition(":")[0] if ":" in url else "no scheme"
        reader.problems.append(f"its address ({scheme}) is not one of http:// or https://")


def _times(reader: _Reader) -> tuple[float, float | None]:
    """connect_timeout and timeout, in seconds."""
    connect = reader.number("startup_timeout_sec")
    if connect is None and (milliseconds := reader.number("startup_timeout_ms")) is not None:
        connect = milliseconds / 1000
    timeout = reader.number("tool_timeout_sec")
    if timeout is None and (given := reader.number("timeout")) is not None:
        unit = reader.given.dialect.unit
        guessed = unit == "guess"
        timeout = given / 1000 if unit == "ms" or (guessed and given >= 1000) else given
        if guessed:
            reader.notes.append(f"its timeout {given:g} is read as {timeout:g} seconds")
    return connect or CONNECT_TIMEOUT, timeout


def _unused(reader: _Reader) -> None:
    rest = [key for key in reader.raw if key not in _READ and key not in _HOSTS_OWN]
    if rest:
        reader.notes.append(f"not used of its entry: {', '.join(rest)}")
