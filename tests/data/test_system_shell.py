"""The shell tool as a model meets it: what runs, what is asked, what is told, and what is left when it is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler import SyncRuntime
from sutler.lcp import LCPBinding
from sutler.workspace.confine import confinement

from .conftest import CANARY, Place, make_place

TOOL = "tool_execute_shell_command"
Asked = list[tuple[str, str, Any]]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def answering(answer: object) -> tuple[Asked, Callable[..., object]]:
    asked: Asked = []

    def handler(source: str, script_label: str, argv: Any = None) -> object:
        asked.append((source, script_label, argv))
        return answer

    return asked, handler


def runtime(place: Place, handler: Any = None, **more: Any) -> SyncRuntime:
    options = {"config": False, "default_tools": False, "shipped": ["system_shell"], **more}
    return SyncRuntime(workspace=place.root, confirm_handler=handler, **options)


def run(rt: SyncRuntime, command: str, **more: Any) -> Any:
    return rt.call(TOOL, {"command": command, **more})


# ---------------------------------------------------------------------- who is asked for what


@pytest.mark.requirement("LCP-20")
def test_at_level_safe_what_only_reads_the_workspace_runs_unasked_and_all_else_asks(place: Place) -> None:
    asked, handler = answering(("reject", "not today"))
    with runtime(place, handler) as rt:
        assert run(rt, "grep -c hello a.txt").output == {"exit_code": 0, "stdout": "2\n", "stderr": ""}
        assert not asked
        result = run(rt, "rm -rf sub")
    assert result.error is not None and "not today" in str(result.error)
    assert (place.root / "sub").is_dir()
    [(source, label, argv)] = asked
    assert source == "rm -rf sub"
    assert "SAFE" in label and "system_shell" in label and "it deletes" in label
    assert argv[-2:] == ["-c", "rm -rf sub"]


@pytest.mark.requirement("LCP-20", "LCP-17")
def test_at_level_strict_every_command_asks_and_once_only(place: Place) -> None:
    asked, handler = answering(("allow", ""))
    with runtime(place, handler, host_tool_configs={"system_shell": {"autonomy_level": "strict"}}) as rt:
        assert run(rt, "ls").success
        assert [source for source, _, _ in asked] == ["ls"]
        assert run(rt, "rm -rf sub").success
    assert len(asked) == 2
    assert not (place.root / "sub").exists()


@pytest.mark.requirement("LCP-20")
def test_at_level_full_access_nothing_asks(place: Place) -> None:
    asked, handler = answering(("reject", ""))
    with runtime(place, handler, policy="full_access") as rt:
        assert run(rt, "echo $((1 + 1)) > n; cat n").output["stdout"] == "2\n"
    assert not asked


@pytest.mark.requirement("LCP-20")
@pytest.mark.parametrize("answer", [("deny", ""), None, 42, [], True, "allow", ("allow",), ("reject", None)])
def test_any_answer_but_a_plain_yes_runs_nothing(place: Place, answer: object) -> None:
    _, handler = answering(answer)
    with runtime(place, handler) as rt:
        assert not run(rt, "touch made").success
    assert not (place.root / "made").exists()


def test_with_nobody_to_ask_the_command_does_not_run_and_the_reason_is_told(place: Place) -> None:
    with runtime(place) as rt:
        result = run(rt, "touch made")
    assert "nobody to ask" in str(result.error) and "'touch'" in str(result.error)
    assert not (place.root / "made").exists()


@pytest.mark.requirement("LCP-20")
def test_it_answers_to_the_stem_of_the_document_in_the_binding_of_the_document(place: Place) -> None:
    asked, handler = answering(("reject", "no"))
    with LCPBinding(
        tools_folders=[],
        host_tool_configs={"system_shell": {"autonomy_level": "safe"}},
        confirm_handler=handler,
        workspace=place.root,
        shipped=["system_shell"],
    ) as binding:
        assert binding.execute_tool(TOOL, {"command": "cat b.txt"})["output"]["stdout"] == "hello\nmoon\n"
        answer = binding.execute_tool(TOOL, {"command": "curl http://127.0.0.1:1/"})
    assert (answer["success"], answer["status_code"]) == (False, 500)
    assert len(asked) == 1


def test_a_level_that_there_is_not_and_a_setting_that_there_is_not_are_errors(place: Place) -> None:
    with runtime(place, host_tool_configs={"system_shell": {"envv": []}}) as rt:
        error = str(run(rt, "ls").error)
    assert "host_tool_configs.system_shell.envv" in error and "env" in error


# ---------------------------------------------------------------------- what confines


@pytest.mark.requirement("LCP-20")
@pytest.mark.skipif(not confinement().landlock, reason="this machine has no Landlock")
def test_what_runs_unasked_could_not_leave_the_workspace_even_if_the_rules_were_wrong(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sutler.data.libraries.system_shell import system_shell
    from sutler.workspace import Workspace, current
    from sutler.workspace.commands import Stage, Step, run_job

    monkeypatch.chdir(place.root)
    token = current.set(Workspace(place.root))
    try:
        for script in ("cat ../outside/secret.txt", "cat /etc/shadow", "echo x > ../outside/w", "echo x > w"):
            stage = Stage(argv=("/bin/sh", "-c", script))
            outcome = run_job(system_shell.harmless([Step(stages=(stage,), cwd=str(place.root))], 5), cwd=place.root)
            assert outcome.exit_code and CANARY not in outcome.stdout, script
        stage = Stage(argv=("/bin/bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/1"))
        outcome = run_job(system_shell.harmless([Step(stages=(stage,), cwd=str(place.root))], 5), cwd=place.root)
        assert "Permission denied" in outcome.stderr
    finally:
        current.reset(token)
    assert not (place.root / "w").exists() and not (place.outside / "w").exists()


def test_the_hosts_variables_do_not_reach_a_command_unless_they_are_named(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "k-123")
    monkeypatch.setenv("WANTED", "w-123")
    config = {"system_shell": {"env": ["WANTED"]}}
    with runtime(place, policy="full_access", host_tool_configs=config) as rt:
        assert run(rt, 'echo "$SOME_API_KEY-$WANTED"').output["stdout"] == "-w-123\n"


# ---------------------------------------------------------------------- how it runs


def test_a_command_past_its_time_is_ended_with_all_it_started(place: Place) -> None:
    with runtime(place, policy="full_access") as rt:
        result = run(rt, "echo begun; (setsid sleep 300 & echo $! > pid); sleep 300", seconds=1)
        assert str(result.error) == "it was stopped after 1 s"
        assert result.output["stdout"] == "begun\n"
        pid = int((place.root / "pid").read_text())
    assert gone(pid)


def test_what_a_command_leaves_in_the_background_ends_with_it(place: Place) -> None:
    with runtime(place, policy="full_access") as rt:
        assert run(rt, "setsid sleep 300 > /dev/null 2>&1 & echo $! > pid").success
        pid = int((place.root / "pid").read_text())
    assert gone(pid)


def test_a_call_that_is_given_up_ends_its_command(place: Place) -> None:
    with runtime(place, policy="full_access") as rt:
        run_id = "given-up"
        done = threading.Event()

        def work() -> None:
            rt.run(f"{TOOL}(command='echo $$ > pid; exec sleep 300', seconds=200)", run_id=run_id)
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        until = time.monotonic() + 30
        while not (place.root / "pid").exists() or not (place.root / "pid").read_text().strip():
            assert time.monotonic() < until
            time.sleep(0.02)
        assert rt.cancel(run_id)
        assert done.wait(30)
        thread.join()
        assert gone(int((place.root / "pid").read_text()))


def gone(pid: int) -> bool:
    """Whether the process ends soon: what ends it is told before the call returns, and is not waited for."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_long_output_keeps_its_head_and_its_end(place: Place) -> None:
    with runtime(place, policy="full_access") as rt:
        shown = run(rt, "echo first; seq 100000; echo last").output["stdout"]
    assert shown.startswith("first\n") and shown.endswith("last\n")
    assert "bytes left out" in shown and len(shown) < 250_000


def test_a_failing_command_says_how_it_ended_and_what_it_wrote_last(place: Place) -> None:
    with runtime(place, policy="full_access") as rt:
        result = run(rt, "echo oops >&2; exit 3")
        assert str(result.error) == "it ended with exit status 3: oops"
        assert result.output["exit_code"] == 3
        assert "SIGKILL" in str(run(rt, "kill -9 $$").error)


def test_it_runs_in_the_folder_that_is_named_if_that_is_inside(place: Place) -> None:
    with runtime(place) as rt:
        assert run(rt, "ls *.txt", folder="sub").output["stdout"] == "c.txt\n"
        assert "outside the workspace" in str(run(rt, "ls", folder="..").error)
        assert "outside the workspace" in str(run(rt, "ls", folder="link_dir").error)
        assert "no folder" in str(run(rt, "ls", folder="a.txt").error)
    assert "seconds must be" in str(run_once(place, "ls", seconds=0))


def run_once(place: Place, command: str, **more: Any) -> Any:
    with runtime(place) as rt:
        return run(rt, command, **more).error


def test_commands_run_at_once_each_in_its_own_folder(place: Place) -> None:
    results: dict[int, str] = {}
    for number in range(8):
        (place.root / f"d{number}").mkdir()
        (place.root / f"d{number}" / f"f{number}").touch()
    with runtime(place) as rt:

        def work(number: int) -> None:
            results[number] = run(rt, "ls", folder=f"d{number}").output["stdout"]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == {number: f"f{number}\n" for number in range(8)}


@pytest.mark.requirement("LCP-20")
def test_runtimes_with_other_levels_and_handlers_do_not_decide_for_each_other(place: Place) -> None:
    """16 threads over 4 runtimes of the same library: each call meets its own runtime's level and person."""
    yes, allow = answering(("always", ""))
    no, reject = answering(("reject", "no"))
    levels = {
        "safe-yes": ("safe", allow),
        "safe-no": ("safe", reject),
        "strict": ("strict", reject),
        "full": ("full_access", reject),
    }
    runtimes = {
        name: runtime(place, handler, host_tool_configs={"system_shell": {"autonomy_level": level}}).open()
        for name, (level, handler) in levels.items()
    }
    wrong: list[str] = []

    def work(name: str, number: int) -> None:
        for turn in range(3):
            made = place.root / f"{name}-{number}-{turn}"
            ran = run(runtimes[name], f"touch {made.name}").success
            read = run(runtimes[name], "pwd").success
            if ran != (name in ("safe-yes", "full")) or ran != made.exists() or read != (name != "strict"):
                wrong.append(made.name)

    threads = [threading.Thread(target=work, args=(name, number)) for name in levels for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for rt in runtimes.values():
        rt.close()
    assert wrong == []
    assert yes and len(no) == 4 * 3 * (1 + 2)  # safe-no asks for touch, strict for both; full access for none


@pytest.mark.requirement("LCP-13")
def test_a_secret_reaches_an_allowed_command_by_its_handle_and_no_output(place: Place) -> None:
    asked, handler = answering(("allow", ""))
    options = {
        "shipped": ["system_shell", "user_interactive_tools"],
        "user_interaction_handler": lambda request: "s3cr3t-9",
    }
    with runtime(place, handler, **options) as rt:
        handle = rt.call("tool_ask_secret", {"name": "token", "prompt": "?"}).output["handle"]
        result = run(rt, 'echo "${#SECRET_TOKEN} $SECRET_TOKEN"', handles=[handle])
        assert result.output["stdout"] == "8 ***\n"
        assert "no secret is held" in str(run(rt, "ls", handles=["secret:other"]).error)
    assert any("it is given the secrets secret:token" in label for _, label, _ in asked)
    assert "s3cr3t" not in str(asked)
