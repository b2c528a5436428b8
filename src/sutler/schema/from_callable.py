"""The schema of a live function, the same as its file would give (SCH-08).

How a default is written is looked up in the source when there is one: only the source tells `10` from `MAX`.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from .decorator import ATTRIBUTE, Declared
from .live import Reader, default_of, is_field_info, limits_of_object, own_annotations
from .salvage import parse
from .shapes import Default, EnumMember
from .signature import Described, Kind, Parameter, assemble, with_field
from .values import written

KINDS: dict[Any, Kind] = {
    inspect.Parameter.POSITIONAL_ONLY: "positional_only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "normal",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword_only",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}


def describe_callable(fn: Callable[..., Any]) -> Described:
    """A function, method, staticmethod, functools.partial, class or object with __call__, as a tool.

    Decorators that use functools.wraps are looked through; one that does not is noted. A name that does not exist when
    the annotations are read (imported under TYPE_CHECKING) leaves its parameter untyped, with a note.
    Raises TypeError for what is not callable or has no signature.
    """
    fn = fn.__func__ if isinstance(fn, staticmethod) else fn
    if not callable(fn):
        raise TypeError(f"a tool is a function, not {fn!r}")
    parameters = signature_of(fn)
    target = target_of(fn)
    reader = Reader(namespace_of(target))
    source = _Source(target)
    notes: list[str] = []
    found = [_parameter(one, reader, source) for one in parameters.values()]
    if [one.kind for one in found] == ["var_positional", "var_keyword"]:
        notes.append("takes *args and **kwargs only: if a decorator hides the signature, give it functools.wraps")
    returns = own_annotations(target).get("return", inspect.Parameter.empty)
    declared = next((value for one in _layers(fn) if isinstance(value := _mark(one), Declared)), None)
    return assemble(
        name=_name(fn, target),
        is_async=is_async(fn),
        parameters=found,
        returns=None if returns is inspect.Parameter.empty else reader.read(returns),
        docstring=_docstring(fn, target),
        declared=declared,
        notes=notes,
    )


def is_async(fn: Any) -> bool:
    """Whether a call gives a coroutine, as far as can be told without calling."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(_call_of(fn))


def signature_of(fn: Any) -> Mapping[str, inspect.Parameter]:
    try:
        if sys.version_info >= (3, 14):
            import annotationlib

            return inspect.signature(fn, annotation_format=annotationlib.Format.FORWARDREF).parameters
        return inspect.signature(fn).parameters
    except ValueError:
        raise TypeError(f"{fn!r} has no signature to read; wrap it in a function of your own") from None


def target_of(fn: Any) -> Any:
    """The function written in Python at the heart of a callable: its annotations, globals and docstring count."""
    return list(_layers(fn))[-1]


def _layers(fn: Any) -> list[Any]:
    """A callable and what it wraps, outermost first."""
    found: list[Any] = []
    while fn is not None and all(fn is not one for one in found):
        found.append(fn)
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif inspect.ismethod(fn):
            fn = fn.__func__
        elif hasattr(fn, "__wrapped__") and not isinstance(fn, type):
            fn = fn.__wrapped__
        elif isinstance(fn, type):
            fn = fn.__init__ if inspect.isfunction(fn.__init__) else None
        elif not inspect.isroutine(fn):
            fn = _call_of(fn)
        else:
            break
    return found


def _call_of(fn: Any) -> Any:
    return getattr(cast("Any", type(fn)), "__call__", None)  # noqa: B004 - the function itself is wanted


def namespace_of(target: Any) -> dict[str, Any]:
    """Where the names in a function's annotations are looked up."""
    names = getattr(target, "__globals__", None)
    if names is None:
        names = vars(sys.modules[target.__module__]) if getattr(target, "__module__", None) in sys.modules else {}
    found = {**names, **{one.__name__: one for one in getattr(target, "__type_params__", ())}}
    code, cells = getattr(target, "__code__", None), getattr(target, "__closure__", None)
    if code is not None and cells:
        for name, cell in zip(code.co_freevars, cells, strict=True):
            try:
                found[name] = cell.cell_contents
            except ValueError:  # not filled yet
                continue
    return found


def _parameter(one: inspect.Parameter, reader: Reader, source: _Source) -> Parameter:
    kind = KINDS[one.kind]
    shape = None if one.annotation is one.empty or kind.startswith("var_") else reader.read(one.annotation)
    if one.default is one.empty:
        return Parameter(name=one.name, kind=kind, shape=shape)
    if is_field_info(one.default):
        limits = replace(limits_of_object(one.default), alias=None)
        if limits.default is not None:
            limits = replace(limits, default=source.field_default(one) or limits.default)
        return Parameter(name=one.name, kind=kind, shape=with_field(shape, limits))
    return Parameter(name=one.name, kind=kind, shape=shape, default=source.default(one) or default_of(one.default))


class _Source:
    """The defaults of a function as they are written, when its source is there and is still its source."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._nodes: dict[str, ast.expr] | None = None

    def default(self, one: inspect.Parameter) -> Default | None:
        node = self._node(one)
        if node is None:
            return None
        found = written(node, lambda dotted: _member(one.default, dotted))
        if found.known and not isinstance(found.value, EnumMember) and not _same(found.value, one.default):
            return None if type(found.value) not in (list, dict, set) else found
        return found

    def field_default(self, one: inspect.Parameter) -> Default | None:
        node = self._node(one)
        if not isinstance(node, ast.Call) or one.default.default_factory is not None:
            return None
        words = [word.value for word in node.keywords if word.arg == "default"]
        said = next(iter([*words, *node.args]), None)
        return None if said is None else written(said, lambda dotted: _member(one.default.default, dotted))

    def _node(self, one: inspect.Parameter) -> ast.expr | None:
        """The expression of a default, if it is the function's own (a partial or __signature__ may set another)."""
        if _own_defaults(self._target).get(one.name, one.empty) is not one.default:
            return None
        if self._nodes is None:
            self._nodes = _written_defaults(self._target)
        return self._nodes.get(one.name)


def _own_defaults(target: Any) -> dict[str, Any]:
    code = getattr(target, "__code__", None)
    if code is None:
        return {}
    positional = code.co_varnames[: code.co_argcount]
    defaults = target.__defaults__ or ()
    return {
        **dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True)),
        **(target.__kwdefaults__ or {}),
    }


def _written_defaults(target: Any) -> dict[str, ast.expr]:
    try:
        text = textwrap.dedent(inspect.getsource(target))
        node = parse(text).body[0]
    except (OSError, TypeError, SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return {}
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name != target.__code__.co_name:
        return {}
    positional = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
    given = dict(zip(positional[len(positional) - len(node.args.defaults) :], node.args.defaults, strict=True))
    for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        if default is not None:
            given[arg.arg] = default
    return given if set(given) == set(_own_defaults(target)) else {}


def _member(value: Any, dotted: str) -> EnumMember | None:
    """The enum member a default is, if the source names it so: `Color.RED`, `colors.Color.RED`."""
    member = default_of(value).value
    return member if isinstance(member, EnumMember) and dotted.rpartition(".")[2] == member.name else None


def _same(written_value: Any, live: Any) -> bool:
    return type(written_value) is type(live) and (written_value == live or written_value != written_value)


def _name(fn: Any, target: Any) -> str:
    for one in _layers(fn):
        name = getattr(one, "__name__", None)
        if isinstance(name, str) and name != "__call__":
            return name
        if not isinstance(one, functools.partial):
            return type(one).__name__
    return str(getattr(target, "__name__", "tool"))


def _docstring(fn: Any, target: Any) -> str | None:
    for one in _layers(fn):
        if isinstance(one, functools.partial):
            continue  # its docstring is about partial
        text = getattr(one, "__doc__", None)
        if isinstance(text, str):
            return text
    return getattr(target, "__doc__", None)


def _mark(one: Any) -> Any:
    return getattr(one, ATTRIBUTE, None)
