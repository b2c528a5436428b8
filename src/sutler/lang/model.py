"""What the checker is told about tools, and what it says about a program."""

from __future__ import annotations

import keyword
from dataclasses import dataclass, field, replace
from typing import Any

MAX_PROBLEMS = 5
MAX_WORDS = 400  # characters of one sentence; names in a program can be of any length


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """One parameter of a tool.

    type: int float str bool list dict None Any. accepts: other spellings of the name that programs may use
    (`from_` for `from`, which is no legal keyword).
    """

    name: str
    required: bool
    type: str = "Any"
    keyword_only: bool = False
    accepts: tuple[str, ...] = ()

    @property
    def spelling(self) -> str:
        """The name as a program writes it."""
        legal = self.name.isidentifier() and not keyword.iskeyword(self.name)
        return self.name if legal or not self.accepts else self.accepts[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSig:
    """How a program may call one tool. `name` is the program name; the order of `params` is the positional order.

    extra: whether keywords outside `params` are taken. read_only: declared to change nothing, with a grade d <= 1.
    grade: (w, d), each 0..3.
    """

    name: str
    params: tuple[Param, ...] = ()
    extra: bool = False
    read_only: bool = False
    grade: tuple[int, int] = (3, 3)

    @property
    def signature(self) -> str:
        """The call as a person would write it down: `read_file(path: str, limit: int = ...)`."""
        parts: list[str] = []
        for param in self.params:
            kind = "" if param.type == "Any" else f": {param.type}"
            default = "" if param.required else " = ..." if kind else "=..."
            parts.append(f"{param.spelling}{kind}{default}")
        if self.extra:
            parts.append("...")
        return f"{self.name}({', '.join(parts)})"


OR_PARAMETER = ", or pass it as a parameter"  # ends the rewrite of a name that a parameter may be meant to bind


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a program. `line` and `column` count from 1, columns in characters.

    unknown: the name that has no value, when that is what is wrong. called: whether it is used as a tool or function.
    """

    line: int
    column: int
    message: str
    rewrite: str = ""
    unknown: str = ""
    called: bool = False

    def __str__(self) -> str:
        instead = f" Write instead: {self.rewrite}" if self.rewrite else ""
        stop = "" if self.message.endswith((".", "?", "!")) else "."
        return f"line {self.line}: {self.message}{stop}{instead}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSite:
    """One place in a program that calls a tool.

    args: by parameter name when every argument is literal, else None. partly: then those that are literal.
    in_loop: whether the place may be reached more than once; never false when it may.
    """

    tool: str
    line: int
    column: int
    args: dict[str, Any] | None
    in_loop: bool
    partly: dict[str, Any] = field(default_factory=lambda: dict[str, Any]())


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The verdict on a program, and its plan (PRG-06, PRG-07).

    errors: at most five, in line order; `more` counts those left out. tools: every tool the program can reach.
    grade: the element-wise maximum over `tools`, (0, 0) for none. text: what to feed the engine, line for line.
    """

    ok: bool
    errors: tuple[Problem, ...] = ()
    more: int = 0
    calls: tuple[CallSite, ...] = ()
    tools: frozenset[str] = frozenset()
    grade: tuple[int, int] = (0, 0)
    text: str = ""


@dataclass(slots=True)
class Report:
    """Collects problems while a program is checked. What is wrong in several lines is said once, with the lines."""

    _found: dict[str, Problem] = field(default_factory=lambda: dict[str, Problem]())
    _lines: dict[str, set[int]] = field(default_factory=lambda: dict[str, set[int]]())

    def add(self, problem: Problem) -> None:
        known = self._found.get(problem.message)
        if known is None or (problem.line, problem.column) < (known.line, known.column):
            self._found[problem.message] = problem
        self._lines.setdefault(problem.message, set()).add(problem.line)

    def __bool__(self) -> bool:
        return bool(self._found)

    def problems(self) -> list[Problem]:
        """All of them in line order."""
        ordered = sorted(self._found.values(), key=lambda problem: (problem.line, problem.column))
        return [
            replace(problem, message=_cut(problem.message) + self._also(problem), rewrite=_cut(problem.rewrite))
            for problem in ordered
        ]

    def _also(self, problem: Problem) -> str:
        others = sorted(self._lines[problem.message] - {problem.line})
        if not others:
            return ""
        shown = ", ".join(map(str, others[:MAX_PROBLEMS])) + (", ..." if len(others) > MAX_PROBLEMS else "")
        return f" (also in line {shown})"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_WORDS else text[: MAX_WORDS - 3] + "..."
