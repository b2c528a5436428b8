"""The first program of a worker: it starts the worker proper, and ends all that this one started.

Run by its path, so that nothing is loaded but a few small modules. It ends the worker when the host closes the life
pipe, which the system does for a host that is killed; and it adopts the worker's orphans, so that a grandchild in a
session of its own ends too (FH26). A parent-death signal on the worker covers the case that this process is killed.
That signal follows the parent's thread, not its process, which is why it cannot be set from a host with threads.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_EVERY_MS = 1_000


def main() -> None:
    life, requests, answers, out, err = (int(text) for text in sys.argv[1:6])
    host = os.getppid()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, _wake_up)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    guard = os.getpid()
    worker = os.fork()
    if worker:
        for fd in (requests, answers, out, err):
            os.close(fd)
        _watch(worker, life, woken, host)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for fd in (life, wake, woken):
        os.close(fd)
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(1)
    _become_worker(requests, answers, out, err)


def _wake_up(number: int, frame: object) -> None:
    """A handler has to exist for the wake-up pipe to be written."""


def _become_worker(requests: int, answers: int, out: int, err: int) -> None:
    import json

    lines = os.fdopen(requests, "rb")
    first = lines.readline()
    if not first:
        return
    sys.path[:] = json.loads(first)["path"]
    sys.argv[1:] = []
    from sutler.workspace.worker_main import serve

    serve(lines, first, answers, out, err)


def _watch(worker: int, life: int, woken: int, host: int) -> None:
    """Wait until the worker ends or the host goes, leave nothing, and end as the worker ended."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    poll = select.poll()
    poll.register(life, 0)  # a hang-up is always reported
    poll.register(woken, select.POLLIN)
    status: int | None = None
    while status is None:
        ready = dict(poll.poll(_LOOK_EVERY_MS))
        if woken in ready:
            os.read(woken, 4096)
        status = _reap(worker)
        # Somebody forked from the host may hold the pipe open, so the parent is looked at as well.
        if status is None and (life in ready or os.getppid() != host):
            _kill(worker, whole_group=True)
            break
    while True:
        time.sleep(0.001)  # most often the dead are all there then, and /proc need not be read
        try:
            ended = _reap(worker)
        except ChildProcessError:
            break
        status = ended if ended is not None else status
        for pid in _children():
            _kill(pid)
    _end_like(status or 0)


def _kill(pid: int, *, whole_group: bool = False) -> None:
    try:
        if whole_group:
            os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # the group may not be there yet
        if whole_group:
            os.kill(pid, signal.SIGKILL)
    except PermissionError:  # a set-user-id program: cannot be ended from here, and must not be waited for
        os._exit(1)


def _reap(worker: int) -> int | None:
    """Bury all dead children; the worker's wait status if it is one. ChildProcessError when there are none at all."""
    status: int | None = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            if status is None:
                raise
            return status
        if not pid:
            return status
        if pid == worker:
            status = ended


def _children() -> list[int]:
    """Own children, adopted ones included, by the parent that /proc names."""
    found: list[int] = []
    me = os.getpid()
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - pathlib would be loaded for this alone
    except OSError:
        return found
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[1:2] == [b"%d" % me]:
            found.append(int(name))
    return found


def _end_like(status: int) -> None:
    if not os.WIFSIGNALED(status):
        os._exit(os.WEXITSTATUS(status))
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    number = os.WTERMSIG(status)
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0)


if __name__ == "__main__":
    main()
