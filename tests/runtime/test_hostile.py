"""Hostile programs through the whole runtime: refused, or ended inside a limit; the host and its data untouched."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler import SyncRuntime

CASES = Path(__file__).parent.parent / "cases"
GIVEN = json.loads((CASES / "attacks.json").read_text(encoding="utf-8"))["programs"]
OWN = json.loads((CASES / "hostile.json").read_text(encoding="utf-8"))["programs"]
SECRET = "s3cr3t-of-the-host-module"
CANARY = "c4nary-beside-the-path"
ITEMS = [{"name": "one"}, {"name": "two"}]
LIMITS = {"wall_seconds": 4, "compute_seconds": 1, "memory_mb": 64, "calls": 500, "output_bytes": 1_000_000}


class Owner:
    def __init__(self) -> None:
        self.secret = SECRET


class Thing:
    def __init__(self) -> None:
        self.owner = Owner()


class Lock:
    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *exc: object) -> bool:
        return True


def granted(folder: Path) -> list[Any]:
    def read_note(name: str) -> str:
        return f"note {name}"

    def get_items() -> list[Any]:
        return ITEMS

    def get_path() -> Path:
        return folder / "here.txt"

    def make_obj() -> Thing:
        return Thing()

    def get_lock() -> Lock:
        return Lock()

    def fail() -> None:
        raise ValueError("it failed")

    def quitter() -> None:
        raise SystemExit(3)

    def kbd() -> None:
        raise KeyboardInterrupt

    return [read_note, get_items, get_path, make_obj, get_lock, fail, quitter, kbd]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SyncRuntime, Path]]:
    folder = tmp_path_factory.mktemp("host")
    (folder / "canary.txt").write_text(CANARY)
    os.environ["SUTLER_TEST_SECRET"] = SECRET
    options: dict[str, Any] = {"config": False, "default_tools": False, "limits": LIMITS}
    with SyncRuntime(tools=granted(folder), **options) as rt:
        rt.run("1")
        yield rt, folder
    del os.environ["SUTLER_TEST_SECRET"]


@pytest.mark.requirement("PRG-05", "PRG-06")
@pytest.mark.parametrize("case", [*GIVEN, *OWN], ids=lambda case: f"{case['group']}/{case['id']}")
def test_a_hostile_program_reads_nothing_changes_nothing_and_ends_in_time(
    host: tuple[SyncRuntime, Path], case: dict[str, Any]
) -> None:
    rt, folder = host
    marker = folder / "marker"
    program = case["program"].replace("{canary_file}", str(folder / "canary.txt")).replace("{marker_file}", str(marker))
    began = time.monotonic()
    run = rt.run(program)
    took = time.monotonic() - began
    seen = f"{run.output!r}{run.stdout}{run.variables!r}{run.error}{run.trace!r}"
    assert SECRET not in seen and CANARY not in seen
    assert not marker.exists()
    assert ITEMS == [{"name": "one"}, {"name": "two"}]
    assert took < LIMITS["wall_seconds"] + 1
    assert rt.run("1 + 1").output == 2


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("case", OWN, ids=lambda case: f"{case['group']}/{case['id']}")
def test_its_harmless_twin_runs(host: tuple[SyncRuntime, Path], case: dict[str, Any]) -> None:
    run = host[0].run(case["twin"])
    assert run.status == "completed", run.error
