"""The requirement manifest: every test names what it proves, and nothing on the list goes unproved."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import tomllib
from pathlib import Path

import pytest

# Nothing a test does reaches the files of the person who runs it, nor depends on them.
HOME = tempfile.mkdtemp(prefix="sutler-tests-")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
for _name, _folder in (("SUTLER_STATE_DIR", "state"), ("SUTLER_CACHE_DIR", "cache"), ("XDG_CONFIG_HOME", "config")):
    os.environ[_name] = os.path.join(HOME, _folder)

MANIFEST = tomllib.loads((Path(__file__).parent / "requirements.toml").read_text(encoding="utf-8"))
PROVED = pytest.StashKey[dict[str, list[str]]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    proved: dict[str, list[str]] = {}
    for item in items:
        for mark in item.iter_markers("requirement"):
            for requirement in mark.args:
                proved.setdefault(requirement, []).append(item.nodeid)
    config.stash[PROVED] = proved
