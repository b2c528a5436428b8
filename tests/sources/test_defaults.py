"""The shipped tools, called as the source hands them out."""

from __future__ import annotations

import ast
import http.server
import json
import os
import sqlite3
import threading
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sutler
from sutler import workspace
from sutler.errors import ToolTimeout
from sutler.schema.validate import Validator
from sutler.sources.base import DEFAULTS, USER_CONFIG
from sutler.sources.config import ConfigToolSource
from sutler.sources.defaults import FILE, default_source, tables_of
from sutler.sources.shelf import open_folders
from sutler.sources.shipped import FOLDER
from sutler.tables import ToolTable
from sutler.toolbox import Toolbox
from sutler.workspace import Workspace
from sutler.workspace.worker import Worker

SOURCE = default_source()
SPECS = {spec.name: spec for spec in SOURCE.discover()}
SHIPPED = {*SPECS, *(spec.name for source in open_folders([FOLDER], cache=False) for spec in source.discover())}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace with a folder beside it that no tool may touch."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    monkeypatch.chdir(inside)
    token = workspace.current.set(Workspace(inside))
    yield inside
    workspace.current.reset(token)


def tool(name: str) -> Callable[..., Any]:
    return SOURCE.resolve(SPECS[name])


# ---------------------------------------------------------------- as data


@pytest.mark.requirement("SRC-01")
def test_no_shipped_tool_name_is_a_literal_in_the_code_outside_data() -> None:
    package = Path(sutler.__file__).parent
    found = [
        f"{file.relative_to(package)}:{node.lineno} {node.value!r}"
        for file in package.rglob("*.py")
        if "data" not in file.relative_to(package).parts[:1]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in SHIPPED
    ]
    assert found == []


@pytest.mark.requirement("SRC-01")
def test_an_emptied_default_file_and_no_config_leave_an_empty_toolbox(tmp_path: Path) -> None:
    emptied = tmp_path / "default_tools.toml"
    emptied.write_text("")
    toolbox = Toolbox()
    toolbox.add_source(default_source(emptied))
    assert dict(toolbox.inventory().tools) == {}
    toolbox.add_source(default_source())
    assert set(toolbox.inventory().tools) == set(SPECS)


@pytest.mark.requirement("SRC-05")
def test_a_config_tool_of_the_same_name_overrides_a_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def read(path):\n    return f'mine: {path}'\n")
    table = ToolTable(name="read_file", module="mine", function="read", where="sutler.toml:1")
    toolbox = Toolbox()
    toolbox.add_source(ConfigToolSource([table], tmp_path))
    toolbox.add_source(default_source())
    inventory = toolbox.inventory()
    assert inventory.tools["read_file"].spec.origin.source == "config"
    assert toolbox.resolve("read_file")(path="x") == "mine: x"
    assert [shadow.row.spec.qualified for shadow in inventory.shadowed] == ["default::read_file"]
    assert DEFAULTS < USER_CONFIG


@pytest.mark.requirement("SRC-05", "GRD-01")
@pytest.mark.parametrize("name", SPECS)
def test_every_shipped_tool_says_what_it_is(name: str) -> None:
    spec = SPECS[name]
    hints = spec.annotations
    assert spec.origin.kind == "config"
    assert spec.origin.source == "default"
    assert spec.grade_from == "declared"
    assert spec.description[0].isupper() and spec.description.endswith(".")
    assert hints.title
    assert None not in (hints.read_only, hints.idempotent, hints.open_world)
    assert hints.read_only == (spec.grade.d <= 1)
    assert hints.open_world == (spec.grade.w >= 2)
    if not hints.read_only:
        assert hints.destructive == (spec.grade.d == 3)
    assert all(argument.description for argument in spec.args)


@pytest.mark.requirement("SRC-05")
@pytest.mark.parametrize("name", SPECS)
def test_every_shipped_signature_takes_what_its_schema_declares(name: str) -> None:
    import importlib
    import inspect

    entry = next(e for e in tomllib.loads(FILE.read_text(encoding="utf-8"))["tools"] if e["name"] == name)
    function = getattr(importlib.import_module(entry["module"]), entry["function"])
    parameters = inspect.signature(function).parameters
    assert list(parameters) == [argument.name for argument in SPECS[name].args]
    for argument in SPECS[name].args:
        assert argument.required == (parameters[argument.name].default is inspect.Parameter.empty)
        if argument.has_default:
            assert Validator(SPECS[name].input_schema | {"required": []}).fits({argument.name: argument.default})


@pytest.mark.requirement("SRC-05")
def test_the_shipped_file_says_the_same_through_the_door_of_every_configuration() -> None:
    from sutler.config import load_text

    ours = tables_of(FILE)
    theirs = [
        replace(table, where=table.where.rpartition("/")[2])
        for table in load_text(FILE.read_text(encoding="utf-8"), FILE).tools
    ]
    assert theirs == ours


# ---------------------------------------------------------------- confinement


READERS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "{}"}),
    ("file_info", {"path": "{}"}),
    ("read_json", {"path": "{}"}),
    ("read_csv", {"path": "{}"}),
    ("search_text", {"pattern": "s", "path": "{}"}),
    ("sqlite_query", {"database": "{}", "query": "SELECT 1"}),
    ("copy_path", {"source": "{}", "target": "taken"}),
    ("list_dir", {"path": "{}/.."}),
    ("find_files", {"path": "{}/.."}),
]
WRITERS: list[tuple[str, dict[str, Any]]] = [
    ("write_file", {"path": "{}", "content": "x"}),
    ("append_file", {"path": "{}", "content": "x"}),
    ("edit_file", {"path": "{}", "old_str": "secret", "new_str": "x"}),
    ("make_dir", {"path": "{}"}),
    ("move_path", {"source": "{}", "target": "taken"}),
    ("move_path", {"source": "own.txt", "target": "{}"}),
    ("copy_path", {"source": "own.txt", "target": "{}"}),
    ("delete_path", {"path": "{}"}),
    ("sqlite_execute", {"database": "{}", "statement": "CREATE TABLE t (a)"}),
]


def filled(arguments: dict[str, Any], path: str) -> dict[str, Any]:
    return {key: value.format(path) if isinstance(value, str) else value for key, value in arguments.items()}


@pytest.mark.requirement("SRC-05", "WSP-03")
@pytest.mark.parametrize(("name", "arguments"), READERS + WRITERS)
@pytest.mark.parametrize(
    "spelling", ["../outside/secret.txt", "absolute", "link/secret.txt", "sub/../../outside/secret.txt"]
)
def test_no_shipped_tool_leaves_the_workspace(root: Path, name: str, arguments: dict[str, Any], spelling: str) -> None:
    outside = root.parent / "outside"
    (root / "own.txt").write_text("own")
    (root / "sub").mkdir()
    (root / "link").symlink_to(outside)
    path = str(outside / "secret.txt") if spelling == "absolute" else spelling
    with pytest.raises(PermissionError):
        tool(name)(**filled(arguments, path))
    assert sorted(os.listdir(outside)) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret"
    assert not (root / "taken").exists()
    assert (root / "own.txt").read_text() == "own"


@pytest.mark.requirement("SRC-05")
def test_read_roots_can_be_read_and_not_written(root: Path) -> None:
    outside = root.parent / "outside"
    workspace.current.set(Workspace(root, read_roots=[outside]))
    assert tool("read_file")(path=str(outside / "secret.txt")) == "secret"
    assert tool("find_files")(path=str(outside)) == [(outside / "secret.txt").as_posix()]
    for name, arguments in WRITERS:
        (root / "own.txt").write_text("own")
        with pytest.raises(PermissionError):
            tool(name)(**filled(arguments, str(outside / "secret.txt")))
    assert (outside / "secret.txt").read_text() == "secret"


@pytest.mark.requirement("SRC-05")
def test_a_file_that_links_out_of_the_workspace_is_neither_found_nor_searched(root: Path) -> None:
    (root / "leak.txt").symlink_to(root.parent / "outside" / "secret.txt")
    assert tool("find_files")() == []
    assert tool("search_text")(pattern="secret")["matches"] == []


PROTECTED = [
    "sutler.toml",
    "deep/down/sutler.toml",
    "SUTLER.TOML",
    "sutler.toml. ",
    "sutler.toml:stream",
    ".mcp.json",
    "mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    "claude_desktop_config.json",
    ".claude/settings.json",
    ".claude.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".config/sutler/config.toml",
]


@pytest.mark.requirement("TRU-01")
@pytest.mark.parametrize("path", PROTECTED)
@pytest.mark.parametrize(("name", "arguments"), [w for w in WRITERS if w[0] != "make_dir"])
def test_shipped_tools_never_change_what_decides_about_tools(
    root: Path, path: str, name: str, arguments: dict[str, Any]
) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("secret")
    (root / "own.txt").write_text("own")
    with pytest.raises(PermissionError):
        tool(name)(**filled(arguments, path))
    assert target.read_text() == "secret"
    assert tool("read_file")(path=path) == "secret"


@pytest.mark.requirement("TRU-01")
def test_a_protected_file_is_not_reached_by_a_detour(root: Path) -> None:
    (root / "sutler.toml").write_text("kept")
    (root / "alias").symlink_to(root / "sutler.toml")
    with pytest.raises(PermissionError):
        tool("write_file")(path="alias", content="x")
    (root / "folder").mkdir()
    (root / "folder" / "settings.json").write_text("{}")
    for name in ("move_path", "copy_path"):
        with pytest.raises(PermissionError):
            tool(name)(source="folder", target=".gemini")
    (root / "project").mkdir()
    (root / "project" / "sutler.toml").write_text("kept")
    with pytest.raises(PermissionError):
        tool("delete_path")(path="project", recursive=True)
    with pytest.raises(PermissionError):
        tool("move_path")(source="project", target="elsewhere")
    assert (root / "sutler.toml").read_text() == "kept"
    assert (root / "project" / "sutler.toml").read_text() == "kept"
    assert not (root / ".gemini").exists()


# ---------------------------------------------------------------- files


def test_a_file_written_is_a_file_read(root: Path) -> None:
    assert tool("write_file")(path="a/b.txt", content="één\n") == {"path": "a/b.txt", "bytes": 6, "created": True}
    assert tool("read_file")(path="a/b.txt") == "één\n"
    assert tool("write_file")(path="a/b.txt", content="two")["created"] is False
    assert tool("append_file")(path="a/b.txt", content="!") == {"path": "a/b.txt", "bytes": 4, "created": False}
    assert (root / "a" / "b.txt").read_text() == "two!"
    assert os.listdir(root / "a") == ["b.txt"]


def test_writing_keeps_the_permissions_a_file_has(root: Path) -> None:
    script = root / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    tool("write_file")(path="run.sh", content="new")
    assert script.stat().st_mode & 0o777 == 0o750
    plain = root / "plain"
    plain.write_text("")
    tool("write_file")(path="made", content="x")
    assert (root / "made").stat().st_mode & 0o777 == plain.stat().st_mode & 0o777


def test_part_of_a_file_can_be_read(root: Path) -> None:
    (root / "a.txt").write_text("1\n2\n3\n4\n")
    assert tool("read_file")(path="a.txt", start_line=2, max_lines=2) == "2\n3\n"
    assert tool("read_file")(path="a.txt", start_line=4) == "4\n"
    assert tool("read_file")(path="a.txt", start_line=9) == ""
    with pytest.raises(ValueError, match="counts from 1"):
        tool("read_file")(path="a.txt", start_line=0)


def test_a_missing_file_is_answered_with_what_is_there(root: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^No such file: x \(the workspace is empty\)$"):
        tool("read_file")(path="x")
    for name in ("b.txt", "a.txt"):
        (root / name).write_text("")
    (root / "sub").mkdir()
    with pytest.raises(FileNotFoundError, match=r"^No such file: x \(the workspace has: a.txt, b.txt, sub/\)$"):
        tool("read_file")(path="x")
    with pytest.raises(IsADirectoryError, match="sub is a folder"):
        tool("read_file")(path="sub")


def test_a_file_that_is_no_text_is_not_read_as_some(root: Path) -> None:
    (root / "x.bin").write_bytes(b"\x00\xff\xfe")
    with pytest.raises(ValueError, match=r"x.bin is not utf-8 text \(3 bytes"):
        tool("read_file")(path="x.bin")
    (root / "w.txt").write_bytes("größe".encode("utf-16"))
    assert tool("read_file")(path="w.txt") == "größe"
    (root / "l.txt").write_bytes("größe".encode("latin-1"))
    assert tool("read_file")(path="l.txt", encoding="latin-1") == "größe"
    with pytest.raises(ValueError, match="no such text encoding"):
        tool("read_file")(path="l.txt", encoding="klingon")


def test_a_pipe_is_refused_rather_than_waited_for(root: Path) -> None:
    os.mkfifo(root / "pipe")
    for name, arguments in [("read_file", {}), ("write_file", {"content": "x"}), ("append_file", {"content": "x"})]:
        with pytest.raises(PermissionError, match="not an ordinary file"):
            tool(name)(path="pipe", **arguments)


def test_an_edit_is_exact(root: Path) -> None:
    (root / "a.py").write_text("x = 1\ny = 1\n")
    edit = tool("edit_file")
    with pytest.raises(ValueError, match="contains that text 2 times"):
        edit(path="a.py", old_str="1", new_str="2")
    with pytest.raises(ValueError, match="does not contain that text"):
        edit(path="a.py", old_str="z", new_str="2")
    with pytest.raises(ValueError, match="old_str is empty"):
        edit(path="a.py", old_str="", new_str="2")
    assert edit(path="a.py", old_str="x = 1", new_str="x = 3") == {"path": "a.py", "replaced": 1}
    assert edit(path="a.py", old_str="\n", new_str=";\n", replace_all=True)["replaced"] == 2
    assert (root / "a.py").read_text() == "x = 3;\ny = 1;\n"


def test_an_edit_keeps_the_line_ends_of_the_file(root: Path) -> None:
    (root / "w.txt").write_bytes(b"one\r\ntwo\r\n")
    tool("edit_file")(path="w.txt", old_str="one\ntwo", new_str="1\n2")
    assert (root / "w.txt").read_bytes() == b"1\r\n2\r\n"


# ---------------------------------------------------------------- folders


def make_tree(root: Path) -> None:
    for name in ("b.py", "a.py", "src/m.py", "src/deep/n.py", "notes.md", ".git/config", "node_modules/x.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**/*.py", ["a.py", "b.py", "src/deep/n.py", "src/m.py"]),
        ("*.py", ["a.py", "b.py"]),
        ("src/**", ["src/deep/n.py", "src/m.py"]),
        ("./src/*.py", ["src/m.py"]),
        ("[ab].py", ["a.py", "b.py"]),
        ("[!a].py", ["b.py"]),
        ("?.{py,md}", ["a.py", "b.py"]),
        (".git/*", [".git/config"]),
        ("node_modules/**/*.py", ["node_modules/x.py"]),
        ("nothing", []),
    ],
)
def test_find_files_gives_sorted_relative_paths(root: Path, pattern: str, expected: list[str]) -> None:
    make_tree(root)
    assert tool("find_files")(pattern=pattern) == expected


def test_more_files_than_asked_for_is_an_error_and_no_cut_list(root: Path) -> None:
    make_tree(root)
    with pytest.raises(ValueError, match="5 files fit"):
        tool("find_files")(max_results=4)
    with pytest.raises(ValueError, match="entries"):
        tool("list_dir")(max_entries=1)


def test_list_dir_and_file_info_tell_what_is_there(root: Path) -> None:
    (root / "b").mkdir()
    (root / "a.txt").write_text("1\n2")
    (root / "x").symlink_to("a.txt")
    assert tool("list_dir")() == [
        {"name": "a.txt", "type": "file", "size": 3},
        {"name": "b", "type": "dir", "size": (root / "b").stat().st_size},
        {"name": "x", "type": "link", "size": 5},
    ]
    os.utime(root / "a.txt", (0, 0))
    assert tool("file_info")(path="a.txt") == {
        "path": "a.txt",
        "type": "file",
        "size": 3,
        "modified": "1970-01-01T00:00:00+00:00",
        "lines": 2,
    }
    with pytest.raises(NotADirectoryError):
        tool("list_dir")(path="a.txt")


def test_moving_and_copying_replace_nothing_unasked(root: Path) -> None:
    (root / "a").write_text("a")
    (root / "b").write_text("b")
    (root / "d").mkdir()
    for name in ("move_path", "copy_path"):
        with pytest.raises(FileExistsError, match="use overwrite"):
            tool(name)(source="a", target="b")
    assert tool("copy_path")(source="a", target="d") == {"from": "a", "to": "d/a"}
    assert tool("move_path")(source="a", target="b", overwrite=True) == {"from": "a", "to": "b"}
    assert (root / "b").read_text() == "a"
    assert tool("move_path")(source="d", target="new/place/d") == {"from": "d", "to": "new/place/d"}
    for name in ("move_path", "copy_path"):
        with pytest.raises(ValueError, match="into itself"):
            tool(name)(source="new", target="new/place/new")
    with pytest.raises(FileNotFoundError, match="No such file or folder: gone"):
        tool("move_path")(source="gone", target="x")


def test_deleting_removes_a_link_and_not_what_it_points_to(root: Path) -> None:
    (root / "out").symlink_to(root.parent / "outside")
    assert tool("delete_path")(path="out") == {"path": "out", "deleted": 1}
    assert (root.parent / "outside" / "secret.txt").exists()


def test_deleting_a_full_folder_has_to_be_asked_for(root: Path) -> None:
    make_tree(root)
    with pytest.raises(ValueError, match="not empty"):
        tool("delete_path")(path="src")
    assert tool("delete_path")(path="src", recursive=True) == {"path": "src", "deleted": 4}
    for path in (".", "", "src/.."):
        with pytest.raises((PermissionError, FileNotFoundError)):
            tool("delete_path")(path=path, recursive=True)
    assert (root / "a.py").exists()


def test_a_file_name_that_is_no_utf8_is_shown_and_stops_nothing(root: Path) -> None:
    with open(os.fsencode(root) + b"/bad\xff.txt", "w") as file:
        file.write("x")
    assert tool("find_files")() == ["bad\\udcff.txt"]
    assert tool("list_dir")()[0]["name"] == "bad\\udcff.txt"
    assert tool("search_text")(pattern="x")["matches"][0]["file"] == "bad\\udcff.txt"
    with pytest.raises(FileNotFoundError, match="the workspace has: bad"):
        tool("read_file")(path="x")


# ---------------------------------------------------------------- search and data files


def test_search_text_gives_file_line_and_text(root: Path) -> None:
    make_tree(root)
    (root / "a.py").write_text("one\nTwo (x)\n")
    (root / "bin").write_bytes(b"\0Two")
    search = tool("search_text")
    assert search(pattern="^t", ignore_case=True)["matches"] == [{"file": "a.py", "line": 2, "text": "Two (x)"}]
    assert search(pattern="(x)", literal=True)["matches"][0]["line"] == 2
    assert search(pattern="x", glob="**/*.md")["matches"] == [{"file": "notes.md", "line": 1, "text": "x"}]
    assert search(pattern="x", path="src")["files_searched"] == 2
    cut = search(pattern="x", max_matches=1)
    assert (len(cut["matches"]), cut["truncated"]) == (1, True)
    assert search(pattern="Two")["skipped"] == ["bin: not text"]
    with pytest.raises(ValueError, match="not a regular expression"):
        search(pattern="(")


def test_a_search_runs_where_it_can_be_killed(root: Path) -> None:
    assert SPECS["search_text"].isolation == "process"
    (root / "a.txt").write_text("one\n" + "a" * 40 + "b\n")
    entry, payload = SOURCE.worker(SPECS["search_text"])
    with Worker(entry, {**payload, "read_roots": []}) as worker:
        reply = worker.call("search_text", {"pattern": "^o"}, cwd=root, timeout=20)
        assert reply["value"]["plain"]["matches"] == [{"file": "a.txt", "line": 1, "text": "one"}]
        with pytest.raises(ToolTimeout):
            worker.call("search_text", {"pattern": "(a+)+$"}, cwd=root, timeout=0.5)
        refused = worker.call("search_text", {"pattern": "s", "path": "../outside"}, cwd=root, timeout=20)
        assert refused["error"]["type"] == "PermissionError"


def test_json_and_csv_are_read_as_data(root: Path) -> None:
    (root / "a.json").write_text('{"a": [1, null]}')
    assert tool("read_json")(path="a.json") == {"a": [1, None]}
    (root / "bad.json").write_text('{"a": 1')
    with pytest.raises(ValueError, match=r"bad.json is not JSON: .* \(line 1, column 8\)"):
        tool("read_json")(path="bad.json")
    (root / "a.csv").write_text("\ufeffid;name;name;\n1;x;y;z;more\n2\n\n3;x;y\n", encoding="utf-8")
    assert tool("read_csv")(path="a.csv", delimiter=";", max_rows=2) == {
        "columns": ["id", "name", "name_3", "column_4"],
        "rows": [
            {"id": "1", "name": "x", "name_3": "y", "column_4": "z", "_extra": ["more"]},
            {"id": "2", "name": "", "name_3": "", "column_4": ""},
        ],
        "truncated": True,
    }
    assert tool("read_csv")(path="a.csv", delimiter=";", start_row=3)["rows"][0]["id"] == "3"
    (root / "empty.csv").write_text("")
    assert tool("read_csv")(path="empty.csv") == {"columns": [], "rows": [], "truncated": False}


# ---------------------------------------------------------------- databases


@pytest.fixture
def database(root: Path) -> str:
    connection = sqlite3.connect(root / "shop.db")
    connection.execute("CREATE TABLE item (id INTEGER, name TEXT, picture BLOB)")
    connection.executemany("INSERT INTO item VALUES (?, ?, ?)", [(n, f"n{n}", b"\x01") for n in range(5)])
    connection.commit()
    connection.close()
    return "shop.db"


def test_a_query_gives_rows_as_dicts_and_says_when_there_are_more(root: Path, database: str) -> None:
    query = tool("sqlite_query")
    assert query(database=database, query="SELECT id, name FROM item WHERE id > ?", parameters=[3]) == {
        "columns": ["id", "name"],
        "rows": [{"id": 4, "name": "n4"}],
        "truncated": False,
    }
    cut = query(database=database, query="SELECT * FROM item", max_rows=2)
    assert (len(cut["rows"]), cut["truncated"]) == (2, True)
    assert cut["rows"][0]["picture"] == {"base64": "AQ=="}
    text = "SELECT a.id, b.id FROM item a, item b WHERE a.id = :n"
    joined = query(database=database, query=text, parameters={"n": 1})
    assert joined["columns"] == ["id", "id_2"]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM item",
        "UPDATE item SET id = 9",
        "DROP TABLE item",
        "PRAGMA query_only = OFF",
        "CREATE TABLE x (a)",
        "INSERT INTO item SELECT * FROM item RETURNING id",
        "ATTACH DATABASE 'other.db' AS o",
        "VACUUM INTO 'other.db'",
    ],
)
def test_a_query_cannot_change_anything(root: Path, database: str, statement: str) -> None:
    before = (root / database).read_bytes()
    with pytest.raises(ValueError):
        tool("sqlite_query")(database=database, query=statement)
    assert (root / database).read_bytes() == before
    assert os.listdir(root) == [database]


@pytest.mark.parametrize(
    "statement",
    ["ATTACH DATABASE '../outside/x.db' AS o", "VACUUM INTO '../outside/x.db'", "VACUUM INTO 'sutler.toml'"],
)
def test_a_statement_cannot_reach_a_second_file(root: Path, database: str, statement: str) -> None:
    with pytest.raises(ValueError, match=r"not authorized|authorization denied"):
        tool("sqlite_execute")(database=database, statement=statement)
    assert os.listdir(root.parent / "outside") == ["secret.txt"]
    assert os.listdir(root) == [database]


def test_a_statement_changes_the_file(root: Path, database: str) -> None:
    execute = tool("sqlite_execute")
    assert execute(database=database, statement="DELETE FROM item WHERE id < ?", parameters=[3])["rows_changed"] == 3
    assert execute(database=database, statement="INSERT INTO item (id) VALUES (7)")["rows_changed"] == 1
    assert execute(database="made/new.db", statement="CREATE TABLE t (a)")["database"] == "made/new.db"
    rows = tool("sqlite_query")(database=database, query="SELECT id FROM item ORDER BY id")["rows"]
    assert [row["id"] for row in rows] == [3, 4, 7]


def test_sql_errors_name_the_file_and_what_it_holds(root: Path, database: str) -> None:
    with pytest.raises(ValueError, match=r"SQLite on shop.db: no such table: items \(there are: item\)"):
        tool("sqlite_query")(database=database, query="SELECT * FROM items")
    (root / "text.db").write_text("this is no database at all, just some words to be longer than a header" * 20)
    with pytest.raises(ValueError, match=r"SQLite on text\.db: file is not a database"):
        tool("sqlite_query")(database="text.db", query="SELECT * FROM t")
    with pytest.raises(ValueError, match="one statement at a time"):
        tool("sqlite_query")(database=database, query="SELECT 1; SELECT 2")


def test_an_endless_query_is_interrupted(root: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sutler.data.default_tools import database as module

    monkeypatch.setattr(module, "SECONDS", 0.1)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with pytest.raises(TimeoutError, match=r"shop\.db"):
        tool("sqlite_query")(database=database, query=endless)


# ---------------------------------------------------------------- network


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/to?"):
            self.send_response(302)
            self.send_header("Location", self.path[4:])
            self.end_headers()
            return
        if self.path == "/missing":
            self.answer(404, "text/plain", b"no such page")
        elif self.path == "/image":
            self.answer(200, "image/png", b"\x89PNG")
        elif self.path == "/headers":
            self.answer(200, "application/json", json.dumps(dict(self.headers)).encode())
        elif self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            for _ in range(50):
                self.wfile.write(b"x")
                self.wfile.flush()
                if self.server.stopping.wait(0.05):  # type: ignore[attr-defined]
                    return
        else:
            self.answer(200, "text/html; charset=latin-1", "größe".encode("latin-1") * 100)

    def answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.stopping = threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.stopping.set()  # type: ignore[attr-defined]
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_is_fetched_as_text_and_cut_visibly(site: str) -> None:
    get = tool("http_get")
    page = get(url=site + "/", max_bytes=5)
    assert page == {
        "status": 200,
        "url": site + "/",
        "content_type": "text/html; charset=latin-1",
        "text": "größe",
        "truncated": True,
    }
    assert get(url=site + "/")["truncated"] is False
    assert get(url=site + "/to?/missing")["text"] == "no such page"
    assert get(url=site + "/missing")["status"] == 404
    assert json.loads(get(url=site + "/headers", headers={"X-Mine": "1"})["text"])["X-Mine"] == "1"
    with pytest.raises(ValueError, match="is image/png, not text"):
        get(url=site + "/image")


@pytest.mark.parametrize(
    "url",
    ["file:///etc/hostname", "ftp://x/y", "/etc/hostname", "http://", "http://me:pass@host/", "HTTP:x", "data:,x"],
)
def test_only_http_addresses_are_fetched(url: str) -> None:
    with pytest.raises(ValueError):
        tool("http_get")(url=url)


@pytest.mark.parametrize("target", ["file:///etc/hostname", "ftp://127.0.0.1/x", "http://me:pass@127.0.0.1/"])
def test_a_redirect_is_checked_like_the_first_address(site: str, target: str) -> None:
    with pytest.raises((ValueError, ConnectionError)):
        tool("http_get")(url=f"{site}/to?{target}")


def test_a_server_that_drips_is_cut_off(site: str) -> None:
    with pytest.raises(TimeoutError, match=r"did not answer in full within 0\.2 s"):
        tool("http_get")(url=site + "/slow", seconds=0.2)


@pytest.mark.parametrize(
    ("peer", "first", "refused"),
    [
        ("93.184.216.34", "93.184.216.34", False),
        ("127.0.0.1", "127.0.0.1", False),
        ("10.0.0.5", "127.0.0.1", False),
        ("93.184.216.34", "10.0.0.5", False),
        ("10.0.0.5", "93.184.216.34", True),
        ("127.0.0.1", "93.184.216.34", True),
        ("::1", "2606:2800:220:1::1", True),
        ("::ffff:10.0.0.5", "93.184.216.34", True),
        ("169.254.169.254", "169.254.169.254", True),
        ("::ffff:169.254.169.254", "127.0.0.1", True),
        ("fe80::1%eth0", "127.0.0.1", True),
    ],
)
def test_a_fetch_is_not_led_where_it_must_not_go(peer: str, first: str, refused: bool) -> None:
    from sutler.data.default_tools.web import peer_problem

    assert bool(peer_problem(peer, first)) is refused


def test_an_unreachable_server_is_a_plain_error(site: str) -> None:
    with pytest.raises(ConnectionError, match="cannot be reached"):
        tool("http_get")(url="http://127.0.0.1:1/")


def test_the_time_is_iso_text() -> None:
    from datetime import datetime

    assert datetime.fromisoformat(tool("current_time")()).utcoffset() is not None
    with pytest.raises(ValueError, match="no such time zone: 'Mars/Phobos'"):
        tool("current_time")(timezone="Mars/Phobos")
    with pytest.raises(ValueError, match="no such time zone"):
        tool("current_time")(timezone="../../etc/passwd")


@pytest.mark.requirement("TRU-01")
def test_nothing_is_added_through_a_hard_link_to_a_file_that_decides(root: Path) -> None:
    (root / "sutler.toml").write_text("")
    (root / "notes.md").hardlink_to(root / "sutler.toml")
    with pytest.raises(PermissionError, match="hard link"):
        tool("append_file")(path="notes.md", content="x")
    tool("write_file")(path="notes.md", content="x")
    assert (root / "sutler.toml").read_text() == ""
