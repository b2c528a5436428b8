"""A project whose tools do what servers must survive, and clients of both eras for it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.stdio import stdio_client
from mcp_types import ElicitResult

from mcp import Client, StdioServerParameters

from ..cli.conftest import Project

KIT = '''
import asyncio, os, subprocess, sys, time

from sutler import tool

print("import: print")
os.write(1, b"import: raw\\n")


@tool(read_only=True, open_world=False, idempotent=True)
def tool_echo(text: str, times: int = 1) -> str:
    """Give a text back.

    Args:
        text: What to give back.
    """
    return " ".join([text] * times)


@tool(read_only=True, open_world=False)
def tool_data(text: str = ""):
    return {"rows": [1, None, float("nan")], "name": "caf\\u00e9 " + text, "nothing": None}


@tool(read_only=True, open_world=False)
def tool_broken_text():
    return os.fsdecode(b"a\\xffb")


def tool_fail():
    raise ValueError("it broke")


@tool(destructive=True, read_only=False)
def tool_wipe(path: str) -> str:
    return f"wiped {path}"


@tool(read_only=True)
def tool_flood() -> str:
    for number in range(2000):
        os.write(1, b"raw line that is no JSON-RPC " * 4 + b"\\n")
        print("printed line", number)
    sys.__stdout__.write("by the real stdout\\n")
    sys.__stdout__.flush()
    subprocess.run(["sh", "-c", "echo from a child; cat"])
    return f"read {len(sys.stdin.read())} characters"


@tool(read_only=True)
def tool_choose(user_interaction_handler=None) -> str:
    asked = {"type": "select", "title": "Size", "prompt": "Which?", "options": ["small", "large"], "default": "small"}
    return f"chose {user_interaction_handler(asked)}"


@tool(read_only=True)
def tool_secret(user_interaction_handler=None) -> str:
    return f"got {user_interaction_handler({'type': 'secret', 'title': 'Key', 'prompt': 'API key?', 'options': []})}"


@tool(read_only=True)
async def tool_slow(mark: str = "", tool_context=None) -> str:
    try:
        for number in range(200):
            tool_context.emit_progress(f"step {number}", number / 200)
            if mark and number == 2:
                with open(mark + ".begun", "w"):
                    pass
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        with open(mark, "w") as file:
            file.write("cancelled")
        raise
    return "done"


@tool(read_only=True)
def tool_steps(tool_context=None) -> str:
    for number in range(3):
        tool_context.emit_progress(f"step {number}", number / 3)
    tool_context.emit_progress("nearly")
    return "done"


@tool(read_only=True)
def tool_env(name: str) -> str:
    return os.environ.get(name, "unset")
'''

CONFIG = """default_tools = false

[libraries]
folders = ["tools"]

[profiles.few]
tools = ["tool_echo", "tool_fail"]

[profiles.aliased]
tools = { say = "tool_echo", tool_fail = "tool_fail" }
"""

ERAS = [pytest.param("legacy", id="2025-11-25"), pytest.param("auto", id="2026-07-28")]
T = TypeVar("T")


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One project for all servers of a module."""
    folder = tmp_path_factory.mktemp("served")
    made = Project(folder / "project", folder / "home")
    made.root.mkdir()
    made.library("kit.py", KIT)
    made.config(CONFIG)
    return made


@dataclass
class Person:
    """Somebody at a client who always gives the same answer. Serves as its elicitation callback."""

    answer: str | None = None
    action: Any = "accept"
    questions: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.questions.append((params.message, params.requested_schema["properties"]["answer"]))
        return ElicitResult(action=self.action, content={"answer": self.answer} if self.action == "accept" else None)

    def will(self, answer: str | None, action: Any = "accept") -> Person:
        self.answer, self.action, self.questions = answer, action, []
        return self


@asynccontextmanager
async def over_stdio(project: Project, *argv: str, mode: str, person: Any = None) -> AsyncGenerator[Client]:
    """The SDK's own client over a process of `sutler serve`."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "sutler.cli", "serve", *argv],
        cwd=project.root,
        env={key: value for key, value in project.env.items() if key.startswith(("SUTLER", "XDG"))},
    )
    with Path(os.devnull).open("w") as nowhere:
        async with Client(stdio_client(server, errlog=nowhere), mode=mode, elicitation_callback=person) as client:
            yield client


@dataclass(frozen=True)
class Served:
    """A client of a running server, on a loop of its own, for all tests of a module: a process costs a second."""

    client: Client
    person: Person
    mode: str
    _portal: BlockingPortal

    def run(self, work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        return self._portal.call(work, self.client)


@contextmanager
def served_by(project: Project, *argv: str, mode: str, asks: bool) -> Generator[Served]:
    person = Person()
    with start_blocking_portal() as portal:
        opened = over_stdio(project, *argv, mode=mode, person=person if asks else None)
        with portal.wrap_async_context_manager(opened) as client:
            yield Served(client, person, mode, portal)


@pytest.fixture(scope="module", params=ERAS)
def served(kit: Project, request: pytest.FixtureRequest) -> Iterator[Served]:
    """A client in either era that can ask its person."""
    with served_by(kit, mode=request.param, asks=True) as made:
        yield made


@pytest.fixture(scope="module", params=ERAS)
def mute(kit: Project, request: pytest.FixtureRequest) -> Iterator[Served]:
    """A client in either era that cannot ask anybody."""
    with served_by(kit, mode=request.param, asks=False) as made:
        yield made


async def until(holds: Any, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        await asyncio.sleep(0.02)


def texts(result: Any) -> list[str]:
    return [block.text for block in result.content]


@dataclass(frozen=True)
class HttpServer:
    """A process of `sutler serve --http`."""

    url: str
    token: str
    stderr: Path


@pytest.fixture(scope="module")
def http_server(kit: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    said = tmp_path_factory.mktemp("said") / "stderr"
    with said.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "sutler.cli", "serve", "--http", "--port", "0", "--json"],
            cwd=kit.root,
            env={**kit.env, "SUTLER_TOKEN": "a-token-of-the-tests"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
    try:
        assert process.stdout is not None
        document = json.loads(process.stdout.readline())
        yield HttpServer(document["url"], "a-token-of-the-tests", said)
    finally:
        process.terminate()
        code = process.wait(20)
        assert process.stdout is not None
        process.stdout.close()
    assert code == 0, said.read_text()
