"""Tools declared in [[tools]] tables: everything about them in TOML, their code imported at first use (SRC-04)."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from ..errors import ToolUnavailable
from ..schema.decorator import Declared, grade_of
from ..spec import Grade, GradeFrom, Isolation, Origin, ToolSpec
from ..tables import ToolTable, type_schema
from .base import USER_CONFIG, Duplicate, Quarantined
from .functions import by_keyword
from .modules import PrivateModules, PrivatePackage


class ConfigToolSource:
    """The [[tools]] of one configuration.

    folder: where sutler.toml lies; its modules come before installed ones and are private to this source.
    imports: resolve() runs the module, so it belongs where the tool runs.
    Of two tables with one name the later is used (a project's come after the user's), the earlier is in `duplicates`.
    """

    imports = True

    def __init__(
        self,
        tables: Sequence[ToolTable],
        folder: Path,
        *,
        name: str = "config",
        precedence: float = USER_CONFIG,
        modules: PrivateModules | None = None,
    ) -> None:
        self._name = name
        self.precedence = precedence
        self._folder = Path(folder)
        self._modules = modules or PrivateModules()
        self._package: PrivatePackage | None = None
        self._lock = threading.Lock()
        self._tables, self.duplicates = by_name(tables, name)
        self.quarantined: tuple[Quarantined, ...] = ()

    @property
    def name(self) -> str:
        return self._name

    def available(self) -> bool:
        return True

    def discover(self) -> list[ToolSpec]:
        specs, self.quarantined = specs_of(
            self._tables.values(), Origin(source=self._name, kind="config", precedence=self.precedence)
        )
        return specs

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        """The function of one tool. ToolUnavailable names tool, module, function, file:line; it can be tried again."""
        table = self._tables.get(spec.name)
        if table is None:
            raise ToolUnavailable(f"there is no tool {spec.name!r} in {self._name} any more")
        module = self._import(table)
        target: Any = getattr(module, table.function or "", None)
        if target is None:
            raise ToolUnavailable(
                f"tool {table.name!r}: module {table.module!r} has no function {table.function!r}{at(table)}"
            )
        if not callable(target):
            raise ToolUnavailable(
                f"tool {table.name!r}: {table.module}.{table.function} is a {type(target).__name__}, not a function"
                f"{at(table)}"
            )
        return by_keyword(cast("Callable[..., Any]", target))

    def worker(self, spec: ToolSpec) -> tuple[str, dict[str, Any]]:
        """What a worker process needs to run these tools: its entry and the entry's payload, plain data."""
        from .config_worker import ENTRY, payload_of

        return ENTRY, payload_of(tuple(self._tables.values()), self._folder)

    def _import(self, table: ToolTable) -> ModuleType:
        if not table.module or not table.function:
            raise ToolUnavailable(f"tool {table.name!r} names no module and function{at(table)}")
        try:
            return self._module(table.module)
        except (Exception, SystemExit) as error:
            raise ToolUnavailable(
                f"tool {table.name!r}: module {table.module!r} cannot be imported for function {table.function!r}: "
                f"{type(error).__name__}: {error}{at(table)}"
            ) from error

    def _module(self, name: str) -> ModuleType:
        file = module_file(self._folder, name)
        if file is None:
            importlib.invalidate_caches()  # a file made since the last look, on a path the host has
            return importlib.import_module(name)
        loaded = sys.modules.get(name)
        if loaded is not None and same_file(getattr(loaded, "__file__", None), file):
            return loaded  # the host's own program is that module: its state is the one to work on
        with self._lock:
            if self._package is None:
                self._package = self._modules.package(self._folder)
        return importlib.import_module(f"{self._package.name}.{name}")


def by_name(tables: Sequence[ToolTable], source: str) -> tuple[dict[str, ToolTable], tuple[Duplicate, ...]]:
    """The table that counts for each name, the last one, and what it hides."""
    kept: dict[str, ToolTable] = {}
    hidden: list[Duplicate] = []
    for table in tables:
        earlier = kept.pop(table.name, None)
        if earlier is not None:
            hidden.append(Duplicate(source=source, tool=table.name, where=earlier.where, winner=table.where))
        kept[table.name] = table
    return kept, tuple(hidden)


def specs_of(tables: Iterable[ToolTable], origin: Origin) -> tuple[list[ToolSpec], tuple[Quarantined, ...]]:
    """The specs of tables, and those tables that cannot be one (a type that is none, say) with the reason."""
    specs: list[ToolSpec] = []
    bad: list[Quarantined] = []
    for table in tables:
        try:
            specs.append(spec_of(table, origin))
        except (ValueError, TypeError) as error:
            bad.append(Quarantined(source=origin.source, tool=table.name, reason=str(error), where=table.where))
    return specs, tuple(bad)


def spec_of(table: ToolTable, origin: Origin) -> ToolSpec:
    """One table as a spec. Its grade is declared by `grade`, else by annotations, else (3, 3), undeclared (GRD-01)."""
    grade, grade_from = declared_grade(table)
    notes: tuple[str, ...] = ()
    try:
        returns = type_schema(table.returns)
    except ValueError:
        returns, notes = {}, (f"returns: {table.returns!r} is no known type, so the result has no schema",)
    return ToolSpec(
        name=table.name,
        description=table.description or "No description provided.",
        input_schema=table.schema,
        output_schema=returns or None,
        annotations=table.annotations,
        grade=grade,
        grade_from=grade_from,
        origin=replace(origin, where=table.where),
        examples=tuple(table.examples),
        docs=table.docs,
        timeout=table.timeout,
        isolation=cast("Isolation | None", table.isolation),
        notes=notes,
    )


def declared_grade(table: ToolTable) -> tuple[Grade, GradeFrom]:
    if table.grade is not None:
        return table.grade, "declared"
    hints = table.annotations
    return grade_of(
        Declared(
            read_only=hints.read_only,
            destructive=hints.destructive,
            idempotent=hints.idempotent,
            open_world=hints.open_world,
        )
    )


def module_file(folder: Path, dotted: str) -> Path | None:
    """The file of a module below the folder, None if the folder has none of that name."""
    place = folder.joinpath(*dotted.split("."))
    for file in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
        if file.is_file():
            return file
    return None


def same_file(loaded: object, file: Path) -> bool:
    try:
        return isinstance(loaded, str) and Path(loaded).samefile(file)
    except OSError:
        return False


def at(table: ToolTable) -> str:
    return f" ({table.where})" if table.where else ""
