"""Watched tool folders: what changes is there without a word."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler import SyncRuntime
from sutler.runtime.watch import Watcher

OPEN = Callable[..., SyncRuntime]


class Heard:
    """The changes that a runtime tells of, to be waited for."""

    def __init__(self) -> None:
        self.changes: list[Any] = []
        self._news = threading.Condition()

    def __call__(self, event: Any) -> None:
        if event.kind == "tools_changed":
            with self._news:
                self.changes.append(event.data)
                self._news.notify_all()

    def until(self, holds: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(holds, timeout=30), self.changes


def body(value: str, name: str = "tool_a") -> str:
    return f'def {name}() -> str:\n    """A."""\n    return "{value}"\n'


@pytest.mark.requirement("LIB-09")
def test_files_and_folders_that_are_edited_added_and_removed_are_picked_up(runtime: OPEN, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "a.py").write_text(body("v1"))
    heard = Heard()
    rt = runtime(tool_folders=tools, watch=True, on_event=heard)
    assert rt.call("tool_a").output == "v1"
    (tools / "a.py").write_text(body("version 2"))
    heard.until(lambda: any("a" in change["libraries"] for change in heard.changes))
    assert rt.call("tool_a").output == "version 2"
    (tools / "new").mkdir()
    (tools / "new" / "new.py").write_text(body("n", "tool_new"))
    heard.until(lambda: any("new::tool_new" in change["added"] for change in heard.changes))
    assert rt.call("tool_new").output == "n"
    (tools / "new" / "new.py").write_text(body("newer", "tool_new"))
    heard.until(lambda: any("new::tool_new" in change["changed"] for change in heard.changes))
    assert rt.call("tool_new").output == "newer"
    (tools / "a.py").unlink()
    heard.until(lambda: any("a::tool_a" in change["removed"] for change in heard.changes))
    assert rt.call("tool_a").status_code == 404


@pytest.mark.requirement("LIB-09")
def test_a_folder_that_is_made_later_is_seen(runtime: OPEN, tmp_path: Path) -> None:
    heard = Heard()
    rt = runtime(tool_folders=tmp_path / "not" / "yet", watch=True, on_event=heard)
    assert rt.inventory().quarantined
    (tmp_path / "not" / "yet").mkdir(parents=True)
    (tmp_path / "not" / "yet" / "a.py").write_text(body("here"))
    heard.until(lambda: any("a::tool_a" in change["added"] for change in heard.changes))
    assert rt.call("tool_a").output == "here" and not rt.inventory().quarantined


def test_where_the_system_cannot_tell_it_looks_from_time_to_time(
    runtime: OPEN, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(self: Watcher) -> None:
        raise OSError(28, "No space left on device")  # what Linux says when all watches are used up

    monkeypatch.setattr(Watcher, "_listen", refuses)
    heard = Heard()
    rt = runtime(tool_folders=tmp_path, watch=True, on_event=heard)
    (tmp_path / "a.py").write_text(body("polled"))
    heard.until(lambda: bool(heard.changes))
    watcher = rt.core.watcher
    assert watcher is not None and "every 2 s" in watcher.note


def test_the_watch_ends_with_the_runtime(runtime: OPEN, tmp_path: Path) -> None:
    rt = runtime(tool_folders=tmp_path, watch=True)
    watcher = rt.core.watcher
    assert watcher is not None and watcher._thread.is_alive()
    rt.close()
    assert not watcher._thread.is_alive()
