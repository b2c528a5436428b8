"""The names of one Python file, read and never run: what an annotation in it means.

Imports, classes and aliases at module level are found where they stand, in top-level if/try too. Names under
`if TYPE_CHECKING` do not exist when the file runs, so they stay unknown here as they do for a live function (FH08).
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import known
from .annotations import dotted_name, limits_of_call, read, read_text
from .shapes import NO_LIMITS, Anything, Default, EnumMember, Limits, Shape, either
from .values import written

Neighbour = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Imported:
    module: str
    name: str | None
    relative: bool


@dataclass(frozen=True, slots=True)
class ClassAt:
    """A class statement and the file it stands in."""

    module: Module
    node: ast.ClassDef


@dataclass(frozen=True, slots=True)
class ValueAt:
    """The right side of `Name = ...` at module level, and the file it stands in."""

    module: Module
    name: str
    node: ast.expr


Found = str | ClassAt | ValueAt | None


class Outline:
    """What a file's statements bind. It belongs to the text alone, so it is kept as long as its tree is."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.names: dict[str, Imported | ast.ClassDef | ast.expr | None] = {}
        self.stars: list[Imported] = []
        self.set_twice: set[str] = set()
        for statement in statements(tree.body):
            self._bind(statement)

    def _bind(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Import():
                self.imports.append(statement)
                for item in statement.names:
                    top = item.name if item.asname else item.name.partition(".")[0]
                    self.names[item.asname or top] = Imported(top, None, False)
            case ast.ImportFrom():
                self.imports.append(statement)
                for item in statement.names:
                    found = Imported(statement.module or "", item.name, statement.level > 0)
                    if item.name == "*":
                        self.stars.append(found)
                    else:
                        self.names[item.asname or item.name] = found
            case ast.ClassDef():
                self.names[statement.name] = statement
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.functions[statement.name] = statement
                self.names[statement.name] = None
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(name, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._assign(name, value)
            case _ if type(statement).__name__ == "TypeAlias":  # `type X = ...`, from 3.12
                alias: Any = statement
                self._assign(alias.name.id, alias.value)
            case _:
                pass

    def _assign(self, name: str, value: ast.expr) -> None:
        if name in self.names:
            self.set_twice.add(name)
        self.names[name] = value


class Library:
    """The files of one library that annotations lead to, and the classes read so far."""

    def __init__(self, neighbour: Neighbour, outline: Callable[[str], Outline]) -> None:
        self._neighbour = neighbour
        self._outline = outline
        self._modules: dict[str, Module | None] = {}
        self.classes: dict[int, Shape] = {}
        self.open_aliases: set[int] = set()

    @contextmanager
    def no_alias_open(self) -> Generator[None]:
        """While the fields of a class are read: an alias may stand in them again, and each class is read once only."""
        outer, self.open_aliases = self.open_aliases, set()
        try:
            yield
        finally:
            self.open_aliases = outer

    def sibling(self, name: str) -> Module | None:
        if name not in self._modules:
            text = self._neighbour(name)
            self._modules[name] = None if text is None else Module(self._outline(text), self)
        return self._modules[name]


class Module:
    """A Scope over one file."""

    def __init__(self, outline: Outline, library: Library, function: ast.AST | None = None) -> None:
        self.library = library
        # `def tool_it[T: int](x: T)`, from 3.12: names of the one function that is read
        params: list[Any] = getattr(function, "type_params", [])
        self._type_params: dict[str, ast.expr | None] = {one.name: getattr(one, "bound", None) for one in params}
        self._names = outline.names
        self._stars = outline.stars
        self._set_twice = outline.set_twice
        self._open: set[str] = set()

    # -- the Scope protocol

    def resolve(self, dotted: str) -> str | Shape | None:
        if dotted in self._type_params:
            bound = self._type_params[dotted]
            return Anything() if bound is None else read(bound, self)
        found = self.find(dotted)
        if isinstance(found, ClassAt):
            from .classes import read_class

            return read_class(found)
        if isinstance(found, ValueAt):
            return found.module.alias(found)
        return found

    def text(self, text: str) -> Shape:
        return read_text(text, self)

    def value(self, node: ast.expr) -> Default:
        """A literal, an enum member, or a module constant that is set once, to a literal."""
        if isinstance(node, ast.Name | ast.Attribute) and dotted_name(node) not in self._set_twice:
            found = self.find(dotted_name(node))
            if isinstance(found, ValueAt):
                return written(found.node, found.module.member)
        return self.default(node)

    def default(self, node: ast.expr) -> Default:
        """A literal or an enum member; anything else is its text."""
        return written(node, self.member)

    def limits(self, node: ast.expr) -> Limits:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return Limits(description=node.value)
        if isinstance(node, ast.Call):
            return self.call_limits(node, self.value)
        return NO_LIMITS

    # -- names

    def call_limits(self, node: ast.Call, value: Callable[[ast.expr], Default]) -> Limits:
        name = self.find(dotted_name(node.func))
        last = name.rpartition(".")[2] if isinstance(name, str) else dotted_name(node.func).rpartition(".")[2]
        return limits_of_call(node, last, value)

    def find(self, dotted: str) -> Found:
        """What a name written in this file stands for: a full name elsewhere, a class, or an assigned value."""
        head, _, rest = dotted.partition(".")
        if not head or head in self._open:
            return None
        if head not in self._names:
            return self._outside(dotted)
        bound = self._names[head]
        if isinstance(bound, Imported):
            return self._imported(bound, rest)
        if isinstance(bound, ast.ClassDef):
            return _inner(ClassAt(self, bound), rest)
        if isinstance(bound, ast.expr):
            if isinstance(bound, ast.Name | ast.Attribute):  # `L = List`: another name for the same thing
                self._open.add(head)
                try:
                    named = self.find(dotted_name(bound) + (f".{rest}" if rest else ""))
                finally:
                    self._open.discard(head)
                return named
            return None if rest else ValueAt(self, head, bound)
        return None

    def member(self, dotted: str) -> EnumMember | None:
        """The enum member that `Color.RED` names."""
        owner, _, name = dotted.rpartition(".")
        found = self.find(owner) if owner else None
        if isinstance(found, ClassAt):
            from .classes import enum_members

            return next((one for one in enum_members(found) or () if one.name == name), None)
        return None

    def alias(self, at: ValueAt) -> Shape | None:
        """The shape of `Name = list[int]`, NewType, TypeVar and classes made by a call. An alias of itself is any."""
        key = id(at.node)
        if key in self.library.open_aliases:
            return Anything()
        self.library.open_aliases.add(key)
        try:
            if not isinstance(at.node, ast.Call):
                return read(at.node, self)
            return self._made(at, at.node)
        finally:
            self.library.open_aliases.discard(key)

    def _made(self, at: ValueAt, call: ast.Call) -> Shape | None:
        maker = self.find(dotted_name(call.func))
        maker = known.canonical(maker) if isinstance(maker, str) else ""
        if maker == "typing.NewType" and len(call.args) > 1:
            return read(call.args[1], self)
        if maker == "typing.TypeVar":
            bound = next((word.value for word in call.keywords if word.arg == "bound"), None)
            if bound is not None:
                return read(bound, self)
            return either(read(arg, self) for arg in call.args[1:]) if len(call.args) > 1 else Anything()
        if maker in known.CONSTRAINED:
            return read(call, self)
        from .classes import read_made

        return read_made(at, call, maker)

    def _imported(self, bound: Imported, rest: str) -> Found:
        full = ".".join(filter(None, (bound.module, bound.name, rest)))
        if not bound.relative and is_known(full):
            return known.canonical(full)
        owner, _, last = full.rpartition(".")
        sibling = self._sibling(owner, bound.relative)
        if sibling is not None:
            found = sibling.find_open(last)
            if found is not None:
                return found
        if bound.name and rest:  # from . import shapes; shapes.Job.Part
            sibling = self._sibling(".".join(filter(None, (bound.module, bound.name))), bound.relative)
            return None if sibling is None else sibling.find_open(rest)
        return None if bound.relative else known.canonical(full)

    def find_open(self, dotted: str) -> Found:
        """`find`, from another file: imports that go round in a circle find nothing."""
        head = dotted.partition(".")[0]
        bound = self._names.get(head)
        if not isinstance(bound, Imported):
            return self.find(dotted)
        if head in self._open:
            return None
        self._open.add(head)
        try:
            return self._imported(bound, dotted.partition(".")[2])
        finally:
            self._open.discard(head)

    def _sibling(self, name: str, relative: bool) -> Module | None:
        if not name or (not relative and name.partition(".")[0] in sys.stdlib_module_names):
            return None
        return self.library.sibling(name)

    def _outside(self, dotted: str) -> Found:
        head, _, rest = dotted.partition(".")
        for star in self._stars:
            full = f"{star.module}.{dotted}"
            if not star.relative and is_known(full):
                return known.canonical(full)
            sibling = self._sibling(star.module, star.relative)
            found = sibling.find_open(dotted) if sibling is not None and sibling is not self else None
            if found is not None and found != f"builtins.{dotted}":
                return found
        if not rest and hasattr(builtins, head):
            return f"builtins.{head}"
        return known.LOOSE.get(dotted)


def is_known(full: str) -> bool:
    name = known.canonical(full)
    return known.bare(name) is not None or name in known.SPECIAL


def _inner(at: ClassAt, rest: str) -> Found:
    for name in rest.split(".") if rest else ():
        for statement in at.node.body:
            if isinstance(statement, ast.ClassDef) and statement.name == name:
                at = ClassAt(at.module, statement)
                break
        else:
            return None
    return at


COMPOUND = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match
)  # fmt: skip


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a file is imported, an except handler's before its try's, so that the try's win."""
    for statement in body:
        if not isinstance(statement, COMPOUND):
            yield statement
            continue
        match statement:
            case ast.If(test=test) if named(test) == "TYPE_CHECKING":
                yield from statements(statement.orelse)
            case ast.If(test=test) if is_main(test):
                yield from statements(statement.orelse)
            case ast.If() | ast.For() | ast.AsyncFor() | ast.While():
                yield from statements(statement.body)
                yield from statements(statement.orelse)
            case ast.With() | ast.AsyncWith():
                yield from statements(statement.body)
            case ast.Try() | ast.TryStar():
                for handler in statement.handlers:
                    yield from statements(handler.body)
                yield from statements(statement.body)
                yield from statements(statement.orelse)
                yield from statements(statement.finalbody)
            case ast.Match():
                for case in statement.cases:
                    yield from statements(case.body)


def named(test: ast.expr) -> str:
    return dotted_name(test).rpartition(".")[2]


def is_main(test: ast.expr) -> bool:
    """Whether this is the test of `if __name__ == "__main__":`, which is false in an imported file."""
    match test:
        case ast.Compare(left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]):
            return True
        case _:
            return False
