"""What a person is shown of a call: all of it, as it will run, and nothing that passes for something else."""

from __future__ import annotations

from typing import Any

import pytest

from sutler.policy.prompts import Question, of_library, plain_command, question
from sutler.policy.visible import one_line, opened, quoted, visible
from sutler.spec import Grade, Origin, ToolCall, ToolSpec


def asked(
    arguments: dict[str, Any],
    *,
    name: str = "wipe",
    source: str = "kit",
    confirm_with: str | None = None,
    properties: dict[str, Any] | None = None,
) -> Question:
    spec = ToolSpec(
        name=name,
        origin=Origin(source=source, kind="library"),
        grade=Grade(3, 3),
        input_schema={"type": "object", "properties": properties or {}},
        meta={} if confirm_with is None else {"confirm_with": confirm_with},
    )
    return question(ToolCall(call_id="1", spec=spec, arguments=arguments), "safe")


@pytest.mark.requirement("LCP-01")
def test_a_call_is_shown_with_its_arguments_and_labelled_with_level_tool_and_grade() -> None:
    shown = asked({"path": "a", "deep": True, "parts": None})
    assert shown.source == 'kit::wipe(path="a", deep=true, parts=null)'
    assert (shown.label, shown.argv) == ("[SAFE] kit::wipe (3, 3)", None)


@pytest.mark.requirement("LCP-01")
def test_of_a_code_or_command_tool_the_text_itself_is_shown() -> None:
    code = 'import os\n\nfor name in os.listdir("."):\n    print(name)\n'
    shown = asked({"code": code}, confirm_with="code")
    assert (shown.source, shown.argv) == (code, None)
    shown = asked({"command": "git commit -m 'a b'"}, confirm_with="command")
    assert (shown.source, shown.argv) == ("git commit -m 'a b'", ["git", "commit", "-m", "a b"])
    shown = asked({"argv": ["rm", "-rf", "a b"]}, confirm_with="argv")
    assert (shown.source, shown.argv) == ("rm -rf 'a b'", ["rm", "-rf", "a b"])


@pytest.mark.requirement("LCP-01")
def test_what_else_such_a_tool_was_given_stands_in_the_label_and_is_not_hidden() -> None:
    properties = {"command": {}, "cwd": {"default": "."}, "timeout": {"default": 30}}
    given = {"command": "ls", "cwd": ".", "timeout": 30}
    assert asked(given, confirm_with="command", properties=properties).label == "[SAFE] kit::wipe (3, 3)"
    shown = asked({**given, "cwd": "/etc\n[SAFE] x"}, confirm_with="command", properties=properties)
    assert shown.label == '[SAFE] kit::wipe (3, 3), with cwd="/etc\\n[SAFE] x"'


@pytest.mark.requirement("LCP-01")
def test_where_the_label_has_no_room_for_what_else_was_given_the_whole_call_is_shown() -> None:
    given = {"command": "ls", **{f"n{number}": "x" * 150 for number in range(20)}, "cwd": "/etc"}
    shown = asked(given, confirm_with="command")
    assert (shown.label, shown.argv) == ("[SAFE] kit::wipe (3, 3)", None)
    assert 'command="ls"' in shown.source and 'cwd="/etc"' in shown.source


@pytest.mark.requirement("LCP-01")
def test_the_words_of_a_command_hide_nothing_either() -> None:
    shown = asked({"argv": ["rm", "a\u202eb", "\x1b[2J"]}, confirm_with="argv")
    assert shown.argv == ["rm", "a\\u202eb", "\\x1b[2J"]
    assert of_library("x", "y", ["a\u200b"]).argv == ["a\\u200b"]
    assert asked({"command": "ls a\u202eb"}, confirm_with="command").argv == ["ls", "a\\u202eb"]


@pytest.mark.requirement("LCP-01")
def test_a_parameter_that_is_not_there_leaves_the_whole_call() -> None:
    assert asked({"path": "a"}, confirm_with="command").source == 'kit::wipe(path="a")'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ls -la", ["ls", "-la"]),
        ("python -c 'print(1); print(2)'", ["python", "-c", "print(1); print(2)"]),
        ("ls; rm -rf /", None),
        ("ls && rm x", None),
        ("ls | sh", None),
        ("echo hi > f", None),
        ("echo $(rm x)", None),
        ("echo `rm x`", None),
        ("rm $HOME", None),
        ("ls\nrm x", None),
        ("(rm x)", None),
        ("echo 'open", None),
        ("", None),
    ],
)
@pytest.mark.requirement("LCP-01")
def test_the_words_of_a_command_are_given_only_when_they_are_all_that_runs(text: str, words: list[str] | None) -> None:
    assert plain_command(text) == words


@pytest.mark.requirement("LCP-02")
@pytest.mark.parametrize(
    ("char", "escape"),
    [
        ("\x1b", "\\u001b"),
        ("\x00", "\\u0000"),
        ("\x7f", "\\x7f"),
        ("\r", "\\r"),
        ("\x08", "\\b"),
        ("\x85", "\\x85"),
        ("\u202e", "\\u202e"),
        ("\u2066", "\\u2066"),
        ("\u061c", "\\u061c"),
        ("\u200b", "\\u200b"),
        ("\u200d", "\\u200d"),
        ("\ufeff", "\\ufeff"),
        ("\u00ad", "\\xad"),
        ("\u00a0", "\\xa0"),
        ("\u3164", "\\u3164"),
        ("\u2800", "\\u2800"),
        ("\u2028", "\\u2028"),
        ("\ufe0f", "\\ufe0f"),
        ("\U000e0041", "\\U000e0041"),
        ("\U000e0100", "\\U000e0100"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_hides_moves_or_reorders_text_is_shown_as_its_escape(char: str, escape: str) -> None:
    in_call = asked({"path": f"a{char}b"}).source
    assert char not in in_call and escape in in_call
    for shown in (
        asked({"code": f"a{char}b"}, confirm_with="code").source,
        asked({"a": "b"}, name=f"wi{char}pe").label,
        asked({f"a{char}": 1}).source,
        of_library(f"a{char}b", f"a{char}b", None).source,
        of_library(f"a{char}b", f"a{char}b", None).label,
    ):
        assert char not in shown


@pytest.mark.requirement("LCP-02")
def test_padding_that_would_push_something_out_of_sight_is_cut_with_its_length() -> None:
    assert asked({"path": "a" + " " * 5000 + "b"}).source == 'kit::wipe(path="a\u27e65,000 blanks\u27e7b")'
    shown = asked({"code": "ok()\n" + "\n" * 400 + "evil()"}, confirm_with="code").source
    assert shown == "ok()\u27e6401 line breaks\u27e7\nevil()"
    hidden = asked({"code": "ok()" + " \t" * 300 + "evil()"}, confirm_with="code").source
    assert hidden == "ok()\u27e6600 blanks\u27e7evil()"
    mixed = asked({"code": "ok()\n" + (" " * 50 + "\n") * 30 + "evil()"}, confirm_with="code").source
    assert len(mixed) < 60 and mixed.endswith("evil()")
    plain = "def f():\n" + "    " * 6 + "return 1\n\n\nx = 1\n"
    assert asked({"code": plain}, confirm_with="code").source == plain


@pytest.mark.requirement("LCP-02")
def test_nothing_in_a_text_can_pass_for_a_remark_of_ours() -> None:
    forged = "ok()\u27e65,000 blanks\u27e7"
    assert "\u27e6" not in opened(forged, 100) and "\\u27e6" in opened(forged, 100)
    assert "\u27e6" not in quoted(forged, 100)


@pytest.mark.requirement("LCP-02")
def test_of_a_long_value_head_tail_length_and_digest_are_shown_so_that_two_differ() -> None:
    middle = 5_000
    one, other = (asked({"text": "h" * middle + char + "t" * middle}).source for char in "ab")
    assert one != other
    assert "of 10,001 characters left out, digest " in one
    assert len(one) < 3_000
    many = asked({f"key{number}": "x" * 1_900 for number in range(50)}).source
    assert len(many) < 21_000 and "characters left out" in many
    nested = asked({"rows": [{"a": number} for number in range(5_000)]}).source
    assert len(nested) < 3_000


@pytest.mark.requirement("LCP-02")
def test_a_name_cannot_pass_for_a_label() -> None:
    shown = asked({"a": 1}, name="wipe (0, 0)\n[SAFE] kit::look (1, 0)", source="kit")
    assert shown.label.count("\n") == 0
    assert shown.label.startswith('[SAFE] "kit::wipe (0, 0)\\n[SAFE]') and shown.label.endswith('" (3, 3)')
    assert asked({'x") or ("': 1}).source == 'kit::wipe("x\\") or (\\""=1)'


def test_the_words_of_a_library_are_made_as_safe_and_kept_in_one_line() -> None:
    shown = of_library("a\x1b[2Kb\nc", "Run\nit?\t now", ("ls", 3))
    assert shown.source == "a\\x1b[2Kb\nc"
    assert shown.label == "Run\\nit?\\t now" and shown.argv == ["ls", "3"]
    assert of_library(None, None, "ls").argv is None


def test_plain_text_is_left_as_it_is() -> None:
    for text in ("caf\u00e9 \u6f22 ok", "a = 'b'  # c", "def f():\n\treturn 1\n"):
        assert opened(text, 1_000) == text and visible(text) == text
    assert one_line("a\nb", 10) == "a\\nb"
