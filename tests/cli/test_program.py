"""`sutler check`, `plan` and `run`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from .conftest import CONFIG, Project, Sutler


@pytest.fixture
def program(project: Project) -> str:
    (project.root / "program.py").write_text(
        'print("working")\nrows = [tool_echo(name) for name in names]\ntool_echo("x", times=2)\nrows\n',
        encoding="utf-8",
    )
    return "program.py"


def test_run_prints_what_the_program_printed_and_then_its_output(sutler: Sutler, program: str) -> None:
    done = sutler("run", program, "--param", 'names=["a", "b"]')
    assert done.code == 0
    assert done.out == 'working\n[\n  "a",\n  "b"\n]\n'
    assert done.err == ""


def test_run_in_json_has_the_trace_and_everything_else(sutler: Sutler, program: str) -> None:
    document = sutler("run", program, "--param", 'names=["a", "b"]', "--json").json
    assert (document["status"], document["output"], document["stdout"]) == ("completed", ["a", "b"], "working\n")
    assert document["variables"] == {"rows": ["a", "b"]}
    assert [(one["line"], one["tool"], one["args"]["text"]) for one in document["trace"]] == [
        (2, "tool_echo", "a"),
        (2, "tool_echo", "b"),
        (3, "tool_echo", "x"),
    ]
    assert document["trace"][0]["decision"]["outcome"] == "allow"


def test_trace_shows_each_call_on_standard_error(sutler: Sutler, program: str) -> None:
    done = sutler("run", program, "--trace", "-p", "names:=[]")
    assert done.out == "working\n[]\n"
    assert done.err.startswith('1\t3\tkit::tool_echo\ttext="x", times=2')


def test_parameters_are_json_where_they_parse_and_text_where_not(sutler: Sutler) -> None:
    done = sutler("run", "-c", "[a, b, c, d]", "-p", "a=00123", "-p", "b=5", "-p", "c:=null", "-p", "d=x=y", "--json")
    assert done.json["output"] == ["00123", 5, None, "x=y"]


def test_a_parameter_no_program_could_name_is_refused(sutler: Sutler) -> None:
    done = sutler("run", "-c", "1", "--param", "for=1")
    assert done.code == 2
    assert "'for'" in done.err


def test_a_failure_names_type_message_and_line_and_shows_the_line(project: Project, sutler: Sutler) -> None:
    (project.root / "sums.py").write_text("tool_echo('a')\ntotal = 0\ntotal / 0\n", encoding="utf-8")
    done = sutler("run", "sums.py")
    assert done.code == 1
    assert "error: sums.py:3: ZeroDivisionError: division by zero\n    total / 0\n" in done.err
    assert "1 call went before" in done.err
    run_id = done.err.rsplit("runs show ", 1)[1].split("`")[0]
    assert "tool_echo" in sutler("runs", "show", run_id).out


def test_a_rejected_program_is_shown_error_by_error(sutler: Sutler) -> None:
    done = sutler("run", "-c", "x = tool_eko('a')\nimport os\n")
    assert done.code == 1
    assert "error: -c:1: " in done.err
    assert "error: -c:2: " in done.err
    assert "write instead: " in done.err
    document = sutler("run", "-c", "x = tool_eko('a')", "--json").json
    assert document["error"]["kind"] == "rejected"
    assert document["problems"][0]["line"] == 1


def test_a_program_comes_from_stdin_too(project: Project) -> None:
    assert project.process("run", "-", stdin="tool_echo('piped')").out == "piped\n"
    assert project.process("check", "-", stdin="nope()").code == 1


def test_exactly_one_program_is_named(sutler: Sutler, program: str) -> None:
    for argv in (("run",), ("run", program, "-c", "1"), ("check",), ("plan",)):
        done = sutler(*argv)
        assert done.code == 2
        assert "name one program" in done.err


def test_check_says_ok_with_tools_and_grade(sutler: Sutler, program: str) -> None:
    assert sutler("check", program, "--param", "names=[]").out == "program.py: ok; tools: tool_echo; grade (1, 0)\n"
    document = sutler("check", program, "--param", "names=[]", "--json").json
    assert document == {"ok": True, "errors": [], "more": 0, "tools": ["tool_echo"], "grade": {"w": 1, "d": 0}}


def test_check_gives_each_error_its_line_and_what_to_write(sutler: Sutler, program: str) -> None:
    done = sutler("check", program)  # names is not defined without the parameter
    assert done.code == 1
    assert done.out.startswith("program.py:2: ")
    document = sutler("check", "-c", "import os", "--json").json
    assert document["ok"] is False
    assert document["errors"][0]["line"] == 1
    assert document["errors"][0]["write_instead"]


def test_the_level_decides_what_may_be_written(sutler: Sutler) -> None:
    text = "def twice(x):\n    return x + x\ntwice(2)"
    assert sutler("run", "-c", text).out == "4\n"
    assert sutler("check", "-c", text, "--level", "calls").code == 1
    unknown = sutler("check", "-c", text, "--level", "cals")
    assert unknown.code == 2
    assert "'calls', 'program', 'full'" in unknown.err


def test_plan_lists_call_sites_with_decisions_and_runs_nothing(project: Project, sutler: Sutler) -> None:
    text = "for n in [1, 2]:\n    tool_echo('a', times=n)\nopen_file = tool_wipe('x')"
    done = sutler("plan", "-c", text)
    assert done.out == ('2\tkit::tool_echo\ttext="a", ...\tyes\tallow\n3\tkit::tool_wipe\tpath="x"\tno\task\n')
    assert "grade (3, 3)" in done.err
    document = sutler("plan", "-c", text, "--json", "--policy", "full_access").json
    assert [(one["tool"], one["decision"], one["in_loop"]) for one in document["calls"]] == [
        ("tool_echo", "allow", True),
        ("tool_wipe", "allow", False),
    ]
    assert document["grade"] == {"w": 3, "d": 3}
    assert sutler("runs", "--json").json["runs"] == []


def test_only_the_named_tools_may_be_called(sutler: Sutler) -> None:
    text = "tool_echo('a')\ntool_lines(2)"
    assert sutler("check", "-c", text, "--tools", "tool_echo, tool_lines").code == 0
    done = sutler("check", "-c", text, "--tools", "tool_echo")
    assert done.code == 1
    assert "-c:2: " in done.out
    unknown = sutler("check", "-c", text, "--tools", "tool_eko")
    assert unknown.code == 2
    assert "tool_echo" in unknown.err


def test_a_profile_narrows_and_renames(project: Project, sutler: Sutler) -> None:
    project.config(
        CONFIG + '[profiles.small]\ntools = { say = "tool_echo" }\npolicy = "full_access"\nlevel = "calls"\n'
        "[profiles.limited]\nlimits = { calls = 1 }\n"
    )
    assert sutler("run", "-c", "say('a')", "--profile", "small").out == "a\n"
    assert sutler("check", "-c", "tool_echo('a')", "--profile", "small").code == 1
    assert sutler("check", "-c", "while True: pass", "--profile", "small").code == 1
    assert sutler("run", "-c", "say('a')", "--profile", "small", "--tools", "say").out == "a\n"
    wrong = sutler("run", "-c", "1", "--profile", "small", "--tools", "tool_lines")
    assert wrong.code == 2
    assert "tool_lines is not in profile small, which has say" in wrong.err
    limited = sutler("run", "-c", "tool_echo('a')\ntool_echo('b')", "--profile", "limited", "--tools", "tool_echo")
    assert limited.code == 6


def test_an_unknown_profile_names_the_closest_and_a_tools_name_is_one(project: Project, sutler: Sutler) -> None:
    project.config(CONFIG + "[profiles.small]\n")
    done = sutler("run", "-c", "1", "--profile", "smal")
    assert done.code == 2
    assert "did you mean 'small'?" in done.err
    assert sutler("run", "-c", "tool_echo('a')", "--profile", "tool_echo").out == "a\n"
    assert sutler("check", "-c", "tool_lines(1)", "--profile", "tool_echo").code == 1


def test_a_forgotten_parameter_is_said_to_be_one(project: Project, sutler: Sutler) -> None:
    wanted = (
        "-c:1: there is no name text\n"
        "    if it is a parameter, give it: --param text=...\n"
        "    else write instead: text = ... on a line before\n"
    )
    assert sutler("check", "-c", "tool_echo(text)").out == wanted
    assert sutler("run", "-c", "tool_echo(text)").err == f"error: {wanted}"
    assert sutler("check", "-c", "tool_echo(text)", "--json").json["errors"][0]["write_instead"].endswith("parameter")


def test_a_tool_that_is_not_there_lists_no_others_and_says_where_to_look(sutler: Sutler) -> None:
    done = sutler("run", "-c", "frobnicate(1)\nbrobdingnag(2)")
    assert done.err.count("there is no tool or function") == 2
    assert done.err.count("`sutler tools` lists the tools") == 1
    assert "tool_" not in done.err
    assert "write instead" not in done.err


def test_a_tool_that_cannot_be_had_now_says_why(project: Project, sutler: Sutler) -> None:
    project.config(
        CONFIG + '[[tools]]\nname = "crooked"\nmodule = "m"\nfunction = "f"\n'
        'input_schema = { type = "object", properties = { a = { type = "nonsense" } } }\n'
        '[[virtual_tools]]\nname = "ask_host"\ndescription = "Ask."\n'
    )
    assert "note: crooked: quarantined: config::crooked: " in sutler("run", "-c", "crooked()").err
    assert "nonsense" in sutler("check", "-c", "crooked()").err
    left_out = sutler("check", "-c", "tool_lines(1)", "--tools", "tool_echo")
    assert "note: tool_lines is a tool, but --tools does not name it\n" in left_out.err


def test_only_calls_that_worked_count_as_gone_before(sutler: Sutler) -> None:
    assert "went before" not in sutler("run", "-c", "tool_fail()").err
    assert "went before" not in sutler("run", "-c", "tool_wipe('x')").err
    assert "1 call went before; see it with" in sutler("run", "-c", "tool_echo('a')\ntool_fail()").err


def test_what_tools_print_in_a_run_goes_to_standard_error(project: Project, sutler: Sutler) -> None:
    project.library("chat.py", "def tool_chat(n: int):\n    print('thinking', n)\n    return n\n")
    done = sutler("run", "-c", "print('mine')\ntool_chat(1) + tool_chat(2)")
    assert (done.out, done.err) == ("mine\n3\n", "thinking 1\nthinking 2\n")
    assert "printed in step 2:\nthinking 2\n" in sutler("run", "-c", "tool_chat(1) + tool_chat(2)", "--trace").err
    document = sutler("run", "-c", "tool_chat(1)", "--json")
    assert (document.json["trace"][0]["stdout"], document.err) == ("thinking 1\n", "")
    run_id = document.json["run_id"]
    assert "Printed in step 1\nthinking 1\n" in sutler("runs", "show", run_id).out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}['x']", "KeyError: 'x'"),
        ("{}[3]", "KeyError: 3"),
        ("raise KeyError('no such')", "KeyError: 'no such'"),
        ("raise KeyError", "KeyError: KeyError"),
    ],
)
def test_a_missing_key_is_shown_as_python_shows_it(sutler: Sutler, text: str, said: str) -> None:
    assert sutler("run", "-c", text).err.startswith(f"error: -c:1: {said}\n")


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("how", ["", "--trace", "--json"])
def test_ctrl_c_shows_what_was_printed_and_where_the_run_can_be_seen(shared: Project, how: str) -> None:
    shared.library("nap.py", "import time\ndef tool_nap():\n    open('asleep', 'w').close()\n    time.sleep(600)\n")
    (shared.root / "asleep").unlink(missing_ok=True)
    text = "print('so far')\ntool_echo('a')\ntool_nap()"
    going = subprocess.Popen(
        [sys.executable, "-m", "sutler.cli", "run", "-c", text, "--policy", "full_access", *how.split()],
        cwd=shared.root,
        env=shared.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not (shared.root / "asleep").exists() and time.monotonic() < until:
        time.sleep(0.02)
    going.send_signal(signal.SIGINT)
    out, err = going.communicate(timeout=60)
    assert going.returncode == 130
    assert "error: interrupted\n" in err
    run_id = err.rsplit("runs show ", 1)[1].split("`")[0]
    assert shared.process("runs", "show", run_id, "--json").json["status"] == "cancelled"
    if how == "--json":
        document = json.loads(out)
        assert (document["kind"], document["run_id"], document["stdout"]) == ("interrupted", run_id, "so far\n")
        assert document["trace"][0]["tool"] == "tool_echo"
    else:
        assert out == "so far\n"
        assert ("kit::tool_echo" in err) is bool(how)
