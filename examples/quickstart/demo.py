"""The quickstart: one program over real files, planned, run, traced. `make demo` runs it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sutler import SyncRuntime

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent


def harness(name: str):
    """The host's side of [[virtual_tools]]: a name in, a callable out, or None when it cannot be had now."""
    return {"checkout_revision": revision}.get(name)


def revision() -> str:
    asked = subprocess.run(
        ["git", "-C", str(CHECKOUT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or "unknown"


def main() -> int:
    console = Console()
    program = (HERE / "survey.py").read_text(encoding="utf-8")
    os.environ.setdefault("DEMO_PYTHON", sys.executable)  # the MCP server runs with the Python that has its packages
    began = time.perf_counter()
    with SyncRuntime(config=HERE / "sutler.toml", harness_resolver=harness, keep=True) as rt:
        rt.ready(30)  # until the MCP server has answered
        console.rule("Tools")
        sources: dict[str, list[str]] = {}
        for spec in rt.tools():
            sources.setdefault(spec.origin.source, []).append(spec.name)
        for source, names in sources.items():
            console.print(f"  [bold]{source}[/]: {', '.join(names)}")

        console.rule("Plan: what the program may do, before it does anything")
        plan = rt.plan(program, params=["checkout"])
        if not plan.ok:
            console.print(*(str(problem) for problem in plan.errors), sep="\n", markup=False)
            return 1
        table = Table("line", "tool", "in a loop", "decision", box=None)
        for call in plan.calls:
            table.add_row(str(call.line), f"{call.source}::{call.tool}", "yes" if call.in_loop else "", call.decision)
        console.print(table)
        console.print(f"  grade {plan.grade}: w = reach into the world, d = ceiling of effects, each 0..3")

        console.rule("Run")
        run = rt.run(program, params={"checkout": str(CHECKOUT)})
        if run.error is not None:
            console.print(str(run.error), style="red", markup=False)
            return 1
        console.print(f"  {run.status}: {run.output}")

        console.rule("Trace: every call, with what it came to")
        table = Table("step", "line", "tool", "ms", "result", box=None)
        shown = run.trace if len(run.trace) <= 14 else (*run.trace[:7], *run.trace[-7:])
        for entry in shown:
            result = str(entry.result if entry.success else entry.error).replace("\n", " ")
            tool = f"{entry.source}::{entry.tool}"
            table.add_row(
                str(entry.step), str(entry.line), tool, f"{entry.duration * 1000:.1f}", result[: console.width - 52]
            )
        console.print(table)
        console.print(f"  {len(run.trace)} calls; {len(run.trace) - len(shown)} of them not shown")

        report = rt.workspace.root / "report.md"
        console.rule("Report")
        console.print(report.read_text(encoding="utf-8"), markup=False)
        console.print(f"[bold]{report}[/] ({time.perf_counter() - began:.1f} s in all)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
