"""The audit log of a runtime (POL-07)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sutler import SyncRuntime, tool
from sutler.store import AuditRecord

pytestmark = pytest.mark.requirement("POL-07")


def login(user: str, password: str) -> str:
    """Logs in."""
    return f"{user} with {password}"


@tool(destructive=True)
def wipe(name: str) -> str:
    """Removes a record."""
    return f"{name} is gone"


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return None if request.param == "memory" else tmp_path / "runs.db"


def runtime(store: Path | None, **more: Any) -> SyncRuntime:
    return SyncRuntime(tools=[login, wipe], config=False, default_tools=False, store=store, **more)


def oldest_first(rt: SyncRuntime, **which: Any) -> list[AuditRecord]:
    return rt.audit(**which)[::-1]


def test_what_is_changed_beside_calls_is_a_line_of_the_log(store: Path | None) -> None:
    with runtime(store) as rt:
        rt.core.audit("change.library", tool="mailer", what="mounted", password="tulips-7")
        (line,) = rt.audit()
    assert (line.kind, line.tool, line.data) == ("change.library", "mailer", {"what": "mounted", "password": "***"})


def test_a_call_is_on_the_log_with_what_decided_it_and_no_secret(store: Path | None) -> None:
    with runtime(store) as rt:
        rt.call("login", {"user": "ada", "password": "tulips-7"})
        rt.call("login", {"user": "ada"})
        rt.call("no_such_tool")
        good, bad, unknown = oldest_first(rt, kind="call.ended")
    assert good.tool == "functions::login"
    assert good.data["arguments"] == {"user": "ada", "password": "***"}
    assert (good.data["outcome"], good.data["decision"]["by"]) == ("ok", "level safe")
    assert good.data["duration"] >= 0
    assert (bad.data["outcome"], bad.data["arguments"]) == ("invalid_arguments", {"user": "ada"})
    assert (unknown.tool, unknown.data["outcome"]) == ("no_such_tool", "not_found")
    assert "tulips" not in repr((good, bad, unknown))


def test_what_a_person_answers_is_a_line_with_the_arguments_it_was_for(store: Path | None) -> None:
    answers = iter([("allow", "once"), ("reject", "keep it"), ("always", "")])
    with runtime(store, policy="strict", confirm_handler=lambda *_: next(answers)) as rt:
        for name in ("a", "b", "c"):
            rt.call("wipe", {"name": name})
        lines = oldest_first(rt, kind="decision")
        rt.call("login", {"user": "ada", "password": "tulips-7"})
    said = [(line.data["decision"], line.data["arguments"]) for line in lines]
    assert said == [("allow", {"name": "a"}), ("reject", {"name": "b"}), ("always", {"name": "c"})]
    assert all(line.tool == "functions::wipe" for line in lines)
    assert "keep it" in lines[1].data["reason"]


def test_a_program_is_on_the_log_with_its_calls(store: Path | None) -> None:
    with runtime(store) as rt:
        run = rt.run('wipe("x")')
        lines = oldest_first(rt, run_id=run.run_id)
    assert (lines[0].kind, lines[-2].kind, lines[-1].kind) == ("run.started", "call.ended", "run.ended")
    assert lines[-1].data["status"] == "completed"


def test_a_decision_is_in_the_file_before_the_call_that_it_allows_has_its_effect(tmp_path: Path) -> None:
    import sqlite3

    seen: list[str] = []

    @tool(destructive=True)
    def look() -> str:
        """Looks at the log."""
        with sqlite3.connect(tmp_path / "runs.db") as other:
            seen.extend(kind for (kind,) in other.execute("SELECT kind FROM audit ORDER BY id"))
        other.close()
        return "seen"

    confirm = lambda *_: ("allow", "")  # noqa: E731
    with SyncRuntime(
        tools=[look], config=False, policy="strict", store=tmp_path / "runs.db", confirm_handler=confirm
    ) as rt:
        assert rt.call("look").success
    assert seen == ["decision", "call.started"]


@pytest.mark.requirement("PRG-10")
def test_a_secret_that_stands_in_a_program_is_not_stored_and_the_program_goes_on_after_waiting(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    text = 'first = login("ada", password="tulips-and-7")\nprint(first)\nwipe("x")\nlogin("eve", "tulips-and-7")'
    with runtime(store, policy="strict") as rt:
        run = rt.resume(rt.run(text, on_ask="wait").run_id)
        assert run.status == "waiting", run.error
    with runtime(store, policy="strict") as rt:
        (record,) = rt.runs()
        assert record.program == text.replace('"tulips-and-7"', "'***'")
        assert not record.replayable
        ended = rt.resume(rt.resume(run.run_id).run_id)
        assert ended.output == "eve with tulips-and-7"
        lines = rt.audit(run_id=run.run_id)
    assert "tulips" not in repr(lines)
    assert b"tulips-and" not in b"".join(part.read_bytes() for part in tmp_path.glob("runs.db*"))
