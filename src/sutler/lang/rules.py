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
    given = _given_lambdas(source.tree)

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
            report.add(
                source.problem(where, f"a lambda cannot call the tool {use.name}", _lambda(use, given, source, text))
            )
        elif _unsuspendable(use.around):
            _method(use, source, report)
        elif use.around.lazy is not None and not tool(use.name).read_only:
            message = (
                f"{use.name} may change things, and a generator expression runs all of its calls at once, "
                "also those that are not needed"
            )
            report.add(source.problem(where, message, _loop(use.around.lazy, source)))
    called = {id(use.call) for use in uses.tools}
    for use in uses.functions:
        reached = reaching[use.name]
        if use.given_to is not None and id(use.given_to) in called:
            message = f"{use.name} is a function, and a tool takes only data"
            report.add(source.problem(use.node, message, f"{use.name}(...), its value"))
        if not reached:
            continue
        names = ", ".join(sorted(reached))
        if use.around.lambda_ is not None:
            message = f"a lambda cannot call {use.name}, which calls the tool {names}"
            report.add(source.problem(use.node, message, _lambda(use, given, source, f"{use.name}(...)")))
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
    calls = {id(use.call): use for use in uses.tools if use.call is not None}
    indirect = {id(use.call): use for use in uses.functions if use.call is not None and reaching[use.name]}
    for use in uses.parallel:
        _parallel(use, calls, indirect, tool, source, report)


def _as_value(use: Use, source: Source) -> tuple[str, str]:
    message = f"{use.name} is a tool: it can only be called by its own name, not kept or passed on"
    if use.given_to is None:
        return message, f"{use.name}(...)"
    return message, _instead_of_callback(use, source)


def _instead_of_callback(use: Use, source: Source) -> str:
    """The comprehension or loop that does what `map(f, xs)`, `filter(f, xs)` or `sorted(xs, key=f)` would."""
    given = use.given_to
    assert given is not None
    what, rows = _callee(given, source)
    if any(keyword.arg == "key" and keyword.value is use.node for keyword in given.keywords):
        return _keyed("row", f"{use.name}(row)", rows, what)
    if what in ("map", "filter") and len(given.args) == 2:
        rows = source.segment(given.args[1], 60)
        return f"[{use.name}(x) for x in {rows}]" if what == "map" else f"[x for x in {rows} if {use.name}(x)]"
    return f"{use.name}(...) on a line of its own, and its value passed on"


def _callee(call: ast.Call, source: Source) -> tuple[str, str]:
    """The name of the function that takes a callback, and the text of the rows that it goes over."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr, source.segment(call.func.value, 40)
    rows = source.segment(call.args[0], 40) if call.args else "rows"
    return (call.func.id if isinstance(call.func, ast.Name) else ""), rows


def _keyed(name: str, key: str, rows: str, what: str) -> str:
    pairs = f"keyed = [({key}, {name}) for {name} in {rows}]"
    if what in ("min", "max"):
        return f"{pairs}, then {what}(keyed, key=lambda pair: pair[0])[1]"
    return f"{pairs}, then [pair[1] for pair in sorted(keyed, key=lambda pair: pair[0])]"


def _lambda(use: Use, given: dict[int, ast.Call], source: Source, text: str) -> str:
    lambda_ = use.around.lambda_
    call = given.get(id(lambda_))
    if lambda_ is not None and call is not None and len(lambda_.args.args) == 1:
        name, body = lambda_.args.args[0].arg, source.segment(lambda_.body, 60)
        what, rows = _callee(call, source)
        if any(keyword.arg == "key" and keyword.value is lambda_ for keyword in call.keywords):
            return _keyed(name, body, rows, what)
        if what in ("map", "filter") and len(call.args) == 2:
            rows = source.segment(call.args[1], 60)
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


def _given_lambdas(tree: ast.Module) -> dict[int, ast.Call]:
    """The call that takes each lambda as an argument, by the lambda's id."""
    given: dict[int, ast.Call] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for value in [*node.args, *(keyword.value for keyword in node.keywords)]:
                if isinstance(value, ast.Lambda):
                    given[id(value)] = node
    return given


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


def _parallel(
    use: Use,
    calls: dict[int, Use],
    indirect: dict[int, Use],
    tool: Callable[[str], ToolSig],
    source: Source,
    report: Report,
) -> None:
    example = "parallel([tool(a), tool(b)]) or parallel([tool(x) for x in xs])"
    call = use.call
    if call is None:
        report.add(source.problem(use.node, "parallel can only be called", example))
        return
    listed = call.args[0] if len(call.args) == 1 and not call.keywords else None
    if not isinstance(listed, ast.List | ast.ListComp):
        report.add(source.problem(call, "parallel takes one list of tool calls, written in place", example))
        return
    elements = {id(one): one for one in (listed.elts if isinstance(listed, ast.List) else [listed.elt])}
    for element in elements.values():
        found = calls.get(id(element))
        if found is None:
            message = f"each element of parallel is one tool call, and {source.segment(element, 60)} is none"
            report.add(source.problem(element, message, example))
        elif not tool(found.name).read_only:
            message = f"{found.name} may change things, so it cannot run in parallel"
            instead = f"{source.segment(element, 80)} in a loop or on lines of their own"
            report.add(source.problem(element, message, instead))
    for part in ast.walk(listed):
        nested = calls.get(id(part)) or indirect.get(id(part))
        if nested is not None and id(part) not in elements:
            message = f"{nested.name} is called inside another element of parallel"
            report.add(source.problem(nested.node, message, f"value = {source.segment(part, 60)} on a line before"))
