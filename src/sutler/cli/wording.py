"""What went wrong or was changed, in words for a person: problems of a program, failed calls, mended arguments."""

from __future__ import annotations

import re
import sysconfig
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..lang.model import OR_PARAMETER
from .context import here
from .documents import short

if TYPE_CHECKING:
    from ..lang import Problem
    from ..spec import Repair, RunError, ToolFailure

_FRAME = re.compile(r'^[ |+]*File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)$', re.MULTILINE)


def problem_words(place: str, problem: Problem) -> str:
    """One problem of a program, with what to write instead."""
    lines = [f"{place}: {problem.message}"]
    rewrite = problem.rewrite.removesuffix(OR_PARAMETER)
    if rewrite != problem.rewrite:
        lines.append(f"    if it is a parameter, give it: --param {problem.unknown}=...")
        lines.append(f"    else write instead: {rewrite}")
    elif rewrite:
        lines.append(f"    write instead: {rewrite}")
    return "\n".join(lines)


def run_error_words(error: RunError) -> str:
    message = error.message
    if error.type == "KeyError" and message != error.type and not _literal(message):
        message = repr(message)  # as Python shows it; the sandbox says the key alone
    return f"{error.type}: {message}"


def failure_words(failure: ToolFailure, traceback: str | None) -> str:
    """A failed call. What a tool raised has its own type in its words, and the line of the tool's code."""
    place = raised_at(traceback or "")
    words = failure.message if failure.kind == "tool_error" else f"{failure.kind}: {failure.message}"
    return f"{words} ({place})" if place and failure.kind == "tool_error" else words


def raised_at(traceback: str) -> str:
    """The deepest line of the person's own code in a traceback: `tools/kit.py:32, in tool_boom`, or nothing."""
    own = [found for found in _FRAME.finditer(traceback) if _is_own(found["file"])]
    if not own:
        return ""
    file = Path(own[-1]["file"])
    shown = file.relative_to(here()) if file.is_relative_to(here()) else file
    return f"{shown}:{own[-1]['line']}, in {own[-1]['function']}"


def repair_words(repair: Repair) -> str:
    """One change that was made to the arguments."""
    name, before = repair.path or "the arguments", short(repair.before)
    match repair.rule:
        case "json_text":
            return "the argument text was read as JSON after its quotes, commas or words were mended"
        case "dropped":
            return f"{name} is no parameter; it was dropped ({before})"
        case "host_only":
            return f"{name} is filled by the host; what was given was dropped ({before})"
        case "null":
            return f"{name}: null was left out, as if it had not been given"
        case _:
            return f"{name}: {before} became {short(repair.after)}"


def _is_own(file: str) -> bool:
    path = Path(file)
    if not path.is_absolute() or "site-packages" in path.parts or "dist-packages" in path.parts:
        return False
    return not any(path.is_relative_to(folder) for folder in _others())


@cache
def _others() -> tuple[Path, ...]:
    """Where code stands that is not the person's: Sutler's own and Python's."""
    paths = sysconfig.get_paths()
    return (Path(__file__).parent.parent, Path(paths["stdlib"]), Path(paths["platstdlib"]))


def _literal(text: str) -> bool:
    import ast

    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
