"""What a level does not have, in plain words with what to write instead (FS15). The walk knows no tools."""

from __future__ import annotations

import ast
import re

from .levels import MEMBERS, NODES, modules_for
from .messages import MEMBER_WORDS, METHODS, closest, frame_words, module_words
from .model import Report
from .parse import Source
from .words import OPERATORS, refused

_FRAME = re.compile(
    r"(f_(back|builtins|code|globals|lasti|lineno|locals|trace\w*)|(gi|cr|ag)_(await|code|frame|origin|running|"
    r"suspended|yieldfrom)|tb_(frame|lasti|lineno|next)|co_\w+|func_(closure|code|defaults|dict|doc|globals|name)|"
    r"im_(class|func|self))\Z"
)
_FIELDS = frozenset(("_asdict", "_replace", "_fields"))  # public in namedtuple
_SCALARS = (str, int, float, bool, type(None))
_ENDLESS = frozenset(("count", "cycle", "repeat"))


# Judged with the construct that they are a part of.
_PARTS = (ast.expr_context, ast.ExceptHandler, ast.withitem, ast.match_case, ast.pattern, ast.alias, ast.arguments)


class Grammar(ast.NodeVisitor):
    """Reports every construct, attribute and import that the level or the engine does not take."""

    def __init__(self, level: str, source: Source, report: Report) -> None:
        self.level = level
        self.nodes = NODES[level]
        self.source = source
        self.report = report
        self.keys: set[int] = set()  # lambdas given as key=, which even `calls` takes
        self.classes = {node.name for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)}
        self.modules: dict[str, str] = {}  # local name -> module
        self.imported: dict[str, str] = {}  # local name -> module.member
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Import):
                self.modules |= {alias.asname or alias.name: alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                self.imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}

    def say(self, node: ast.AST, message: str, rewrite: str = "") -> None:
        self.report.add(self.source.problem(node, message, rewrite))

    def visit(self, node: ast.AST) -> None:
        kind = type(node).__name__
        if isinstance(node, _PARTS):
            super().visit(node)
            return
        if kind not in self.nodes or (kind == "Lambda" and self.level == "calls" and id(node) not in self.keys):
            self.say(node, *refused(node, self.level, self.source))
            if isinstance(node, ast.ClassDef | ast.Import | ast.ImportFrom | ast.Lambda):
                return
        super().visit(node)

    # -- operators and constants

    def _operator(self, node: ast.AST, operator: ast.AST) -> None:
        kind = type(operator).__name__
        if kind not in self.nodes or (isinstance(node, ast.AugAssign) and kind == "MatMult"):
            sign, instead = OPERATORS[kind]
            self.say(node, f"the operator {sign} is not available at this level", instead)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._operator(node, node.op)
        self.visit(node.left)
        self.visit(node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._operator(node, node.op)
        self.visit(node.target)
        self.visit(node.value)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self._operator(node, node.op)
        self.visit(node.operand)

    def visit_Constant(self, node: ast.Constant) -> None:
        if self.level == "calls" and not isinstance(node.value, _SCALARS):
            self.say(node, f"{self.source.segment(node, 60)} is not plain data", "text, a number, True, False or None")

    # -- attributes

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = node.attr
        if isinstance(node.ctx, ast.Store) and self.level != "full":
            self.say(
                node, f"attributes cannot be set ({self.source.segment(node, 60)})", f"a dict: d[{name!r}] = value"
            )
        if _FRAME.match(name):
            self.say(node, f".{name}: {frame_words()[0]}", frame_words()[1])
        elif name.startswith("__"):
            if name != "__name__" or self.level == "calls":
                instead = "type(value).__name__" if name == "__class__" and self.level != "calls" else "the public name"
                self.say(node, f".{name} begins with two underscores and cannot be reached", instead)
        elif name.startswith("_") and self.level != "full" and name not in _FIELDS:
            self.say(node, f".{name} begins with an underscore and cannot be reached", f".{name.strip('_') or 'name'}")
        elif name in METHODS and not self.classes:
            self.say(node, f".{name} is not available", METHODS[name])
        elif name in ("format", "format_map") and self.level == "calls":
            self._template(node)
        if isinstance(node.value, ast.Name) and node.value.id in self.modules:
            self._member(node, self.modules[node.value.id], name)
        instead = MEMBER_WORDS.get(f"{self._target(node.value)}.{name}")
        if instead is not None:
            self.say(node, f".{name} is not available", instead)
        self.visit(node.value)

    def _template(self, node: ast.Attribute) -> None:
        template = node.value
        if not (isinstance(template, ast.Constant) and isinstance(template.value, str)):
            self.say(node, f"{node.attr} works only on a text written in place", 'an f-string: f"{name}"')
            return
        for name in re.findall(r"\.(\w+)", " ".join(re.findall(r"\{[^{}]*", template.value))):
            if name.startswith("_") or _FRAME.match(name):
                self.say(node, f"{{.{name}}} reaches behind a value", 'an f-string: f"{name}"')

    # -- imports

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name not in modules_for(self.level):
                root = alias.name.split(".")[0]
                if alias.name in MEMBER_WORDS:
                    self.say(node, f"module {alias.name} is not available", MEMBER_WORDS[alias.name])
                elif "." in alias.name and root in modules_for(self.level):
                    self.say(node, f"module {alias.name} is not available", f"import {root}")
                else:
                    self.say(node, *module_words(root, self.level))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            self.say(node, "relative imports are not available: a program is one text", "the code itself")
        elif any(alias.name == "*" for alias in node.names):
            self.say(
                node, "import * is not available", f"from {module} import " + (sorted(MEMBERS.get(module, ["name"]))[0])
            )
        elif module == "__future__":
            if any(alias.name != "annotations" for alias in node.names):
                self.say(node, "only annotations can be imported from __future__", "the program without this line")
        elif module not in modules_for(self.level):
            if module in MEMBER_WORDS:
                self.say(node, f"module {module} is not available", MEMBER_WORDS[module])
            else:
                self.say(node, *module_words(module.split(".")[0], self.level))
        else:
            for alias in node.names:
                self._member(node, module, alias.name)

    def _member(self, node: ast.AST, module: str, name: str) -> None:
        members = MEMBERS.get(module)
        if members is None or name in members or name.startswith("_"):
            return
        known = MEMBER_WORDS.get(f"{module}.{name}")
        near = closest(name, members)
        self.say(
            node,
            f"{module}.{name} is not available",
            known or (f"{module}.{near}" if near else f"one of {module}: {', '.join(sorted(members)[:8])}"),
        )

    # -- calls

    def visit_Call(self, node: ast.Call) -> None:
        self.keys |= {id(keyword.value) for keyword in node.keywords if keyword.arg == "key"}
        if self.level == "calls" and not isinstance(node.func, ast.Name | ast.Attribute):
            self.say(node, "only tools, builtins and methods can be called", "a call by name: tool(...)")
        target = self._target(node.func)
        names = {keyword.arg for keyword in node.keywords}
        if target in ("json.dumps", "json.dump") and names & {"default", "cls"}:
            self.say(node, "json.dumps has no default= here", "json.dumps of plain data: str(value) for what is none")
        elif target in ("json.loads", "json.load") and names & {
            "object_hook",
            "cls",
            "object_pairs_hook",
            "parse_float",
        }:
            self.say(node, f"{target} takes only the text", "json.loads(text)")
        elif target == "re.sub" and len(node.args) > 1 and isinstance(node.args[1], ast.Lambda):
            self.say(node, "re.sub takes text as replacement, not a function", "a loop over re.finditer(pattern, text)")
        self.generic_visit(node)

    def _target(self, func: ast.expr) -> str:
        if isinstance(func, ast.Name):
            return self.imported.get(func.id, "")
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in self.modules:
            return f"{self.modules[func.value.id]}.{func.attr}"
        return ""

    def visit_comprehension(self, node: ast.comprehension) -> None:
        if isinstance(node.iter, ast.Call) and self._target(node.iter.func) in {
            f"itertools.{name}" for name in _ENDLESS
        }:
            endless = self._target(node.iter.func) != "itertools.repeat" or len(node.iter.args) < 2
            if endless:
                self.say(
                    node.iter, "this comprehension would never end: it is worked out whole", "a while loop with break"
                )
        if node.is_async:
            self.say(node.target, "there is no async: a tool call gives its value at once", "the same without async")
        self.generic_visit(node)

    # -- what the engine lacks inside constructs that it has

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if node.bases or node.keywords:
            self.say(
                node,
                f"class {node.name} cannot inherit from anything",
                "a class without (...), plain functions or a dict",
            )
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
                self.say(statement, "methods cannot be decorated", "a plain method, called as value.name()")
        self.generic_visit(node)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            made = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
            if isinstance(made, ast.Name) and made.id not in self.classes:
                self.say(node, *refused(node, self.level, self.source))
                break
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if isinstance(raised, ast.Name) and raised.id in ("SystemExit", "KeyboardInterrupt"):
            self.say(node, f"{raised.id} cannot be raised", "raise RuntimeError('why'), or if ...: around the rest")
        elif isinstance(raised, ast.Constant):
            self.say(node, "only exceptions can be raised", f"raise RuntimeError({self.source.segment(raised, 60)})")
        self.generic_visit(node)
