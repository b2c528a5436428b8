"""The person at the terminal, through a real one."""

from __future__ import annotations

import pytest

from sutler.cli.text import tame, visible

from ..terminal import python_at_terminal
from .conftest import Ended, Project

ASKED = "Run it?"
WHY = "Why not?"


def at_terminal(project: Project, *argv: str, answers: list[tuple[str, str]]) -> Ended:
    """`sutler` at a terminal of its own, which shows out and err."""
    code, seen = python_at_terminal(["-m", "sutler.cli", *argv], answers, cwd=project.root, env=project.env)
    return Ended(code, seen, "")


def test_the_call_is_shown_and_yes_lets_it_run(shared: Project) -> None:
    done = at_terminal(
        shared, "call", "tool_wipe", "path=\u202ehome\x1b[2K", answers=[(ASKED, "what\n"), (ASKED, "Y\n")]
    )
    assert done.code == 0
    assert "[SAFE] kit::tool_wipe (3, 3)" in done.out
    assert done.out.count(ASKED) == 2  # another answer asks again
    question = done.out.split(ASKED)[0]
    assert "\\u202ehome\\u001b[2K" in question
    assert "\u202e" not in done.out
    assert "\x1b[2K" not in done.out


@pytest.mark.parametrize(
    ("typed", "reason"), [("n\n\n", "said no"), ("\x04", "cancelled by user"), ("\x03", "cancelled")]
)
def test_no_end_of_input_and_ctrl_c_reject(shared: Project, typed: str, reason: str) -> None:
    done = at_terminal(shared, "call", "tool_wipe", "path=x", answers=[(ASKED, typed)])
    assert done.code == 5
    assert reason in done.out
    assert "wiped" not in done.out.split(ASKED)[1]
    assert "--policy" not in done.out  # there was somebody to ask


def test_a_program_can_catch_a_rejection_and_ctrl_c_harms_nothing_else(shared: Project) -> None:
    text = "try:\n    tool_wipe('a')\nexcept PermissionError:\n    print('caught')\ntool_wipe('b')"
    done = at_terminal(shared, "run", "-c", text, answers=[(ASKED, "\x03"), (ASKED, "y\n")])
    assert done.code == 0
    assert "caught" in done.out
    assert "wiped b" in done.out


def test_always_asks_once_for_the_tool(shared: Project) -> None:
    done = at_terminal(shared, "run", "-c", "tool_wipe('a')\ntool_wipe('b')", answers=[(ASKED, "a\n")])
    assert done.code == 0
    assert done.out.count(ASKED) == 1
    assert "wiped b" in done.out


def test_the_rest_of_a_long_call_is_shown_on_request(shared: Project) -> None:
    secret = "the very end"
    path = "x" * 900 + secret
    done = at_terminal(
        shared, "call", "tool_wipe", f"path={path}", answers=[(ASKED, "v\n"), (ASKED, "n\n"), (WHY, "\n")]
    )
    first, second, _ = done.out.split(ASKED)
    assert secret not in first
    assert secret in second
    assert "v = view the other" in done.out


def test_what_was_typed_before_the_question_is_no_answer(shared: Project) -> None:
    shared.library(
        "slow.py",
        "import time\nfrom sutler import tool\n"
        "@tool(read_only=True)\ndef tool_first(): print('ready', flush=True); time.sleep(0.5)\n",
    )
    text = "tool_first()\ntool_wipe('a')"
    (shared.root / "slow_program.py").write_text("tool_started()\n" + text)
    shared.library(
        "started.py",
        "import sys\nfrom sutler import tool\n@tool(read_only=True)\n"
        "def tool_started(): sys.__stderr__.write('STARTED\\n'); sys.__stderr__.flush()\n",
    )
    done = at_terminal(shared, "run", "slow_program.py", answers=[("STARTED", "y\n"), (ASKED, "n\n"), (WHY, "\n")])
    assert done.code == 5


def test_trust_is_asked_at_a_terminal_with_the_difference(shared: Project) -> None:
    before = shared.file.read_text()
    shared.config(before + "# new \u202e line\n", trusted=False)
    try:
        refused = at_terminal(shared, "trust", answers=[("[y/n]", "\x03")])
        assert refused.code == 5
        assert "+# new \\u202e line" in refused.out
        assert at_terminal(shared, "trust", answers=[("[y/n]", "what\n"), ("[y/n]", "yes\n")]).code == 0
        assert "not trusted" not in shared.process("tools").err
    finally:
        shared.config(before)


def test_a_program_from_stdin_leaves_nobody_to_ask(shared: Project) -> None:
    done = at_terminal(shared, "run", "-", answers=[("", "tool_wipe('x')\n\x04")])
    assert done.code == 5
    assert ASKED not in done.out
    assert "nobody to ask" in done.out


def test_a_long_command_shows_what_it_does_and_clears_it_for_a_question(shared: Project) -> None:
    shared.library(
        "long.py",
        "import time\nfrom sutler import tool\n@tool(read_only=True)\n"
        "def tool_long(tool_context):\n    tool_context.emit_progress('halfway', 0.5)\n    time.sleep(2)\n",
    )
    done = at_terminal(shared, "run", "-c", "tool_long()\ntool_wipe('x')", answers=[(ASKED, "y\n")])
    assert done.code == 0
    assert "long::tool_long: 50% halfway" in done.out
    assert "halfway" not in done.out.split(ASKED)[0].rsplit("\x1b[2K", 1)[1]


def test_lists_are_tables_and_long_output_is_cut_at_a_terminal(shared: Project) -> None:
    listed = at_terminal(shared, "tools", answers=[])
    assert "what it does" in listed.out
    assert "\t" not in listed.out
    cut = at_terminal(shared, "call", "tool_lines", "number=1000", answers=[])
    assert "... 840 lines left out; --full shows all ..." in cut.out
    assert "line 0\r\n" in cut.out
    assert "line 999\r\n" in cut.out
    whole = at_terminal(shared, "call", "tool_lines", "number=1000", "--full", answers=[])
    assert "line 500\r\n" in whole.out


def test_visible_leaves_plain_text_and_shows_what_hides() -> None:
    assert visible("caf\u00e9 \u6f22 ok\n\ttab") == "caf\u00e9 \u6f22 ok\n\ttab"
    assert visible("a\u200db\u202e\x07\r\ud800\u2028") == "a\\u200db\\u202e\\x07\\r\\ud800\\u2028"
    assert tame("\U0001f468\u200d\U0001f469 \u202e\x1b[1m") == "\U0001f468\u200d\U0001f469 \\u202e\\x1b[1m"
