"""Sources that other packages bring: every entry point of group `sutler.sources` (SRC-12).

[project.entry-points."sutler.sources"]
tickets = "my_package:tickets_source"      # a callable without parameters: a ToolSource, or a list of them
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from ..errors import SourceError, ToolUnavailable
from ..plugged import plugged
from ..spec import ToolSpec
from .base import PLUGINS, ToolSource

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "sutler.sources"


def plugin_sources(only: Iterable[EntryPoint] | None = None) -> list[ToolSource]:
    """The sources of all installed plugins, by name. One that fails is there too: as a source that says why."""
    sources: list[ToolSource] = []
    for point, items, error in plugged(GROUP, _check, only):
        sources += items
        if error is not None:
            sources.append(BrokenPlugin(point, error))
    return sources


def _check(item: object) -> None:
    if not isinstance(item, ToolSource):
        raise SourceError(f"it gave a {type(item).__name__}, which is no ToolSource")
    if not isinstance(cast("object", item.name), str) or not item.name:
        raise SourceError(f"its source has no name: {item.name!r}")


class BrokenPlugin:
    """Stands for a plugin that gave no source, so that it is quarantined with its reason like any other source."""

    precedence = PLUGINS

    def __init__(self, point: EntryPoint, error: BaseException) -> None:
        self._name = point.name
        self.reason = f"plugin {point.name!r} ({place(point)}) failed: {type(error).__name__}: {error}"

    @property
    def name(self) -> str:
        return self._name

    def available(self) -> bool:
        return True

    def discover(self) -> list[ToolSpec]:
        raise SourceError(self.reason)

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        raise ToolUnavailable(self.reason)


def place(point: EntryPoint) -> str:
    distribution = point.dist
    package = f" of {distribution.name} {distribution.version}" if distribution is not None else ""
    return f"entry point {point.value}{package}"
