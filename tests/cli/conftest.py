"""A project of its own for each test, and two ways to run the command line in it: as a process, and in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sutler.cli.main import main
from sutler.config import read_config
from sutler.policy.trust import TrustStore

TOOLS = '''
"""Small tools for the tests."""

import time

from sutler import tool

TOOL_LIBRARY_NAME = "Test tools"
TOOL_LIBRARY_DESC = "What the tests call."
TOOL_LIBRARY_ICON = "T"
TOOL_LIBRARY_ALIASES = ["testing", "trial"]


@tool(read_only=True, open_world=False)
def tool_echo(text: str, times: int = 1, tags: list[str] | None = None) -> str:
    """Give a text back.

    Args:
        text: What to give back.
        times: How often.
    """
    return " ".join([text] * times + list(tags or []))


@tool(read_only=True, open_world=False)
def tool_kinds(anything, number: float = 0.0, either: str | int = "", flag: bool = False, data: dict | None = None):
    return [repr(anything), repr(number), repr(either), repr(flag), repr(data)]


@tool(destructive=True, read_only=False)
def tool_wipe(path: str) -> str:
    """Remove something for good."""
    return f"wiped {path}"


def tool_fail() -> None:
    raise ValueError("it broke")


@tool(timeout=0.2, read_only=True)
def tool_sleep(seconds: float = 30) -> str:
    time.sleep(seconds)
    return "awake"


@tool(read_only=True)
def tool_lines(number: int) -> str:
    return "\\n".join(f"line {n}" for n in range(number))
'''

CONFIG = '[libraries]\nfolders = ["tools"]\n'


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Sutler = Callable[..., Ended]


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a sutler.toml and a tool folder, and an environment that keeps all else in `home`."""

    root: Path
    home: Path

    @property
    def env(self) -> dict[str, str]:
        return {
            **os.environ,
            "SUTLER_STATE_DIR": str(self.home / "state"),
            "SUTLER_CACHE_DIR": str(self.home / "cache"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
        }

    @property
    def file(self) -> Path:
        return self.root / "sutler.toml"

    def config(self, text: str, *, trusted: bool = True) -> None:
        self.file.write_text(text, encoding="utf-8")
        if trusted:
            TrustStore(self.home / "state").trust(self.file, read_config(self.file))

    def library(self, name: str, text: str) -> Path:
        file = self.root / "tools" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def process(self, *argv: str, stdin: str | bytes = b"", cwd: Path | None = None, **env: str) -> Ended:
        """`sutler` as a process of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "sutler.cli", *argv],
            cwd=cwd or self.root,
            env={**self.env, **env},
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def make_project(folder: Path) -> Project:
    project = Project(folder / "project", folder / "home")
    project.root.mkdir()
    project.library("kit.py", TOOLS)
    project.config(CONFIG)
    return project


def put(file: Path, content: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8")
    return file


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = make_project(tmp_path)
    monkeypatch.chdir(made.root)
    for name in ("SUTLER_STATE_DIR", "SUTLER_CACHE_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, made.env[name])
    return made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One project for all processes of a module."""
    return make_project(tmp_path_factory.mktemp("shared"))


@pytest.fixture
def home(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(project.home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project.home / "config"))
    for name in ("CODEX_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    project.home.mkdir(exist_ok=True)
    return project.home


@pytest.fixture
def sutler(project: Project, capsys: pytest.CaptureFixture[str]) -> Sutler:
    """The command line in this process, where the process boundary does not matter."""

    def run(*argv: str) -> Ended:
        code = main(list(argv))
        said = capsys.readouterr()
        return Ended(code, said.out, said.err)

    return run
