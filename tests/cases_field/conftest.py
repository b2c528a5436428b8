"""A runtime over tools with schemas written by hand, whose implementation gives its arguments back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sutler import Origin, SyncRuntime, ToolSpec

OPTIONS: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False}


class Upstream:
    """A source as a server would be: names and schemas of its own, and a record of what it was sent."""

    def __init__(self, name: str, tools: dict[str, dict[str, Any]], outputs: dict[str, dict[str, Any]]) -> None:
        self.name = name
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self._tools = tools
        self._outputs = outputs

    def available(self) -> bool:
        return True

    def discover(self) -> list[ToolSpec]:
        origin = Origin(source=self.name, kind="openapi", precedence=5)
        return [
            ToolSpec(name=name, input_schema=schema, output_schema=self._outputs.get(name), origin=origin)
            for name, schema in self._tools.items()
        ]

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        def run(**arguments: Any) -> Any:
            self.sent.append((spec.name, arguments))
            return arguments

        return run


Serve = Callable[..., tuple[SyncRuntime, Upstream]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    opened: list[SyncRuntime] = []

    def start(
        tools: dict[str, dict[str, Any]],
        *more: Upstream,
        source: str = "up",
        outputs: dict[str, dict[str, Any]] | None = None,
    ) -> tuple[SyncRuntime, Upstream]:
        upstream = Upstream(source, tools, outputs or {})
        rt = SyncRuntime(sources=[upstream, *more], policy="full_access", **OPTIONS).open()
        opened.append(rt)
        return rt, upstream

    yield start
    for rt in opened:
        rt.close()


@pytest.fixture
def runtime() -> Iterator[Callable[..., SyncRuntime]]:
    opened: list[SyncRuntime] = []

    def start(*tools: Any, **options: Any) -> SyncRuntime:
        rt = SyncRuntime(tools=tools, **{**OPTIONS, **options}).open()
        opened.append(rt)
        return rt

    yield start
    for rt in opened:
        rt.close()
