"""`sutler audit`: the log of a project, looked at and checked (POL-07)."""

from __future__ import annotations

import sqlite3

import pytest

from sutler.store import default_path

from .conftest import Project, Sutler

pytestmark = pytest.mark.requirement("POL-07")


def test_the_log_lists_what_was_called_decided_and_run_with_filters(project: Project, sutler: Sutler) -> None:
    assert sutler("audit").code == 0  # nothing was done yet, and looking makes no file
    assert not default_path(project.root).exists()
    sutler("call", "tool_echo", "text=hi")
    sutler("call", "tool_wipe", "path=x")
    sutler("run", "-c", "tool_echo('a')")
    listed = sutler("audit", "list", "--json").json["lines"]
    assert {line["kind"] for line in listed} >= {"call.ended", "run.started", "run.ended"}
    echo = [line for line in listed if line["tool"] == "kit::tool_echo" and line["kind"] == "call.ended"]
    assert [line["data"]["outcome"] for line in echo] == ["ok", "ok"]
    assert echo[-1]["data"]["arguments"]["text"] == "hi"
    (wipe,) = sutler("audit", "--tool", "tool_wipe", "--kind", "call", "--json").json["lines"]
    assert wipe["data"]["outcome"] == "denied"
    assert sutler("audit", "--since", "1h", "--limit", "1").out.count("\n") == 1
    assert sutler("audit", "--since", "2100-01-01", "--json").json["lines"] == []
    run = next(line["run_id"] for line in listed if line["kind"] == "run.ended")
    assert {line["run_id"] for line in sutler("audit", "--run", run, "--json").json["lines"]} == {run}
    shown = sutler("audit", "show", str(wipe["line"]))
    assert "kit::tool_wipe" in shown.out and wipe["hash"] in shown.out
    assert sutler("audit", "show", "999").code == 2
    assert sutler("audit", "--since", "yesterday").code == 2
    wrong = sutler("audit", "--kind", "chang")
    assert wrong.code == 2 and "no lines of the kind 'chang'; there are call, run, decision, change" in wrong.err


def test_a_call_that_nobody_could_be_asked_about_is_no_decision_of_a_person(sutler: Sutler) -> None:
    sutler("call", "tool_wipe", "path=x")
    (line,) = sutler("audit", "--kind", "decision", "--json").json["lines"]
    assert (line["data"]["decision"], line["data"]["by"]) == ("reject", "nobody")


def test_the_reason_of_a_grant_is_on_the_log(sutler: Sutler) -> None:
    sutler("approvals", "grant", "tool_wipe", "--reason", "it is my own")
    (line,) = sutler("audit", "--kind", "change.approval", "--json").json["lines"]
    assert line["data"]["reason"] == "it is my own"


def test_verify_says_whether_the_log_is_as_it_was_written(project: Project, sutler: Sutler) -> None:
    sutler("call", "tool_echo", "text=hi")
    good = sutler("audit", "verify", "--json")
    assert (good.code, good.json["intact"], good.json["problems"]) == (0, True, [])
    assert sutler("audit", "verify", "--head", good.json["head"]).code == 0
    assert sutler("audit", "verify", "--head", "0" * 32).code == 1
    connection = sqlite3.connect(default_path(project.root), isolation_level=None)
    connection.execute("UPDATE steps SET args = '{}'")
    connection.close()
    bad = sutler("audit", "verify")
    assert bad.code == 1
    assert "is not what was written" in bad.out
