"""The tables that `sutler import --write` adds to a sutler.toml: servers and tools, no secret in them (MCP-02)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..mcp.hosts.toml import element, table

if TYPE_CHECKING:
    from ..config.lackpy import DeclaredTool
    from ..mcp.host_configs import HostFile
    from ..servers import ServerSpec, ToolOverride


@dataclass(slots=True)
class Tables:
    """New tables for a sutler.toml. variables: what stands for each secret. left: what is not added, and why."""

    held: Mapping[str, Any]
    folder: Path
    texts: list[str] = field(default_factory=list[str])
    variables: dict[str, str] = field(default_factory=dict[str, str])
    left: list[str] = field(default_factory=list[str])

    @classmethod
    def of(cls, text: str, path: Path) -> Tables:
        return cls(tomllib.loads(text), path.parent)

    def add_servers(self, files: Sequence[HostFile]) -> None:
        taken = dict.fromkeys(cast("Mapping[str, Any]", self.held.get("mcp_servers", {})), "sutler.toml has it already")
        for file in files:
            for server in file.servers if file.trusted else ():
                name = server.id.rpartition("/")[2].replace("::", ":")
                if reason := taken.get(name) or _unfit(server):
                    self.left.append(f"{server.where}: the server {name!r} is not added: {reason}")
                    continue
                taken[name] = f"the one at {server.where} is"
                keys = _keys(replace(server, id=name), self.variables, self.folder)
                self.texts.append(table(["mcp_servers", name], keys))

    def add_tools(self, tools: Sequence[DeclaredTool]) -> None:
        taken = {(kind, name): "sutler.toml has it already" for kind in _KINDS for name in self._names(kind)}
        for tool in tools:
            if reason := taken.get((tool.kind, tool.name)):
                self.left.append(f"{tool.where}: the {_KINDS[tool.kind]} {tool.name!r} is not added: {reason}")
                continue
            taken[tool.kind, tool.name] = f"the one at {tool.where} is"
            if isinstance(self.held.get(tool.kind), dict):  # written as [virtual_tools.<name>] in this file
                keys = {key: item for key, item in tool.keys.items() if key != "name"}
                self.texts.append(table([tool.kind, tool.name], keys))
            else:
                self.texts.append(element([tool.kind], {"name": tool.name, **tool.keys}))

    def _names(self, kind: str) -> Iterator[str]:
        held: Any = self.held.get(kind, [])
        yield from held if isinstance(held, dict) else (one["name"] for one in held)


_KINDS = {"tools": "tool", "virtual_tools": "virtual tool"}


def _unfit(server: ServerSpec) -> str:
    if server.unavailable:
        return server.unavailable.removeprefix(f"{server.where}: ")
    if server.enabled:
        return ""
    return next((note for note in server.notes if "itself" in note), "it is disabled there")


def _keys(server: ServerSpec, variables: dict[str, str], folder: Path) -> dict[str, Any]:
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
        if server.cwd != folder:
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
    if server.tools:
        keys["tools"] = {tool: _override(one) for tool, one in server.tools.items()}
    return keys


def _override(override: ToolOverride) -> dict[str, Any]:
    found = {key: getattr(override, key) for key in ("description", "timeout", "enabled", "alias")}
    if override.grade is not None:
        found["grade"] = {"w": override.grade.w, "d": override.grade.d}
    return {key: value for key, value in found.items() if value is not None}


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
