"""What `sutler doctor` finds of sources and tools."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from .find import library_document, library_line
from .findings import Finding, State
from .text import count

if TYPE_CHECKING:
    from ..inventory import Inventory
    from ..runtime import SyncRuntime
    from ..schema.from_source import SyntaxProblem
    from ..sources.base import Quarantined

_NAMES = 8  # functions of a file that are named


def of_tools(runtime: SyncRuntime, inventory: Inventory) -> list[Finding]:
    """Every source with its state, what is wrong with a tool, and what might have been meant to be one."""
    return [
        *_sources(runtime, inventory),
        *_tools(runtime, inventory),
        *_plain_functions(runtime, inventory),
        *_idle_configs(runtime),
    ]


def _sources(runtime: SyncRuntime, inventory: Inventory) -> list[Finding]:
    tools = Counter(row.spec.origin.source for row in inventory.rows)
    reasons = dict(inventory.unavailable)
    broken = {item.source for item in inventory.quarantined if item.tool is None}
    found: list[Finding] = []
    for name, source in runtime.core.toolbox.sources():
        library = library_document(getattr(source, "info", None))
        about = f"source {name}"
        unparsed = getattr(source, "unparsed", ())
        found += [_unparsed(about, problem, number) for problem, number in unparsed]
        if name in reasons:
            off = library is not None and library["load_flag"]
            shown = f"{library_line(library)}; " if library is not None else ""
            state: State = "note" if off else "problem"
            found.append(Finding(about=about, state=state, said=f"{shown}unavailable: {reasons[name]}"))
        elif name in broken and not tools[name]:
            continue  # said in full with what is quarantined
        elif unparsed and tools[name] <= sum(number for _, number in unparsed):
            continue  # none of its tools works
        elif tools[name] or library is not None:
            shown = f"; {library_line(library)} ({library['directory']})" if library is not None else ""
            found.append(Finding(about=about, state="ok", said=f"{count(tools[name], 'tool')}{shown}"))
    return found


def _unparsed(about: str, problem: SyntaxProblem, tools: int) -> Finding:
    back = {0: "no tool of it can be seen", 1: "its tool cannot be called"}.get(tools, f"its {tools} tools cannot be")
    said = f"{problem}: the file is not Python, so {back}{' called' if tools > 1 else ''}"
    return Finding(about=about, state="problem", said=said)


def _tools(runtime: SyncRuntime, inventory: Inventory) -> list[Finding]:
    found = [
        Finding(about="quarantined", state="problem", said=_quarantined(item), do=_accepting(item))
        for item in inventory.quarantined
    ]
    found += [
        Finding(about="unavailable", state="problem", said=f"{where}: {reason}")
        for where, reason in inventory.unavailable
        if "::" in where
    ]
    found += [Finding(about="shadowed", state="note", said=str(item)) for item in inventory.shadowed]
    found += [Finding(about="hidden", state="note", said=str(item)) for item in inventory.duplicates]
    sources = [source for _, source in runtime.core.toolbox.sources()]
    said = tuple(str(problem) for source in sources for problem, _ in getattr(source, "unparsed", ()))
    said = (*said, *(f"host_tool_configs.{stem}: " for stem in runtime.core.libraries.idle()))
    found += [Finding(about="note", state="note", said=note) for note in inventory.notes if not _repeats(note, said)]
    found += [
        Finding(about="note", state="note", said=f"{row.spec.qualified}: {note}")
        for row in inventory.rows
        for note in row.spec.notes
        if not _repeats(note, said)
    ]
    return found


def _repeats(note: str, said: tuple[str, ...]) -> bool:
    """Whether a note is of what has a line of its own."""
    return note.startswith(said) if said else False


def _quarantined(item: Quarantined) -> str:
    """A folder's reason begins with its name already."""
    return item.reason if item.tool is None and item.reason.startswith(f"{item.source}:") else str(item)


def _accepting(item: Quarantined) -> str:
    """What to do about a tool that is held because it has changed."""
    return f"`sutler trust {item.source}::{item.tool}`" if item.held and item.difference else ""


def _plain_functions(runtime: SyncRuntime, inventory: Inventory) -> list[Finding]:
    """Functions that would be tools under another name, of folders and libraries that have none."""
    from ..sources.hints import plain_functions
    from ..sources.shelf import FolderSource

    used = {row.spec.origin.source for row in inventory.rows}
    files: list[Path] = []
    for name, source in runtime.core.toolbox.sources():
        info = getattr(source, "info", None)
        if isinstance(source, FolderSource) and source.without_tools:
            files += sorted(source.folder.glob("*.py")) + sorted(source.folder.glob("*/*.py"))
        elif info is not None and name not in used and not getattr(source, "unparsed", ()):
            files += info.files
    found: list[Finding] = []
    for file, names in plain_functions(files).items():
        shown = f"{', '.join(names[:_NAMES])}{', ...' if len(names) > _NAMES else ''}"
        said = f"{file}: {shown}: no tool, being neither named tool_... nor marked with @tool (from sutler import tool)"
        found.append(Finding(about="functions", state="note", said=said))
    return found


def _idle_configs(runtime: SyncRuntime) -> list[Finding]:
    """[host_tool_configs.x] of libraries that are not there."""
    idle = runtime.core.libraries.idle()
    return [Finding(about=f"host_tool_configs.{stem}", state="note", said=said) for stem, said in idle.items()]
