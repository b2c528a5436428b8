"""Servers that misbehave, managers that are always closed, and the proof that nothing outlives them."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler.mcp import stdio
from sutler.mcp.manager import ServerManager
from sutler.servers import RemoteResult, ServerSpec

SERVER = Path(__file__).parent.parent / "faults" / "stdio_server.py"


class Servers:
    """Makes specs and managers; `call` from a plain thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.managers: list[ServerManager] = []
        self.changed: list[str] = []
        self.news = threading.Condition()

    def spec(self, id: str, mode: str = "ok", **more: Any) -> ServerSpec:
        args = ("-S", "-E", str(SERVER), mode, str(self.folder / f"{id}.state"))
        return ServerSpec(id=id, command=sys.executable, args=args, cwd=self.folder, **more)

    def manager(self, *specs: ServerSpec, start: bool = True, wait: bool = True, **more: Any) -> ServerManager:
        manager = ServerManager(specs, on_change=self._note, **more)
        self.managers.append(manager)
        if start:
            manager.start()
            if wait:
                assert manager.wait(60)
        return manager

    def one(self, mode: str = "ok", **more: Any) -> ServerManager:
        """A manager of the one server `s`, started; its state as it turned out."""
        return self.manager(self.spec("s", mode, **more))

    def call(self, manager: ServerManager, tool: str, server: str = "s", **more: Any) -> RemoteResult:
        arguments = more.pop("args", {})
        return manager.portal.run(manager.call(server, tool, arguments, **more))

    def text(self, manager: ServerManager, tool: str, server: str = "s", **more: Any) -> str:
        (block,) = self.call(manager, tool, server, **more).content
        return str(block["text"])

    def _note(self, server: str) -> None:
        with self.news:
            self.changed.append(server)
            self.news.notify_all()

    def until(self, true: Callable[[], bool], seconds: float = 20.0) -> None:
        """Wait for something that a server brings about."""
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline, "it never came about"
            with self.news:
                self.news.wait(0.02)

    def alive(self) -> list[int]:
        """Processes with this test's folder in their command line: its servers and their keepers."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and bytes(self.folder) in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    monkeypatch.setattr(stdio, "GRACE", 0.3)  # several of these servers use all of it
    made = Servers(tmp_path)
    yield made
    for manager in made.managers:
        assert manager.close() == ()
    assert made.alive() == []
