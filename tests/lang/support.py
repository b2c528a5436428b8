"""Tools to check against, and the real engine to run what passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pydantic_monty as monty

from sutler.lang import Checked, Param, ToolSig, check


def tool(name: str, *params: Param, read_only: bool = True, grade: tuple[int, int] = (1, 1), **more: Any) -> ToolSig:
    return ToolSig(name=name, params=params, read_only=read_only, grade=grade, **more)


def param(name: str, type: str = "Any", *, required: bool = True, **more: Any) -> Param:
    return Param(name=name, type=type, required=required, **more)


TOOLS: Mapping[str, ToolSig] = {
    one.name: one
    for one in (
        tool("read_file", param("path", "str"), param("limit", "int", required=False)),
        tool("find_files", param("pattern", "str")),
        tool("save_file", param("path", "str"), param("text", "str"), read_only=False, grade=(1, 2)),
        tool("send_mail", param("to", "list"), param("body", "str"), read_only=False, grade=(3, 2)),
        tool("ping"),
    )
}

ANSWERS: Mapping[str, Callable[..., Any]] = {
    "read_file": lambda path, limit=0: f"text of {path}",
    "find_files": lambda pattern: ["a.py", "b.py"],
    "save_file": lambda path, text: True,
    "send_mail": lambda to, body: "sent",
    "ping": lambda: 1,
}


def checked(text: str, **how: Any) -> Checked:
    return check(text, TOOLS, **how)


def said(text: str, **how: Any) -> str:
    """Every problem of a program, one a line; empty when it is accepted."""
    return "\n".join(str(problem) for problem in checked(text, **how).errors)


class Engine:
    """Runs texts in the sandbox and answers tool calls from a table; `asked` lists them."""

    def __init__(self, pool: monty.Monty) -> None:
        self.pool = pool
        self.asked: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def run(self, text: str, answers: Mapping[str, Callable[..., Any]] = ANSWERS) -> Any:
        self.asked = []
        limits: monty.ResourceLimits = {
            "max_feed_duration_secs": 5,
            "max_memory": 64 << 20,
            "max_suspensions": 1000,
        }
        with self.pool.checkout(limits=limits) as session:
            step = session.feed_start(text, print_callback=monty.CollectString())
            while not isinstance(step, monty.MontyComplete):
                if isinstance(step, monty.FunctionSnapshot) and step.function_name in answers:
                    self.asked.append((step.function_name, step.args, step.kwargs))
                    value = answers[step.function_name](*step.args, **step.kwargs)
                    step = step.resume({"return_value": value})
                elif isinstance(step, monty.FunctionSnapshot):
                    step = step.resume({"exc_type": "NameError", "message": f"no {step.function_name}"})
                elif isinstance(step, monty.NameLookupSnapshot):
                    step = step.resume()
                else:
                    raise AssertionError(f"unexpected {step!r}")
            return step.output


@contextmanager
def an_engine() -> Iterator[Engine]:
    with monty.Monty(max_processes=1, min_processes=1) as pool:
        yield Engine(pool)
