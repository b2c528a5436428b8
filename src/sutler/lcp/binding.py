"""LCPBinding: tool libraries under the names that LCP hosts use, over a SyncRuntime (LCP-09, LCP-19).

Every call takes the runtime's one road: the same arguments check, policy, approval, deadline and record.
"""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from ..closest import closest
from ..errors import SutlerError, ToolUnavailable
from ..results import failure
from ..runtime import SyncRuntime
from ..runtime.context import HOST_PARAMETERS
from .specs import for_chat, listed

_log = logging.getLogger("sutler")
_KEYWORDS = frozenset(inspect.signature(SyncRuntime.__init__).parameters) - {"self"}
_OF_THE_HOST = {"config": False, "default_tools": False, "plugins": False}  # unless it says otherwise

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None


class LCPBinding:
    """Finds plain-Python tool libraries, lists their tools and runs them.

    tools_folders (also tools_folder_path): folders of libraries; tool_files: single files; each one path or any
        sequence of them. Without any, the libraries that come with Sutler.
    host_tool_configs: by library stem; never changed. `autonomy_level` in one is the level of that library.
    confirm_handler(source, script_label, argv) -> (decision, reason); user_interaction_handler(request) -> str | None.
    workspace: the folder that tools work in; None is the caller's current directory, at the time of each call.
    flags: the load flag of a library (TOOL_LIBRARY_LOAD_FLAG) is a keyword too; what is not named stays off.
    All other keywords of SyncRuntime are taken as they are; but for these no config file is read, and nothing is there
    but the libraries. TypeError for an unknown keyword, with the closest one.
    """

    BindingName = "LCPBinding"

    def __init__(
        self,
        *,
        tools_folders: Paths = None,
        tools_folder_path: Paths = None,
        tool_files: Paths = None,
        host_tool_configs: Mapping[str, Mapping[str, Any]] | None = None,
        confirm_handler: Callable[..., Any] | None = None,
        user_interaction_handler: Callable[..., Any] | None = None,
        workspace: str | os.PathLike[str] | None = None,
        **more: Any,
    ) -> None:
        options = {name: value for name, value in more.items() if name in _KEYWORDS}
        flags = {name: value for name, value in more.items() if name not in _KEYWORDS}
        self.tools_folders = [
            *_paths(tools_folders),
            *_paths(tools_folder_path),
            *_paths(options.pop("tool_folders", None)),
        ]
        self.tool_files = _paths(tool_files)
        if not self.tools_folders and not self.tool_files:
            options.setdefault("shipped", True)
        self._follows = workspace is None
        self.problem = ""
        self._strange: set[str] = set()
        keywords: dict[str, Any] = {
            **_OF_THE_HOST,
            "tool_folders": self.tools_folders,
            "tool_files": self.tool_files,
            "host_tool_configs": host_tool_configs,
            "confirm_handler": confirm_handler,
            "user_interaction_handler": user_interaction_handler,
            "workspace": Path.cwd() if workspace is None else workspace,
            "load_flags": {**dict(options.pop("load_flags", None) or {}), **flags},
            **options,
        }
        self.runtime = SyncRuntime(**keywords).open()
        try:
            self._check(flags)
        except TypeError:
            self.runtime.close()
            raise

    def _check(self, flags: Mapping[str, Any]) -> None:
        """Raises TypeError for a keyword that is neither the runtime's nor a load flag of any library."""
        libraries = self.runtime.core.libraries
        sources = [*(source for _, source in libraries.all), *libraries.unmounted()] if flags else []
        known = {source.info.load_flag for source in sources} - {None}
        for name in flags:
            if name not in known:
                mine = set(inspect.signature(type(self).__init__).parameters) - {"self", "more"}
                near = closest(name, [*sorted(mine | _KEYWORDS), *sorted(cast("set[str]", known))])
                raise TypeError(f"LCPBinding takes no keyword {name!r}" + (f"; did you mean {near}?" if near else ""))

    @property
    def tools_folder_path(self) -> Path | None:
        """The first folder."""
        return self.tools_folders[0] if self.tools_folders else None

    # ------------------------------------------------------------------ running

    def execute_tool(
        self,
        tool_name: str,
        params: Mapping[str, Any] | str | None = None,
        discussion_instance: Any = None,
        *,
        lollms_client_instance: Any = None,
        tool_context: Any = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Calls a tool; gives the LCP wrapper (output, status_code, success, error), whatever happens.

        The host's objects reach a tool that declares them, exactly as they are given. kwargs: further ones of them
        (user_interaction_handler); others mean nothing here, which is logged once.
        """
        given = {
            **kwargs,
            "tool_context": tool_context,
            "discussion_instance": discussion_instance,
            "lollms_client_instance": lollms_client_instance,
        }
        for name in given.keys() - set(HOST_PARAMETERS) - self._strange:
            self._strange.add(name)
            _log.warning("execute_tool: the keyword %r means nothing here and is left out", name)
        host = {name: given[name] for name in HOST_PARAMETERS if given.get(name) is not None}
        core = self.runtime.core
        try:
            here = self._here()
        except ToolUnavailable as error:
            return failure(error).to_dict()
        return core.calls.call(tool_name, params, {**core.host_context, **host}, here).to_dict()

    def _here(self) -> str | None:
        """Where a call works. Hosts change their directory before a call, and expect the tool there."""
        if not self._follows:
            return None
        try:
            return os.getcwd()  # noqa: PTH109 - as text; twice as fast
        except OSError as error:
            raise ToolUnavailable(f"the current directory is gone: {error.strerror}") from None

    # ------------------------------------------------------------------ listing

    @property
    def discovered_tools(self) -> list[dict[str, Any]]:
        """name, description and input_schema of every tool; copies."""
        rows = self.runtime.core.program_inventory().tools
        return [listed(name, row.spec) for name, row in rows.items()]

    def discover_tools(
        self, specific_tool_names: Sequence[str] | None = None, force_refresh: bool = False
    ) -> list[dict[str, Any]]:
        """The same. specific_tool_names: only these; force_refresh: look at the folders again first."""
        if force_refresh:
            self.runtime.refresh()
        wanted = None if specific_tool_names is None else set(_texts(specific_tool_names))
        return [tool for tool in self.discovered_tools if not wanted or tool["name"] in wanted]

    def list_tools(
        self, specific_tool_names: Sequence[str] | None = None, force_refresh: bool = False
    ) -> list[dict[str, Any]]:
        """As discover_tools."""
        return self.discover_tools(specific_tool_names, force_refresh)

    def to_chat_tool_specs(
        self, specific_tool_names: Sequence[str] | None = None, force_refresh: bool = False
    ) -> dict[str, dict[str, Any]]:
        """By name: name, description with what the library says now (LIB-06), parameters as a list, and `callable`.

        callable(**arguments) gives the wrapper; tool_context, discussion_instance and lollms_client_instance among its
        keywords are the host's objects and no arguments.
        """
        if force_refresh:
            self.runtime.refresh()
        core = self.runtime.core
        wanted = None if specific_tool_names is None else set(_texts(specific_tool_names))
        rows = {name: row for name, row in core.program_inventory().tools.items() if not wanted or name in wanted}
        specs = core.prompts.described(list(rows.values()), self._here())
        return {name: for_chat(name, spec, partial(self._run, name)) for name, spec in zip(rows, specs, strict=True)}

    def _run(self, tool_name: str, /, **arguments: Any) -> dict[str, Any]:
        host = {name: arguments.pop(name) for name in HOST_PARAMETERS if name in arguments}
        return self.execute_tool(tool_name, arguments, **host)

    def get_dynamic_tool_description(self, tool: Mapping[str, Any] | str) -> str | None:
        """What the library of a tool (its name, or a listed tool) says now beside its description; None for nothing."""
        core = self.runtime.core
        row = core.program_inventory().tools.get(tool if isinstance(tool, str) else tool["name"])
        return core.prompts.texts([row], self._here()).get(row.spec.qualified) if row is not None else None

    # ------------------------------------------------------------------ code and libraries

    def register_tool_from_code(self, tool_name_prefix: str, code: str) -> bool:
        """Registers every tool_* of a text in place of those of the same names. Whether there was any.

        It runs only when one of them is called, which asks at level "safe". `problem` says why there was none.
        """
        try:
            found = self.runtime.register_tool_from_code(tool_name_prefix, code)
        except SutlerError as error:
            self.problem = str(error)
            _log.warning("no tool is registered: %s", error)
            return False
        self.problem = "" if found else f"code text {tool_name_prefix!r}: no function of it is named tool_*"
        return found

    def unregister_tools_by_prefix(self, tool_name_prefix: str) -> int:
        """Takes tools of code text away, registered under this name or named tool_<prefix>...; how many."""
        return self.runtime.unregister_tools_by_prefix(tool_name_prefix)

    def mount_tool_library(self, library_name: str) -> bool:
        """Turns a library on by a forgiving name. Whether it is on now; `problem` says why not."""
        mounted = self.runtime.mount_tool_library(library_name)
        self.problem = self.runtime.why_not_mounted()
        return mounted

    def mount_tool_library_if_absent(self, library_name: str) -> bool:
        """The same."""
        return self.mount_tool_library(library_name)

    def is_library_mounted(self, library_name: str) -> bool:
        """Whether the library that a forgiving name means is on."""
        return self.runtime.is_library_mounted(library_name)

    def find_library_for_tool(self, tool_name: str) -> str | None:
        """The stem of the library that has a tool, on or not."""
        return self.runtime.find_library_for_tool(tool_name)

    def is_tool_available(self, tool_name: str) -> bool:
        """Whether a tool can be called, or could be once its library is mounted."""
        return self.runtime.is_tool_available(tool_name)

    def load_tool_by_name(self, tool_name: str) -> dict[str, Any] | None:
        """The tool as it is listed, its library mounted if need be; for a library's name its first tool."""
        spec = self.runtime.load_tool_by_name(tool_name)
        return None if spec is None else listed(spec.name, spec)

    def set_session_flags(self, flags: Mapping[str, Any] | None) -> None:
        """Load flags from now on, instead of those before."""
        self.runtime.set_session_flags(flags or {})

    # ------------------------------------------------------------------ the person

    def set_confirm_handler(self, handler: Callable[..., Any] | None) -> None:
        """Another person from the next question on, for libraries that are loaded too; None is nobody."""
        self.runtime.set_confirm_handler(handler)

    def set_user_interaction_handler(self, handler: Callable[..., Any] | None) -> None:
        """The same for what tools ask beside approvals."""
        self.runtime.set_user_interaction_handler(handler)

    # ------------------------------------------------------------------ its end

    def close(self) -> None:
        """Ends calls, threads and workers. Nothing outlives the process that is not closed."""
        self.runtime.close()

    def __enter__(self) -> LCPBinding:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<LCPBinding over {self.runtime!r}>"


def _paths(given: Paths) -> list[Path]:
    if given is None:
        return []
    if isinstance(given, str | os.PathLike):
        return [Path(given)]
    return [Path(one) for one in given]


def _texts(given: Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given
