"""How many programs may run at once. Waiting for a slot costs no thread."""

from __future__ import annotations

import threading
from concurrent.futures import Future

TOP_LEVEL_RUNS = 128
MAX_DEPTH = 4


class Slots:
    """The places of one depth of nesting."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._waiting: list[Future[None]] = []
        self._lock = threading.Lock()

    def acquire(self) -> Future[None]:
        """A future that is done once the slot is held. Cancelling it gives the place in the queue up."""
        granted: Future[None] = Future()
        with self._lock:
            if self._free:
                self._free -= 1
                granted.set_running_or_notify_cancel()
                granted.set_result(None)
            else:
                self._waiting.append(granted)
        return granted

    def release(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._free += 1
                    return
                waiter = self._waiting.pop(0)
            if waiter.set_running_or_notify_cancel():
                waiter.set_result(None)
                return


# Nested programs draw on slots of their own depth: a parent that holds one can never starve its child of one.
SLOTS = tuple(Slots(TOP_LEVEL_RUNS) for _ in range(MAX_DEPTH + 1))
