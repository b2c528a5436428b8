"""Where tools and the program's own functions are used, and in what surroundings. One walk; nothing is judged here."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Around:
    """What encloses a piece of program: functions from the outside in, a loop, a lambda, a generator expression."""

    functions: tuple[Function, ...] = ()
    loop: bool = False
    lambda_: ast.Lambda | None = None
    lazy: ast.GeneratorExp | None = None
    method: Function | None = None
    annotation: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """One mention of a tool or of a function of the program. `call` is set when the mention calls it."""

    name: str
    node: ast.Name
    call: ast.Call | None
    around: Around
    given_to: ast.Call | None = None  # the call that takes this mention as an argument


@dataclass(slots=True)
class Uses:
    tools: list[Use] = field(default_factory=lambda: list[Use]())
    functions: list[Use] = field(default_factory=lambda: list[Use]())
    parallel: list[Use] = field(default_factory=lambda: list[Use]())
    defined: dict[str, list[Function]] = field(default_factory=lambda: dict[str, list[Function]]())
    around: dict[int, Around] = field(default_factory=lambda: dict[int, Around]())  # of each function, by id

    def repeated(self) -> set[str]:
        """Functions that may run more than once: called in a loop, twice, by themselves, decorated or given away."""
        many: set[str] = set()
        for name, definitions in self.defined.items():
            if len(definitions) > 1 or any(one.decorator_list or self.around[id(one)].loop for one in definitions):
                many.add(name)
        counts: dict[str, int] = {}
        for use in self.functions:
            counts[use.name] = counts.get(use.name, 0) + 1
            inside = {one.name for one in use.around.functions}
            around = use.around
            if use.call is None or around.loop or around.lambda_ or around.method or use.name in inside:
                many.add(use.name)
        many |= {name for name, count in counts.items() if count > 1}
        # What a repeated function calls, or defines, is repeated too.
        below: dict[str, set[str]] = {}
        for use in self.functions:
            for outer in use.around.functions:
                below.setdefault(outer.name, set()).add(use.name)
        for name, definitions in self.defined.items():
            for one in definitions:
                for outer in self.around[id(one)].functions:
                    below.setdefault(outer.name, set()).add(name)
        return _closure(many, below)

    def reaching(self) -> dict[str, set[str]]:
        """For each function of the program the tools that a call of it can reach."""
        callers: dict[str, set[str]] = {}
        for use in self.functions:
            callers.setdefault(use.name, set()).update(one.name for one in use.around.functions)
        direct: dict[str, set[str]] = {}
        for use in self.tools:
            direct.setdefault(use.name, set()).update(one.name for one in use.around.functions)
        reach: dict[str, set[str]] = {name: set() for name in self.defined}
        for tool, functions in direct.items():
            for name in _closure(functions, callers):
                reach[name].add(tool)
        return reach


def _closure(start: set[str], step: dict[str, set[str]]) -> set[str]:
    seen, waiting = set(start), list(start)
    while waiting:
        for name in step.get(waiting.pop(), ()):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return seen


class Walker:
    """Fills `uses`. `is_tool` tells tool names; functions are matched by name alone, which errs on the safe side."""

    def __init__(self, is_tool: Callable[[str], bool], parallel: str) -> None:
        self.is_tool = is_tool
        self.parallel = parallel
        self.uses = Uses()

    def run(self, tree: ast.Module) -> Uses:
        for node in ast.walk(tree):
            if isinstance(node, Function):
                self.uses.defined.setdefault(node.name, []).append(node)
        self.walk(tree, Around())
        return self.uses

    def walk_all(self, nodes: Iterable[ast.AST | None], around: Around) -> None:
        for node in nodes:
            if node is not None:
                self.walk(node, around)

    def walk(self, node: ast.AST, around: Around) -> None:
        special = getattr(self, f"on_{type(node).__name__}", None)
        if special is not None:
            special(node, around)
        else:
            self.walk_all(ast.iter_child_nodes(node), around)

    def mention(self, node: ast.Name, around: Around, call: ast.Call | None, given_to: ast.Call | None = None) -> None:
        use = Use(node.id, node, call, around, given_to)
        if node.id == self.parallel:
            self.uses.parallel.append(use)
        elif self.is_tool(node.id):
            self.uses.tools.append(use)
        elif node.id in self.uses.defined:
            self.uses.functions.append(use)

    def on_Name(self, node: ast.Name, around: Around) -> None:
        if isinstance(node.ctx, ast.Load):
            self.mention(node, around, None)

    def on_Call(self, node: ast.Call, around: Around) -> None:
        if isinstance(node.func, ast.Name):
            self.mention(node.func, around, node)
        else:
            self.walk(node.func, around)
        for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
            if isinstance(value, ast.Name):
                self.mention(value, around, None, node)
            else:
                self.walk(value, around)

    def on_For(self, node: ast.For, around: Around) -> None:
        self.walk(node.iter, around)
        self.walk_all([node.target, *node.body], replace(around, loop=True))
        self.walk_all(node.orelse, around)

    on_AsyncFor = on_For

    def on_While(self, node: ast.While, around: Around) -> None:
        self.walk_all([node.test, *node.body], replace(around, loop=True))
        self.walk_all(node.orelse, around)

    def comprehension(self, node: Comprehension, around: Around) -> None:
        self.walk(node.generators[0].iter, around)
        inner = replace(around, loop=True, lazy=node if isinstance(node, ast.GeneratorExp) else around.lazy)
        for index, generator in enumerate(node.generators):
            self.walk_all([generator.target, *generator.ifs, generator.iter if index else None], inner)
        self.walk_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt], inner)

    on_ListComp = comprehension
    on_SetComp = comprehension
    on_DictComp = comprehension
    on_GeneratorExp = comprehension

    def arguments(self, args: ast.arguments, around: Around) -> None:
        self.walk_all([*args.defaults, *args.kw_defaults], around)
        notes = replace(around, annotation=True)
        for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
            if arg is not None:
                self.walk_all([arg.annotation], notes)

    def on_Lambda(self, node: ast.Lambda, around: Around) -> None:
        self.arguments(node.args, around)
        self.walk(node.body, replace(around, loop=True, lambda_=node))

    def on_FunctionDef(self, node: Function, around: Around) -> None:
        self.uses.around[id(node)] = around
        self.walk_all(node.decorator_list, around)
        self.arguments(node.args, around)
        self.walk_all([node.returns], replace(around, annotation=True))
        # A function's body is no part of the loop or generator that it is defined in; `repeated` accounts for that.
        inner = Around(functions=(*around.functions, node), method=around.method)
        self.walk_all(node.body, inner)

    on_AsyncFunctionDef = on_FunctionDef

    def on_ClassDef(self, node: ast.ClassDef, around: Around) -> None:
        self.walk_all([*node.decorator_list, *node.bases, *node.keywords], around)
        for statement in node.body:
            if isinstance(statement, Function):
                self.uses.around[id(statement)] = around
                self.walk_all(statement.decorator_list, around)
                self.arguments(statement.args, around)
                self.walk_all([statement.returns], replace(around, annotation=True))
                # Methods are reached through attributes, so nobody can count their calls.
                inner = Around(functions=(*around.functions, statement), loop=True, method=statement)
                self.walk_all(statement.body, inner)
            else:
                self.walk(statement, around)

    def on_AnnAssign(self, node: ast.AnnAssign, around: Around) -> None:
        self.walk_all([node.value, node.target], around)
        self.walk(node.annotation, replace(around, annotation=True))
