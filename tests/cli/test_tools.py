"""`sutler tools`: list, show, search, why."""

from __future__ import annotations

import json

import pytest

from .conftest import CONFIG, Project, Sutler

TWIN = '''
def tool_echo(text: str) -> str:
    """Another echo."""
    return "twin: " + text
'''


@pytest.fixture
def twins(project: Project) -> Project:
    """Two libraries that both have a tool_echo: the one that comes first by name keeps it."""
    project.library("twin.py", TWIN)
    return project


def test_a_bare_group_lists(sutler: Sutler) -> None:
    assert sutler("tools").out == sutler("tools", "list").out
    assert sutler("tools", "--json").json == sutler("tools", "list", "--json").json == sutler("--json", "tools").json


def test_a_list_has_name_source_grade_decision_and_description(sutler: Sutler) -> None:
    rows = {line.split("\t")[0]: line.split("\t") for line in sutler("tools").out.splitlines()}
    assert rows["tool_echo"] == ["tool_echo", "kit", "(1, 0)", "allow", "Give a text back."]
    assert rows["tool_wipe"][2:4] == ["(3, 3)", "ask"]
    strict = sutler("tools", "--policy", "strict").out.splitlines()
    assert {line.split("\t")[3] for line in strict} == {"ask"}


def test_your_own_tools_stand_before_the_shipped_ones_and_say_what_nobody_declared(sutler: Sutler) -> None:
    rows = [line.split("\t") for line in sutler("tools").out.splitlines()]
    shipped = [row[1] == "default" for row in rows]
    assert shipped == sorted(shipped)
    assert (rows[0][1], rows[-1][1]) == ("kit", "default")
    assert {row[0]: row[2] for row in rows}["tool_fail"] == "undeclared (3, 3)"
    assert "undeclared, which counts as (3, 3)" in sutler("tools", "show", "tool_fail").out


def test_a_group_alone_takes_the_options_of_its_list(twins: Project, sutler: Sutler) -> None:
    assert sutler("tools", "--all").out == sutler("tools", "list", "--all").out
    assert "twin::tool_echo" in sutler("tools", "--all").out
    sutler("call", "tool_echo", "text=a")
    assert "kit::tool_echo" in sutler("runs", "--calls", "-n", "1").out
    misplaced = sutler("tools", "--all", "show", "tool_echo")
    assert misplaced.code == 2
    assert "options of show stand after it" in misplaced.err


def test_search_reaches_short_names_and_leaves_out_what_hardly_matches(sutler: Sutler) -> None:
    assert sutler("tools", "search", "directory").out.startswith("list_dir\t")
    found = sutler("tools", "search", "read", "file")
    names = [line.split("\t")[0] for line in found.out.splitlines()]
    assert names[0] == "read_file"
    assert "delete_path" not in names  # which has only one of the words
    assert "weaker matches" in found.err


def test_a_list_counts_what_it_does_not_show_and_says_who_explains(twins: Project, sutler: Sutler) -> None:
    twins.library("worse.py", "def tool_worse(:\n")
    twins.config('[libraries]\nfolders = ["tools", "gone"]\n')
    done = sutler("tools")
    assert "1 shadowed" in done.err
    assert "1 quarantined" in done.err
    assert "sutler doctor" in done.err
    everything = sutler("tools", "list", "--all").out
    assert "\ntwin::tool_echo\t" in everything
    assert "twin::tool_echo" not in done.out


def test_a_folder_without_tools_says_what_to_do(project: Project, sutler: Sutler) -> None:
    project.config("default_tools = false\n")
    done = sutler("tools")
    assert (done.out, done.code) == ("", 0)
    assert "sutler init" in done.err


@pytest.mark.requirement("LIB-05")
def test_show_has_everything_and_what_the_library_says_of_itself(sutler: Sutler) -> None:
    text = sutler("tools", "show", "tool_echo").out
    for words in (
        "tool_echo(text: str, times: int = 1",
        "Give a text back.",
        "What to give back.",
        "kit::tool_echo",
        "kit__tool_echo",
        "(1, 0), declared by the tool",
        "kit.py:15",
        "T Test tools; also testing, trial: What the tests call.",
        '"type": "object"',
    ):
        assert words in text, words
    document = sutler("tools", "show", "kit::tool_echo", "--json").json
    assert document["library"]["name"] == "Test tools"
    assert document["library"]["aliases"] == ["testing", "trial"]
    assert document["input_schema"]["required"] == ["text"]
    assert document["signature"].startswith("tool_echo(text: str")
    assert document["digest"]


@pytest.mark.requirement("LIB-05")
def test_a_library_that_waits_for_its_load_flag_is_shown_as_such(project: Project, sutler: Sutler) -> None:
    library = (
        'TOOL_LIBRARY_NAME = "Danger"\nTOOL_LIBRARY_LOAD_FLAG = "allow_danger"\ndef tool_danger():\n    return 1\n'
    )
    project.library("danger.py", library)
    done = sutler("tools", "why", "danger::tool_danger")
    assert done.code == 4
    assert "allow_danger = true" in done.err
    assert "note     source danger   Danger; turned on by allow_danger; unavailable" in sutler("doctor").out
    project.config(CONFIG + "[host_tool_configs.danger]\nallow_danger = true\n")
    assert sutler("call", "tool_danger").out == "1\n"
    assert "Danger; turned on by allow_danger" in sutler("tools", "show", "tool_danger").out


def test_search_ranks_names_over_parameters_over_descriptions(project: Project, sutler: Sutler) -> None:
    project.library(
        "words.py",
        'def tool_parcel(weight: int):\n    """Send it."""\n'
        'def tool_weight(thing: str):\n    """Measure it."""\n'
        'def tool_scale(thing: str):\n    """Tell the weight of a thing."""\n'
        'def tool_letter(thing: str):\n    """Nothing of the kind."""\n',
    )
    found = [line.split("\t")[0] for line in sutler("tools", "search", "weight").out.splitlines()]
    assert found == ["tool_weight", "tool_parcel", "tool_scale"]
    both = sutler("tools", "search", "WEIGHT", "parcel", "--json").json["tools"]
    assert both[0]["name"] == "tool_parcel"  # it has both words
    assert both[0]["score"] > 0
    nothing = sutler("tools", "search", "zeppelin")
    assert (nothing.code, nothing.out) == (0, "")
    assert "zeppelin" in nothing.err


@pytest.mark.requirement("SRC-07")
def test_why_names_the_winner_the_shadowed_and_how_programs_reach_both(twins: Project, sutler: Sutler) -> None:
    text = sutler("tools", "why", "tool_echo").out
    assert "kit::tool_echo" in text.splitlines()[0]
    assert "has the bare name tool_echo: precedence 15" in text
    assert "twin::tool_echo is shadowed by kit::tool_echo: equal precedence 15" in text
    assert "programs reach it as twin__tool_echo" in text
    assert "in programs: tool_echo, kit__tool_echo" in text
    shadowed = sutler("tools", "why", "twin::tool_echo")
    assert "has lost the bare name tool_echo to kit::tool_echo" in shadowed.out
    assert "in programs: twin__tool_echo\n" in shadowed.out
    assert sutler("call", "twin::tool_echo", "text=a").out == "twin: a\n"
    assert sutler("run", "-c", "twin__tool_echo('a') + tool_echo('b')").out == "twin: ab\n"


@pytest.mark.requirement("SRC-07")
def test_why_in_json_has_the_same_as_data(twins: Project, sutler: Sutler) -> None:
    document = sutler("tools", "why", "tool_echo", "--json").json
    assert document["winner"] == "kit::tool_echo"
    assert document["shadowed"][0]["tool"] == "twin::tool_echo"
    assert document["shadowed"][0]["in_programs"] == "twin__tool_echo"
    assert "equal precedence" in document["shadowed"][0]["reason"]
    assert document["grade"] == {"w": 1, "d": 0}


def test_why_says_where_the_grade_is_from_and_what_each_level_says(project: Project, sutler: Sutler) -> None:
    document = sutler("tools", "why", "tool_wipe", "--json").json
    levels = document["policy"]["levels"]
    assert {level: one["outcome"] for level, one in levels.items()} == {
        "strict": "ask",
        "safe": "ask",
        "full_access": "allow",
    }
    assert document["policy"]["row"] == "tool folder"
    assert document["grade_from"] == "declared"
    project.config(CONFIG + '[grades]\n"kit::tool_wipe" = { w = 1, d = 2 }\n')
    text = sutler("tools", "why", "tool_wipe").out
    assert f"override: [grades] of the config ({project.file}:4)" in text
    assert "at level safe, in force here: allow" in text
    assert "undeclared, which counts as (3, 3)" in sutler("tools", "why", "tool_fail").out


def test_what_a_tool_says_of_itself_cannot_move_the_cursor(project: Project, sutler: Sutler) -> None:
    project.library("sly.py", 'def tool_sly():\n    """Nice\\x1b[2K\\u202e tool\\x07."""\n')
    done = sutler("tools")
    assert "Nice\\x1b[2K\\u202e tool\\x07." in done.out
    assert "\x1b" not in done.out + sutler("tools", "show", "tool_sly").out.partition("\n\n")[0]
    assert json.loads(sutler("tools", "show", "tool_sly", "--json").out)["description"] == "Nice\x1b[2K\u202e tool\x07."


def test_a_docstring_that_misspells_a_parameter_is_noted(project: Project, sutler: Sutler) -> None:
    project.library(
        "spelled.py",
        "def tool_google(name: str, times: int):\n"
        '    """Say.\n\n    Args:\n        nme: Who.\n        times: How.\n    """\n'
        'def tool_sphinx(seconds: int):\n    """Wait.\n\n    :param secnds: How long.\n    """\n'
        'def tool_open(a: int, **more):\n    """Take.\n\n    Args:\n        a: One.\n        b: Another.\n    """\n',
    )
    note = "note: the docstring describes nme, which is no parameter; did you mean name?\n"
    assert note in sutler("tools", "show", "tool_google").err
    assert (
        "describes secnds, which is no parameter; did you mean seconds?" in sutler("tools", "show", "tool_sphinx").err
    )
    assert "describes" not in sutler("tools", "show", "tool_open").err
    assert "spelled::tool_google: the docstring describes nme" in sutler("doctor").out
