"""What came of a run, for the person: output, calls, errors with their line, and what a waiting run waits for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .context import Cli
from .documents import problem_documents, run_document
from .exits import DENIED, of_run
from .interrupted import tell_calls
from .text import count
from .wording import problem_words, run_error_words

if TYPE_CHECKING:
    from ..lang import Problem
    from ..spec import RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program's text and what to call it in messages."""

    text: str
    name: str

    def place(self, line: int | None) -> str:
        return self.name if line is None else f"{self.name}:{line}"

    def source_line(self, line: int | None) -> str:
        lines = self.text.split("\n")
        return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""


def tell_run(
    cli: Cli, program: Program, result: RunResult, problems: Sequence[Problem], more: int, *, trace: bool, full: bool
) -> int:
    """Says all of it and gives the exit code. problems, more: what the check found, of a program it refused."""
    out = cli.out
    if out.as_json:
        out.document({**run_document(result), "problems": problem_documents(problems)})
    else:
        if result.stdout:
            out.value(result.stdout, full=full)
        out.value(result.output, full=full)
    tell_calls(out, result.trace, trace=trace)
    if result.status == "waiting":
        tell_waiting(cli, result.run_id, result.waiting)
    elif result.error is not None and result.error.kind == "rejected":
        for problem in problems:
            out.error(problem_words(program.place(problem.line), problem))
        if more:
            out.error(f"and {more} more")
    elif result.error is not None:
        _tell_error(cli, program, result, trace=trace)
    return of_run(result)


def tell_waiting(cli: Cli, run_id: str, waiting: Mapping[str, Any] | None) -> None:
    """What the person is asked, and how he answers."""
    from ..policy.handlers.console import framed

    said = cli.out.say
    if waiting is not None:
        line = f", line {waiting['line']}" if waiting.get("line") is not None else ""
        said(f"run {run_id} waits for approval{line}: {waiting['label']}")
        said(framed(str(waiting["source"])).rstrip("\n"))
    else:
        said(f"run {run_id} waits for approval")
    said(f"allow it with `sutler approvals grant {run_id}`, or reject it with `sutler approvals reject {run_id}`")


def _tell_error(cli: Cli, program: Program, result: RunResult, *, trace: bool) -> None:
    out, error = cli.out, result.error
    assert error is not None
    out.error(f"{program.place(error.line)}: {run_error_words(error)}")
    line = program.source_line(error.line)
    if line:
        out.say(f"    {line}")
    if os.environ.get("SUTLER_DEBUG") == "1" and error.traceback:
        out.say(error.traceback)
    cli.tell_how_to_allow(error.message, waits=of_run(result) == DENIED)
    before = sum(entry.success for entry in result.trace)
    if before and not trace and not out.as_json:
        them = "it" if before == 1 else "them"
        out.note(f"{count(before, 'call')} went before; see {them} with --trace, or `sutler runs show {result.run_id}`")
