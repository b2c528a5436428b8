from __future__ import annotations

from collections.abc import Iterator

import pytest

from .support import Engine, an_engine


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    with an_engine() as one:
        yield one
