"""A real terminal for a child process, and somebody who types."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# Makes the pseudo-terminal the controlling one, so that Ctrl-C comes as it does to a person's programs.
_OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


def python_at_terminal(
    arguments: Sequence[str],
    answers: Sequence[tuple[str, str]],
    *,
    cwd: Path,
    env: Mapping[str, str],
    columns: int = 200,
) -> tuple[int, str]:
    """Python with these arguments at a terminal of its own: its exit code, and all that was seen there.

    answers: (what to wait for, what to type), in order.
    """
    terminal, end = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", _OWN_TERMINAL, sys.executable, *arguments],
        cwd=cwd,
        env={**env, "COLUMNS": str(columns), "TERM": "xterm"},
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
    )
    os.close(end)
    seen, since, left = "", 0, list(answers)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not piece:
                break
            seen += piece.decode("utf-8", "replace")
        if left and left[0][0] in seen[since:]:
            since = len(seen)
            os.write(terminal, left.pop(0)[1].encode())
    os.close(terminal)
    code = child.wait(timeout=30)
    assert not left, f"never asked for {left}: {seen}"
    return code, seen
