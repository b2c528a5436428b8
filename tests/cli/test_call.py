"""`sutler call`: one tool, once."""

from __future__ import annotations

import pytest

from .conftest import CONFIG, Project, Sutler


def test_text_is_printed_as_it_is_and_other_data_as_json(sutler: Sutler) -> None:
    assert sutler("call", "tool_echo", "text=hello", "times=2").out == "hello hello\n"
    assert sutler("call", "tool_echo", "text=a\n").out == "a\n"
    done = sutler("call", "tool_kinds", "anything=5", "flag=true")
    assert done.out == '[\n  "\'5\'",\n  "0.0",\n  "\'\'",\n  "True",\n  "None"\n]\n'


@pytest.mark.parametrize("typed", ["00123", "12345", '{"a":1}', "null", "@x@", "a=b:=c"])
def test_a_text_parameter_gets_the_text_as_typed(sutler: Sutler, typed: str) -> None:
    given = f'text:="{typed}"' if typed.startswith("@") else f"text={typed}"
    done = sutler("call", "tool_echo", given, "--json")
    assert done.json["output"] == typed
    assert done.json["repairs"] == []


def test_arguments_come_from_json_from_stdin_and_from_files(project: Project, sutler: Sutler) -> None:
    assert sutler("call", "tool_echo", "--args", '{"text": "a", "times": 2}').out == "a a\n"
    assert sutler("call", "tool_echo", "--args", '{"text": "a", "times": 2}', "text=b").out == "b b\n"
    assert project.process("call", "tool_echo", "--args", "-", stdin='{"text": "piped"}').out == "piped\n"
    assert project.process("call", "tool_echo", "text=@-", stdin="all of it\n").out == "all of it\n"


def test_bad_json_in_args_is_said_with_what_is_wanted(sutler: Sutler) -> None:
    done = sutler("call", "tool_echo", "--args", '{"text": "a"')
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert done.out == ""


def test_repairs_notes_and_prints_stand_on_standard_error(project: Project, sutler: Sutler) -> None:
    project.library("chat.py", 'def tool_chat(flag: bool):\n    print("thinking")\n    return flag\n')
    done = sutler("call", "tool_chat", "flag=yes", "nonsense=1")
    assert done.code == 0
    assert done.out == "true\n"
    assert "thinking" in done.err
    assert "note: nonsense is no parameter; it was dropped (" in done.err
    assert 'note: flag: "yes" became true\n' in done.err


def test_json_has_all_there_is_to_know_of_the_call(sutler: Sutler) -> None:
    done = sutler("call", "tool_fail", "--json")
    document = done.json
    assert done.code == 1
    assert (document["tool"], document["success"], document["kind"]) == ("kit::tool_fail", False, "tool_error")
    assert "it broke" in document["error"]
    assert "raise ValueError" in document["traceback"]
    assert done.err.startswith("error: ValueError: it broke (tools/kit.py:")


def test_an_unknown_tool_names_the_closest(sutler: Sutler) -> None:
    done = sutler("call", "tool_ecko", "text=a")
    assert done.code == 2
    assert "there is no tool 'tool_ecko'" in done.err
    assert "tool_echo" in done.err


def test_an_unknown_tool_in_json_is_one_document_that_says_so(sutler: Sutler) -> None:
    done = sutler("call", "tool_ecko", "--json")
    assert (done.json["success"], done.json["kind"]) == (False, "not_found")


def test_a_denied_call_says_what_would_allow_it_here(sutler: Sutler) -> None:
    done = sutler("call", "tool_wipe", "path=x")
    assert done.code == 5
    assert "--policy full_access" in done.err
    assert sutler("call", "tool_wipe", "path=x", "--policy", "full_access").out == "wiped x\n"


def test_common_options_stand_before_or_after_the_command(sutler: Sutler) -> None:
    for argv in (
        ("--policy", "full_access", "--json", "call", "tool_wipe", "path=x"),
        ("--policy", "strict", "call", "--policy", "full_access", "tool_wipe", "path=x", "--json"),
    ):
        assert sutler(*argv).json["output"] == "wiped x"


def test_a_missing_tool_folder_is_said_when_a_tool_is_not_found(project: Project, sutler: Sutler) -> None:
    project.config('[libraries]\nfolders = ["tools", "gone"]\n')
    assert sutler("call", "tool_echo", "text=a").code == 0
    done = sutler("call", "tool_elsewhere")
    assert done.code == 4
    assert f"{project.root / 'gone'}: no such folder" in done.err


def test_a_tool_works_in_the_folder_of_the_config_or_where_it_is_told(project: Project, sutler: Sutler) -> None:
    project.library("place.py", "import os\ndef tool_place():\n    return os.getcwd()\n")
    other = project.root / "other"
    other.mkdir()
    assert project.process("call", "tool_place", cwd=other).out == f"{project.root}\n"
    assert sutler("call", "tool_place", "--workspace", str(other)).out == f"{other}\n"


def test_a_current_folder_that_is_gone_is_said(project: Project, sutler: Sutler, monkeypatch) -> None:
    gone = project.root / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for argv in (("tools",), ("runs",), ("trust",), ("init",)):
        done = sutler(*argv)
        assert done.code == 2
        assert done.err == "error: the current folder has been removed; change to one that is there\n"


def test_a_result_is_given_even_when_it_cannot_be_put_on_record(project: Project) -> None:
    done = project.process("--config", "sutler.toml", "call", "tool_echo", "text=a", SUTLER_STATE_DIR="/proc/nowhere")
    assert (done.code, done.out) == (3, "a\n")
    assert "/proc/nowhere" in done.err
    project.library("mark.py", "def tool_mark():\n    open('mark', 'w').close()\n")
    refused = project.process("--config", "sutler.toml", "call", "tool_mark", SUTLER_STATE_DIR="/proc/nowhere")
    assert refused.code == 4  # what may write runs only when it can be recorded first
    assert not (project.root / "mark").exists()


def test_a_fault_of_ours_is_said_as_one_without_a_traceback(
    project: Project, sutler: Sutler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("sutler.cli.call.find", broken)
    done = sutler("call", "tool_echo", "--json")
    assert done.code == 1
    assert done.err == (
        "error: this is a fault in Sutler: ZeroDivisionError: division by zero (set SUTLER_DEBUG=1 to see where)\n"
    )
    assert done.json["kind"] == "bug"
    monkeypatch.setenv("SUTLER_DEBUG", "1")
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)  # it would outlive this test
    assert "Traceback" in sutler("call", "tool_echo").err


def test_text_of_arguments_that_was_mended_is_said_in_a_sentence(sutler: Sutler) -> None:
    done = sutler("call", "tool_echo", "--args", "{'text': 'a b'}")
    assert done.out == "a b\n"
    assert done.err == "note: the argument text was read as JSON after its quotes, commas or words were mended\n"


WORKING = """
import json

def tool_divide(by: int):
    return _divided(by)

def _divided(by):
    return 1 / by

def tool_read(text: str):
    return json.loads(text)

def tool_bad():
    return {"success": False, "error": "bad"}
"""


def test_what_a_tool_raises_is_said_with_the_line_of_the_persons_own_code(project: Project, sutler: Sutler) -> None:
    project.library("work.py", WORKING)
    done = sutler("call", "tool_divide", "by=0")
    assert done.code == 1
    assert done.err == "error: ZeroDivisionError: division by zero (tools/work.py:8, in _divided)\n"
    assert "(tools/work.py:11, in tool_read)\n" in sutler("call", "tool_read", "text={").err  # not json's own line


def test_debugging_shows_the_whole_traceback_of_a_tool(project: Project) -> None:
    project.library("work.py", WORKING)
    for argv in (("call", "tool_divide", "by=0"), ("run", "-c", "tool_divide(0)")):
        done = project.process(*argv, SUTLER_DEBUG="1")
        assert done.err.count("in _divided\n") == 1
        assert "    return 1 / by" in done.err
        assert "    return 1 / by" not in project.process(*argv).err


def test_a_failed_call_without_an_output_prints_none(project: Project, sutler: Sutler) -> None:
    project.library("work.py", WORKING)
    done = sutler("call", "tool_bad")
    assert (done.code, done.out, done.err) == (1, "", "error: bad\n")


def test_a_tool_that_may_stand_in_an_untrusted_config_is_said_to(project: Project, sutler: Sutler) -> None:
    project.config(CONFIG + "# changed\n", trusted=False)
    done = sutler("call", "tool_echo", "text=a")
    assert done.code == 2
    assert f"; it may be in {project.file}, which is not trusted: look at it with `sutler trust --show`" in done.err
    assert "it may be in" in sutler("tools", "show", "tool_echo").err
    program = sutler("run", "-c", "tool_echo('a')")
    assert f"note: more tools may be in {project.file}, which is not trusted" in program.err


def test_a_home_folder_as_the_workspace_is_warned_of(
    project: Project, sutler: Sutler, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = project.root.parent
    warning = f"note: tools may write anywhere in {home}, because it is the workspace; choose another with --workspace"
    monkeypatch.chdir(home)
    assert warning not in sutler("call", "list_dir").err
    monkeypatch.setenv("HOME", str(home))
    assert warning in sutler("call", "list_dir").err
    assert warning in sutler("run", "-c", "1").err
    assert warning not in sutler("call", "list_dir", "--workspace", str(home)).err
    assert warning not in sutler("tools").err
    monkeypatch.setenv("HOME", str(home / "elsewhere" / "deep"))
    assert warning in sutler("call", "list_dir").err  # it holds the home folder
    monkeypatch.chdir(project.root)
    assert "anywhere" not in sutler("call", "tool_echo", "text=a").err


def test_a_library_that_asked_and_was_told_no_is_denied_like_any_other_call(project: Project) -> None:
    project.library(
        "careful.py",
        "ASK = None\n\n"
        "def set_confirm_handler(handler):\n    global ASK\n    ASK = handler\n\n"
        "def tool_wipe(name: str):\n"
        "    said, why = ASK(f'wipe {name}', 'wipes', None)\n"
        "    return {'success': said != 'reject', 'output': name, 'error': why}\n",
    )
    done = project.process("call", "tool_wipe", "name=a", "--json")
    assert done.code == 5
    assert done.json["kind"] == "denied"
    assert "nobody to ask" in done.json["error"]
