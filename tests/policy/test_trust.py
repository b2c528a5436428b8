"""Trust in a found config file: bound to its place and its every letter, kept out of the project."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sutler.errors import StoreError
from sutler.policy.trust import TrustStore
from sutler.state import state_dir

TEXT = "[limits]\ncalls = 5\n"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project" / "sutler.toml"


@pytest.mark.requirement("TRU-01")
def test_only_the_very_text_that_was_trusted_is_trusted(state: Path, config: Path) -> None:
    store = TrustStore(state)
    assert not store.trusted(config, TEXT)
    store.trust(config, TEXT)
    assert store.trusted(config, TEXT)
    assert TrustStore(state).trusted(config, TEXT)
    for other in ("", TEXT + " ", TEXT.replace("5", "6"), TEXT.replace("\n", "\r\n")):
        assert not store.trusted(config, other)


@pytest.mark.requirement("TRU-01")
def test_the_same_text_elsewhere_is_not_trusted(state: Path, config: Path, tmp_path: Path) -> None:
    store = TrustStore(state)
    store.trust(config, TEXT)
    assert not store.trusted(tmp_path / "other" / "sutler.toml", TEXT)
    link = tmp_path / "link"
    link.symlink_to(config.parent)
    assert store.trusted(link / "sutler.toml", TEXT)


@pytest.mark.requirement("TRU-01")
def test_a_link_to_a_trusted_file_is_not_trusted_where_other_tools_lie_beside_it(
    state: Path, config: Path, tmp_path: Path
) -> None:
    config.write_text(TEXT)
    store = TrustStore(state)
    store.trust(config, TEXT)
    (tmp_path / "trap").mkdir()
    trap = tmp_path / "trap" / "sutler.toml"
    trap.symlink_to(config)
    assert not store.trusted(trap, TEXT)


@pytest.mark.requirement("TRU-01")
def test_trust_is_taken_back_and_given_anew(state: Path, config: Path) -> None:
    store = TrustStore(state)
    assert store.untrust(config) is False
    store.trust(config, TEXT)
    assert store.untrust(config) is True
    assert not store.trusted(config, TEXT)
    store.trust(config, "new")
    assert store.trusted(config, "new")
    assert not store.trusted(config, TEXT)


@pytest.mark.requirement("TRU-01")
def test_the_difference_to_what_was_trusted_is_shown(state: Path, config: Path) -> None:
    store = TrustStore(state)
    assert store.difference(config, TEXT).split("\n") == [
        "--- nothing trusted yet",
        f"+++ {config}",
        "@@ -0,0 +1,2 @@",
        "+[limits]",
        "+calls = 5",
    ]
    store.trust(config, TEXT)
    assert store.difference(config, TEXT) == ""
    changed = store.difference(config, TEXT.replace("5", "500")).split("\n")
    assert "-calls = 5" in changed
    assert "+calls = 500" in changed


@pytest.mark.requirement("TRU-01")
def test_the_difference_hides_nothing_from_a_terminal(state: Path, config: Path) -> None:
    shown = TrustStore(state).difference(config, "a = 1 # \x1b[2K\x1b[1A\r\u202e\u200b\x85\u2028\x0b é\tx\n")
    assert shown.split("\n")[3] == "+a = 1 # \\x1b[2K\\x1b[1A\\r\\u202e\\u200b\\x85\\u2028\\x0b é\tx"


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", "{}", '{"path": 1}', "\xff", "[" * 5_000])
def test_a_damaged_record_is_no_trust(state: Path, config: Path, damage: str) -> None:
    store = TrustStore(state)
    store.trust(config, TEXT)
    (record,) = (state / "trust").glob("*.json")
    record.write_text(damage, encoding="latin-1")
    assert not store.trusted(config, TEXT)
    assert store.difference(config, TEXT).startswith("--- nothing trusted yet")
    store.trust(config, TEXT)
    assert store.trusted(config, TEXT)


def test_a_record_whose_text_was_exchanged_is_no_trust(state: Path, config: Path) -> None:
    store = TrustStore(state)
    store.trust(config, TEXT)
    (record,) = (state / "trust").glob("*.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "text": "other"}))
    assert not store.trusted(config, TEXT)
    assert not store.trusted(config, "other")


@pytest.mark.requirement("TRU-01")
def test_trust_lives_in_the_state_directory_and_nobody_else_may_read_it(state: Path, config: Path) -> None:
    TrustStore(state).trust(config, TEXT)
    assert list(config.parent.iterdir()) == []
    folder = state / "trust"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not [file for file in folder.iterdir() if file.suffix not in (".json", "")]


def test_the_state_directory_is_moved_by_its_variable(tmp_path: Path) -> None:
    assert state_dir({"SUTLER_STATE_DIR": str(tmp_path)}) == tmp_path
    assert state_dir({"SUTLER_STATE_DIR": "~/x"}) == Path("~/x").expanduser()
    assert state_dir({"SUTLER_STATE_DIR": ""}).name == "sutler"


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_folder_open_to_others_is_closed_and_a_file_in_its_place_is_an_error(state: Path, config: Path) -> None:
    (state / "trust").mkdir(parents=True)
    (state / "trust").chmod(0o777)
    TrustStore(state).trust(config, TEXT)
    assert stat.S_IMODE((state / "trust").stat().st_mode) == 0o700
    other = state / "file"
    other.write_text("")
    with pytest.raises(StoreError, match="SUTLER_STATE_DIR"):
        TrustStore(other).trust(config, TEXT)
    assert not TrustStore(other).trusted(config, TEXT)


_WRITER = """
import sys
from pathlib import Path
from sutler.policy.trust import TrustStore
store = TrustStore(Path(sys.argv[1]))
for number in range(30):
    store.trust(Path(sys.argv[2]), sys.argv[3] * 10_000)
"""


def test_two_processes_that_trust_at_once_leave_one_whole_record(state: Path, config: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, state, config, letter]) for letter in "ab"]
    store = TrustStore(state)
    seen: set[bool] = set()
    while any(writer.poll() is None for writer in writers):
        a, b = store.trusted(config, "a" * 10_000), store.trusted(config, "b" * 10_000)
        seen.add(a or b)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert store.trusted(config, "a" * 10_000) or store.trusted(config, "b" * 10_000)
    assert len(list((state / "trust").iterdir())) == 2  # the record and the lock; no draft is left
