"""Which tool calls may be under way at once, and the text that announces them (PRG-08, "Concurrency without await").

    [read_file(path) for path in paths if path != skip]

becomes, on the same lines,

    [__taken__read_file(path) for path in __ahead__((paths), lambda __put__, __all__:
        [__put__('read_file', 1, (path,), {}) for path in __all__ if path != skip]) if path != skip]

`__ahead__` works the arguments of all calls out and announces them; then the comprehension runs as it stands, and each
of its calls takes the result that is on its way. What can be worked out twice without a trace is the same both times,
so values, errors and lines are those of the text as it was written. All else is left alone, and runs in order.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Final

from .levels import PARALLEL
from .parse import Source, quietly

AHEAD: Final = "__ahead__"
"""The sandbox's function that announces calls: `__ahead__(items, lambda __put__, __all__: ...)` gives `items` back."""
TAKEN: Final = "__taken__"
"""Before the name of a tool: a call whose result may be on its way."""

_CONSUMERS = frozenset("list tuple set dict sum min max sorted any all".split())
# Reading a missing key of one makes the key, so looking it up twice can be seen.
_MAKES_KEYS = frozenset(("defaultdict",))
# What `in` uses up as it searches comes from these.
_USED_UP = frozenset(("iter", "itertools", "next", "csv"))

Edit = tuple[int, int, int, str]
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def announcements(source: Source, reads: Callable[[str], bool]) -> list[Edit]:
    """The edits that let calls of tools that only read run at once; `reads` tells such a tool by its name."""
    nodes = list(ast.walk(source.tree))
    if not any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and reads(node.func.id) for node in nodes
    ):
        return []
    if any(isinstance(node, ast.ClassDef) for node in nodes):
        return []  # operators and f-strings may then run code of the program
    pure = _Pure(_mentioned(nodes))
    # Python 3.11 is at times wrong about places inside f-strings.
    skipped = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    consumed = {id(node.args[0]) for node in nodes if isinstance(node, ast.Call) and _consumes(node)}
    edits: list[Edit] = []
    for node in nodes:
        if id(node) in skipped:
            continue
        if isinstance(node, ast.GeneratorExp) and id(node) not in consumed:
            continue
        if isinstance(node, _Comprehension):
            edits += _comprehension(node, reads, pure)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == PARALLEL:
            listed = node.args[0]
            if isinstance(listed, ast.List):
                edits += _display(listed, reads, pure)
    return edits


def _mentioned(nodes: Iterable[ast.AST]) -> frozenset[str]:
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.name for alias in node.names}
            names.add(getattr(node, "module", None) or "")
    return frozenset(names)


def _consumes(call: ast.Call) -> bool:
    """Whether a generator expression given to this call is used up by it at once."""
    if not call.args:
        return False
    if isinstance(call.func, ast.Name):
        return call.func.id in _CONSUMERS
    return isinstance(call.func, ast.Attribute) and call.func.attr == "join"


class _Pure:
    """Expressions that can be worked out ahead, and again, without anybody seeing it."""

    def __init__(self, mentioned: frozenset[str]) -> None:
        self.subscripts = not mentioned & _MAKES_KEYS
        self.searches = not mentioned & _USED_UP

    def __call__(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant() | ast.Name():
                return True
            case ast.Subscript():
                return self.subscripts and self(node.value) and self._index(node.slice)
            case ast.BinOp():
                return self(node.left) and self(node.right)
            case ast.UnaryOp():
                return self(node.operand)
            case ast.Compare():
                if not self.searches and any(isinstance(one, ast.In | ast.NotIn) for one in node.ops):
                    return False
                return self(node.left) and all(map(self, node.comparators))
            case ast.JoinedStr():
                return all(map(self, node.values))
            case ast.FormattedValue():
                return self(node.value) and (node.format_spec is None or self(node.format_spec))
            case ast.Tuple():  # ("a", "b") is a constant in all but the tree
                return all(isinstance(one, ast.Constant) for one in node.elts)
            case _:
                return False

    def _index(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Slice):
            return all(self(part) for part in (node.lower, node.upper, node.step) if part is not None)
        return all(map(self, node.elts)) if isinstance(node, ast.Tuple) else self(node)

    def call(self, node: ast.expr, reads: Callable[[str], bool]) -> bool:
        """Whether it is one call of a tool that only reads, with arguments that can be worked out ahead."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and reads(node.func.id)
            and all(map(self, node.args))
            and all(keyword.arg is not None and self(keyword.value) for keyword in node.keywords)
        )


def _comprehension(node: _Comprehension, reads: Callable[[str], bool], pure: _Pure) -> list[Edit]:
    call = node.value if isinstance(node, ast.DictComp) else node.elt
    key = node.key if isinstance(node, ast.DictComp) else None
    generator = node.generators[0]
    if len(node.generators) > 1 or not pure.call(call, reads) or not all(map(pure, generator.ifs)):
        return []
    if (key is not None and not pure(key)) or not _names(generator.target):
        return []
    assert isinstance(call, ast.Call)
    conditions = [_one_line(condition) for condition in generator.ifs]
    put = _put(call)
    begun = _one_line(key) if key is not None else ""
    if put is None or begun is None or None in conditions:
        return []
    target = ast.unparse(generator.target)
    ifs = "".join(f" if {condition}" for condition in conditions)
    element = f"{begun}: {put}" if key is not None else put
    opens, closes = ("{", "}") if key is not None else ("[", "]")
    collect = f"lambda __put__, __all__: {opens}{element} for {target} in __all__{ifs}{closes}"
    items = generator.iter
    return [
        (items.lineno, items.col_offset, 0, f"{AHEAD}(("),
        (items.end_lineno or 0, items.end_col_offset or 0, 0, f"), {collect})"),
        _taken(call),
    ]


def _display(node: ast.List, reads: Callable[[str], bool], pure: _Pure) -> list[Edit]:
    calls = [element for element in node.elts if isinstance(element, ast.Call) and pure.call(element, reads)]
    puts = [put for call in calls if (put := _put(call)) is not None]
    if len(puts) < max(2, len(node.elts)):
        return []
    first = f"{AHEAD}(None, lambda __put__, __all__: [{', '.join(puts)}]) or "
    return [(node.lineno, node.col_offset, 0, first), *map(_taken, calls)]


def _names(target: ast.expr) -> bool:
    """Whether it only binds names: `d[k]` as a target would change something."""
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_names, target.elts))
    if isinstance(target, ast.Starred):
        return _names(target.value)
    return isinstance(target, ast.Name)


def _put(call: ast.Call) -> str | None:
    assert isinstance(call.func, ast.Name)
    given = [_one_line(argument) for argument in call.args]
    named = [(keyword.arg, _one_line(keyword.value)) for keyword in call.keywords]
    if None in given or any(value is None for _, value in named):
        return None
    args = "".join(f"{value}, " for value in given)
    kwargs = ", ".join(f"{name!r}: {value}" for name, value in named)
    return f"__put__({call.func.id!r}, {call.lineno}, ({args}), {{{kwargs}}})"


def _one_line(node: ast.expr) -> str | None:
    """The expression anew, in parentheses on one line; None when that cannot be said to be the same."""
    try:
        text = f"({ast.unparse(node)})"
        if "\n" in text or ast.dump(quietly(lambda: ast.parse(text, mode="eval")).body) != ast.dump(node):
            return None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return text


def _taken(call: ast.Call) -> Edit:
    return call.func.lineno, call.func.col_offset, 0, TAKEN
