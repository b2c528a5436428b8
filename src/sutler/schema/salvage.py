"""Reading a file that does not parse: what can be made out of it, as the same tree a whole file gives (LIB-07).

The file is cut where a statement may begin, and each piece is parsed alone. Of a function whose body is broken, the
header and docstring are kept, so parameters come from Python's own parser and a comma inside a default is no parameter.
"""

from __future__ import annotations

import ast
import re
import warnings
from threading import Lock

from ..lang.parse import patiently

_LIMIT = 12  # pieces that one statement may span: a text with lines at the margin
_DEF = re.compile(r"(async\s+)?def\s+(\w+)\s*")
_TYPE = re.compile(r"type\s+(\w+)\s*(?:\[[^\]]*\])?\s*=\s*")
_QUOTES = re.compile(r"\s*(?:#[^\n]*\n\s*)*([rRuU]?)(\"\"\"|'''|\"|')")
_QUIET = Lock()


def parse(text: str) -> ast.Module:
    """`ast.parse` without its warnings. Raises what it raises."""
    if "\\" not in text and "finally" not in text:  # nothing to warn about, in all but freak cases
        try:
            return patiently(lambda: ast.parse(text))
        except SyntaxError:
            pass  # it may be a warning that is an error here
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return patiently(lambda: ast.parse(text))


def parse_or_salvage(text: str) -> tuple[ast.Module, BaseException | None]:
    """The tree of a file, and why it had to be salvaged if it had to. Never raises."""
    text = text.removeprefix("\ufeff")
    try:
        return parse(text), None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return salvage(text), problem


def salvage(text: str) -> ast.Module:
    """A module of the statements that parse alone, with their line numbers, and of the headers of broken functions."""
    lines = text.replace("\0", " ").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    starts = [index for index, line in enumerate(lines) if line and not line[0].isspace() and line[0] not in "#)]}"]
    body: list[ast.stmt] = []
    position = 0
    while position < len(starts):
        found, taken = _piece(lines, starts, position)
        body.extend(found)
        position += taken
    return ast.Module(body=body, type_ignores=[])


def _piece(lines: list[str], starts: list[int], position: int) -> tuple[list[ast.stmt], int]:
    """The statements that begin at a start, and how many starts they take up."""
    first = starts[position]
    for taken in range(1, min(_LIMIT, len(starts) - position) + 1):
        after = position + taken
        last = starts[after] if after < len(starts) else len(lines)
        piece = "\n".join(lines[first:last])
        if taken == 1 and (named := _TYPE.match(piece)):
            piece = f"{named[1]} = {piece[named.end() :]}"
        tree = _try(piece)
        if tree is not None:
            return _moved(tree.body, first), taken
        if taken == 1 and _DEF.match(piece) and after < len(starts) and _DEF.match(lines[starts[after]]):
            break  # a broken function does not reach into the next
    header = _DEF.match(lines[first])
    following = starts[position + 1] if position + 1 < len(starts) else len(lines)
    return (_moved([_header("\n".join(lines[first:following]), header)], first) if header else []), 1


def _header(piece: str, header: re.Match[str]) -> ast.stmt:
    """A function with the parameters and the docstring that can be read, and no body."""
    start = f"{header[1] or ''}def {header[2]}"
    rest = re.sub(r"^\[[^\]]*\]", "", piece[header.end() :])  # type parameters, which an older Python does not read
    arguments, returns, end = _signature(rest)
    for candidate in (f"{start}{arguments}{returns}: pass", f"{start}{arguments}: pass", _parameters(start, arguments)):
        tree = _try(candidate)
        if tree is not None and tree.body:
            break
    else:
        tree = ast.parse(f"{start}(): pass")
    function = tree.body[0]
    document = _document(rest[end:])
    if document and isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        function.body.insert(0, ast.fix_missing_locations(ast.Expr(ast.Constant(document))))
    return function


def _signature(rest: str) -> tuple[str, str, int]:
    """The text of the parameters with brackets, of the return annotation, and where the body begins."""
    close = _split(rest, stop=True)[1]
    colon = rest.find(":", close)
    if close <= 0 or colon < 0:
        line = rest.find("\n")
        return rest[: close if close > 0 else line if line >= 0 else len(rest)].rstrip(" :"), "", max(line, 0)
    return rest[:close], rest[close:colon], colon + 1


def _parameters(start: str, arguments: str) -> str:
    """A header of the parameters that parse one by one."""
    kept = [part for part in _split(arguments[1:].removesuffix(")"))[0] if _try(f"def f({part}): pass")]
    plain = [part for part in kept if part.strip() not in ("*", "/")]
    return f"{start}({', '.join(dict.fromkeys(plain))}): pass"


def _split(text: str, *, stop: bool = False) -> tuple[list[str], int]:
    """The parts between commas outside brackets and quotes; with `stop`, also where the first bracket closes."""
    parts, part, depth, quote = list[str](), 0, 0, ""
    for index, char in enumerate(text):
        if quote:
            if char == quote and text[index - 1] != "\\":
                quote = ""
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0 and stop:
                return parts, index + 1
        elif char == "," and depth == 0:
            parts.append(text[part:index])
            part = index + 1
    parts.append(text[part:])
    return [one for one in parts if one.strip()], 0


def _document(body: str) -> str:
    opened = _QUOTES.match(body)
    if opened is None:
        return ""
    close = body.find(opened[2], opened.end())
    if close < 0:
        return ""
    try:
        return str(ast.literal_eval(body[opened.start(1) : close + len(opened[2])]))
    except (SyntaxError, ValueError):
        return body[opened.end() : close]


def _moved(body: list[ast.stmt], lines: int) -> list[ast.stmt]:
    for statement in body:
        ast.increment_lineno(statement, lines)
    return body


def _try(text: str) -> ast.Module | None:
    try:
        return parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
