"""A workspace with everything in it that leads out of it, beside a folder that nobody may touch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sutler import workspace
from sutler.workspace import Workspace

CANARY = "canary-4f1c-must-not-be-seen"
HIDDEN = "hidden-name-9b2e.txt"


@dataclass(frozen=True)
class Place:
    root: Path
    outside: Path

    def outside_as_it_is(self) -> dict[str, tuple[bytes, int]]:
        return {
            file.relative_to(self.outside.parent).as_posix(): (file.read_bytes(), file.stat().st_mode)
            for file in sorted(self.outside.parent.rglob("*"))
            if file.is_file() and not file.is_relative_to(self.root)
        }


def make_place(base: Path) -> Place:
    root, outside = base / "ws", base / "outside"
    (root / "sub" / "deep").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.txt").write_text(f"{CANARY}\n")
    (outside / HIDDEN).write_text(f"{CANARY}\n")
    (root / "a.txt").write_text("hello\nworld\nhello again\n")
    (root / "b.txt").write_text("hello\nmoon\n")
    (root / "data.csv").write_text("name,qty\napple,3\npear,5\n")
    (root / "with space.txt").write_text("spaced\n")
    (root / "sub" / "c.txt").write_text("deep hello\n")
    (root / "sub" / "deep" / "d.md").write_text("# title\n")
    (root / "x.sh").write_text("cat ../outside/secret.txt\n")
    (root / "x.sed").write_text("w ../outside/written.txt\n")
    (root / "x.awk").write_text('BEGIN { system("cat ../outside/secret.txt") }\n')
    (root / "names0").write_bytes(b"../outside/secret.txt\0")
    (root / "sums").write_text(f"{'0' * 32}  ../outside/secret.txt\n")
    (root / "-n").symlink_to(outside / "secret.txt")
    (root / "--all").symlink_to(outside / "secret.txt")
    (root / "link_out").symlink_to(outside / "secret.txt")
    (root / "link_dir").symlink_to(outside)
    (root / "link_up").symlink_to("..")
    (root / "link_in").symlink_to("a.txt")
    (root / "zz_link.txt").symlink_to(outside / "secret.txt")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[alias]\n\tst = !cat ../outside/secret.txt\n")
    return Place(root=root, outside=outside)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    made = make_place(tmp_path)
    monkeypatch.chdir(made.root)
    token = workspace.current.set(Workspace(made.root))
    yield made
    workspace.current.reset(token)
