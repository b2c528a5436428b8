"""Specs whose expensive half is computed when somebody looks at it.

Discovery of thousands of files must not parse a docstring or build a schema that nobody reads (DESIGN, Libraries). A
`LazyToolSpec` is a ToolSpec in every other way: isinstance, `==`, digest, args, replace, with_origin, pickle.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from ..spec import Grade, GradeFrom, Origin, ToolSpec

LAZY = ("description", "input_schema", "output_schema", "hidden", "untyped", "docs", "notes")
_PENDING = "_pending"

_lock = threading.RLock()  # one for all: describing takes well under a millisecond, and a lock per spec costs memory


class Pending:
    """The half that is still to be computed, shared by all copies of a spec; `describe` is asked once."""

    __slots__ = ("_describe", "_found")

    def __init__(self, describe: Callable[[], Mapping[str, Any]]) -> None:
        self._describe: Callable[[], Mapping[str, Any]] | None = describe
        self._found: Mapping[str, Any] = {}

    def found(self) -> Mapping[str, Any]:
        """A value for every name in LAZY."""
        if self._describe is not None:
            with _lock:
                if self._describe is not None:
                    self._found = self._describe()
                    self._describe = None
        return self._found


class _Lazy:
    """Stands in for a field that is not in the instance yet. No __set__: once there, the instance's own value wins."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, spec: LazyToolSpec | None, owner: type) -> Any:
        if spec is None:
            return getattr(ToolSpec, self.name, None)
        state = spec.__dict__
        state.update(state[_PENDING].found())
        return state[self.name]


class LazyToolSpec(ToolSpec):
    """A ToolSpec made by `lazy_spec`. Made by its constructor (as `replace` does) it is an ordinary, complete one."""

    description = _Lazy("description")  # type: ignore[assignment]  # stands for the field until it is filled
    input_schema = _Lazy("input_schema")  # type: ignore[assignment]
    output_schema = _Lazy("output_schema")  # type: ignore[assignment]
    hidden = _Lazy("hidden")  # type: ignore[assignment]
    untyped = _Lazy("untyped")  # type: ignore[assignment]
    docs = _Lazy("docs")  # type: ignore[assignment]
    notes = _Lazy("notes")  # type: ignore[assignment]

    def with_origin(self, **changes: Any) -> ToolSpec:
        """As in ToolSpec, without looking at the lazy half."""
        return self._with(origin=replace(self.origin, **changes))

    def with_grade(self, grade: Grade, grade_from: GradeFrom = "override") -> ToolSpec:
        """As in ToolSpec, without looking at the lazy half."""
        return self._with(grade=grade, grade_from=grade_from)

    def _with(self, **changes: Any) -> ToolSpec:
        made: LazyToolSpec = object.__new__(LazyToolSpec)
        made.__dict__.update(self.__dict__)
        made.__dict__.update(changes)
        made.__dict__.pop("digest", None)  # it covers the grade
        return made

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ToolSpec):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _NAMES)

    __hash__ = ToolSpec.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, ({name: getattr(self, name) for name in _NAMES},)


_NAMES = tuple(field.name for field in fields(ToolSpec))


def _rebuilt(values: dict[str, Any]) -> ToolSpec:
    return ToolSpec(**values)


def _defaults() -> dict[str, Any]:
    plain = ToolSpec(name="", origin=Origin(source="", kind="library"))
    return {name: value for name, value in plain.__dict__.items() if name not in {*LAZY, "name", "origin", "meta"}}


_DEFAULTS = _defaults()


def lazy_spec(known: Mapping[str, Any], pending: Pending) -> LazyToolSpec:
    """A spec from the fields known already (name and origin at least) and the half to be computed at first touch."""
    spec: LazyToolSpec = object.__new__(LazyToolSpec)
    spec.__dict__.update(_DEFAULTS, meta={}, _pending=pending)
    spec.__dict__.update(known)
    return spec
