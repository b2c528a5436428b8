"""Programs in a child of their own: what they get, where they are kept, and that nothing is left of them."""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from sutler.errors import ToolCrashed
from sutler.workspace.commands import Job, Outcome, Stage, Step, cannot_shut_in, run_job
from sutler.workspace.confine import Roots, confinement
from sutler.workspace.flight import Flight, ending_with_call, flights_here
from sutler.workspace.network import cannot_cut_off, cut_off

ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
landlock = pytest.mark.skipif(not confinement().landlock, reason="this machine has no Landlock")
seccomp = pytest.mark.skipif(bool(cannot_cut_off()), reason="this machine has no seccomp")


def run(
    root: Path, *stages: Stage | tuple[str, ...], confine: Roots | None = None, seconds: float = 20, **more: object
) -> Outcome:
    made = tuple(one if isinstance(one, Stage) else Stage(argv=one) for one in stages)
    step = Step(stages=made, cwd=str(root))
    options = {"network": True, **more}
    return run_job(Job(steps=(step,), env=ENV, seconds=seconds, confine=confine, **options), cwd=root)  # pyright: ignore


def test_a_pipeline_gives_the_output_and_the_exit_code_of_its_last_program(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("b\na\n")
    assert run(tmp_path, ("cat", "f"), ("sort",)) == Outcome(exit_code=0, stdout="a\nb\n", stderr="")
    assert run(tmp_path, ("false",), ("true",)).exit_code == 0
    assert run(tmp_path, ("true",), ("false",)).exit_code == 1
    assert run(tmp_path, ("yes",), ("head", "-1")).stdout == "y\n"


def test_a_program_that_is_not_there_is_127_and_one_that_cannot_run_126(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    assert run(tmp_path, ("no-such-program",)).exit_code == 127
    refused = run(tmp_path, (str(tmp_path / "f"),))
    assert refused.exit_code == 126 and "Permission denied" in refused.stderr


def test_streams_go_where_they_are_sent(tmp_path: Path) -> None:
    script = ("sh", "-c", "echo out; echo err >&2")
    assert run(tmp_path, Stage(argv=script, errors="out")).stdout == "out\nerr\n"
    assert run(tmp_path, Stage(argv=script, errors="null")) == Outcome(exit_code=0, stdout="out\n", stderr="")
    run(tmp_path, Stage(argv=script, stdout="o"))
    run(tmp_path, Stage(argv=script, stdout="o", append=True))
    assert (tmp_path / "o").read_text() == "out\nout\n"
    assert run(tmp_path, Stage(argv=("cat",), stdin="o")).stdout == "out\nout\n"
    assert run(tmp_path, Stage(argv=("cat",))).stdout == ""


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to("target")
    assert run(tmp_path, Stage(argv=("echo", "x"), stdout="link")).exit_code == 126
    assert (tmp_path / "target").read_text() == "kept"


def test_a_large_text_is_fed_and_a_report_comes_back(tmp_path: Path) -> None:
    fed = "x" * 1_000_000
    script = 'wc -c < /dev/fd/"$0" >&"$1"'
    outcome = run(tmp_path, Stage(argv=("bash", "-c", script, "{feed}", "{report}"), feed=fed), report=True)
    assert outcome.report.strip() == "1000000"


def test_time_ends_a_job_and_what_it_printed_is_kept(tmp_path: Path) -> None:
    outcome = run(tmp_path, ("sh", "-c", "echo early; sleep 300"), seconds=0.5)
    assert outcome.timed_out and outcome.stdout == "early\n" and outcome.exit_code == 137


@landlock
def test_a_confined_program_reads_and_writes_its_folders_only(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "f").write_text("x")
    roots = Roots(write=(inside,), read=(), system="programs")
    assert run(inside, ("sh", "-c", "echo y > f && cat f"), confine=roots).stdout == "y\n"
    for script in (f"cat {outside}/f", f"echo z > {outside}/f", f"ls {outside}", "cat /etc/shadow", f"rm {outside}/f"):
        refused = run(inside, ("sh", "-c", script), confine=roots)
        assert refused.exit_code and "Permission denied" in refused.stderr, script
    reading = Roots(write=(), read=(inside,), system="programs")
    assert run(inside, ("sh", "-c", "echo y > g"), confine=reading).exit_code
    assert run(inside, ("cat", "f"), confine=reading).stdout == "y\n"


@seccomp
def test_a_program_without_the_network_opens_no_socket_however_it_tries(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
        assert run(tmp_path, ("bash", "-c", script), network=True).exit_code == 0
        refused = run(tmp_path, ("bash", "-c", script), network=False)
    assert refused.exit_code and "Permission denied" in refused.stderr


@seccomp
def test_being_cut_off_leaves_pairs_of_sockets_and_files(tmp_path: Path) -> None:
    pid = os.fork()
    if not pid:
        status = 1
        try:
            cut_off()
            one, other = socket.socketpair()
            one.send(b"x")
            (tmp_path / "got").write_bytes(other.recv(1))
            for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
                try:
                    socket.socket(family).close()
                except PermissionError:
                    continue
                os._exit(2)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert (tmp_path / "got").read_bytes() == b"x"


@seccomp
@pytest.mark.parametrize("network", [False, True])
def test_what_administers_the_machine_is_refused_to_root_as_well(tmp_path: Path, network: bool) -> None:
    """unshare, mount, chroot, ptrace, keyctl: by number, on the machine that runs this."""
    code = """
import ctypes, errno, platform
numbers = {"x86_64": (272, 165, 161, 101, 250)}.get(platform.machine(), (97, 40, 51, 117, 219))
libc = ctypes.CDLL(None, use_errno=True)
for number in numbers:
    assert libc.syscall(number, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() == errno.EACCES, number
import subprocess, threading
thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout, end="")
"""
    roots = Roots(write=(tmp_path,), read=tuple(map(Path, {sys.prefix, sys.base_prefix})), system="programs")
    confine = roots if confinement().landlock else None
    outcome = run(
        tmp_path, (sys.executable, "-I", "-c", code), confine=confine, network=network and confine is not None
    )
    assert outcome == Outcome(exit_code=0, stdout="thread\nchild\n", stderr="")


def test_whether_a_machine_can_shut_in_is_said_in_words() -> None:
    assert bool(cannot_shut_in()) == bool(not confinement().landlock or cannot_cut_off())


def test_a_job_that_is_given_up_ends_at_once(tmp_path: Path) -> None:
    flight = Flight()
    raised: list[BaseException] = []

    def work() -> None:
        flights_here.set((flight,))
        try:
            run(tmp_path, ("sh", "-c", "echo > begun; sleep 300"), seconds=200)
        except ToolCrashed as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not (tmp_path / "begun").exists():
        thread.join(0.01)
    flight.give_up()
    thread.join(60)
    assert not thread.is_alive() and "given up" in str(raised[0])


def test_what_is_registered_after_a_call_was_given_up_ends_too() -> None:
    flight, ended = Flight(), list[str]()
    flight.give_up()
    token = flights_here.set((flight,))
    with ending_with_call(lambda: ended.append("late")):
        assert ended == ["late"]
    flights_here.reset(token)
    other = Flight()
    token = flights_here.set((other,))
    with ending_with_call(lambda: ended.append("never")):
        pass
    flights_here.reset(token)
    other.give_up()
    assert ended == ["late"]
