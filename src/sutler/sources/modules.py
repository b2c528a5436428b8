"""Private modules: tool files run under names of their own, so that nothing is shared by accident (RUN-03).

Every directory of tool files is one private package per runtime. Its files import each other, by plain name or
relatively, inside that package; nothing is put on sys.path and no name is taken from anybody. How a plain
`import helper` in a tool file is read, when the file is loaded (never by a hook on other people's imports):

1. a name of the standard library is the standard library, and a file that imports its own name means the installed one
   (`docker.py` wrapping docker);
2. else `helper.py` or `helper/__init__.py` beside the file is meant, before an installed package of that name;
3. else, when nothing installed has the directory's name, `<directory>.helper` is the same file, for files written to be
   imported from the folder above;
4. else whatever is installed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import itertools
import os
import re
import sys
import threading
import weakref
from collections.abc import Sequence
from contextvars import ContextVar
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, cast

from ..lang.parse import patiently
from ..schema.from_source import decode

_numbers = itertools.count(1)
_packages: dict[str, PrivatePackage] = {}
_install_lock = threading.Lock()

# The private modules that the load under way in this context has executed, so that a failed load leaves none behind.
created: ContextVar[list[str] | None] = ContextVar("sutler_created_modules", default=None)


Stamp = tuple[int, int, int] | None


def stamp(file: str) -> Stamp:
    """(mtime in ns, size, inode); None for a file that is not there. Another stamp means another content."""
    try:
        held = Path(file).stat()
    except OSError:
        return None
    return held.st_mtime_ns, held.st_size, held.st_ino


class PrivateModules:
    """All private packages of one runtime, one per real directory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._packages: dict[str, PrivatePackage] = {}
        # when no library of this runtime is in use any more
        weakref.finalize(self, _forget_all, self._packages).atexit = False

    def package(self, directory: Path) -> PrivatePackage:
        key = os.path.realpath(directory)
        with self._lock:
            package = self._packages.get(key)
            if package is None:
                package = self._packages[key] = PrivatePackage(Path(directory))
            return package

    def close(self) -> None:
        """Forget every module. Objects that tools handed out go on working; their modules are just not found again."""
        with self._lock:
            packages = dict(self._packages)
            self._packages.clear()
        _forget_all(packages)


class PrivatePackage:
    """One directory as a package under a name that nobody else has. The directory's own __init__.py is not run."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.name = f"_sutler_{next(_numbers)}_{_identifier(directory.name)}"
        self._files: dict[str, Path] = {}
        self._stamps: dict[str, tuple[str, Stamp]] = {}
        self._kept: set[str] = set()
        spec = ModuleSpec(self.name, None, is_package=True)
        spec.submodule_search_locations = [str(directory)]
        module = importlib.util.module_from_spec(spec)
        _install_finder()
        _packages[self.name] = self
        sys.modules[self.name] = module

    def import_file(self, file: Path) -> ModuleType:
        """Import one file of the directory, once; whatever its import raises passes through."""
        tail = file.stem
        if not tail.isidentifier():
            # A dot would be read as a package; the hash keeps `a-b` and `a.b` apart.
            mark = hashlib.blake2b(tail.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
            tail = f"{_identifier(tail)}_{mark}"
        name = f"{self.name}.{tail}"
        self._files[name] = file
        return importlib.import_module(name)

    def forget(self, names: Sequence[str]) -> None:
        for name in names:
            self._stamps.pop(name, None)
            self._kept.discard(name)
            sys.modules.pop(name, None)
            parent, _, tail = name.rpartition(".")
            if parent in sys.modules:
                vars(sys.modules[parent]).pop(tail, None)

    def keep(self, name: str) -> None:
        """A tool file that is in use stays, with its state, whatever becomes of its file."""
        self._kept.add(name)

    def stale(self) -> list[str]:
        """Modules whose file is no longer the one that was loaded, but for those in use."""
        held = list(self._stamps.items())
        return [name for name, (file, seen) in held if name not in self._kept and stamp(file) != seen]

    def edited(self) -> frozenset[str]:
        """The first part of the name of each module whose file is another now, in use or not."""
        start = len(self.name) + 1
        held = list(self._stamps.items())
        return frozenset(name[start:].partition(".")[0] for name, (file, seen) in held if stamp(file) != seen)

    def executed(self, name: str, file: str, seen: Stamp) -> None:
        self._stamps[name] = (file, seen)
        run = created.get()
        if run is not None:
            run.append(name)

    def close(self) -> None:
        _packages.pop(self.name, None)
        mine = [name for name in list(sys.modules) if name == self.name or name.startswith(self.name + ".")]
        for name in mine:
            sys.modules.pop(name, None)

    def find(self, name: str, places: Sequence[str]) -> ModuleSpec | None:
        """The spec of a module of this package; a file goes before a folder of the same name."""
        tail = name.rpartition(".")[2]
        if name in self._files:
            return self._source(name, str(self._files[name]))
        for place in places:
            file = Path(place, f"{tail}.py")
            if file.is_file():
                return self._source(name, str(file))
            init = Path(place, tail, "__init__.py")
            if init.is_file():
                return self._source(name, str(init), folder=str(init.parent))
        return PathFinder.find_spec(name, places)  # extension modules, and folders without __init__.py

    def _source(self, name: str, file: str, *, folder: str | None = None) -> ModuleSpec | None:
        return importlib.util.spec_from_file_location(
            name,
            file,
            loader=_Loader(name, file, self),
            submodule_search_locations=None if folder is None else [folder],
        )

    def private_name(self, dotted: str, importer: str) -> tuple[str, str] | None:
        """What `import dotted` in the file `importer` means here: (module, what its first part stands for), or None."""
        top, _, rest = dotted.partition(".")
        if top in sys.stdlib_module_names:
            return None
        if self.holds(top, importer, folder=bool(rest)):
            return f"{self.name}.{dotted}", f"{self.name}.{top}"
        if rest and self._is_called(top) and self.holds(rest.partition(".")[0], importer):
            return f"{self.name}.{rest}", self.name
        return None

    def own_members(self, module: str, names: Sequence[str], importer: str) -> bool:
        """Whether `from module import names` means files of this directory, by the directory's own name."""
        return self._is_called(module) and all(self.holds(name, importer) for name in names)

    def _is_called(self, name: str) -> bool:
        return name == self.directory.name and name not in sys.stdlib_module_names and not _is_installed(name)

    def holds(self, name: str, importer: str, *, folder: bool = False) -> bool:
        """Whether `name` is a sibling (a folder, when asked for one) of the file `importer`, and not that file."""
        file = self.directory / f"{name}.py"
        if file.is_file():
            return not folder and not file.samefile(importer)
        place = self.directory / name
        return (place / "__init__.py").is_file() or (place.is_dir() and not _is_installed(name))


def _identifier(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z_]", "_", text)


def _is_installed(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class _Loader(SourceFileLoader):
    """Compiles a tool file with its sibling imports made private. Writes no .pyc into the person's folder."""

    def __init__(self, name: str, path: str, package: PrivatePackage) -> None:
        super().__init__(name, path)
        self._package = package

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        self._package.executed(fullname, path, stamp(path))
        text = decode(self.get_data(path), file=path)
        tree = patiently(lambda: ast.parse(text, filename=path))
        redirect_imports(tree, self._package, path)
        # dont_inherit: the file must not get this module's `from __future__ import annotations`.
        return compile(tree, path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Finds modules of private packages; every other name is none of its business."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        package = _packages.get(fullname.partition(".")[0])
        if package is None or path is None:
            return None
        return package.find(fullname, list(path))


_finder = _Finder()


def _install_finder() -> None:
    with _install_lock:
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)


def _forget_all(packages: dict[str, PrivatePackage]) -> None:
    for package in packages.values():
        package.close()


def redirect_imports(tree: ast.Module, package: PrivatePackage, path: str) -> None:
    """Rewrite, in place, the imports of siblings anywhere in a file, functions included; positions stay."""
    blocks: list[Any] = [tree]
    while blocks:  # a stack, not recursion: imports are statements, and only statements are walked
        node = blocks.pop()
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            held: Any = getattr(node, field, None)
            if not isinstance(held, list):  # a lambda's body is one expression
                continue
            statements: list[Any] = []
            for item in cast("list[Any]", held):
                statements.extend(_redirected(item, package, path))
            setattr(node, field, statements)
            blocks.extend(statements)


def _redirected(statement: Any, package: PrivatePackage, path: str) -> list[Any]:
    if isinstance(statement, ast.ImportFrom) and statement.level == 0 and statement.module:
        found = package.private_name(statement.module, path)
        if found is not None:
            statement.module = found[0]
        elif package.own_members(statement.module, [alias.name for alias in statement.names], path):
            statement.module = package.name
        return [statement]
    if not isinstance(statement, ast.Import):
        return [statement]
    result: list[Any] = []
    for alias in statement.names:
        found = package.private_name(alias.name, path)
        if found is None:
            result.append(ast.Import(names=[alias]))
            continue
        module, first = found
        top = alias.name.partition(".")[0]
        result.append(ast.Import(names=[ast.alias(name=module, asname=alias.asname or top)]))
        if alias.asname is None and module != first:  # `import a.b` binds a, not b
            result.append(ast.Import(names=[ast.alias(name=first, asname=top)]))
    return [ast.fix_missing_locations(ast.copy_location(made, statement)) for made in result]
