"""Tools declared in [[tools]]: specs from the tables, code imported at first use."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sutler.config import load_text
from sutler.errors import ToolUnavailable
from sutler.sources.config import ConfigToolSource
from sutler.spec import Grade, Origin, ToolAnnotations, ToolSpec
from sutler.tables import ArgTable, ToolTable
from sutler.workspace.worker import Worker


def source_of(folder: Path, *tables: ToolTable) -> ConfigToolSource:
    return ConfigToolSource(tables, folder)


def table(function: str = "f", module: str = "mine", name: str = "t", **more: Any) -> ToolTable:
    return ToolTable(name=name, module=module, function=function, where="sutler.toml:7", **more)


def run(source: ConfigToolSource, name: str = "t", **arguments: Any) -> Any:
    return source.resolve(next(spec for spec in source.discover() if spec.name == name))(**arguments)


@pytest.mark.requirement("SRC-04", "SRC-14")
def test_a_table_says_everything_about_its_tool(tmp_path: Path) -> None:
    text = """
[[tools]]
name = "area"
description = "The area."
module = "shapes"
function = "area"
args = [
  { name = "width", type = "float", description = "In metres" },
  { name = "unit", type = "str", default = "m2" },
]
returns = "float"
grade = { w = 0, d = 0 }
annotations = { title = "Area", read_only = true, open_world = false }
examples = [{ width = 2.0 }]
docs = "docs/area.md"
timeout = 5
isolation = "process"
"""
    (tmp_path / "shapes.py").write_text("raise SystemExit('discovery must not run this')")
    config = load_text(text, tmp_path / "sutler.toml")
    (spec,) = ConfigToolSource(config.tools, tmp_path).discover()
    assert spec == ToolSpec(
        name="area",
        description="The area.",
        input_schema={
            "type": "object",
            "properties": {
                "width": {"type": "number", "description": "In metres"},
                "unit": {"type": "string", "default": "m2"},
            },
            "required": ["width"],
        },
        output_schema={"type": "number"},
        annotations=ToolAnnotations(title="Area", read_only=True, open_world=False),
        grade=Grade(0, 0),
        grade_from="declared",
        origin=Origin(source="config", kind="config", precedence=20, where=f"{tmp_path / 'sutler.toml'}:2"),
        examples=({"width": 2.0},),
        docs="docs/area.md",
        timeout=5,
        isolation="process",
    )


@pytest.mark.requirement("SRC-14")
def test_a_table_with_only_a_name_takes_anything_and_is_undeclared(tmp_path: Path) -> None:
    (spec,) = source_of(tmp_path, table()).discover()
    assert spec.description == "No description provided."
    assert spec.input_schema == {"type": "object", "properties": {}}
    assert spec.output_schema is None
    assert (spec.grade, spec.grade_from) == (Grade(3, 3), "undeclared")


@pytest.mark.requirement("SRC-10", "SRC-14")
def test_a_type_that_is_none_takes_out_its_own_tool_only(tmp_path: Path) -> None:
    source = source_of(tmp_path, table(name="bad", args=[ArgTable(name="a", type="wat")]), table(name="good"))
    assert [spec.name for spec in source.discover()] == ["good"]
    (item,) = source.quarantined
    assert (item.source, item.tool, item.where) == ("config", "bad", "sutler.toml:7")
    assert "unknown type `wat`" in item.reason
    (spec,) = source_of(tmp_path, table(returns="pandas.DataFrame")).discover()
    assert spec.output_schema is None
    assert "pandas.DataFrame" in spec.notes[0]


@pytest.mark.requirement("SRC-07")
def test_the_later_table_of_a_name_is_the_tool(tmp_path: Path) -> None:
    first = ToolTable(name="t", module="mine", function="f", where="user.toml:1")
    source = source_of(tmp_path, first, table(description="Second."))
    assert [spec.description for spec in source.discover()] == ["Second."]
    assert [str(item) for item in source.duplicates] == [
        "config::t: the definition at user.toml:1 is hidden by the one at sutler.toml:7"
    ]


# ---------------------------------------------------------------- imports


@pytest.mark.requirement("SRC-04")
def test_the_folder_of_the_file_is_importable_and_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "mod.py").write_text(
        "import helper\nfrom . import near\ndef f(x): return helper.NAME + near.X + x\n"
    )
    (tmp_path / "pkg" / "near.py").write_text("X = '-near-'\n")
    (tmp_path / "helper.py").write_text("NAME = 'help'\n")
    before_path, before_cwd = list(sys.path), os.getcwd()
    source = source_of(tmp_path, table(module="pkg.mod"))
    assert run(source, x="x") == "help-near-x"
    assert (sys.path, os.getcwd()) == (before_path, before_cwd)
    assert not {"pkg", "pkg.mod", "helper"} & set(sys.modules)
    assert not list(tmp_path.rglob("*.pyc"))


@pytest.mark.requirement("SRC-04")
def test_two_projects_with_the_same_module_name_stay_apart(tmp_path: Path) -> None:
    sources: list[ConfigToolSource] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.py").write_text(f"def f(): return {name!r}\n")
        sources.append(source_of(tmp_path / name, table()))
    assert [run(source) for source in sources] == ["one", "two"]


@pytest.mark.requirement("SRC-04")
def test_a_module_of_the_folder_comes_before_an_installed_one(tmp_path: Path) -> None:
    (tmp_path / "textwrap.py").write_text("def f(): return 'mine'\n")
    assert run(source_of(tmp_path, table(module="textwrap"))) == "mine"
    assert run(source_of(tmp_path, table(module="posixpath", function="basename")), p="a/b") == "b"


@pytest.mark.requirement("SRC-04")
def test_a_module_is_run_once_at_first_use_and_keeps_its_state(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("calls = []\ndef f():\n    calls.append(1)\n    return len(calls)\n")
    source = source_of(tmp_path, table(), table(name="u"))
    assert [run(source), run(source, "u"), run(source)] == [1, 2, 3]


@pytest.mark.requirement("SRC-04")
def test_a_module_that_the_host_has_imported_itself_is_that_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostapp_state.py").write_text("value = 1\ndef f(): return value\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import hostapp_state  # type: ignore[import-not-found]

    hostapp_state.value = 5
    try:
        assert run(source_of(tmp_path, table(module="hostapp_state"))) == 5
    finally:
        del sys.modules["hostapp_state"]


@pytest.mark.requirement("SRC-04", "SRC-10")
@pytest.mark.parametrize(
    ("module", "function", "said"),
    [
        ("gone", "f", "ModuleNotFoundError: No module named 'gone'"),
        ("mine", "missing", "module 'mine' has no function 'missing'"),
        ("mine", "number", "mine.number is a int, not a function"),
        ("raises", "f", "RuntimeError: boom"),
        ("exits", "f", "SystemExit: 3"),
        ("broken", "f", "SyntaxError"),
        ("needs", "f", "No module named 'not_installed_anywhere'"),
    ],
)
def test_code_that_is_not_there_is_an_error_of_that_tool_alone(
    tmp_path: Path, module: str, function: str, said: str
) -> None:
    (tmp_path / "mine.py").write_text("number = 3\ndef f(): return 'fine'\n")
    (tmp_path / "raises.py").write_text("raise RuntimeError('boom')\n")
    (tmp_path / "exits.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "needs.py").write_text("import not_installed_anywhere\n")
    source = source_of(tmp_path, table(function, module, name="bad"), table(name="good"))
    assert [spec.name for spec in source.discover()] == ["bad", "good"]
    with pytest.raises(ToolUnavailable) as error:
        run(source, "bad")
    for part in ("'bad'", module, function, "sutler.toml:7", said):
        assert part in str(error.value)
    assert run(source, "good") == "fine"


@pytest.mark.requirement("SRC-04")
def test_a_mended_file_works_at_the_next_call(tmp_path: Path) -> None:
    source = source_of(tmp_path, table())
    with pytest.raises(ToolUnavailable):
        run(source)
    (tmp_path / "mine.py").write_text("raise ValueError\n")
    with pytest.raises(ToolUnavailable):
        run(source)
    (tmp_path / "mine.py").write_text("def f(): return 'mended'\n")
    assert run(source) == "mended"


# ---------------------------------------------------------------- calls


@pytest.mark.requirement("SRC-02", "SRC-04", "SCH-07")
def test_functions_are_called_by_keyword_whatever_their_signature(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\n"
        "def positional(a, b=2, /, *, c=3): return [a, b, c]\n"
        "async def later(a): return a\n"
        "def typed(p: Path, self=None, fn=None): return type(p).__mro__[-2].__name__\n"
        "class Thing:\n    def __call__(self, a): return a\nthing = Thing()\n"
    )
    names = ("positional", "later", "typed", "thing")
    source = source_of(tmp_path, *(table(name, name=name) for name in names), table("sqrt", "math", name="sqrt"))
    assert run(source, "positional", a=1, c=9) == [1, 2, 9]
    assert run(source, "typed", p="x", self=1, fn=2) == "PurePath"
    assert run(source, "thing", a=1) == 1
    assert run(source, "sqrt", x=9) == 3
    resolved = source.resolve(next(spec for spec in source.discover() if spec.name == "later"))
    assert inspect.iscoroutinefunction(resolved)
    assert asyncio.run(resolved(a=4)) == 4


def test_the_same_tools_run_in_a_worker_process(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os\ndef f(a): return [a, os.getpid()]\nasync def g(): return os.getcwd()\nnumber = 1\n"
    )
    source = source_of(tmp_path, table(), table("g", name="g"), table("number", name="bad"))
    entry, payload = source.worker(source.discover()[0])
    with Worker(entry, {**payload, "read_roots": []}) as worker:
        value, pid = worker.call("t", {"a": [1, None]}, cwd=tmp_path, timeout=20)["value"]["plain"]
        assert value == [1, None] and pid != os.getpid()
        assert worker.call("g", {}, cwd=tmp_path, timeout=20)["value"]["plain"] == os.path.realpath(tmp_path)
        failed = worker.call("bad", {}, cwd=tmp_path, timeout=20)["error"]
        assert failed is not None and failed["type"] == "ToolUnavailable" and "sutler.toml:7" in failed["message"]
