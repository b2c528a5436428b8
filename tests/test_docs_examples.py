"""Every example of README.md and docs/ works: each page's `python` blocks run in order, as one program.

A page runs in a process and an empty folder of its own. A block whose first line is `# name.py` or `# name.toml` is
also written to that file, so that what follows can use it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if path.exists()]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w./-]+\.(?:py|toml))\n")

RUN = """
import sys
page = sys.argv[1]
sys.argv = ["example"]
names = {"__name__": "__main__"}
for line, text in eval(sys.stdin.read()):
    exec(compile("\\n" * line + text, page, "exec", dont_inherit=True), names)
"""


def blocks(page: Path, *languages: str) -> list[tuple[str, int, str]]:
    """(language, lines before it, text) of each fenced block."""
    text = page.read_text(encoding="utf-8")
    return [
        (found[1], text.count("\n", 0, found.start(2)), found[2])
        for found in BLOCK.finditer(text)
        if found[1] in languages
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    found = blocks(page, "python", "toml")
    for _, _, text in found:
        if (name := FILE.match(text)) is not None:
            path = tmp_path / name[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    code = repr([(line, text) for language, line, text in found if language == "python"])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, str(page)],
        cwd=tmp_path,
        input=code,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{page.name}: {done.stderr}"
