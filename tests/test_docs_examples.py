"""Every example of README.md and docs/ works: each page's `python` blocks run in order, as one program.

A page runs in a process and an empty folder of its own. A block whose first line is `# name.py` or `# name.toml` is
also written to that file, so that what follows can use it.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from sutler import SyncRuntime
from sutler.workspace import per_thread_cwd

ROOT = Path(__file__).parents[1]
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if path.exists()]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w./-]+\.(?:py|toml))\n")

RUN = """
import sys
from html import unescape
from pathlib import Path
page = sys.argv[1]
sys.argv = ["example"]
names = {"__name__": "__main__"}
for file, line, text, runs in eval(sys.stdin.read()):
    if file:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(text, encoding="utf-8")
    if runs:
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
    if page.stem == "threads" and not per_thread_cwd().available:
        pytest.skip("its example is about threads with a folder of their own")
    steps = [
        (file[1] if (file := FILE.match(text)) else "", line, text, language == "python")
        for language, line, text in blocks(page, "python", "toml")
    ]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, str(page)],
        cwd=tmp_path,
        input=repr(steps),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{page.name}: {done.stderr}"


def test_the_page_of_the_api_names_every_keyword_and_method() -> None:
    page = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
    keywords = list(inspect.signature(SyncRuntime.__init__).parameters)[1:]
    methods = [name for name, _ in inspect.getmembers(SyncRuntime) if not name.startswith("_") and name != "core"]
    missing = [name for name in (*keywords, *methods) if not re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", page)]
    assert not missing


def test_every_link_between_the_pages_leads_somewhere() -> None:
    headings = {page.name: _anchors(page) for page in PAGES}
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            name, _, anchor = target.partition("#")
            if "://" in name:
                continue
            path = page.parent / name if name else page
            assert path.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in headings[path.name], f"{page.name}: {target}"


def _anchors(page: Path) -> set[str]:
    """The anchors that a page's headings make."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", unescape(title).lower()).replace(" ", "-") for title in titles}
