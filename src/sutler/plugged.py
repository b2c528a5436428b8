"""What installed packages bring by entry points, each made and looked at, or with what went wrong (SRC-12, POL-09)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def plugged(
    group: str, check: Callable[[Any], object], only: Iterable[EntryPoint] | None = None
) -> Iterator[tuple[EntryPoint, list[Any], BaseException | None]]:
    """(entry point, the objects it gave, None) by name; or those before the first bad one, and what went wrong.

    An entry point is a callable without parameters that gives one object or a list of them. check(object) raises for
    one that is not what is wanted. only: these instead of those of all installed packages.
    """
    from importlib.metadata import entry_points

    points = entry_points(group=group) if only is None else only
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        good: list[Any] = []
        failed: BaseException | None = None
        try:
            given: Any = point.load()()
            for item in cast("list[Any]", given) if isinstance(given, list | tuple) else [given]:
                check(item)
                good.append(item)
        except (Exception, SystemExit) as error:
            failed = error
        yield point, good, failed
