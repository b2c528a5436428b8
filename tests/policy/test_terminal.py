"""The person at a terminal, asked by the handlers that any program may use."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ..terminal import python_at_terminal

ASKED = "Run it?"


def asked(
    tmp_path: Path, code: str, answers: list[tuple[str, str]] | None = None, *, columns: int = 100
) -> tuple[int, str]:
    file = tmp_path / "program.py"
    file.write_text("from sutler import *\nimport sutler\n" + textwrap.dedent(code))
    return python_at_terminal([str(file)], answers or [], cwd=tmp_path, env=dict(os.environ), columns=columns)


def answer(tmp_path: Path, source: str, answers: list[tuple[str, str]], *, columns: int = 100) -> str:
    code = f"""
        print("ANSWER", sutler.cli_confirm_handler({source!r}, "[SAFE] kit::wipe (3, 3)", None))
    """
    return asked(tmp_path, code, answers, columns=columns)[1]


@pytest.mark.requirement("LCP-02")
@pytest.mark.parametrize(
    ("typed", "given"),
    [
        ("\n", "('allow', '')"),
        ("y\n", "('allow', '')"),
        (" YES \n", "('allow', '')"),
        ("a\n", "('always', '')"),
        ("\x04", "('reject', 'cancelled by user')"),
        ("\x03", "('reject', 'cancelled by user')"),
        ("so what\x03", "('reject', 'cancelled by user')"),
    ],
)
def test_an_answer_is_read_from_the_terminal(tmp_path: Path, typed: str, given: str) -> None:
    seen = answer(tmp_path, "wipe('a')", [(ASKED, typed)])
    assert f"ANSWER {given}" in seen
    assert "+- [SAFE] kit::wipe (3, 3)\r\n| wipe('a')\r\n" in seen


@pytest.mark.requirement("LCP-02")
def test_no_asks_why_and_the_words_are_the_reason(tmp_path: Path) -> None:
    seen = answer(tmp_path, "wipe('a')", [(ASKED, "n\n"), ("Why not?", "Keep it, please\n")])
    assert "ANSWER ('reject', 'Keep it, please')" in seen
    for silent in ("\n", "\x04", "\x03"):
        assert "('reject', 'the person at the terminal said no')" in answer(
            tmp_path, "wipe('a')", [(ASKED, "n\n"), ("Why not?", silent)]
        )


@pytest.mark.requirement("LCP-02")
def test_any_other_answer_asks_again_and_p_is_no_answer_without_a_project(tmp_path: Path) -> None:
    seen = answer(tmp_path, "wipe('a')", [(ASKED, "perhaps\n"), (ASKED, "p\n"), (ASKED, "v\n"), (ASKED, "y\n")])
    assert seen.count(ASKED) == 4 and "ANSWER ('allow', '')" in seen


@pytest.mark.requirement("LCP-02")
def test_beyond_500_characters_the_rest_is_shown_on_request(tmp_path: Path) -> None:
    source = "x" * 520 + "THE END"
    seen = answer(tmp_path, source, [(ASKED, "v\n"), (ASKED, "n\n"), ("Why not?", "\n")])
    first, second, _ = seen.split(ASKED)
    assert "THE END" not in first and "view the other 27 characters" in seen and "THE END" in second


@pytest.mark.requirement("LCP-02")
def test_many_short_lines_do_not_push_what_is_asked_about_off_the_screen(tmp_path: Path) -> None:
    source = "\n".join(f"line {number}" for number in range(60))
    seen = answer(tmp_path, source, [(ASKED, "v\n"), (ASKED, "n\n"), ("Why not?", "\n")])
    first, second, _ = seen.split(ASKED)
    assert first.count("line ") == 15 and "view the other" in first + second
    assert "line 59" in second and second.index("line 59") < second.rindex("[SAFE] kit::wipe")


@pytest.mark.requirement("LCP-02")
def test_nothing_in_a_call_can_write_where_the_frame_of_the_question_stands(tmp_path: Path) -> None:
    """The edge is at the left of each row, also of one that only the width of the terminal made a row."""
    forged = "+- Run it? [y = once (Enter), n = no] y"
    source = (
        "a" * 57
        + forged
        + "\n"
        + forged
        + "\r"
        + forged
        + "\x1b[1G"
        + forged
        + "\n\u4e2d" * 3
        + "\u4e2d" * 400
        + forged
    )
    seen = answer(tmp_path, source, [("v = view", "v\n"), ("v = view", "n\n"), ("Why not?", "\n")], columns=60)
    rows = [row for line in seen.replace("\r", "").split("\n") for row in [line]]
    ours = [row for row in rows if row.startswith("+- Run it?")]
    assert len(ours) == 2, seen
    assert all(row.startswith(("| ", "+- ", "   ", "ANSWER")) for row in rows if row.strip()), seen


@pytest.mark.requirement("LCP-02")
def test_without_a_terminal_it_rejects_and_says_how_to_allow(tmp_path: Path) -> None:
    code = "import sutler; print(sutler.cli_confirm_handler('wipe()', '[SAFE] wipe'))"
    for stdin in (subprocess.DEVNULL, subprocess.PIPE):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            stdin=stdin if stdin == subprocess.DEVNULL else None,
            input="y\n" if stdin == subprocess.PIPE else None,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert "('reject'" in done.stdout and "full_access" in done.stdout and "approvals grant" in done.stdout
    closed = subprocess.run(["sh", "-c", f'exec "{sys.executable}" -c "{code}" <&-'], capture_output=True, text=True)
    assert "('reject'" in closed.stdout


@pytest.mark.requirement("LCP-02", "POL-04")
def test_an_always_answers_for_the_same_tool_that_waits_for_its_turn(tmp_path: Path) -> None:
    code = """
        from concurrent.futures import ThreadPoolExecutor
        def wipe(path: str) -> str:
            return path
        options = {"config": False, "default_tools": False, "policy": "strict"}
        with SyncRuntime(tools=[wipe], confirm_handler=sutler.cli_confirm_handler, **options) as rt:
            with ThreadPoolExecutor(4) as pool:
                done = list(pool.map(lambda n: rt.call("wipe", {"path": str(n)}).success, range(4)))
        print("DONE", done)
    """
    _, seen = asked(tmp_path, code, [(ASKED, "a\n")])
    assert "DONE [True, True, True, True]" in seen and seen.count(ASKED) == 1


@pytest.mark.requirement("LCP-13")
def test_a_text_a_secret_and_a_choice_are_asked_for_and_a_secret_is_not_echoed(tmp_path: Path) -> None:
    code = """
        ask = sutler.cli_interaction_handler
        print("TEXT", ask({"type": "text", "title": "Na\\x1bme", "prompt": "Who?\\nTell", "default": "ada"}))
        print("TEXT", ask({"type": "text", "title": "Name", "prompt": "Who?", "default": "ada"}))
        print("TEXT", ask({"type": "text", "title": "Name", "prompt": "Who?"}))
        print("SECRET", len(ask({"type": "secret", "title": "Key", "prompt": "Which?"})))
        asked = {"type": "select", "title": "Which", "prompt": "Pick", "options": ["10", "20", "2"], "default": "20"}
        print("CHOICE", ask(asked), ask(asked), ask(asked))
    """
    answers = [
        ("(Enter for ada): ", "\n"),
        ("(Enter for ada): ", " bob \n"),
        ("Answer: ", "\n"),
        ("not shown: ", "tulips-7\n"),
        ("number or text?", "9\n"),
        ("number or text?", "2\n"),
        ("number or text?", "1\n"),
        ("number or text?", "\n"),
    ]
    code_, seen = asked(tmp_path, code, answers)
    assert code_ == 0, seen
    assert "TEXT ada" in seen and "TEXT  bob " in seen and "TEXT \r\n" in seen
    assert "+- Na\\x1bme\r\n| Who?\r\n| Tell" in seen
    assert "SECRET 8" in seen and "tulips-7" not in seen
    assert "CHOICE 2 10 20" in seen


@pytest.mark.requirement("LCP-13")
@pytest.mark.parametrize("typed", ["\x03", "\x04"])
def test_a_cancel_at_the_terminal_is_none_and_no_terminal_is_none(tmp_path: Path, typed: str) -> None:
    code = """
        ask = sutler.cli_interaction_handler
        print("A", ask({"type": "text", "title": "T", "prompt": ""}))
        print("B", ask({"type": "secret", "title": "T", "prompt": ""}))
        print("C", ask({"type": "select", "title": "T", "prompt": "", "options": ["x"]}))
    """
    _, seen = asked(tmp_path, code, [("Answer: ", typed), ("not shown: ", typed), ("by number or text? ", typed)])
    assert "A None" in seen and "B None" in seen and "C None" in seen
    silent = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert silent.stdout.split() == ["A", "None", "B", "None", "C", "None"]
