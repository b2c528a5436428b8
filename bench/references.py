"""The reference servers of MCP, of both eras: connected, listed, graded, called. `python -m bench.references [FOLDER]`.

They are installed at pinned versions into FOLDER (the user's cache without one), by npm and pip; what cannot be had is
skipped with a word. Each is called by four roads: a runtime, `sutler call`, and a client of either era in front of
`sutler serve`; the answer must be the one that the SDK's own client gets. Ends with 1 when one of them is not.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from .table import show

NPM = "2026.8.31"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One of them. package: of npm, or of PyPI with `pins`. args, arguments: `{folder}` is a folder of its own.

    call: a tool and its arguments. grades: how many of its tools have which grade, by the hints that they give.
    era: what it speaks when it is asked for the newest.
    """

    package: str
    pins: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: dict[str, str]())
    call: tuple[str, dict[str, Any]]
    fails: bool = False
    grades: Mapping[tuple[int, int], int]
    era: str = "legacy"


REFERENCES = {
    "everything": Reference(
        package="server-everything",
        args=("stdio",),
        call=("echo", {"message": "hello"}),
        grades={(1, 0): 9, (3, 2): 1, (3, 3): 5},  # two of its tools are there for clients that can ask a person
    ),
    "filesystem": Reference(
        package="server-filesystem",
        args=("{folder}",),
        call=("read_text_file", {"path": "{folder}/a.txt"}),
        grades={(1, 0): 10, (3, 2): 1, (3, 3): 3},
    ),
    "memory": Reference(
        package="server-memory",
        env={"MEMORY_FILE_PATH": "{folder}/memory.json"},
        call=("read_graph", {}),
        grades={(1, 0): 3, (3, 3): 6},
    ),
    "thinking": Reference(
        package="server-sequential-thinking",
        call=(
            "sequentialthinking",
            {"thought": "one", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False},
        ),
        grades={(1, 0): 1},
    ),
    "fetch": Reference(
        package="mcp-server-fetch",
        pins=("mcp-server-fetch==2026.10.24",),
        call=("fetch", {"url": "http://127.0.0.1:9/"}),
        fails=True,
        grades={(2, 1): 1},
        era="modern",
    ),
    "git": Reference(
        package="mcp-server-git",
        pins=("mcp-server-git==2026.10.19",),
        args=("--repository", "{folder}"),
        call=("git_status", {"repo_path": "{folder}"}),
        grades={(1, 0): 7, (3, 2): 1, (3, 3): 4},
        era="modern",
    ),
    "time": Reference(
        package="mcp-server-time",
        pins=("mcp-server-time==2026.10.19",),
        args=("--local-timezone", "UTC"),
        call=("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
        grades={(1, 0): 2},
        era="modern",
    ),
    "sqlite": Reference(
        package="mcp-server-sqlite",
        pins=("mcp-server-sqlite==2025.4.25", "mcp<2"),
        args=("--db-path", "{folder}/a.db"),
        call=("list_tables", {}),
        grades={(3, 3): 6},
    ),
}


class Missing(Exception):
    """A server that cannot be had here."""


def installed(name: str, reference: Reference, place: Path) -> list[str]:
    """Its command, installed when it was not. Raises Missing."""
    if reference.pins:
        python = place / name / "bin" / "python"
        program = place / name / "bin" / reference.package
        if not program.exists():
            _run(sys.executable, "-m", "venv", str(place / name))
            _run(str(python), "-m", "pip", "install", "--quiet", *reference.pins)
        return [str(program)]
    program = place / "npm" / "node_modules" / "@modelcontextprotocol" / reference.package / "dist" / "index.js"
    if not program.exists():
        package = f"@modelcontextprotocol/{reference.package}@{NPM}"
        _run("npm", "install", "--silent", "--prefix", str(place / "npm"), package)
    return [shutil.which("node") or "node", str(program)]


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise Missing(said[-1] if said else str(error)) from None


@dataclass(frozen=True, slots=True)
class Started:
    """A server as it is to be started, with what it is called with."""

    reference: Reference
    command: list[str]
    env: dict[str, str]
    arguments: dict[str, Any]

    def table(self, name: str, **more: str) -> str:
        keys: dict[str, object] = {"command": self.command[0], "args": self.command[1:], **more}
        lines = [f"[mcp_servers.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
        lines += ["connect_timeout = 60", f"[mcp_servers.{name}.env]"]
        return "\n".join([*lines, *(f"{key} = {json.dumps(value)}" for key, value in self.env.items())]) + "\n"


def prepared(name: str, reference: Reference, place: Path, folder: Path) -> Started:
    """With a file, a repository and a database to work on."""
    command = installed(name, reference, place)
    folder.mkdir()
    (folder / "a.txt").write_text("what stands in it\n", encoding="utf-8")
    if name == "git":
        _run("git", "init", "--quiet", str(folder))

    def filled(value: Any) -> Any:
        return value.replace("{folder}", str(folder)) if isinstance(value, str) else value

    return Started(
        reference,
        [*command, *(filled(arg) for arg in reference.args)],
        {key: filled(value) for key, value in reference.env.items()},
        {key: filled(value) for key, value in reference.call[1].items()},
    )


Answer = tuple[bool, str]  # whether it is a failure, and its text


def _said(result: Any) -> Answer:
    return bool(result.is_error), "\n".join(getattr(block, "text", "") for block in result.content)


async def by_sdk(started: Started) -> Answer:
    """What the SDK's own client gets: the reference."""
    from mcp import Client, StdioServerParameters

    command, *args = started.command
    async with Client(StdioServerParameters(command=command, args=args, env=started.env)) as client:
        return _said(await client.call_tool(started.reference.call[0], started.arguments))


async def by_runtime(name: str, started: Started, folder: Path, era: str) -> tuple[Answer, str, Counter[Any], str]:
    """Through a runtime: the answer, the era that was agreed on, the grades, and what was wrong."""
    from sutler import Runtime

    file = folder / f"{name}-{era}.toml"
    file.write_text(started.table(name, era=era), encoding="utf-8")
    async with Runtime(config=file, default_tools=False, plugins=False, policy="full_access") as rt:
        await rt.ready(60)
        assert rt.core.servers is not None
        (state,) = rt.core.servers.manager.states()
        inventory = rt.inventory()
        grades = Counter((row.spec.grade.w, row.spec.grade.d) for row in inventory.rows)
        wrong = state.reason or "; ".join(str(one) for one in inventory.quarantined)
        result = await rt.call(f"{name}::{started.reference.call[0]}", started.arguments)
        text = str(result.error) if result.error else "\n".join(block["text"] for block in result.content)
        return (not result.success, text), state.era, grades, wrong


def by_command(name: str, started: Started, file: Path) -> Answer:
    """`sutler call`."""
    arguments = json.dumps(started.arguments)
    sutler = [sys.executable, "-m", "sutler.cli", "--config", str(file), "--policy", "full_access"]
    done = subprocess.run(
        [*sutler, "call", f"{name}::{started.reference.call[0]}", "--args", arguments, "--json"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    document = json.loads(done.stdout)
    output = document.get("error") or document["output"]
    return done.returncode != 0, output if isinstance(output, str) else json.dumps(output)


async def by_gateway(file: Path, started: Mapping[str, Started], mode: str) -> dict[str, Answer]:
    """The SDK's client, in one era, in front of `sutler serve`."""
    from mcp import Client, StdioServerParameters

    args = ["-m", "sutler.cli", "--config", str(file), "--policy", "full_access", "serve"]
    server = StdioServerParameters(command=sys.executable, args=args, env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        for _ in range(100):
            names = {tool.name for tool in (await client.list_tools()).tools}
            if all(one.reference.call[0] in names for one in started.values()):
                break
            await asyncio.sleep(0.3)
        return {
            name: _said(await client.call_tool(one.reference.call[0], one.arguments)) for name, one in started.items()
        }


def same(theirs: Answer, ours: Answer) -> bool:
    """Whether a text came through; a road that shows the structured value has it as other JSON."""
    if theirs[0] != ours[0]:
        return False
    if theirs[1].strip() in ours[1] or ours[1].strip() in theirs[1]:
        return True
    try:
        return json.loads(theirs[1]) == json.loads(ours[1])
    except ValueError:
        return False


def main() -> int:
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(platformdirs.user_cache_dir("sutler-references"))
    place.mkdir(parents=True, exist_ok=True)
    rows: list[list[object]] = []
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ |= {"SUTLER_STATE_DIR": str(folder / "state"), "SUTLER_CACHE_DIR": str(folder / "cache")}
        started: dict[str, Started] = {}
        for name, reference in REFERENCES.items():
            try:
                started[name] = prepared(name, reference, place, folder / name)
            except Missing as reason:
                print(f"skipped {name}: {reason}")
        whole = folder / "sutler.toml"
        tables = [one.table(name) for name, one in started.items()]
        whole.write_text("default_tools = false\n[workspace]\nroot = 'work'\n" + "".join(tables), encoding="utf-8")
        served = {mode: asyncio.run(by_gateway(whole, started, mode)) for mode in ("auto", "legacy")}
        for name, one in started.items():
            theirs = asyncio.run(by_sdk(one))
            ours, era, grades, wrong = asyncio.run(by_runtime(name, one, folder, "auto"))
            old = asyncio.run(by_runtime(name, one, folder, "legacy"))
            answers = {
                "runtime": ours, "legacy": old[0], "sutler call": by_command(name, one, whole),
                "serve": served["auto"][name], "serve, legacy": served["legacy"][name],
            }  # fmt: skip
            faults = [f"{road}: {answer}" for road, answer in answers.items() if not same(theirs, answer)]
            if grades != one.reference.grades:
                faults.append(f"its grades are {dict(grades)}")
            if not era.startswith(one.reference.era) or not old[1].startswith("legacy"):
                faults.append(f"it speaks {era}, and {old[1]} where the old era is asked for")
            if theirs[0] != one.reference.fails or wrong:
                faults.append(f"{wrong} {theirs}")
            shown = ", ".join(f"{count} of ({w},{d})" for (w, d), count in sorted(grades.items()))
            rows.append(
                [name, era, sum(grades.values()), shown, one.reference.call[0], "same" if not faults else "OTHER"]
            )
            missed += [f"{name}: {fault}" for fault in faults]
    show("reference servers", ["server", "era", "tools", "grades", "called", "five roads and the SDK"], rows)
    print("\n".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
