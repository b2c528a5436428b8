"""Discovery of 13 libraries that people use, against what a reference implementation lists for them.

The libraries are those of lollms-client 1.21.1. They are not part of this repository: set SUTLER_LCP_LIBRARIES to the
`lollms_client/tools_bindings/lcp/default_tools` folder of its unpacked wheel.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sutler.sources.library import LibraryToolSource
from sutler.sources.shelf import open_folders

CASES = json.loads((Path(__file__).parents[1] / "cases" / "lcp-discovery.json").read_text(encoding="utf-8"))
FOLDER = os.environ.get("SUTLER_LCP_LIBRARIES", "")

pytestmark = pytest.mark.skipif(not FOLDER, reason="SUTLER_LCP_LIBRARIES is not set")


@pytest.fixture(scope="module")
def sources() -> dict[str, LibraryToolSource]:
    before = set(sys.modules)
    opened = open_folders([FOLDER], cache=False)
    found = {source.name: source for source in opened if isinstance(source, LibraryToolSource)}
    for source in found.values():
        for spec in source.discover():
            assert spec.digest
    assert not [name for name in set(sys.modules) - before if name.startswith(("_sutler", "lollms"))]
    return found


@pytest.mark.requirement("LIB-03", "LIB-04", "SCH-05", "SCH-06")
@pytest.mark.parametrize("case", CASES["libraries"], ids=lambda case: case["library"])
def test_the_same_tools_and_parameters_are_listed_without_an_import(
    sources: dict[str, LibraryToolSource], case: dict[str, Any]
) -> None:
    source = sources[case["library"]]
    specs = {spec.name: spec for spec in source.discover()}
    providers = {name for _, name in source.providers}
    expected = {tool["name"]: tool for tool in case["tools"] if tool["name"] not in providers}
    assert set(specs) == set(expected)
    for name, tool in expected.items():
        schema = specs[name].input_schema
        shown = [param for param in schema["properties"] if param not in tool["hidden"]]
        assert shown == tool["params"]
        assert [param for param in schema.get("required", []) if param not in tool["hidden"]] == tool["required"]
        assert specs[name].hidden - {"**"} == {hidden for hidden in tool["hidden"] if hidden not in ("args", "kwargs")}
        for param, default in tool["defaults"].items():
            shown_as = schema["properties"][param]
            if isinstance(default, str) and f"(default: {default})" in shown_as.get("description", ""):
                assert (
                    "default" not in shown_as
                )  # an expression: the reference sends its text, ours leaves it to Python
            else:
                assert shown_as["default"] == default
        assert not specs[name].notes
    assert not source.quarantined


@pytest.mark.requirement("LIB-04")
def test_a_prompt_function_is_a_provider_where_the_reference_lists_it_as_a_tool(
    sources: dict[str, LibraryToolSource],
) -> None:
    shell = sources["system_shell"]
    assert [spec.name for spec in shell.discover()] == ["tool_execute_shell_command"]
    assert [name for _, name in shell.providers] == ["tool_execute_shell_command_prompt"]


@pytest.mark.requirement("LIB-05")
def test_their_load_flags_and_names_are_read(sources: dict[str, LibraryToolSource]) -> None:
    gates = {case["library"]: case["gate"] for case in CASES["libraries"]}
    assert sources["models_tools"].info.load_flag == gates["models_tools"] == "enable_auto_model_selection"
    assert not sources["models_tools"].available()
    assert sources["workspace_tools"].available()
    assert len({source.info.name for source in sources.values()}) > 10


@pytest.mark.requirement("SCH-06")
def test_a_parameter_that_is_merely_named_args_is_shown(sources: dict[str, LibraryToolSource]) -> None:
    specs = {spec.name: spec for spec in sources["execute_python"].discover()}
    assert "args" in specs["tool_execute_python_file"].input_schema["properties"]
