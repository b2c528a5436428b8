"""`sutler runs`: what was run here."""

from __future__ import annotations

from pathlib import Path

from .conftest import CONFIG, Project, Sutler


def test_looking_at_runs_makes_no_store(project: Project, sutler: Sutler) -> None:
    done = sutler("runs")
    assert (done.code, done.out) == (0, "")
    assert "nothing has been run here yet" in done.err
    assert not (project.home / "state" / "runs").exists()


def test_runs_are_listed_newest_first_and_narrowed(sutler: Sutler) -> None:
    sutler("run", "-c", "tool_echo('first')")
    sutler("run", "-c", "1 / 0")
    lines = [line.split("\t") for line in sutler("runs").out.splitlines()]
    assert [line[2] for line in lines] == ["failed", "completed"]
    assert lines[1][4] == "tool_echo('first')"
    assert len(sutler("runs", "list", "--limit", "1").out.splitlines()) == 1
    assert [run["status"] for run in sutler("runs", "list", "--status", "completed", "--json").json["runs"]] == [
        "completed"
    ]
    assert sutler("runs", "list", "--limit", "0").code == 2
    assert sutler("runs", "list", "--calls", "--status", "failed").code == 2


def test_a_run_is_shown_by_the_beginning_of_its_id(sutler: Sutler) -> None:
    made = sutler("run", "-c", "x = tool_echo(name)\nprint('hi')\nx", "-p", "name=a", "--json").json
    text = sutler("runs", "show", made["run_id"][:6]).out
    for words in (made["run_id"], "completed", "   2  print('hi')", '"name": "a"', "kit::tool_echo", "Printed\nhi"):
        assert words in text
    document = sutler("runs", "show", made["run_id"], "--json").json
    assert (document["output"], document["params"], document["stdout"]) == ("a", {"name": "a"}, "hi\n")
    assert document["trace"][0]["args"]["text"] == "a"


def test_an_id_that_two_runs_begin_with_is_refused_with_both(sutler: Sutler) -> None:
    ids = {sutler("run", "-c", "1", "--json").json["run_id"] for _ in range(2)}
    start = ""
    while True:  # until two begin alike
        firsts = sorted(run_id[0] for run_id in ids)
        twice = [one for one in firsts if firsts.count(one) > 1]
        if twice:
            start = twice[0]
            break
        ids.add(sutler("run", "-c", "1", "--json").json["run_id"])
    done = sutler("runs", "show", start)
    assert done.code == 2
    assert f"2 runs begin with '{start}'" in done.err


def test_single_calls_are_kept_too(sutler: Sutler) -> None:
    sutler("call", "tool_echo", "text=one")
    sutler("call", "tool_wipe", "path=x")
    calls = sutler("runs", "list", "--calls", "--json").json["calls"]
    assert [(one["tool"], one["success"], one["kind"]) for one in calls] == [
        ("tool_wipe", False, "denied"),
        ("tool_echo", True, None),
    ]
    assert 'kit::tool_echo\ttext="one"' in sutler("runs", "list", "--calls").out


def test_runs_belong_to_the_project_wherever_in_it_one_stands(
    project: Project, sutler: Sutler, monkeypatch, tmp_path: Path
) -> None:
    inner = project.root / "deep" / "down"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    run_id = sutler("run", "-c", "1", "--json").json["run_id"]
    monkeypatch.chdir(project.root)
    assert run_id in sutler("runs").out
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert sutler("runs").out == ""
    assert run_id in sutler("runs", "--config", str(project.file)).out


def test_a_damaged_store_is_said_with_what_to_do(project: Project, sutler: Sutler) -> None:
    sutler("run", "-c", "1")
    store = Path(sutler("runs", "--json").json["store"])
    store.write_bytes(b"no database at all, and long enough to be taken for one" * 100)
    done = sutler("runs")
    assert done.code == 3
    assert str(store) in done.err
    project.config(CONFIG)


def test_secrets_of_the_config_are_masked_in_what_is_kept(project: Project, sutler: Sutler, monkeypatch) -> None:
    monkeypatch.setenv("MY_SECRET_WORD", "hunter2hunter2")
    project.config(CONFIG + '[host_tool_configs.kit]\napi_key = "${MY_SECRET_WORD}"\n')
    sutler("call", "tool_echo", "text=hunter2hunter2")
    assert "hunter2hunter2" not in sutler("runs", "list", "--calls", "--json").out


def test_a_program_of_several_lines_is_listed_by_its_first(sutler: Sutler) -> None:
    sutler("run", "-c", "\nx = 1\nx\n")
    sutler("run", "-c", "x = 1\n")
    programs = [line.split("\t")[4] for line in sutler("runs").out.splitlines()]
    assert programs == ["x = 1", "x = 1 ..."]


def test_a_single_call_is_shown_by_its_id(project: Project, sutler: Sutler) -> None:
    project.library("chat.py", "def tool_chat(n: int):\n    print('thinking')\n    return n / 0 if not n else [n]\n")
    sutler("call", "tool_chat", "n=2")
    sutler("call", "tool_chat", "n=0")
    bad, good = [line.split("\t")[0] for line in sutler("runs", "list", "--calls").out.splitlines()]
    text = sutler("runs", "show", good).out
    for words in (good, "chat::tool_chat", '"n": 2', "Printed\nthinking\n", "Output\n[\n  2\n]"):
        assert words in text
    assert "Error: tool_error: ZeroDivisionError" in sutler("runs", "show", bad).out
    assert sutler("runs", "show", good, "--json").json["result"] == [2]
    assert sutler("runs", "show", "nothing").code == 2
