"""Folders of plain Python files as sources of tools: one source per library (LIB-01 to LIB-05, LIB-07, LIB-10).

Nothing is imported until a tool is called: everything shown of a library is read from its text.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import SourceError, ToolUnavailable
from ..schema.decorator import confirm_note, grade_of
from ..schema.from_source import FoundTool, SyntaxProblem, describe
from ..spec import UNDECLARED, Isolation, Origin, ToolAnnotations, ToolSpec
from .base import FOLDERS, Duplicate, Quarantined
from .cache import FileScan, read_text
from .lazy import Pending, lazy_spec
from .loader import LibraryLoader, same
from .modules import PrivateModules, stamp
from .scanfolder import LibraryFiles, ToolFile

Configs = Mapping[str, Mapping[str, Any]]
Handler = Callable[..., Any]

# Their thread pools are made once and keep the directory of the process: only a process of its own helps (DESIGN 4).
KEEP_THE_PROCESS_CWD = frozenset({"polars"})

_TURNED_ON = frozenset({"true", "1", "yes", "on"})
_UNDECLARED: Mapping[str, Any] = {"grade": UNDECLARED, "grade_from": "undeclared", "annotations": ToolAnnotations()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryInfo:
    """What a library says of itself in its TOOL_LIBRARY_* constants (LIB-05), read without running it.

    name: TOOL_LIBRARY_NAME, else the stem. load_flag: the key of its host config that turns it on; None when it is on
    anyway. stems: the keys of host_tool_configs that reach it.
    """

    stem: str
    name: str
    description: str = ""
    icon: str = ""
    aliases: tuple[str, ...] = ()
    load_flag: str | None = None
    directory: Path
    files: tuple[Path, ...] = ()
    stems: tuple[str, ...] = ()


_making = threading.Lock()


class LibraryToolSource:
    """One library. Its id is its stem; of two tools of one name in its files the first found is used.

    providers: (file, function) of each function that writes part of a prompt (LIB-04); never tools.
    """

    steady = True  # whoever configures it refreshes the toolbox

    def __init__(
        self,
        library: LibraryFiles,
        scans: Mapping[str, FileScan],
        *,
        modules: PrivateModules,
        host_configs: Configs | None = None,
        confirm_handler: Handler | None = None,
        user_interaction_handler: Handler | None = None,
        precedence: float = FOLDERS,
        flags: Mapping[str, Any] | None = None,
        autonomy_level: str | None = None,
    ) -> None:
        self.precedence = precedence
        self._flags = dict(flags or {})
        self._level = autonomy_level
        self._retired = False
        self.configured = 0  # counts the configs and handlers there have been
        self._library = library
        self._files = [(file, scans[file.relative]) for file in library.files]
        self._tools: dict[str, tuple[ToolFile, FoundTool]] | None = None
        named = [held.scan.attributes.get("TOOL_LIBRARY_LOAD_FLAG") for _, held in self._files]
        self._flag: str | None = next((flag for flag in named if flag), None)
        self._stems = tuple(dict.fromkeys((library.stem, *[file.stem for file in library.files])))
        self._configs = _relevant(self._stems, host_configs)
        self._modules = modules
        self._handlers = (confirm_handler, user_interaction_handler)
        self._made: LibraryLoader | None = None
        self.duplicates: tuple[Duplicate, ...] = ()
        self.quarantined: tuple[Quarantined, ...] = ()
        self.notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self._library.stem

    @property
    def _loader(self) -> LibraryLoader:
        """Made when it is first needed: of a large folder most libraries are only ever listed."""
        with _making:
            if self._made is None:
                confirm_handler, user_interaction_handler = self._handlers
                self._made = LibraryLoader(
                    stem=self._library.stem,
                    directory=self._library.directory,
                    modules=self._modules,
                    configs=self._configs,
                    confirm_handler=confirm_handler,
                    user_interaction_handler=user_interaction_handler,
                    autonomy_level=self._level,
                    may_load=self._may_load,
                )
            return self._made

    @property
    def info(self) -> LibraryInfo:
        said: dict[str, Any] = {}
        for _, held in self._files:  # the primary file comes first, so its word counts
            for key, value in held.scan.attributes.items():
                said.setdefault(key, value)
        return LibraryInfo(
            stem=self.name,
            name=said.get("TOOL_LIBRARY_NAME") or self.name,
            description=said.get("TOOL_LIBRARY_DESC", ""),
            icon=said.get("TOOL_LIBRARY_ICON", ""),
            aliases=tuple(said.get("TOOL_LIBRARY_ALIASES", ())),
            load_flag=self._flag,
            directory=self._library.directory,
            files=tuple(file.path for file in self._library.files),
            stems=self._stems,
        )

    @property
    def unparsed(self) -> tuple[tuple[SyntaxProblem, int], ...]:
        """Each file that does not parse, with how many tools it holds back."""
        broken = [(held.scan.fallback, len(held.scan.tools)) for _, held in self._files]
        return tuple((problem, number) for problem, number in broken if problem is not None)

    @property
    def providers(self) -> tuple[tuple[Path, str], ...]:
        return tuple((file.path, name) for file, held in self._files for name in held.scan.providers)

    @property
    def has_prompts(self) -> bool:
        return any(held.scan.providers for _, held in self._files)

    def prompts_of(self, spec: ToolSpec) -> list[tuple[Path, str]]:
        """The providers (LIB-04) that a prompt with this tool runs: its own first, then the library's."""
        file, found = self._all().get(spec.name, (None, None))
        own: list[tuple[Path, str]] = []
        of_library: list[tuple[Path, str]] = []
        for path, name in self.providers:
            if file is not None and found is not None and path == file.path and _is_of_tool(name, found.name):
                own.append((path, name))
            elif name == f"tool_{re.sub(r'[^0-9A-Za-z_]', '_', self.name)}_prompt":
                of_library.append((path, name))
        return own + of_library

    def provide(self, file: Path, name: str) -> Callable[[], Any]:
        """What runs a provider, on a thread where the library's tools may run."""
        return self._loader.runner(file, name, where=f"{file}")

    # ------------------------------------------------------------------ on or off

    def available(self) -> bool:
        flag = self._flag
        if flag is None:
            return True
        value = self._configs.get(self.name, {}).get(flag, self._flags.get(flag))
        return value.strip().lower() in _TURNED_ON if isinstance(value, str) else value is True or value == 1

    @property
    def reason(self) -> str:
        flag = self._flag
        if flag is None or self.available():
            return ""
        return (
            f"library {self.name} stays off until the host turns it on: set {flag} = true in"
            f" [host_tool_configs.{self.name}]"
        )

    def configure(self, host_configs: Configs, flags: Mapping[str, Any] | None = None) -> None:
        """The host's new configs, by stem. Loaded files whose own changed are initialized again at their next call."""
        self._flags = dict(flags or {})
        with _making:
            configs = _relevant(self._stems, host_configs)
            self.configured += not same(configs, self._configs)
            self._configs = configs
            loader = self._made
        if loader is not None:
            loader.configure(self._configs)

    def set_confirm_handler(self, handler: Handler | None) -> None:
        with _making:
            self._handlers = (handler, self._handlers[1])
            self.configured += 1
            loader = self._made
        if loader is not None:
            loader.set_confirm_handler(handler)

    def set_user_interaction_handler(self, handler: Handler | None) -> None:
        with _making:
            self._handlers = (self._handlers[0], handler)
            self.configured += 1
            loader = self._made
        if loader is not None:
            loader.set_user_interaction_handler(handler)

    def edited(self) -> frozenset[str]:
        """Top names of the modules of its directory that were loaded from files that are others now."""
        return self._made.edited() if self._made is not None else frozenset()

    def retire(self) -> None:
        """Another source has taken its place. It still serves the runs that began with it, with the code they had."""
        self._retired = True

    def _may_load(self, file: Path) -> None:
        """Raises ToolUnavailable for a file that such a run has not loaded before it was changed."""
        if not self._retired:
            return
        held = next((one for one, _ in self._files if one.path == file), None)
        if held is None or stamp(held.name) != held.stat:
            raise ToolUnavailable(
                f"{file} was changed since this run began, before the library was loaded; start the run again"
            )

    # ------------------------------------------------------------------ finding

    def discover(self) -> list[ToolSpec]:
        """The tools, primary file first, each file in its own order. Schemas are made when somebody looks at one."""
        isolation: Isolation | None = None
        for _, held in self._files:
            if not KEEP_THE_PROCESS_CWD.isdisjoint(held.scan.imports):
                isolation = "process"
        specs: list[ToolSpec] = []
        tools: dict[str, tuple[ToolFile, FoundTool]] = {}
        winners: dict[str, str] = {}
        duplicates: list[Duplicate] = []
        for file, held in self._files:
            for found in held.scan.tools:
                declared = found.declared
                name = declared.name if declared is not None and declared.name else found.name
                where = f"{file.name}:{found.line}"
                if name in tools:
                    duplicates.append(Duplicate(source=self.name, tool=name, where=where, winner=winners[name]))
                    continue
                tools[name] = file, found
                winners[name] = where
                specs.append(self._spec(name, where, file, found, held, isolation))
            for old in held.scan.replaced:
                last = next((one for one in held.scan.tools if one.name == old.name), None)
                duplicates.append(
                    Duplicate(
                        source=self.name,
                        tool=old.name,
                        where=f"{file.name}:{old.line}",
                        winner=f"{file.name}:{last.line}" if last is not None else file.name,
                    )
                )
        self._tools = tools
        self.duplicates = tuple(duplicates)
        self.quarantined = tuple(
            Quarantined(source=self.name, reason=held.problem, where=file.name)
            for file, held in self._files
            if held.problem
        )
        self.notes = (*self._library.notes, *(note for file, held in self._files for note in _notes(file, held)))
        return specs

    def _spec(
        self, name: str, where: str, file: ToolFile, found: FoundTool, held: FileScan, isolation: Isolation | None
    ) -> ToolSpec:
        declared = found.declared
        known: dict[str, Any] = {
            "name": name,
            "origin": Origin(source=self.name, kind="library", precedence=self.precedence, where=where),
            "isolation": isolation,
        }
        if declared is None:
            known.update(_UNDECLARED)
        else:
            known["grade"], known["grade_from"] = grade_of(declared)
            known["annotations"] = declared.annotations
            known["timeout"] = declared.timeout
            known["affinity"] = declared.affinity
            known["isolation"] = declared.isolation or isolation
            known["meta"] = declared.meta
        if held.scan.fallback is not None:
            known["meta"] = {**known.get("meta", {}), "_parsed_via_regex_fallback": True}
        return lazy_spec(known, Pending(partial(self._describe, file, found, held.scan.fallback)))

    def _describe(self, file: ToolFile, found: FoundTool, broken: SyntaxProblem | None) -> Mapping[str, Any]:
        """The lazy half of a spec, from the file as it is now."""
        notes: list[str] = [] if broken is None else [f"{broken} (the file does not parse; read as far as it goes)"]
        if stamp(file.name) != file.stat:
            notes.append(f"{file.name} was changed after its tools were listed; this is read from it as it is now")
        try:
            text = read_text(file.path)
            described = describe(text, found.name, file=file.name, neighbour=self._sibling)
        except Exception as error:  # a spec must never raise for being looked at; the reason is in its notes
            notes.append(
                str(error) if isinstance(error, SourceError) else f"{file.name}: cannot be described: {error!r}"
            )
            return {
                "description": "No description provided.",
                "input_schema": {"type": "object", "properties": {}, "additionalProperties": True},
                "output_schema": None,
                "hidden": frozenset[str](),
                "untyped": frozenset[str](),
                "docs": "",
                "notes": tuple(notes),
            }
        return {
            "description": described.description,
            "input_schema": described.input_schema,
            "output_schema": described.output_schema,
            "hidden": described.hidden,
            "untyped": described.untyped,
            "docs": described.docs,
            "notes": (*notes, *described.notes, *confirm_note(found.declared, described.input_schema)),
        }

    def _sibling(self, module: str) -> str | None:
        """The text of a module of the same directory, for classes that annotations name."""
        parts = module.split(".")
        if not all(parts) or parts[0] in sys.stdlib_module_names:
            return None
        place = self._library.directory.joinpath(*parts)
        for file in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
            if file.is_file():
                try:
                    return read_text(file)
                except SourceError:
                    return None
        return None

    # ------------------------------------------------------------------ calling

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        """What runs the tool: sync or async as it is, keyword arguments only; imports the library at its first call."""
        file, found = self._find(spec.name)
        return self._loader.runner(file.path, found.name, where=f"{file.name}:{found.line}", is_async=found.is_async)

    def worker(self, spec: ToolSpec) -> tuple[str, dict[str, Any]]:
        """What a worker process needs to serve this library: its entry and the payload for it (LCP-16)."""
        from . import child

        file, _ = self._find(spec.name)
        self._may_load(file.path)
        return child.ENTRY, {
            "stem": self.name,
            "autonomy_level": self._level,
            "directory": str(self._library.directory),
            "tools": {name: [file.name, found.name] for name, (file, found) in self._all().items()},
            "configs": child.outgoing_configs(self._configs),
            "handlers": self._loader.handlers,
        }

    def close(self) -> None:
        """Forget the library's modules; a later call imports it afresh."""
        self._loader.close()

    def _find(self, name: str) -> tuple[ToolFile, FoundTool]:
        held = self._all().get(name)
        if held is None:
            raise ToolUnavailable(f"library {self.name} has no tool {name}")
        if not self.available():
            raise ToolUnavailable(self.reason)
        return held

    def _all(self) -> dict[str, tuple[ToolFile, FoundTool]]:
        if self._tools is None:
            self.discover()
        return self._tools or {}


def _notes(file: ToolFile, held: FileScan) -> list[str]:
    found = held.scan
    notes = list(found.notes)
    if found.fallback is not None:
        notes.append(f"{found.fallback} (the file does not parse: its tools are listed, calling one reports this)")
    notes.extend(
        f"{file.name}:{tool.line}: {tool.name} cannot be called: it stands inside a function or class, or under a test"
        " that is false on import (move it to the top level of the file)"
        for tool in found.unreachable
    )
    return notes


def _is_of_tool(provider: str, tool: str) -> bool:
    return provider.removesuffix("_prompt") in (tool, f"tool_{tool}")


def _relevant(stems: Sequence[str], configs: Configs | None) -> Configs:
    return {stem: configs[stem] for stem in stems if stem in configs} if configs else {}
