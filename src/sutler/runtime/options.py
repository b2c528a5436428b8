"""What a runtime was asked to be: the keywords of its constructor, and the config file under them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from ..config import Config, Profile, load, user_config_file
from ..errors import ConfigError, Problem
from ..limits import Limits
from ..policy.gate import Policy
from ..policy.levels import LEVELS, Level
from ..policy.sources import PolicySource, listed, ordered, plugin_policies
from ..sources.shipped import chosen_stems
from .events import EventHandler

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keywords of Runtime and SyncRuntime. See Runtime for what each means."""

    workspace: PathLike | None = None
    read: Sequence[PathLike] = ()
    keep: bool = False
    tool_folders: Sequence[PathLike] = ()
    tool_files: Sequence[PathLike] = ()
    load_flags: Mapping[str, Any] | None = None
    watch: bool = False
    tools: Sequence[Callable[..., Any]] = ()
    sources: Sequence[Any] = ()
    default_tools: bool | None = None
    shipped: bool | Sequence[str] | None = None
    config: PathLike | Config | Literal[False] | None = None
    profile: str | None = None
    limits: Mapping[str, Any] | None = None
    policy: Level | Policy | None = None
    policy_sources: Sequence[PolicySource] = ()
    strict_arguments: bool = False
    harness_resolver: Callable[[str], Callable[..., Any] | None] | None = None
    mcp_servers: Mapping[str, Mapping[str, Any]] | None = None
    host_tool_configs: Mapping[str, Mapping[str, Any]] | None = None
    confirm_handler: Callable[..., Any] | None = None
    user_interaction_handler: Callable[..., Any] | None = None
    client: Any = None
    discussion: Any = None
    project: PathLike | None = None
    store: Any = None
    on_event: EventHandler | None = None
    plugins: bool = True
    lazy_servers: bool = False
    share_loop: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Options and config, settled: what the runtime goes by."""

    config: Config
    limits: Limits
    policy: Policy
    profile: Profile | None
    default_tools: bool
    tool_folders: tuple[Path, ...]
    shipped: tuple[str, ...] = ()
    host_tool_configs: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: dict[str, Mapping[str, Any]]())


def settle(options: Options) -> Settings:
    """Reads the config and lays the keywords over it. Raises ConfigError with every problem found."""
    config = _config(options.config)
    profile = _profile(config, options.profile)
    host_configs = {stem: dict(values) for stem, values in config.host_tool_configs.items()}
    for stem, values in (options.host_tool_configs or {}).items():
        host_configs[stem] = {**host_configs.get(stem, {}), **values}
    problems: list[Problem] = []
    try:
        config = _with_servers(config, options.mcp_servers)
    except ConfigError as error:
        problems += error.problems
    limits = config.limits
    for values in (profile.limits if profile is not None else None, options.limits):
        try:
            limits = limits.override(values or {})
        except ConfigError as error:
            problems += error.problems
    try:
        policy = _policy(options.policy, config, profile, host_configs)
    except ConfigError as error:
        problems += error.problems
        policy = Policy()
    try:
        plugged = plugin_policies() if options.plugins else []
        policy = replace(policy, guards=ordered([*policy.guards, *listed(options.policy_sources), *plugged]))
    except TypeError as error:
        problems.append(Problem(message=str(error), key="policy_sources"))
    problems += [
        Problem(message=f"must be functions, not {tool!r}", key="tools") for tool in options.tools if not callable(tool)
    ]
    for key in ("confirm_handler", "user_interaction_handler", "harness_resolver", "on_event"):
        given: object = getattr(options, key)
        if given is not None and not callable(given):
            problems.append(Problem(message=f"must be something to call, not {given!r}", key=key))
    shipped: tuple[str, ...] = ()
    try:
        shipped = chosen_stems(config.shipped if options.shipped is None else options.shipped)
    except ValueError as error:
        problems.append(Problem(message=str(error), key="shipped"))
    root = options.workspace if options.workspace is not None else config.workspace.root
    if root is not None and Path(root).expanduser().is_file():
        problems.append(
            Problem(message=f"{root} is a file", key="workspace", hint="name a folder; it is made when missing")
        )
    if problems:
        raise ConfigError(problems)
    folders = [*(Path(folder) for folder in options.tool_folders), *config.libraries]
    return Settings(
        config=config,
        limits=limits,
        policy=policy,
        profile=profile,
        default_tools=config.default_tools if options.default_tools is None else options.default_tools,
        tool_folders=tuple(Path(folder).expanduser().absolute() for folder in folders),
        shipped=shipped,
        host_tool_configs=host_configs,
    )


def _config(given: PathLike | Config | Literal[False] | None) -> Config:
    """A path counts as trusted; a file found upward is data until `sutler trust` (TRU-01)."""
    if given is False:
        return Config.empty()
    if isinstance(given, Config):
        return given
    path = Path(given) if given is not None else None
    return load(path, start=Path.cwd(), user_file=user_config_file())


def _with_servers(config: Config, given: Mapping[str, Mapping[str, Any]] | None) -> Config:
    """The servers given as a keyword beside those of the config, in place of those of the same id."""
    if not given:
        return config
    from ..config.servers import servers_in_code

    servers, secrets = servers_in_code(given, folder=Path.cwd(), env=os.environ)
    kept = [server for server in config.mcp_servers if server.id not in given]
    return replace(config, mcp_servers=(*kept, *servers), secrets=config.secrets | secrets)


def _profile(config: Config, name: str | None) -> Profile | None:
    """A profile by name; the bare name of a tool works where a profile is expected (GEN-02)."""
    if name is None:
        return None
    return config.profiles.get(name) or Profile(name=name, tools={name: name})


def _policy(
    given: Level | Policy | None, config: Config, profile: Profile | None, host_configs: Mapping[str, Mapping[str, Any]]
) -> Policy:
    problems = [problem for stem, values in host_configs.items() for problem in level_problems(values, stem)]
    if isinstance(given, Policy):
        level: Level = given.level
    else:
        level = given or (profile.policy if profile is not None else None) or config.policy.level
        problems += _level_problem(level, "policy")
    if problems:
        raise ConfigError(problems)
    if isinstance(given, Policy):
        return replace(given, rules=(*given.rules, *config.policy.rules))
    table = config.policy
    return Policy(level=level, network=table.allow_network, pin=table.pin, rules=table.rules)


def level_problems(values: Mapping[str, Any], stem: str) -> list[Problem]:
    """What is wrong with the autonomy_level of a library's host config."""
    own = values.get("autonomy_level")
    return _level_problem(own, f"host_tool_configs.{stem}.autonomy_level") if own is not None else []


def _level_problem(level: object, key: str) -> list[Problem]:
    if level in LEVELS:
        return []
    close = get_close_matches(str(level), LEVELS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"the levels are {', '.join(LEVELS)}"
    return [Problem(message=f"no such autonomy level: {level!r}", key=key, hint=hint)]
