"""What the commands show of calls and runs: as data for --json, as cells of a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .text import lasting, one_line

if TYPE_CHECKING:
    from ..lang import Problem
    from ..spec import RunError, RunResult, ToolResult, TraceEntry

TRACE = ("step", "line", "tool", "arguments", "result", "time", "call")


def call_document(tool: str, result: ToolResult) -> dict[str, Any]:
    """A call as --json gives it."""
    error = result.error
    return {
        "tool": tool,
        "success": result.success,
        "output": result.output,
        "error": None if error is None else error.message,
        "kind": None if error is None else error.kind,
        "status_code": result.status_code,
        "content": list(result.content),
        "extra": dict(result.extra),
        "prompt_injection": result.prompt_injection,
        "context_files": list(result.context_files),
        "repairs": [repair.to_dict() for repair in result.repairs],
        "notes": list(result.notes),
        "stdout": result.stdout,
        "traceback": result.traceback,
        "duration": result.duration,
    }


def trace_row(entry: TraceEntry) -> tuple[str, ...]:
    return (
        str(entry.step),
        "" if entry.line is None else str(entry.line),
        f"{entry.source}::{entry.tool}" if entry.source else entry.tool,
        shown_arguments(entry.args),
        short(entry.result) if entry.success else f"{entry.kind}: {one_line(entry.error or '', 80)}",
        lasting(entry.duration),
        "" if entry.decision is None else entry.decision.outcome,
    )


def run_document(result: RunResult) -> dict[str, Any]:
    """A run as --json gives it."""
    error = result.error
    return {
        "run_id": result.run_id,
        "status": result.status,
        "success": result.success,
        "output": result.output,
        "error": error_document(error),
        "stdout": result.stdout,
        "variables": dict(result.variables),
        "grade": grade_document((result.grade.w, result.grade.d)),
        "duration": result.duration,
        "trace": [trace_document(entry) for entry in result.trace],
        "waiting": None if result.waiting is None else dict(result.waiting),
    }


def error_document(error: RunError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "kind": error.kind,
        "type": error.type,
        "message": error.message,
        "line": error.line,
        "limit": error.limit,
        "traceback": error.traceback,
    }


def trace_document(entry: TraceEntry) -> dict[str, Any]:
    decision = entry.decision
    return {
        "step": entry.step,
        "line": entry.line,
        "tool": entry.tool,
        "source": entry.source,
        "args": dict(entry.args),
        "result": entry.result,
        "success": entry.success,
        "error": entry.error,
        "kind": entry.kind,
        "repairs": [repair.to_dict() for repair in entry.repairs],
        "decision": None if decision is None else {"outcome": decision.outcome, "by": decision.by, "how": decision.how},
        "stdout": entry.stdout,
        "duration": entry.duration,
    }


def grade_document(pair: tuple[int, int]) -> dict[str, int]:
    return {"w": pair[0], "d": pair[1]}


def problem_documents(problems: Sequence[Problem]) -> list[dict[str, Any]]:
    return [
        {"line": one.line, "column": one.column, "message": one.message, "write_instead": one.rewrite or None}
        for one in problems
    ]


def shown_arguments(args: Mapping[str, Any], *, open_ended: bool = False) -> str:
    """The arguments in one line. open_ended: there are more, which are known only when the program runs."""
    shown = [f"{name}={short(value)}" for name, value in args.items()]
    return one_line(", ".join([*shown, "..."] if open_ended else shown), 120)


def short(value: Any) -> str:
    from ..results import json_text

    return one_line(json_text(value)[0], 80)
