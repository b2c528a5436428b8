"""Everything Sutler raises.

    SutlerError
    |-- ConfigError            a sutler.toml, or a keyword of Runtime, that cannot be used; holds every problem found
    |-- SourceError            a source that cannot be asked
    |-- SchemaError            a tool's schema that no dialect accepts; the tool is quarantined with this reason
    |-- StoreError             a file of the state directory that cannot be read or written; names it and what to do
    |-- ModelError             a client's binding that is not there, or a model server that failed; a RuntimeError too
    |-- ClosedError            a runtime used after close, before open, or in a forked child
    |-- ToolCallError          one call failed; .failure is what a face turns into a ToolResult
    |   |-- ToolNotFound       no such tool; names the closest
    |   |-- InvalidArguments   the arguments do not fit; names the parameter, what came and what is wanted
    |   |-- ToolDenied         policy, or the person, said no
    |   |-- ToolTimeout        the call's deadline passed
    |   |-- ToolUnavailable    the tool is listed but cannot be reached now
    |   |-- ToolError          the tool ran and failed
    |   |-- ToolCrashed        the process that ran it died
    |   `-- LimitExceeded      a limit of the run or the runtime
    `-- ProgramRejected        the check refused a program; .problems says where and what to write instead

Control flow, kept apart from failures (a BaseException that no `except Exception` swallows):

    ApprovalPending            a call waits for a person
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .spec import FailureKind, ToolFailure


class SutlerError(Exception):
    """Base of all failures that Sutler raises itself."""


def words(error: BaseException) -> str:
    """`Type: message` of anything raised, by whomever. Never raises, whatever the error's own methods do."""
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException as worse:
        return f"{name} (its message cannot be had: {type(worse).__name__})"
    if isinstance(error, BaseExceptionGroup):
        inner: list[BaseException] = list(error.exceptions)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        text += f": {'; '.join(words(one) for one in inner[:3])}{'; ...' if len(inner) > 3 else ''}"
    return f"{name}: {text}" if text else f"{name} (without a message)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a config: where, what, and what to do. `file` and `line` are empty for keywords."""

    message: str
    file: str = ""
    line: int | None = None
    key: str = ""
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        key = f"{self.key}: " if self.key else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{key}{self.message}{hint}"


class ConfigError(SutlerError):
    """A configuration that cannot be used. `problems` holds all that were found, in file order."""

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        self.problems: tuple[Problem, ...] = (
            (Problem(message=problems),) if isinstance(problems, str) else tuple(problems)
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))


class SourceError(SutlerError):
    """A source of tools that cannot be asked for them."""


class StoreError(SutlerError):
    """A file that holds runs, trust or approvals cannot be read or written. The message names it and what to do."""


class SchemaError(SutlerError):
    """A tool's schema that cannot be used; the message says which part and why, and quarantines the tool."""


class ModelError(SutlerError, RuntimeError):
    """A client cannot do what was asked: no binding for it, or its model's server failed. Names which (LCP-12)."""


class ClosedError(SutlerError):
    """The runtime is not open (not yet, no longer, or not in this process)."""


class ToolCallError(SutlerError):
    """One call failed. `kind` is the failure's; `traceback` is the tool's own, when it raised."""

    kind: ClassVar[FailureKind] = "tool_error"
    status_code: ClassVar[int] = 500

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        traceback: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__(message or f"the call failed ({self.kind}) without saying why")
        self.retryable = retryable
        self.traceback = traceback
        self.notes = tuple(notes)

    @property
    def failure(self) -> ToolFailure:
        return ToolFailure(kind=self.kind, message=str(self), retryable=self.retryable)


class ToolNotFound(ToolCallError):
    kind = "not_found"
    status_code = 404


class InvalidArguments(ToolCallError):
    kind = "invalid_arguments"


class ToolDenied(ToolCallError):
    kind = "denied"


class ToolTimeout(ToolCallError):
    kind = "timeout"


class ToolUnavailable(ToolCallError):
    kind = "unavailable"


class ToolError(ToolCallError):
    """The tool raised, or reported a failure. `output` is what it gave all the same; `wire` as ToolResult has it."""

    kind = "tool_error"

    def __init__(self, message: str, *, output: Any = None, wire: Any = None, **more: Any) -> None:
        super().__init__(message, **more)
        self.output = output
        self.wire = wire


class ToolCrashed(ToolCallError):
    kind = "crashed"


class LimitExceeded(ToolCallError):
    """A limit was met. `limit` is its name as in [limits]."""

    kind = "limit"

    def __init__(self, message: str, *, limit: str, **more: Any) -> None:
        super().__init__(message, **more)
        self.limit = limit


class ProgramRejected(SutlerError):
    """The check refused a program; `problems` are lang.Problem values (line, message, rewrite)."""

    def __init__(self, problems: Sequence[Any]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ApprovalPending(BaseException):
    """A call waits for a person; not a failure."""
