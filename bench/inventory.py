"""How long an inventory of 6,000 folder tools takes: processor time, best of five, in milliseconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from sutler.errors import ToolNotFound
from sutler.sources.lazy import Pending, lazy_spec
from sutler.spec import Origin, ToolSpec
from sutler.toolbox import Toolbox

from .table import show


class Library:
    precedence = 15.0

    def __init__(self, stem: str, tools: int) -> None:
        self.name = stem
        origin = Origin(source=stem, kind="library", precedence=15.0)
        self.specs = [lazy_spec({"name": f"tool_{stem}_{n}", "origin": origin}, Pending(looked)) for n in range(tools)]

    def available(self) -> bool:
        return True

    def discover(self) -> Sequence[ToolSpec]:
        return self.specs

    def resolve(self, spec: ToolSpec) -> Callable[..., Any]:
        return print


def looked() -> NoReturn:
    raise AssertionError("the merge looked at a schema")


def measure(libraries: int, tools: int) -> dict[str, float]:
    best: dict[str, float] = {}

    def timed(what: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = work()
        best[what] = min(best.get(what, 1e9), (time.process_time() - start) * 1000)
        return result

    for _ in range(5):
        sources = [Library(f"lib{n}", tools) for n in range(libraries)]
        box = Toolbox()
        for source in sources:
            box.add_source(source)  # type: ignore[arg-type]
        inventory = timed("first inventory", box.inventory)
        timed("the same again", box.inventory)
        timed("one library more", lambda: (box.add_source(Library("more", tools)), box.inventory()))  # type: ignore[arg-type] # noqa: B023
        timed("1,000 finds", lambda: [inventory.find("tool_lib0_1") for _ in range(1000)])  # noqa: B023
        timed("a miss", lambda: missed(inventory))  # noqa: B023
    return best


def missed(inventory: Any) -> None:
    try:
        inventory.find("tool_lib0_x")
    except ToolNotFound:
        return
    raise AssertionError("found a tool that is not there")


def main() -> None:
    rows: list[list[object]] = []
    for libraries, tools in ((1, 6_000), (600, 10)):
        best = measure(libraries, tools)
        rows.append([f"{libraries} x {tools}", *best.values()])
    show("an inventory of 6,000 tools, CPU ms", ["sources x tools", *best], rows)


if __name__ == "__main__":
    main()
