"""Nothing of a runtime blocks the event loop it is used on: the calls that could are watched."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from blockbuster import blockbuster_ctx

from sutler import Runtime


def quick(x: int) -> int:
    time.sleep(0.01)
    return x


async def later(x: int) -> int:
    await asyncio.sleep(0.01)
    return x


@pytest.mark.parametrize("stored", [False, True])
def test_opening_calling_running_and_closing_never_block_the_loop(tmp_path: Path, stored: bool) -> None:
    async def main() -> None:
        folder = tmp_path / "tools"
        folder.mkdir()
        (folder / "lib.py").write_text(
            "import time\ndef tool_nap(x: int) -> int:\n    time.sleep(0.01)\n    return x\n"
        )
        options: dict[str, Any] = {"store": tmp_path / "runs.db"} if stored else {}
        with blockbuster_ctx():
            async with Runtime(tools=[quick, later], tool_folders=[folder], config=False, **options) as rt:
                assert (await rt.call("quick", {"x": 1})).output == 1
                assert (await rt.call("later", {"x": 2})).output == 2
                assert (await rt.call("tool_nap", {"x": 3})).output == 3
                assert not (await rt.call("nobody")).success
                assert (await rt.run("quick(1) + later(2) + tool_nap(3)")).output == 6
                assert not (await rt.run("1 / 0")).success
                await asyncio.gather(*(rt.run("later(n)", params={"n": n}) for n in range(5)))

    asyncio.run(main())
