"""Where config files are, and reading one: sutler.toml upward from a folder, the user's in their config folder."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConfigError, Problem

FILE_NAME = "sutler.toml"
_MOST_BYTES = 4_000_000


def find_config(start: Path) -> Path | None:
    """The nearest sutler.toml in `start` or a folder above it, or None. Folders that cannot be read are passed over."""
    here = start.resolve()
    for folder in (here, *here.parents):
        candidate = folder / FILE_NAME
        if _is_file(candidate):
            return candidate
    return None


def user_config_file() -> Path:
    """config.toml in the user's config directory; it need not exist."""
    from platformdirs import user_config_dir

    return Path(user_config_dir("sutler", appauthor=False)) / "config.toml"


def read_config(path: Path) -> str:
    """The text of a config file. ConfigError when it cannot be read or is not UTF-8."""
    try:
        if path.is_dir():
            raise _unreadable(path, "is a folder", f"name the file in it: {path / FILE_NAME}")
        if not path.is_file():
            raise _unreadable(path, "is no regular file" if path.exists() else "there is no such file")
        with path.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _unreadable(path, f"cannot be read: {reason}") from error
    if len(data) > _MOST_BYTES:
        raise _unreadable(path, f"is larger than {_MOST_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        looks = " (it looks like UTF-16)" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ""
        message = f"byte 0x{data[error.start]:02x} is not UTF-8{looks}"
        raise ConfigError([Problem(message=message, file=str(path), line=line, hint="save it as UTF-8")]) from error


def _unreadable(path: Path, message: str, hint: str = "") -> ConfigError:
    return ConfigError([Problem(message=message, file=str(path), hint=hint)])


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
