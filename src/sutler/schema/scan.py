"""What tools a Python file offers, without importing it and without building a schema (LIB-03, LIB-04, LIB-07, LIB-10).

This is the hot path of discovery: one parse, one pass over the statements at module level. Functions and classes are
entered only where the text says that an import or a tool stands inside.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from .annotations import dotted_name
from .decorator import KEYWORDS, Declared
from .module import statements
from .salvage import parse_or_salvage

LIBRARY_CONSTANTS = "TOOL_LIBRARY_"

_IMPORT = re.compile(r"[ \t]+(?:import|from)[ \t]|.*[:;][ \t]*(?:import|from)[ \t]")
_TOOL = re.compile(r"[ \t]+(?:(?:async[ \t]+)?def[ \t]+tool_|@(?:\w+\.)*tool\b)")

Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)  # a tuple is quicker to ask than a union


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTool:
    """One function that is a tool, or would be. `name` is the function's; `declared.name` may be another."""

    name: str
    line: int
    is_async: bool = False
    declared: Declared | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxProblem:
    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else self.file
        return f"{place}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What one file holds.

    tools: in file order. replaced: earlier defs of a name that a later one took over.
    providers: functions that write a part of a prompt (LIB-04). unreachable: tools inside functions or classes, or
    under a test that is false on import. attributes: module constants with a literal value (containers only for
    TOOL_LIBRARY_*). imports: top-level names of the modules imported anywhere in the file.
    fallback: why the file does not parse; the rest was then salvaged.
    """

    tools: tuple[FoundTool, ...] = ()
    replaced: tuple[FoundTool, ...] = ()
    providers: tuple[str, ...] = ()
    unreachable: tuple[FoundTool, ...] = ()
    attributes: dict[str, Any] = field(default_factory=lambda: dict[str, Any]())
    imports: frozenset[str] = frozenset()
    fallback: SyntaxProblem | None = None
    notes: tuple[str, ...] = ()


def scan(text: str, *, file: str, stem: str) -> Scan:
    """The tools of one file's text. `stem` is the library's name, for `tool_<stem>_prompt`. Never raises."""
    tree, problem = parse_or_salvage(text)
    reading = Reading(file)
    for statement in statements(tree.body):
        reading.statement(statement)
    tools, providers = _without_providers(reading.tools, stem)
    return Scan(
        tools=_in_file_order(found for found, _ in tools.values()),
        replaced=_in_file_order(reading.replaced),
        providers=providers,
        unreachable=_unreachable(text, tree, reading),
        attributes=reading.attributes,
        imports=frozenset(reading.imports | _nested_imports(text, tree)),
        fallback=None if problem is None else _syntax_problem(file, problem),
        notes=tuple(reading.notes),
    )


class Reading:
    """One pass over the statements at module level."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.tools: dict[str, tuple[FoundTool, Function]] = {}
        self.replaced: list[FoundTool] = []
        self.attributes: dict[str, Any] = {}
        self.imports: set[str] = set()
        self.notes: list[str] = []
        self._marks: set[str] = set()  # names that are sutler's `tool`, or sutler itself
        self._foreign: dict[str, str] = {}  # other things called tool, and where they come from

    def statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, _FUNCTIONS):
            self._function(statement)
        elif isinstance(statement, ast.Import):
            for item in statement.names:
                top = item.name.partition(".")[0]
                self.imports.add(top)
                if top == "sutler":
                    self._marks.add(item.asname or top)
        elif isinstance(statement, ast.ImportFrom):
            self._import_from(statement)
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    self._assign(target.id, statement.value, statement.lineno)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            self._assign(statement.target.id, statement.value, statement.lineno)

    def _function(self, node: Function) -> None:
        marked = self.mark(node)
        if not node.name.startswith("tool_") and marked is None:
            if node.name == "tool":
                self._foreign.setdefault("tool", "this file")
            return
        declared = self.declared(marked) if marked is not None else None
        found = FoundTool(
            name=node.name, line=node.lineno, is_async=isinstance(node, ast.AsyncFunctionDef), declared=declared
        )
        if node.name in self.tools:
            self.replaced.append(self.tools[node.name][0])
        self.tools[node.name] = (found, node)

    def mark(self, node: Function | ast.ClassDef) -> ast.expr | None:
        """The decorator that is ours, if there is one."""
        for decorator in node.decorator_list:
            name = dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
            head, _, last = name.rpartition(".")
            if head:
                if last == "tool" and head in self._marks:
                    return decorator
            elif name in self._marks:
                return decorator
            elif name == "tool":
                if name not in self._foreign:
                    return decorator
                if not node.name.startswith("tool_"):
                    self.note(node.lineno, f"@tool on {node.name} comes from {self._foreign[name]}: not offered")
        return None

    def declared(self, decorator: ast.expr) -> Declared:
        """The keywords of `@tool(...)` that are literals and can be meant; each other one is a note."""
        if not isinstance(decorator, ast.Call):
            return Declared()
        words: dict[str, Any] = {}
        if decorator.args:
            self.note(decorator.lineno, "@tool takes keywords only")
        for word in decorator.keywords:
            if word.arg not in KEYWORDS:
                self.note(decorator.lineno, f"@tool has no keyword {word.arg or '**'}")
                continue
            try:
                value = ast.literal_eval(word.value)
                Declared(**{word.arg: value})
            except (TypeError, ValueError) as error:
                literal = isinstance(word.value, ast.Constant)
                why = str(error) if literal or "@tool" in str(error) else f"@tool: {word.arg} is not a literal"
                self.note(decorator.lineno, f"{why}; ignored")
                continue
            words[word.arg] = value
        if words.get("read_only") and words.get("destructive"):
            self.note(decorator.lineno, "@tool: read_only and destructive contradict each other; read_only ignored")
            del words["read_only"]
        return Declared(**words)

    def note(self, line: int, text: str) -> None:
        self.notes.append(f"{self.file}:{line}: {text}")

    def _import_from(self, statement: ast.ImportFrom) -> None:
        top = (statement.module or "").partition(".")[0]
        if statement.level == 0 and top:
            self.imports.add(top)
        for item in statement.names:
            bound = item.asname or item.name
            if top == "sutler" and statement.level == 0 and item.name in ("tool", "*"):
                self._marks.add("tool" if item.name == "*" else bound)
            elif bound == "tool":
                self._foreign.setdefault("tool", statement.module or "a module beside it")

    def _assign(self, name: str, value: ast.expr, line: int) -> None:
        if name.startswith("tool_") and name not in self.tools:
            self.note(line, f"{name} is assigned, not written as a def: not offered")
        if isinstance(value, ast.Constant):
            self.attributes[name] = value.value
        elif name.startswith(LIBRARY_CONSTANTS) or isinstance(value, ast.UnaryOp):
            try:
                self.attributes[name] = ast.literal_eval(value)
            except (TypeError, ValueError, MemoryError, RecursionError):
                if name.startswith(LIBRARY_CONSTANTS):
                    self.note(line, f"{name} is not a literal: ignored")
        else:
            self.attributes.pop(name, None)


def _in_file_order(tools: Iterable[FoundTool]) -> tuple[FoundTool, ...]:
    return tuple(sorted(tools, key=attrgetter("line")))


def _without_providers(
    tools: dict[str, tuple[FoundTool, Function]], stem: str
) -> tuple[dict[str, tuple[FoundTool, Function]], tuple[str, ...]]:
    """Tools apart from prompt providers. A provider's own name makes no further provider, hence shortest first."""
    prompts = [name for name in tools if name.endswith("_prompt")]
    if not prompts:
        return tools, ()
    of_library = f"tool_{re.sub(r'[^0-9A-Za-z_]', '_', stem)}_prompt"
    kept = dict(tools)
    providers: list[str] = []
    for name in sorted(prompts, key=len):
        found, node = tools[name]
        base = name.removesuffix("_prompt")
        tool_known = base in kept or base.removeprefix("tool_") in kept
        if (name == of_library or tool_known) and found.declared is None and not _required(node):
            providers.append(name)
            del kept[name]
    return kept, tuple(sorted(providers, key=lambda name: tools[name][0].line))


def _required(node: Function) -> bool:
    given = node.args
    positional = len(given.posonlyargs) + len(given.args) > len(given.defaults)
    return positional or any(default is None for default in given.kw_defaults)


def _unreachable(text: str, tree: ast.Module, reading: Reading) -> tuple[FoundTool, ...]:
    lines = _lines_with(text, ("def tool_", "@tool", ".tool"), _TOOL)
    if not lines:
        return ()
    top = {id(statement) for statement in statements(tree.body)}
    found: list[FoundTool] = []
    for statement in _inside(tree.body, lines):
        if isinstance(statement, _FUNCTIONS) and id(statement) not in top:
            marked = reading.mark(statement)
            if statement.name.startswith("tool_") or marked is not None:
                is_async = isinstance(statement, ast.AsyncFunctionDef)
                found.append(FoundTool(name=statement.name, line=statement.lineno, is_async=is_async))
    return tuple(found)


def _nested_imports(text: str, tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for statement in _inside(tree.body, _lines_with(text, ("import",), _IMPORT)):
        if isinstance(statement, ast.Import):
            found.update(item.name.partition(".")[0] for item in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0 and statement.module:
            found.add(statement.module.partition(".")[0])
    return found


def _lines_with(text: str, needles: Iterable[str], pattern: re.Pattern[str]) -> list[int]:
    """The numbers, from 1, of the lines that hold a needle and match a pattern. Finding beats a pattern per line."""
    starts: set[int] = set()
    for needle in needles:
        at = text.find(needle)
        while at >= 0:
            start = text.rfind("\n", 0, at) + 1
            if pattern.match(text, start):
                starts.add(start)
            at = text.find(needle, at + 1)
    lines: list[int] = []
    line, position = 1, 0
    for start in sorted(starts):
        line += text.count("\n", position, start)
        position = start
        lines.append(line)
    return lines


def _inside(body: list[ast.stmt], lines: list[int]) -> Iterator[ast.stmt]:
    """Every statement, at any depth, that covers one of the lines."""
    for statement in body if lines else ():
        start = statement.lineno
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)) and statement.decorator_list:
            start = statement.decorator_list[0].lineno
        end = statement.end_lineno or start
        within = lines[bisect_left(lines, start) : bisect_right(lines, end)]
        if not within:
            continue
        yield statement
        for name in ("body", "orelse", "finalbody"):
            yield from _inside(getattr(statement, name, []), within)
        for branch in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _inside(branch.body, within)


def _syntax_problem(file: str, problem: BaseException) -> SyntaxProblem:
    if isinstance(problem, SyntaxError):
        return SyntaxProblem(file=file, line=problem.lineno, message=problem.msg)
    if isinstance(problem, RecursionError | MemoryError):
        return SyntaxProblem(file=file, line=None, message="the code is nested too deeply to be read")
    return SyntaxProblem(file=file, line=None, message=str(problem))
