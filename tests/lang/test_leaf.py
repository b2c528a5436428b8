"""The language imports the standard library and nothing else, so it can be used without the runtime (PRG-09)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sutler.lang

FOLDER = Path(sutler.lang.__file__).parent


@pytest.mark.requirement("PRG-09")
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_a_module_of_the_language_imports_only_the_standard_library_and_its_siblings(path: Path) -> None:
    siblings = {one.stem for one in FOLDER.glob("*.py")}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom) and node.level:
            assert node.level == 1
            assert (node.module or "").split(".")[0] in siblings or {alias.name for alias in node.names} <= siblings
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] in sys.stdlib_module_names


@pytest.mark.requirement("PRG-09")
def test_the_language_works_alone_in_a_folder_of_its_own(tmp_path: Path) -> None:
    """Copied out of the package it still checks: nothing of the runtime is needed."""
    (tmp_path / "alone").mkdir()
    for path in FOLDER.glob("*.py"):
        (tmp_path / "alone" / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    program = "import sys, alone\nprint(alone.check('1 + 1', {}).ok, any('sutler' in name for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]
