"""Files of one folder: the same code as the shipped tools, kept to root_path."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler import SyncRuntime
from sutler.sources.shipped import FOLDER

from .conftest import CANARY, Place, make_place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def answering(answer: object) -> tuple[list[str], Callable[..., object]]:
    asked: list[str] = []

    def handler(source: str, script_label: str, argv: Any = None) -> object:
        asked.append(f"{script_label} {source}")
        return answer

    return asked, handler


def runtime(place: Place, root_path: object = None, handler: Any = None, **more: Any) -> SyncRuntime:
    config = {} if root_path is None else {"workspace_tools": {"root_path": root_path}}
    options = {"config": False, "default_tools": False, "shipped": ["workspace_tools"], **more}
    return SyncRuntime(workspace=place.root, host_tool_configs=config, confirm_handler=handler, **options)


@pytest.mark.requirement("LCP-20")
def test_files_are_listed_read_written_found_moved_and_deleted(place: Place) -> None:
    asked, handler = answering(("allow", ""))
    with runtime(place, handler=handler) as rt:
        assert rt.call("tool_read_file", {"file_name": "b.txt"}).output == "hello\nmoon\n"
        assert rt.call("tool_read_file", {"file_name": "a.txt", "start_line": 2, "max_lines": 1}).output == "world\n"
        assert rt.call("tool_write_file", {"file_name": "new/x.txt", "content": "x"}).output["created"] is True
        assert {"name": "x.txt", "type": "file", "size": 1} in rt.call("tool_list_files", {"directory": "new"}).output
        assert "sub/deep/d.md" in rt.call("tool_list_files", {"recursive": True}).output
        assert rt.call("tool_find_files", {"pattern": "**/*.md"}).output == ["sub/deep/d.md"]
        assert rt.call("tool_move_file", {"source": "new/x.txt", "target": "new/y.txt"}).output["to"] == "new/y.txt"
        assert not asked
        assert rt.call("tool_delete_file", {"file_name": "new", "recursive": True}).output["deleted"] == 2
    assert not (place.root / "new").exists()
    assert len(asked) == 1 and "it deletes" in asked[0] and "delete new and all it holds" in asked[0]


@pytest.mark.requirement("LCP-20")
@pytest.mark.parametrize("absolute", [False, True])
def test_root_path_is_where_it_works_and_nothing_leads_out_of_it(place: Place, absolute: bool) -> None:
    (place.root / "sub" / "up").symlink_to(place.root)
    with runtime(place, str(place.root / "sub") if absolute else "sub") as rt:
        assert [one["name"] for one in rt.call("tool_list_files").output] == ["c.txt", "deep", "up"]
        assert rt.call("tool_write_file", {"file_name": "n.txt", "content": "n"}).output["path"] == "n.txt"
        for name in ("../a.txt", "up/a.txt", str(place.root / "a.txt"), "../../outside/secret.txt"):
            result = rt.call("tool_read_file", {"file_name": name})
            assert "outside the workspace" in str(result.error), name
            assert not rt.call("tool_write_file", {"file_name": name, "content": "x"}).success
            assert not rt.call("tool_move_file", {"source": "c.txt", "target": name}).success
    assert (place.root / "sub" / "n.txt").read_text() == "n"
    assert (place.root / "a.txt").read_text().startswith("hello")


@pytest.mark.requirement("LCP-20")
@pytest.mark.parametrize("root_path", ["../outside", "link_dir", "/etc", "nowhere", "a.txt", 5])
def test_a_root_path_elsewhere_is_an_error_that_names_the_setting(place: Place, root_path: object) -> None:
    with runtime(place, root_path) as rt:
        result = rt.call("tool_list_files")
    assert not result.success and result.error is not None
    assert result.error.kind == "unavailable"
    assert "host_tool_configs.workspace_tools.root_path" in str(result.error)
    assert CANARY not in str(result)


def test_a_root_path_in_a_read_root_is_for_reading_only(place: Place) -> None:
    with runtime(place, str(place.outside), read=[place.outside]) as rt:
        assert rt.call("tool_read_file", {"file_name": "secret.txt"}).output == f"{CANARY}\n"
        result = rt.call("tool_write_file", {"file_name": "x", "content": "x"})
    assert "may only be read" in str(result.error) and not (place.outside / "x").exists()


def test_configuration_of_others_is_not_written_moved_or_deleted(place: Place) -> None:
    (place.root / "sutler.toml").write_text("")
    with runtime(place, policy="full_access") as rt:
        for tool, arguments in (
            ("tool_write_file", {"file_name": "sutler.toml", "content": "x"}),
            ("tool_move_file", {"source": "a.txt", "target": ".mcp.json"}),
            ("tool_delete_file", {"file_name": "sutler.toml"}),
        ):
            assert "decides which tools" in str(rt.call(tool, arguments).error)
    assert (place.root / "sutler.toml").read_text() == ""


@pytest.mark.requirement("LCP-20")
def test_at_level_strict_reading_asks_too(place: Place) -> None:
    asked, handler = answering(("reject", ""))
    config = {"workspace_tools": {"autonomy_level": "strict"}}
    with SyncRuntime(
        config=False,
        workspace=place.root,
        shipped=["workspace_tools"],
        host_tool_configs=config,
        confirm_handler=handler,
    ) as rt:
        assert not rt.call("workspace_tools::tool_read_file", {"file_name": "a.txt"}).success
        assert not rt.call("workspace_tools::tool_write_file", {"file_name": "a.txt", "content": "x"}).success
    assert len(asked) == 2


def test_a_failure_is_told_in_plain_words(place: Place) -> None:
    with runtime(place) as rt:
        result = rt.call("tool_read_file", {"file_name": "nothing.txt"})
        assert str(result.error).startswith("No such file: nothing.txt (the workspace has:")
        assert result.traceback is None


def test_two_runtimes_have_a_root_path_each(place: Place) -> None:
    with runtime(place, "sub") as one, runtime(place, "sub/deep") as other:
        assert one.call("tool_find_files", {"pattern": "*"}).output == ["c.txt"]
        assert other.call("tool_find_files", {"pattern": "*"}).output == ["d.md"]
        assert one.call("tool_find_files", {"pattern": "*"}).output == ["c.txt"]


@pytest.mark.requirement("LCP-20")
def test_the_libraries_work_for_any_host_of_the_contract(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loaded as the document has it: the file executed, handler set, config given, the folder the process's own."""
    asked, handler = answering(("reject", "no"))
    monkeypatch.chdir(place.root)
    modules: dict[str, Any] = {}
    for stem in ("workspace_tools", "system_shell", "execute_python"):
        spec = importlib.util.spec_from_file_location(f"host_{stem}", FOLDER / stem / f"{stem}.py")
        assert spec is not None and spec.loader is not None
        modules[stem] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.set_confirm_handler(handler)
        module.init_tools_library({"autonomy_level": "safe", "confirm_handler": handler})
    files, shell, python = modules.values()
    assert files.tool_read_file("b.txt") == {"success": True, "output": "hello\nmoon\n"}
    assert "outside the workspace" in files.tool_read_file("../outside/secret.txt")["error"]
    assert shell.tool_execute_shell_command("head -1 b.txt")["output"]["stdout"] == "hello\n"
    assert python.tool_execute_python_code("6 * 7")["output"]["value"] == 42
    assert not asked
    for refused in (
        files.tool_delete_file("b.txt"),
        shell.tool_execute_shell_command("rm b.txt"),
        python.tool_run_python_process("import os\nos.remove('b.txt')"),
    ):
        assert refused["success"] is False and "no" in refused["error"]
    assert len(asked) == 3 and (place.root / "b.txt").exists()
    shell.init_tools_library({"autonomy_level": "strict"})
    assert not shell.tool_execute_shell_command("ls")["success"]
    with pytest.raises(ValueError, match="autonomy_level must be one of strict, safe, full_access, not 'lax'"):
        shell.init_tools_library({"autonomy_level": "lax"})
