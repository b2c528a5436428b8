"""BFCL's multi-turn cases as Sutler programs: `python -m bench.multi_turn`, a child process of bench.corpora.

It imports the API classes of the downloaded package, which must be on PYTHONPATH, and prints one JSON object. Each turn
of a case is one program, the text of its ground-truth calls; the methods of the case's objects are its function tools.
Beside it the same calls are made directly on objects of their own. A case is equal when it ends in the same
state in all objects; where a turn answered differently all the same, that is listed.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sutler import SyncRuntime
from sutler.results import to_plain

CLASSES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"


@dataclass
class Case:
    """One case: its objects' names and initial states, and the calls of each turn."""

    id: str
    classes: list[str]
    config: dict[str, Any]
    turns: list[list[str]]

    def objects(self) -> list[Any]:
        """The case's objects, new, as BFCL sets them up."""
        made: list[Any] = []
        for name in self.classes:
            one = getattr(importlib.import_module(f"{PACKAGE}.{CLASSES[name]}"), name)()
            if hasattr(one, "_load_scenario"):
                one._load_scenario(copy.deepcopy(self.config.get(name, {})), long_context="long_context" in self.id)
            made.append(one)
        return made


def cases() -> Iterator[Case]:
    package = importlib.import_module("bfcl_eval")
    data = Path(package.__path__[0]) / "data"
    for answers in sorted((data / "possible_answer").glob("BFCL_v4_multi_turn_*.json")):
        asked = {case["id"]: case for case in map(json.loads, (data / answers.name).read_text("utf-8").splitlines())}
        for answer in map(json.loads, answers.read_text("utf-8").splitlines()):
            case = asked[answer["id"]]
            yield Case(case["id"], case["involved_classes"], case.get("initial_config", {}), answer["ground_truth"])


def methods(objects: list[Any]) -> dict[str, Any]:
    """The public methods by name. Of two objects with a method of one name the later has it, as in BFCL."""
    return {
        name: method
        for one in objects
        for name, method in inspect.getmembers(one, predicate=inspect.ismethod)
        if not name.startswith("_")
    }


class Renaming(ast.NodeTransformer):
    """Writes a call's name as programs must; `.count` says how often it differed."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.count = 0

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and self.names.get(node.func.id, node.func.id) != node.func.id:
            self.count += 1
            node.func = ast.Name(self.names[node.func.id], ast.Load())
        return node


def directly(calls: list[str], names: dict[str, Any]) -> tuple[Any, str]:
    """The value of the last call of a turn, and what the turn failed with."""
    value = None
    for call in calls:
        try:
            value = eval(call, {**names})
        except Exception as error:
            return None, f"{type(error).__name__}: {error}"
    return to_plain(value)[0], ""


def difference(ours: list[Any], theirs: list[Any]) -> str:
    """The first attribute in which two lists of objects differ, private ones too; "" when there is none."""
    for one, other in zip(ours, theirs, strict=True):
        for name, value in vars(other).items():
            mine = getattr(one, name)
            if isinstance(value, random.Random):
                mine, value = mine.getstate(), value.getstate()
            if mine != value:
                return f"{type(one).__name__}.{name} is {str(mine)[:200]}, directly {str(value)[:200]}"
    return ""


@dataclass
class Count:
    """What all cases came to."""

    cases: int = 0
    turns: int = 0
    calls: int = 0
    renamed: int = 0
    failing: int = 0
    seconds: float = 0.0
    different: list[str] = field(default_factory=list)
    otherwise: list[str] = field(default_factory=list)

    def play(self, case: Case) -> None:
        """Runs one case both ways and compares."""
        self.cases += 1
        ours, theirs = case.objects(), case.objects()
        direct = methods(theirs)
        tools = list(methods(ours).values())
        with SyncRuntime(tools=tools, config=False, default_tools=False, plugins=False) as rt:
            names = {row.spec.name: row.program_name for row in rt.inventory().tools.values()}
            for number, turn in enumerate(case.turns, 1):
                text = "\n".join(self.written(call, names) for call in turn)
                began = time.perf_counter()
                run = rt.run(text)
                self.seconds += time.perf_counter() - began
                self.turns += 1
                self.calls += len(run.trace)
                value, failed = directly(turn, direct)
                self.failing += bool(failed)
                said = run.error.message if run.error is not None else ""
                if said != failed and not (failed and failed in said):
                    self.otherwise.append(
                        f"{case.id} turn {number}: {said or run.output!r}; directly {failed or value!r}"
                    )
                elif not failed and run.output != value:
                    self.otherwise.append(f"{case.id} turn {number}: {run.output!r}; directly {value!r}")
        if reason := difference(ours, theirs):
            self.different.append(f"{case.id}: {reason}")

    def written(self, call: str, names: dict[str, str]) -> str:
        """The call's own text, unless a program has to name its tool otherwise."""
        tree = ast.parse(call)
        renaming = Renaming(names)
        renaming.visit(tree)
        self.renamed += bool(renaming.count)
        return ast.unparse(tree) if renaming.count else call


def main() -> int:
    count = Count()
    for case in cases():
        count.play(case)
    rates = f"{count.calls / count.seconds:,.0f} calls/s, {count.turns / count.seconds:,.0f} programs/s"
    found = f"{count.turns} programs, {count.calls} calls, {count.renamed} renamed, {count.failing} failing alike"
    result = {
        "good": count.cases - len(count.different),
        "of": count.cases,
        "failed": count.different,
        "notes": count.otherwise,
        "detail": f"{found}, {len(count.otherwise)} answered otherwise; {rates}",
    }
    json.dump(result, sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
