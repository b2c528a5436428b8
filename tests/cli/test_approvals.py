"""`sutler approvals`, runs that wait, and what is allowed beforehand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sutler.policy.project import ProjectApprovals

from ..terminal import python_at_terminal
from .conftest import CONFIG, TOOLS, Project, Sutler

WIPE_TWICE = "a = tool_wipe('a')\nb = tool_wipe('b')\n[a, b]"


def waiting(sutler: Sutler, text: str = WIPE_TWICE) -> str:
    done = sutler("run", "-c", text, "--wait", "--json")
    assert done.code == 5 and done.json["status"] == "waiting"
    run_id: str = done.json["run_id"]
    return run_id


@pytest.mark.requirement("POL-04", "POL-05")
def test_a_run_that_needs_approval_waits_says_for_what_and_how_to_grant_it(sutler: Sutler) -> None:
    done = sutler("run", "-c", WIPE_TWICE, "--wait")
    assert done.code == 5 and done.out == ""
    run_id = sutler("runs", "list", "--status", "waiting", "--json").json["runs"][0]["run_id"]
    assert f"run {run_id} waits for approval, line 1: [SAFE] kit::tool_wipe (3, 3)" in done.err
    assert '| kit::tool_wipe(path="a")' in done.err
    assert f"sutler approvals grant {run_id}" in done.err
    listed = sutler("approvals")
    assert listed.code == 0
    assert [line.split("\t")[:2] for line in listed.out.splitlines()] == [[run_id, "kit::tool_wipe"]]
    document = sutler("approvals", "list", "--json").json
    assert document["waiting"][0]["waiting"]["source"] == 'kit::tool_wipe(path="a")'
    assert document["approvals"] == [] and document["trouble"] is None


@pytest.mark.requirement("POL-04", "POL-05")
def test_granting_a_run_lets_it_go_on_to_the_next_call_that_needs_it_and_to_its_end(sutler: Sutler) -> None:
    run_id = waiting(sutler)
    again = sutler("approvals", "grant", run_id[:7])
    assert again.code == 5 and 'tool_wipe(path="b")' in again.err
    done = sutler("approvals", "grant", run_id, "--json")
    assert done.code == 0 and done.json["output"] == ["wiped a", "wiped b"]
    assert done.json["trace"][0]["decision"]["by"] == "the person"
    late = sutler("approvals", "grant", run_id)
    assert late.code == 2 and f"run {run_id} does not wait for anybody: its status is completed" in late.err
    assert sutler("approvals").out == ""


@pytest.mark.requirement("POL-05")
def test_a_program_that_nobody_can_be_asked_about_is_told_that_it_could_wait(sutler: Sutler) -> None:
    assert "or let it wait with --wait" in sutler("run", "-c", WIPE_TWICE).err
    assert "--wait" not in sutler("call", "tool_wipe", "path=x").err


@pytest.mark.requirement("POL-04")
@pytest.mark.parametrize("scope", ["run", "project"])
def test_a_grant_may_reach_over_the_rest_of_the_run(sutler: Sutler, scope: str) -> None:
    run_id = waiting(sutler)
    done = sutler("approvals", "grant", run_id, "--scope", scope, "--expires", "1h", "--json")
    assert done.code == 0 and done.json["output"] == ["wiped a", "wiped b"]
    assert (sutler("call", "tool_wipe", "path=c").code == 0) == (scope == "project")


@pytest.mark.requirement("POL-04", "POL-05")
def test_a_rejected_run_gets_an_error_that_it_can_catch_with_the_reason(sutler: Sutler) -> None:
    text = "try:\n    tool_wipe('a')\nexcept PermissionError as error:\n    said = str(error)\nsaid"
    done = sutler("approvals", "reject", waiting(sutler, text), "--reason", "not on a Friday")
    assert done.code == 0 and "not on a Friday" in done.out
    done = sutler("approvals", "reject", waiting(sutler))
    assert done.code == 5 and "the person said no" in done.err


@pytest.mark.requirement("POL-05")
def test_a_waiting_run_is_cancelled_and_then_waits_no_more(sutler: Sutler) -> None:
    run_id = waiting(sutler)
    assert sutler("runs", "cancel", run_id).code == 0
    assert sutler("runs", "show", run_id, "--json").json["status"] == "cancelled"
    for command in (("runs", "cancel"), ("runs", "resume"), ("approvals", "reject")):
        late = sutler(*command, run_id)
        assert late.code == 2 and "its status is cancelled" in late.err
    assert "no waiting run 'nope'" in sutler("runs", "cancel", "nope").err


@pytest.mark.requirement("POL-05")
def test_a_resumed_run_goes_by_what_holds_now_and_else_waits_on(sutler: Sutler) -> None:
    run_id = waiting(sutler)
    assert sutler("runs", "resume", run_id).code == 5
    assert sutler("approvals", "grant", "tool_wipe").code == 0
    done = sutler("runs", "resume", run_id, "--json")
    assert done.code == 0 and done.json["output"] == ["wiped a", "wiped b"]


@pytest.mark.requirement("POL-04")
def test_two_processes_that_grant_the_same_run_make_its_call_once(shared: Project) -> None:
    log = shared.root / "log.txt"
    shared.library(
        "once.py",
        "import time\nfrom pathlib import Path\nfrom sutler import tool\n"
        "@tool(destructive=True)\ndef tool_once():\n"
        f"    with open({str(log)!r}, 'a') as file:\n        file.write('x')\n"
        "    time.sleep(0.3)\n",
    )
    made = shared.process("run", "-c", "tool_once()", "--wait", "--json")
    run_id = json.loads(made.out)["run_id"]
    command = [sys.executable, "-m", "sutler.cli", "approvals", "grant", run_id]
    children = [
        subprocess.Popen(command, cwd=shared.root, env=shared.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for child in children:
        child.communicate(timeout=60)
    codes = sorted(child.returncode for child in children)
    assert codes[0] == 0 and codes[1:] != [0, 0] and log.read_text() == "x"


@pytest.mark.requirement("POL-04")
def test_a_tool_that_is_granted_runs_unasked_here_until_it_changes_expires_or_is_revoked(
    sutler: Sutler, project: Project
) -> None:
    assert sutler("call", "tool_wipe", "path=a").code == 5
    made = sutler("approvals", "grant", "tool_wipe", "--expires", "7d")
    assert made.code == 0 and "allows kit::tool_wipe" in made.out and " until " in made.out
    assert "[SAFE] kit::tool_wipe (3, 3)" in made.err
    assert sutler("call", "tool_wipe", "path=a").out == "wiped a\n"
    assert sutler("run", "-c", "tool_wipe('b')", "--wait").code == 0
    (held,) = sutler("approvals", "--json").json["approvals"]
    assert (held["tool"], held["scope"], held["definition"]) == ("kit::tool_wipe", "project", "as approved")
    project.library("kit.py", TOOLS.replace("Remove something for good.", "Remove it, and send a copy away."))
    assert sutler("call", "tool_wipe", "path=a").code == 5
    assert sutler("approvals", "--json").json["approvals"][0]["definition"] == "changed since: asks"
    project.library("kit.py", TOOLS)
    assert sutler("call", "tool_wipe", "path=a").code == 0
    assert sutler("approvals", "revoke", held["id"][:4]).code == 0
    assert sutler("call", "tool_wipe", "path=a").code == 5
    project.library("kit.py", "def tool_other(): ...\n")
    sutler("approvals", "grant", "tool_other")
    project.library("kit.py", TOOLS)
    assert sutler("approvals", "--json").json["approvals"][0]["definition"] == "no such tool now"


@pytest.mark.requirement("POL-04")
def test_exact_arguments_are_bound_as_a_call_would_bind_them_and_cover_no_others(sutler: Sutler) -> None:
    made = sutler("approvals", "grant", "tool_wipe", "path=a b", "--json")
    assert made.json["granted"]["arguments"] == 'kit::tool_wipe(path="a b")'
    assert sutler("call", "tool_wipe", "path=a b").code == 0
    assert sutler("call", "tool_wipe", "path=c").code == 5
    wrong = sutler("approvals", "grant", "tool_wipe", "pathh=a")
    assert wrong.code == 2 and "path" in wrong.err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("grant", "tool_wipe", "--scope", "session"), "for the project, or with exact arguments"),
        (("grant", "tool_wipe", "--scope", "forever"), "the scopes are call, session"),
        (("grant", "tool_wipe", "--scope", "exact"), "give the arguments"),
        (("grant", "tool_wipe", "path=a", "--scope", "project"), "covers any arguments"),
        (("grant", "tool_wipe", "--expires", "soon"), "such as 45m"),
        (("grant", "tool_wipe", "--expires", "0d"), "such as 45m"),
        (("grant", "tool_wip"), "tool_wipe"),
        (("reject", "nope"), "no waiting run"),
        (("revoke",), "by their ids"),
        (("revoke", "ab", "--all"), "by their ids"),
        (("revoke", "zz"), "no approval"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_can(sutler: Sutler, argv: tuple[str, ...], words: str) -> None:
    done = sutler("approvals", *argv)
    assert done.code == 2 and words in done.err


@pytest.mark.requirement("POL-04")
def test_a_damaged_file_allows_nothing_is_told_by_doctor_and_left_until_it_is_cleared(
    sutler: Sutler, project: Project
) -> None:
    assert sutler("approvals", "grant", "tool_wipe").code == 0
    kept = ProjectApprovals(project.root)
    kept.path.write_text("{")
    assert sutler("call", "tool_wipe", "path=a").code == 5
    listed = sutler("approvals")
    assert listed.code == 3 and str(kept.path) in listed.err
    found = [one for one in sutler("doctor", "--json").json["findings"] if one["about"] == "approvals"]
    assert found[0]["state"] == "problem" and "none of them holds" in found[0]["said"]
    assert sutler("approvals", "grant", "tool_wipe").code == 3
    assert kept.path.read_text() == "{"
    assert sutler("approvals", "revoke", "--all").code == 0
    assert sutler("approvals", "grant", "tool_wipe").code == 0
    assert sutler("call", "tool_wipe", "path=a").code == 0


@pytest.mark.requirement("POL-04")
def test_nobody_to_ask_says_the_command_that_would_allow_it_and_it_does(sutler: Sutler) -> None:
    refused = sutler("call", "tool_wipe", "path=a")
    command = refused.err.partition("`sutler ")[2].partition("`")[0]
    assert command == "approvals grant kit::tool_wipe"
    assert sutler(*command.split()).code == 0
    assert sutler("call", "tool_wipe", "path=a").code == 0


@pytest.mark.requirement("POL-04")
def test_what_changed_is_in_the_audit_log(sutler: Sutler, project: Project) -> None:
    from sutler.store import AuditFilter, SqliteStore, default_path

    sutler("approvals", "grant", "tool_wipe")
    sutler("approvals", "revoke", "--all")
    store = SqliteStore(default_path(project.root))
    try:
        lines = store.audit(AuditFilter(kind="change.approval"))
    finally:
        store.close()
    assert [next(iter(set(line.data) & {"given", "revoked"})) for line in lines] == ["revoked", "given"]


@pytest.mark.requirement("POL-04", "POL-05", "LCP-02")
def test_at_a_terminal_p_allows_for_the_project_and_a_waiting_run_is_asked_about(shared: Project) -> None:
    shared.config(CONFIG)

    def at_terminal(*argv: str, answers: list[tuple[str, str]]) -> tuple[int, str]:
        return python_at_terminal(["-m", "sutler.cli", *argv], answers, cwd=shared.root, env=shared.env)

    code, seen = at_terminal("run", "-c", "tool_wipe('a')", "--wait", answers=[])
    assert code == 5 and "Run it?" not in seen
    run_id = json.loads(shared.process("approvals", "--json").out)["waiting"][0]["run_id"]
    code, seen = at_terminal("runs", "resume", run_id, answers=[("Run it?", "y\n")])
    assert code == 0 and "wiped a" in seen
    code, seen = at_terminal("call", "tool_wipe", "path=x", answers=[("p = always in this project", "p\n")])
    assert code == 0
    assert shared.process("call", "tool_wipe", "path=y").code == 0
    assert shared.process("approvals", "revoke", "--all").code == 0


@pytest.mark.requirement("LCP-13")
def test_a_tool_asks_the_person_at_the_terminal_and_nobody_elsewhere(shared: Project) -> None:
    shared.library(
        "asking.py",
        "def tool_ask(kind: str, user_interaction_handler=None):\n"
        "    if user_interaction_handler is None:\n        return 'nobody'\n"
        "    return user_interaction_handler({'type': kind, 'title': 'T', 'prompt': 'Which?'})\n",
    )
    code, seen = python_at_terminal(
        ["-m", "sutler.cli", "call", "tool_ask", "kind=secret"],
        [("not shown: ", "tulips-7\n")],
        cwd=shared.root,
        env=shared.env,
    )
    assert code == 0 and "tulips-7" not in seen and "***" in seen
    assert shared.process("call", "tool_ask", "kind=secret").out == "nobody\n"
    state = Path(shared.env["SUTLER_STATE_DIR"])
    assert all(b"tulips-7" not in file.read_bytes() for file in state.rglob("*") if file.is_file())


@pytest.mark.requirement("LCP-02", "POL-04")
@pytest.mark.parametrize("stdin", ["", "y\n", "a\n" * 100])
def test_what_is_piped_in_is_no_answer(shared: Project, stdin: str) -> None:
    refused = shared.process("call", "tool_wipe", "path=x", stdin=stdin)
    assert refused.code == 5 and "nobody to ask" in refused.err and "approvals grant" in refused.err
    closed = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m sutler.cli call tool_wipe path=x <&-'],
        cwd=shared.root,
        env=shared.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert closed.returncode == 5 and "nobody to ask" in closed.stderr
