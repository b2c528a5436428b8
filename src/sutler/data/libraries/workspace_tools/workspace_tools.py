"""Files of one folder: list, read, write, find, move, delete. The code is that of the shipped default tools."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sutler import tool
from sutler.data.default_tools import files, folders
from sutler.data.default_tools._guard import inside
from sutler.data.gate import Gate, Handler, Refused
from sutler.data.outcomes import settings_of
from sutler.errors import ConfigError, Problem
from sutler.workspace import Workspace, current

TOOL_LIBRARY_NAME = "Workspace files"
TOOL_LIBRARY_DESC = "Lists, reads, writes, finds, moves and deletes files in one folder of the workspace."
TOOL_LIBRARY_ICON = "🗂️"
TOOL_LIBRARY_ALIASES = ("files", "file_tools")

_gate = Gate("workspace_tools")
_root_path: str | None = None


def init_tools_library(config: Mapping[str, Any] | None = None) -> None:
    """autonomy_level; root_path: the folder to work in, the workspace's root when not given.

    ConfigError when root_path lies neither in the workspace nor in what else may be read, or is no folder.
    """
    global _gate, _root_path
    given = dict(config or {})
    if isinstance(given.get("root_path"), Path):
        given["root_path"] = str(given["root_path"])
    root_path = settings_of("workspace_tools", given, {"root_path": str}).get("root_path")
    if root_path is not None:
        folder_of(root_path)
    _root_path = root_path
    _gate = _gate.configured(config)


def set_confirm_handler(handler: Handler | None) -> None:
    global _gate
    _gate = Gate(_gate.stem, _gate.level, handler)


@tool(read_only=True, title="List files")
def tool_list_files(directory: str = ".", recursive: bool = False) -> dict[str, Any]:
    """
    Lists what a folder holds: name, type and size of each entry.

    Args:
        directory (str): The folder.
        recursive (bool): List the paths of all files below it instead.
    """
    if recursive:
        return done(lambda: folders.find_files("**/*", directory))
    return done(lambda: folders.list_dir(directory))


@tool(read_only=True, title="Read a file")
def tool_read_file(file_name: str, start_line: int = 1, max_lines: int = 0) -> dict[str, Any]:
    """
    Reads a text file and gives its text.

    Args:
        file_name (str): Path of the file.
        start_line (int): The first line to read, counted from 1.
        max_lines (int): How many lines at most; 0 reads to the end.
    """
    return done(lambda: files.read_file(file_name, start_line, max_lines))


@tool(read_only=True, title="Find files")
def tool_find_files(pattern: str, path: str = ".", max_results: int = 1000) -> dict[str, Any]:
    """
    Finds files by a glob pattern, such as **/*.md, and gives their paths.

    Args:
        pattern (str): The pattern, over paths below the folder; ** matches any number of folders.
        path (str): The folder to look in.
        max_results (int): More files than this is an error.
    """
    return done(lambda: folders.find_files(pattern, path, max_results))


@tool(read_only=False, destructive=True, idempotent=True, asks_itself=True, title="Write a file")
def tool_write_file(file_name: str, content: str) -> dict[str, Any]:
    """
    Writes a whole text file; its folders are made, and what it held before is replaced.

    Args:
        file_name (str): Path of the file.
        content (str): The whole new text.
    """
    return done(lambda: files.write_file(file_name, content), write=True, asked=f"write {file_name}")


@tool(read_only=False, destructive=True, asks_itself=True, title="Move a file or folder")
def tool_move_file(source: str, target: str, overwrite: bool = False) -> dict[str, Any]:
    """
    Moves or renames a file or folder. An existing folder as target takes it in.

    Args:
        source (str): What to move.
        target (str): Its new path.
        overwrite (bool): Replace a file that is in the way.
    """
    return done(lambda: folders.move_path(source, target, overwrite), write=True, asked=f"move {source} to {target}")


@tool(read_only=False, destructive=True, asks_itself=True, title="Delete a file or folder")
def tool_delete_file(file_name: str, recursive: bool = False) -> dict[str, Any]:
    """
    Deletes a file or an empty folder; with recursive, a folder and all it holds. The person is asked first.

    Args:
        file_name (str): What to delete.
        recursive (bool): Delete a folder with all it holds.
    """
    asked = f"delete {file_name}{' and all it holds' if recursive else ''}"
    return done(lambda: folders.delete_path(file_name, recursive), write=True, asked=asked, why="it deletes")


def done(work: Callable[[], Any], *, write: bool = False, asked: str = "", why: str | None = None) -> dict[str, Any]:
    """The LCP result of work in the configured folder. asked: what the person is shown; why: the reason to ask."""
    try:
        if asked:
            _gate.permit(why, asked)
        with working_in(_root_path, write=write):
            return {"success": True, "output": work()}
    except (Refused, OSError, ValueError, ConfigError) as error:
        return {"success": False, "error": str(error)}


@contextmanager
def working_in(root_path: str | None, *, write: bool) -> Generator[None]:
    """Paths are relative to `root_path`, and none leads out of it. PermissionError to write where only reading is."""
    if root_path is None:
        yield
        return
    folder = folder_of(root_path)
    if write:
        try:
            inside(root_path, write=True)
        except PermissionError:
            raise PermissionError(f"{root_path} may only be read: it lies outside of the workspace's root") from None
    before = current.set(Workspace(folder))
    try:
        yield
    finally:
        current.reset(before)


def folder_of(root_path: str) -> Path:
    """The folder that root_path names. ConfigError when there is none, or it lies outside of what may be read."""
    key, hint = "host_tool_configs.workspace_tools.root_path", ""
    try:
        folder = inside(root_path)
    except PermissionError:
        message = f"{root_path} lies outside of the workspace"
        hint = "name a folder in it, make it the workspace, or add it to [workspace] read"
    else:
        if folder.is_dir():
            return folder
        message = f"{root_path} is no folder"
    raise ConfigError([Problem(message=message, key=key, hint=hint)])
