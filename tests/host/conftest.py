from __future__ import annotations

from collections.abc import Iterator

import pytest

from .stand_in import StandIn, stand_in


@pytest.fixture
def models() -> Iterator[StandIn]:
    """A model server on a real port."""
    with stand_in() as server:
        yield server
