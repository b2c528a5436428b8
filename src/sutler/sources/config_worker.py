"""Config tools in a worker process: the same source, opened there from plain data (isolation = "process")."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ToolUnavailable
from ..tables import ToolTable
from ..workspace import Workspace, current
from .child import answer
from .config import ConfigToolSource

ENTRY = f"{__name__}:serve"


def payload_of(tables: Sequence[ToolTable], folder: Path) -> dict[str, Any]:
    """What the child needs of the tables: where their code is. Schemas and grades stay with the host."""
    return {
        "folder": str(folder),
        "tools": [[table.name, table.module, table.function, table.where] for table in tables],
    }


def serve(payload: Mapping[str, Any], _host: object) -> Callable[[str, dict[str, Any]], Any]:
    """The entry of the worker: `handle(tool, arguments)`, in the workspace that is the child's current directory."""
    tables = [
        ToolTable(name=name, module=module, function=function, where=where)
        for name, module, function, where in payload["tools"]
    ]
    source = ConfigToolSource(tables, Path(payload["folder"]))
    specs = {spec.name: spec for spec in source.discover()}

    def handle(tool: str, arguments: dict[str, Any]) -> Any:
        if tool not in specs:
            raise ToolUnavailable(f"there is no tool {tool!r} in this worker")
        current.set(Workspace(Path.cwd(), read_roots=payload.get("read_roots", ())))
        value = source.resolve(specs[tool])(**arguments)
        return answer(asyncio.run(_finished(value)) if inspect.isawaitable(value) else value)

    return handle


async def _finished(value: Any) -> Any:
    return await value
