"""`sutler doctor`: everything that could explain trouble."""

from __future__ import annotations

from typing import Any

import pytest

from sutler.cli.findings import Finding, lines_of

from .conftest import CONFIG, Project, Sutler


def _about(document: Any, about: str) -> list[dict[str, str]]:
    return [one for one in document["findings"] if one["about"] == about]


def test_all_is_well_in_a_sound_project(project: Project, sutler: Sutler) -> None:
    document = sutler("doctor", "--json").json
    states = {one["about"]: one["state"] for one in document["findings"]}
    assert document["ok"] is True
    for about in ("system", "config", "user config", "source kit", "limits", "workspace", "sandbox", "store", "policy"):
        assert states[about] == "ok", about
    done = sutler("doctor")
    assert done.code == 0
    assert done.out.splitlines()[-1].startswith("0 problems")
    assert "Python 3" in done.out
    assert f"{project.file} (trusted)" in done.out
    assert "wall_seconds 300" in done.out
    assert "Test tools" in done.out
    assert done.err == ""


@pytest.mark.requirement("SRC-10")
def test_one_bad_tool_and_one_bad_source_take_nothing_else_down_and_are_explained(
    project: Project, sutler: Sutler
) -> None:
    project.config(
        '[libraries]\nfolders = ["tools", "gone"]\n'
        '[[tools]]\nname = "crooked"\nmodule = "m"\nfunction = "f"\ninput_schema = { type = "object", '
        'properties = { a = { type = "nonsense" } } }\n'
        '[[tools]]\nname = "straight"\nmodule = "straight"\nfunction = "f"\n'
    )
    (project.root / "straight.py").write_text("def f():\n    return 'fine'\n")
    done = sutler("doctor")
    assert done.code == 1
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert any(line.startswith(f"problem quarantined {project.root / 'gone'}: no such folder") for line in lines)
    crooked = next(line for line in lines if line.startswith("problem quarantined config::crooked"))
    assert "nonsense" in crooked
    assert f"{project.file}:3" in crooked
    assert sutler("call", "straight").out == "fine\n"
    assert sutler("call", "tool_echo", "text=a").out == "a\n"
    assert sutler("call", "crooked").code == 4
    assert "nonsense" in sutler("tools", "why", "crooked").err


def test_the_models_of_the_config_are_shown_without_their_keys(project: Project, sutler: Sutler) -> None:
    project.config(
        '[models.writer]\nbase_url = "http://me:hunter22@localhost:9/v1"\nmodel = "m"\napi_key = "sk-not-shown"\n'
        '[models.fast]\nbase_url = "http://localhost:9/v1"\n'
    )
    done = sutler("doctor")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    writer = f"ok model writer text, in use: 'm' at http://localhost:9/v1 with a key ({project.file}:1)"
    assert writer in lines
    assert any(line.startswith("ok model fast text, by switch_* to 'fast'") for line in lines)
    assert "sk-not-shown" not in done.out + done.err
    assert "hunter22" not in done.out + done.err


@pytest.mark.requirement("SRC-10")
def test_a_library_that_does_not_parse_is_named_with_file_and_line(project: Project, sutler: Sutler) -> None:
    file = project.library("torn.py", "def tool_whole():\n    return 1\n\ndef tool_torn(:\n    pass\n")
    out = sutler("doctor").out
    assert f"{file}:4" in out
    assert sutler("call", "tool_echo", "text=a").code == 0


@pytest.mark.requirement("WSP-04")
def test_it_says_where_tools_run_when_threads_have_no_folder_of_their_own(
    project: Project, sutler: Sutler, monkeypatch: pytest.MonkeyPatch
) -> None:
    [own] = _about(sutler("doctor", "--json").json, "current folder")
    project.library("place.py", "import os\ndef tool_place():\n    return [os.getcwd(), os.getpid()]\n")
    monkeypatch.setenv("SUTLER_NO_THREAD_CWD", "1")
    [shared] = _about(sutler("doctor", "--json").json, "current folder")
    assert shared["state"] == "note"
    assert "SUTLER_NO_THREAD_CWD" in shared["said"]
    assert "worker processes" in shared["said"]
    assert own["said"] != shared["said"]
    called = project.process("call", "tool_place", "--json", cwd=project.root / "tools")
    assert called.json["output"][0] == str(project.root)


def test_a_broken_config_is_a_problem_and_the_rest_is_still_looked_at(project: Project, sutler: Sutler) -> None:
    project.config("[policy]\nlevel = 3\n")
    done = sutler("doctor", "--json")
    assert done.code == 3
    [problem, without] = _about(done.json, "config")
    assert f"{project.file}:2" in problem["said"]
    assert without["state"] == "note"
    assert _about(done.json, "sandbox")[0]["state"] == "ok"
    assert _about(done.json, "source default")[0]["state"] == "ok"


def test_an_untrusted_config_is_a_note_with_what_is_withheld(project: Project, sutler: Sutler) -> None:
    project.config(CONFIG + "# changed\n", trusted=False)
    done = sutler("doctor", "--json")
    assert done.code == 0
    [first, second] = _about(done.json, "config")
    assert (first["state"], second["state"]) == ("note", "note")
    assert "sutler trust" in first["do"]
    assert "libraries.folders" in second["said"]


def test_shadowed_duplicate_and_noted_tools_are_explained(project: Project, sutler: Sutler) -> None:
    project.library("twin.py", "def tool_echo():\n    return 1\ndef tool_len():\n    pass\ndef tool_len():\n    pass\n")
    out = sutler("doctor").out
    assert "twin::tool_echo is shadowed by kit::tool_echo" in out
    assert "twin::tool_len: the definition at" in out


def test_a_state_folder_that_others_may_write_is_a_problem(project: Project, sutler: Sutler) -> None:
    trust = project.home / "state" / "trust"
    trust.chmod(0o777)
    done = sutler("doctor", "--json")
    [finding] = _about(done.json, "state folder")
    assert (done.code, finding["state"]) == (1, "problem")
    assert finding["do"] == f"chmod go-w {trust}"


def test_a_state_folder_that_cannot_be_made_is_a_problem(
    project: Project, sutler: Sutler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUTLER_STATE_DIR", "/proc/nowhere/state")
    done = sutler("doctor", "--json")
    assert done.code == 1
    assert "cannot be made in /proc" in _about(done.json, "state folder")[0]["said"]


def test_a_damaged_store_is_a_problem(project: Project, sutler: Sutler) -> None:
    sutler("call", "tool_echo", "text=a")
    [store] = (project.home / "state" / "runs").glob("*.db")
    store.write_bytes(b"not a database" * 1000)
    done = sutler("doctor", "--json")
    assert done.code == 1
    assert str(store) in _about(done.json, "store")[0]["said"]


def test_doctor_makes_nothing(project: Project, sutler: Sutler) -> None:
    sutler("doctor")
    assert not (project.home / "state" / "runs").exists()


def test_a_file_that_is_not_python_is_one_problem_with_the_tools_it_holds_back(
    project: Project, sutler: Sutler
) -> None:
    tools = "".join(f"def tool_{n}():\n    return {n}\n\n" for n in range(12))
    file = project.library("torn.py", tools + "def tool_torn(:\n    pass\n")
    done = sutler("doctor", "--json")
    assert done.code == 1
    about = [one for one in done.json["findings"] if "torn" in one["about"] + one["said"]]
    assert [(one["about"], one["state"]) for one in about] == [("source torn", "problem")]
    assert about[0]["said"].startswith(f"{file}:37: invalid syntax: the file is not Python, so its ")
    assert "tools cannot be called" in about[0]["said"]


def test_functions_that_would_be_tools_are_named(project: Project, sutler: Sutler) -> None:
    (project.root / "plain").mkdir()
    (project.root / "plain" / "work.py").write_text("def count():\n    pass\ndef _own():\n    pass\ndef total(): 1\n")
    project.library("named.py", 'TOOL_LIBRARY_NAME = "Named"\ndef helper():\n    pass\n')
    project.config('[libraries]\nfolders = ["tools", "plain"]\n')
    said = [one["said"] for one in _about(sutler("doctor", "--json").json, "functions")]
    no_tool = "no tool, being neither named tool_... nor marked with @tool (from sutler import tool)"
    assert sorted(said) == [
        f"{project.root}/plain/work.py: count, total: {no_tool}",
        f"{project.root}/tools/named.py: helper: {no_tool}",
    ]


def test_a_config_of_a_library_that_is_not_there_is_noted(project: Project, sutler: Sutler) -> None:
    project.config(CONFIG + "[host_tool_configs.kitt]\na = 1\n[host_tool_configs.kit]\na = 1\n")
    document = sutler("doctor", "--json").json
    [note] = _about(document, "host_tool_configs.kitt")
    assert (note["state"], "did you mean kit?" in note["said"]) == ("note", True)
    assert not _about(document, "host_tool_configs.kit")


def test_a_home_folder_as_the_workspace_is_noted(
    project: Project, sutler: Sutler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project.root.parent))
    monkeypatch.chdir(project.root.parent)
    note, root = _about(sutler("doctor", "--json").json, "workspace")
    assert (note["state"], root["state"]) == ("note", "ok")
    assert "--workspace DIR" in note["do"]


def test_on_a_terminal_a_finding_wraps_under_itself() -> None:
    finding = Finding(about="source kit", state="note", said="one two three " * 10, do="do this")
    lines = lines_of(finding, 12, 60)
    assert lines[0].startswith("note     source kit    one two")
    assert all(line.startswith(" " * 23) and line[23] != " " for line in lines[1:])
    assert lines[-1].endswith("-> do this")
    assert max(map(len, lines)) <= 60
    long = Finding(about="source /a/very/long/path/of/a/folder", state="ok", said="fine")
    assert lines_of(long, 36, 60) == ["ok       source /a/very/long/path/of/a/folder", f"{'':35}fine"]
    assert lines_of(long, 36, 0) == ["ok       source /a/very/long/path/of/a/folder  fine"]
