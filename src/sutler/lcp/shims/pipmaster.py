"""`pipmaster` for tool libraries: it looks, and says what is missing. Nothing is ever installed from inside a tool."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

__all__ = [
    "ensure_packages",
    "get_installed_version",
    "install",
    "install_if_missing",
    "install_multiple",
    "install_or_update",
    "is_installed",
]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OURS = frozenset({"pipmaster", "ascii-colors", "ascii_colors"})


def get_installed_version(package_name: str) -> str | None:
    """The version of an installed package, None when there is none."""
    name = _NAME.match(package_name.strip())
    try:
        return metadata.version(name.group() if name else package_name)
    except metadata.PackageNotFoundError:
        return None


def is_installed(package_name: str, version_specifier: str | None = None) -> bool:
    """Whether a package is there; its version is not looked at."""
    return package_name in _OURS or get_installed_version(package_name) is not None


def ensure_packages(requirements: str | Iterable[str] | Mapping[str, Any], *_: Any, **__: Any) -> bool:
    """Whether all of these are installed. What is missing is printed, with what to do; nothing is installed."""
    listed = [requirements] if isinstance(requirements, str) else list(requirements)
    missing = [one for one in listed if not is_installed(one)]
    if missing:
        names = " ".join(missing)
        print(f"not installed: {names}; no tool installs anything: run `pip install {names}`")
    return not missing


install_multiple = ensure_packages


def install(package: str, *_: Any, **__: Any) -> bool:
    """As ensure_packages."""
    return ensure_packages(package)


install_if_missing = install_or_update = install
