"""What tools a file offers, found without importing it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sutler.schema.from_source import Scan, scan


def names(text: str, stem: str = "lib") -> list[str]:
    return [tool.name for tool in scan(text, file="lib.py", stem=stem).tools]


def scanned(text: str, stem: str = "lib") -> Scan:
    return scan(text, file="lib.py", stem=stem)


@pytest.mark.requirement("LIB-03")
def test_a_file_that_would_write_or_fail_on_import_is_listed_without_running(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    text = f"open({str(marker)!r}, 'w')\nimport nowhere_at_all\nraise SystemExit(3)\ndef tool_a(): pass\n"
    assert names(text) == ["tool_a"]
    assert not marker.exists()


@pytest.mark.requirement("LIB-04")
def test_functions_named_tool_are_tools_async_ones_too_and_others_are_not() -> None:
    found = scanned("def tool_a(): pass\nasync def tool_b(): pass\ndef helper(): pass\ndef _tool_c(): pass\n")
    assert [(tool.name, tool.line, tool.is_async) for tool in found.tools] == [
        ("tool_a", 1, False),
        ("tool_b", 2, True),
    ]


@pytest.mark.requirement("LIB-04")
def test_tools_inside_top_level_statements_are_tools() -> None:
    text = (
        "if True:\n    def tool_a(): pass\nelse:\n    def tool_b(): pass\n"
        "try:\n    def tool_c(): pass\nfinally:\n    def tool_d(): pass\n"
        "with open('x'):\n    def tool_e(): pass\nfor _ in ():\n    def tool_f(): pass\n"
    )
    assert names(text) == ["tool_a", "tool_b", "tool_c", "tool_d", "tool_e", "tool_f"]


@pytest.mark.requirement("LIB-04")
def test_tools_that_no_import_makes_are_reported_as_unreachable() -> None:
    text = (
        "def outer():\n    def tool_in(): pass\n    class C:\n        async def tool_deep(self): pass\n"
        "class K:\n    def tool_method(self): pass\n"
        "if __name__ == '__main__':\n    def tool_main(): pass\n"
        "if TYPE_CHECKING:\n    def tool_typing(): pass\nelse:\n    def tool_real(): pass\n"
        "import sutler\nclass M:\n    @sutler.tool\n    def marked(self): pass\n"
    )
    found = scanned(text)
    assert [tool.name for tool in found.tools] == ["tool_real"]
    assert [(tool.name, tool.line) for tool in found.unreachable] == [
        ("tool_in", 2), ("tool_deep", 4), ("tool_method", 6), ("tool_main", 8), ("tool_typing", 10), ("marked", 16)
    ]  # fmt: skip


@pytest.mark.requirement("LIB-04")
def test_prompt_providers_are_no_tools_and_other_prompts_are() -> None:
    text = (
        "def tool_my_lib_prompt(): pass\n"
        "def tool_query(q): pass\n"
        "def tool_query_prompt(limit=3): pass\n"
        "def tool_query_prompt_prompt(): pass\n"  # the provider it would belong to is no tool
        "def tool_write_prompt(text): pass\n"
        "def tool_write_prompt_prompt(): pass\n"
        "def tool_needs_prompt(*, key): pass\n"
        "def tool_needs(): pass\n"
        "def tool_other_prompt(): pass\n"
    )
    found = scanned(text, stem="my-lib")
    assert found.providers == ("tool_my_lib_prompt", "tool_query_prompt", "tool_write_prompt_prompt")
    assert [tool.name for tool in found.tools] == [
        "tool_query", "tool_query_prompt_prompt", "tool_write_prompt", "tool_needs_prompt", "tool_needs",
        "tool_other_prompt",
    ]  # fmt: skip


@pytest.mark.requirement("LIB-10")
def test_the_last_def_of_a_name_is_the_tool_and_the_earlier_ones_are_listed() -> None:
    found = scanned("def tool_a(): pass\ndef tool_b(): pass\ndef tool_a(x): pass\nasync def tool_a(y): pass\n")
    assert [(tool.name, tool.line, tool.is_async) for tool in found.tools] == [
        ("tool_b", 2, False),
        ("tool_a", 4, True),
    ]
    assert [(tool.name, tool.line) for tool in found.replaced] == [("tool_a", 1), ("tool_a", 3)]


@pytest.mark.requirement("LIB-10")
def test_a_stub_in_an_except_branch_does_not_replace_the_real_one() -> None:
    found = scanned("try:\n    def tool_a(): pass\nexcept ImportError:\n    def tool_a(): pass\n")
    assert [tool.line for tool in found.tools] == [2]
    assert [tool.line for tool in found.replaced] == [4]


@pytest.mark.requirement("LIB-04", "SRC-11")
@pytest.mark.parametrize(
    "head",
    [
        "from sutler import tool\n@tool",
        "from sutler import tool\n@tool()",
        "import sutler\n@sutler.tool",
        "import sutler as s\n@s.tool(read_only=True)",
        "from sutler import tool as t\n@t",
        "from sutler import *\n@tool",
        "try:\n    from sutler import tool\nexcept ImportError:\n    def tool(f): return f\n@tool",
        "from sutler import tool\nfrom functools import cache\n@cache\n@tool",
    ],
)
def test_a_function_marked_with_our_decorator_is_a_tool_under_any_name(head: str) -> None:
    found = scanned(f"{head}\ndef weather(): pass\n")
    assert [tool.name for tool in found.tools] == ["weather"]
    assert found.tools[0].declared is not None


@pytest.mark.requirement("LIB-04")
@pytest.mark.parametrize(
    "head", ["from smolagents import tool\n@tool", "def tool(f): return f\n@tool", "import mcp\n@mcp.tool()", "@cached"]
)
def test_a_decorator_of_somebody_else_makes_no_tool(head: str) -> None:
    found = scanned(f"{head}\ndef weather(): pass\n{head}\ndef tool_named(): pass\n")
    assert [(tool.name, tool.declared) for tool in found.tools] == [("tool_named", None)]


@pytest.mark.requirement("LIB-04")
def test_a_foreign_tool_decorator_is_noted_because_its_function_is_not_offered() -> None:
    assert scanned("from smolagents import tool\n@tool\ndef weather(): pass\n").notes == (
        "lib.py:3: @tool on weather comes from smolagents: not offered",
    )


@pytest.mark.requirement("SRC-11", "LIB-03")
def test_the_keywords_of_the_decorator_are_read_unrun_and_what_cannot_be_read_is_a_note() -> None:
    text = (
        "from sutler import tool\n"
        "@tool(read_only=True, idempotent=False, name='n', description='d', title='t', timeout=2.5,\n"
        "      isolation='process', affinity='thread')\ndef a(): pass\n"
        "@tool(read_only=flag(), timeout='soon', colour=1, open_world=True, **more)\ndef b(): pass\n"
        "@tool(read_only=True, destructive=True)\ndef c(): pass\n"
        "@tool('positional')\ndef d(): pass\n"
    )
    found = scanned(text)
    first, second, third, fourth = (tool.declared for tool in found.tools)
    assert first is not None
    assert (first.read_only, first.idempotent, first.destructive, first.name) == (True, False, None, "n")
    assert (first.description, first.title, first.timeout) == ("d", "t", 2.5)
    assert (first.isolation, first.affinity) == ("process", "thread")
    assert second is not None
    assert (second.read_only, second.timeout, second.open_world) == (None, None, True)
    assert third is not None
    assert (third.read_only, third.destructive) == (None, True)
    assert fourth is not None
    notes = "\n".join(found.notes)
    for words in (
        "lib.py:5: @tool: read_only is not a literal; ignored",
        "lib.py:5: @tool: timeout must be a number of seconds, not 'soon'",
        "lib.py:5: @tool has no keyword colour",
        "lib.py:5: @tool has no keyword **",
        "lib.py:7: @tool: read_only and destructive contradict",
        "lib.py:9: @tool takes keywords only",
    ):
        assert words in notes


@pytest.mark.requirement("LIB-04")
def test_a_tool_name_that_is_assigned_is_noted_because_it_is_not_offered() -> None:
    found = scanned("import functools\ntool_a = functools.partial(print)\ndef tool_b(): pass\ntool_b = cache(tool_b)\n")
    assert [tool.name for tool in found.tools] == ["tool_b"]
    assert found.notes == ("lib.py:2: tool_a is assigned, not written as a def: not offered",)


@pytest.mark.requirement("LIB-03")
def test_library_constants_are_read_when_they_are_literals() -> None:
    found = scanned(
        "TOOL_LIBRARY_NAME = 'Db'\nTOOL_LIBRARY_ALIASES: list = ['a', 'b']\nTOOL_LIBRARY_DESC = f'{1}'\n"
        "LEVEL = 'safe'\nLIMIT = -3\nBIG = [1, 2]\nLEVEL = call()\n"
    )
    assert found.attributes == {"TOOL_LIBRARY_NAME": "Db", "TOOL_LIBRARY_ALIASES": ["a", "b"], "LIMIT": -3}
    assert found.notes == ("lib.py:3: TOOL_LIBRARY_DESC is not a literal: ignored",)


@pytest.mark.requirement("LIB-03")
def test_imports_anywhere_in_the_file_are_known_and_prose_is_none() -> None:
    text = (
        '"""Made\n    from clay, or\n    import duties."""\n'
        "import os.path, sys as s\nfrom json import loads\nfrom . import sibling\nfrom .other import x\n"
        "def f():\n    import polars as pl\n    if x: from numpy.linalg import norm\n"
        "class C:\n    def m(self):\n        try:\n            import pandas\n"
        "        except ImportError: import duckdb\n"
        "        match 1:\n            case 1:\n                import torch\n"
        "if a:\n    import yaml; import toml\n"
    )
    assert scanned(text).imports == {
        "os", "sys", "json", "polars", "numpy", "pandas", "duckdb", "torch", "yaml", "toml"
    }  # fmt: skip


@pytest.mark.requirement("LIB-03")
@pytest.mark.parametrize("text", ["", "\n\n", "# only words\n", "\ufeffdef tool_a(): pass\n", "def tool_a(): '\\d'\n"])
def test_any_text_is_scanned_without_a_warning(text: str) -> None:
    assert scanned(text).fallback is None
