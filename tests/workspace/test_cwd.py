from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sutler.workspace.cwd import enter, per_thread_cwd

needs_thread_cwd = pytest.mark.skipif(not per_thread_cwd().available, reason=per_thread_cwd().reason)


def on_a_thread(fn: Any) -> Any:
    """Run `fn` on a thread of its own; its value or its exception."""
    held: list[Any] = []

    def run() -> None:
        try:
            held.append(fn())
        except Exception as error:
            held.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return held[0]


@pytest.mark.requirement("WSP-04")
def test_the_probe_says_how_or_why_not_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    before, threads = os.getcwd(), threading.active_count()
    probe = per_thread_cwd()
    assert probe.how if probe.available else probe.reason
    assert per_thread_cwd() is probe
    assert (os.getcwd(), threading.active_count()) == (before, threads)
    monkeypatch.setenv("SUTLER_NO_THREAD_CWD", "1")
    off = per_thread_cwd()
    assert (off.available, off.reason) == (False, "switched off by SUTLER_NO_THREAD_CWD=1")


@pytest.mark.requirement("WSP-04")
@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
def test_where_the_kernel_refuses_the_probe_says_so() -> None:
    """As in a default container: unshare fails with EPERM."""
    code = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
# A seccomp filter that refuses unshare (272 on x86-64, 97 on arm64) and allows the rest.
number = {"x86_64": 272, "aarch64": 97}[os.uname().machine]
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
program = b"".join(struct.pack("HBBI", *rule) for rule in rules)
held = ctypes.create_string_buffer(program)
filters = ctypes.create_string_buffer(struct.pack("HL", len(rules), ctypes.addressof(held)))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, filters) == 0
from sutler.workspace.cwd import per_thread_cwd
print(per_thread_cwd())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if "KeyError" in ran.stderr:
        pytest.skip("unknown machine")
    assert "available=False" in ran.stdout, ran.stderr
    assert "unshare(CLONE_FS) is refused: [Errno 1] Operation not permitted" in ran.stdout


@needs_thread_cwd
@pytest.mark.requirement("WSP-01", "WSP-02")
def test_a_thread_has_a_directory_of_its_own_and_what_it_starts_has_it_too(tmp_path: Path) -> None:
    before = os.getcwd()

    def tool() -> tuple[Any, ...]:
        enter(tmp_path)
        Path("file.txt").write_text("x")
        shell = subprocess.run(["pwd"], capture_output=True, text=True, check=True).stdout.strip()
        return os.getcwd(), shell, on_a_thread(os.getcwd)

    assert on_a_thread(tool) == (str(tmp_path),) * 3
    assert (tmp_path / "file.txt").exists()
    assert os.getcwd() == before


@needs_thread_cwd
def test_a_thread_goes_back_to_its_root_but_to_no_other(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()

    def tool() -> list[Any]:
        enter(first)
        os.chdir(second)
        enter(first)
        seen: list[Any] = [os.getcwd()]
        with pytest.raises(RuntimeError, match=r"belongs to .*first and cannot move to .*second"):
            enter(second)
        return [*seen, os.getcwd()]

    assert on_a_thread(tool) == [str(first), str(first)]


def test_the_main_thread_is_never_moved(tmp_path: Path) -> None:
    before = os.getcwd()
    with pytest.raises(RuntimeError, match="main thread"):
        enter(tmp_path)
    assert os.getcwd() == before


def test_where_there_is_none_entering_is_an_error_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUTLER_NO_THREAD_CWD", "1")
    before = os.getcwd()
    error = on_a_thread(lambda: enter(tmp_path))
    assert isinstance(error, RuntimeError)
    assert "SUTLER_NO_THREAD_CWD=1" in str(error)
    assert os.getcwd() == before
