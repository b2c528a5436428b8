"""Sources that installed packages bring. The packages here are real ones: files and metadata on sys.path."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sutler.sources.plugins import plugin_sources
from sutler.toolbox import Toolbox

SOURCE = """
from sutler.spec import Origin, ToolSpec

class Tickets:
    def __init__(self, name): self._name = name
    @property
    def name(self): return self._name
    def available(self): return True
    def discover(self): return [ToolSpec(name=self._name + "_list", origin=Origin(source=self._name, kind="config"))]
    def resolve(self, spec): return lambda: "ran " + spec.name

def one(): return Tickets("tickets")
def two(): return [Tickets("bugs"), Tickets("wishes")]
def broken(): raise RuntimeError("no licence")
def leaves(): raise SystemExit(1)
def wrong(): return 42
def half(): return [Tickets("half"), None]
def nothing(): return []
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    def write(package: str, **points: str) -> None:
        (tmp_path / f"{package}.py").write_text(SOURCE)
        info = tmp_path / f"{package}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        lines = "".join(f"{name} = {value}\n" for name, value in points.items())
        (info / "entry_points.txt").write_text(f"[sutler.sources]\n{lines}")

    monkeypatch.syspath_prepend(str(tmp_path))
    yield write
    for name in [
        name for name, module in sys.modules.items() if str(getattr(module, "__file__", "")).startswith(str(tmp_path))
    ]:
        del sys.modules[name]


@pytest.mark.requirement("SRC-12")
def test_an_installed_package_adds_its_sources(install: Install) -> None:
    install("sutler_plug_a", tickets="sutler_plug_a:one", many="sutler_plug_a:two", none="sutler_plug_a:nothing")
    box = Toolbox()
    for source in plugin_sources():
        box.add_source(source)
    assert list(box.inventory().qualified) == ["bugs::bugs_list", "wishes::wishes_list", "tickets::tickets_list"]
    assert box.resolve("tickets_list")() == "ran tickets_list"
    assert box.inventory().quarantined == ()


@pytest.mark.requirement("SRC-10", "SRC-12")
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("sutler_plug_b:broken", "RuntimeError: no licence"),
        ("sutler_plug_b:leaves", "SystemExit: 1"),
        ("sutler_plug_b:wrong", "it gave a int, which is no ToolSource"),
        ("sutler_plug_b:absent", "AttributeError"),
        ("sutler_not_there:one", "ModuleNotFoundError: No module named 'sutler_not_there'"),
    ],
)
def test_a_failing_plugin_is_quarantined_with_its_reason(install: Install, value: str, said: str) -> None:
    install("sutler_plug_b", bad=value, good="sutler_plug_b:one")
    box = Toolbox()
    for source in plugin_sources():
        box.add_source(source)
    inventory = box.inventory()
    assert list(inventory.tools) == ["tickets_list"]
    (item,) = inventory.quarantined
    assert (item.source, item.tool) == ("bad", None)
    assert said in item.reason
    assert "sutler_plug_b 1.2" in item.reason and value in item.reason


@pytest.mark.requirement("SRC-12")
def test_a_list_with_one_wrong_item_keeps_the_rest(install: Install) -> None:
    install("sutler_plug_c", mixed="sutler_plug_c:half")
    box = Toolbox()
    for source in plugin_sources():
        box.add_source(source)
    inventory = box.inventory()
    assert list(inventory.tools) == ["half_list"]
    assert "NoneType" in inventory.quarantined[0].reason


@pytest.mark.requirement("SRC-12")
def test_without_plugins_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert plugin_sources() == []
