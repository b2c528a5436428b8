"""Files of the state directory: private, whole, and locked against one another."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from sutler.errors import StoreError
from sutler.state import locked, private_dir, write_private


def test_a_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text("old")
    file.chmod(0o644)
    with file.open() as reader:
        write_private(file, "new \udc80")
        assert reader.read() == "old"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_bytes() == b"new \xed\xb2\x80"
    assert [one.name for one in tmp_path.iterdir()] == ["x.json"]


def test_a_file_that_cannot_be_replaced_is_as_it_was_and_no_draft_is_left(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.mkdir()
    with pytest.raises(StoreError, match=r"x\.json: cannot be written"):
        write_private(file, "new")
    assert [one.name for one in tmp_path.iterdir()] == ["x.json"]
    with pytest.raises(StoreError, match="cannot be written"):
        write_private(tmp_path / "none" / "x", "new")


def test_a_lock_lets_in_one_at_a_time_and_a_long_wait_is_an_error(tmp_path: Path) -> None:
    lock, inside, most = tmp_path / "lock", [0], [0]

    def work() -> None:
        for _ in range(10):
            with locked(lock, seconds=60):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    with (
        locked(lock),
        pytest.raises(StoreError, match="another process has held this lock"),
        locked(lock, seconds=0.03),
    ):
        pass
    with pytest.raises(StoreError, match="cannot be opened"), locked(tmp_path / "none" / "lock"):
        pass


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can make a folder of another user")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    with pytest.raises(StoreError, match="belongs to another user"):
        private_dir(folder)
