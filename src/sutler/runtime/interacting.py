"""Questions that tools put to the person: a text, a secret, a choice (LCP section 13)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..policy.interaction import accepted, is_form, read_request
from .frames import current_frame
from .ticket import Ticket

if TYPE_CHECKING:
    from .core import Core

InteractionHandler = Callable[[dict[str, Any]], Any]


class Interactions:
    """handler: the host's, sync or async; None when there is nobody. It may be replaced at any time."""

    def __init__(self, core: Core, handler: InteractionHandler | None) -> None:
        self._core = core
        self.handler = handler

    def for_call(self, ticket: Ticket) -> Callable[[Any], Any] | None:
        """The handler that a call is given; None when there is nobody to ask."""
        return (lambda request: self.ask(ticket, request)) if self.handler is not None else None

    @property
    def for_libraries(self) -> Callable[[Any], Any] | None:
        """The handler that a library is given; it reaches whoever is behind `handler` by then. None: nobody to ask."""
        return self._from_library if self.handler is not None else None

    def _from_library(self, request: Any) -> Any:
        frame = current_frame.get()
        ticket = frame.ticket if frame is not None and frame.owner is self._core else None
        return self.ask(ticket, request)

    def ask(self, ticket: Ticket | None, request: Any) -> Any:
        """The person's answer, blocking this thread; None when he cancels, or there is nobody to answer.

        ValueError for a request that is none. No clock of the call runs meanwhile. A secret is known from here on, and
        masked wherever it would be shown.
        """
        handler = self.handler
        if handler is not None and getattr(handler, "takes_forms", False) and is_form(request):
            with ticket.paused() if ticket is not None else nullcontext():
                return handler(request)
        asked = read_request(request)
        if handler is None:
            return None
        refused = getattr(handler, "no_secrets", "") if asked["type"] == "secret" else ""
        if refused:
            if ticket is not None:
                ticket.notes = (*ticket.notes, refused)
            return None
        with ticket.paused() if ticket is not None else nullcontext():
            try:
                answer: Any = handler({**request, **asked})
                if inspect.isawaitable(answer):
                    answer = self._core.places.await_on_host(answer)
            except (EOFError, KeyboardInterrupt, TimeoutError):
                return None
        given = accepted(asked, answer)
        if given is not None and asked["type"] == "secret":
            self._core.recorder.typed.register(given)
            self._core.recorder.secrets.register(given)
        return given
