"""The tool libraries that come with Sutler are an ordinary tool folder that is off until it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from sutler import ConfigError, SyncRuntime
from sutler.config.load import load_text
from sutler.sources.base import DEFAULTS, FOLDERS
from sutler.sources.library import LibraryToolSource
from sutler.sources.shelf import open_folders
from sutler.sources.shipped import FOLDER, shipped_stems

DOCUMENT = {"execute_python", "system_shell", "workspace_tools", "user_interactive_tools"}


def sources(rt: SyncRuntime) -> set[str]:
    return {row.source.name for row in rt.inventory().qualified.values()}


@pytest.mark.requirement("LCP-20")
def test_the_shipped_libraries_answer_to_the_stems_of_the_document() -> None:
    assert set(shipped_stems()) == DOCUMENT


def test_none_is_there_unless_it_is_asked_for() -> None:
    with SyncRuntime(config=False) as rt:
        assert not DOCUMENT & sources(rt)
    with SyncRuntime(config=False, shipped=True) as rt:
        assert sources(rt) >= DOCUMENT
    with SyncRuntime(config=False, shipped=["user_interactive_tools"]) as rt:
        assert DOCUMENT & sources(rt) == {"user_interactive_tools"}


def test_the_config_turns_them_on_and_the_keyword_decides_over_it(tmp_path: Path) -> None:
    file = tmp_path / "sutler.toml"
    file.write_text('[libraries]\nshipped = ["user_interactive_tools"]\n')
    with SyncRuntime(config=file) as rt:
        assert DOCUMENT & sources(rt) == {"user_interactive_tools"}
    with SyncRuntime(config=file, shipped=False) as rt:
        assert not DOCUMENT & sources(rt)
    file.write_text("[libraries]\nshipped = true\n")
    with SyncRuntime(config=file) as rt:
        assert sources(rt) >= DOCUMENT


def test_an_unknown_one_is_an_error_that_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no shipped library 'shell'; there are execute_python, system_shell"):
        SyncRuntime(config=False, shipped=["shell"]).open()
    with pytest.raises(ConfigError, match=r"sutler\.toml:2: libraries\.shipped.*did you mean 'system_shell'"):
        load_text('[libraries]\nshipped = ["system_shel"]\n', tmp_path / "sutler.toml")
    with pytest.raises(ConfigError, match="must be true, false or an array of names, not an integer"):
        load_text("[libraries]\nshipped = 1\n", tmp_path / "sutler.toml")


def test_an_untrusted_file_turns_none_on(tmp_path: Path) -> None:
    config = load_text("[libraries]\nshipped = true\n", tmp_path / "sutler.toml", trusted=False)
    assert not config.shipped
    assert "libraries.shipped" in config.withheld[0]


def test_the_users_own_library_of_the_same_stem_comes_first(tmp_path: Path) -> None:
    (tmp_path / "workspace_tools.py").write_text("def tool_read_file(x: str) -> str:\n    return x\n")
    with SyncRuntime(config=False, tool_folders=tmp_path, shipped=["workspace_tools"]) as rt:
        row = rt.inventory().find("tool_read_file")
        assert (row.spec.qualified, row.spec.origin.precedence) == ("workspace_tools::tool_read_file", FOLDERS)
        assert rt.inventory().find("workspace_tools#2::tool_read_file").spec.origin.precedence == DEFAULTS


def test_they_are_read_without_a_note_and_declare_what_they_do() -> None:
    opened = open_folders([FOLDER], cache=False)
    assert {type(source) for source in opened} == {LibraryToolSource}
    for source in opened:
        specs = source.discover()
        assert specs and not source.notes and not source.quarantined and not source.duplicates
        for spec in specs:
            assert spec.grade_from == "declared" and not spec.notes, spec.qualified
            assert spec.description != "No description provided.", spec.qualified
            assert all(arg.description for arg in spec.args), spec.qualified
