"""`sutler serve` picks up tool files that change while it runs, and says so; what libraries say joins the listing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import anyio
import pytest

from ..cli.conftest import Project
from .conftest import over_stdio, texts


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project", tmp_path / "home")
    made.root.mkdir()
    made.library("shelf.py", SHELF)
    made.config('default_tools = false\n[libraries]\nfolders = ["tools"]\n')
    return made


SHELF = '''
from pathlib import Path

def tool_shelf_prompt() -> str:
    return "Shelves: " + ", ".join(sorted(one.name for one in Path(".").glob("*.shelf")))

def tool_count() -> int:
    """Counts."""
    return 1
'''


@pytest.mark.requirement("LIB-09", "SRV-02")
def test_a_client_is_told_of_a_tool_file_that_comes_and_of_an_edit_and_gets_the_new_code(project: Project) -> None:
    async def go() -> None:
        async with over_stdio(project, mode="auto") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["tool_count"]
            with anyio.fail_after(40):
                async with client.listen(tools_list_changed=True) as events:
                    project.library("late.py", 'def tool_late() -> str:\n    """L."""\n    return "first"\n')
                    await anext(aiter(events))
                listed = await client.list_tools(cache_mode="refresh")
                assert [tool.name for tool in listed.tools] == ["tool_late", "tool_count"]
                assert texts(await client.call_tool("tool_late")) == ["first"]
                project.library("late.py", 'def tool_late() -> str:\n    """L."""\n    return "edited"\n')
                while texts(await client.call_tool("tool_late")) != ["edited"]:
                    await asyncio.sleep(0.1)

    asyncio.run(go())


@pytest.mark.requirement("LIB-06", "SRV-01")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_each_listing_holds_what_the_library_says_at_that_moment(project: Project, mode: str) -> None:
    async def go() -> None:
        async with over_stdio(project, "--no-watch", mode=mode) as client:
            for name in ("a", "b"):
                (project.root / f"{name}.shelf").touch()
                [tool] = (await client.list_tools(cache_mode="refresh")).tools
                assert (
                    tool.description.startswith("Counts.\n\nShelves: a.shelf") and f"{name}.shelf" in tool.description
                )

    asyncio.run(go())
