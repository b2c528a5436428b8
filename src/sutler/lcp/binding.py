"""LCPBinding: tool libraries under the names that LCP hosts use, over a SyncRuntime (LCP-19)."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ..runtime import SyncRuntime


class LCPBinding:
    """Finds plain-Python tool libraries and runs their tools."""

    def __init__(self, *, tools_folders: Any = None, **options: Any) -> None:
        keywords: dict[str, Any] = {"config": False, "default_tools": False, "plugins": False, **options}
        self.runtime = SyncRuntime(tool_folders=tools_folders, **keywords).open()

    def execute_tool(
        self,
        tool_name: str,
        params: Mapping[str, Any] | str | None = None,
        discussion_instance: Any = None,
        *,
        lollms_client_instance: Any = None,
        tool_context: Any = None,
    ) -> dict[str, Any]:
        """Calls a tool; gives the LCP wrapper, whatever happens."""
        host = {
            "tool_context": tool_context,
            "discussion_instance": discussion_instance,
            "lollms_client_instance": lollms_client_instance,
        }
        given = {name: value for name, value in host.items() if value is not None}
        return self.runtime.call(tool_name, params, context=given).to_dict()

    def close(self) -> None:
        """Ends what the binding holds."""
        self.runtime.close()

    def __enter__(self) -> LCPBinding:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
