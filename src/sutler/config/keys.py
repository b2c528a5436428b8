"""Every table and key that a config file may hold; what is not here is unknown, never ignored (CFG-01)."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ..closest import closest
from ..limits import LIMIT_NAMES, Limits, limit_problem
from ..sources.shipped import shipped_stems
from ..store.keeping import Keep
from .check import (
    WRONG,
    Check,
    Checker,
    array,
    array_of,
    boolean,
    choice,
    count,
    days,
    folder,
    kind_of,
    name,
    string,
    table,
)
from .filled import put_in
from .locate import KeyPath, dotted
from .models import models
from .policy import case_tables, rule_tables
from .servers import mcp_servers
from .tools import grade, tool_tables, virtual_tables
from .values import AUTONOMY_LEVELS, LANGUAGE_LEVELS, PINS, Config, PolicyTable, Profile, WorkspaceTable


def check_file(cx: Checker, raw: dict[str, Any]) -> Config:
    """A Config of one file's values; what is wrong is in `cx.problems` and left out."""
    for key in raw:
        if key not in TOP:
            _unknown_top(cx, key, raw[key])
    found = table(cx, (), {key: raw[key] for key in raw if key in TOP}, TOP)
    sections: dict[str, dict[str, Any]] = {
        name: found.get(name, {}) for name in ("workspace", "limits", "policy", "libraries", "mcp", "store")
    }
    workspace, limits, policy, libraries, mcp, store = sections.values()
    return Config(
        file=Path(cx.file),
        folder=cx.folder,
        workspace=WorkspaceTable(root=workspace.get("root"), read=tuple(workspace.get("read", ()))),
        tools=tuple(found.get("tools", ())),
        virtual_tools=tuple(found.get("virtual_tools", ())),
        libraries=tuple(libraries.get("folders", ())),
        shipped=libraries.get("shipped", ()),
        host_tool_configs=found.get("host_tool_configs", {}),
        mcp_servers=tuple(found.get("mcp_servers", ())),
        host_configs=tuple(mcp.get("host_configs", ())),
        grades=found.get("grades", {}),
        policy=PolicyTable(**policy),
        limits=Limits().override(limits),
        store=Keep(**store),
        profiles=found.get("profiles", {}),
        models=found.get("models", {}),
        default_tools=found.get("default_tools", True),
        given=frozenset(
            {f"{section}.{key}" for section, values in sections.items() for key in values}
            | ({"default_tools"} & set(found))
        ),
        where={dotted(path): f"{cx.file}:{line}" for path, line in cx.lines.items()},
        secrets=frozenset(cx.secrets),
    )


def _unknown_top(cx: Checker, key: str, value: Any) -> None:
    what = "table" if isinstance(value, (dict, list)) else "key"
    meant = closest(key, list(TOP))
    known = ", ".join(_TITLES.get(name, f"[{name}]") for name in TOP)
    cx.wrong((key,), f"unknown {what}", f"did you mean `{meant}`?" if meant else f"known here: {known}")


def _section(title: str, keys: Mapping[str, Check]) -> Check:
    def check(cx: Checker, path: KeyPath, value: Any) -> Any:
        if isinstance(value, dict) and "default_tools" in value and "default_tools" not in keys:
            cx.wrong((*path, "default_tools"), f"unknown key in {title}", "it stands above the first table of the file")
            value = {key: item for key, item in cast(dict[str, Any], value).items() if key != "default_tools"}
        return table(cx, path, value, keys, of=title)

    return check


def _limit(cx: Checker, path: KeyPath, value: Any) -> Any:
    problem = limit_problem(str(path[-1]), value)
    return value if problem is None else cx.wrong(path, problem.message, problem.hint)


def _entries(cx: Checker, path: KeyPath, value: Any, check: Check) -> Any:
    """A table whose keys are names of the writer's own choosing."""
    if not isinstance(value, dict):
        return cx.wrong(path, f"must be a table, not {kind_of(value)}")
    checked = {key: check(cx, (*path, key), item) for key, item in cast(dict[str, Any], value).items()}
    return {key: item for key, item in checked.items() if item is not WRONG}


def _grades(cx: Checker, path: KeyPath, value: Any) -> Any:
    def check(cx: Checker, path: KeyPath, value: Any) -> Any:
        source, mark, tool = str(path[-1]).partition("::")
        if not (source and mark and tool):
            hint = f'write "source::{path[-1]}"' if not mark else ""
            return cx.wrong(path, "must name a tool as source::tool, in quotes", hint)
        return grade(cx, path, value)

    return _entries(cx, path, value, check)


def _profiles(cx: Checker, path: KeyPath, value: Any) -> Any:
    return _entries(cx, path, value, _profile)


def _profile(cx: Checker, path: KeyPath, value: Any) -> Any:
    if not isinstance(value, dict):
        return cx.wrong(path, f"must be a table, not {kind_of(value)}", "write [profiles.<name>]")
    if name(cx, path, path[-1]) is WRONG:
        return WRONG
    return Profile(**table(cx, path, value, _PROFILE, of="a profile"), name=str(path[-1]), where=cx.where(path))


def _profile_tools(cx: Checker, path: KeyPath, value: Any) -> Any:
    """One name, a list, {alias = name}, or "none": always {alias: name}."""
    if isinstance(value, str):
        return {} if value == "none" else WRONG if name(cx, path, value) is WRONG else {value: value}
    if isinstance(value, list):
        names: dict[str, str] = {}
        for index, item in enumerate(cast(list[Any], value)):
            if name(cx, (*path, index), item) is WRONG:
                continue
            if item in names:
                cx.wrong((*path, index), f"{item!r} is listed twice")
            names[item] = item
        return names
    if isinstance(value, dict):
        return _entries(cx, path, value, _alias)
    return cx.wrong(path, f'must be a name, an array of names, a table alias = name, or "none", not {kind_of(value)}')


def _alias(cx: Checker, path: KeyPath, value: Any) -> Any:
    alias = str(path[-1])
    if not alias.isidentifier() or keyword.iskeyword(alias):
        return cx.wrong(path, f"an alias is what a program calls, and {alias!r} cannot be called")
    return name(cx, path, value)


def _shipped(cx: Checker, path: KeyPath, value: Any) -> Any:
    """true, false, or an array of stems."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, list):
        return cx.wrong(path, f"must be true, false or an array of names, not {kind_of(value)}")
    return tuple(array(cx, path, value, choice(*shipped_stems())))


def _host_tool_configs(cx: Checker, path: KeyPath, value: Any) -> Any:
    return _entries(cx, path, value, _host_tool_config)


def _host_tool_config(cx: Checker, path: KeyPath, value: Any) -> Any:
    if not isinstance(value, dict):
        return cx.wrong(path, f"must be a table, not {kind_of(value)}", "write [host_tool_configs.<library>]")
    settings = put_in(cx, path, value)
    if settings is not WRONG and "autonomy_level" in settings:
        level = settings["autonomy_level"]
        # An untrusted file keeps its variables: there the word cannot be known yet.
        if cx.env is not None or not (isinstance(level, str) and "${" in level):
            choice(*AUTONOMY_LEVELS)(cx, (*path, "autonomy_level"), level)
    return settings


_TITLES = {"default_tools": "default_tools", "tools": "[[tools]]", "virtual_tools": "[[virtual_tools]]"}
_PROFILE: Mapping[str, Check] = {
    "tools": _profile_tools,
    "level": choice(*LANGUAGE_LEVELS),
    "policy": choice(*AUTONOMY_LEVELS),
    "limits": lambda cx, path, value: table(cx, path, value, _LIMITS, of="limits"),
    "description": string,
}
_LIMITS: Mapping[str, Check] = dict.fromkeys(LIMIT_NAMES, _limit)
_STORE: Mapping[str, Check] = {"keep_days": days, "keep_runs": count, "audit_days": days}
TOP: Mapping[str, Check] = {
    "default_tools": boolean,
    "workspace": _section("[workspace]", {"root": folder, "read": array_of(folder)}),
    "tools": tool_tables,
    "libraries": _section("[libraries]", {"folders": array_of(folder), "shipped": _shipped}),
    "host_tool_configs": _host_tool_configs,
    "virtual_tools": virtual_tables,
    "mcp_servers": mcp_servers,
    "mcp": _section("[mcp]", {"host_configs": array_of(folder)}),
    "grades": _grades,
    "policy": _section(
        "[policy]",
        {
            "level": choice(*AUTONOMY_LEVELS),
            "allow_network": boolean,
            "pin": choice(*PINS),
            "rules": rule_tables,
            "tests": case_tables,
        },
    ),
    "limits": _section("[limits]", _LIMITS),
    "store": _section("[store]", _STORE),
    "profiles": _profiles,
    "models": models,
}
