"""Hears of changes in tool folders while a runtime is open, and has them picked up (LIB-09)."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ClosedError, words

if TYPE_CHECKING:
    from .libraries import Libraries

_log = logging.getLogger("sutler")
_QUIET = 50  # ms without a further change before one is looked at: an editor writes a file in several steps
_LONGEST = 500  # ms that a flow of changes is gathered
_AWAKE = 1000  # ms between two signs of life
_POLL = 2.0  # seconds between two looks where the system tells of no changes


class Watcher:
    """One daemon thread. `note`: why it polls instead of being told, in words; empty as long as it is told."""

    def __init__(self, libraries: Libraries) -> None:
        self._libraries = libraries
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._main, name="sutler-watch", daemon=True)
        self.note = ""
        self._thread.start()

    def close(self, timeout: float = 2.0) -> None:
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _main(self) -> None:
        with suppress(ClosedError):
            while not self._stop.is_set():
                try:
                    self._listen()
                except ClosedError:
                    raise
                except Exception as error:  # the system has no watches left, or the folder's file system has none
                    self.note = f"changes of tool folders are looked for every {_POLL:g} s: {words(error)}"
                    _log.warning("%s", self.note)
                    while not self._stop.wait(_POLL):
                        self._look()

    def _listen(self) -> None:
        """Until the set of folders to watch is another one."""
        from watchfiles import watch

        folders = frozenset(_watched(self._libraries))
        if not folders:
            self._stop.wait()
            return
        changes = watch(
            *sorted(folders),
            watch_filter=lambda _, path: _counts(path),
            recursive=False,
            debounce=_LONGEST,
            step=_QUIET,
            rust_timeout=_AWAKE,
            yield_on_timeout=True,
            stop_event=self._stop,
            raise_interrupt=False,
        )
        began = False
        for change in changes:
            if change or not began:  # once as it begins: for what changed before it did
                began = True
                self._look()
                if frozenset(_watched(self._libraries)) != folders:
                    return

    def _look(self) -> None:
        try:
            self._libraries.refresh()
        except ClosedError:
            raise
        except Exception:
            _log.exception("looking at the tool folders failed")


def _watched(libraries: Libraries) -> Iterator[str]:
    """The directories in which a change may be one of a library; for one that is missing, the nearest above it."""
    for place in libraries.places:
        path = Path(os.path.abspath(place.path.expanduser()))  # noqa: PTH100 - as the folders are read
        root = path.parent if place.is_file else path
        if not root.is_dir():
            yield str(next((above for above in root.parents if above.is_dir()), root.anchor))
            continue
        yield str(root)
        if not place.is_file:
            yield from _inner(root)


def _inner(root: Path) -> Iterable[str]:
    with suppress(OSError), os.scandir(root) as entries:
        return [entry.path for entry in entries if _counts(entry.path) and entry.is_dir()]
    return ()


def _counts(path: str) -> bool:
    name = os.path.basename(path)  # noqa: PTH119 - called for every change
    return not name.startswith((".", "__pycache__")) and not name.endswith((".pyc", "~"))
