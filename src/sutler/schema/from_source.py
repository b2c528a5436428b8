"""The schema of a tool in a file that is never imported (LIB-03, SCH-01 .. SCH-09).

`scan` (cheap, for every file) says which tools there are; `describe` (dearer, on demand) describes one of them.
"""

from __future__ import annotations

import ast
import io
import tokenize
from dataclasses import replace
from functools import lru_cache

from ..errors import SourceError
from .annotations import dotted_name, read
from .module import Library, Module, Neighbour, Outline
from .salvage import parse_or_salvage
from .scan import FoundTool, Reading, Scan, SyntaxProblem, scan
from .shapes import Limits
from .signature import Described, Kind, Parameter, assemble, with_field

__all__ = ["Described", "FoundTool", "Scan", "SyntaxProblem", "decode", "describe", "scan"]

_BOMS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def decode(data: bytes, *, file: str = "") -> str:
    """The text of a Python file: by its byte order mark, its coding line, else UTF-8.

    Raises SourceError naming the line of the first byte that does not fit, or the coding that does not exist.
    """
    place = file or "the file"
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), None)
    try:
        encoding = encoding or tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        return data.decode(encoding)
    except SyntaxError as error:  # an unknown coding, or a first line that is not UTF-8
        if "unknown encoding" not in str(error):
            return _utf8(data, place)
        raise SourceError(f"{place}: {error}; name a coding that Python knows") from None
    except UnicodeDecodeError as error:
        if encoding in ("utf-8", "utf-8-sig"):
            return _utf8(data, place)
        raise SourceError(f"{place}: not valid {encoding}: {error.reason} at byte {error.start}") from None


def _utf8(data: bytes, place: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(
            f"{place}:{line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8, "
            "or name its coding in the first line: # -*- coding: latin-1 -*-"
        ) from None


def _no_neighbour(module: str) -> str | None:
    return None


def describe(text: str, name: str, *, file: str, neighbour: Neighbour = _no_neighbour) -> Described:
    """One function of a file's text as a tool. `name` is the function's name; the last def of it counts.

    neighbour: the text of a sibling module of the library, or None, so that classes written there are found. It is
    asked for the module as the import names it: `shapes` for `from .shapes import Job` and `from . import shapes`.
    Raises SourceError when the file has no such function.
    """
    outline = _outline(text)
    node = outline.functions.get(name)
    if node is None:
        raise SourceError(f"{file}: no function {name} at module level; the file may have changed since it was scanned")
    reading = Reading(file)
    for statement in outline.imports:
        reading.statement(statement)
    marked = reading.mark(node)
    module = Module(outline, Library(neighbour, _outline), node)
    return assemble(
        name=name,
        is_async=isinstance(node, ast.AsyncFunctionDef),
        parameters=_parameters(node.args, module),
        returns=None if node.returns is None else read(node.returns, module),
        docstring=ast.get_docstring(node, clean=False),
        declared=reading.declared(marked) if marked is not None else None,
        notes=reading.notes,
    )


@lru_cache(maxsize=16)
def _outline(text: str) -> Outline:
    """One of the last files asked for: the tools of a file are described one after the other."""
    return Outline(parse_or_salvage(text)[0])


def _parameters(args: ast.arguments, module: Module) -> list[Parameter]:
    found: list[Parameter] = []
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    defaults.extend(args.defaults)
    for index, (arg, default) in enumerate(zip(positional, defaults, strict=True)):
        kind: Kind = "positional_only" if index < len(args.posonlyargs) else "normal"
        found.append(_parameter(arg, kind, default, module))
    if args.vararg is not None:
        found.append(Parameter(name=args.vararg.arg, kind="var_positional"))
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        found.append(_parameter(arg, "keyword_only", default, module))
    if args.kwarg is not None:
        found.append(Parameter(name=args.kwarg.arg, kind="var_keyword"))
    return found


def _parameter(arg: ast.arg, kind: Kind, default: ast.expr | None, module: Module) -> Parameter:
    shape = None if arg.annotation is None else read(arg.annotation, module)
    if default is None:
        return Parameter(name=arg.arg, kind=kind, shape=shape)
    limits = field_limits(default, module)
    if limits is not None:
        return Parameter(name=arg.arg, kind=kind, shape=with_field(shape, limits))
    return Parameter(name=arg.arg, kind=kind, shape=shape, default=module.default(default))


def field_limits(default: ast.expr, module: Module) -> Limits | None:
    if not isinstance(default, ast.Call) or module.find(dotted_name(default.func)) != "pydantic.Field":
        return None
    limits = module.call_limits(default, module.value)
    return replace(limits, default=module.call_limits(default, module.default).default)
