"""ComplexFuncBench's traces as Sutler programs: tools that a harness supplies, and that give the recorded responses.

Each trace is one program: `var1 = Tool(...)` a call, with `$var1.a.b$` of the recorded arguments written as what it
stands for, `var1["a"]["b"]` (with `[0]` where the recorded response holds a list). The package is read as data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sutler import SyncRuntime, VirtualToolSource
from sutler.tables import ToolTable


class Replay:
    """The harness: notes the arguments of every call, and answers with what was recorded for that step."""

    def __init__(self) -> None:
        self.responses: list[Any] = []
        self.received: list[tuple[str, dict[str, Any]]] = []

    def supply(self, name: str) -> Any:
        def answer(**arguments: Any) -> Any:
            self.received.append((name, arguments))
            return self.responses[len(self.received) - 1]

        return answer


def tables(specs: Path) -> list[ToolTable]:
    """The package's tool descriptions as [[virtual_tools]]."""
    return [
        ToolTable(name=spec["name"], description=spec["description"], input_schema=_schema(spec["query_parameters"]))
        for spec in json.loads(specs.read_text(encoding="utf-8"))
    ]


def _schema(parameters: dict[str, dict[str, Any]]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, given in parameters.items():
        properties[name] = {"type": given["type"], "description": given["description"]}
        if given["enum"]:
            properties[name]["enum"] = given["enum"]
    required = [name for name, given in parameters.items() if given["required"]]
    return {"type": "object", "properties": properties, "required": required}


def traces(data: Path) -> Iterator[list[dict[str, Any]]]:
    for trace in json.loads(data.read_text(encoding="utf-8")):
        yield trace["output"]


def program(steps: list[dict[str, Any]], names: dict[str, str]) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """A trace's program, and what its tools must receive: (name, arguments) a call."""
    lines: list[str] = []
    expected: list[tuple[str, dict[str, Any]]] = []
    seen: dict[str, Any] = {}
    for step in steps:
        written: list[str] = []
        wanted: dict[str, Any] = {}
        for name, value in step["arguments"].items():
            text, wanted[name] = _argument(value, seen)
            written.append(f"{name}={text}")
        lines.append(f"{step['label']} = {names[step['name']]}({', '.join(written)})")
        expected.append((step["name"], wanted))
        seen[step["label"]] = step["response"]
    return "\n".join(lines), expected


def _argument(value: Any, seen: dict[str, Any]) -> tuple[str, Any]:
    if not (isinstance(value, str) and value.startswith("$") and value.endswith("$")):
        return repr(value), value
    label, *path = value.strip("$").split(".")
    text, found = label, seen[label]
    for key in path:
        if isinstance(found, list):
            text, found = f"{text}[0]", found[0]
        text, found = f"{text}[{key!r}]", found[key]
    return text, found


def play(folder: Path) -> Iterator[tuple[int, int, str]]:
    """Runs every trace. Yields (number, calls, what is wrong or "")."""
    replay = Replay()
    source = VirtualToolSource(tables(folder / "complexfuncbench-spec.json"), replay.supply)
    with SyncRuntime(sources=[source], policy="full_access", config=False, default_tools=False, plugins=False) as rt:
        names = {row.spec.name: row.program_name for row in rt.inventory().tools.values()}
        for number, steps in enumerate(traces(folder / "complexfuncbench-data.json")):
            text, expected = program(steps, names)
            replay.responses, replay.received = [step["response"] for step in steps], []
            run = rt.run(text)
            yield number, len(steps), _wrong(replay.received, expected, str(run.error or ""))


def _wrong(received: list[Any], expected: list[Any], error: str) -> str:
    for at, wanted in enumerate(expected):
        if at >= len(received):
            return f"call {at + 1} of {len(expected)}, {wanted[0]}: {error}"
        if received[at] != wanted:
            return f"call {at + 1}: {received[at]}, recorded {wanted}"
    return error
