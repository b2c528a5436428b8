"""Why a library could not be loaded, in words that name file, line and cause (RUN-04, LIB-07)."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType

from ..errors import ToolUnavailable


def load_failure(file: Path, what: str, error: BaseException, directory: Path) -> ToolUnavailable:
    """What raising `error` in loading `file` comes to. what: `import`, or the hook that ran.

    The line is the deepest one inside the library's directory, the traceback begins where the library's own code does.
    """
    frames = _own_frames(error.__traceback__, directory)
    done = "cannot be imported" if what == "import" else f"{what} failed"
    place: tuple[str, int] | None = None
    if isinstance(error, SyntaxError) and error.filename:
        place = error.filename, error.lineno or 1
    elif frames is not None:
        last = [frame for frame in traceback.extract_tb(frames) if _inside(frame.filename, directory)][-1]
        place = last.filename, last.lineno or 1
    if place is None:
        begin = f"{file}: {done}: "
    elif place[0] == str(file):
        begin = f"{file}:{place[1]}: {done}: "
    else:
        begin = f"{file}: {done}: {place[0]}:{place[1]}: "
    text = _text(error)
    cause = f"{type(error).__name__}: {text}" if text else type(error).__name__
    shown = "".join(traceback.format_exception(type(error), error, frames))
    return ToolUnavailable(f"{begin}{cause}{_hint(error, directory)}", traceback=shown)


def _text(error: BaseException) -> str:
    try:
        return error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:  # an exception class whose own __str__ fails
        return "(its text cannot be shown)"


def _hint(error: BaseException, directory: Path) -> str:
    if not isinstance(error, ModuleNotFoundError) or not error.name or error.name.startswith("_sutler_"):
        return ""
    if (directory / f"{error.name}.py").is_file():
        return (
            f" ({error.name}.py stands beside the file: reach it by an import statement, or by"
            f" importlib.import_module('.{error.name}', __package__))"
        )
    return f" (install what provides `{error.name}` into the environment that runs the tools)"


def _own_frames(trace: TracebackType | None, directory: Path) -> TracebackType | None:
    """The traceback from its first frame inside the library on; None when it never got there."""
    while trace is not None and not _inside(trace.tb_frame.f_code.co_filename, directory):
        trace = trace.tb_next
    return trace


def _inside(filename: str, directory: Path) -> bool:
    return filename.startswith(str(directory) + os.sep)
