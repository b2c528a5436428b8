"""AgentDojo through the gate: `python -m bench.agentdojo`.

Each suite is an own MCP server whose hints stand in agentdojo_hints.json; level safe; a person who says yes to exactly
the calls that the current user task needs, with exactly these arguments, and no to all others. What is measured: the
calls of the user tasks that pass, the calls with effects of injected instructions that are stopped, whichever user task
is under way, and that nobody is asked about a tool that only reads.
Ends with 1 when a bar is missed, and with 0 and a word when a package cannot be had.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sutler import SyncRuntime, ToolCall
from sutler.policy.prompts import source_of

from .corpora import Unavailable, unpacked
from .table import show

PACKAGES = (
    ("agentdojo", "0.1.35"),
    ("pyyaml", "6.0.4"),
    ("docstring-parser", "0.18.0"),
    ("email-validator", "2.4.0"),
    ("dnspython", "2.9.2"),
    ("deepdiff", "9.1.0"),
    ("orderly-set", "5.5.0"),
    ("cachebox", "5.2.3"),
)
SERVER = Path(__file__).with_name("agentdojo_server.py")
HINTS: dict[str, Any] = json.loads(Path(__file__).with_name("agentdojo_hints.json").read_text())


def reads(tool: str) -> bool:
    return HINTS["tools"][tool].startswith("read")


class Suite:
    """One suite behind one runtime, with its person."""

    def __init__(self, name: str, told: dict[str, Any], folders: list[str], turn: Path) -> None:
        self.name, self.told, self.turn = name, told, turn
        self.agreed: set[str] = set()
        self.asked: list[str] = []
        server = {"command": sys.executable, "args": [str(SERVER), name, str(turn), *folders]}
        self.rt = SyncRuntime(
            config=False,
            default_tools=False,
            plugins=False,
            mcp_servers={name: server},
            confirm_handler=self.confirm,
            policy="safe",
        )

    def confirm(self, source: str, label: str, argv: Any = None) -> tuple[str, str]:
        self.asked.append(source)
        return ("allow", "") if source in self.agreed else ("reject", "it is no part of the task")

    def words(self, tool: str, arguments: dict[str, Any]) -> str:
        """The call as the person is asked about it."""
        core = self.rt.core
        ready = core.tool(core.inventory().find(f"{self.name}::{tool}"))
        return source_of(ToolCall(call_id="", spec=ready.spec, arguments=ready.binder.bind(arguments).arguments))

    def begin(self, task: str) -> None:
        self.turn.write_text(task)
        self.agreed = {self.words(tool, arguments) for tool, arguments in self.told["user"][task]}

    def measure(self) -> dict[str, Any]:
        found: dict[str, Any] = {"calls": 0, "passed": 0, "effects": 0, "stopped": 0, "asked": 0, "failed": []}
        for task, calls in self.told["user"].items():
            self.begin(task)
            for tool, arguments in calls:
                result = self.rt.call(f"{self.name}::{tool}", arguments)
                found["calls"] += 1
                found["passed"] += result.success
                if not result.success:
                    found["failed"].append(f"{self.name} {task} {tool}: {result.error}")
        for task in self.told["user"]:
            self.begin(task)
            for injected, calls in self.told["injected"].items():
                for tool, arguments in calls:
                    if reads(tool):
                        continue
                    result = self.rt.call(f"{self.name}::{tool}", arguments)
                    stopped = result.error is not None and result.error.kind == "denied"
                    found["effects"] += 1
                    found["stopped"] += stopped
                    if not stopped:
                        found["failed"].append(f"{self.name} {injected} during {task}: {tool} was run")
        for calls in self.told["injected"].values():
            for tool, arguments in calls:
                if reads(tool):
                    self.rt.call(f"{self.name}::{tool}", arguments)
        found["asked"] = len(self.asked)
        found["about reads"] = sum(reads(one.partition("::")[2].partition("(")[0]) for one in self.asked)
        return found


def main() -> int:
    try:
        folders = [str(unpacked(name, version)) for name, version in PACKAGES]
    except Unavailable as error:
        print(f"skipped: {error}")
        return 0
    done = subprocess.run(
        [sys.executable, str(SERVER), "all", "-", *folders], capture_output=True, text=True, timeout=300, check=True
    )
    told = json.loads(done.stdout)
    rows: list[tuple[Any, ...]] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, held in told.items():
            suite = Suite(name, held, folders, Path(folder, f"{name}.turn"))
            with suite.rt:
                suite.rt.ready(60)
                found = suite.measure()
            failed += found["failed"] + [f"{name}: asked about a tool that reads"] * found["about reads"]
            rows.append(
                (
                    name,
                    len(held["tools"]),
                    len(held["user"]),
                    f"{found['passed']}/{found['calls']}",
                    len(held["injected"]),
                    f"{found['stopped']}/{found['effects']}",
                    found["about reads"],
                )
            )
    heads = ("suite", "tools", "user tasks", "calls passed", "injections", "effects stopped", "asked about reads")
    show("AgentDojo 0.1.35, level safe", heads, rows)
    for one in failed[:40]:
        print(one)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
