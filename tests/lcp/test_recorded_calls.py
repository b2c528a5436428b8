"""Calls of 13 libraries that people use, as they are, without lollms-client: each answers as a peer recorded it.

The libraries are those of lollms-client 1.21.1. They are not part of this repository: set SUTLER_LCP_LIBRARIES to the
`lollms_client/tools_bindings/lcp/default_tools` folder of its unpacked wheel. A call whose library needs a package that
is not installed here is skipped.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler import SyncRuntime
from sutler.lcp import install_aliases, remove_aliases

CASES = json.loads((Path(__file__).parents[1] / "cases" / "lcp-calls.json").read_text(encoding="utf-8"))
FOLDER = os.environ.get("SUTLER_LCP_LIBRARIES", "")
NEEDS = {
    "file_organizer": ["yaml"],
    "hue": ["requests"],
    "execute_python": ["matplotlib"],
    "execute_sql_query": ["pandas", "openpyxl", "sqlalchemy"],
    "git_manager": ["git"],
    "semantic_data_engineer": ["pandas", "openpyxl", "sqlalchemy", "matplotlib"],
    "word_tools": ["docx"],
}
CALLS = [
    pytest.param(case, call, id=f"{case['library']}-{call['tool']}-{number}")
    for case in CASES["libraries"]
    for number, call in enumerate(case["calls"])
]

pytestmark = pytest.mark.skipif(not FOLDER, reason="SUTLER_LCP_LIBRARIES is not set")


@pytest.fixture(autouse=True)
def aliases() -> Iterator[None]:
    install_aliases()
    yield
    remove_aliases()
    assert "lollms_client" not in sys.modules


@pytest.mark.requirement("LCP-14")
@pytest.mark.parametrize(("case", "call"), CALLS)
def test_a_library_answers_as_recorded(case: dict[str, Any], call: dict[str, Any], tmp_path: Path) -> None:
    library = case["library"]
    if missing := [name for name in NEEDS.get(library, ()) if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{library} needs {', '.join(missing)}")
    workspace = tmp_path / "workspace_data"
    workspace.mkdir()
    for name, held in call["files"].items():
        data = held.encode() if isinstance(held, str) else base64.b64decode(CASES["blobs"][held["blob"]])
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_bytes(data)
    for command in call["setup"]:
        subprocess.run(command, shell=True, cwd=workspace, check=True, capture_output=True)
    asked: list[str] = []

    def reject(source: str, label: str, argv: Any = None) -> tuple[str, str]:
        asked.append(label)
        return "reject", "no"

    configs = {library: {case["gate"]: True}} if case["gate"] else {}
    with SyncRuntime(
        tool_folders=[FOLDER],
        host_tool_configs=configs,
        workspace=workspace,
        confirm_handler=reject,
        user_interaction_handler=lambda request: (request.get("options") or ["an answer"])[0],
        config=False,
        default_tools=False,
        plugins=False,
    ) as rt:
        result = rt.call(f"{library}::{call['tool']}", call["args"]).to_dict()
    assert (result["success"], result["status_code"]) == (call["success"], call["status_code"]), (result, asked)
    if "output_contains" in call:
        assert call["output_contains"] in str(result["output"])
    if "error_contains" in call:
        assert call["error_contains"] in str(result["error"])
