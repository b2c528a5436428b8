"""The tools as prompts show them, for both faces: with what their libraries say of themselves at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..inventory import Row
from ..schema.dialects import export
from ..spec import ToolSpec
from .library_faces import Opened

if TYPE_CHECKING:
    from .core import Core
    from .options import PathLike

Dialect = Literal["openai", "anthropic", "gemini", "mcp"]
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)


class PromptFace:
    """What neither face waits for."""

    def prompt_notes(self: Opened) -> list[str]:
        """What libraries could not say of themselves in the last prompt that was built (LIB-06)."""
        return list(self.core.prompts.notes)


class SyncPrompts:
    """For threads."""

    def schemas(
        self: Opened, dialect: Dialect = "openai", *, strict: bool = False, workspace: PathLike | None = None
    ) -> list[dict[str, Any]]:
        """The tools as a provider wants them; `strict` makes OpenAI-strict schemas where that is possible.

        What libraries say of themselves now joins their descriptions (LIB-06): up to two seconds. workspace: the folder
        that this prompt is for, instead of the runtime's own.
        """
        rows = _rows(self.core, dialect)
        return _exported(self.core.prompts.described(rows, workspace), rows, dialect, strict)


class AsyncPrompts:
    """For coroutines."""

    async def schemas(
        self: Opened, dialect: Dialect = "openai", *, strict: bool = False, workspace: PathLike | None = None
    ) -> list[dict[str, Any]]:
        """As SyncRuntime.schemas; the loop is not held meanwhile."""
        core = self.core
        rows = _rows(core, dialect)
        if core.prompts.any(rows):
            specs = await asyncio.to_thread(core.prompts.described, rows, workspace)
        else:
            specs = [row.spec for row in rows]
        return _exported(specs, rows, dialect, strict)


def _rows(core: Core, dialect: str) -> list[Row]:
    if dialect not in DIALECTS:
        raise ValueError(f"there is no dialect {dialect!r}; there are {', '.join(DIALECTS)}")
    return list(core.program_inventory().tools.values())


def _exported(specs: Sequence[ToolSpec], rows: Sequence[Row], dialect: Dialect, strict: bool) -> list[dict[str, Any]]:
    names = {(row.spec.origin.source, row.spec.name): row.program_name for row in rows}
    return export(specs, dialect, strict=strict, names=names)
