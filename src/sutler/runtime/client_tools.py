"""`client.tools` of a tool: the tools of the runtime that calls it, through the same gate and limits (LCP-12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..results import fresh
from .context import HOST_PARAMETERS

if TYPE_CHECKING:
    from .core import Core


class ClientTools:
    """What an LCP tool expects of `client.tools`. A call made in a tool is nested in that tool's own call."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def __repr__(self) -> str:
        return f"<ClientTools: {len(self._core.inventory().tools)} tools>"

    def execute_tool(
        self,
        tool_name: str,
        params: Mapping[str, Any] | str | None = None,
        discussion_instance: Any = None,
        **host: Any,
    ) -> dict[str, Any]:
        """Calls a tool by any listed or qualified name (`server::tool`); gives the LCP wrapper, whatever happens.

        host: lollms_client_instance, tool_context, user_interaction_handler, for this call.
        """
        for name in host:
            if name not in HOST_PARAMETERS:
                raise TypeError(f"execute_tool() takes no {name!r}; it takes {', '.join(HOST_PARAMETERS)}")
        given = {"discussion_instance": discussion_instance, **host}
        context = {**self._core.host_context, **{name: value for name, value in given.items() if value is not None}}
        return self._core.calls.call(tool_name, params, context).to_dict()

    def list_tools(self) -> list[dict[str, Any]]:
        """name, description and input_schema of each tool that a bare name reaches; copies."""
        return [
            {"name": name, "description": row.spec.description, "input_schema": fresh(row.spec.input_schema)}
            for name, row in self._core.program_inventory().tools.items()
        ]

    discover_tools = list_tools
