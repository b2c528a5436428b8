"""A checked configuration as frozen values (DESIGN: Files a user meets)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..limits import Limits
from ..policy.rules import Rule, Verdict, Via
from ..servers import ServerSpec
from ..spec import Grade
from ..store.keeping import Keep
from ..tables import ToolTable

AutonomyLevel = Literal["strict", "safe", "full_access"]
Pin = Literal["none", "remote", "all"]
LanguageLevel = Literal["calls", "program", "full"]

ModelKind = Literal["text", "image", "speech", "transcription", "embedding"]

PINS: tuple[Pin, ...] = ("none", "remote", "all")
AUTONOMY_LEVELS: tuple[AutonomyLevel, ...] = ("strict", "safe", "full_access")
LANGUAGE_LEVELS: tuple[LanguageLevel, ...] = ("calls", "program", "full")
MODEL_KINDS: tuple[ModelKind, ...] = ("text", "image", "speech", "transcription", "embedding")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceTable:
    """[workspace]: root is None when unset; read lists further read-only roots. Both absolute."""

    root: Path | None = None
    read: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCase:
    """[[policy.tests]]: a call, by any name of its tool, and what policy should say of it; at `level`, when given."""

    call: str
    expect: Verdict
    arguments: Mapping[str, Any] = field(default_factory=lambda: dict[str, Any]())
    level: AutonomyLevel | None = None
    via: Via = "direct"
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTable:
    """[policy]: the autonomy level, whether the shipped network tools run unasked, whose definitions are pinned, rules,
    and cases that try them."""

    level: AutonomyLevel = "safe"
    allow_network: bool = False
    pin: Pin = "remote"
    rules: tuple[Rule, ...] = ()
    tests: tuple[PolicyCase, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """[profiles.<name>]. tools: {alias: tool name}, {} for "none", None for all. Anything None is left as it is."""

    name: str
    description: str = ""
    tools: Mapping[str, str] | None = None
    level: LanguageLevel | None = None
    policy: AutonomyLevel | None = None
    limits: Mapping[str, float] = field(default_factory=lambda: dict[str, float]())
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """[models.<name>]: a model behind an OpenAI-compatible server, for the client that tools are given.

    model: its name there. timeout: seconds for one answer. vision: whether a text model reads images. ctx_size: the
    tokens of its context, None when the server says. where: `file:line` of the table.
    """

    name: str
    base_url: str
    kind: ModelKind = "text"
    model: str = ""
    api_key: str = field(default="", repr=False)
    timeout: float = 120.0
    vision: bool = False
    ctx_size: int | None = None
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One sutler.toml, or the user's config with a project's over it.

    file: the project's file, None when there is none. folder: where its relative paths start.
    trusted: False for a found file that nobody has trusted; `withheld` then says what of it is not in force, and why.
    shipped: the stems of Sutler's own tool libraries that are on, True for all.
    host_tool_configs: by library stem, variables put in. grades: by `source::tool`.
    mcp_servers: [mcp_servers.<id>], in file order. host_configs: files of other hosts to take servers from, absolute.
    models: [models.<name>], in file order. store: how long the file of runs and the audit log keeps what it holds.
    given: dotted names of the single settings that were written, so that a default is told from a choice.
    where: `file:line` by dotted key. secrets: values to mask wherever they turn up.
    """

    file: Path | None = None
    folder: Path = field(default_factory=Path.cwd)
    trusted: bool = True
    withheld: tuple[str, ...] = ()
    workspace: WorkspaceTable = field(default_factory=WorkspaceTable)
    tools: tuple[ToolTable, ...] = ()
    virtual_tools: tuple[ToolTable, ...] = ()
    libraries: tuple[Path, ...] = ()
    shipped: bool | tuple[str, ...] = ()
    host_tool_configs: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: dict[str, Mapping[str, Any]](), repr=False
    )
    mcp_servers: tuple[ServerSpec, ...] = ()
    host_configs: tuple[Path, ...] = ()
    store: Keep = field(default_factory=Keep)
    grades: Mapping[str, Grade] = field(default_factory=lambda: dict[str, Grade]())
    policy: PolicyTable = field(default_factory=PolicyTable)
    limits: Limits = field(default_factory=Limits)
    profiles: Mapping[str, Profile] = field(default_factory=lambda: dict[str, Profile]())
    models: Mapping[str, ModelTable] = field(default_factory=lambda: dict[str, ModelTable]())
    default_tools: bool = True
    given: frozenset[str] = frozenset()
    where: Mapping[str, str] = field(default_factory=lambda: dict[str, str](), repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def empty(cls) -> Config:
        """What holds when there is no config file: every default."""
        return cls()

    def data_only(self) -> Config:
        """What an untrusted file may still do: tighten. Code, folders and everything else is withheld and listed."""
        from .tighten import data_only

        return data_only(self)

    def workspace_root(self, cwd: Path) -> Path:
        """The root that faces start with: the one written, else the folder of a trusted file, else `cwd`."""
        if self.workspace.root is not None:
            return self.workspace.root
        return self.folder if self.file is not None and self.trusted else cwd
