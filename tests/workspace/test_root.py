from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from sutler.workspace.cwd import enter, per_thread_cwd
from sutler.workspace.root import Workspace, resolve_safe_path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """/w/data with a sibling that has it as a prefix, and links out."""
    root = tmp_path / "data"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "in.txt").write_text("in")
    (tmp_path / "data2").mkdir()
    (tmp_path / "data2" / "x").write_text("out")
    (root / "link").symlink_to("/etc/hostname")
    (root / "linkdir").symlink_to(tmp_path / "data2")
    (root / "dangling").symlink_to(tmp_path / "nowhere")
    (root / "inside-link").symlink_to(root / "sub")
    (root / "loop").symlink_to(root / "loop")
    return root


REFUSED = (
    "../data2/x", "..", "sub/../../data2/x", "link", "linkdir/x", "linkdir/new.txt", "dangling", "x\0y", "~/.bashrc",
    "~", "~root/x", "a/" * 2_500, "n" * 300, "/etc/passwd", "/", "\udcff\ud800", "sub/../..", "//etc/passwd",
    "/proc/self/cwd/x",
)  # fmt: skip


@pytest.mark.requirement("WSP-03")
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("write", [False, True])
def test_a_path_that_leads_outside_is_refused_with_one_safe_message(data: Path, name: str, write: bool) -> None:
    with pytest.raises(PermissionError, match=r"^access outside the workspace is refused: ") as caught:
        Workspace(data).resolve(name, write=write)
    assert str(data.parent) not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.requirement("WSP-03")
def test_absolute_paths_of_siblings_and_of_other_case_are_refused(data: Path) -> None:
    workspace = Workspace(data)
    for name in (f"{data}2/x", f"{data}/../data2/x", str(data.parent / "DATA" / "x"), str(data.parent)):
        with pytest.raises(PermissionError):
            workspace.resolve(name)
        assert not workspace.contains(name)


@pytest.mark.requirement("WSP-03")
@pytest.mark.parametrize(
    ("name", "lands"),
    [
        ("sub/in.txt", "sub/in.txt"),
        ("new/deep/file.txt", "new/deep/file.txt"),
        ("sub/../sub/in.txt", "sub/in.txt"),
        ("inside-link/in.txt", "sub/in.txt"),
        (".", "."),
        ("", "."),
        ("~$report.docx", "~$report.docx"),
        ("a~b", "a~b"),
        ("..hidden", "..hidden"),
        ("ünï/код.txt", "ünï/код.txt"),
    ],
)
def test_a_path_inside_is_given_back_as_a_real_path(data: Path, name: str, lands: str) -> None:
    workspace = Workspace(data)
    assert workspace.resolve(name, write=True) == Path(os.path.normpath(data / lands))
    assert workspace.resolve(str(data / name)) == Path(os.path.normpath(data / lands))
    assert workspace.contains(name)


@pytest.mark.requirement("WSP-03")
def test_a_root_given_by_a_link_takes_paths_by_either_name(tmp_path: Path, data: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(data)
    workspace = Workspace(alias)
    assert workspace.root == data
    assert workspace.resolve(alias / "sub" / "in.txt") == data / "sub" / "in.txt"


@pytest.mark.requirement("WSP-03")
def test_a_read_root_may_be_read_and_not_written(tmp_path: Path, data: Path) -> None:
    workspace = Workspace(data, read_roots=[tmp_path / "data2"])
    assert workspace.resolve(tmp_path / "data2" / "x").read_text() == "out"
    assert workspace.resolve("linkdir/x").read_text() == "out"
    assert not workspace.contains(tmp_path / "data2" / "x")
    for name in (str(tmp_path / "data2" / "x"), "linkdir/x"):
        with pytest.raises(PermissionError):
            workspace.resolve(name, write=True)


def test_the_root_of_the_file_system_holds_everything() -> None:
    assert Workspace("/").resolve("/etc/../etc/passwd") == Path(os.path.realpath("/etc/passwd"))


@pytest.mark.requirement("WSP-03")
def test_resolve_safe_path_goes_by_the_current_directory_of_its_thread(data: Path) -> None:
    if not per_thread_cwd().available:
        pytest.skip(per_thread_cwd().reason)
    seen: list[object] = []

    def tool() -> None:
        enter(data)
        seen.append(resolve_safe_path("sub/in.txt"))
        for name in REFUSED:
            try:
                seen.append(resolve_safe_path(name))
            except PermissionError:
                continue

    thread = threading.Thread(target=tool)
    thread.start()
    thread.join()
    assert seen == [data / "sub" / "in.txt"]
    with pytest.raises(PermissionError):
        resolve_safe_path(data / "sub" / "in.txt")


def test_a_root_that_is_no_folder_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileNotFoundError):
        Workspace(tmp_path / "nothing")
    with pytest.raises(NotADirectoryError):
        Workspace(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        Workspace(tmp_path, read_roots=[tmp_path / "file"])


@pytest.mark.requirement("WSP-01")
def test_a_fresh_workspace_is_private_and_gone_when_closed() -> None:
    workspace = Workspace.fresh()
    assert workspace.root.stat().st_mode & 0o777 == 0o700
    locked = workspace.root / "locked" / "deeper"
    locked.mkdir(parents=True)
    (locked / "file").write_text("x")
    (workspace.root / "out").symlink_to("/etc")
    locked.chmod(0)
    locked.parent.chmod(0)
    assert workspace.close() == ()
    assert not workspace.root.exists()
    assert Path("/etc/passwd").exists()
    assert workspace.close() == ()


def test_a_kept_workspace_stays_and_a_given_one_is_never_removed(tmp_path: Path) -> None:
    kept = Workspace.fresh(keep=True)
    kept.close()
    assert kept.root.is_dir()
    kept.keep = False
    kept.close()
    assert not kept.root.exists()
    given = Workspace(tmp_path)
    given.keep = False
    given.close()
    assert tmp_path.is_dir()
