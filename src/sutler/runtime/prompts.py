"""What libraries say of themselves when a prompt is built (LIB-06): the text of their prompt providers.

A provider runs where its library's tools do, in the workspace that the prompt is for, each time anew: nothing of it is
kept, and it is no part of a tool's digest. One that raises, gives no text or passes two seconds leaves the description
as it stands in the source, and a note.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ToolCallError, words
from ..sources.library import LibraryToolSource
from ..spec import ToolSpec
from ..workspace.root import current as workspace_here
from ..workspace.watchdog import Deadline
from ..workspace.worker import Stopper
from . import capture
from .sites import Site, Stay

if TYPE_CHECKING:
    from ..inventory import Row
    from .core import Core
    from .options import PathLike

SECONDS = 2.0  # that all providers of one prompt have together
LONGEST = 4_000  # characters of one text that are taken over

_log = logging.getLogger("sutler")


@dataclass(frozen=True, slots=True)
class Provider:
    """One function of one library, in one workspace."""

    library: str
    file: Path
    name: str
    root: Path

    def __str__(self) -> str:
        return f"{self.library}: {self.name}"


@dataclass(slots=True)
class _Going:
    future: Future[Any]
    stop: Callable[[], object]


class Prompts:
    """`notes`: what could not be had for the last prompt that was built, by provider."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._late: dict[Provider, _Going] = {}
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self.notes: tuple[str, ...] = ()

    def any(self, rows: Iterable[Row]) -> bool:
        """Whether a prompt of these tools runs a provider."""
        return any(row.source.has_prompts for row in rows if isinstance(row.source, LibraryToolSource))

    def described(self, rows: Sequence[Row], root: PathLike | None = None) -> list[ToolSpec]:
        """The specs for a prompt: with what their libraries say now. From any thread but a loop's; up to two seconds.

        root: the workspace that the prompt is for; None is the runtime's own.
        """
        texts = self.texts(rows, root)
        return [with_text(row.spec, texts.get(row.spec.qualified)) for row in rows]

    def texts(self, rows: Sequence[Row], root: PathLike | None = None) -> dict[str, str]:
        """What there is to add to the description of a tool, by source::tool."""
        if not self.any(rows):
            return {}
        with Stay(self._core.sites) as stay:
            return self._texts(rows, stay.enter(root, None))

    def _texts(self, rows: Sequence[Row], site: Site) -> dict[str, str]:
        notes: list[str] = []
        wanted: dict[str, list[Provider]] = {}
        going: dict[Provider, _Going] = {}
        for row in rows:
            source = row.source
            if not isinstance(source, LibraryToolSource) or not source.has_prompts:
                continue
            library = row.spec.origin.source
            mine = [Provider(library, file, name, site.root) for file, name in source.prompts_of(row.spec)]
            if not mine:
                continue
            if why := self._withheld(row.spec):
                notes += [f"{one} is not run: {why}" for one in mine]
                continue
            wanted[row.spec.qualified] = mine
            for one in mine:
                if one not in going:
                    self._begin(one, row, site, going, notes)
        said = self._gather(going, notes)
        self.notes = tuple(dict.fromkeys(notes))
        for note in self.notes:
            if note not in self._said:
                self._said.add(note)
                _log.warning("%s", note)
        joined = {name: "\n".join(said[one] for one in mine if one in said) for name, mine in wanted.items()}
        return {name: text for name, text in joined.items() if text}

    def _withheld(self, spec: ToolSpec) -> str:
        policy = self._core.policy
        if policy.level_of(spec.origin.source) == "strict":
            return "at level strict nothing of a library runs unasked"
        return "policy denies its tool" if policy.preview(spec).outcome == "deny" else ""

    def _begin(self, one: Provider, row: Row, site: Site, going: dict[Provider, _Going], notes: list[str]) -> None:
        with self._lock:
            late = self._late.get(one)
            if late is not None and not late.future.done():
                notes.append(f"{one} still runs since an earlier prompt")
                return
            self._late.pop(one, None)
        try:
            going[one] = self._start(one, row, site)
        except ToolCallError as error:
            notes.append(f"{one}: {error}")

    def _start(self, one: Provider, row: Row, site: Site) -> _Going:
        core = self._core
        tool = core.tool(row)
        source: Any = row.source
        if tool.place == "worker":
            stopper = Stopper()
            future: Future[Any] = core.threads.submit(
                lambda: core.workers.prompt(tool, site, one.file, one.name, Deadline(SECONDS), stopper), anywhere=True
            )
            return _Going(future, lambda: stopper.stop("its prompt provider was late"))
        provide = source.provide(one.file, one.name)

        def work() -> Any:
            return _provided(provide, site)

        if tool.place == "fixed":
            threads = core.threads
            future = threads.fixed(one.library).submit(work, root=site.root)
        else:
            threads = site.threads
            future = threads.submit(work)
        return _Going(future, lambda: threads.abandon(future))

    def _gather(self, going: Mapping[Provider, _Going], notes: list[str]) -> dict[Provider, str]:
        until = time.monotonic() + SECONDS
        said: dict[Provider, str] = {}
        for one, held in going.items():
            try:
                error = held.future.exception(timeout=max(0.0, until - time.monotonic()))
            except TimeoutError:
                with self._lock:
                    self._late[one] = held
                held.stop()
                notes.append(f"{one} took longer than {SECONDS:g} s")
                continue
            if error is not None:
                notes.append(f"{one} failed: {words(error)}")
                continue
            value = held.future.result()
            if not isinstance(value, str):
                notes.append(f"{one} gave a {type(value).__name__}, not a text")
            elif not value.strip():
                notes.append(f"{one} gave no text")
            else:
                if len(value.strip()) > LONGEST:
                    notes.append(f"{one} gave more than {LONGEST:,} characters: cut")
                said[one] = value.strip()[:LONGEST]
        return said


def with_text(spec: ToolSpec, text: str | None) -> ToolSpec:
    """The spec with a text at the end of its description."""
    return spec if not text else replace(spec, description=f"{spec.description}\n\n{text}")


def _provided(provide: Callable[[], Any], site: Site) -> Any:
    """Runs a provider on a thread of its library; what it prints is nobody's."""
    here = workspace_here.set(site.workspace)
    prints = capture.begin()
    try:
        value = provide()
        if inspect.isawaitable(value):
            value = asyncio.run_coroutine_threadsafe(_awaited(value), site.threads.loop()).result(SECONDS)
        return value
    finally:
        capture.end(prints)
        workspace_here.reset(here)


async def _awaited(value: Any) -> Any:
    return await value
