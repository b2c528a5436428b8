"""Runtimes over nothing but what a test gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sutler import SyncRuntime


@pytest.fixture
def runtime() -> Iterator[Callable[..., SyncRuntime]]:
    """Opens runtimes without config, shipped tools or plugins; closes them after the test."""
    opened: list[SyncRuntime] = []

    def open_runtime(*tools: Any, **options: Any) -> SyncRuntime:
        options = {"config": False, "default_tools": False, "plugins": False, **options}
        rt = SyncRuntime(tools=tools, **options).open()
        opened.append(rt)
        return rt

    yield open_runtime
    for rt in opened:
        rt.close()
