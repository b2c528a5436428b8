"""The check of a whole program: nothing runs before it has passed (PRG-06), and what passed has a plan (PRG-07)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from . import rules
from .batches import announcements
from .calls import bind
from .grammar import Grammar
from .levels import ENGINE_BUILTINS, PARALLEL, builtins_for
from .messages import NAMES, by_ending, closest, import_for, module_words, outside_module, short
from .model import MAX_PROBLEMS, OR_PARAMETER, CallSite, Checked, Problem, Report, ToolSig
from .names import Names, Unknown
from .parse import Source, parse, quietly, too_deep
from .rewrite import engine_text
from .uses import Use, Uses, Walker

_SURELY = 0.8  # how like a tool a name must be that is not called


def check(
    text: str,
    tools: Mapping[str, ToolSig],
    *,
    level: str = "program",
    params: Iterable[str] = (),
    ahead: bool = False,
) -> Checked:
    """Check `text` against the tools it may call, by program name, and plan it.

    params: names that the run will be given values for. Asks `tools` only for the names that the program holds.
    ahead: whether the text to run announces calls that may be under way at once (batches.py).
    Raises ValueError for an unknown level, and nothing else whatever the text is.
    """
    builtins_for(level)
    parsed = parse(text)
    if isinstance(parsed, Problem):
        return Checked(ok=False, errors=(parsed,), text=text)
    try:
        return _Check(parsed, tools, level, tuple(params)).run(ahead)
    except (RecursionError, MemoryError):
        return Checked(ok=False, errors=(too_deep(1),), text=text)


class _Check:
    def __init__(self, source: Source, tools: Mapping[str, ToolSig], level: str, params: tuple[str, ...]) -> None:
        self.source = source
        self.tools = tools
        self.signature = cache(tools.__getitem__)  # a mapping may work a signature out anew each time
        self.level = level
        self.params = params
        self.builtins = builtins_for(level)
        self.report = Report()
        calls = [node.func for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
        self.called = {func.id for func in calls if isinstance(func, ast.Name)}
        opened = [node.value for node in ast.walk(source.tree) if isinstance(node, ast.Attribute)]
        self.opened = {value.id for value in opened if isinstance(value, ast.Name)}

    def run(self, ahead: bool) -> Checked:
        source, report = self.source, self.report
        for name in self.params:
            if self.is_tool(name) or name in self.builtins:
                what = "a tool" if self.is_tool(name) else "a builtin"
                message = f"the parameter {name} has the name of {what}"
                report.add(Problem(line=1, column=1, message=message, rewrite=f"{name}_value as the parameter's name"))
        Grammar(self.level, source, report).visit(source.tree)
        names = Names(self.params, self.bound)
        names.visit(source.tree)
        self.unknown(names)
        uses = Walker(self.is_tool, PARALLEL).run(source.tree)
        rules.judge(uses, self.signature, source, report)
        calls = self.plan(uses)
        text = source.text
        if not report:
            self.compiles()
        if not report:
            more = announcements(source, self.reads) if ahead else []
            rewritten = engine_text(source, self.level, more)
            if more and isinstance(rewritten, Problem):
                rewritten = engine_text(source, self.level)
            if isinstance(rewritten, Problem):
                report.add(rewritten)
            else:
                text = rewritten
        errors = report.problems()
        reached = frozenset(use.name for use in uses.tools)
        grades = [self.signature(name).grade for name in reached]
        return Checked(
            ok=not errors,
            errors=tuple(errors[:MAX_PROBLEMS]),
            more=max(0, len(errors) - MAX_PROBLEMS),
            calls=calls,
            tools=reached,
            grade=(max((w for w, _ in grades), default=0), max((d for _, d in grades), default=0)),
            text=text,
        )

    def is_tool(self, name: str) -> bool:
        """The engine never asks for a name that it knows itself, so such a name is no tool here either."""
        return name not in ENGINE_BUILTINS and name != PARALLEL and name in self.tools

    def reads(self, name: str) -> bool:
        return self.is_tool(name) and self.signature(name).read_only

    def known(self, name: str) -> bool:
        return name in self.builtins or self.is_tool(name) or (name == "__name__" and self.level != "calls")

    # -- names

    def bound(self, name: str, node: ast.AST, in_class: bool) -> None:
        """Hears of every binding."""
        if self.is_tool(name):
            message = f"{name} is a tool, and its name cannot stand for anything else"
            self.report.add(self.source.problem(node, message, f"another name, for example {name}_result"))
        elif in_class:
            return
        elif name in ENGINE_BUILTINS or name == PARALLEL:
            message = f"{name} is a builtin, and its name cannot stand for anything else"
            self.report.add(self.source.problem(node, message, f"another name, for example {name}_"))
        elif name.startswith("__"):
            message = f"the name {name} begins with two underscores"
            self.report.add(self.source.problem(node, message, name.strip("_") or "value"))

    def unknown(self, names: Names) -> None:
        missing = sorted(names.unknown(self.known), key=lambda one: (one.node.lineno, one.node.col_offset))
        explained: dict[tuple[str, bool, str], tuple[str, str]] = {}
        for one in missing:
            kind = (one.node.id, one.late, one.local_to)
            if kind not in explained:
                # Finding the closest name takes time, and only the first few are ever shown.
                few = len(explained) < MAX_PROBLEMS
                explained[kind] = self.words(one, names) if few else (f"there is no name {one.node.id}", "")
            message, rewrite = explained[kind]
            problem = self.source.problem(one.node, message, rewrite)
            self.report.add(replace(problem, unknown=one.node.id, called=one.node.id in self.called))
        if self.level == "calls":
            reported = {one.node.id for one in missing}
            for node in ast.walk(self.source.tree):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    name = node.func.id
                    if not self.known(name) and name not in reported:
                        message = f"{name} is a variable, and only tools, builtins and methods can be called"
                        self.report.add(self.source.problem(node, message, "a tool by its own name"))

    def words(self, one: Unknown, names: Names) -> tuple[str, str]:
        name = short(one.node.id)
        called = one.node.id in self.called
        parameter = "" if called or name.startswith("_") else OR_PARAMETER
        if one.local_to:
            again = (
                f"global {name} as the first line of {one.local_to}"
                if name in names.module.bound
                else f"{name} = ... before"
            )
            return f"{name} is read in {one.local_to} before it gets a value there", again
        if one.late:
            return f"{name} is used before it gets a value", f"the line that makes {name} before this one{parameter}"
        if name in NAMES:
            return NAMES[name]
        if name.startswith("__"):
            return f"{name} cannot be reached", "a name without two underscores at its beginning"
        line = import_for(name, self.level)
        if line:
            return f"{name} is not imported", f"{line} as the first line{parameter}"
        if outside_module(name) and name in self.opened:
            return module_words(name, self.level)
        near = self.nearest(name, names, called)
        if near and self.is_tool(near):
            return f"there is no name {name}; the closest tool is {near}", self.signature(near).signature
        if near:
            return f"there is no name {name}; the closest is {near}", f"{near}{parameter}"
        if called:
            return f"there is no tool or function {name}; {self.how_many()}", ""
        return f"there is no name {name}", f"{name} = ... on a line before{parameter}"

    def nearest(self, name: str, names: Names, called: bool) -> str:
        """What was meant: for what is called anything that can be; a name that is only read is hardly a tool."""
        bound = {name for scope in names.scopes for name in scope.bound}
        if called:
            functions = {builtin for builtin in self.builtins if not builtin.endswith("Error")}
            return closest(name, {*bound, *self.tools, *functions}) or by_ending(name, self.tools)
        return closest(name, bound) or closest(name, self.tools, least=_SURELY)

    def how_many(self) -> str:
        number = len(self.tools)
        return (
            "there are no tools"
            if not number
            else f"of the {number} tools none is close"
            if number > 1
            else "the only tool is " + next(iter(self.tools))
        )

    # -- plan

    def plan(self, uses: Uses) -> tuple[CallSite, ...]:
        repeated = uses.repeated()
        sites: list[CallSite] = []
        for use in uses.tools:
            if use.call is not None and not use.around.annotation:
                sites.append(self.site(use, use.call, repeated))
        return tuple(sorted(sites, key=lambda site: (site.line, site.column)))

    def site(self, use: Use, call: ast.Call, repeated: set[str]) -> CallSite:
        around = use.around
        args, whole = bind(call, self.signature(use.name), self.source, self.report)
        return CallSite(
            tool=use.name,
            line=use.node.lineno,
            column=self.source.column(use.node),
            args=args if whole else None,
            partly={} if whole else args,
            in_loop=around.loop or around.lambda_ is not None or any(one.name in repeated for one in around.functions),
        )

    def compiles(self) -> None:
        """Python's own compiler knows the rest: break outside a loop, an argument named twice, and their like."""
        tree = self.source.tree
        if any(isinstance(node, ast.Return) for node in ast.walk(tree)):
            tree = _OuterReturns().visit(quietly(lambda: ast.parse(self.source.text)))
        try:
            quietly(lambda: compile(tree, "<program>", "exec", dont_inherit=True))
        except SyntaxError as error:
            line = error.lineno or 1
            self.report.add(
                Problem(line=line, column=max(error.offset or 1, 1), message=(error.msg or "not Python").rstrip("."))
            )
        except ValueError as error:
            self.report.add(Problem(line=1, column=1, message=f"the program cannot be compiled ({error})"))


class _OuterReturns(ast.NodeTransformer):
    """The engine takes `return` at the outermost level, where it ends the program; Python's compiler does not."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)
