"""Bindings over nothing but what a test gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sutler.lcp import LCPBinding


@pytest.fixture
def binding() -> Iterator[Callable[..., LCPBinding]]:
    opened: list[LCPBinding] = []

    def open_binding(**options: Any) -> LCPBinding:
        one = LCPBinding(**options)
        opened.append(one)
        return one

    yield open_binding
    for one in opened:
        one.close()
