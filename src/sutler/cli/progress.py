"""What a long command is doing, as one moving line on a terminal's stderr."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from .text import one_line

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner

    from ..runtime import Event

_AFTER = 1.0  # seconds; a shorter command shows nothing


class Progress:
    """Hears the runtime's events (`heard`) and shows the latest, when `stream` is a terminal and `start` was called."""

    def __init__(self, stream: TextIO, *, after: float = _AFTER) -> None:
        self._stream = stream
        self._after = after
        self._lock = threading.RLock()
        self._text = "working"
        self._calls = 0
        self._live: Live | None = None
        self._timer: threading.Timer | None = None
        self._held = 0

    def start(self) -> None:
        if self._stream.isatty():
            self._timer = threading.Timer(self._after, self._show)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._hide()

    def heard(self, event: Event) -> None:
        with self._lock:
            match event.kind:
                case "call_started":
                    self._calls += 1
                    self._text = f"call {self._calls}: {event.tool}"
                case "progress":
                    fraction = event.data.get("fraction")
                    share = f" {fraction:.0%}" if isinstance(fraction, int | float) else ""
                    self._text = f"{event.tool}:{share} {event.data.get('text', '')}"
                case _:
                    return
            if self._live is not None:
                self._live.update(self._spinner())

    @contextmanager
    def paused(self) -> Generator[None]:
        """Nothing moves on the terminal inside the block."""
        with self._lock:
            self._held += 1
            shown = self._live is not None
            self._hide()
        try:
            yield
        finally:
            with self._lock:
                self._held -= 1
                if shown and not self._held:
                    self._show()

    def _show(self) -> None:
        with self._lock:
            if self._held:
                self._timer = threading.Timer(self._after, self._show)
                self._timer.daemon = True
                self._timer.start()
                return
            if self._timer is None or self._live is not None:
                return
            from rich.console import Console
            from rich.live import Live

            # Without redirects: sys.stdout is routed by call, and must stay so.
            self._live = Live(
                self._spinner(),
                console=Console(file=self._stream),
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
                refresh_per_second=8,
            )
            self._live.start()

    def _hide(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def _spinner(self) -> Spinner:
        from rich.spinner import Spinner
        from rich.text import Text

        return Spinner("dots", Text(one_line(self._text, 100)))
