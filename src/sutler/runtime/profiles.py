"""A profile's tools: the inventory narrowed to them, under the names the profile gives (GEN-02)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..closest import closest
from ..config import Profile
from ..errors import ConfigError, Problem, ToolNotFound, ToolUnavailable
from ..inventory import Inventory, Row

if TYPE_CHECKING:
    from .core import Core


def narrowed(whole: Inventory, profile: Profile) -> Inventory:
    """The inventory with only the profile's tools. ConfigError names each tool that is not there."""
    assert profile.tools is not None, "a profile without tools narrows nothing"
    rows: list[Row] = []
    tools: dict[str, Row] = {}
    problems: list[Problem] = []
    for alias, name in profile.tools.items():
        try:
            row = whole.find(name)
        except ToolUnavailable:  # it is held, and stands among the quarantined
            continue
        except ToolNotFound as error:
            problems.append(Problem(message=str(error), key=f"profiles.{profile.name}.tools", file=profile.where))
            continue
        named = row if alias == name else replace(row, program_name=alias)
        rows.append(named)
        tools[alias] = named
    if problems:
        raise ConfigError(problems)
    return Inventory(
        rows=tuple(rows),
        tools=tools,
        quarantined=whole.quarantined,
        unavailable=whole.unavailable,
        notes=whole.notes,
        hidden=whole.hidden,
    )


def check_profile(core: Core) -> None:
    """ConfigError at the opening when the profile names what is not there, and no server may still bring it."""
    profile, given = core.settings.profile, core.options.profile
    if profile is None or profile.tools is None:
        return
    try:
        core.program_inventory()
    except ConfigError:
        if core.servers is not None and core.servers.awaited():
            return
        config = core.settings.config
        if given is None or given in config.profiles:
            raise
        near = closest(given, [*config.profiles, *core.inventory().tools])
        hint = f"did you mean {near!r}?" if near else f"the profiles are {', '.join(config.profiles) or 'none'}"
        message = f"there is neither a profile nor a tool {given!r}"
        raise ConfigError([Problem(message=message, key="profile", hint=hint)]) from None
