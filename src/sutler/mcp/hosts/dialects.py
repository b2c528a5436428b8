"""The hosts whose config files are understood: what each calls things, and where its files are (MCP-02)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from . import variables
from .variables import Expand

Unit = Literal["s", "ms", "guess"]
MAPS = ("mcpServers", "mcp_servers", "servers", "context_servers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One host's way to write servers. key: the map of servers. unit: of its `timeout`.

    url_transport: what an entry with `url` and no type speaks.
    """

    host: str
    title: str
    key: str = "mcpServers"
    expand: Expand = variables.literal
    unit: Unit = "ms"
    url_transport: Literal["http", "sse"] = "http"


DIALECTS: Mapping[str, Dialect] = {
    one.host: one
    for one in (
        Dialect(host="claude-desktop", title="Claude Desktop"),
        Dialect(host="claude-code", title="Claude Code", expand=variables.claude_code),
        Dialect(host="cursor", title="Cursor", expand=variables.editor),
        Dialect(host="vscode", title="VS Code", key="servers", expand=variables.editor),
        Dialect(host="windsurf", title="Windsurf", expand=variables.windsurf),
        Dialect(host="zed", title="Zed", key="context_servers"),
        Dialect(host="gemini", title="Gemini CLI", expand=variables.gemini, url_transport="sse"),
        Dialect(host="codex", title="Codex", key="mcp_servers", unit="s"),
        Dialect(host="other", title="another host", expand=variables.generic, unit="guess"),
    )
}

# The ends of paths that only one host uses, in a project and in a home directory alike.
_ENDS: Mapping[tuple[str, ...], str] = {
    ("claude_desktop_config.json",): "claude-desktop",
    (".mcp.json",): "claude-code",
    (".claude.json",): "claude-code",
    ("managed-mcp.json",): "claude-code",
    (".cursor", "mcp.json"): "cursor",
    (".vscode", "mcp.json"): "vscode",
    ("User", "mcp.json"): "vscode",
    ("mcp_config.json",): "windsurf",
    (".zed", "settings.json"): "zed",
    ("zed", "settings.json"): "zed",
    ("Zed", "settings.json"): "zed",
    (".gemini", "settings.json"): "gemini",
    (".codex", "config.toml"): "codex",
}
_GENERIC = frozenset(("mcp.json", "settings.json", "config.toml", "config.json"))
_PROJECT_FILES: Mapping[str, str] = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "zed": ".zed/settings.json",
    "gemini": ".gemini/settings.json",
    "codex": ".codex/config.toml",
}


@dataclass(frozen=True, slots=True)
class Place:
    """One file that a host reads. scope: `user` for the person's own, `project` for one that lies in a project."""

    host: str
    path: Path
    scope: Literal["user", "project"]


def dialect_of(path: Path, value: object) -> Dialect:
    """By the file's own place, else by what it holds."""
    for end, host in _ENDS.items():
        if path.parts[-len(end) :] == end:
            return DIALECTS[host]
    held: Mapping[str, Any] = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if path.suffix == ".toml":
        return DIALECTS["codex"]
    for host in ("zed", "vscode"):
        if DIALECTS[host].key in held and "mcpServers" not in held:
            return DIALECTS[host]
    return DIALECTS["other"]


def label(path: Path) -> str:
    """How a file is called in the ids of its servers: by its name, with its folder when many files have that name."""
    return "/".join(path.parts[-2:]) if path.name in _GENERIC else path.name


def project_file(host: str, project: Path) -> Path | None:
    name = _PROJECT_FILES.get(host)
    return None if name is None else project / name


def user_files(host: str, home: Path, env: Mapping[str, str], platform: str = sys.platform) -> tuple[Path, ...]:
    """Where a host keeps what is the person's own; the first is the one that is written to."""
    if platform == "darwin":
        shared = home / "Library" / "Application Support"
    elif platform == "win32":
        shared = Path(env.get("APPDATA") or home / "AppData" / "Roaming")
    else:
        shared = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
    match host:
        case "claude-desktop":
            return (shared / "Claude" / "claude_desktop_config.json",)
        case "claude-code":
            managed = Path("/Library/Application Support/ClaudeCode" if platform == "darwin" else "/etc/claude-code")
            return (home / ".claude.json", *([] if platform == "win32" else [managed / "managed-mcp.json"]))
        case "cursor":
            return (home / ".cursor" / "mcp.json",)
        case "vscode":
            return (shared / "Code" / "User" / "mcp.json",)
        case "windsurf":
            codeium = home / ".codeium"
            return (codeium / "windsurf" / "mcp_config.json", codeium / "mcp_config.json")
        case "zed":
            folder = (
                shared / "Zed" if platform == "win32" else Path(env.get("XDG_CONFIG_HOME") or home / ".config", "zed")
            )
            return (folder / "settings.json",)
        case "gemini":
            return (home / ".gemini" / "settings.json",)
        case "codex":
            return (Path(env.get("CODEX_HOME") or home / ".codex") / "config.toml",)
        case _:
            return ()


def places(home: Path, project: Path, env: Mapping[str, str], platform: str = sys.platform) -> Iterator[Place]:
    """Every file that a known host would read here, whether it exists or not; a project's before the person's own."""
    for host in DIALECTS:
        users = user_files(host, home, env, platform)
        file = project_file(host, project)
        if file is not None and file not in users:
            yield Place(host, file, "project")
        for path in users:
            yield Place(host, path, "user")


def needs_trust(path: Path, *, home: Path, project: Path | None, env: Mapping[str, str]) -> bool:
    """Whether a file can come from somebody else: it lies in a project, and is not the person's own."""
    if any(path == own for host in DIALECTS for own in user_files(host, home, env)):
        return False
    named = any(path.parts[-len(Path(name).parts) :] == Path(name).parts for name in _PROJECT_FILES.values())
    return named or (project is not None and path.is_relative_to(project))
