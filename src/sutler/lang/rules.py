"""What may be done with a tool's name: call it by name, where the engine can wait for the answer. Nothing else."""

from __future__ import annotations

import ast
from collections.abc import Callable

from .levels import ENGINE_BUILTINS
from .model import Report, ToolSig
from .parse import Source
from .uses import Around, Use, Uses

# The engine suspends inside these methods of a class; inside all other `__x__` methods it cannot.
_SUSPENDABLE = frozenset(("__init__", "__call__", "__enter__", "__exit__"))
_SUSPENDS_IN = frozenset(("reduce", "partial", "cache", "lru_cache"))


def judge(uses: Uses, tool: Callable[[str], ToolSig], source: Source, report: Report) -> None:
    """Report every use of a tool, or of a function that calls tools, that cannot work or would hide a call."""
    reaching = uses.reaching()
    elsewhere = _imported(source.tree)

    for use in uses.tools:
        where = use.node
        text = source.segment(use.call) if use.call is not None else f"{use.name}(...)"
        if use.around.annotation:
            report.add(
                source.problem(
                    where, f"{use.name} is a tool and cannot stand in an annotation", "str, int, list or dict"
                )
            )
        elif use.call is None:
            report.add(source.problem(where, *_as_value(use, source)))
        elif use.around.lambda_ is not None:
            report.add(source.problem(where, f"a lambda cannot call the tool {use.name}", _lambda(use, source, text)))
        elif _unsuspendable(use.around):
            _method(use, source, report)
        elif use.around.lazy is not None and not tool(use.name).read_only:
            message = (
                f"{use.name} may change things, and a generator expression runs all of its calls at once, "
                "also those that are not needed"
            )
            report.add(source.problem(where, message, _loop(use.around.lazy, source)))
    for use in uses.functions:
        reached = reaching[use.name]
        if not reached:
            continue
        names = ", ".join(sorted(reached))
        if use.around.lambda_ is not None:
            message = f"a lambda cannot call {use.name}, which calls the tool {names}"
            report.add(source.problem(use.node, message, _lambda(use, source, f"{use.name}(...)")))
        elif use.given_to is not None and _calls_back(use.given_to, uses, elsewhere):
            message = f"{use.name} calls the tool {names}, so it cannot be given to {source.segment(use.given_to.func)}"
            report.add(source.problem(use.node, message, _instead_of_callback(use, source)))
        elif _unsuspendable(use.around):
            _method(use, source, report)
        elif use.around.lazy is not None:
            writes = sorted(name for name in reached if not tool(name).read_only)
            if writes:
                message = (
                    f"{use.name} calls {', '.join(writes)}, which may change things, and a generator expression runs "
                    "all of its calls at once, also those that are not needed"
                )
                report.add(source.problem(use.node, message, _loop(use.around.lazy, source)))
    for use in uses.parallel:
        _parallel(use, uses, tool, source, report)


def _as_value(use: Use, source: Source) -> tuple[str, str]:
    message = f"{use.name} is a tool: it can only be called by its own name, not kept or passed on"
    if use.given_to is None:
        return message, f"{use.name}(...)"
    return message, _instead_of_callback(use, source)


def _instead_of_callback(use: Use, source: Source) -> str:
    """The comprehension or loop that does what `map(f, xs)`, `filter(f, xs)` or `sorted(xs, key=f)` would."""
    given = use.given_to
    assert given is not None
    what = given.func.attr if isinstance(given.func, ast.Attribute) else getattr(given.func, "id", "")
    key = next((one for one in given.keywords if one.arg == "key"), None)
    if key is not None and isinstance(key.value, ast.Name) and key.value is use.node:
        rows = source.segment(given.func.value, 40) if isinstance(given.func, ast.Attribute) else _first(given, source)
        return _keyed(rows, f"{use.name}(row)", what)
    if what in ("map", "filter") and len(given.args) == 2:
        rows = source.segment(given.args[1], 60)
        return f"[{use.name}(x) for x in {rows}]" if what == "map" else f"[x for x in {rows} if {use.name}(x)]"
    return f"{use.name}(...) on a line of its own, and its value passed on"


def _first(call: ast.Call, source: Source) -> str:
    return source.segment(call.args[0], 40) if call.args else "rows"


def _keyed(rows: str, key: str, what: str) -> str:
    taken = f"{what}(keyed, key=lambda pair: pair[0])"
    last = (
        "[row for _, row in sorted(keyed, key=lambda pair: pair[0])]" if what in ("sorted", "sort") else f"{taken}[1]"
    )
    return f"keyed = [({key}, row) for row in {rows}], then {last}"


def _lambda(use: Use, source: Source, text: str) -> str:
    lambda_ = use.around.lambda_
    assert lambda_ is not None
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call) or not (lambda_ in node.args or lambda_ in [k.value for k in node.keywords]):
            continue
        what = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        args = lambda_.args.args
        if lambda_ in [k.value for k in node.keywords if k.arg == "key"] and len(args) == 1:
            rows = source.segment(node.func.value, 40) if isinstance(node.func, ast.Attribute) else _first(node, source)
            body = source.segment(lambda_.body, 60)
            return f"keyed = [({body}, {args[0].arg}) for {args[0].arg} in {rows}], then " + (
                "[row for _, row in sorted(keyed, key=lambda pair: pair[0])]"
                if what in ("sorted", "sort")
                else f"{what}(keyed, key=lambda pair: pair[0])[1]"
            )
        if what in ("map", "filter") and len(args) == 1 and len(node.args) == 2:
            body, rows, name = source.segment(lambda_.body, 60), source.segment(node.args[1], 40), args[0].arg
            return f"[{body} for {name} in {rows}]" if what == "map" else f"[{name} for {name} in {rows} if {body}]"
    return f"a def that returns {text}, or a loop that calls it"


def _loop(lazy: ast.GeneratorExp, source: Source) -> str:
    """The same calls as a list comprehension: one after the other, and seen to be so."""
    heads: list[str] = []
    for generator in lazy.generators:
        heads.append(f"for {source.segment(generator.target, 40)} in {source.segment(generator.iter, 60)}:")
        heads += [f"if {source.segment(condition, 60)}:" for condition in generator.ifs]
    if len(heads) == 1:
        return f"results = [], then {heads[0]} results.append({source.segment(lazy.elt, 60)})"
    return f"a loop ({' '.join(heads)}) that calls it where it is needed"


def _unsuspendable(around: Around) -> bool:
    method = around.method
    return method is not None and method.name.startswith("__") and method.name not in _SUSPENDABLE


def _method(use: Use, source: Source, report: Report) -> None:
    method = use.around.method
    assert method is not None
    message = f"{use.name} calls a tool, which {method.name} cannot wait for"
    report.add(source.problem(use.node, message, "a method with a plain name, called as value.name()"))


def _imported(tree: ast.Module) -> frozenset[str]:
    """Names of modules, and of what was imported from them, whose functions call back without waiting."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names if alias.name not in _SUSPENDS_IN}
    return frozenset(names)


def _calls_back(call: ast.Call, uses: Uses, imported: frozenset[str]) -> bool:
    func = call.func
    if isinstance(func, ast.Name):
        return func.id not in uses.defined and (func.id in ENGINE_BUILTINS or func.id in imported)
    if isinstance(func, ast.Attribute):
        of_module = isinstance(func.value, ast.Name) and func.value.id in imported
        return func.attr == "sort" or (of_module and func.attr not in _SUSPENDS_IN)
    return False


def _parallel(use: Use, uses: Uses, tool: Callable[[str], ToolSig], source: Source, report: Report) -> None:
    example = "parallel([tool(a), tool(b)]) or parallel([tool(x) for x in xs])"
    call = use.call
    if call is None:
        report.add(source.problem(use.node, "parallel can only be called", example))
        return
    listed = call.args[0] if len(call.args) == 1 and not call.keywords else None
    if not isinstance(listed, ast.List | ast.ListComp):
        report.add(source.problem(call, "parallel takes one list of tool calls, written in place", example))
        return
    calls = {id(one.call): one for one in uses.tools if one.call is not None}
    elements = listed.elts if isinstance(listed, ast.List) else [listed.elt]
    for element in elements:
        found = calls.get(id(element))
        if found is None:
            message = f"each element of parallel is one tool call, and {source.segment(element, 60)} is none"
            report.add(source.problem(element, message, example))
        elif not tool(found.name).read_only:
            message = f"{found.name} may change things, so it cannot run in parallel"
            report.add(
                source.problem(element, message, f"{source.segment(element, 80)} in a loop or on lines of their own")
            )
    inside = {id(node) for part in ast.walk(listed) for node in [part] if isinstance(part, ast.Call)}
    for identity in inside & set(calls):
        if identity not in {id(element) for element in elements}:
            nested = calls[identity]
            message = f"{nested.name} is called inside another element of parallel"
            report.add(
                source.problem(
                    nested.node, message, f"value = {source.segment(nested.call or nested.node, 60)} on a line before"
                )
            )
