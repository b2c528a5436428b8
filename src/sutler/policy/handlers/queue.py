"""Asks a person through the event queue of an interface that must not be held up (LCP section 5.B)."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from queue import Empty, Full, Queue
from typing import Any, Final

from ..interaction import read_request

TIMEOUT: Final = 300.0  # seconds
_NEVER_CAME: Final = object()


def make_gui_confirm_handler(event_queue: Any, timeout: float = TIMEOUT) -> Callable[[str, str, list[Any] | None], Any]:
    """A confirm_handler that puts each question into `event_queue` and waits for its answer.

    Each is a dict: type "approval_request", source, script_label, argv, and a response_queue that the interface puts
    (decision, reason), or an Answer, into. After `timeout` seconds without one the call is rejected.
    event_queue: a queue.Queue, or anything with its `put`. TypeError for one of asyncio, which threads cannot use.
    """
    _check(event_queue, timeout)

    def confirm(source: str, script_label: str, argv: list[Any] | None = None) -> Any:
        question = {"type": "approval_request", "source": source, "script_label": script_label, "argv": argv}
        answer = _answer_to(event_queue, question, timeout)
        if answer is _NEVER_CAME:
            return "reject", f"the approval request timed out: nobody answered within {timeout:g} s"
        return answer

    return confirm


def make_gui_interaction_handler(
    event_queue: Any, timeout: float = TIMEOUT
) -> Callable[[Mapping[str, Any]], str | None]:
    """A user_interaction_handler that puts each request into `event_queue` and waits for its answer.

    Each is a dict: type "interaction_request", request {type, title, prompt, options, default}, and a response_queue
    that the interface puts the answer into, or None for a cancel. None after `timeout` seconds without one.
    """
    _check(event_queue, timeout)

    def ask(request: Mapping[str, Any]) -> str | None:
        question = {"type": "interaction_request", "request": {**request, **read_request(request)}}
        answer = _answer_to(event_queue, question, timeout)
        return None if answer is _NEVER_CAME else answer

    return ask


def _check(event_queue: Any, timeout: float) -> None:
    if inspect.iscoroutinefunction(getattr(event_queue, "put", None)):
        raise TypeError(
            "event_queue must be a queue.Queue: questions come from threads, and an asyncio.Queue is not for them"
        )
    if not callable(getattr(event_queue, "put", None)):
        raise TypeError(f"event_queue must be a queue.Queue, or have its put, not {event_queue!r}")
    if isinstance(timeout, bool) or not timeout > 0:
        raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")


def _answer_to(event_queue: Any, question: dict[str, Any], timeout: float) -> Any:
    """What the interface answers, or _NEVER_CAME. A queue that is full counts as an interface that does not answer."""
    response: Queue[Any] = Queue(maxsize=1)
    due = time.monotonic() + timeout
    try:
        event_queue.put({**question, "response_queue": response}, timeout=timeout)
        return response.get(timeout=max(0.0, due - time.monotonic()))
    except (Empty, Full):
        return _NEVER_CAME
