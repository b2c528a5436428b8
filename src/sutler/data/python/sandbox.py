"""Code in the sandbox that programs run in: no file, process or network, but what a few functions hand in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import BoundedSemaphore
from typing import Any

from sutler.lang import Param, ToolSig, check
from sutler.workspace.flight import ending_with_call

Function = Callable[..., Any]
_MOST_CALLS = 1_000
_room = BoundedSemaphore(32)  # sandboxes at once: each has a process


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of a code: the value of its last expression, what it printed; else the error, with its line."""

    value: Any = None
    stdout: str = ""
    error: str = ""
    line: int | None = None


def run(
    code: str,
    functions: Mapping[str, tuple[ToolSig, Function]],
    *,
    compute_seconds: float,
    memory_mb: int,
    output_bytes: int,
) -> Ran:
    """Checks and runs a code that may call `functions`. What they raise can be caught in it."""
    from sutler.programs.crossing import guarded
    from sutler.programs.engine import Session
    from sutler.programs.steps import Call, Done, ProgramFailed
    from sutler.results import to_plain

    checked = check(code, {name: signature for name, (signature, _) in functions.items()}, level="full")
    if not checked.ok:
        return Ran(error="\n".join(str(problem) for problem in checked.errors), line=checked.errors[0].line)
    text = guarded(checked.text, checked.tools)
    if not isinstance(text, str):
        return Ran(error=str(text), line=text.line)
    session = Session(text, shown=code, compute_seconds=compute_seconds, memory_mb=memory_mb, output_bytes=output_bytes)
    with _room, ending_with_call(session.kill):
        try:
            step: Call | Done = session.start({})
            for _ in range(_MOST_CALLS):
                if isinstance(step, Done):
                    return Ran(value=to_plain(step.output)[0], stdout=session.stdout)
                step = _answered(session, step, functions)
            return Ran(stdout=session.stdout, error=f"it called functions more than {_MOST_CALLS:,} times")
        except ProgramFailed as failed:
            return Ran(stdout=session.stdout, error=f"{failed.type}: {failed}", line=failed.line)
        finally:
            session.close()


def _answered(session: Any, call: Any, functions: Mapping[str, tuple[ToolSig, Function]]) -> Any:
    signature, function = functions[call.name]
    names = [param.name for param in signature.params]
    try:
        value = function(**dict(zip(names, call.args, strict=False)), **call.kwargs)
    except PermissionError as error:
        return session.fail("PermissionError", str(error))
    except Exception as error:
        return session.fail("RuntimeError", str(error) or type(error).__name__)
    try:
        return session.answer(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return session.fail("ValueError", f"the result cannot be given to a program: {error}")


def signature(name: str, **params: str) -> ToolSig:
    """`type` or `type=...` for an optional one, by parameter."""
    return ToolSig(
        name=name,
        params=tuple(
            Param(name=param, required=not kind.endswith("="), type=kind.rstrip("=")) for param, kind in params.items()
        ),
    )
