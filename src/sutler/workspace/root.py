"""The folder a run works in: which paths belong to it, and how a fresh one comes and goes."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path

_MAX_PATH = 4_095  # bytes; what Linux takes, the smallest common bound
_MAX_NAME = 255  # bytes of one component
_SHOWN = 80


class Workspace:
    """One folder, by its real path, and extra folders that may be read but not written (WSP-01, WSP-03).

    FileNotFoundError or NotADirectoryError when `root` or a read root is no folder.
    `keep`: whether `close` leaves a fresh folder in place; may be set at any time. A given folder is never removed.
    """

    def __init__(self, root: str | os.PathLike[str], *, read_roots: Sequence[str | os.PathLike[str]] = ()) -> None:
        self.root = _folder(root)
        self.read_roots: tuple[Path, ...] = tuple(_folder(one) for one in read_roots)
        self.keep = False
        self.secrets: dict[str, str] = {}  # what the person typed for this session, by name; see held.py
        self._fresh = False

    @classmethod
    def fresh(cls, keep: bool = False, *, read_roots: Sequence[str | os.PathLike[str]] = ()) -> Workspace:
        """A new empty folder that only its owner may enter; `close` removes it unless `keep`."""
        workspace = cls(tempfile.mkdtemp(prefix="sutler-"), read_roots=read_roots)
        workspace._fresh = True
        workspace.keep = keep
        return workspace

    def beside(self, root: str | os.PathLike[str]) -> Workspace:
        """Another folder of the same session: the same read roots and held secrets."""
        workspace = Workspace(root, read_roots=self.read_roots)
        workspace.secrets = self.secrets
        return workspace

    def resolve(self, name: str | os.PathLike[str], *, write: bool = False) -> Path:
        """The real path of `name`, relative names from the root. PermissionError unless it lies inside (FH34).

        Inside means the root, or for reading also a read root, after every symlink and `..` is followed. The check
        cannot bind what happens later: whoever may write in the folder may swap a link after it.
        """
        return _resolve(name, self.root, (self.root,) if write else (self.root, *self.read_roots))

    def contains(self, path: str | os.PathLike[str]) -> bool:
        """Whether `path` lies inside the root (read roots do not count)."""
        try:
            _resolve(path, self.root, (self.root,))
        except PermissionError:
            return False
        return True

    def close(self) -> tuple[str, ...]:
        """Remove a fresh folder unless it is kept; again is harmless. Returns what could not be removed, in words."""
        if self.keep or not self._fresh:
            return ()
        problem = f"{self.root}: could not be removed: it is written to all the time"
        for pause in (0.0, 0.05, 0.2):  # a tool that is just ending may still write
            if pause:
                time.sleep(pause)
                _unlock(self.root)
            try:
                shutil.rmtree(self.root)
            except FileNotFoundError:
                if not self.root.exists():
                    return ()
            except OSError as error:
                problem = f"{self.root}: could not be removed: {error.strerror or error}"
            else:
                return ()
        return (problem,)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Workspace({str(self.root)!r})"


# The workspace of the call that runs in this context; None outside a call.
current: ContextVar[Workspace | None] = ContextVar("sutler_workspace", default=None)


def resolve_safe_path(name: str | os.PathLike[str]) -> Path:
    """The real path of `name` inside the current directory of this thread, else PermissionError (LCP 10.1).

    For use in a tool: there the current directory is the run's workspace.
    """
    here = Path(os.path.realpath(os.getcwd()))  # noqa: PTH109 - Path.cwd() costs twice as much
    return _resolve(name, here, (here,))


def _resolve(name: str | os.PathLike[str], base: Path, allowed: tuple[Path, ...]) -> Path:
    text = os.fspath(name)
    if is_no_path(text) or _names_a_home(text):
        raise _refused(text)
    try:
        real = os.path.realpath(os.path.join(base, text))  # noqa: PTH118 - realpath takes and gives text
    except (OSError, ValueError):
        raise _refused(text) from None
    if any(lies_within(real, str(root)) for root in allowed):
        return Path(real)
    raise _refused(text)


def lies_within(real: str, root: str) -> bool:
    """Whether one real path is the other, or lies below it."""
    return real == root or real.startswith(root if root.endswith(os.sep) else root + os.sep)


def is_no_path(text: str) -> bool:
    """Whether no file can have this path: a null character, no bytes to stand for it, too long."""
    if "\0" in text:
        return True
    try:
        raw = os.fsencode(text)
    except UnicodeEncodeError:
        return True
    return len(raw) > _MAX_PATH or any(len(part) > _MAX_NAME for part in raw.split(b"/"))


def _names_a_home(text: str) -> bool:
    """Whether another program would read it as a home directory."""
    return text.startswith("~") and (text.split("/", 1)[0] == "~" or os.path.expanduser(text) != text)  # noqa: PTH111


def _refused(text: str) -> PermissionError:
    """One message for every refusal: it tells nothing about what is out there."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return PermissionError(f"access outside the workspace is refused: {shown!r}")


def _folder(path: str | os.PathLike[str]) -> Path:
    real = Path(path).resolve(strict=True)
    if not real.is_dir():
        raise NotADirectoryError(f"{path}: not a folder")
    return real


def _unlock(root: Path) -> None:
    """Folders that a tool closed to their owner are opened, from the top, so that they can be emptied."""
    with suppress(OSError):
        root.chmod(stat.S_IRWXU)
    for folder, names, _ in os.walk(root):
        for name in names:
            inner = Path(folder, name)
            with suppress(OSError):
                if not inner.is_symlink():
                    inner.chmod(stat.S_IRWXU)
