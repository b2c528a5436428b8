"""The call that the present code belongs to, as far as a client or a binding inside it must know it.

The runtime sets it, and a worker process for what it runs. Standard library only, below everything.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, Protocol


class Owner(Protocol):
    """The runtime of a call.

    client_tools: its tools, as `client.tools` of a tool that it runs. await_on_host: waits for what the host's own
    async code gives, on the loop that such code runs on. library_confirm: asks its person, as a library does.
    at_close: what is to be ended with it.
    """

    at_close: list[Callable[[], object]]

    @property
    def client_tools(self) -> Any: ...
    def await_on_host(self, value: Awaitable[Any], /) -> Any: ...
    def library_confirm(
        self, source: str, script_label: str = "", argv: list[Any] | None = None
    ) -> tuple[str, str]: ...


class Caller(Protocol):
    """One call of a tool. remaining: the seconds it and everything it is nested in still has."""

    @property
    def owner(self) -> Any: ...
    def remaining(self) -> float: ...


current: ContextVar[Any] = ContextVar("sutler_frame", default=None)


def caller() -> Caller | None:
    return current.get()


def seconds_left() -> float:
    """What the call in which this code runs has left; math.inf outside of any."""
    call = caller()
    return math.inf if call is None else call.remaining()
