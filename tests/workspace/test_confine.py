from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ToolUnavailable
from sutler.workspace.confine import Roots, WorkerLimits, confinement
from sutler.workspace.worker import Worker

from .test_worker import ENTRY, Bench

needs_landlock = pytest.mark.skipif(not confinement().landlock, reason=confinement().reason)
Confined = Callable[..., Bench]


@pytest.fixture
def confined(tmp_path: Path) -> Iterator[Confined]:
    for name in ("work", "read", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    workers: list[Worker] = []

    def make(read: tuple[Path, ...] | None, **more: Any) -> Bench:
        import tests

        where = Path(tests.__file__).parent.parent  # the entry itself must be readable
        roots = Roots(write=(tmp_path / "work",), read=None if read is None else (*read, where / "tests"))
        workers.append(Worker(ENTRY, {}, confine=roots, name="library", **more))
        return Bench(workers[-1], tmp_path / "work")

    yield make
    for worker in workers:
        worker.close()


def failed(reply: Any) -> str:
    return reply["error"]["type"] if reply["error"] else ""


def test_confinement_tells_doctor_what_there_is() -> None:
    found = confinement()
    assert found.workers is hasattr(os, "fork")
    assert bool(found.landlock) is not bool(found.reason)
    assert "RLIMIT_NOFILE" in found.limits


@needs_landlock
@pytest.mark.requirement("RUN-12")
def test_a_confined_worker_and_its_children_write_only_in_their_roots(confined: Confined, tmp_path: Path) -> None:
    run = confined(None)
    assert run("write", path="new")["ok"]
    assert run("shell", command="mkdir -p d/e && mv new d/e/moved && rm file && ln -s x y && echo hi > /dev/null")[
        "value"
    ] == [0, "", ""]
    outside = tmp_path / "other"
    assert failed(run("write", path=str(outside / "new"))) == "PermissionError"
    assert failed(run("write", path=str(outside / "file"))) == "PermissionError"
    assert run("shell", command=f"rm {outside}/file")["value"][0] != 0
    assert run("shell", command=f"mv d/e/moved {outside}/")["value"][0] != 0
    assert run("shell", command=f": > {outside}/file")["value"][0] != 0
    assert (outside / "file").read_text() == "other"
    assert run("read", path=str(outside / "file"))["value"] == "other"


@needs_landlock
def test_a_worker_confined_in_reading_reads_its_roots_and_what_python_needs(confined: Confined, tmp_path: Path) -> None:
    run = confined((tmp_path / "read",))
    assert run("read", path="file")["value"] == "work"
    assert run("read", path=str(tmp_path / "read" / "file"))["value"] == "read"
    assert failed(run("write", path=str(tmp_path / "read" / "file"))) == "PermissionError"
    assert failed(run("read", path=str(tmp_path / "other" / "file"))) == "PermissionError"
    (tmp_path / "work" / "link").symlink_to(tmp_path / "other" / "file")
    assert failed(run("read", path="link")) == "PermissionError"
    assert run("shell", command=f"{sys.executable} -c 'import json, ssl; print(1)'")["value"] == [0, "1\n", ""]
    with pytest.raises(ToolUnavailable, match=r"confined to folders that do not hold .*other"):
        run.worker.call("count", {}, cwd=tmp_path / "other", timeout=60)


@pytest.mark.skipif(confinement().landlock < 6, reason="from Landlock ABI 6")
def test_a_confined_worker_cannot_signal_its_host(confined: Confined) -> None:
    assert failed(confined(None)("kill_host", pid=os.getpid())) == "PermissionError"


@needs_landlock
def test_a_confined_worker_is_ended_like_any_other(confined: Confined) -> None:
    run = confined(None)
    pid = run("grandchild", seconds=60, own_session=True, ignore=True)["value"]
    run.worker.close()
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()


@needs_landlock
def test_a_root_that_does_not_exist_is_an_error_and_never_a_free_worker(tmp_path: Path) -> None:
    with (
        Worker(ENTRY, {}, confine=Roots(write=(tmp_path / "missing",))) as worker,
        pytest.raises(ToolUnavailable, match=r"FileNotFoundError.*missing"),
    ):
        Bench(worker, tmp_path)("count")


def test_where_the_kernel_has_no_landlock_a_confined_worker_does_not_start(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from sutler.errors import ToolUnavailable
from sutler.workspace.confine import Roots
from sutler.workspace.worker import Worker
here = Path(sys.argv[1])
with Worker(sys.argv[2], {}, confine=Roots(write=(here,))) as worker:
    try:
        worker.call("count", {}, cwd=here, timeout=60)
    except ToolUnavailable as error:
        print(error)
"""
    deny = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050026), (0x06, 0, 0, 0x7FFF0000)]
held = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
filters = ctypes.create_string_buffer(struct.pack("HL", len(rules), ctypes.addressof(held)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filters) == 0
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
"""
    ran = subprocess.run(
        [sys.executable, "-c", deny, code, str(tmp_path), ENTRY], capture_output=True, text=True, timeout=60
    )
    assert "this system cannot confine a worker to folders: the kernel refuses Landlock" in ran.stdout, ran.stderr


@pytest.mark.skipif(os.getuid() == 0, reason="the system does not count root's processes")
def test_a_limit_on_processes_counts_from_what_the_user_has_now(tmp_path: Path) -> None:
    with Worker(ENTRY, {}, limits=WorkerLimits(processes=3)) as worker:
        run = Bench(worker, tmp_path)
        assert run("shell", command="echo 1")["value"][1] == "1\n"
        assert run("shell", command="for i in 1 2 3 4 5 6; do sleep 2 & done; wait")["value"][0] != 0
