"""The face, the runtime and the sessions of upstream servers on one loop, which nothing of them blocks."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from mcp import Client
from sutler import Runtime
from sutler.runtime import Event
from sutler.server.face import Face, Hearing, Shape
from sutler.server.person import Person

from .conftest import texts
from .test_face import MODES

FAULTS = Path(__file__).parent.parent / "faults" / "stdio_server.py"
UPSTREAM = Path(__file__).with_name("upstream_server.py")


class Threads(Hearing):
    """Where each thing happened that the runtime tells of."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, bool]] = []

    def __call__(self, event: Event) -> None:
        self.seen.append((event.kind, threading.current_thread() is threading.main_thread()))
        super().__call__(event)


def configured(folder: Path) -> dict[str, Any]:
    lines = ["[grades]", '"odd::progress" = { w = 1, d = 0 }', '"odd::echo" = { w = 1, d = 0 }']
    for name, args in (("odd", [str(FAULTS), "ok"]), ("up", [str(UPSTREAM), "up"])):
        lines += [f"[mcp_servers.{name}]", f"command = {sys.executable!r}", f"args = {args!r}"]
    file = folder / "sutler.toml"
    file.write_text("\n".join(lines))
    return {"config": file, "default_tools": False, "plugins": False, "policy": "full_access", "share_loop": True}


@pytest.mark.requirement("SRV-01", "MCP-09")
@MODES
@pytest.mark.parametrize("stored", [False, True])
def test_a_call_through_the_face_changes_no_thread_and_nothing_blocks_the_loop(
    tmp_path: Path, mode: str, stored: bool
) -> None:
    async def main() -> None:
        heard, person = Threads(), Person(shared=False)
        handlers = {"confirm_handler": person.confirm, "user_interaction_handler": person.interact, "on_event": heard}
        store = {"store": tmp_path / "calls.db"} if stored else {}
        async with Runtime(**configured(tmp_path), **handlers, **store) as rt:
            assert await rt.ready(30)
            assert rt.core.servers.loop is asyncio.get_running_loop()
            assert "sutler-mcp" not in {thread.name for thread in threading.enumerate()}
            face = Face(rt, Shape())
            progress: list[str] = []

            async def told(done: float, total: float | None, message: str | None) -> None:
                progress.append(str(message))

            with blockbuster_ctx():
                await face.listing()
                await face.offer(rt.core.servers.manager)
                async with Client(face.server, mode=mode) as client:
                    await client.list_tools()
                    assert texts(await client.call_tool("echo", {"x": 1})) == ["1"]
                    heard.seen.clear()
                    assert texts(await client.call_tool("echo", {"x": 2})) == ["2"]
                    await client.call_tool("progress", {}, progress_callback=told)
                    assert (await client.list_resources()).resources
                    assert (await client.list_prompts()).prompts
                    many = await asyncio.gather(*(client.call_tool("echo", {"x": n}) for n in range(20)))
                    assert [texts(one) for one in many] == [[str(n)] for n in range(20)]
                await face.close()
        assert mode != "legacy" or progress == ["step 0", "step 1", "step 2"]
        kinds = {kind for kind, _ in heard.seen}
        assert {"call_started", "progress", "call_finished"} <= kinds
        assert all(on_loop for kind, on_loop in heard.seen if kind in ("call_started", "progress"))
        assert stored or all(on_loop for _, on_loop in heard.seen)

    asyncio.run(main())
