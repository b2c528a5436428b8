"""One call against the tool's signature: names, number and evident types of the arguments, before anything runs."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from typing import Any, cast

from .messages import closest
from .model import Param, Report, ToolSig
from .parse import Source

NOT_LITERAL = object()

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_SWITCH = frozenset(("true", "false", "1", "0", "yes", "no", "on", "off"))
_WANTS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "True or False",
    "list": "a list",
    "dict": "a dict",
    "None": "None",
}


def literal(node: ast.expr) -> Any:
    """The value of a literal made of plain data, or NOT_LITERAL."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return NOT_LITERAL
    return value if _plain(value) else NOT_LITERAL


def _plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_plain, cast(Iterable[Any], value)))
    if isinstance(value, dict):
        return all(_plain(key) and _plain(item) for key, item in cast(dict[Any, Any], value).items())
    return value is None or isinstance(value, str | int | float | bool)


def bind(node: ast.Call, tool: ToolSig, source: Source, report: Report) -> tuple[dict[str, Any], bool]:
    """Report what is wrong with the arguments of one call; the literal ones by parameter name, and whether all are."""
    given: dict[str, ast.expr] = {}
    loose = any(isinstance(arg, ast.Starred) for arg in node.args) or any(k.arg is None for k in node.keywords)

    def wrong(where: ast.AST, message: str, rewrite: str = tool.signature) -> None:
        report.add(source.problem(where, message, rewrite))

    positional = [param for param in tool.params if not param.keyword_only]
    for index, arg in enumerate(node.args):
        if isinstance(arg, ast.Starred):
            break  # what follows has no known place
        if index >= len(positional):
            if index < len(tool.params):
                by_name = tool.params[index].spelling
                message = f"{tool.name} takes {_count(len(positional))} by position, and {by_name} by name"
                wrong(arg, message, _by_name(node, tool, source))
            else:
                most = f"at most {_count(len(tool.params))}" if tool.params else "no arguments"
                are = "is" if len(node.args) == 1 else "are"
                wrong(arg, f"{tool.name} takes {most}, and {len(node.args)} {are} given")
            loose = True  # what seems to be missing may be what stands in the wrong place
            break
        given[positional[index].name] = arg
    by_spelling = {spelling: param for param in tool.params for spelling in (param.name, *param.accepts)}
    unknown: set[str] = set()
    for keyword in node.keywords:
        if keyword.arg is None:
            continue
        param = by_spelling.get(keyword.arg)
        if param is None:
            unknown.add(keyword.arg)
            if not tool.extra:
                _unknown_keyword(keyword, tool, given, wrong)
            else:
                given[keyword.arg] = keyword.value
        elif param.name in given:
            wrong(keyword, f"{tool.name} is given {param.spelling} twice")
        else:
            given[param.name] = keyword.value
    missing = [param.spelling for param in tool.params if param.required and param.name not in given]
    if missing and not loose and not (unknown and not tool.extra and len(unknown) >= len(missing)):
        wrong(node, f"{tool.name} needs {' and '.join(missing)}")
    params = {param.name: param for param in tool.params}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, ast.Lambda):
            wrong(value, f"a lambda is a function, and {tool.name} takes only data")
        known = literal(value)
        values[name] = known
        if name in params and known is not NOT_LITERAL:
            misfit = _misfit(known, params[name])
            if misfit:
                wrong(value, f"{tool.name}: {params[name].spelling} wants {misfit}, and {_show(known)} is given")
    literals = {name: value for name, value in values.items() if value is not NOT_LITERAL}
    return literals, not loose and len(literals) == len(values)


def _count(number: int) -> str:
    return "no argument" if number == 0 else "1 argument" if number == 1 else f"{number} arguments"


def _by_name(node: ast.Call, tool: ToolSig, source: Source) -> str:
    parts = [f"{param.spelling}={source.segment(arg, 40)}" for param, arg in zip(tool.params, node.args, strict=False)]
    return f"{tool.name}({', '.join(parts)})"


def _unknown_keyword(keyword: ast.keyword, tool: ToolSig, given: dict[str, ast.expr], wrong: Any) -> None:
    name = keyword.arg or ""
    free = [param.spelling for param in tool.params if param.name not in given]
    near = closest(name, free) or next((one for one in free if one in name or name in one), "")
    hint = f"; did you mean {near}?" if near else ""
    wrong(keyword, f"{tool.name} has no parameter {name}{hint.rstrip('?')}", tool.signature)


def _misfit(value: object, param: Param) -> str:
    """What the parameter wants, when the value neither fits nor can be repaired (BND-03); else an empty string."""
    kind, wants = param.type, _WANTS.get(param.type, "")
    if not wants or (value is None and (kind == "None" or not param.required)):
        return ""
    fits = False
    if kind == "None" or value is None:
        fits = False
    elif kind == "int":
        if isinstance(value, str):
            fits = bool(_NUMBER.match(value)) and float(value).is_integer()
        else:
            fits = not isinstance(value, bool) and isinstance(value, int | float) and value == value // 1
    elif kind == "float":
        if isinstance(value, str):
            fits = bool(_NUMBER.match(value))
        else:
            fits = not isinstance(value, bool) and isinstance(value, int | float)
    elif kind == "bool":
        fits = isinstance(value, bool) or str(value).lower() in _SWITCH
    elif kind == "str":
        fits = isinstance(value, str)
    elif kind == "list":
        fits = _listlike(value)
    elif kind == "dict":
        fits = isinstance(value, dict) or (isinstance(value, str) and isinstance(_json(value), dict))
    return "" if fits else wants


def _listlike(value: object) -> bool:
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        return isinstance(_json(value), list)
    return not isinstance(value, dict)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _show(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
    except ValueError:
        return "a very long number"
    text = text if len(text) <= 40 else text[:37] + "..."
    return text.encode("utf-8", "backslashreplace").decode()
