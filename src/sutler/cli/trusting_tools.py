"""`sutler trust TOOL|SERVER`: saying yes to a definition that has changed since it was first used (POL-06)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from .change import said_yes
from .context import Cli, at_terminal
from .exits import DENIED, OK, Refused
from .text import count

if TYPE_CHECKING:
    from ..runtime import SyncRuntime
    from ..sources.base import Quarantined


def trust_tools(cli: Cli, name: str, *, show: bool, yes: bool) -> int:
    """Shows how what is held under a name differs from what was first used, and asks whether to accept it."""
    runtime = cli.open(every_server=True)
    items = runtime.core.pins.held(name)
    if not items:
        _check_known(runtime, name)
        return _ended(cli, items, accepted=True, said=f"nothing of {name} is held: it is as it was first used")
    unread = next((item for item in items if not item.difference), None)
    if unread is not None:
        raise StoreError(unread.reason)
    if show and cli.out.as_json:
        return _ended(cli, items, accepted=False, said="")
    shown = "\n\n".join(item.difference for item in items)
    if show:
        cli.out.line(shown)
        cli.out.say(f"{_named(items)} held as shown; `sutler trust {name}` accepts")
        return OK
    if not yes:
        if not at_terminal():
            said = f"{_named(items)} held, and there is nobody to ask; look with --show, then say --yes"
            raise Refused(said, code=DENIED, kind="denied")
        cli.out.say(shown)
        if not said_yes(cli, f"Accept {count(len(items), 'changed definition')} of {name} as shown?"):
            return _ended(cli, items, accepted=False, said=f"{_named(items)} held still", code=DENIED)
    runtime.trust_tool(name)
    return _ended(cli, items, accepted=True, said=f"{', '.join(_names(items))}: accepted as it is now")


def _check_known(runtime: SyncRuntime, name: str) -> None:
    inventory = runtime.inventory()
    sources = {source for source, _ in runtime.core.toolbox.sources()}
    if name in sources or name in inventory.qualified or name in inventory.tools:
        for where, reason in inventory.unavailable:
            if where == name:
                raise Refused(f"{name} cannot be looked at: it is unavailable ({reason})", code=4, kind="unavailable")
        return
    raise Refused(f"there is no file, tool or server {name!r} here; `sutler doctor` lists what is held")


def _names(items: list[Quarantined]) -> list[str]:
    return [f"{item.source}::{item.tool}" for item in items]


def _named(items: list[Quarantined]) -> str:
    return f"{', '.join(_names(items))} {'is' if len(items) == 1 else 'are'}"


def _ended(cli: Cli, items: list[Quarantined], *, accepted: bool, said: str, code: int = OK) -> int:
    if cli.out.as_json:
        tools: list[dict[str, Any]] = [
            {"tool": name, "difference": item.difference} for name, item in zip(_names(items), items, strict=True)
        ]
        cli.out.document({"trusted": accepted, "tools": tools})
    if said:
        (cli.out.say if cli.out.as_json else cli.out.line)(said)
    return code
