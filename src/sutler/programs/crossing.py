"""What leaves a program is looked at first, inside the sandbox.

Values are turned into the host's own objects when the host reads them, so a program could make the host do the work of
an attack: 60,000 integer keys with one hash take a dict 20 s to build (measured), with the interpreter held. So every
argument of a tool call, the last expression and the kept variables go through `__guard__`, a function of the sandbox
that programs cannot name: it lets plain data pass, in reasonable numbers, without keys whose hashes can be chosen.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from ..lang import Problem
from ..lang.batches import AHEAD, TAKEN
from ..lang.parse import parse
from ..lang.rewrite import Edit, apply, stands

GUARD = "__guard__"
BATCH = "__batch__"
"""The host's name for "these calls are coming": `__batch__([(tool, line, args, kwargs), ...])`."""
MOST_ITEMS = 1_000_000
MOST_BOXES = 100_000
MOST_ODD_KEYS = 1_000
MOST_AHEAD = 10_000  # calls announced at once
ROOM_AHEAD = 1_000_000  # characters and items in all their arguments; what is beyond runs in order

_VIEWS = ("<class 'dict_keys'>", "<class 'dict_values'>", "<class 'dict_items'>", "<class 'collections.deque'>")

PRELUDE = f"""\
__huge__ = 10 ** 4300
def {GUARD}(value, shown=False):
    kind = type(value)
    if kind is int:
        if value >= __huge__ or value <= -__huge__:
            raise ValueError('an integer of over 4,300 digits cannot leave the program')
        return value
    if kind is str or kind is float or kind is bool or value is None:
        return value
    if kind is range:
        return list(value)
    if repr(kind)[:13] == "<class 'dict_":
        value = list(value)
    if shown and not isinstance(value, (list, dict, tuple, set, frozenset, bytes, complex)):
        if 'datetime.' not in repr(kind) and 'decimal.' not in repr(kind):
            return repr(value)
    waiting = [value]
    left = {MOST_ITEMS}
    boxes = {MOST_BOXES}
    while waiting:
        box = waiting.pop()
        kind = type(box)
        if isinstance(box, dict):
            keys = box
            inner = box.values()
        elif isinstance(box, (list, tuple)):
            keys = ()
            inner = box
        elif isinstance(box, (set, frozenset)):
            keys = box
            inner = box
        elif kind is bytes or kind is complex:
            continue
        elif repr(kind)[:17] == "<class 'datetime." or repr(kind) == "<class 'decimal.Decimal'>":
            continue
        else:
            raise TypeError('a ' + repr(kind) + ' cannot leave the program; give text, numbers, lists or dicts')
        left = left - len(box)
        boxes = boxes - 1
        if left < 0 or boxes < 0:
            raise ValueError('a value that is cyclic, or has over {MOST_ITEMS:,} items, cannot leave the program')
        odd = 0
        for key in keys:
            kind = type(key)
            if kind is not str:
                if kind is int:
                    if key >= 2305843009213693951 or key <= -2305843009213693951:
                        odd = odd + 1
                elif kind is not float and kind is not bool and kind is not bytes and key is not None:
                    odd = odd + 1
        if odd > {MOST_ODD_KEYS}:
            raise ValueError('over {MOST_ODD_KEYS:,} keys that are tuples or huge numbers cannot leave; use text')
        for item in inner:
            kind = type(item)
            if kind is int:
                if item >= __huge__ or item <= -__huge__:
                    raise ValueError('an integer of over 4,300 digits cannot leave the program')
            elif kind is not str and kind is not float and kind is not bool and item is not None:
                waiting.append(item)
    return value
"""

# Only in front of programs that announce calls (lang/batches.py). Working the arguments out may fail; the program then
# meets that failure itself, at its place and after the calls that come before. What is used up by being looked at is
# not looked at. `__live__`: a batch may be open on the host's side, and must be closed before the next such place.
PRELUDE_AHEAD = f"""\
__live__ = []
def __room__(value, most):
    waiting = [value]
    size = 0
    while waiting and size <= most:
        box = waiting.pop()
        size = size + 1
        if isinstance(box, (str, bytes)):
            size = size + len(box)
        elif isinstance(box, (list, tuple, set, frozenset, dict)):
            size = size + len(box)
            if size <= most:
                waiting.extend(box)
                if isinstance(box, dict):
                    waiting.extend(box.values())
    return size
def {AHEAD}(items, collect):
    found = []
    room = [{ROOM_AHEAD}]
    def put(name, line, args, kwargs):
        for value in args + tuple(kwargs.values()):
            room[0] = room[0] - __room__(value, room[0])
            if room[0] < 0 or len(found) == {MOST_AHEAD}:
                raise ValueError('too much to announce at once')
        args = tuple([{GUARD}(value) for value in args])
        found.append((name, line, args, {{key: {GUARD}(value) for key, value in kwargs.items()}}))
    kind = repr(type(items))
    if items is None or isinstance(items, (list, tuple, str, dict, range, set, frozenset)) or kind in {_VIEWS}:
        try:
            collect(put, items)
        except Exception:
            pass
    if len(found) > 1:
        __live__.append(1)
        {BATCH}(found)
    elif __live__:
        __live__.clear()
        {BATCH}([])
    return items
"""


def prelude_of(text: str) -> str:
    """What stands in front of a guarded program."""
    return PRELUDE + PRELUDE_AHEAD if AHEAD in text else PRELUDE


def guarded(text: str, tools: Collection[str]) -> str | Problem:
    """The program with every way out guarded, on the same lines; a problem when a call stands where it cannot be."""
    source = parse(text)
    if isinstance(source, Problem):
        return source
    within = {id(part) for node in ast.walk(source.tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    edits: list[Edit] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.removeprefix(TAKEN) in tools:
            found = _arguments(node)
            if found and id(node) in within and not stands(node, source):
                shown = source.segment(node)
                return source.problem(
                    node, f"{shown} cannot stand inside this f-string", f"value = {shown} on a line before"
                )
            edits += found
    edits += _ways_out(source.tree)
    return apply(source, edits) if edits else text


def _arguments(call: ast.Call) -> list[Edit]:
    edits: list[Edit] = []
    only = len(call.args) == 1 and not call.keywords
    for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
        value = argument.value if isinstance(argument, ast.Starred) else argument
        if only and isinstance(value, ast.GeneratorExp) and _same_end(value, call):
            # tool(x for x in xs): the generator has no parentheses of its own
            edits += [(value.lineno, value.col_offset, 1, f"({GUARD}(("), _before_end(value, ")))")]
        elif not _harmless(value):
            edits += _around(value, f"{GUARD}(", ")")
    return edits


def _ways_out(tree: ast.Module) -> list[Edit]:
    """The last expression, and what a return at the top level gives."""
    edits: list[Edit] = []
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr) and not _harmless(last.value):
        edits += _around(last.value, f"{GUARD}((", "), True)")
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Return) and node.value is not None and not _harmless(node.value):
            edits += _around(node.value, f"{GUARD}((", "), True)")
        waiting.extend(ast.iter_child_nodes(node))
    return edits


def _harmless(node: ast.expr) -> bool:
    """Whether it can only be a scalar that Python made from the text itself."""
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.Compare) or (
        isinstance(node, ast.UnaryOp) and _harmless(node.operand)
    )


def _same_end(one: ast.expr, other: ast.expr) -> bool:
    return (one.end_lineno, one.end_col_offset) == (other.end_lineno, other.end_col_offset)


def _before_end(node: ast.expr, text: str) -> Edit:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset - 1, 1, text


def _around(node: ast.expr, before: str, after: str) -> list[Edit]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return [(node.lineno, node.col_offset, 0, before), (node.end_lineno, node.end_col_offset, 0, after)]
