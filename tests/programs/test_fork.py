"""A process that forks after a program has run."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import os
from sutler.errors import ClosedError
from sutler.programs import engine

engine.warm()
child = os.fork()
if not child:
    try:
        engine.warm()
    except ClosedError:
        os._exit(7)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
engine.warm()
"""


def test_the_parent_goes_on_and_ends_and_the_child_is_told_why_it_has_no_sandbox() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")
