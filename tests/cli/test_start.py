"""Starting up: the version at once, short help, usage errors."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sutler import __version__

from .conftest import Project, Sutler


def test_the_version_comes_before_anything_heavy_is_imported(shared: Project) -> None:
    script = (
        "import sys; sys.argv = ['sutler', '--version']\n"
        "from sutler.cli.main import run\n"
        "try:\n    run()\n"
        "except SystemExit as end:\n"
        "    heavy = {'typer', 'rich', 'asyncio', 'pydantic', 'sutler.runtime', 'sutler.cli.app'} & set(sys.modules)\n"
        "    sys.exit(f'imported {heavy}' if heavy else end.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], env=shared.env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"sutler {__version__}\n", "")
    assert shared.process("--version").out == f"sutler {__version__}\n"


def test_looking_at_help_imports_no_runtime(shared: Project) -> None:
    script = (
        "import sys; from sutler.cli.main import main\n"
        "code = main(['run', '--help'])\n"
        "heavy = {'sutler.runtime', 'asyncio', 'sqlite3', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else code)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], env=shared.env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "sutler run program.py" in done.stdout


def test_alone_it_shows_three_examples(sutler: Sutler) -> None:
    done = sutler()
    assert (done.code, done.err) == (0, "")
    assert done.out.count("\n  sutler ") == 3
    assert sutler("tools", "--version").code == 2  # it is an option of the whole
    assert sutler("--version", "tools").out == f"sutler {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("tols",), "Did you mean 'tools'?"),
        (("tools", "serch"), "Did you mean 'search'?"),
        (("run", "--lvl", "full"), "No such option: --lvl"),
        (("run", "--polcy", "safe"), "--policy"),
        (("--policy", "sfe", "tools"), "'strict', 'safe', 'full_access'"),
        (("call",), "Missing argument 'NAME'"),
        (("call", "--args"), "requires an argument"),
    ],
)
def test_a_wrong_command_line_gets_usage_and_the_closest(sutler: Sutler, argv: tuple[str, ...], words: str) -> None:
    done = sutler(*argv)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert "Usage: sutler" in done.err or words == "requires an argument"
    assert "Value error" not in done.err


def test_a_wrong_command_line_in_json_is_one_document(sutler: Sutler) -> None:
    done = sutler("tools", "serch", "--json")
    assert done.code == 2
    assert (done.json["success"], done.json["kind"]) == (False, "usage")
    assert "search" in done.json["error"]


def test_python_m_is_the_same_program(shared: Project) -> None:
    assert shared.process("tools", "--json").json["tools"]
