"""`import lollms_client...` inside tool libraries, where that package is not installed (LCP-14).

Opt-in, and asked last of all finders: what is installed is what is imported. A worker process of a library gets what
its host has.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# What is imported, and the module that answers; "" is a package that only holds others. Loaded when it is used.
ALIASES: Mapping[str, str] = {
    "lollms_client": "sutler.lcp",
    "lollms_client.tools_bindings": "",
    "lollms_client.tools_bindings.lcp": "sutler.lcp",
    "lollms_client.tools_bindings.mcp": "sutler.lcp.mcp",
    "lollms_client.lollms_artefact": "",
    "lollms_client.lollms_artefact.data_files": "sutler.lcp.shims.data_files",
    "ascii_colors": "sutler.lcp.shims.ascii_colors",
    "pipmaster": "sutler.lcp.shims.pipmaster",
}
_lock = threading.Lock()


class _Aliases(Loader):
    """The finder and the loader of these names."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if fullname not in ALIASES:
            return None
        parent = fullname.rpartition(".")[0]
        if parent and not _is_ours(sys.modules.get(parent)):
            return None  # a package that is installed and has no such module
        return ModuleSpec(fullname, self, is_package=any(name.startswith(f"{fullname}.") for name in ALIASES))

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        target = ALIASES[module.__name__]
        module.__doc__ = f"{module.__name__} as Sutler stands for it: {target or 'a package of others'}."
        if target:

            def answer(name: str) -> Any:
                if name.startswith("__") and name != "__all__":
                    raise AttributeError(name)
                held = importlib.import_module(target)
                try:
                    return getattr(held, name)
                except AttributeError:
                    raise AttributeError(f"{module.__name__} is {target} here, which has no {name!r}") from None

            module.__dict__["__getattr__"] = answer


_aliases = _Aliases()


def install_aliases() -> None:
    """From now on `import lollms_client`, its bindings, `ascii_colors` and `pipmaster` work in this process.

    Only where they are not installed, and only as far as the tool libraries that ship with lollms_client need them.
    `pipmaster` never installs anything: it says what is missing. Idempotent; `remove_aliases` undoes it.
    """
    with _lock:
        if _aliases not in sys.meta_path:
            sys.meta_path.append(_aliases)


def remove_aliases() -> None:
    """Undoes `install_aliases`; what has been imported through it goes on working where it is held."""
    with _lock:
        if _aliases in sys.meta_path:
            sys.meta_path.remove(_aliases)
        for name in ALIASES:
            if _is_ours(sys.modules.get(name)):
                del sys.modules[name]


def aliases_installed() -> bool:
    return _aliases in sys.meta_path


def _is_ours(module: ModuleType | None) -> bool:
    return module is not None and getattr(module.__spec__, "loader", None) is _aliases
