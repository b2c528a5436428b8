"""Plain Python functions that the host registers itself: their signature is the schema (SRC-11)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import ToolUnavailable
from ..schema.decorator import confirm_note, grade_of
from ..schema.from_callable import describe_callable, is_async, target_of
from ..spec import Origin, ToolAnnotations, ToolSpec
from .base import DIRECT
from .bound import Bound


@dataclass(frozen=True, slots=True)
class _Registered:
    spec: ToolSpec
    run: Callable[..., Any]


class FunctionSource:
    """Functions of the host's own code. A name registered again is the new function from then on; `notes` says so."""

    host_loop = True
    precedence = DIRECT

    def __init__(self, functions: Iterable[Callable[..., Any]] = (), *, name: str = "functions") -> None:
        self._name = name
        self._lock = threading.Lock()
        self._registered: dict[str, _Registered] = {}
        self._version = 0
        self.notes: tuple[str, ...] = ()
        for function in functions:
            self.add(function)

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> int:
        return self._version

    def available(self) -> bool:
        return True

    def discover(self) -> list[ToolSpec]:
        with self._lock:
            return [registered.spec for registered in self._registered.values()]

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        registered = self._registered.get(spec.name)
        if registered is None:
            raise ToolUnavailable(f"the function of {spec.name!r} is not registered any more")
        return registered.run

    def add(self, function: Callable[..., Any]) -> ToolSpec:
        """Register a function, sync or async, by its signature, docstring and @tool. TypeError for no callable."""
        found = describe_callable(function)
        declared = found.declared
        grade, grade_from = grade_of(declared)
        spec = ToolSpec(
            name=found.name,
            description=found.description,
            input_schema=found.input_schema,
            output_schema=found.output_schema,
            annotations=declared.annotations if declared is not None else ToolAnnotations(),
            grade=grade,
            grade_from=grade_from,
            origin=Origin(source=self._name, kind="function", precedence=DIRECT, where=where_of(function)),
            hidden=found.hidden,
            untyped=found.untyped,
            docs=found.docs,
            timeout=declared.timeout if declared is not None else None,
            isolation=declared.isolation if declared is not None else None,
            affinity=declared.affinity if declared is not None else None,
            notes=(*found.notes, *confirm_note(declared, found.input_schema)),
            meta=declared.meta if declared is not None else {},
        )
        return self._put(spec, function)

    def register(self, spec: ToolSpec, function: Callable[..., Any]) -> ToolSpec:
        """Register a callable under a spec written by hand; the spec's origin becomes this source."""
        if not callable(function):
            raise TypeError(f"a tool is run by a callable, not {function!r}")
        origin = replace(spec.origin, source=self._name, kind="function", trust="local", precedence=DIRECT)
        return self._put(replace(spec, origin=origin), function)

    def remove(self, name: str) -> None:
        """Take a function out; a run in progress still lists it, and is told when it calls it. KeyError if none."""
        with self._lock:
            del self._registered[name]
            self._version += 1

    def _put(self, spec: ToolSpec, function: Callable[..., Any]) -> ToolSpec:
        run = by_keyword(function)
        if is_async(function):  # it runs on a loop of the host, in the folder of this process
            spec = replace(spec, meta={**spec.meta, "works_in": "."})
        with self._lock:
            if spec.name in self._registered:
                self.notes = (*self.notes, f"{spec.qualified} was registered again; the later function is the tool")
            self._registered[spec.name] = _Registered(spec, run)
            self._version += 1
        return spec


def by_keyword(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function by keyword arguments only: positional-only ones are passed by position, values as annotated."""
    bound = Bound(function)
    if bound.plain:
        return function
    if is_async(function):

        async def call_async(**arguments: Any) -> Any:
            return await bound(arguments)

        return call_async

    def call(**arguments: Any) -> Any:
        return bound(arguments)

    return call


def where_of(function: Callable[..., Any]) -> str:
    """`file:line` of a function written in Python, else `module:name`."""
    code = getattr(target_of(function), "__code__", None)
    if code is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"{getattr(function, '__module__', None) or 'builtins'}:{name}"
