"""The folders that calls work in: the runtime's own, and others that single calls name (LCP-19).

A site is one workspace with the threads that belong to it. Libraries, policy and records are the runtime's; only the
place differs, so a library keeps its state whichever folder it is called in. What a call starts works where it does.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from ..errors import ClosedError, ToolUnavailable
from ..workspace.root import Workspace
from ..workspace.threads import WorkspaceThreads

KEPT = 16  # sites beside the runtime's own that stay ready though no call works there


class Site:
    """One workspace with its threads. `users`: the calls and runs that work there now."""

    __slots__ = ("root", "threads", "users", "workspace")

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.root: Path = workspace.root
        self.threads = WorkspaceThreads(workspace.root)
        self.users = 0


class Sites:
    """The sites of one runtime. Those beside `home` are made when they are first named and ended, longest idle first,
    when there are more than 16."""

    def __init__(self, home: Workspace) -> None:
        self.home = Site(home)
        self._home = str(home.root)
        self._others: OrderedDict[str, Site] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False

    def enter(self, root: str | os.PathLike[str] | None, within: Site | None) -> Site:
        """Where a call works: in `root`, else where that works which it is nested in, else at home.

        `leave` it when the call has ended. ToolUnavailable when `root` is no folder.
        """
        if root is None:
            if within is None or within is self.home:
                return self.home
            root = within.root
        try:
            text = os.fspath(root)
            if text != self._home and text not in self._others:  # a path that is known is as it was when it came
                text = str(Path(text).expanduser().resolve(strict=True))
            return self.home if text == self._home else self._at(text)
        except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: ~ of nobody
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise ToolUnavailable(f"the workspace {str(root)!r} cannot be used: {why}") from None

    def _at(self, folder: str) -> Site:
        with self._lock:
            if self._closed:
                raise ClosedError("this runtime is closed")
            site = self._others.get(folder)
            if site is None:
                site = self._others[folder] = Site(self.home.workspace.beside(folder))
            self._others.move_to_end(folder)
            site.users += 1
            idle = [one for one in self._others.values() if not one.users]
            ended = idle[: max(0, len(self._others) - KEPT)]
            for one in ended:
                del self._others[str(one.root)]
        for one in ended:
            one.threads.close(0)
        return site

    def leave(self, site: Site) -> None:
        if site is not self.home:
            with self._lock:
                site.users -= 1

    def close(self, timeout: float) -> tuple[str, ...]:
        """Ends the threads of all. Returns what did not end in time, in words."""
        with self._lock:
            self._closed = True
            sites = [self.home, *self._others.values()]
            self._others.clear()
        return tuple(note for site in sites for note in site.threads.close(timeout).notes)


class Stay:
    """A call's time at a site. It is over when the block ends, though a thread may only then arrive there."""

    __slots__ = ("_held", "_over", "_sites")

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._held: list[Site] = []
        self._over = False

    def enter(self, root: str | os.PathLike[str] | None, within: Site | None) -> Site:
        site = self._sites.enter(root, within)
        if site is not self._sites.home:
            self._held.append(site)
            if self._over:
                self.leave()
        return site

    def leave(self) -> None:
        self._over = True
        while self._held:
            with suppress(IndexError):  # the other thread was quicker
                self._sites.leave(self._held.pop())

    def __enter__(self) -> Stay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()
