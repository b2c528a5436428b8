"""One call on its way, and what a tool has going beside its thread that must end when the call is given up."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

End = Callable[[], object]


class Flight:
    """`ended` once the call was given up; `over` once the tool's code has returned all the same.

    fixed: the one thread that its library may use, which it holds until it is over.
    """

    __slots__ = ("_ends", "ended", "fixed", "over")

    def __init__(self) -> None:
        self.ended = False
        self.over = False
        self.fixed: object = None
        self._ends: list[End] | None = None

    def give_up(self) -> None:
        """From any thread; each thing that ends with the call is ended now."""
        self.ended = True
        for end in list(self._ends or ()):
            end()

    def add(self, end: End) -> None:
        if self._ends is None:
            self._ends = []
        self._ends.append(end)
        if self.ended:  # just before it could be told
            end()

    def discard(self, end: End) -> None:
        with suppress(ValueError):
            (self._ends or []).remove(end)


# The calls that the present code is part of, outermost first.
flights_here: ContextVar[tuple[Flight, ...]] = ContextVar("sutler_flights", default=())


@contextmanager
def ending_with_call(end: End) -> Generator[None]:
    """While the block runs, `end()` is called, from whatever thread, if this call or one it is nested in is given up.

    It must be quick, and may come more than once. Outside of a runtime's call it is never called.
    """
    flights = flights_here.get()
    for flight in flights:
        flight.add(end)
    try:
        yield
    finally:
        for flight in flights:
            flight.discard(end)
