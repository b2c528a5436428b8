"""The user's state directory: where it is, and how its files are written, private and never half there."""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import StoreError


def state_dir(env: Mapping[str, str] | None = None) -> Path:
    """SUTLER_STATE_DIR, else the platform's state directory for sutler. Nothing is created."""
    moved = (os.environ if env is None else env).get("SUTLER_STATE_DIR", "")
    if moved:
        return Path(moved).expanduser().absolute()
    from platformdirs import user_state_dir

    return Path(user_state_dir("sutler", appauthor=False))


def private_dir(path: Path) -> Path:
    """Make `path` a folder only its owner may enter. StoreError if it cannot be, or belongs to somebody else."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = path.stat()
        if os.name == "posix":
            if held.st_uid != os.geteuid():
                raise StoreError(f"{path}: belongs to another user (set SUTLER_STATE_DIR to a folder of your own)")
            if stat.S_IMODE(held.st_mode) & 0o077:
                path.chmod(0o700)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot make this folder: {error.strerror} (make it writable, or set SUTLER_STATE_DIR)"
        ) from error
    return path


def write_private(path: Path, text: str) -> None:
    """Replace a file at once, readable by its owner only: a reader sees the old text or the new, never a part."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass", newline="") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            draft.replace(path)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}; the file is as it was") from error


@contextmanager
def locked(path: Path, *, seconds: float = 10.0) -> Generator[None]:
    """Hold a lock file against other processes and threads. StoreError when somebody holds it for `seconds`."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreError(f"{path}: cannot be opened: {error.strerror}") from error
    try:
        deadline = time.monotonic() + seconds
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                raise StoreError(f"{path}: another process has held this lock for {seconds:g} s (end it, or try again)")
            time.sleep(0.01)
        yield
    finally:
        os.close(handle)  # closing lets go of the lock


def _try_lock(handle: int) -> bool:
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # Windows only
    except OSError:
        return False
    return True
