"""What holds for every source of tools, whoever wrote it: one suite, every implementation."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sutler.errors import ToolUnavailable
from sutler.schema.validate import check_schema
from sutler.sources.base import ToolSource
from sutler.sources.code import CodeToolSource
from sutler.sources.config import ConfigToolSource
from sutler.sources.defaults import default_source
from sutler.sources.functions import FunctionSource
from sutler.sources.shelf import open_folders
from sutler.sources.virtual import VirtualToolSource
from sutler.spec import ToolSpec
from sutler.tables import ArgTable, ToolTable
from sutler.toolbox import Toolbox

FOLDER_CODE = '''
def tool_echo(text: str, times: int = 1):
    """Say it back."""
    return {"success": True, "output": text * times}

async def tool_echo_later(text: str):
    """Say it back, later."""
    return {"success": True, "output": text}
'''


def config(folder: Path) -> ToolSource:
    (folder / "mine.py").write_text(
        "def echo(text, times=1): return text * times\nasync def echo_later(text): return text\n"
    )
    args = [ArgTable(name="text", type="str"), ArgTable(name="times", type="int", default=1, has_default=True)]
    return ConfigToolSource(
        [
            ToolTable(name="echo", module="mine", function="echo", args=args, where="sutler.toml:1"),
            ToolTable(name="echo_later", module="mine", function="echo_later", args=args[:1], where="sutler.toml:9"),
        ],
        folder,
    )


def functions(_: Path) -> ToolSource:
    def echo(text: str, times: int = 1) -> str:
        return text * times

    async def echo_later(text: str) -> str:
        return text

    return FunctionSource([echo, echo_later])


def virtual(_: Path) -> ToolSource:
    async def later(text: str) -> str:
        return text

    arg = ArgTable(name="text", type="str")
    tables = [ToolTable(name="echo", args=[arg]), ToolTable(name="echo_later", args=[arg]), ToolTable(name="absent")]
    return VirtualToolSource(tables, {"echo": lambda text, times=1: text * times, "echo_later": later}.get)


def library(folder: Path) -> ToolSource:
    (folder / "echoes.py").write_text(FOLDER_CODE)
    return open_folders([folder], cache=False)[0]


def code(_: Path) -> ToolSource:
    source = CodeToolSource()
    source.register("echoes", FOLDER_CODE)
    return source


def shipped(_: Path) -> ToolSource:
    return default_source()


SOURCES = [config, functions, virtual, library, code, shipped]
ECHOING = [config, functions, virtual, library, code]

every = pytest.mark.parametrize("make", SOURCES, ids=lambda make: make.__name__)
echoing = pytest.mark.parametrize("make", ECHOING, ids=lambda make: make.__name__)
Make = Callable[[Path], ToolSource]


def echo_of(source: ToolSource, later: bool) -> ToolSpec:
    return next(spec for spec in source.discover() if spec.name.endswith("_later") == later)


@every
@pytest.mark.requirement("SRC-02")
def test_it_meets_the_protocol(make: Make, tmp_path: Path) -> None:
    source = make(tmp_path)
    assert isinstance(source, ToolSource)
    assert isinstance(source.name, str) and source.name
    assert source.available() is True
    assert not isinstance(object(), ToolSource)


@every
@pytest.mark.requirement("SRC-02")
def test_its_specs_are_whole_and_its_own(make: Make, tmp_path: Path) -> None:
    source = make(tmp_path)
    specs = source.discover()
    assert specs and all(isinstance(spec, ToolSpec) for spec in specs)
    assert len({spec.name for spec in specs}) == len(specs)
    for spec in specs:
        assert spec.origin.source == source.name
        assert spec.origin.precedence == source.precedence  # type: ignore[attr-defined]
        assert spec.description
        assert check_schema(spec.input_schema) == ()
        assert len(spec.digest) == 32


@every
@pytest.mark.requirement("SRC-02", "SRC-08")
def test_asked_twice_it_says_the_same(make: Make, tmp_path: Path) -> None:
    source = make(tmp_path)
    first, second = source.discover(), source.discover()
    assert first == second
    assert [spec.digest for spec in first] == [spec.digest for spec in second]
    assert getattr(source, "version", None) == getattr(source, "version", None)


@every
@pytest.mark.requirement("SRC-02", "LIB-03")
def test_discovery_imports_and_runs_nothing(make: Make, tmp_path: Path) -> None:
    source = make(tmp_path)
    before = set(sys.modules)
    for spec in source.discover():
        assert spec.args is not None
    new = {name for name in set(sys.modules) - before if not name.startswith(("sutler.", "jsonschema", "griffe"))}
    assert not {name for name in new if "mine" in name or "echoes" in name}


@echoing
@pytest.mark.requirement("SRC-02")
def test_it_runs_by_keyword_sync_and_async(make: Make, tmp_path: Path) -> None:
    source = make(tmp_path)
    now = source.resolve(echo_of(source, later=False))(text="ab", times=2)
    assert now in ("abab", {"success": True, "output": "abab"})
    call = source.resolve(echo_of(source, later=True))
    assert inspect.iscoroutinefunction(call)
    assert asyncio.run(call(text="ab")) in ("ab", {"success": True, "output": "ab"})


@every
@pytest.mark.requirement("SRC-02", "SRC-03")
def test_a_spec_renamed_and_regraded_by_the_toolbox_still_resolves(make: Make, tmp_path: Path) -> None:
    first, second = make(tmp_path), make(tmp_path)
    box = Toolbox()
    box.add_source(first)
    box.add_source(second, precedence=3)
    inventory = box.inventory()
    count = len(first.discover())
    assert len(inventory.tools) == count and len(inventory.rows) == 2 * count
    assert {item.winner.source for item in inventory.shadowed} == {first}
    for row in inventory.rows:
        assert callable(row.source.resolve(row.spec))
        assert row.spec.origin.source in (first.name, f"{first.name}#2")


@every
@pytest.mark.requirement("SRC-02", "SRC-10")
def test_a_tool_it_does_not_have_is_unavailable_and_no_crash(make: Make, tmp_path: Path) -> None:
    from dataclasses import replace

    source = make(tmp_path)
    with pytest.raises(ToolUnavailable):
        source.resolve(replace(source.discover()[0], name="no_such_tool"))
