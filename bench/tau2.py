"""tau2's airline and retail servers, and the calls that solve its tasks: by three roads, answer for answer.

The servers are stateful programs that speak MCP over stdio; each task has a state of its own. The roads are the client
of the SDK alone, a runtime, and the SDK's client in front of `sutler serve`. The packages are read as data, but for the
servers, which run as child processes.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHOWN = 200  # characters of an answer that differs


@dataclass(frozen=True, slots=True)
class Domain:
    """One of the two servers. folder: of its package."""

    name: str
    folder: Path

    def call(self, state: Path) -> tuple[str, list[str], dict[str, str]]:
        """Command, arguments and variables, for a server whose states lie in this folder."""
        program = self.folder / "server.py"
        return sys.executable, ["-S", "-E", str(program)], {f"TAU2_{self.name.upper()}_MCP_STATE_DIR": str(state)}

    def calls(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """(task, tool, arguments) of every call that solves a task, in order."""
        tasks = self.folder / "data" / "tau2" / "domains" / self.name / "tasks.json"
        for task in json.loads(tasks.read_text(encoding="utf-8")):
            for action in task["evaluation_criteria"].get("actions") or []:
                key = f"tau2/{self.name}/{task['id']}"
                yield task["id"], action["name"], {**action["arguments"], "state_key": key}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call was answered with, and whether as a failure."""

    text: str
    failed: bool
    structured: Any = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """The answers of one road, in order, and what the states of all tasks were at the end."""

    answers: list[Answer]
    states: Mapping[str, str]


Call = Callable[[str, dict[str, Any]], Any]
Road = Callable[[Domain, Path], AbstractAsyncContextManager[Call]]


def replay(road: Road, domains: list[Domain]) -> Replayed:
    """Every call of every task by this road, with states of its own."""

    async def main() -> Replayed:
        answers: list[Answer] = []
        states: dict[str, str] = {}
        for domain in domains:
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                async with road(domain, folder) as call:
                    answers += [await call(tool, arguments) for _, tool, arguments in domain.calls()]
                for file in (folder / "states").iterdir():
                    states[f"{domain.name}/{file.name}"] = hashlib.sha256(file.read_bytes()).hexdigest()
        return Replayed(answers, states)

    return asyncio.run(main())


@asynccontextmanager
async def _client(command: str, args: list[str], env: dict[str, str]) -> AsyncGenerator[Call]:
    from mcp import Client, StdioServerParameters

    async with Client(StdioServerParameters(command=command, args=args, env=env)) as client:

        async def call(tool: str, arguments: dict[str, Any]) -> Answer:
            result = await client.call_tool(tool, arguments)
            text = "\n".join(block.text for block in result.content)
            return Answer(text, bool(result.is_error), result.structured_content)

        yield call


def sdk(domain: Domain, folder: Path) -> AbstractAsyncContextManager[Call]:
    """The client of the SDK, and nothing of Sutler."""
    return _client(*domain.call(folder / "states"))


@asynccontextmanager
async def runtime(domain: Domain, folder: Path) -> AsyncGenerator[Call]:
    """The whole pipeline."""
    from sutler import Runtime

    async with Runtime(config=_config(domain, folder), default_tools=False, plugins=False, policy="full_access") as rt:
        assert await rt.ready(30)

        async def call(tool: str, arguments: dict[str, Any]) -> Answer:
            result = await rt.call(f"{domain.name}::{tool}", arguments)
            text = str(result.error) if result.error else "\n".join(block["text"] for block in result.content)
            return Answer(text, not result.success, result.output)  # they answer with structured content throughout

        yield call


def served(domain: Domain, folder: Path) -> AbstractAsyncContextManager[Call]:
    """The SDK's client in front of `sutler serve`."""
    args = ["-m", "sutler.cli", "--config", str(_config(domain, folder)), "--policy", "full_access", "serve"]
    places = {"SUTLER_STATE_DIR": str(folder / "state"), "SUTLER_CACHE_DIR": str(folder / "cache")}
    return _client(sys.executable, args, places)


def _config(domain: Domain, folder: Path) -> Path:
    command, args, env = domain.call(folder / "states")
    file = folder / "sutler.toml"
    variables = ", ".join(f"{name} = {json.dumps(value)}" for name, value in env.items())
    file.write_text(
        f"default_tools = false\n[workspace]\nroot = {json.dumps(str(folder / 'work'))}\n"
        f"[mcp_servers.{domain.name}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n"
        f"env = {{ {variables} }}\n",
        encoding="utf-8",
    )
    return file


def differences(theirs: Replayed, ours: Replayed, domains: list[Domain]) -> Iterator[str]:
    """Where a road does not come to what another came to, by call or by state."""
    calls = [(domain.name, *call) for domain in domains for call in domain.calls()]
    for (domain, task, tool, _), their, our in zip(calls, theirs.answers, ours.answers, strict=True):
        for what in ("failed", "text", "structured"):
            if (was := getattr(their, what)) != (became := getattr(our, what)):
                yield f"{domain} {task} {tool}: {what} {str(was)[:SHOWN]} became {str(became)[:SHOWN]}"
                break
    for name in sorted(theirs.states.keys() | ours.states.keys()):
        if theirs.states.get(name) != ours.states.get(name):
            yield f"{name}: the state at the end is another"
