"""Standard output holds the answer and nothing else (RUN-13)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .conftest import Project

NOISE = """
import os, subprocess, sys
print("import: print")
os.write(1, b"import: write\\n")
subprocess.run(["echo", "import: child"])

def tool_noise():
    print("call: print")
    os.write(1, b"call: write\\n")
    subprocess.run(["echo", "call: child"])
    sys.__stdout__.write("call: real stdout\\n")
    sys.stdout.flush()
    if os.fork() == 0:
        os.write(1, b"call: forked\\n")
        os._exit(0)
    os.wait()
    return {"number": float("nan"), "rows": [1]}
"""


@pytest.mark.requirement("RUN-13")
@pytest.mark.parametrize("argv", [("call", "tool_noise"), ("run", "-c", "tool_noise()")])
def test_nothing_that_a_tool_its_import_or_its_children_print_reaches_the_json(
    shared: Project, argv: tuple[str, ...]
) -> None:
    shared.library("noise.py", NOISE)
    done = shared.process(*argv, "--json")
    assert done.code == 0, done.err
    assert done.json["output"] == {"number": "NaN", "rows": [1]}
    for place in ("import", "call"):
        assert f"{place}: write" not in done.out
        assert f"{place}: child" not in done.out
        assert f"{place}: write" in done.err
        assert f"{place}: child" in done.err
    assert "forked" not in done.out
    assert "real stdout" not in done.out
    assert "call: forked" in done.err
    assert "call: real stdout" in done.err


@pytest.mark.requirement("RUN-13")
def test_without_json_too_standard_output_holds_the_value_alone(shared: Project) -> None:
    shared.library("loud.py", 'print("loading")\ndef tool_loud():\n    print("working")\n    return "the answer"\n')
    done = shared.process("call", "tool_loud")
    assert done.out == "the answer\n"
    assert "loading" in done.err
    assert "working" in done.err


@pytest.mark.requirement("RUN-13")
def test_what_python_prints_stands_with_its_call_in_the_json(shared: Project) -> None:
    shared.library("loud.py", 'print("loading")\ndef tool_loud():\n    print("working")\n    return "the answer"\n')
    assert shared.process("call", "tool_loud", "--json").json["stdout"] == "loading\nworking\n"


def test_text_is_passed_on_byte_for_byte(shared: Project) -> None:
    shared.library("raw.py", 'def tool_raw():\n    return "caf\\u00e9 \\x1b[31m\\r\\n\\u202e"\n')
    done = subprocess.run(
        [sys.executable, "-m", "sutler.cli", "call", "tool_raw"],
        cwd=shared.root,
        env={**shared.env, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=False,
    )
    assert done.stdout == "caf\u00e9 \x1b[31m\r\n\u202e\n".encode()


def test_json_is_utf8_whatever_the_terminal_speaks_and_holds_a_lone_surrogate_as_its_escape(shared: Project) -> None:
    shared.library("odd.py", 'def tool_odd():\n    return "\\U0001f600\\ud800"\n')
    done = shared.process("call", "tool_odd", "--json", PYTHONIOENCODING="ascii")
    assert done.json["output"] == "\U0001f600\ud800"


def test_a_closed_standard_output_is_no_fault(shared: Project) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" -m sutler.cli call tool_echo text=hello >&-', sys.executable],
        cwd=shared.root,
        env=shared.env,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reader_that_leaves_ends_the_command_quietly(shared: Project) -> None:
    script = '"$0" -m sutler.cli call tool_lines number=300000 | head -n 1; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable], cwd=shared.root, env=shared.env, capture_output=True, check=False
    )
    assert done.stdout.decode().split("\n") == ["line 0", "141", ""]
    assert done.stderr == b""
