"""What a tool returned, as a ToolResult (RUN-08, RUN-09, RUN-10, RUN-15).

Only tools of folders and code text speak the LCP wrapper (LCP 7.7): a dict that says whether it failed and where its
output is. Values of functions, config, virtual and MCP tools mean themselves.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from ..errors import ToolCallError, ToolError
from ..spec import ToolFailure, ToolResult, ToolSpec
from .answer import Answer
from .plain import json_text, to_plain

WRAPPED: Final = frozenset(("library", "code"))

FAILED: Final = frozenset(("error", "failure", "failed"))
PAYLOAD: Final = ("result", "data", "response", "papers", "content", "text")
_SAYS_HOW: Final = frozenset(
    ("success", "status", "error", "message", "return_code", "stderr", "status_code", "traceback")
)
_PASSED_ON: Final = frozenset(("prompt_injection", "images", "context_files"))
_NO_TEXT: Final = "the tool reported a failure without saying why"
_LONG: Final = 2_000


def normalize(value: Any, spec: ToolSpec, *, root: Path | None = None) -> ToolResult:
    """The result of a call that returned. `root` is the workspace that context_files must lie in.

    Never raises: a value that cannot be plain data is a failed result that says where. A generator runs here, so this
    belongs where the tool ran, under its deadline.
    """
    return interpret(value, spec, root=root)[0]


def interpret(value: Any, spec: ToolSpec, *, root: Path | None = None) -> tuple[ToolResult, Any]:
    """The result, and the value that a program gets of the same call; the tool's value is read once."""
    try:
        if type(value) is Answer:
            return _of_answer(value)
        read = value if type(value) is Read else read_value(value)
    except ToolError as error:
        return failure(error), None
    plain, notes = read.plain, read.notes
    if spec.origin.kind not in WRAPPED or not read.mapping:
        return ToolResult(success=True, output=plain, notes=notes), plain
    return _unwrap(plain, notes, root), program_value(plain, spec)


def _of_answer(answer: Answer) -> tuple[ToolResult, Any]:
    plain, notes = to_plain(answer.value)
    result = ToolResult(
        success=True,
        output=plain,
        content=answer.content,
        extra=answer.extra,
        notes=(*answer.notes, *notes),
        wire=answer.wire,
    )
    return result, plain


@dataclass(frozen=True, slots=True)
class Read:
    """A tool's value as plain data, what was lost on the way, and whether the tool itself gave a mapping."""

    plain: Any
    notes: tuple[str, ...]
    mapping: bool


def read_value(value: Any) -> Read:
    """Reads a value where the tool ran, so that a worker process gives what a thread gives. ToolError as to_plain."""
    plain, notes = to_plain(value)
    return Read(plain, notes, isinstance(value, Mapping))


def program_value(plain: Any, spec: ToolSpec) -> Any:
    """What a program gets of plain data: the tool's own value.

    A folder tool's dict yields its `output` when all its other keys are meta keys, else the whole dict, so that nothing
    is lost that the tool meant to give.
    """
    members = cast(dict[str, Any], plain) if isinstance(plain, dict) else {}
    if spec.origin.kind not in WRAPPED or "output" not in members:
        return cast(Any, plain)
    return members["output"] if all(_is_meta(key) for key in members if key != "output") else members


def failure(error: ToolCallError) -> ToolResult:
    """A failed call as a result: the one place where what was raised becomes what is returned."""
    return ToolResult(
        success=False,
        output=_plain_or_none(getattr(error, "output", None)),
        error=error.failure,
        status_code=error.status_code,
        traceback=error.traceback,
        notes=error.notes,
        wire=getattr(error, "wire", None),
    )


def _plain_or_none(value: Any) -> Any:
    """Plain data, or None where there is none to be had: a failure must not fail to be told."""
    try:
        return to_plain(value)[0]
    except ToolError:
        return None


def _unwrap(wrapper: dict[str, Any], notes: tuple[str, ...], root: Path | None) -> ToolResult:
    said = list(notes)
    output, taken = _output(wrapper)
    extra = {key: value for key, value in wrapper.items() if key not in taken and key != "success"}
    traceback = extra.pop("traceback", None)
    if isinstance(traceback, str) or traceback is None:
        trace = traceback
    else:
        trace, extra["traceback"] = None, traceback
    failed = _failure(wrapper)
    error = extra.pop("error", None)
    if failed is not None:
        dropped = [key for key in extra if _is_passed_on(key)]
        for key in dropped:
            del extra[key]
        if dropped:
            said.append(f"{', '.join(dropped)} of a failed call {'is' if len(dropped) == 1 else 'are'} not passed on")
        if isinstance(error, (dict, list)) and error:
            extra["error_details"] = error
        return ToolResult(
            success=False,
            output=output,
            error=ToolFailure(kind="tool_error", message=failed),
            status_code=500,
            extra=extra,
            traceback=trace,
            notes=tuple(said),
        )
    if error:
        said.append(f"the tool succeeded and also reported: {_as_text(error)}")
    files, guidance = extra.pop("context_files", None), extra.pop("prompt_injection", None)
    return ToolResult(
        success=True,
        output=output,
        extra=extra,
        prompt_injection=guidance,
        context_files=_contained(files, root, said) if files is not None else (),
        traceback=trace,
        notes=tuple(said),
    )


def _failure(wrapper: Mapping[str, Any]) -> str | None:
    """Why the tool says that it failed, or None if it does not."""
    error, status, code = wrapper.get("error"), wrapper.get("status"), wrapper.get("return_code")
    success = wrapper.get("success")
    bad_status = isinstance(status, str) and status.lower() in FAILED
    bad_code = not (code is None or code is False or code in (0, "0"))
    if not (success is False or bad_status or bad_code or (error and success is not True)):
        return None
    for said in (error, wrapper.get("message"), wrapper.get("stderr")):
        if said and (text := _as_text(said).strip()):
            return text
    if bad_code:
        return f"the tool ended with return code {_as_text(code)}"
    return f"the tool reported status {status!r}" if bad_status else _NO_TEXT


def _output(wrapper: Mapping[str, Any]) -> tuple[Any, frozenset[str]]:
    """The output, and the keys that it was taken from."""
    if "output" in wrapper:
        return wrapper["output"], frozenset(("output",))
    present = [key for key in PAYLOAD if key in wrapper]
    for key in present:
        if wrapper[key] is not None:
            return wrapper[key], frozenset((key,))
    if present:
        return None, frozenset(present)
    rest = {key: value for key, value in wrapper.items() if not _is_meta(key)}
    return rest, frozenset(rest)


def _is_meta(key: str) -> bool:
    return key in _SAYS_HOW or _is_passed_on(key)


def _is_passed_on(key: str) -> bool:
    return key in _PASSED_ON or key.startswith("image_")


def _contained(files: Any, root: Path | None, notes: list[str]) -> tuple[str, ...]:
    """The files that exist inside the workspace, as absolute paths; each other one is a note (RUN-10)."""
    listed = cast(Sequence[Any], files) if isinstance(files, list) else [files]
    base = os.path.realpath(root) if root is not None else None
    kept: list[str] = []
    for name in listed:
        path = _file(name, base)
        if path is not None and os.path.isfile(path):  # noqa: PTH113 - Path.is_file raises on a name that is too long
            kept.append(path)
        elif base is None:
            notes.append(f"context_files: {_as_text(name)[:300]} is dropped: this call has no workspace")
        else:
            where = "lies outside the workspace" if path is None else "is no file in the workspace"
            notes.append(f"context_files: {_as_text(name)[:300]} {where} and is dropped")
    return tuple(kept)


def _file(name: Any, base: str | None) -> str | None:
    """The real path of a name inside the workspace; None for one that leads out of it, or is none."""
    if not isinstance(name, str) or base is None:
        return None
    try:
        path = os.path.realpath(Path(base, name))
    except (OSError, ValueError):
        return None
    return path if path == base or path.startswith(base.rstrip(os.sep) + os.sep) else None


def _as_text(value: Any) -> str:
    text = value if isinstance(value, str) else json_text(value)[0]
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."
