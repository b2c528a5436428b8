"""A profile's tools: the inventory narrowed to them, under the names the profile gives."""

from __future__ import annotations

from dataclasses import replace

from ..config import Profile
from ..errors import ConfigError, Problem, ToolNotFound, ToolUnavailable
from ..inventory import Inventory, Row


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
