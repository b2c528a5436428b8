"""`sutler trust TOOL|SERVER`: a definition that has changed is shown, and accepted by a word (POL-06)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import Project, Sutler

pytestmark = pytest.mark.requirement("POL-06")

TINY = Path(__file__).parents[1] / "mcp" / "tiny_server.py"
HINTS = {"readOnlyHint": True, "openWorldHint": False}


def _lists(project: Project, **descriptions: str) -> None:
    tools: list[dict[str, Any]] = [
        {"name": name, "description": text, "inputSchema": {"type": "object"}, "annotations": HINTS}
        for name, text in descriptions.items()
    ]
    (project.root / "tools.json").write_text(json.dumps(tools))


@pytest.fixture
def changed(project: Project, sutler: Sutler) -> Project:
    """A server two of whose tools were used, and one of which has changed since."""
    args = [str(TINY), str(project.root / "tools.json")]
    project.config(f"[mcp_servers.mail]\ncommand = {sys.executable!r}\nargs = {args!r}\n")
    _lists(project, send="Sends.", look="Looks.")
    assert sutler("call", "send").code == 0
    assert sutler("call", "look").code == 0
    _lists(project, send="Sends all you have.", look="Looks.")
    assert sutler("call", "send").code == 4  # what is remembered is compared with what is there
    return project


def test_a_call_doctor_and_the_list_name_the_command_that_accepts(changed: Project, sutler: Sutler) -> None:
    for argv in (("call", "send"), ("doctor",), ("tools",), ("serve", "--help")):
        done = sutler(*argv)
        if argv[0] != "serve":
            assert "sutler trust mail::send" in done.out + done.err, argv
    assert "send" not in [tool["name"] for tool in sutler("tools", "--json").json["tools"]]


@pytest.mark.parametrize("name", ["mail::send", "send", "mail"])
def test_it_shows_the_difference_and_accepts_it(changed: Project, sutler: Sutler, name: str) -> None:
    shown = sutler("trust", name, "--show")
    assert shown.code == 0
    assert "-description: Sends.\n+description: Sends all you have." in shown.out
    nobody = sutler("trust", name)
    assert (nobody.code, "--yes" in nobody.err) == (5, True)
    assert sutler("call", "send").code == 4
    done = sutler("trust", name, "--yes", "--json").json
    assert (done["trusted"], [one["tool"] for one in done["tools"]]) == (True, ["mail::send"])
    assert sutler("call", "send").code == 0
    assert "nothing of" in sutler("trust", name).out


def test_what_is_no_file_tool_or_server_is_an_error(changed: Project, sutler: Sutler) -> None:
    done = sutler("trust", "nobody")
    assert (done.code, "'nobody'" in done.err) == (2, True)
    assert sutler("trust", "mail::send", "--remove").code == 2


def test_a_file_is_still_meant_by_its_path(changed: Project, sutler: Sutler) -> None:
    assert sutler("trust", "sutler.toml").out.startswith("sutler.toml is trusted")
    assert sutler("trust", ".").out.startswith("sutler.toml is trusted")


@pytest.mark.requirement("POL-07")
def test_trust_given_and_taken_is_on_the_log(project: Project, sutler: Sutler) -> None:
    project.config("[limits]\ncalls = 3\n", trusted=False)
    assert sutler("trust", "--yes").code == 0
    assert sutler("trust", "--remove").code == 0
    lines = sutler("audit", "--kind", "change.trust", "--json").json["lines"]
    assert [line["data"]["what"] for line in lines] == ["trusted no longer", "trusted"]
    assert lines[0]["data"]["file"] == str(project.file)
