"""Standard output belongs to the answer alone (RUN-13).

`claim` moves the real standard output to a private descriptor and leads descriptor 1 to standard error. Whatever a
tool, its import or a child process prints from then on, by whatever means, can no longer stand between the answer and
its reader.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import BinaryIO


def steady() -> None:
    """Opens the standard descriptors that were closed, so that no file a command opens becomes one of them."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - open for good


def claim() -> BinaryIO:
    """The standard output of this process, for us alone. Children do not inherit it."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    stray: object = sys.stdout
    if isinstance(stray, io.TextIOWrapper):
        with suppress(ValueError, OSError):
            stray.reconfigure(line_buffering=True)  # pyright: ignore[reportUnknownMemberType]  # shown when written
    return os.fdopen(own, "wb")
