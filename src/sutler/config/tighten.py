"""What an untrusted file may still do, and how two files become one configuration (TRU-01)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, cast

from ..limits import LIMIT_NAMES, Limits
from ..servers import ServerSpec
from ..store.keeping import Keep
from .locate import KeyPath, dotted
from .values import AUTONOMY_LEVELS, PINS, Config, PolicyTable, Profile, WorkspaceTable


def data_only(config: Config) -> Config:
    """Keep what tightens (a stricter level, rules that ask or deny, lower limits); list all else in `withheld`."""
    if not config.trusted:
        return config
    lower = {name: getattr(config.limits, name) for name in _written(config, "limits")}
    lower = {name: value for name, value in lower.items() if value <= getattr(Limits(), name)}
    stricter = _stricter(config.policy.level, PolicyTable().level)
    kept = {f"limits.{name}" for name in lower}
    if "policy.level" in config.given and stricter == config.policy.level:
        kept.add("policy.level")
    if "policy.allow_network" in config.given and not config.policy.allow_network:
        kept.add("policy.allow_network")
    pin = _tighter(config.policy.pin, PolicyTable().pin)
    if "policy.pin" in config.given and pin == config.policy.pin:
        kept.add("policy.pin")
    rules = tuple(rule for rule in config.policy.rules if rule.decision != "allow")
    kept.add("policy.rules")  # those that allow are listed one by one
    if not config.default_tools:
        kept.add("default_tools")
    return Config(
        file=config.file,
        folder=config.folder,
        trusted=False,
        withheld=_withheld(config, kept),
        policy=PolicyTable(level=stricter, pin=pin, rules=rules),
        limits=Limits().override(lower),
        default_tools=config.default_tools,
        given=config.given & kept,
        where=config.where,
    )


def merge(user: Config, project: Config) -> Config:
    """A project's config over the user's: key by key, arrays of tables one after the other, a deny from either holds.

    Of an untrusted project only what tightens the user's own settings counts.
    """
    given = user.given | project.given

    def chosen(key: str, ours: Any, theirs: Any) -> Any:
        return theirs if key in project.given else ours

    limits = {name: getattr(project.limits, name) for name in _written(project, "limits")}
    level = chosen("policy.level", user.policy.level, project.policy.level)
    default_tools = chosen("default_tools", user.default_tools, project.default_tools)
    pin = chosen("policy.pin", user.policy.pin, project.policy.pin)
    if not project.trusted:
        pin = _tighter(user.policy.pin, pin)
        level = _stricter(user.policy.level, level)
        default_tools = default_tools and user.default_tools
    denied = any("policy.allow_network" in one.given and not one.policy.allow_network for one in (user, project))
    return replace(
        project,
        workspace=WorkspaceTable(
            root=chosen("workspace.root", user.workspace.root, project.workspace.root),
            read=chosen("workspace.read", user.workspace.read, project.workspace.read),
        ),
        tools=user.tools + project.tools,
        virtual_tools=user.virtual_tools + project.virtual_tools,
        libraries=chosen("libraries.folders", user.libraries, project.libraries),
        shipped=chosen("libraries.shipped", user.shipped, project.shipped),
        host_tool_configs=_over(user.host_tool_configs, project.host_tool_configs),
        mcp_servers=_servers(user.mcp_servers, project.mcp_servers),
        host_configs=chosen("mcp.host_configs", user.host_configs, project.host_configs),
        grades={**user.grades, **project.grades},
        policy=PolicyTable(
            level=level,
            allow_network=not denied and (user.policy.allow_network or project.policy.allow_network),
            pin=pin,
            rules=project.policy.rules + user.policy.rules,
            tests=project.policy.tests + user.policy.tests,
        ),
        store=Keep(**{key: chosen(f"store.{key}", *both) for key, both in _pairs(user.store, project.store).items()}),
        limits=user.limits.override(limits) if project.trusted else user.limits.tighten(limits),
        profiles=_profiles(user.profiles, project.profiles),
        models={**project.models, **{name: one for name, one in user.models.items() if name not in project.models}},
        default_tools=default_tools,
        given=given,
        where={**user.where, **project.where},
        secrets=user.secrets | project.secrets,
    )


def _pairs(ours: Keep, theirs: Keep) -> dict[str, tuple[Any, Any]]:
    return {one.name: (getattr(ours, one.name), getattr(theirs, one.name)) for one in fields(Keep)}


def _written(config: Config, section: str) -> list[str]:
    return [name for name in LIMIT_NAMES if f"{section}.{name}" in config.given]


def _stricter(one: Any, other: Any) -> Any:
    return min(one, other, key=AUTONOMY_LEVELS.index)


def _tighter(one: Any, other: Any) -> Any:
    return max(one, other, key=PINS.index)


def _over(user: Mapping[str, Any], project: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(user)
    for key, value in project.items():
        ours = merged.get(key)
        if isinstance(ours, dict) and isinstance(value, dict):
            merged[key] = _over(cast(dict[str, Any], ours), cast(dict[str, Any], value))
        else:
            merged[key] = value
    return merged


def _servers(user: tuple[ServerSpec, ...], project: tuple[ServerSpec, ...]) -> tuple[ServerSpec, ...]:
    """The user's, then the project's, which replaces one of the same id; what the user denies stays denied."""
    theirs = {server.id: server for server in project}
    denied = {server.id: server.deny for server in user}
    kept = [server for server in user if server.id not in theirs]
    return (
        *kept,
        *(replace(one, deny=tuple(dict.fromkeys((*denied.get(one.id, ()), *one.deny)))) for one in project),
    )


def _profiles(user: Mapping[str, Profile], project: Mapping[str, Profile]) -> dict[str, Profile]:
    merged = dict(user)
    for name, theirs in project.items():
        ours = merged.get(name)
        merged[name] = theirs if ours is None else _profile(ours, theirs)
    return merged


def _profile(ours: Profile, theirs: Profile) -> Profile:
    return replace(
        theirs,
        description=theirs.description or ours.description,
        tools=ours.tools if theirs.tools is None else theirs.tools,
        level=theirs.level or ours.level,
        policy=theirs.policy or ours.policy,
        limits={**ours.limits, **theirs.limits},
    )


def _withheld(config: Config, kept: set[str]) -> tuple[str, ...]:
    """Each thing not in force, with its place, in the file's order."""
    reasons = [
        *(_reason(tool.where, f"tool {tool.name}") for tool in config.tools),
        *(_reason(tool.where, f"virtual tool {tool.name}") for tool in config.virtual_tools),
        *(_reason(profile.where, f"profile {name}") for name, profile in config.profiles.items()),
        *(_reason(server.where, f"server {server.id}") for server in config.mcp_servers),
        *(_reason(model.where, f"model {name}") for name, model in config.models.items()),
        *(_reason(rule.where, "a rule that allows") for rule in config.policy.rules if rule.decision == "allow"),
        *(_at(config, ("grades", tool), f"grade of {tool}") for tool in config.grades),
        *(_at(config, ("host_tool_configs", stem), f"settings of {stem}") for stem in config.host_tool_configs),
        *(_at(config, tuple(key.split(".")), key) for key in sorted(config.given - kept)),
    ]
    return tuple(sorted(reasons, key=_place))


def _at(config: Config, path: KeyPath, what: str) -> str:
    return _reason(config.where.get(dotted(path), str(config.file)), what)


def _reason(where: str, what: str) -> str:
    return f"{where}: withheld: {what}"


def _place(reason: str) -> tuple[int, str]:
    """Sorts by line, so that the list reads as the file does."""
    line = reason.partition(": ")[0].rpartition(":")[2]
    return (int(line) if line.isdigit() else 0, reason)
