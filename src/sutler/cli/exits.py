"""What the process says by its exit code: the one place where kinds become numbers (docs/cli.md, Exit codes)."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import ConfigError, SourceError, StoreError, ToolCallError
from ..spec import FailureKind, RunResult, ToolFailure

OK = 0
FAILED = 1
USAGE = 2
CONFIG = 3
UNAVAILABLE = 4
DENIED = 5
LIMIT = 6
INTERRUPTED = 130
READER_LEFT = 141  # 128 + SIGPIPE, as for any program whose reader went away

BY_KIND: Mapping[FailureKind, int] = {
    "tool_error": FAILED,
    "crashed": FAILED,
    "not_found": USAGE,
    "invalid_arguments": USAGE,
    "unavailable": UNAVAILABLE,
    "denied": DENIED,
    "timeout": LIMIT,
    "limit": LIMIT,
}


class Refused(Exception):
    """The command cannot be carried out as it was given. `kind` is its word in --json; `code` the exit code."""

    def __init__(self, message: str, *, code: int = USAGE, kind: str = "usage") -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind


def of_failure(failure: ToolFailure) -> int:
    return BY_KIND[failure.kind]


def of_run(result: RunResult) -> int:
    """A run's code. One that ended because a call of it was refused, late or unreachable has that call's code."""
    if result.status == "completed":
        return OK
    if result.status == "waiting":
        return DENIED
    if result.status == "cancelled":
        return INTERRUPTED
    error = result.error
    if error is None or error.kind != "error":
        return LIMIT if error is not None and error.kind == "limit" else FAILED
    for entry in reversed(result.trace):
        if not entry.success and entry.kind is not None and entry.error is not None:
            code = BY_KIND[entry.kind] if entry.error in error.message else FAILED
            return FAILED if code == USAGE else code  # the program was wrong, not the command
    return FAILED


def of_error(error: BaseException) -> int:
    """The code of an exception that ended a command."""
    match error:
        case Refused():
            return error.code
        case ToolCallError():
            return BY_KIND[error.kind]
        case ConfigError() | StoreError():
            return CONFIG
        case SourceError():
            return UNAVAILABLE
        case KeyboardInterrupt():
            return INTERRUPTED
        case BrokenPipeError():
            return READER_LEFT
        case _:
            return FAILED
