"""An exception that ended a command, said in a few lines; never a traceback, unless SUTLER_DEBUG=1 asks for it."""

from __future__ import annotations

import os
import traceback
from typing import Any

from ..errors import ConfigError, SutlerError, ToolCallError
from .context import failure_document
from .exits import Refused, of_error
from .out import Out


def report(error: BaseException, out: Out) -> int:
    """Says what went wrong, and gives the exit code."""
    code = of_error(error)
    if isinstance(error, BrokenPipeError):
        return code
    if os.environ.get("SUTLER_DEBUG") == "1":
        out.say("".join(traceback.format_exception(error)))
    kind, message = _said(error)
    if isinstance(error, ConfigError):
        for problem in error.problems:
            out.error(str(problem))
    else:
        out.error(message)
    if out.as_json and not out.answered:
        out.document(failure_document(kind, message, _details(error)))
    return code


def _said(error: BaseException) -> tuple[str, str]:
    """The kind and the words."""
    match error:
        case Refused():
            return error.kind, str(error)
        case ConfigError():
            return "config", str(error)
        case ToolCallError():
            return error.kind, str(error)
        case SutlerError():
            return type(error).__name__, str(error)
        case KeyboardInterrupt():
            return "interrupted", "interrupted"
        case OSError():
            place = f"{error.filename}: " if error.filename is not None else ""
            return "os", f"{place}{error.strerror or error}"
        case _:
            hint = "set SUTLER_DEBUG=1 to see where"
            return "bug", f"this is a fault in Sutler: {type(error).__name__}: {error} ({hint})"


def _details(error: BaseException) -> dict[str, Any]:
    if not isinstance(error, ConfigError):
        return {}
    return {
        "problems": [
            {"file": one.file, "line": one.line, "key": one.key, "message": one.message, "hint": one.hint}
            for one in error.problems
        ]
    }
