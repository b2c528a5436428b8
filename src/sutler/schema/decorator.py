"""`@tool`: what the author of a tool says of it, on a live function or in a file that is not run (GRD-01, SRC-11)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, overload

from ..spec import UNDECLARED, Grade, GradeFrom, Isolation, ToolAnnotations

F = TypeVar("F", bound=Callable[..., Any])
ATTRIBUTE = "__sutler_tool__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The keywords of one `@tool(...)`. None means the author did not say, which is not the same as False.

    Raises TypeError or ValueError naming the keyword when a value cannot be meant.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    name: str | None = None
    description: str | None = None
    title: str | None = None
    timeout: float | None = None
    isolation: Isolation | None = None
    affinity: Literal["thread"] | None = None
    asks_itself: bool | None = None
    confirm_with: str | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None:
                _check(item.name, value)

    @property
    def annotations(self) -> ToolAnnotations:
        return ToolAnnotations(
            title=self.title,
            read_only=self.read_only,
            destructive=self.destructive,
            idempotent=self.idempotent,
            open_world=self.open_world,
        )

    @property
    def meta(self) -> dict[str, Any]:
        """What goes into `ToolSpec.meta`: how the tool is approved."""
        said: dict[str, Any] = {"asks_itself": True} if self.asks_itself else {}
        return said if self.confirm_with is None else {**said, "confirm_with": self.confirm_with}


KEYWORDS = tuple(item.name for item in fields(Declared))


def _check(keyword: str, value: object) -> None:
    if keyword in ("read_only", "destructive", "idempotent", "open_world", "asks_itself"):
        if not isinstance(value, bool):
            raise TypeError(f"@tool: {keyword} must be True or False, not {value!r}")
    elif keyword in ("name", "description", "title", "confirm_with"):
        if not isinstance(value, str):
            raise TypeError(f"@tool: {keyword} must be a text, not {value!r}")
        if not value.strip():
            raise ValueError(f"@tool: {keyword} is empty; leave it out")
        if keyword == "name" and ("::" in value or not value.isprintable() or value != value.strip()):
            raise ValueError(f"@tool: name {value!r} must be printable, without '::' and without spaces around it")
    elif keyword == "timeout":
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"@tool: timeout must be a number of seconds, not {value!r}")
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"@tool: timeout must be a positive number of seconds, not {value!r}")
    elif keyword == "isolation" and value not in ("thread", "process"):
        raise ValueError(f"@tool: isolation must be 'thread' or 'process', not {value!r}")
    elif keyword == "affinity" and value != "thread":
        raise ValueError(f"@tool: affinity must be 'thread', not {value!r}")


@overload
def tool(fn: F, /) -> F: ...
@overload
def tool(
    fn: None = None,
    /,
    *,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    name: str | None = None,
    description: str | None = None,
    title: str | None = None,
    timeout: float | None = None,
    isolation: Isolation | None = None,
    affinity: Literal["thread"] | None = None,
    asks_itself: bool | None = None,
    confirm_with: str | None = None,
) -> Callable[[F], F]: ...
def tool(
    fn: Any = None,
    /,
    *,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    name: str | None = None,
    description: str | None = None,
    title: str | None = None,
    timeout: float | None = None,
    isolation: Isolation | None = None,
    affinity: Literal["thread"] | None = None,
    asks_itself: bool | None = None,
    confirm_with: str | None = None,
) -> Any:
    """Mark a function as a tool and say what it does; the function itself comes back unchanged.

    read_only: it changes nothing. destructive: it may delete or overwrite. idempotent: twice is as once.
    open_world: it reaches beyond this machine; for a local tool, unsaid means it does not.
    timeout: seconds one call may take. isolation: "process" runs it in a worker process.
    affinity: "thread" runs all calls of the library on one thread.
    asks_itself: it asks the person itself, through its library's confirm_handler and by rules of its own, so level safe
        does not ask before it (tool folders only).
    confirm_with: the parameter whose text a person is shown, as it is, when he is asked: a command, a piece of code.
    Raises TypeError or ValueError, naming the keyword, for a value that cannot be meant.
    """
    declared = Declared(
        read_only=read_only,
        destructive=destructive,
        idempotent=idempotent,
        open_world=open_world,
        name=name,
        description=description,
        title=title,
        timeout=timeout,
        isolation=isolation,
        affinity=affinity,
        asks_itself=asks_itself,
        confirm_with=confirm_with,
    )

    if read_only and destructive:
        raise ValueError("@tool: read_only=True and destructive=True contradict each other; leave one out")

    def mark(function: F) -> F:
        if not callable(function):
            raise TypeError(f"@tool marks a function, not {function!r}; options are keywords: @tool(name='x')")
        try:
            setattr(function, ATTRIBUTE, declared)
        except (AttributeError, TypeError):
            raise TypeError(f"@tool cannot mark {function!r}: wrap it in a function of your own") from None
        return function

    return mark if fn is None else mark(fn)


def grade_of(declared: Declared | None) -> tuple[Grade, GradeFrom]:
    """The grade of a local tool from its author's hints (DESIGN: Grade from MCP hints; open_world unsaid is closed)."""
    if declared is None:
        return UNDECLARED, "undeclared"
    hints = (declared.read_only, declared.destructive, declared.idempotent, declared.open_world)
    if all(hint is None for hint in hints):
        return UNDECLARED, "undeclared"
    if declared.read_only and not declared.destructive:
        return (Grade(2, 1) if declared.open_world else Grade(1, 0)), "declared"
    if declared.read_only is False and declared.idempotent and declared.destructive is False:
        return Grade(3, 2), "declared"
    return Grade(3, 3), "declared"


def confirm_note(declared: Declared | None, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """What is to be said of a `confirm_with` that names no parameter: it is not followed."""
    named = declared.confirm_with if declared is not None else None
    known: Mapping[str, Any] = schema.get("properties") or {}
    if named is None or named in known:
        return ()
    return (f"@tool: confirm_with names {named!r}, and the tool has no such parameter; the whole call is shown",)
