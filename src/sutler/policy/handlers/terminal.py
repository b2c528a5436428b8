"""Asks the person at the terminal whether a call may run (LCP-02): the question on stderr, the answer from stdin."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TextIO

from ..answers import CANCELLED, Answer
from . import console

SHOWN = 500  # characters of a call that are shown at once; the rest on request
LINES = 15  # and lines of it, so that what is asked about stays on the screen
NO_TERMINAL = (
    "there is no terminal to ask at: standard input and standard error must both be one. To allow it beforehand: policy"
    ' "full_access", or that level for one library, or `sutler approvals grant TOOL`'
)


class TerminalApproval:
    """A confirm_handler. Enter or `y` allows this call, `n` rejects it and asks why, `a` allows this tool from now on.

    Any other answer asks again; end of input and Ctrl-C reject. pause: holds back whatever moves on the terminal.
    lasts: how long `a` holds, in words. project: `p` is offered too, for "always in this project".
    """

    one_at_a_time = console.turn

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        pause: Callable[[], AbstractContextManager[object]] = nullcontext,
        lasts: str = "in this session",
        project: bool = False,
    ) -> None:
        self._stream = stream
        self._pause = pause
        self._always = f"a = always {lasts}" + (", p = always in this project" if project else "")
        self._project = project

    def __call__(self, source: str, script_label: str, argv: list[Any] | None = None) -> tuple[str, str] | Answer:
        if not console.somebody_there():
            return "reject", NO_TERMINAL
        with console.turn, self._pause(), console.own_interrupt():
            return self._ask(console.shown(str(source)), console.shown(str(script_label)))

    def _ask(self, source: str, label: str) -> tuple[str, str] | Answer:
        first = "\n".join(source[:SHOWN].split("\n")[:LINES])
        left = len(source) - len(first)
        self._say(f"\n{console.titled(label)}{console.framed(first)}")
        more = f", v = view the other {left:,} characters" if left > 0 else ""
        while True:
            self._say(f"+- Run it? [y = once (Enter), n = no, {self._always}{more}] ")
            typed = console.read_line()
            match typed.strip().lower() if typed is not None else None:
                case None:
                    self._say("\n")
                    return "reject", CANCELLED
                case "" | "y" | "yes":
                    return "allow", ""
                case "a" | "always":
                    return "always", ""
                case "p" | "project" if self._project:
                    return Answer("always", scope="project")
                case "n" | "no":
                    return "reject", self._why()
                case "v" | "view" if left > 0:
                    self._say(f"{console.framed(source)}{console.titled(label)}")
                case _:
                    pass

    def _why(self) -> str:
        self._say("+- Why not? It is told to whoever called; Enter for nothing: ")
        typed = console.read_line()
        if typed is None:
            self._say("\n")
        return (typed or "").strip() or "the person at the terminal said no"

    def _say(self, text: str) -> None:
        console.say(text, self._stream)


_ordinary = TerminalApproval()


def cli_confirm_handler(source: str, script_label: str, argv: list[Any] | None = None) -> tuple[str, str]:
    """A confirm_handler for programs with a terminal (LCP section 5.A): shows the call, takes y, n or a.

    Without a terminal it rejects, and says how to allow the call.
    """
    answer = _ordinary(source, script_label, argv)
    return answer if isinstance(answer, tuple) else (answer.decision, answer.reason)


cli_confirm_handler.one_at_a_time = console.turn  # type: ignore[attr-defined]  # of two calls that wait, one is asked
