"""Tools from a text: what a model or a host writes while it runs (LCP-08). Nothing of it runs before its first call."""

from __future__ import annotations

import ast
import hashlib
import itertools
import linecache
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import SourceError, ToolUnavailable
from ..lang.parse import patiently
from ..schema.decorator import grade_of
from ..schema.from_source import FoundTool, describe, scan
from ..spec import UNDECLARED, Origin, ToolSpec
from .base import CODE, Duplicate
from .loader import LibraryLoader
from .modules import created

_FOLDER = Path("<code>")  # no folder of the disk: what tracebacks show as the place of the text
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class _Registered:
    prefix: str
    spec: ToolSpec
    run: Callable[..., Any]
    text: _Text


class CodeToolSource:
    """Tools registered as text, each text a module of its own.

    Whatever a text says of itself, its tools count as (3, 3), undeclared: nobody has read it (GRD-01). The text is part
    of a tool's digest, so an approval of one text is none of another. `notes` tells what replaced what.
    """

    precedence = CODE

    def __init__(self, *, name: str = "code") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._tools: dict[str, _Registered] = {}
        self._version = 0
        self._said: deque[str] = deque(maxlen=100)

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> int:
        return self._version

    @property
    def duplicates(self) -> tuple[Duplicate, ...]:
        return tuple(one for text in self._texts() for one in text.duplicates)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*(note for text in self._texts() for note in text.notes), *self._said)

    def _texts(self) -> list[_Text]:
        return list({id(held.text): held.text for held in list(self._tools.values())}.values())

    def available(self) -> bool:
        return True

    def discover(self) -> list[ToolSpec]:
        with self._lock:
            return [held.spec for held in self._tools.values()]

    def register(self, prefix: str, text: str) -> bool:
        """Register every tool_* at the top level of `text`, replacing tools of the same names; False if it has none.

        prefix: a name for the text, to unregister it by. SourceError names the line when the text does not compile;
        then nothing is changed.
        """
        if not prefix.strip():
            raise SourceError("code text needs a name (prefix) to be unregistered by")
        unit = _Text(prefix, text)
        found = scan(text, file=str(unit.file), stem=prefix)
        loader = LibraryLoader(stem=prefix, directory=_FOLDER, modules=unit)
        made: list[_Registered] = []
        for tool in found.tools:
            run = loader.runner(unit.file, tool.name, where=f"{unit.file}:{tool.line}", is_async=tool.is_async)
            made.append(_Registered(prefix, self._spec(tool, unit), run, unit))
        last = {tool.name: tool.line for tool in found.tools}
        unit.notes = found.notes
        unit.duplicates = tuple(
            Duplicate(
                source=self._name,
                tool=old.name,
                where=f"{unit.file}:{old.line}",
                winner=f"{unit.file}:{last.get(old.name, 0)}",
            )
            for old in found.replaced
        )
        with self._lock:
            for held in made:
                old = self._tools.pop(held.spec.name, None)
                self._tools[held.spec.name] = held
                if old is not None and old.text is not unit:
                    self._said.append(f"{held.spec.name} of {old.text.file} was replaced by that of {unit.file}")
                    if all(other.text is not old.text for other in self._tools.values()):
                        old.text.close()
            self._version += 1
        return bool(made)

    def unregister(self, prefix: str) -> int:
        """Remove the tools registered under `prefix`, and those named tool_<prefix>...; how many there were."""
        start = f"tool_{prefix}"
        with self._lock:
            named = [name for name, held in self._tools.items() if held.prefix == prefix or name.startswith(start)]
            gone = named if prefix.strip() else []
            for name in gone:
                self._tools.pop(name).text.close()
            if gone:
                self._version += 1
            return len(gone)

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        """What runs a tool. ToolUnavailable when its text was replaced or removed since `spec` was made."""
        held = self._tools.get(spec.name)
        if held is None:
            raise ToolUnavailable(f"{spec.name} is not registered any more")
        if held.spec.source_text != spec.source_text:
            raise ToolUnavailable(f"{spec.name} was replaced by {held.text.file} since it was looked up")
        return held.run

    def worker(self, spec: ToolSpec) -> tuple[str, dict[str, Any]]:
        """What a worker process needs to serve the text of this tool: its entry and the payload for it."""
        from . import child

        self.resolve(spec)
        held = self._tools[spec.name]
        return child.CODE_ENTRY, {"prefix": held.prefix, "text": held.text.text}

    def worker_key(self, spec: ToolSpec) -> str:
        """Each text has a worker of its own."""
        text = (spec.source_text or "").encode("utf-8", "surrogatepass")
        return f"{self._name} {hashlib.blake2b(text, digest_size=8).hexdigest()}"

    def close(self) -> None:
        with self._lock:
            for held in self._tools.values():
                held.text.close()
            self._tools.clear()
            self._version += 1

    def _spec(self, tool: FoundTool, unit: _Text) -> ToolSpec:
        described = describe(unit.text, tool.name, file=str(unit.file))
        declared = tool.declared
        notes = described.notes
        if declared is not None and grade_of(declared)[1] == "declared":
            notes = (*notes, "what its @tool declares of effects is not taken: code text counts as (3, 3)")
        return ToolSpec(
            name=declared.name if declared is not None and declared.name else tool.name,
            description=described.description,
            input_schema=described.input_schema,
            output_schema=described.output_schema,
            grade=UNDECLARED,
            grade_from="undeclared",
            origin=Origin(source=self._name, kind="code", precedence=CODE, where=f"{unit.file}:{tool.line}"),
            hidden=described.hidden,
            untyped=described.untyped,
            docs=described.docs,
            timeout=declared.timeout if declared is not None else None,
            source_text=unit.text,
            notes=notes,
            meta={"prefix": unit.prefix},
        )


class _Text:
    """One registered text as a module under a name that nobody else has; compiled now, run at the first call."""

    def __init__(self, prefix: str, text: str) -> None:
        number = next(_numbers)
        label = re.sub(r"[^\w.-]", "_", prefix)
        self.prefix = prefix
        self.text = text
        self.notes: tuple[str, ...] = ()
        self.duplicates: tuple[Duplicate, ...] = ()
        self.file = _FOLDER / f"{label}.{number}"
        self.name = f"_sutler_code_{number}_{re.sub(r'[^0-9A-Za-z_]', '_', label)}"
        try:
            tree = patiently(lambda: ast.parse(text, filename=str(self.file)))
            self._code = compile(tree, str(self.file), "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
            reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
            raise SourceError(f"code text {prefix!r}{line}: {reason}") from None

    # What LibraryLoader asks of the modules of a directory:

    def package(self, directory: Path) -> _Text:
        return self

    def import_file(self, file: Path) -> ModuleType:
        module = ModuleType(self.name)
        module.__file__ = str(file)
        linecache.cache[str(file)] = (len(self.text), None, self.text.splitlines(keepends=True), str(file))
        run = created.get()
        if run is not None:
            run.append(self.name)
        sys.modules[self.name] = module  # dataclasses and type hints look their module up there
        exec(self._code, module.__dict__)
        return module

    def forget(self, names: Sequence[str]) -> None:
        for name in names:
            sys.modules.pop(name, None)

    def keep(self, name: str) -> None:
        """A text does not change."""

    def stale(self) -> list[str]:
        return []

    def edited(self) -> frozenset[str]:
        return frozenset()

    def close(self) -> None:
        sys.modules.pop(self.name, None)
        linecache.cache.pop(str(self.file), None)
