"""What every shipped tool asks before it touches a path: inside the workspace, and nobody's configuration (TRU-01)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sutler.workspace import current, resolve_safe_path

# Files that decide which tools and servers run: writing one would let a tool grant itself more than it has.
PROTECTED_NAMES = frozenset(
    {
        "sutler.toml",
        "mcp.json",
        ".mcp.json",
        "mcp_config.json",
        "mcp_settings.json",
        "mcp-config.json",
        ".claude.json",
        "claude_desktop_config.json",
        "cline_mcp_settings.json",
        "managed-mcp.json",
    }
)
PROTECTED_IN_FOLDER = frozenset(
    {
        (".claude", "settings.json"),
        (".claude", "settings.local.json"),
        (".codex", "config.toml"),
        (".gemini", "settings.json"),
        (".qwen", "settings.json"),
        (".lackpy", "config.toml"),
        (".vscode", "settings.json"),
        (".zed", "settings.json"),
        (".continue", "config.json"),
        (".continue", "config.yaml"),
        ("goose", "config.yaml"),
        ("zed", "settings.json"),
        ("opencode", "opencode.json"),
        ("sutler", "config.toml"),
    }
)
PROTECTED_FOLDERS = frozenset({"mcpservers"})
SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv", ".tox", ".mypy_cache", ".pytest_cache"}
)
SHOWN_NEIGHBOURS = 10


def protected(path: Path) -> bool:
    """Whether a tool may not write, move or remove this file. Case is ignored, as some file systems do."""
    name, parent = plain_name(path.name), plain_name(path.parent.name)
    return name in PROTECTED_NAMES or (parent, name) in PROTECTED_IN_FOLDER or parent in PROTECTED_FOLDERS


def in_repository(path: Path) -> bool:
    """Whether it belongs to a repository's own files, some of which say what is run by git."""
    return any(plain_name(part) == ".git" for part in path.parts)


def has_other_names(path: Path) -> bool:
    """Whether a file is a hard link: what is written into it may be written into one that is protected."""
    try:
        return path.is_file() and path.stat().st_nlink > 1
    except OSError:
        return True


def plain_name(name: str) -> str:
    """A name as the laxest file system reads it: Windows drops dots and spaces at the end, and what follows a colon."""
    return name.casefold().partition(":")[0].rstrip(". ")


def inside(path: str, *, write: bool = False) -> Path:
    """The real path, inside the run's workspace; reading may also go to its read roots. PermissionError elsewhere."""
    workspace = current.get()
    return resolve_safe_path(path) if workspace is None else workspace.resolve(path, write=write)


def to_read(path: str) -> Path:
    """The real path of something that must exist; FileNotFoundError names what lies beside it."""
    found = inside(path)
    if not found.exists():
        raise FileNotFoundError(f"No such file or folder: {path} ({neighbours(found)})")
    return found


def file_to_read(path: str) -> Path:
    found = inside(path)
    if found.is_dir():
        raise IsADirectoryError(f"{path} is a folder ({neighbours(found / '_')})")
    if not found.exists():
        raise FileNotFoundError(f"No such file: {path} ({neighbours(found)})")
    if not found.is_file():
        raise PermissionError(f"{path} is not an ordinary file (a device, pipe or socket)")
    return found


def to_write(path: str) -> Path:
    """The real path of something about to be written, made or removed."""
    found = inside(path, write=True)
    refuse_protected(found, path)
    return found


def file_to_write(path: str) -> Path:
    found = to_write(path)
    if found.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a file")
    if found.exists() and not found.is_file():
        raise PermissionError(f"{path} is not an ordinary file (a device, pipe or socket)")
    return found


def refuse_protected(found: Path, path: str) -> None:
    if protected(found):
        raise PermissionError(
            f"{path} decides which tools and servers run, so shipped tools do not write, move or remove it;"
            " change it yourself"
        )


def refuse_protected_below(folder: Path, path: str, moved_to: Path | None = None) -> None:
    """The same for every file below a folder, at the place it has or the place it would get."""
    for base, _, names in os.walk(folder) if not folder.is_symlink() else ():
        for name in names:
            here = Path(base, name)
            target = here if moved_to is None else moved_to / here.relative_to(folder)
            if protected(here) or protected(target):
                refuse_protected(here if protected(here) else target, f"{path}/{here.relative_to(folder).as_posix()}")


def workspace_root() -> Path:
    return inside(".", write=True)


def relative(path: Path) -> str:
    """How a path is shown: relative and with forward slashes inside the workspace, whole elsewhere (read roots)."""
    root = workspace_root()
    return shown(path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix())


def shown(name: str) -> str:
    """A file name as text that can be sent on: bytes that are no UTF-8 become escapes."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def neighbours(path: Path) -> str:
    """What the nearest folder that exists holds, for an error message."""
    folder = path.parent
    while not folder.is_dir():
        folder = folder.parent
    try:
        folder = inside(str(folder))
    except PermissionError:
        folder = workspace_root()
    names = sorted(shown(entry.name) + ("/" if entry.is_dir() else "") for entry in os.scandir(folder))
    name = relative(folder)
    where = "the workspace" if name == "." else name
    if not names:
        return f"{where} is empty"
    rest = len(names) - SHOWN_NEIGHBOURS
    more = f" and {rest} more" if rest > 0 else ""
    return f"{where} has: {', '.join(names[:SHOWN_NEIGHBOURS])}{more}"


def walk_files(top: Path, enter: frozenset[str] | set[str] = frozenset()) -> Iterator[Path]:
    """Every ordinary file below `top`, names sorted, version-control and cache folders left out, no link to a folder
    followed, and no link to a file that leads out of what may be read."""
    for base, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name in enter or name not in SKIPPED_FOLDERS)
        for name in sorted(names):
            path = Path(base, name)
            if path.is_symlink():
                try:
                    inside(str(path))
                except (PermissionError, OSError):
                    continue
            if path.is_file():
                yield path
