"""The entry point: --version at once, everything else through the tree of commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from .context import Process


def run() -> NoReturn:
    """`sutler`. Ends the process with the command's exit code."""
    argv = sys.argv[1:]
    if argv == ["--version"]:  # before anything is imported: this is what scripts ask most often
        from .. import __version__

        print(f"sutler {__version__}")
        sys.exit(0)
    from .stdout import steady

    steady()
    from .context import Process

    process = Process(claims=True)
    code = main(argv, process)
    if process.lingers:
        # A tool that cannot be stopped must not keep the answer's reader waiting.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def main(argv: Sequence[str], process: Process | None = None) -> int:
    """One command line, and its exit code. Without a process, sys.stdout is written to as it is."""
    import logging

    from .context import Given, Process

    if os.environ.get("SUTLER_DEBUG") == "1":
        logging.basicConfig(stream=sys.stderr, level=logging.INFO)
        logging.getLogger("sutler").setLevel(logging.DEBUG)  # which has the tracebacks of tools
    else:
        logging.getLogger("sutler").addHandler(logging.NullHandler())  # what it would say the commands show
    process = process or Process()
    try:
        from typer import Abort
        from typer.exceptions import TyperException

        from .app import app

        try:
            code: object = app(list(argv), prog_name="sutler", standalone_mode=False, obj=Given(process=process))
        except Abort:
            return 130
        except TyperException as error:
            return _misused(error, argv, process)
    except (Exception, KeyboardInterrupt) as error:
        from .out import Out
        from .report import report

        return report(error, Out(as_json="--json" in argv))
    return code if isinstance(code, int) else 0


def _misused(error: Exception, argv: Sequence[str], process: Process) -> int:
    """A command line that is none: typer's usage, and the closest that is one."""
    from .exits import USAGE
    from .out import Out
    from .text import visible

    own = Out(as_json="--json" in argv)
    context = getattr(error, "ctx", None)
    if context is not None:
        own.say(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n")
    words = getattr(error, "format_message", error.__str__)().replace("Value error, ", "")
    own.error(visible(words))
    if own.as_json:
        from .context import failure_document

        own.document(failure_document("usage", words))
    return USAGE
