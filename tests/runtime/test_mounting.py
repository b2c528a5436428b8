"""Libraries by forgiving names, and never outside of the folders that were configured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler import SyncRuntime
from sutler.sources.shipped import shipped_stems

OPEN = Callable[..., SyncRuntime]

OFF = '''
TOOL_LIBRARY_LOAD_FLAG = "enable_danger"

def tool_danger() -> str:
    """D."""
    return "on"
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tools = tmp_path / "tools"
    (tools / "database_ops").mkdir(parents=True)
    (tools / "database_ops" / "database_ops.py").write_text(
        'TOOL_LIBRARY_NAME = "Data Base Things"\nTOOL_LIBRARY_ALIASES = ["sql", "Query-Runner"]\n'
        'def tool_query() -> str:\n    """Q."""\n    return "q"\n'
    )
    (tools / "danger.py").write_text(OFF)
    (tmp_path / "outside.py").write_text("def tool_outside() -> str:\n    return 'o'\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "elsewhere.py").write_text("def tool_elsewhere() -> str:\n    return 'e'\n")
    return tools


@pytest.mark.requirement("LCP-09")
@pytest.mark.parametrize(
    "name",
    [
        "database_ops",
        "Database Ops",
        "DATABASE-OPS",
        "tool_database_ops",
        "database_ops.py",
        "databaseops",
        "Data Base Things",
        "data_base_things",
        "SQL",
        "query runner",
        "databse_ops",
        "  database_ops ",
    ],
)
def test_a_library_is_known_by_forgiving_names(runtime: OPEN, folder: Path, name: str) -> None:
    rt = runtime(tool_folders=folder)
    assert rt.is_library_mounted(name) and rt.mount_tool_library(name) and rt.mount_tool_library_if_absent(name)
    assert len(rt.inventory().rows) == 1


@pytest.mark.requirement("LCP-09")
@pytest.mark.parametrize(
    "name",
    ["..", "../..", "../elsewhere", ".", "", "  ", "/etc", "~", "~/x", "a\\b", "a/b", "elsewhere", "outside", "x\0", 3],
)
def test_no_name_reaches_out_of_the_configured_folders(runtime: OPEN, folder: Path, name: Any) -> None:
    rt = runtime(tool_folders=folder)
    assert not rt.mount_tool_library(name) and not rt.is_library_mounted(name)
    assert rt.why_not_mounted()
    assert [row.spec.name for row in rt.inventory().rows] == ["tool_query"]


@pytest.mark.requirement("LCP-09")
def test_an_absolute_path_and_a_link_outward_are_refused(runtime: OPEN, folder: Path, tmp_path: Path) -> None:
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    (folder / "linked_file.py").symlink_to(tmp_path / "outside.py")
    rt = runtime(tool_folders=folder)
    for name in (str(tmp_path / "elsewhere"), "linked", "linked_file", "elsewhere"):
        assert not rt.mount_tool_library(name)
    assert not rt.is_tool_available("tool_elsewhere") and rt.load_tool_by_name("tool_outside") is None
    assert [row.spec.name for row in rt.inventory().rows] == ["tool_query"]


@pytest.mark.requirement("LCP-09")
def test_a_name_that_could_be_two_libraries_is_refused_and_both_are_named(runtime: OPEN, folder: Path) -> None:
    for stem in ("sales_2024", "sales_2025"):
        (folder / f"{stem}.py").write_text(f'def tool_{stem}() -> str:\n    """M."""\n    return "m"\n')
    rt = runtime(tool_folders=folder)
    assert not rt.mount_tool_library("sales_2023")
    assert "sales_2024" in rt.why_not_mounted() and "sales_2025" in rt.why_not_mounted()
    assert rt.mount_tool_library("sales 2025") and rt.is_library_mounted("salse_2025")


@pytest.mark.requirement("LCP-09", "LIB-05")
def test_a_load_flag_is_the_host_s_word_and_no_name_turns_it(runtime: OPEN, folder: Path) -> None:
    rt = runtime(tool_folders=folder)
    assert not rt.mount_tool_library("danger") and "enable_danger" in rt.why_not_mounted()
    assert not rt.is_library_mounted("danger") and not rt.is_tool_available("tool_danger")
    assert rt.load_tool_by_name("tool_danger") is None and rt.find_library_for_tool("tool_danger") == "danger"
    for no in ("no", "", "off", 2, [1], None, object()):
        rt.set_session_flags({"enable_danger": no})
        assert not rt.is_library_mounted("danger"), no
    for yes in (True, 1, "true", "YES", " on "):
        assert rt.set_session_flags({"enable_danger": yes}).added == ("danger::tool_danger",)
        assert rt.call("tool_danger").output == "on"
        assert rt.set_session_flags({}).removed == ("danger::tool_danger",)
    rt.configure_library("danger", {"enable_danger": True})
    assert rt.mount_tool_library("danger")
    rt.set_session_flags({"enable_danger": False})  # its own config goes before the session's
    assert rt.is_library_mounted("danger")


def test_load_flags_may_be_given_when_the_runtime_is_made(runtime: OPEN, folder: Path) -> None:
    assert runtime(tool_folders=folder, load_flags={"enable_danger": True}).call("tool_danger").output == "on"


@pytest.mark.requirement("LCP-09")
def test_what_came_into_the_folder_since_is_mounted_by_its_name(runtime: OPEN, folder: Path) -> None:
    rt = runtime(tool_folders=folder)
    assert not rt.is_library_mounted("late")
    (folder / "late.py").write_text('def tool_late() -> str:\n    """L."""\n    return "l"\n')
    assert rt.mount_tool_library("late") and rt.call("tool_late").output == "l"


@pytest.mark.requirement("LCP-09")
def test_a_library_that_comes_with_sutler_is_mounted_by_its_name(runtime: OPEN, folder: Path) -> None:
    stem = shipped_stems()[0]
    rt = runtime(tool_folders=folder)
    assert not rt.is_library_mounted(stem)
    specs = [spec for source in rt.core.libraries.unmounted() if source.name == stem for spec in source.discover()]
    tool = specs[0].name
    assert rt.find_library_for_tool(tool) == stem and rt.is_tool_available(tool)
    assert rt.call(tool).status_code == 404
    spec = rt.load_tool_by_name(tool)
    assert spec is not None and spec.origin.source == stem and rt.is_library_mounted(stem.upper())
    assert {row.spec.origin.source for row in rt.inventory().rows} == {stem, "database_ops"}


@pytest.mark.requirement("LCP-09")
def test_tools_are_found_and_loaded_by_name(runtime: OPEN, folder: Path) -> None:
    rt = runtime(tool_folders=folder)
    assert rt.find_library_for_tool("tool_query") == "database_ops" == rt.find_library_for_tool("query")
    assert rt.find_library_for_tool("database ops") == "database_ops"
    assert rt.find_library_for_tool("nothing_of_the_kind") is None and not rt.is_tool_available("nothing")
    spec = rt.load_tool_by_name("tool_query")
    assert spec is not None and spec.qualified == "database_ops::tool_query"
    assert rt.load_tool_by_name("database_ops") == spec and rt.load_tool_by_name("nope") is None


def test_single_files_are_libraries_too(runtime: OPEN, folder: Path, tmp_path: Path) -> None:
    rt = runtime(tool_files=tmp_path / "outside.py")
    assert [row.spec.qualified for row in rt.inventory().rows] == ["outside::tool_outside"]
    assert rt.call("tool_outside").output == "o" and rt.is_library_mounted("outside")
    bad = [tmp_path / "none.py", tmp_path, folder / "danger.py", folder / "danger.py"]
    rt = runtime(tool_files=bad, tool_folders=folder)
    said = [item.reason for item in rt.inventory().quarantined]
    assert any("no such file" in one for one in said) and any("a folder" in one for one in said)
    assert sum(name.startswith("danger") for name, _ in rt.toolbox.sources()) == 1
