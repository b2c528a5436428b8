"""Tool folders: what is found in them, in which order, and at what cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ToolUnavailable
from sutler.sources import cache as cache_module
from sutler.sources.base import FOLDERS, ToolSource
from sutler.sources.cache import FolderCache, cache_dir
from sutler.sources.lazy import LazyToolSpec
from sutler.sources.library import LibraryToolSource
from sutler.sources.modules import PrivateModules
from sutler.sources.scanfolder import list_folder
from sutler.sources.shelf import open_folders
from sutler.spec import Grade, ToolSpec
from sutler.toolbox import Toolbox

TOOL = 'def {0}(a: int = 1) -> int:\n    """Does {0}."""\n    return a\n'


def lay(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
    return root


def opened(root: Path, **more: Any) -> list[ToolSource]:
    return open_folders([root], cache=more.pop("cache", False), **more)


def libraries(root: Path, **more: Any) -> list[LibraryToolSource]:
    return [source for source in opened(root, **more) if isinstance(source, LibraryToolSource)]


def found(root: Path, **more: Any) -> list[str]:
    return [spec.qualified for source in opened(root, **more) for spec in source.discover()]


def only(root: Path, **more: Any) -> LibraryToolSource:
    (source,) = libraries(root, **more)
    source.discover()
    return source


def notes(root: Path) -> str:
    sources = opened(root)
    for source in sources:
        source.discover()
    return "\n".join(note for source in sources for note in getattr(source, "notes", ()))


# ---------------------------------------------------------------- which files, in which order


@pytest.mark.requirement("LIB-01")
def test_a_directory_gives_its_primary_file_then_its_siblings_and_a_loose_file_gives_itself(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "pk/zeta.py": TOOL.format("tool_zeta"),
            "pk/pk.py": TOOL.format("tool_primary"),
            "pk/alpha.py": TOOL.format("tool_alpha"),
            "pk/__init__.py": TOOL.format("tool_init"),
            "loose.py": TOOL.format("tool_loose"),
            "__init__.py": TOOL.format("tool_root_init"),
        },
    )
    assert found(tmp_path) == ["loose::tool_loose", "pk::tool_primary", "pk::tool_alpha", "pk::tool_zeta"]
    assert all(source.precedence == FOLDERS for source in libraries(tmp_path))
    assert all(isinstance(source, ToolSource) for source in opened(tmp_path))


@pytest.mark.requirement("LIB-01")
def test_a_directory_without_a_primary_file_gives_every_file_of_it_sorted(tmp_path: Path) -> None:
    lay(tmp_path, {"pk/b.py": TOOL.format("tool_b"), "pk/a.py": TOOL.format("tool_a")})
    assert found(tmp_path) == ["pk::tool_a", "pk::tool_b"]


@pytest.mark.requirement("LIB-01")
def test_order_does_not_depend_on_the_order_of_the_disk(tmp_path: Path) -> None:
    names = ["m", "B", "a", "z9", "z10", "é", "_u"]
    for name in names:
        lay(tmp_path, {f"{name}.py": TOOL.format("tool_x")})
    assert [source.name for source in libraries(tmp_path)] == sorted(names)


@pytest.mark.requirement("LIB-01")
def test_what_is_no_tool_file_is_left_out(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            ".hidden.py": TOOL.format("tool_hidden"),
            ".git/hooks.py": TOOL.format("tool_git"),
            "__pycache__/x.py": TOOL.format("tool_cached"),
            "pk/.hidden.py": TOOL.format("tool_hidden2"),
            "pk/__pycache__/x.py": TOOL.format("tool_cached2"),
            "notes.txt": TOOL.format("tool_text"),
            "old.PY": TOOL.format("tool_upper"),
            "x.pyc": "",
            "x.py.bak": TOOL.format("tool_backup"),
            "description.yaml": "name: tool_yaml",
        },
    )
    assert found(tmp_path) == []
    assert "holds no tools" in notes(tmp_path)


@pytest.mark.requirement("LIB-10")
def test_folders_are_scanned_in_configured_order_one_level_deep(tmp_path: Path) -> None:
    first = lay(tmp_path / "z", {"a.py": TOOL.format("tool_x"), "pk/pk.py": TOOL.format("tool_p")})
    lay(first, {"pk/deep/more.py": TOOL.format("tool_deep"), "pk/data/x.csv": "1", "pk/far/away/x.py": ""})
    second = lay(tmp_path / "a", {"b.py": TOOL.format("tool_x")})
    sources = open_folders([first, second], cache=False)
    assert [spec.qualified for source in sources for spec in source.discover()] == [
        "a::tool_x",
        "pk::tool_p",
        "b::tool_x",
    ]
    said = notes(first)
    assert f"{first / 'pk' / 'deep'}: not searched for tools: it is deeper than one level" in said
    assert f"{first / 'pk' / 'far'}: not searched" in said
    assert "data" not in said


@pytest.mark.requirement("LIB-10")
def test_within_one_file_the_last_def_is_the_tool_and_the_earlier_is_listed(tmp_path: Path) -> None:
    lay(tmp_path, {"a.py": "def tool_x(old: str): return 'old'\n\ndef tool_x(new: int = 2): return new\n"})
    source = only(tmp_path)
    (spec,) = source.discover()
    assert (list(spec.input_schema["properties"]), spec.origin.where) == (["new"], f"{tmp_path / 'a.py'}:3")
    assert source.resolve(spec)(new=5) == 5
    (hidden,) = source.duplicates
    assert (hidden.tool, hidden.where, hidden.winner) == ("tool_x", f"{tmp_path / 'a.py'}:1", f"{tmp_path / 'a.py'}:3")


@pytest.mark.requirement("LIB-02")
def test_the_first_file_of_a_library_wins_a_name_and_the_later_is_reported(tmp_path: Path) -> None:
    lay(tmp_path, {"pk/pk.py": "def tool_x(): return 'primary'\n", "pk/a.py": "\ndef tool_x(): return 'sibling'\n"})
    source = only(tmp_path)
    (spec,) = source.discover()
    assert source.resolve(spec)() == "primary"
    (hidden,) = source.duplicates
    assert str(hidden) == (
        f"pk::tool_x: the definition at {tmp_path / 'pk' / 'a.py'}:2"
        f" is hidden by the one at {tmp_path / 'pk' / 'pk.py'}:1"
    )


@pytest.mark.requirement("LIB-02")
def test_a_directory_and_a_file_of_one_stem_are_two_libraries_the_directory_first(tmp_path: Path) -> None:
    lay(tmp_path, {"x.py": "def tool_a(): return 'file'\n", "x/x.py": "def tool_a(): return 'directory'\n"})
    first, second = libraries(tmp_path)
    assert (first.name, second.name) == ("x", "x")
    assert [source.resolve(source.discover()[0])() for source in (first, second)] == ["directory", "file"]


@pytest.mark.requirement("LIB-10")
@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no symbolic links here")
def test_a_link_is_followed_inside_the_folder_and_named_when_it_leaves_it(tmp_path: Path) -> None:
    outside = lay(tmp_path / "outside", {"o.py": TOOL.format("tool_o"), "dir/dir.py": TOOL.format("tool_d")})
    folder = lay(tmp_path / "tools", {"real.py": TOOL.format("tool_r"), "pk/pk.py": TOOL.format("tool_p")})
    (folder / "inside.py").symlink_to(folder / "real.py")
    (folder / "leaves.py").symlink_to(outside / "o.py")
    (folder / "leavesdir").symlink_to(outside / "dir")
    (folder / "broken.py").symlink_to(folder / "nowhere.py")
    (folder / "loop.py").symlink_to(folder / "loop.py")
    (folder / "pk" / "up").symlink_to(folder)
    (folder / "pk" / "out.py").symlink_to(outside / "o.py")
    (tmp_path / "alias").symlink_to(folder)
    assert found(folder) == ["inside::tool_r", "pk::tool_p", "real::tool_r"]
    said = notes(folder)
    for name in ("leaves.py", "leavesdir", "broken.py", "loop.py", "pk/out.py"):
        assert str(folder / name) in said
    assert found(tmp_path / "alias") == ["inside::tool_r", "pk::tool_p", "real::tool_r"]
    both = open_folders([folder, tmp_path / "alias"], cache=False)
    assert sum(len(source.discover()) for source in both) == 3
    assert any("configured twice" in note for source in both for note in getattr(source, "notes", ()))


def toolbox_of(sources: Sequence[Any]) -> Toolbox:
    toolbox = Toolbox()
    for source in sources:
        toolbox.add_source(source)
    return toolbox


@pytest.mark.requirement("LIB-10")
def test_a_folder_that_cannot_be_used_is_a_source_with_its_reason_and_spoils_nothing(tmp_path: Path) -> None:
    lay(tmp_path / "good", {"a.py": TOOL.format("tool_a")})
    lay(tmp_path, {"file.py": TOOL.format("tool_f")})
    sources = open_folders(
        [tmp_path / "missing", tmp_path / "file.py", str(tmp_path / "good"), tmp_path / "nul\0"], cache=False
    )
    inventory = toolbox_of(sources).inventory()
    reasons = [one.reason for one in inventory.quarantined]
    assert len(reasons) == 3 and all(one.tool is None for one in inventory.quarantined)
    assert "no such folder" in reasons[0] and "not a folder" in reasons[1]
    assert str(inventory.quarantined[0]).count(str(tmp_path / "missing")) == 1
    assert list(inventory.tools) == ["tool_a"]
    assert [spec.name for spec in sources[2].discover()] == ["tool_a"]


@pytest.mark.requirement("LIB-01")
def test_a_file_that_cannot_be_read_is_quarantined_alone(tmp_path: Path) -> None:
    lay(tmp_path, {"pk/a.py": TOOL.format("tool_a"), "pk/b.py": TOOL.format("tool_b")})
    listing = list_folder(tmp_path)
    (tmp_path / "pk" / "a.py").unlink()  # as gone as one without permission, and for every user
    scans = FolderCache(tmp_path, None).scan(listing.libraries)
    source = LibraryToolSource(listing.libraries[0], scans, modules=PrivateModules())
    assert [spec.name for spec in source.discover()] == ["tool_b"]
    (bad,) = source.quarantined
    assert bad.reason == f"{tmp_path / 'pk' / 'a.py'}: cannot be read: No such file or directory"


@pytest.mark.requirement("LIB-01")
def test_a_file_that_is_no_text_is_quarantined_with_its_line_and_the_rest_is_found(tmp_path: Path) -> None:
    lay(tmp_path, {"pk/pk.py": TOOL.format("tool_p"), "pk/good.py": TOOL.format("tool_g")})
    (tmp_path / "pk" / "bad.py").write_bytes(b"x = 1\ny = '\xff\xfe'\ndef tool_bad(): ...\n")
    source = only(tmp_path)
    assert [spec.name for spec in source.discover()] == ["tool_p", "tool_g"]
    (bad,) = source.quarantined
    assert f"{tmp_path / 'pk' / 'bad.py'}:2" in bad.reason


# ---------------------------------------------------------------- without running anything


HOSTILE = """
import os, sys, atexit
print("imported!")
open(os.path.join(os.path.dirname(__file__), "imported.txt"), "w").close()
import a_module_that_is_not_there
raise SystemExit(1)
def tool_listed(x: int, y: str = "z") -> dict:
    \"\"\"Is listed all the same.\"\"\"
"""


@pytest.mark.requirement("LIB-03", "TRU-01")
def test_discovery_runs_nothing_and_imports_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    lay(tmp_path, {"bad.py": HOSTILE, "pk/pk.py": HOSTILE, "pk/__init__.py": HOSTILE})
    lay(tmp_path, {"pk/description.yaml": "tool_yaml: x"})
    modules, path, places = set(sys.modules), list(sys.path), sorted(tmp_path.rglob("*"))
    specs = [spec for source in opened(tmp_path) for spec in source.discover()]
    assert [(spec.name, spec.description, list(spec.input_schema["properties"])) for spec in specs] == [
        ("tool_listed", "Is listed all the same.", ["x", "y"])
    ] * 2
    assert [spec.digest for spec in specs] == [specs[0].digest] * 2
    assert not [name for name in set(sys.modules) - modules if "bad" in name or name.startswith(("pk", "_sutler"))]
    assert sys.path == path
    assert sorted(tmp_path.rglob("*")) == places
    assert capfd.readouterr() == ("", "")


@pytest.mark.requirement("LIB-04")
def test_async_tools_are_tools_and_nested_ones_are_reported(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "ops.py": """
            async def tool_later(): return 1
            def helper():
                def tool_inner(): ...
            class Box:
                def tool_method(self): ...
            def tool_ops_prompt(): return "about ops"
            def tool_later_prompt(): return "about later"
            def tool_other_prompt(text: str): return text
            """
        },
    )
    source = only(tmp_path)
    assert [spec.name for spec in source.discover()] == ["tool_later", "tool_other_prompt"]
    assert source.providers == ((tmp_path / "ops.py", "tool_ops_prompt"), (tmp_path / "ops.py", "tool_later_prompt"))
    said = "\n".join(source.notes)
    assert f"{tmp_path / 'ops.py'}:4: tool_inner cannot be called" in said
    assert f"{tmp_path / 'ops.py'}:6: tool_method cannot be called" in said


@pytest.mark.requirement("GRD-01")
def test_a_tool_decorator_is_read_without_running_it(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "a.py": """
            from sutler import tool
            @tool(read_only=True, name="look", timeout=5, isolation="process", affinity="thread", title="Look")
            def peek(): return 'seen'
            def tool_plain(): ...
            """
        },
    )
    source = only(tmp_path)
    look, plain = source.discover()
    assert (look.name, look.grade, look.grade_from, look.read_only) == ("look", Grade(1, 0), "declared", True)
    assert (look.timeout, look.isolation, look.affinity, look.annotations.title) == (5, "process", "thread", "Look")
    assert (plain.grade, plain.grade_from, plain.isolation) == (Grade(3, 3), "undeclared", None)
    assert source.resolve(look)() == "seen"


def test_a_tool_that_asks_itself_says_so_before_its_file_is_run(tmp_path: Path) -> None:
    text = """
        from sutler import tool
        @tool(asks_itself=True)
        def tool_shell(command: str): raise RuntimeError
        @tool(asks_itself="always")
        def tool_other(): ...
        """
    lay(tmp_path, {"a.py": text})
    source = only(tmp_path)
    shell, other = source.discover()
    assert (shell.meta, other.meta) == ({"asks_itself": True}, {})
    assert "asks_itself must be True or False" in "\n".join(source.notes)


@pytest.mark.requirement("LIB-03")
def test_a_library_that_keeps_the_process_directory_asks_for_a_process(tmp_path: Path) -> None:
    lay(tmp_path, {"a.py": "def tool_a():\n    import polars\n", "b.py": "import json\ndef tool_b(): ...\n"})
    assert [spec.isolation for source in libraries(tmp_path) for spec in source.discover()] == ["process", None]


# ---------------------------------------------------------------- what a library says of itself


@pytest.mark.requirement("LIB-05")
def test_a_librarys_constants_are_read_and_shown(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "db/db.py": """
            TOOL_LIBRARY_NAME = "Database"
            TOOL_LIBRARY_DESC = "Queries " "things."
            TOOL_LIBRARY_ICON: str = "🗄️"
            TOOL_LIBRARY_ALIASES = ("sql", "queries", 5)
            def tool_a(): ...
            """,
            "db/more.py": 'TOOL_LIBRARY_NAME = "Not this"\n',
            "plain.py": "TOOL_LIBRARY_NAME = 5\nTOOL_LIBRARY_DESC = compute()\ndef tool_b(): ...\n",
        },
    )
    database, plain = libraries(tmp_path)
    info = database.info
    assert (info.name, info.description, info.icon, info.aliases) == (
        "Database",
        "Queries things.",
        "🗄️",
        ("sql", "queries"),
    )
    assert (info.load_flag, info.stems, database.available()) == (None, ("db", "more"), True)
    assert (plain.info.name, plain.info.description) == ("plain", "")
    plain.discover()
    assert "TOOL_LIBRARY_NAME is a int, not a text" in "\n".join(plain.notes)


@pytest.mark.requirement("LIB-05")
@pytest.mark.parametrize(
    ("value", "on"),
    [
        *((value, True) for value in (True, 1, "true", " YES ", "on", "1")),
        *((value, False) for value in (False, 0, "false", "no", "", None, "0")),
    ],
)
def test_a_library_with_a_load_flag_stays_off_until_host_config_turns_it_on(
    tmp_path: Path, value: Any, on: bool
) -> None:
    lay(tmp_path, {"models.py": 'TOOL_LIBRARY_LOAD_FLAG = "enable_models"\ndef tool_a(): return 1\n'})
    source = only(tmp_path)
    spec = source.discover()[0]
    assert source.available() is False
    assert "enable_models" in source.reason and "host_tool_configs.models" in source.reason
    with pytest.raises(ToolUnavailable, match="enable_models"):
        source.resolve(spec)
    source.configure({"models": {"enable_models": value}})
    assert source.available() is on
    assert only(tmp_path, host_configs={"models": {"enable_models": value}}).available() is on


# ---------------------------------------------------------------- files that do not parse


BROKEN = '''
def tool_whole(a: int, b: str = "x, y") -> dict:
    """Does the whole.

    Args:
        a: the a
    """
    return {}

def tool_broken(q: str, n=[1, 2]):
    """Is broken."""
    return (1 +
'''


@pytest.mark.requirement("LIB-07")
def test_a_file_that_does_not_parse_still_lists_its_tools_and_calling_one_reports_the_syntax_error(
    tmp_path: Path,
) -> None:
    lay(tmp_path, {"bad.py": BROKEN, "good.py": TOOL.format("tool_g")})
    source, good = libraries(tmp_path)
    whole, broken = source.discover()
    assert (whole.name, whole.description, list(whole.input_schema["properties"])) == (
        "tool_whole",
        "Does the whole.",
        ["a", "b"],
    )
    assert (broken.description, list(broken.input_schema["properties"])) == ("Is broken.", ["q", "n"])
    assert all(spec.meta["_parsed_via_regex_fallback"] is True for spec in (whole, broken))
    assert all("does not parse" in "\n".join(spec.notes) for spec in (whole, broken))
    assert any(f"{tmp_path / 'bad.py'}:13" in note or f"{tmp_path / 'bad.py'}:12" in note for note in source.notes)
    with pytest.raises(
        ToolUnavailable, match=rf"^{tmp_path / 'bad.py'}:1[23]: cannot be imported: SyntaxError: "
    ) as caught:
        source.resolve(whole)(a=1)
    assert caught.value.status_code == 500
    assert "_parsed_via_regex_fallback" not in good.discover()[0].meta
    lay(tmp_path, {"bad.py": BROKEN + "1)\n"})
    os.utime(tmp_path / "bad.py", (1, 1))
    assert source.resolve(whole)(a=1) == {}


# ---------------------------------------------------------------- lazy, and remembered


@pytest.mark.requirement("LIB-08")
def test_discovery_builds_no_schema_until_one_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def counted(text: str, name: str, **more: Any) -> Any:
        looked.append(name)
        return describe(text, name, **more)

    from sutler.schema.from_source import describe

    monkeypatch.setattr("sutler.sources.library.describe", counted)
    lay(tmp_path, {"a.py": "\n".join(TOOL.format(f"tool_{letter}") for letter in "abcde")})
    source = only(tmp_path)
    specs = source.discover()
    assert all(isinstance(spec, LazyToolSpec) and isinstance(spec, ToolSpec) for spec in specs)
    assert [spec.qualified for spec in specs][-1] == "a::tool_e"
    assert source.resolve(specs[1])(a=3) == 3
    assert looked == []
    assert specs[2].description == "Does tool_c."
    assert specs[2].digest and specs[2].args and not specs[2].notes
    assert looked == ["tool_c"]


@pytest.mark.requirement("LIB-08")
def test_a_file_edited_before_its_tool_is_looked_at_is_described_as_it_is_then_with_a_note(tmp_path: Path) -> None:
    lay(tmp_path, {"a.py": TOOL.format("tool_a") + TOOL.format("tool_b"), "c.py": TOOL.format("tool_c")})
    (a, b), (c,) = [source.discover() for source in libraries(tmp_path)]
    lay(tmp_path, {"a.py": "def tool_a(other: str):\n    '''Changed.'''\n"})
    (tmp_path / "c.py").unlink()
    assert (a.description, list(a.input_schema["properties"])) == ("Changed.", ["other"])
    assert "changed after its tools were listed" in a.notes[0]
    assert (b.description, b.input_schema["properties"]) == ("No description provided.", {})
    assert "no function tool_b" in b.notes[-1]
    assert "cannot be read" in c.notes[-1]
    assert c.digest


@pytest.fixture
def remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache directory, and a cache that remembers folders of any size."""
    monkeypatch.setattr(cache_module, "SMALL", 1)
    yield tmp_path / "cache"


def parsed(root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """What is found, and which files had to be parsed for it."""
    files: list[str] = []

    def counted(text: str, *, file: str, stem: str) -> Any:
        files.append(Path(file).name)
        return scan(text, file=file, stem=stem)

    from sutler.schema.from_source import scan

    with monkeypatch.context() as patch:
        patch.setattr(cache_module, "scan", counted)
        return found(root, cache=cache), files


@pytest.mark.requirement("LIB-08")
def test_unchanged_files_are_not_parsed_again_and_everything_found_stays_the_same(
    tmp_path: Path, remembered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = lay(
        tmp_path / "tools",
        {
            "a.py": "import polars\n" + TOOL.format("tool_a") + "def f():\n    def tool_in(): ...\n",
            "bad.py": BROKEN,
            "d/d.py": "from sutler import tool\n@tool(name='look', read_only=True, timeout=2)\ndef x(): ...\n",
            "d/e.py": """
            TOOL_LIBRARY_NAME = "D"
            TOOL_LIBRARY_ALIASES = ["x"]
            def tool_d_prompt(): ...
            def tool_y(): ...
            def tool_y(): ...
            """,
        },
    )
    (root / "raw.py").write_bytes(b"\xff\xff")
    for file in root.rglob("*.py"):
        os.utime(file, (1_000_000_000, 1_000_000_000))

    def everything(cache: Path | bool) -> Any:
        sources = open_folders([root], cache=cache)
        specs = [list(source.discover()) for source in sources]
        return specs, [
            (source.name, source.info, source.providers, source.notes, source.duplicates, source.quarantined)
            for source in sources
            if isinstance(source, LibraryToolSource)
        ]

    assert parsed(root, remembered, monkeypatch)[1] == ["a.py", "bad.py", "d.py", "e.py"]
    assert parsed(root, remembered, monkeypatch)[1] == []
    assert everything(remembered) == everything(False)
    (file,) = (remembered / "folders").iterdir()
    assert b"polars" in file.read_bytes()


@pytest.mark.requirement("LIB-08")
def test_only_files_whose_content_changed_are_parsed_again(
    tmp_path: Path, remembered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = lay(tmp_path / "tools", {f"{name}.py": TOOL.format(f"tool_{name}") for name in "abc"})
    for file in root.iterdir():
        os.utime(file, (1_000_000_000, 1_000_000_000))
    parsed(root, remembered, monkeypatch)
    (root / "a.py").touch()  # another time, the same content
    lay(root, {"b.py": TOOL.format("tool_B"), "d.py": TOOL.format("tool_d")})
    (root / "c.py").unlink()
    assert parsed(root, remembered, monkeypatch) == (["a::tool_a", "b::tool_B", "d::tool_d"], ["b.py", "d.py"])
    assert parsed(root, remembered, monkeypatch)[1] == []


@pytest.mark.requirement("LIB-08")
def test_an_edit_of_the_same_size_within_the_same_tick_of_the_clock_is_seen(
    tmp_path: Path, remembered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = lay(tmp_path / "tools", {"a.py": TOOL.format("tool_a")})
    held = (root / "a.py").stat()
    assert parsed(root, remembered, monkeypatch)[0] == ["a::tool_a"]
    with (root / "a.py").open("r+") as file:
        file.write(TOOL.format("tool_b"))
    os.utime(root / "a.py", ns=(held.st_atime_ns, held.st_mtime_ns))
    assert parsed(root, remembered, monkeypatch)[0] == ["a::tool_b"]


@pytest.mark.requirement("LIB-08")
@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"",
        lambda text: text[: len(text) // 2],
        lambda text: b"\x80\x04\x95" + text,
        lambda text: b"[]",
        lambda text: b"null",
        lambda text: b"[" * 100_000,
        lambda text: text.replace(b'"files":{', b'"files":[{').replace(b"}}", b"}]}"),
        lambda text: text.replace(b'"tool_a"', b"5"),
        lambda text: text.replace(b"false", b'"no"'),
        lambda text: text.replace(b'"folder":"', b'"folder":"/other'),
        lambda text: json.dumps({**json.loads(text), "files": {"a.py": None, "b.py": [0]}}).encode(),
        lambda text: json.dumps({**json.loads(text), "files": {"a.py": [1, 2, 3, "x", []]}}).encode(),
    ],
)
def test_a_damaged_cache_is_made_anew(
    tmp_path: Path, remembered: Path, monkeypatch: pytest.MonkeyPatch, damage: Any
) -> None:
    root = lay(tmp_path / "tools", {f"{name}.py": TOOL.format(f"tool_{name}") for name in "ab"})
    for file in root.iterdir():
        os.utime(file, (1_000_000_000, 1_000_000_000))
    parsed(root, remembered, monkeypatch)
    (file,) = (remembered / "folders").iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert parsed(root, remembered, monkeypatch)[0] == ["a::tool_a", "b::tool_b"]
    assert parsed(root, remembered, monkeypatch) == (["a::tool_a", "b::tool_b"], [])


@pytest.mark.requirement("LIB-08")
def test_a_damaged_cache_and_one_that_cannot_be_written_are_said(tmp_path: Path, remembered: Path) -> None:
    root = lay(tmp_path / "tools", {"a.py": TOOL.format("tool_a")})
    found(root, cache=remembered)
    (file,) = (remembered / "folders").iterdir()
    file.write_text("{")
    sources = open_folders([root], cache=remembered)
    assert any("is damaged and is made anew" in note for source in sources for note in getattr(source, "notes", ()))
    lay(tmp_path, {"plain": "a file where the directory should be"})
    sources = open_folders([root], cache=tmp_path / "plain")
    assert any("cannot be remembered" in note for source in sources for note in getattr(source, "notes", ()))
    assert [spec.name for source in sources for spec in source.discover()] == ["tool_a"]


@pytest.mark.requirement("LIB-08")
def test_a_cache_of_another_version_is_not_read(
    tmp_path: Path, remembered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = lay(tmp_path / "tools", {"a.py": TOOL.format("tool_a")})
    os.utime(root / "a.py", (1_000_000_000, 1_000_000_000))
    parsed(root, remembered, monkeypatch)
    monkeypatch.setattr(cache_module, "FORMAT", cache_module.FORMAT + 1)
    assert parsed(root, remembered, monkeypatch)[1] == ["a.py"]


@pytest.mark.requirement("LIB-08")
def test_the_cache_lies_in_the_users_cache_directory_and_a_small_folder_leaves_nothing_there(tmp_path: Path) -> None:
    assert cache_dir({"SUTLER_CACHE_DIR": str(tmp_path)}) == tmp_path
    assert cache_dir({}).name == "sutler"
    few = lay(tmp_path / "few", {"a.py": TOOL.format("tool_a")})
    many = lay(tmp_path / "many", {f"f{number}.py": TOOL.format(f"tool_{number}") for number in range(30)})
    code = (
        "import sys; from sutler.sources.shelf import open_folders\n"
        "print(sum(len(s.discover()) for s in open_folders([sys.argv[1]])))"
    )
    environment = {**os.environ, "SUTLER_CACHE_DIR": str(tmp_path / "cache")}
    for folder, count, files in ((few, 1, 0), (many, 30, 1)):
        run = subprocess.run(
            [sys.executable, "-c", code, str(folder)], env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == str(count)
        assert len(list((tmp_path / "cache").rglob("*.json"))) == files


@pytest.mark.requirement("LIB-08")
def test_every_file_is_looked_at_once_however_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for count in (10, 40):
        root = lay(tmp_path / str(count), {f"f{n}.py": TOOL.format(f"tool_{n}") for n in range(count)})
        monkeypatch.setattr(cache_module, "SMALL", 10_000)
        assert len(parsed(root, tmp_path, monkeypatch)[1]) == count


# ---------------------------------------------------------------- calling


@pytest.mark.requirement("RUN-03", "SCH-07")
def test_a_found_tool_is_called_by_keywords_with_its_state_kept(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "pk/pk.py": """
            from helper import add
            def tool_sum(a: int, b: int = 2, /, *, c: int) -> int:
                return add(a, b, c)
            """,
            "pk/helper.py": "calls = 0\ndef add(*n):\n    global calls\n    calls += 1\n    return [sum(n), calls]\n",
        },
    )
    source = only(tmp_path)
    (spec,) = source.discover()
    assert list(spec.input_schema["properties"]) == ["a", "b", "c"]
    run = source.resolve(spec)
    assert [run(a=1, c=3), run(a=1, b=1, c=1)] == [[6, 1], [3, 2]]
    assert source.resolve(spec.with_origin(source="pk#2"))(a=0, c=0) == [2, 3]
    with pytest.raises(ToolUnavailable, match="pk has no tool tool_other"):
        source.resolve(ToolSpec(name="tool_other", origin=spec.origin))


@pytest.mark.requirement("RUN-03")
def test_loose_files_share_their_helper_within_a_runtime_and_not_between_runtimes(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "a.py": "import helper\ndef tool_a():\n    helper.N.append('a')\n    return list(helper.N)\n",
            "b.py": "from helper import N\ndef tool_b():\n    N.append('b')\n    return list(N)\n",
            "helper.py": "N = []\n",
        },
    )
    first, second = libraries(tmp_path), libraries(tmp_path)
    assert [source.name for source in first] == ["a", "b"]
    calls = [source.resolve(source.discover()[0]) for source in (*first, *second)]
    assert [call() for call in calls] == [["a"], ["a", "b"], ["a"], ["a", "b"]]
    for source in (*first, *second):
        source.close()


@pytest.mark.requirement("LCP-05")
def test_each_file_of_a_library_gets_the_config_of_its_own_stem_else_the_librarys(tmp_path: Path) -> None:
    init = "def init_tools_library(config):\n    global C\n    C = config\ndef {0}(): return C\n"
    lay(
        tmp_path,
        {"pk/pk.py": init.format("tool_a"), "pk/b.py": init.format("tool_b"), "pk/c.py": init.format("tool_c")},
    )
    source = only(tmp_path, host_configs={"pk": {"v": 1}, "c": {"v": 3}, "other": {"v": 9}})
    assert [source.resolve(spec)() for spec in source.discover()] == [{"v": 1}, {"v": 1}, {"v": 3}]


@pytest.mark.requirement("LCP-01")
def test_the_parameter_to_confirm_with_is_read_from_the_text(tmp_path: Path) -> None:
    lay(
        tmp_path,
        {
            "shell.py": """
            from sutler import tool
            @tool(confirm_with="command")
            def tool_sh(command: str): pass
            @tool(confirm_with="nothing")
            def tool_other(command: str): pass
            """
        },
    )
    sh, other = only(tmp_path).discover()
    assert sh.meta == {"confirm_with": "command"} and not sh.notes
    assert "confirm_with names 'nothing'" in other.notes[-1]
