"""The Python tools: the sandbox that reaches nothing, and the process that is shut in and asks."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler import SyncRuntime
from sutler.workspace.commands import cannot_shut_in

from .conftest import CANARY, Place, make_place
from .python_codes import HARMLESS

SANDBOX, PROCESS = "tool_execute_python_code", "tool_run_python_process"
CASES = Path(__file__).parent.parent / "cases"
SHORT = {"execute_python": {"compute_seconds": 0.5}}
shut_in = pytest.mark.skipif(bool(cannot_shut_in()), reason=f"this machine cannot shut code in: {cannot_shut_in()}")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def answering(answer: object) -> tuple[list[str], Callable[..., object]]:
    asked: list[str] = []

    def handler(source: str, script_label: str, argv: Any = None) -> object:
        asked.append(f"{script_label}\n{source}")
        return answer

    return asked, handler


def runtime(place: Place, handler: Any = None, **more: Any) -> SyncRuntime:
    options = {"config": False, "default_tools": False, "shipped": ["execute_python"], **more}
    return SyncRuntime(workspace=place.root, confirm_handler=handler, **options)


# ---------------------------------------------------------------------- the sandbox


@pytest.mark.requirement("LCP-20")
def test_code_in_the_sandbox_gives_its_output_and_its_last_value(place: Place) -> None:
    with runtime(place) as rt:
        result = rt.call(SANDBOX, {"code": "print('hi')\n{'a': [1, 2]}"})
        assert result.output == {"value": {"a": [1, 2]}, "stdout": "hi\n"}
        assert rt.call(SANDBOX, {"code": ""}).output == {"value": None, "stdout": ""}


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = 1\n1 / 0", "line 2: ZeroDivisionError: division by zero"),
        ("def f():\n    raise ValueError('no')\nf()", "line 2: ValueError: no"),
        ("x = (", "line 1: "),
        ("open('a.txt')", "line 1: open is not available"),
        ("import requests", "line 1: module requests is not available"),
        ("nothing", "line 1: "),
    ],
)
def test_an_error_in_the_sandbox_is_told_plainly_with_its_line(place: Place, code: str, says: str) -> None:
    with runtime(place) as rt:
        result = rt.call(SANDBOX, {"code": code})
    assert not result.success and says in str(result.error)
    assert result.error is not None and result.error.kind == "tool_error" and result.traceback is None


def test_files_are_reached_by_the_runtimes_own_tools_and_each_is_on_record(place: Place) -> None:
    code = "text = read_file('a.txt')\nwrite_file('out.txt', text.upper())\n(list_files('sub'), find_files('**/*.md'))"
    for options in ({"default_tools": True}, {"shipped": ["execute_python", "workspace_tools"]}):
        with runtime(place, **options) as rt:
            run = rt.run(f"{SANDBOX}(code={code!r})")
            assert run.error is None, run.error
            names, found = run.output["value"]
            assert [entry["name"] for entry in names] == ["c.txt", "deep"] and found == ["sub/deep/d.md"]
            assert {step.tool.removeprefix("tool_") for step in run.trace} >= {"read_file", "write_file"}
        assert (place.root / "out.txt").read_text().startswith("HELLO")
        (place.root / "out.txt").unlink()


def test_without_tools_for_files_the_sandbox_says_so(place: Place) -> None:
    with runtime(place) as rt:
        assert "the host has no tool for files" in str(rt.call(SANDBOX, {"code": "read_file('a.txt')"}).error)


@pytest.mark.parametrize("path", ["../outside/secret.txt", "link_out", "/etc/passwd"])
def test_the_files_of_the_sandbox_are_those_of_the_workspace(place: Place, path: str) -> None:
    with runtime(place, default_tools=True) as rt:
        result = rt.call(SANDBOX, {"code": f"read_file({path!r})"})
        caught = rt.call(SANDBOX, {"code": f"try:\n    read_file({path!r})\nexcept Exception:\n    r = 'no'\nr"})
    assert not result.success and CANARY not in str(result)
    assert caught.output["value"] == "no"


def test_the_sandbox_is_limited_in_time_memory_output_and_calls(place: Place) -> None:
    with runtime(place, default_tools=True, host_tool_configs=SHORT) as rt:
        assert "computed for longer than 0.5 s" in str(rt.call(SANDBOX, {"code": "while True: pass"}).error)
        assert "256 MB" in str(rt.call(SANDBOX, {"code": "'a' * 10**10"}).error)
        assert "printed more than" in str(
            rt.call(SANDBOX, {"code": "for _ in range(99):\n    print('x' * 10**4)"}).error
        )
        assert "more than 1,000 times" in str(rt.call(SANDBOX, {"code": "while True:\n    read_file('a.txt')"}).error)


def attacks() -> list[Any]:
    listed: list[Any] = []
    for name in ("attacks.json", "hostile.json"):
        for case in json.loads((CASES / name).read_text())["programs"]:
            listed.append(pytest.param(case["program"], id=f"{name.partition('.')[0]} {case['id']}"))
    return listed


@pytest.mark.parametrize("program", attacks())
def test_a_hostile_code_ends_in_an_error_or_does_nothing_in_the_sandbox(place: Place, program: str) -> None:
    marker = place.root.parent / "marker"
    code = program.replace("{marker_file}", str(marker)).replace("{canary_file}", str(place.outside / "secret.txt"))
    before = place.outside_as_it_is()
    with runtime(place, default_tools=True, host_tool_configs=SHORT) as rt:
        result = rt.call(SANDBOX, {"code": code})
        assert rt.call(SANDBOX, {"code": "1 + 1"}).output["value"] == 2
    assert CANARY not in f"{result.output}{result.error}"
    assert not marker.exists() and place.outside_as_it_is() == before


@pytest.mark.requirement("LCP-20")
def test_the_sandbox_asks_at_level_strict_only(place: Place) -> None:
    asked, handler = answering(("reject", "no"))
    with runtime(place, handler) as rt:
        assert rt.call(SANDBOX, {"code": "1 + 1"}).success
    assert not asked
    with runtime(place, handler, host_tool_configs={"execute_python": {"autonomy_level": "strict"}}) as rt:
        assert not rt.call(SANDBOX, {"code": "1 + 1"}).success
    assert len(asked) == 1 and "1 + 1" in asked[0]


# ---------------------------------------------------------------------- the process


@shut_in
@pytest.mark.requirement("LCP-20")
def test_harmless_code_runs_unasked_in_a_process_of_its_own(place: Place) -> None:
    asked, handler = answering(("reject", ""))
    with runtime(place, handler) as rt:
        result = rt.call(PROCESS, {"code": "import os\nprint(os.getcwd())\n6 * 7"})
        assert result.output == {"exit_code": 0, "stdout": f"{place.root}\n", "stderr": "", "value": "42"}
        assert result.extra["shut_in"] == "files and network"
    assert not asked


@shut_in
@pytest.mark.parametrize("codes", [list(HARMLESS)[start::4] for start in range(4)])
def test_what_is_understood_does_what_python_does(place: Place, codes: list[str]) -> None:
    with runtime(place) as rt:
        for code in codes:
            result = rt.call(PROCESS, {"code": code})
            assert result.success and result.output["value"] == HARMLESS[code], (code, result)


@pytest.mark.requirement("LCP-20")
@pytest.mark.parametrize("answer", [("reject", "not this"), ("deny", ""), None, 42, True])
def test_other_code_runs_only_after_a_plain_yes(place: Place, answer: object) -> None:
    asked, handler = answering(answer)
    code = f"import os\nos.close(os.open({str(place.root / 'made')!r}, os.O_CREAT))"
    with runtime(place, handler) as rt:
        result = rt.call(PROCESS, {"code": code})
    assert not result.success and not (place.root / "made").exists()
    assert "os.close" in asked[0] and code in asked[0] and "execute_python" in asked[0]


OUTWARDS = {
    "reads a file outside": "print(open({outside!r} + '/secret.txt').read())",
    "reads through a link": "print(open('link_out').read())",
    "writes outside": "open({outside!r} + '/made', 'w').write('x')",
    "moves outside": "import shutil\nshutil.move('a.txt', {outside!r})",
    "deletes outside": "import os\nos.remove({outside!r} + '/secret.txt')",
    "makes a link and follows it": "import os\nos.symlink({outside!r}, 'l')\nprint(os.listdir('l'))",
    "reads what the system keeps": "print(open('/etc/shadow').read())",
    "reads another's environment": "import os\nprint(open(f'/proc/{{os.getppid()}}/environ').read())",
    "a subprocess reads": "import subprocess\nprint(subprocess.run(['cat', {outside!r} + '/secret.txt'], check=True))",
    "os.system writes": "import os\nassert os.system('touch ' + {outside!r} + '/made') == 0",
    "posix_spawn writes": "import os\npid = os.posix_spawn('/bin/touch', ['touch', {outside!r} + '/made'], {{}})\n"
    "assert os.waitpid(pid, 0)[1] == 0",
    "_posixsubprocess": "import subprocess\nsubprocess.run('touch ' + {outside!r} + '/made', shell=True, check=True)",
    "ctypes writes": "import ctypes\nassert ctypes.CDLL(None).open(({outside!r} + '/made').encode(), 65, 420) >= 0",
    "a socket": "import socket\nsocket.socket()",
    "a local socket": "import socket\nsocket.socket(socket.AF_UNIX)",
    "a socket by the system call": "import ctypes\nassert ctypes.CDLL(None).syscall(41, 2, 1, 0) >= 0",
    "urllib": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:1')",
    "a signal to its host": "import os, signal\nos.kill({host}, signal.SIGUSR1)",
    "undoes the walls": "import ctypes\nlibc = ctypes.CDLL(None)\nassert libc.prctl(22, 0, 0, 0, 0) == 0\n"
    "print(open({outside!r} + '/secret.txt').read())",
}


@shut_in
@pytest.mark.requirement("LCP-20")
@pytest.mark.parametrize("what", OUTWARDS)
def test_even_allowed_code_does_not_leave_the_workspace(place: Place, what: str) -> None:
    code = OUTWARDS[what].format(outside=str(place.outside), host=os.getpid())
    before = place.outside_as_it_is()
    with runtime(place, policy="full_access") as rt:
        result = rt.call(PROCESS, {"code": code})
    assert not result.success, result
    assert CANARY not in f"{result.output}{result.error}"
    assert place.outside_as_it_is() == before


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = 1\n1 / 0", "line 2: ZeroDivisionError: division by zero"),
        ("def f():\n    return [][1]\nf()", "line 2: IndexError: list index out of range"),
        ("import sys\nsys.exit(3)", "it ended with exit status 3"),
        ("x = (", "line 1: SyntaxError: '(' was never closed"),
        ("x = '\0'", ""),
    ],
)
def test_an_error_in_the_process_is_told_plainly_with_its_line(place: Place, code: str, says: str) -> None:
    with runtime(place, policy="full_access") as rt:
        result = rt.call(PROCESS, {"code": code})
    assert not result.success and says in str(result.error)
    assert result.traceback is None


def test_the_process_is_limited_in_time_memory_and_files(place: Place) -> None:
    with runtime(place, policy="full_access") as rt:
        began = time.monotonic()
        assert "stopped after 1 s" in str(rt.call(PROCESS, {"code": "while True: pass", "seconds": 1}).error)
        assert time.monotonic() - began < 60
        assert "MemoryError" in str(rt.call(PROCESS, {"code": "x = bytearray(3 * 10**9)"}).error)
        assert "Too many open files" in str(rt.call(PROCESS, {"code": "l = [open('a.txt') for _ in range(400)]"}).error)
        assert "seconds must be" in str(rt.call(PROCESS, {"code": "1", "seconds": 10_000}).error)


def test_a_module_of_the_workspace_does_not_stand_in_for_one_of_pythons_own(place: Place) -> None:
    (place.root / "json.py").write_text("raise SystemExit('taken over')\n")
    (place.root / "sitecustomize.py").write_text("raise SystemExit('taken over')\n")
    (place.root / "mine.py").write_text("X = 5\n")
    with runtime(place, policy="full_access") as rt:
        assert rt.call(PROCESS, {"code": "import json\njson.dumps([1])"}).output["value"] == "'[1]'"
        assert rt.call(PROCESS, {"code": "import mine\nmine.X"}).output["value"] == "5"


@shut_in
def test_the_walls_can_be_taken_down_for_what_is_allowed_and_only_for_that(place: Place) -> None:
    config = {"execute_python": {"shut_in": False, "autonomy_level": "safe"}}
    asked, handler = answering(("allow", ""))
    outside = str(place.outside / "secret.txt")
    with runtime(place, handler, host_tool_configs=config) as rt:
        assert rt.call(PROCESS, {"code": f"open({outside!r}).read()"}).extra["shut_in"] == "not"
        assert rt.call(PROCESS, {"code": "1 + 1"}).extra["shut_in"] == "files and network"
    assert len(asked) == 1
    with runtime(place, policy="full_access", host_tool_configs={"execute_python": {"network": True}}) as rt:
        result = rt.call(PROCESS, {"code": "import socket\nsocket.socket().close()"})
        assert result.success and result.extra["shut_in"] == "files"


def test_where_the_machine_cannot_shut_code_in_all_of_it_asks_and_says_so(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sutler.workspace import commands

    monkeypatch.setattr(commands, "cannot_shut_in", lambda: "the kernel is too old")
    asked, handler = answering(("reject", ""))
    with runtime(place, handler) as rt:
        assert not rt.call(PROCESS, {"code": "1 + 1"}).success
    assert "this machine cannot shut it in: the kernel is too old" in asked[0]


@pytest.mark.requirement("LCP-13")
def test_a_secret_reaches_allowed_code_by_its_handle_and_no_output(place: Place) -> None:
    asked, handler = answering(("allow", ""))
    options = {
        "shipped": ["execute_python", "user_interactive_tools"],
        "user_interaction_handler": lambda request: "s3cr3t-9",
    }
    with runtime(place, handler, **options) as rt:
        handle = rt.call("tool_ask_secret", {"name": "token", "prompt": "?"}).output["handle"]
        code = "import os\nos.environ['SECRET_TOKEN']"
        result = rt.call(PROCESS, {"code": code, "handles": [handle]})
    assert result.success and result.output["value"] == "'***'"
    assert "s3cr3t" not in f"{asked}{result}"
