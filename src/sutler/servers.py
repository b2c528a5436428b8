"""What an MCP server is to Sutler, and what passes between its manager and its source, as plain data (MCP-01, MCP-02).

Config and host files make a ServerSpec, the MCP room runs it. Standard library only, so that a config with servers
loads without the `mcp` package (MCP-15).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from .spec import Grade

Transport = Literal["stdio", "http", "sse"]
Era = Literal["auto", "legacy", "modern"]
Hint = Literal["read_only", "destructive", "idempotent", "open_world"]

TRANSPORTS: tuple[Transport, ...] = ("stdio", "http", "sse")
ERAS: tuple[Era, ...] = ("auto", "legacy", "modern")
HINTS: tuple[Hint, ...] = ("read_only", "destructive", "idempotent", "open_world")

CONNECT_TIMEOUT = 10.0
CONCURRENCY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOverride:
    """[mcp_servers.<id>.tools.<name>]: what the user says of one tool of a server. None leaves it as the server has it.

    alias: the name it goes by here instead of the server's own. timeout: seconds.
    """

    grade: Grade | None = None
    description: str | None = None
    timeout: float | None = None
    enabled: bool | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth:
    """[mcp_servers.<id>.oauth]: what a login at the server needs that the server does not say itself.

    client_id: of a client that was registered by hand, or the https address of a client metadata document; "" registers
    one. client_secret: that goes with it. scopes: asked for instead of those that the server names. callback_port: of
    http://127.0.0.1:PORT/callback, where that address had to be registered; 0 takes a free one.
    """

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()
    callback_port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One MCP server: how it is reached, and what the user says of it. Variables are already put in.

    id: the source id of its tools; `<host file>/<id>` for one of another host's file.
    command, args, env, env_vars, cwd: of a stdio server. env holds what was configured only; env_vars names further
        variables of this process to pass on; cwd is absolute (MCP-11). url, headers, oauth: of an http or sse server.
    connect_timeout, timeout: seconds; timeout None takes the runtime's `call_seconds`.
    required: a start fails when it cannot be had. allow: only these tools, when given; deny: never these.
    assume: what a hint that this server leaves out means (MCP-07), by `read_only`, `destructive`, `idempotent`,
        `open_world`.
    concurrency: calls at one time. era: which protocol era to speak.
    provenance: `own`, or `host:<file>` for a server of another host's config.
    precedence: its rank for bare names. where: `file:line` of its table.
    unavailable: why it must not be started (a variable that is unset, a project file that nobody has trusted), "" when
        nothing is in the way. It is listed with this reason and nothing of it is spawned.
    secrets: values that are never to be shown: of env, headers and whatever a variable put in.
    notes: what its config says and Sutler does otherwise or not at all, one sentence each.
    """

    id: str
    transport: Transport = "stdio"
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=lambda: dict[str, str](), repr=False)
    env_vars: tuple[str, ...] = ()
    cwd: Path = field(default_factory=Path.cwd)
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=lambda: dict[str, str](), repr=False)
    oauth: OAuth | None = None
    connect_timeout: float = CONNECT_TIMEOUT
    timeout: float | None = None
    enabled: bool = True
    required: bool = False
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    assume: Mapping[Hint, bool] = field(default_factory=lambda: dict[Hint, bool]())
    tools: Mapping[str, ToolOverride] = field(default_factory=lambda: dict[str, ToolOverride]())
    era: Era = "auto"
    concurrency: int = CONCURRENCY
    provenance: str = "own"
    precedence: float = 5.0
    where: str = ""
    unavailable: str = ""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteTool:
    """One entry of a server's tools/list, exactly as it came (`inputSchema`, `annotations`...), good or bad.

    definition: whatever JSON value stood in the list; the source judges it and quarantines what cannot be used.
    cached: it comes from the disk cache, and the server has not confirmed it yet.
    """

    definition: Any
    cached: bool = False

    @property
    def name(self) -> str:
        """The server's own name for it, "" when it gives none."""
        definition: object = self.definition
        name = cast("dict[str, Any]", definition).get("name") if isinstance(definition, dict) else None
        return name if isinstance(name, str) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteResult:
    """What tools/call answered: MCP's own content blocks and structured content, unjudged.

    content: the blocks as JSON objects (`{"type": "text", "text": ...}`). structured: structuredContent, any JSON
    value; has_structured tells null from absent. notes: what the transport or the manager had to do, one sentence each.
    """

    content: tuple[Mapping[str, Any], ...] = ()
    structured: Any = None
    has_structured: bool = False
    is_error: bool = False
    meta: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteError:
    """An error of the protocol that a server answered with, as the wire has it, for a face that passes it on."""

    code: int
    message: str
    data: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRequired:
    """What tools/call answered when the server asks first (2026-07-28): its questions by key, and its own state."""

    requests: Mapping[str, Any]
    state: str | None = None
