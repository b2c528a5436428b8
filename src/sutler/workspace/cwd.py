"""A current directory of its own for one thread (DESIGN decision 4): Linux's unshare(CLONE_FS)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import ToolUnavailable

_CLONE_FS = 0x200
_lock = threading.Lock()
_probed: Probe | None = None
_here = threading.local()


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Whether a thread can have its own current directory here, by which call, and if not why."""

    available: bool
    how: str = ""
    reason: str = ""


def per_thread_cwd() -> Probe:
    """Tried out once per process, on a thread that ends with it. SUTLER_NO_THREAD_CWD=1 says no (WSP-04)."""
    global _probed
    if os.environ.get("SUTLER_NO_THREAD_CWD") == "1":
        return Probe(available=False, reason="switched off by SUTLER_NO_THREAD_CWD=1")
    if _probed is None:
        with _lock:
            if _probed is None:
                _probed = _probe()
    return _probed


def enter(root: Path, *, moves: bool = False) -> None:
    """Give this thread `root` as its current directory, for life; again for the same root goes back to it.

    moves: it serves one call at a time, in whichever folder that call works.

    Only for a thread that was started for one workspace: threads that a tool starts share the directory of their
    starter, so a thread that moved on would drag them along. The umask, which a thread then has of its own too, goes
    back to what it was. RuntimeError on the main thread, for another root, or where there is no per-thread directory;
    OSError when `root` is gone.
    """
    held: Path | None = getattr(_here, "root", None)
    if held is None:
        if threading.current_thread() is threading.main_thread():
            raise RuntimeError("the main thread keeps the process's current directory")
        probe = per_thread_cwd()
        if not probe.available:
            raise RuntimeError(f"no current directory per thread here: {probe.reason}")
        _unshare()[1]()
        _here.root = root
        _here.umask = os.umask(0o077)  # reading it means setting it
    elif held != root and not moves:
        raise RuntimeError(f"this thread belongs to {held} and cannot move to {root}")
    os.umask(_here.umask)
    os.chdir(root)


def settle_in(root: Path, *, moves: bool = False) -> None:
    """As `enter`; ToolUnavailable, naming it, when `root` is gone: a tool must not run somewhere else instead."""
    try:
        enter(root, moves=moves)
    except OSError as error:
        raise ToolUnavailable(f"the workspace {root} cannot be entered: {error.strerror}") from error


def _unshare() -> tuple[str, Callable[[], None]]:
    """The call that gives a thread its own file system state, and its name."""
    native: Callable[[int], None] | None = getattr(os, "unshare", None)  # from Python 3.12
    if native is not None:
        return "os.unshare", lambda: native(_CLONE_FS)
    import ctypes

    function = ctypes.CDLL(None, use_errno=True).unshare

    def call() -> None:
        if function(_CLONE_FS):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    return "unshare through ctypes", call


def _probe() -> Probe:
    if sys.platform != "linux":
        return Probe(available=False, reason=f"{sys.platform} has no current directory per thread")
    found: list[Probe] = []

    def attempt() -> None:
        try:
            found.append(_attempt())
        except (OSError, AttributeError, ImportError) as error:
            found.append(Probe(available=False, reason=f"unshare(CLONE_FS) is refused: {error}"))

    thread = threading.Thread(target=attempt, name="sutler-cwd-probe", daemon=True)
    thread.start()
    thread.join()
    return found[0]


def _attempt() -> Probe:
    how, unshare = _unshare()
    held = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        unshare()
        before = Path("/proc/self/cwd").stat()  # the main thread's, whatever this thread does
        elsewhere = "/" if not os.path.samestat(before, Path("/").stat()) else "/proc"
        os.chdir(elsewhere)
        stayed = os.path.samestat(Path("/proc/self/cwd").stat(), before)
        if stayed and os.path.samestat(Path().stat(), Path(elsewhere).stat()):
            return Probe(available=True, how=how)
        os.fchdir(held)
        return Probe(available=False, reason="unshare(CLONE_FS) succeeds here but changes nothing")
    finally:
        os.close(held)
