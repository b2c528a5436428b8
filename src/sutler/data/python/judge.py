"""Reads Python code without running it: the reasons why it is not run unasked, none when all of it is understood.

A code is understood when every name is one that it binds itself or one of allowed.BUILTINS, every member of a module
one of allowed.MEMBERS, every file named by a plain text that lies in the workspace. What is anything else asks.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

from ..default_tools._guard import has_other_names, in_repository, inside, protected
from . import allowed

_MOST = 200_000
_SHOWN = 3
_READING, _WRITING = "rbt", "wax+"
_OPEN_KEYWORDS = frozenset({"mode", "encoding", "errors", "newline", "buffering"})


def reasons(code: str) -> list[str]:
    """Why this code must be asked for, the first three with their lines. Raises SyntaxError, ValueError for none."""
    if len(code) > _MOST:
        return [f"it is longer than {_MOST:,} characters"]
    try:
        tree = ast.parse(code)
        found = _Reading(tree).run()
    except (RecursionError, MemoryError):
        return ["it is nested too deeply to be read"]
    listed = [f"line {line}: {why}" for line, why in sorted(found)]
    more = len(listed) - _SHOWN
    return [*listed[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]


class _Reading:
    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._modules: dict[str, str] = {}  # the name it is bound to -> the module
        self._members: dict[str, str] = {}  # the name it is bound to -> module.member
        self._bound = set(_bindings(tree))
        self._own = set(_own_attributes(tree))
        self._found: set[tuple[int, str]] = set()

    def run(self) -> set[tuple[int, str]]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
        for name in (*self._modules, *self._members):
            if name in self._bound:
                self._ask(self._tree.body[0], f"the name {name} is an import and something else")
        for node in ast.walk(self._tree):
            self._look(node)
        return self._found

    def _ask(self, node: ast.AST, why: str) -> None:
        self._found.add((getattr(node, "lineno", 1), why))

    # ------------------------------------------------------------------ imports

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.name not in allowed.MEMBERS:
                    self._ask(node, _about_module(item.name))
                elif item.asname is not None:
                    self._bind(self._modules, item.asname, item.name, node)
                else:  # `import a.b` binds a, through which more than b may be seen
                    self._bind(self._modules, item.name.partition(".")[0], item.name.partition(".")[0], node)
            return
        module = node.module or ""
        if node.level or module not in allowed.MEMBERS:
            self._ask(node, _about_module("." * node.level + module))
            return
        for item in node.names:
            bound = item.asname or item.name
            if item.name in allowed.MEMBERS[module]:
                self._bind(self._members, bound, f"{module}.{item.name}", node)
            elif f"{module}.{item.name}" in allowed.MEMBERS:
                self._bind(self._modules, bound, f"{module}.{item.name}", node)
            else:
                self._ask(node, f"it uses {module}.{item.name}")

    def _bind(self, table: dict[str, str], name: str, what: str, node: ast.AST) -> None:
        if self._modules.get(name, what) != what or self._members.get(name, what) != what:
            self._ask(node, f"the name {name} is imported twice")
        table[name] = what

    # ------------------------------------------------------------------ everything else

    def _look(self, node: ast.AST) -> None:
        match node:
            case ast.Name():
                self._name(node)
            case ast.Attribute():
                self._attribute(node)
            case ast.FunctionDef() | ast.ClassDef():
                self._definition(node)
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                self._ask(node, "it uses async")
            case ast.MatchClass():
                for name in node.kwd_attrs:
                    self._attribute_name(node, name)
                    if self._knows_paths:
                        self._ask(node, "it takes attributes apart of something that may be a path")
            case ast.alias() | ast.arg() | ast.keyword():
                name = node.arg if not isinstance(node, ast.alias) else node.asname or ""
                if name and _magic(name):
                    self._ask(node, f"it uses {name}")
            case ast.Global() | ast.Nonlocal() | ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                names = node.names if isinstance(node, ast.Global | ast.Nonlocal) else [node.name or ""]
                for name in names:
                    if _magic(name):
                        self._ask(node, f"it uses {name}")
            case _:
                pass

    def _definition(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        if isinstance(node, ast.ClassDef):
            if node.keywords:
                self._ask(node, "a class is given more than its bases")
        elif _magic(node.name) and node.name not in allowed.DUNDER_METHODS:
            self._ask(node, f"it defines {node.name}")
        if isinstance(node, ast.ClassDef) and _magic(node.name):
            self._ask(node, f"it defines {node.name}")

    def _name(self, node: ast.Name) -> None:
        name = node.id
        if _magic(name):
            if name not in allowed.DUNDER_NAMES:
                self._ask(node, f"it uses {name}")
        elif name == "open":
            self._open(node)
        elif name == "type":
            self._type(node)
        elif name in allowed.OTHER_BUILTINS:
            self._ask(node, f"it uses {name}")
        elif name in self._modules:
            if not isinstance(self._parents.get(id(node)), ast.Attribute):
                self._ask(node, f"it hands the module {name} on")
        elif self._members.get(name) == "pathlib.Path":
            self._path(node)
        elif name not in self._members and name not in self._bound and name not in allowed.BUILTINS:
            self._ask(node, f"it uses {name}")

    def _attribute(self, node: ast.Attribute) -> None:
        module = self._module_of(node.value)
        if module is not None:
            whole = f"{module}.{node.attr}"
            if whole == "pathlib.Path":
                self._path(node)
            elif node.attr in allowed.MEMBERS.get(module, ()) and isinstance(node.ctx, ast.Load):
                pass
            elif whole not in allowed.MEMBERS or not isinstance(self._parents.get(id(node)), ast.Attribute):
                self._ask(node, f"it uses {whole}")
            return
        self._attribute_name(node, node.attr)
        if node.attr in allowed.PATH_ATTRIBUTES and self._knows_paths and not self._is_path_call(node.value):
            self._ask(node, f"it uses .{node.attr} of something that may be a path")
        if node.attr in ("replace", "copy") and self._knows_paths and self._may_be_a_paths(node):
            self._ask(node, f"it uses .{node.attr} of something that may be a path")

    def _may_be_a_paths(self, node: ast.Attribute) -> bool:
        """False for a text's replace, which takes two arguments, and a list's copy, which takes none."""
        call = self._parents.get(id(node))
        if not isinstance(call, ast.Call) or call.func is not node:
            return True
        return bool(call.args or call.keywords) if node.attr == "copy" else len(call.args) < 2

    def _attribute_name(self, node: ast.AST, name: str) -> None:
        if _magic(name):
            harmless = name in allowed.DUNDER_ATTRIBUTES
        else:
            harmless = not name.startswith("_") or name in self._own or name in allowed.PRIVATE_ATTRIBUTES
        if not harmless or name in allowed.FRAME_ATTRIBUTES:
            self._ask(node, f"it uses .{name}")

    def _module_of(self, node: ast.expr) -> str | None:
        """The module that an expression stands for, written as a name or as names with dots."""
        if isinstance(node, ast.Name):
            return self._modules.get(node.id)
        if isinstance(node, ast.Attribute):
            outer = self._module_of(node.value)
            if outer is not None and f"{outer}.{node.attr}" in allowed.MEMBERS:
                return f"{outer}.{node.attr}"
        return None

    # ------------------------------------------------------------------ what is harmless in one form only

    def _type(self, node: ast.Name) -> None:
        """A type in hand can be called; so type(x) may only be compared, named or shown."""
        call = self._parents.get(id(node))
        if isinstance(call, ast.Call) and call.func is node and len(call.args) == 1 and not call.keywords:
            use = self._parents.get(id(call))
            if isinstance(use, ast.Compare | ast.FormattedValue | ast.Expr):
                return
            if isinstance(use, ast.Attribute) and use.attr == "__name__":
                return
            if isinstance(use, ast.Call) and isinstance(use.func, ast.Name) and use.func.id in ("print", "repr", "str"):
                return
        self._ask(node, "it uses type otherwise than to compare or show it")

    def _open(self, node: ast.Name) -> None:
        call = self._parents.get(id(node))
        if not isinstance(call, ast.Call) or call.func is not node or "open" in self._bound:
            self._ask(node, "it uses open otherwise than to call it")
            return
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        if not named.keys() <= _OPEN_KEYWORDS or not call.args or len(call.args) > 2:
            self._ask(node, "it calls open in a way that is not known to be harmless")
            return
        self._file(node, call.args[0], _mode(call.args[1] if len(call.args) > 1 else named.get("mode")))

    @property
    def _knows_paths(self) -> bool:
        return any(what.startswith("pathlib") for what in (*self._modules.values(), *self._members.values()))

    def _is_path_call(self, node: ast.expr) -> bool:
        """Whether this is Path("..."): what is asked of it then is known."""
        if not isinstance(node, ast.Call):
            return False
        func = node.func
        if isinstance(func, ast.Name):
            return self._members.get(func.id) == "pathlib.Path"
        return isinstance(func, ast.Attribute) and func.attr == "Path" and self._module_of(func.value) == "pathlib"

    def _path(self, node: ast.expr) -> None:
        """Path: only as Path("a text"), and then asked for what the text alone decides."""
        call = self._parents.get(id(node))
        use = self._parents.get(id(call))
        if not isinstance(call, ast.Call) or call.func is not node or call.keywords or len(call.args) != 1:
            self._ask(node, "it uses Path otherwise than with one plain text")
            return
        if not isinstance(use, ast.Attribute) or use.attr not in allowed.PATH_ATTRIBUTES:
            return  # a path that nobody reads or writes yet; what does is looked at where it stands
        asked = self._parents.get(id(use))
        if not isinstance(asked, ast.Call) or asked.func is not use:
            self._ask(node, f"it hands Path(...).{use.attr} on")
        elif use.attr == "open":
            named = {keyword.arg: keyword.value for keyword in asked.keywords}
            if len(asked.args) > 1 or not named.keys() <= _OPEN_KEYWORDS:
                self._ask(node, "it calls open in a way that is not known to be harmless")
            else:
                self._file(node, call.args[0], _mode(asked.args[0] if asked.args else named.get("mode")))
        elif use.attr == "glob":
            pattern = _text(asked.args[0]) if len(asked.args) == 1 and not asked.keywords else None
            if pattern is None or pattern.startswith("/") or ".." in pattern:
                self._ask(node, "it lists a pattern that is no plain text, or leads up")
            self._file(node, call.args[0], "r")
        elif use.attr in allowed.PATH_READS | allowed.PATH_WRITES:
            self._file(node, call.args[0], "w" if use.attr in allowed.PATH_WRITES else "r")
        else:
            self._ask(node, f"it uses Path(...).{use.attr}")

    def _file(self, node: ast.AST, name: ast.expr, mode: str | None) -> None:
        text = _text(name)
        if text is None:
            self._ask(node, "the name of a file is no plain text")
            return
        if mode is None:
            self._ask(node, f"how {text} is opened is no plain text")
            return
        try:
            # /proc/self is another place for the program than it is for us
            if os.path.normpath(text).lstrip("/").startswith(("proc/", "dev/", "sys/")):
                raise PermissionError
            writes = not set(mode) <= set(_READING)
            found = inside(os.path.join(Path.cwd(), text), write=writes)  # noqa: PTH118 - as the program would say it
        except (OSError, ValueError):
            self._ask(node, f"{text} is outside the workspace")
            return
        if writes and (protected(found) or in_repository(found)):
            self._ask(node, f"{text} decides what other programs run")
        elif writes and has_other_names(found):
            self._ask(node, f"{text} is a hard link, so another file changes with it")


def _magic(name: str) -> bool:
    """A name that means something to Python itself."""
    return name.startswith("__") and name.endswith("__")


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _mode(node: ast.expr | None) -> str | None:
    """The mode that a file is opened with; None when it cannot be told."""
    mode = "r" if node is None else _text(node)
    return mode if mode is not None and set(mode) <= set(_READING + _WRITING) else None


def _about_module(name: str) -> str:
    why = allowed.ABOUT.get(name.partition(".")[0])
    return f"it imports {name}{f': {why}' if why else ''}"


def _bindings(tree: ast.Module) -> Iterator[str]:
    """Every name that the code binds anywhere, imports apart."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield node.id
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
                if node.name:
                    yield node.name
            case ast.MatchMapping():
                if node.rest:
                    yield node.rest
            case _:
                pass


def _own_attributes(tree: ast.Module) -> Iterator[str]:
    """The attributes that the code gives to something itself, and the methods it defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.FunctionDef):
            yield node.name
