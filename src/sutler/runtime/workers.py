"""Worker processes: one warm child a library, for tools that must be killable or need a directory of their own.

A source that can move to a process offers `worker(spec) -> (entry, payload)`: the entry is imported in the child and
gives `handle(tool, arguments)`. What a tool there asks of its host comes back through the pipe by name.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ToolError, ToolUnavailable
from ..sources.child import answer_for_object, answered, outgoing
from ..workspace.worker import Reply, Stopper, Worker
from .ticket import Ticket
from .tools import Tool

if TYPE_CHECKING:
    from .core import Core


class Workers:
    """The worker processes of one runtime."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._workers: dict[str, Worker] = {}
        self._lock = threading.Lock()

    def call(self, ticket: Ticket, arguments: Mapping[str, Any]) -> Any:
        """Runs the call in its library's worker and waits. What the tool printed goes to ticket.stdout.

        Raises ToolError for what the tool raised; ToolTimeout, ToolCrashed, LimitExceeded as the worker does.
        """
        tool, deadline = ticket.tool, ticket.deadline
        assert tool is not None and deadline is not None
        worker = self._worker(tool)
        ticket.stopper = stopper = Stopper()
        if ticket.flight.ended:
            stopper.stop("its call was given up")
        reply = worker.call(
            tool.spec.name,
            outgoing(arguments),
            cwd=ticket.site.root,
            timeout=deadline,
            on_request=lambda name, args: self._serve(ticket, name, args),
            stopper=stopper,
        )
        ticket.stdout = _printed(reply)
        ticket.notes = (*ticket.notes, *reply["notes"])
        if reply["error"] is not None:
            error = reply["error"]
            match error["type"]:
                case "ToolError":  # ours, from reading what the tool gave
                    raise ToolError(error["message"])
                case "ToolUnavailable":  # ours: the library does not load
                    raise ToolUnavailable(error["message"], traceback=error["traceback"])
                case name:
                    raise ToolError(f"{name}: {error['message']}", traceback=error["traceback"])
        return answered(reply["value"])

    def close(self) -> tuple[str, ...]:
        with self._lock:
            workers, self._workers = list(self._workers.values()), {}
        for worker in workers:
            worker.close()
        return ()

    def _worker(self, tool: Tool) -> Worker:
        source: Any = tool.row.source
        own_key = getattr(source, "worker_key", None)
        key: str = own_key(tool.spec) if own_key is not None else tool.spec.origin.source
        with self._lock:
            worker = self._workers.get(key)
            if worker is None:
                self._core.check_open()  # after close there is nobody to end it
                entry, payload = source.worker(tool.spec)
                payload = {**payload, "read_roots": [str(root) for root in self._core.workspace.read_roots]}
                self._workers[key] = worker = Worker(entry, payload, name=key)
        return worker

    def _serve(self, ticket: Ticket, name: str, args: Mapping[str, Any]) -> Any:
        """What a tool in the child may ask of its host."""
        core = self._core
        match name:
            case "confirm_handler":
                return core.asking.of_library(ticket, args["source"], args["script_label"], args.get("argv"))
            case "user_interaction_handler":
                return core.interactions.ask(ticket, args["request"])
            case "emit_progress":
                core.progress(ticket, args["text"], args.get("fraction"))
                return None
            case "call_tool":
                return core.call_tool(args["name"], args.get("arguments"))
            case "object":
                target = core.host_object(ticket, args["parameter"])
                return answer_for_object(target, args["path"], args["args"], args["kwargs"])
            case _:
                raise ToolUnavailable(f"a tool in a worker process cannot ask its host for {name!r}")


def _printed(reply: Reply) -> str:
    """Everything the call printed: at import and between calls, by Python, on the file descriptors, on stderr."""
    return "".join(part for part in (reply["stray"], reply["stdout"], reply["raw"], reply["stderr"]) if part)
