"""Who binds which name, and which names nobody binds.

One walk in evaluation order. A read is fine when a binding stands earlier in the same scope, in the same loop, or in
an enclosing scope; functions run later, so names they take from outside may be bound anywhere in that outer scope.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

NEVER = 1 << 60


@dataclass(slots=True)
class Loop:
    """The outermost loop around a read; `end` is set when the walk leaves it."""

    end: int = NEVER


@dataclass(slots=True)
class Read:
    node: ast.Name
    at: int
    loop: Loop | None


@dataclass(slots=True, eq=False)
class Scope:
    kind: str  # module, function, comprehension, class
    parent: Scope | None
    label: str = ""
    first: dict[str, int] = field(default_factory=lambda: dict[str, int]())
    bound: set[str] = field(default_factory=lambda: set[str]())
    globals: set[str] = field(default_factory=lambda: set[str]())
    nonlocals: set[str] = field(default_factory=lambda: set[str]())
    reads: list[Read] = field(default_factory=lambda: list[Read]())
    loop: Loop | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """A name read where it has no value. `late`: it gets one only afterwards. `local_to`: the function that owns it."""

    node: ast.Name
    late: bool = False
    local_to: str = ""


OnBind = Callable[[str, ast.AST, bool], None]


class Names(ast.NodeVisitor):
    """Walks a program once; `on_bind` hears every binding of a name, in any scope and by
    any form, and whether it is made in the body of a class."""

    def __init__(self, params: Iterable[str], on_bind: OnBind) -> None:
        self.module = Scope("module", None)
        for name in params:
            self.module.first[name] = -1
            self.module.bound.add(name)
        self.scope = self.module
        self.scopes = [self.module]
        self.on_bind = on_bind
        self.clock = 0

    def unknown(self, known: Callable[[str], bool]) -> list[Unknown]:
        """Every read without a value, in no particular order; `known` tells builtins and tools."""
        found: list[Unknown] = []
        for scope in self.scopes:
            for read in scope.reads:
                problem = self._resolve(scope, read, known)
                if problem is not None:
                    found.append(problem)
        return found

    def _resolve(self, scope: Scope, read: Read, known: Callable[[str], bool]) -> Unknown | None:
        name = read.node.id
        where: Scope | None = scope
        immediate = True  # still in code that runs at the moment of the read
        while where is not None:
            if name in where.nonlocals:
                return None  # compiling the program makes sure that an outer function binds it
            if name in where.globals:
                return None if name in self.module.bound or known(name) else Unknown(read.node)
            if name in where.bound and (where.kind != "class" or where is scope):
                if not immediate:
                    return None
                reach = read.loop.end if read.loop is not None else read.at
                if where.first.get(name, NEVER) < reach:
                    return None
                if where.kind == "class":
                    where = where.parent
                    continue
                return Unknown(read.node, late=True, local_to=where.label if where.kind == "function" else "")
            if where.kind == "function":
                immediate = False
            where = where.parent
        return None if known(name) else Unknown(read.node)

    # -- bindings and reads

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def bind(self, name: str, node: ast.AST, *, initial: bool = True) -> None:
        self.on_bind(name, node, self.scope.kind == "class")
        scope = self.scope
        if isinstance(node, ast.NamedExpr):
            while scope.kind == "comprehension" and scope.parent is not None:
                scope = scope.parent
        if name in scope.nonlocals:
            return
        if name in scope.globals:
            self.module.bound.add(name)
            self.module.first[name] = 0  # whenever that function runs
            return
        scope.bound.add(name)
        if initial:
            scope.first.setdefault(name, self.tick())

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.scope.reads.append(Read(node, self.tick(), self.scope.loop))
        else:
            self.bind(node.id, node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.bind(node.target.id, node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:  # the engine never evaluates an annotation
            self.visit(node.value)
            self.visit(node.target)
        elif isinstance(node.target, ast.Name):
            self.bind(node.target.id, node.target, initial=False)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.scope.reads.append(
                Read(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target), self.tick(), self.scope.loop)
            )
            self.visit(node.value)
            self.bind(node.target.id, node.target, initial=False)
        else:
            self.visit(node.target)
            self.visit(node.value)

    def visit_Global(self, node: ast.Global) -> None:
        for name in node.names:
            self.on_bind(name, node, self.scope.kind == "class")
            if self.scope is not self.module:
                self.scope.globals.add(name)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        for name in node.names:
            self.on_bind(name, node, self.scope.kind == "class")
            self.scope.nonlocals.add(name)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            name = alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)
            if name != "*":
                self.bind(name, node)

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        if node.name is not None:
            self.bind(node.name, node)
        self.all(node.body)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self.generic_visit(node)
        if node.name is not None:
            self.bind(node.name, node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name is not None:
            self.bind(node.name, node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        if node.rest is not None:
            self.bind(node.rest, node)

    # -- loops and scopes

    def all(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def looped(self, nodes: Iterable[ast.AST]) -> None:
        """Visit what a loop repeats: a read there may see a binding of an earlier round."""
        outer = self.scope.loop
        loop = outer or Loop()
        self.scope.loop = loop
        self.all(nodes)
        self.scope.loop = outer
        if outer is None:
            loop.end = self.tick()

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        self.looped(node.body)
        self.all(node.orelse)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        self.looped([node.test, *node.body])
        self.all(node.orelse)

    def enter(self, kind: str, label: str = "") -> Scope:
        outer = self.scope
        self.scope = Scope(kind, outer, label)
        if kind in ("comprehension", "class"):  # runs on the spot, so in the same loop
            self.scope.loop = outer.loop
        self.scopes.append(self.scope)
        return outer

    def arguments(self, args: ast.arguments) -> None:
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        for arg in every:
            if arg is not None:
                self.bind(arg.arg, arg)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.all(node.decorator_list)
        self.defaults(node.args)
        self.bind(node.name, node)
        outer = self.enter("function", node.name)
        self.type_params(node)
        self.arguments(node.args)
        self.all(node.body)
        self.scope = outer

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.defaults(node.args)
        outer = self.enter("function")
        self.arguments(node.args)
        self.visit(node.body)
        self.scope = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.all([*node.decorator_list, *node.bases, *node.keywords])
        outer = self.enter("class", node.name)
        self.type_params(node)
        self.all(node.body)
        self.scope = outer
        self.bind(node.name, node)

    def defaults(self, args: ast.arguments) -> None:
        self.all([*args.defaults, *(one for one in args.kw_defaults if one is not None)])

    def type_params(self, node: ast.AST) -> None:
        for param in getattr(node, "type_params", ()):  # Python 3.12 and later
            self.bind(param.name, param)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        self.visit(node.generators[0].iter)
        outer = self.enter("comprehension")
        for index, generator in enumerate(node.generators):
            if index:
                self.visit(generator.iter)
            self.visit(generator.target)
            self.all(generator.ifs)
        self.all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self.scope = outer

    visit_ListComp = comprehension
    visit_SetComp = comprehension
    visit_GeneratorExp = comprehension
    visit_DictComp = comprehension
