"""The first program of a stdio server: it starts the server proper, and leaves nothing of it when either ends (FH26).

Run by its path. It does for a server what workspace/guard.py does for a worker, with that module's means: when the host
closes the life pipe, or is killed, or when the server ends by itself, everything that the server started ends too, and
this process ends as the server ended. What cannot be started is told through the status pipe.
Arguments: the fds of the life pipe and the status pipe, whether LC_CTYPE is to be taken out of the environment (Python
puts it there), the server's cwd, its command, its arguments.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    life, status, drop = (int(text) for text in sys.argv[1:4])
    cwd, *command = sys.argv[4:]
    if drop:
        os.environ.pop("LC_CTYPE", None)
    host = os.getppid()
    sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "workspace"))  # noqa: PTH100, PTH118, PTH120
    guard = __import__("guard")
    guard._prctl(guard._PR_SET_CHILD_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, guard._wake_up)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    os.set_inheritable(status, False)
    keeper = os.getpid()
    server = os.fork()
    if server:
        os.write(status, b"%d\n" % server)
        os.close(status)
        guard._watch(server, life, woken, host)
    os.close(life)
    os.setsid()
    guard._prctl(guard._PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(1)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # what is ignored stays ignored in the program that comes
    step = b"cwd"
    try:
        os.chdir(cwd)
        step = b"exec"
        os.execvp(command[0], command)
    except OSError as error:
        os.write(status, b"%s %d\n" % (step, error.errno or 0))
    os._exit(127)


if __name__ == "__main__":
    main()
