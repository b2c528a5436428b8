"""Program mode: three tools that stand for all (SRV-01). A model finds tools, and composes them in a program."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..errors import InvalidArguments, ToolCallError
from ..ranking import ranked
from ..results import preview
from ..results.view import MODEL_SEES
from ..schema.bind import Binder
from ..schema.stubs import signature, stub
from ..spec import Origin, RunResult, ToolSpec, TraceEntry
from .listing import Listed, checked
from .outcome import Wire, error, texts
from .strict import strict, strict_text

if TYPE_CHECKING:
    from ..inventory import Row
    from ..runtime import Runtime

SEARCH, DESCRIBE, RUN = "search_tools", "describe_tool", "run_program"

INSTRUCTIONS: Final = """\
Many tools stand behind three. Find them with search_tools, read one with describe_tool, and call them by name in a \
small Python program given to run_program: it may call any number of tools, loop and filter, and only its last \
expression and what it prints come back."""

_RUN_TEXT: Final = """\
Run a small Python program in a sandbox. It calls tools as plain functions, by the names that search_tools gives \
(never await), and may use variables, loops, conditions, functions, try/except, f-strings, comprehensions, and import \
json, re, math, datetime, collections, itertools, functools. No files, no network, no other imports: tools do that. \
The value of the last expression is the output; print() is returned too. What a tool raises can be caught: \
TimeoutError, PermissionError (denied), ValueError (arguments that do not fit), RuntimeError (any other failure)."""

_SAID: Final[Mapping[str, str]] = {
    "allow": "",
    "ask": "A call of it needs the person's approval: {}.",
    "deny": "Every call of it is denied: {}.",
    "depends": "Whether a call of it needs the person's approval is decided call by call: {}.",
}
_MOST_FOUND: Final = 50
_MOST_STEPS: Final = 50  # calls of a run that its trace tells one by one

_OBJECT: Final[Mapping[str, Any]] = {"type": "object", "additionalProperties": False}
_READS: Final = {"readOnlyHint": True, "openWorldHint": False}


def own_tools() -> tuple[Listed, ...]:
    """The three, as they are listed."""
    return (
        _own(
            SEARCH,
            "Find tools by words. Gives each as a Python signature with its description, best first.",
            {
                "query": {"type": "string", "description": "Words that say what is to be done. Empty: all tools."},
                "limit": {"type": "integer", "minimum": 1, "maximum": _MOST_FOUND, "default": 10},
            },
            ["query"],
            _READS,
        ),
        _own(
            DESCRIBE,
            "Everything about one tool: its signature, description, parameters, and the JSON Schema of its arguments.",
            {"name": {"type": "string", "description": "A name that search_tools gave."}},
            ["name"],
            _READS,
        ),
        _own(
            RUN,
            _RUN_TEXT,
            {
                "program": {"type": "string", "description": "The text of the program."},
                "params": {"type": "object", "description": "Names that the program finds set, with their values."},
            },
            ["program"],
            None,
        ),
    )


def _own(
    name: str, description: str, properties: Wire, required: Sequence[str], hints: Mapping[str, Any] | None
) -> Listed:
    schema = {**_OBJECT, "properties": properties, "required": list(required)}
    definition: Wire = {"name": name, "description": description, "inputSchema": schema}
    if hints is not None:
        definition["annotations"] = dict(hints)
    return checked(Listed(name=name, definitions={False: definition, True: definition}))


def _spec(definition: Mapping[str, Any]) -> ToolSpec:
    """One of the three as binding wants it."""
    origin = Origin(source="serve", kind="function")
    return ToolSpec(name=definition["name"], input_schema=definition["inputSchema"], origin=origin)


class Programs:
    """Answers calls of the three."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._binders = {tool.name: Binder(_spec(tool.definitions[True])) for tool in own_tools()}

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Wire:
        try:
            given = self._binders[name].bind(arguments).arguments
        except InvalidArguments as wrong:
            return error(str(wrong), wrong.kind)
        match name:
            case "search_tools":
                return await asyncio.to_thread(lambda: self._search(**given))
            case "describe_tool":
                return await asyncio.to_thread(lambda: self._describe(**given))
            case _:
                return await self._run(**given)

    def _rows(self) -> list[Row]:
        return list(self._runtime.core.program_inventory().tools.values())

    def _search(self, query: str, limit: int = 10) -> Wire:
        rows = self._rows()
        found = [row for _, _, row in ranked(rows, query.split())] if query.split() else rows
        shown = found[: max(1, min(limit, _MOST_FOUND))]
        if not self._runtime.core.pins.listed(shown):  # what a model has read is what it is held to
            return self._search(query, limit)
        tools = [
            {
                "name": row.program_name,
                "signature": signature(row.spec, row.program_name),
                "description": _first_lines(row.spec.description),
                "source": row.spec.origin.source,
            }
            for row in shown
        ]
        lines = [f"{tool['signature']}\n    {tool['description']}" for tool in tools]
        if not found:
            lines = [f"no tool has to do with {query!r}; there are {len(rows)}, and an empty query lists them"]
        elif len(found) > len(shown):
            lines.append(f"and {len(found) - len(shown)} more")
        return _answer(lines, {"tools": tools, "found": len(found), "of": len(rows)})

    def _describe(self, name: str) -> Wire:
        inventory = self._runtime.core.program_inventory()
        try:
            row = inventory.find(name)
            if not self._runtime.core.pins.listed([row]):
                row = self._runtime.core.program_inventory().find(name)
        except ToolCallError as missing:
            return error(str(missing), missing.kind)
        prompts = self._runtime.core.prompts
        spec = row.spec
        if prompts.any([row]):
            [spec] = prompts.described([row])
        decision = self._runtime.core.policy.preview(row.spec, via="run")
        document = {
            "name": row.program_name,
            "source": spec.origin.source,
            "description": spec.description,
            "signature": signature(spec, row.program_name),
            "inputSchema": spec.input_schema,
            "outputSchema": spec.output_schema,
            "annotations": spec.annotations.to_mcp(),
            "grade": {"w": spec.grade.w, "d": spec.grade.d},
            "decision": decision.outcome,
        }
        asks = _SAID[decision.outcome].format(decision.reason or decision.by)
        return _answer([stub(spec, row.program_name), asks, f"Arguments: {strict(spec.input_schema)[0]}"], document)

    async def _run(self, program: str, params: Mapping[str, Any] | None = None) -> Wire:
        try:
            result = await self._runtime.run(program, params=params or {})
        except ValueError as refused:  # a parameter that no program could name
            return error(str(refused), "invalid_arguments")
        return of_run(result)


def of_run(result: RunResult) -> Wire:
    """A run as the model sees it: output, prints, the error with its line, the calls that were made."""
    output, cut = _shown(result.output)
    printed, print_cut = preview(strict_text(result.stdout), MODEL_SEES)
    document: Wire = {"run_id": result.run_id, "status": result.status, "output": output, "stdout": printed}
    lines: list[str] = []
    if result.output is not None:
        lines.append(strict_text(output) if isinstance(output, str) else strict(output)[0])
    if cut:
        document["cut"] = "output"
        lines.append("[the output was too long and is cut; let the program select what matters]")
    if printed:
        lines.append(f"printed:\n{printed.rstrip()}" + ("\n[cut]" if print_cut else ""))
    failed = result.error
    if failed is not None:
        document["error"] = {
            "kind": failed.kind,
            "type": failed.type,
            "message": strict_text(failed.message),
            "line": failed.line,
            "limit": failed.limit,
        }
        lines.append(f"error: {strict_text(str(failed))}")
    document["trace"] = [_step(entry) for entry in result.trace[:_MOST_STEPS]]
    if len(result.trace) > _MOST_STEPS:
        document["trace_left_out"] = len(result.trace) - _MOST_STEPS
    if result.trace:
        lines.append(_summary(result.trace))
    answer = _answer(lines or ["the program ended without an output"], document)
    answer["isError"] = not result.success
    return answer


def _shown(output: Any) -> tuple[Any, bool]:
    """The output itself, or its head and tail as text when it is longer than a model should read."""
    text, cut = preview(output)
    return (strict_text(text), True) if cut else (output, False)


def _step(entry: TraceEntry) -> Wire:
    step: Wire = {
        "tool": f"{entry.source}::{entry.tool}" if entry.source else entry.tool,
        "line": entry.line,
        "success": entry.success,
        "seconds": round(entry.duration, 4),
    }
    if not entry.success:
        step |= {"kind": entry.kind, "error": preview(entry.error or "", 500)[0]}
    return step


def _summary(trace: Sequence[TraceEntry]) -> str:
    failed = sum(not entry.success for entry in trace)
    names = list(dict.fromkeys(entry.tool for entry in trace))
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return f"calls: {len(trace)}{f', {failed} of them failed' if failed else ''} ({shown})"


def _answer(lines: Sequence[str], document: Wire) -> Wire:
    content = texts([strict_text(line) for line in lines])
    return {"content": content, "structuredContent": strict(document)[1], "isError": False, "resultType": "complete"}


def _first_lines(description: str) -> str:
    return preview(" ".join(description.split()), 300)[0]
