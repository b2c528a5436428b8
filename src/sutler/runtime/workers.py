"""Worker processes: one warm child a library, for tools that must be killable or need a directory of their own.

A source that can move to a process offers `worker(spec) -> (entry, payload)`: the entry is imported in the child and
gives `handle(tool, arguments)`. What a tool there asks of its host comes back through the pipe by name.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ToolError, ToolUnavailable
from ..sources.aliases import aliases_installed
from ..sources.child import answer_for_object, answered, outgoing
from ..workspace.watchdog import Deadline
from ..workspace.worker import Reply, Stopper, Worker
from .sites import Site
from .ticket import Ticket
from .tools import Tool

if TYPE_CHECKING:
    from .core import Core


class Workers:
    """The worker processes of one runtime."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._workers: dict[tuple[str, int], _Held] = {}
        self._retired: list[_Held] = []
        self._lock = threading.Lock()

    def call(self, ticket: Ticket, arguments: Mapping[str, Any]) -> Any:
        """Runs the call in its library's worker and waits. What the tool printed goes to ticket.stdout.

        Raises ToolError for what the tool raised; ToolTimeout, ToolCrashed, LimitExceeded as the worker does.
        """
        tool, deadline = ticket.tool, ticket.deadline
        assert tool is not None and deadline is not None
        held = self._held(tool)
        worker = held.worker
        ticket.stopper = stopper = Stopper()
        if ticket.flight.ended:
            stopper.stop("its call was given up")
        self._configure(held, tool, ticket)
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

    def prompt(self, tool: Tool, site: Site, file: Path, name: str, deadline: Deadline, stopper: Stopper) -> Any:
        """What a prompt provider of the library gives, in the library's worker. Raises as `call` does."""
        held = self._held(tool)
        with held.lock:
            reply = held.worker.call(
                "@prompt",
                {"file": str(file), "name": name},
                cwd=site.root,
                timeout=deadline,
                on_request=self._serve_prompt,
                stopper=stopper,
            )
        if reply["error"] is not None:
            raise ToolError(f"{reply['error']['type']}: {reply['error']['message']}")
        return reply["value"]

    def close(self) -> tuple[str, ...]:
        with self._lock:
            held, self._workers = [*self._workers.values(), *self._retired], {}
            self._retired = []
        for one in held:
            one.worker.close()
        return ()

    def retire(self, sources: Sequence[object]) -> None:
        """The workers of sources that others have replaced: they end as soon as nobody needs them."""
        gone = {id(source) for source in sources}
        with self._lock:
            for key in [key for key in self._workers if key[1] in gone]:
                self._retired.append(self._workers[key])
        self.sweep()

    def sweep(self) -> None:
        """Ends retired workers that no call and no program in progress may need."""
        if not self._retired:
            return
        idle = [held for held in list(self._retired) if not self._core.in_use(held.source)]
        for held in idle:
            with self._lock:
                self._retired = [one for one in self._retired if one is not held]
                self._workers = {key: one for key, one in self._workers.items() if one is not held}
            self._core.apart(held.worker.close)

    def _held(self, tool: Tool) -> _Held:
        source: Any = tool.row.source
        own_key = getattr(source, "worker_key", None)
        name: str = own_key(tool.spec) if own_key is not None else tool.spec.origin.source
        key = (name, id(source))
        with self._lock:
            held = self._workers.get(key)
            if held is None:
                self._core.check_open()  # after close there is nobody to end it
                entry, payload = source.worker(tool.spec)
                worker = Worker(entry, self._whole(payload), name=name)
                held = self._workers[key] = _Held(source, worker, getattr(source, "configured", 0))
        return held

    def _whole(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        roots = [str(root) for root in self._core.workspace.read_roots]
        return {**payload, "read_roots": roots, "aliases": aliases_installed()}

    def _configure(self, held: _Held, tool: Tool, ticket: Ticket) -> None:
        """Hands a config that changed since to the worker, before the call that is to see it."""
        source = held.source
        now = getattr(source, "configured", 0)
        if held.configured == now:
            return
        with held.lock:
            if held.configured == now:
                return
            payload = self._whole(source.worker(tool.spec)[1])
            held.worker.renew(payload)
            if held.worker.pid is not None:
                assert ticket.deadline is not None
                held.worker.call(
                    "@configure",
                    {"configs": payload["configs"], "handlers": payload["handlers"]},
                    cwd=ticket.site.root,
                    timeout=ticket.deadline,
                    on_request=lambda name, args: self._serve(ticket, name, args),
                )
            held.configured = now

    def _serve_prompt(self, name: str, args: Mapping[str, Any]) -> Any:
        """A library may ask for approval as it loads; there is no call here that anything else could belong to."""
        if name == "confirm_handler":
            return self._core.library_confirm(args["source"], args["script_label"], args.get("argv"))
        raise ToolUnavailable(f"a prompt provider cannot ask its host for {name!r}")

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


class _Held:
    """One worker. source: whose library it serves; configured: the version of the config that it has."""

    __slots__ = ("configured", "lock", "source", "worker")

    def __init__(self, source: Any, worker: Worker, configured: int) -> None:
        self.source = source
        self.worker = worker
        self.configured = configured
        self.lock = threading.RLock()  # a handler that the worker asks meanwhile may call it again


def _printed(reply: Reply) -> str:
    """Everything the call printed: at import and between calls, by Python, on the file descriptors, on stderr."""
    return "".join(part for part in (reply["stray"], reply["stdout"], reply["raw"], reply["stderr"]) if part)
