"""What one open runtime holds, for both its faces: tools, workspace, threads, policy, limits, records."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from ..config import Config
from ..errors import ClosedError, LimitExceeded, SutlerError
from ..inventory import Inventory, Row
from ..policy.approvals import Approvals
from ..policy.project import ProjectApprovals
from ..results import fresh
from ..results.size import size_of
from ..sources.code import CodeToolSource
from ..sources.functions import FunctionSource
from ..toolbox import Toolbox
from ..workspace.cwd import per_thread_cwd
from ..workspace.root import Workspace
from . import capture
from .asking import Asking
from .calls import Calls
from .client_tools import ClientTools
from .context import HOST_PARAMETERS, ToolContext
from .events import Event, tell
from .frames import current_frame
from .interacting import Interactions
from .libraries import Libraries
from .mounting import Mounting
from .options import Options, Settings, settle
from .pins import Pins
from .pipeline import Pipeline
from .places import Places
from .profiles import check_profile, narrowed
from .prompts import Prompts
from .recorder import Recorder
from .runs import Runs
from .sites import Sites
from .sources import build_toolbox
from .ticket import Ticket
from .tools import Tool
from .workers import Workers

if TYPE_CHECKING:
    from .servers import Servers
    from .watch import Watcher

T = TypeVar("T")

_HANDLES = 64  # whole outputs kept for later reading


class Core:
    """Open from construction to `close`. `host_loop`: the loop that opened an async runtime, else None."""

    def __init__(self, options: Options, settings: Settings, host_loop: asyncio.AbstractEventLoop | None) -> None:
        self.options = options
        self.settings = settings
        self.limits = settings.limits
        self.policy = settings.policy
        self.on_event = options.on_event
        self.awaits = host_loop is not None
        self.host_context: Mapping[str, Any] = {}
        self.closed = False
        self.at_close: list[Callable[[], object]] = []  # what libraries opened that must not outlive this runtime
        self._pid = os.getpid()
        self._tools: dict[str, Tool] = {}
        self._narrowed: tuple[Inventory, Inventory] | None = None
        self._outputs: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

        self.client: Any = options.client if options.client is not None else _client(settings.config)
        self.functions = FunctionSource(options.tools)
        self.code = CodeToolSource()
        self.workspace = _workspace(options, settings)
        self.sites = Sites(self.workspace)
        self.threads = self.sites.home.threads
        self.thread_cwd = per_thread_cwd().available
        project = None if options.project is None else ProjectApprovals(Path(options.project))
        self.approvals = Approvals(options.confirm_handler, project=project)
        self.asking = Asking(self)
        self.interactions = Interactions(self, options.user_interaction_handler)
        self.recorder = Recorder(self)
        self.pins = Pins(self)
        self.pipeline = Pipeline(self)
        self.places = Places(self, host_loop)
        self.workers = Workers(self)
        self.calls = Calls(self)
        self.runs = Runs(self)
        self.servers: Servers | None = None
        if settings.config.mcp_servers or settings.config.host_configs:
            from .servers import Servers

            self.servers = Servers(self)
        self.libraries = Libraries(self)
        self.mounting = Mounting(self)
        self.prompts = Prompts(self)
        self.toolbox: Toolbox = build_toolbox(self)
        self.toolbox.says = self.prompts.texts
        self.libraries.settle_levels()
        self.client_tools = ClientTools(self)
        self._with_client("attach")
        self.watcher: Watcher | None = None
        capture.install()

    def check_open(self) -> None:
        if self.closed:
            raise ClosedError("this runtime is closed")
        if os.getpid() != self._pid:
            raise ClosedError("this runtime was opened in another process; open one after the fork")

    def inventory(self) -> Inventory:
        """What there is to call now."""
        return self.toolbox.inventory()

    def program_inventory(self) -> Inventory:
        """What a program may call: the inventory, narrowed by the profile."""
        whole = self.inventory()
        profile = self.settings.profile
        if profile is None or profile.tools is None:
            return whole
        if self._narrowed is None or self._narrowed[0] is not whole:
            self._narrowed = (whole, narrowed(whole, profile))
        return self._narrowed[1]

    def tool(self, row: Row) -> Tool:
        """The row made ready; kept until its definition changes."""
        key = row.qualified_program_name
        tool = self._tools.get(key)
        if tool is None or tool.row.spec is not row.spec:
            if tool is not None:
                self.pins.replaced(tool.spec, row.spec)
            tool = Tool(row, strict=self.options.strict_arguments, thread_cwd=self.thread_cwd)
            self._tools[key] = tool
        return tool

    def audit(
        self, kind: str, /, *, tool: str = "", run_id: str | None = None, durable: bool = False, **data: Any
    ) -> None:
        """One line of the audit log, from any thread: what was decided or changed beside the calls and runs themselves.

        kind: `decision`, or `change.<what>` (policy, library, handler, config, approval, definition, trust).
        tool: source::tool, or a source. data: plain values, masked as arguments are. Calls and runs write their own.
        durable: on the disk when this returns; never on a loop.
        """
        self.recorder.audit(kind, {"tool": tool, "run_id": run_id, **data}, durable=durable)

    def injected(self, ticket: Ticket, *, is_async: bool = False) -> Mapping[str, Any]:
        """The arguments as the callable gets them: with what its host injects, when it declares it (RUN-06).

        Its own copies: what a tool does to its arguments is not done to the caller's, nor to the record.
        """
        arguments: dict[str, Any] = fresh(ticket.arguments)
        hidden = ticket.spec.hidden
        if not hidden:
            return arguments
        takes_all = "**" in hidden
        for name in HOST_PARAMETERS:
            declared = name in hidden
            if name in ticket.host and (declared or takes_all):
                arguments[name] = ticket.host[name]
            elif declared:
                arguments[name] = self._own(name, ticket, is_async=is_async)
        return arguments

    def _own(self, name: str, ticket: Ticket, *, is_async: bool) -> Any:
        match name:
            case "tool_context":
                return ToolContext(
                    client=self.host_object(ticket, "lollms_client_instance"),
                    discussion=self.host_object(ticket, "discussion_instance"),
                    workspace=ticket.site.root,
                    emit_progress=partial(self.progress, ticket),
                    call_tool=self.call_tool_async if is_async else self.call_tool,
                )
            case "lollms_client_instance":
                return self.client
            case "discussion_instance":
                return self.options.discussion
            case _:
                return self.interactions.for_call(ticket)

    def host_object(self, ticket: Ticket, parameter: str) -> Any:
        """The client or the discussion that a call has, for a tool in a worker process to ask something of."""
        if parameter in ticket.host:
            return ticket.host[parameter]
        return self.client if parameter == "lollms_client_instance" else self.options.discussion

    def set_confirm_handler(self, handler: Callable[..., Any] | None) -> None:
        """From the next question on this is the person, for the runtime and for every library."""
        self.approvals.handler = handler
        self.audit("change.handler", handler="confirm_handler", there=handler is not None)
        self.libraries.swap("confirm_handler", self.library_confirm)

    def set_user_interaction_handler(self, handler: Callable[..., Any] | None) -> None:
        """The same for what tools ask the person."""
        self.interactions.handler = handler
        self.audit("change.handler", handler="user_interaction_handler", there=handler is not None)
        self.libraries.swap("user_interaction_handler", self.interactions.for_libraries)

    def in_use(self, source: object) -> bool:
        """Whether a call in flight or a program in progress may still need what this source has."""
        return self.calls.use(source) or self.runs.use(source)

    def library_confirm(self, source: str, script_label: str = "", argv: list[Any] | None = None) -> tuple[str, str]:
        """The confirm_handler that a tool library gets: synchronous, over the runtime's own approvals (LCP-17)."""
        frame = current_frame.get()
        ticket = frame.ticket if frame is not None and frame.owner is self else None
        return self.asking.of_library(ticket, source, script_label, argv)

    def progress_of_server(self, ticket: Ticket, done: float, total: float | None, message: str | None) -> None:
        self.progress(ticket, message or "", done / total if total else None)

    def progress(self, ticket: Ticket, text: str, fraction: float | None = None) -> None:
        run_id = ticket.run.run_id if ticket.run is not None else None
        data = {"text": self.recorder.masker.value(str(text)), "fraction": fraction}
        tell(
            self.on_event,
            Event(kind="progress", tool=ticket.spec.qualified, call_id=ticket.call_id, run_id=run_id, data=data),
        )

    def call_tool(self, name: str, arguments: object = None, **more: Any) -> dict[str, Any]:
        return self.calls.call(name, _merged(arguments, more), self.host_context).to_dict()

    async def call_tool_async(self, name: str, arguments: object = None, **more: Any) -> dict[str, Any]:
        return (await self.calls.call_async(name, _merged(arguments, more), self.host_context)).to_dict()

    def await_on_host(self, value: Awaitable[Any]) -> Any:
        """Waits for what async code of the host gives, on the loop that such code runs on."""
        return self.places.await_on_host(value)

    def _with_client(self, what: Literal["attach", "detach"]) -> None:
        """Tells a client of ours that tools of this runtime have it; its keys are masked here from now on."""
        client = self.client
        tell_it = getattr(client, f"{what}_runtime", None)
        if not callable(tell_it):
            return
        for secret in cast("Iterable[str]", tell_it(self) or ()):
            self.recorder.secrets.register(secret)

    def ready(self, timeout: float | None) -> bool:
        """Waits for the MCP servers; every other source answers when it is asked. True when nothing is missing."""
        if self.servers is not None:
            self.servers.wait(3600.0 if timeout is None else timeout)
        return not self.inventory().unavailable

    def check_output(self, value: Any, what: str) -> int:
        """The size in bytes, about. Raises LimitExceeded when it is over `output_bytes`."""
        limit = self.limits.output_bytes
        size = size_of(value, limit)
        if size > limit:
            raise LimitExceeded(
                f"{what} is larger than {limit:,} bytes; return less, or raise limits.output_bytes",
                limit="output_bytes",
            )
        return size

    def keep_output(self, call_id: str, output: Any) -> str:
        """Keeps a whole output for later reading; the handle names it."""
        with self._lock:
            self._outputs[call_id] = output
            while len(self._outputs) > _HANDLES:
                self._outputs.popitem(last=False)
        return call_id

    def read_output(self, handle: str) -> Any:
        with self._lock:
            if handle not in self._outputs:
                raise KeyError(f"no output is kept under the handle {handle!r}; the last {_HANDLES} long ones are")
            held = self._outputs[handle]
        return self.recorder.outward_value(held)

    def warm(self, name: str) -> Row | None:
        """The tool of this name when a call of it opens without touching a file: as it was, known, quick to decide."""
        inventory = self.toolbox.current()
        if inventory is None:
            return None
        row = inventory.tools.get(name) or inventory.qualified.get(name)
        tool = self._tools.get(row.qualified_program_name) if row is not None else None
        return row if tool is not None and tool.is_warm and self.policy.is_quick(tool.spec) else None

    async def hop(self, work: Callable[[], T]) -> T:
        """Does work of ours on a thread, off the loop; here, when no thread is to be had: late is better than lost."""
        try:
            future = self.threads.submit(work, anywhere=True)
        except SutlerError:
            return work()
        return await asyncio.wrap_future(future)

    def leave(self, work: Callable[[], object]) -> None:
        """Has work done that nobody waits for: at once when it cannot block, else on a thread."""
        if self.recorder.blocks:
            with suppress(SutlerError):
                self.threads.submit(work, anywhere=True)
                return
        work()

    def apart(self, work: Callable[[], object]) -> None:
        """Has work done on a thread that nobody waits for."""
        with suppress(SutlerError):
            self.threads.submit(work, anywhere=True)

    async def aside(self, work: Callable[[], T]) -> T:
        """Does what may touch the disk off the loop."""
        return await self.hop(work) if self.recorder.blocks else work()

    def close(self, timeout: float = 2.0) -> tuple[str, ...]:
        """Ends runs, calls, threads, workers. Returns what did not end in time, in words. Idempotent."""
        if self.closed or os.getpid() != self._pid:
            return ()  # in a forked child all of it belongs to the parent
        self.closed = True
        self._with_client("detach")
        left: list[str] = []
        try:
            if self.watcher is not None:
                self.watcher.close()
            self.runs.cancel_all()
            self.calls.close()
            for end in self.at_close:
                end()
            servers = self.servers.close() if self.servers is not None else ()
            left = [*servers, *self.workers.close(), *self.places.close(timeout), *self.sites.close(timeout)]
            self.recorder.close()
        finally:
            capture.uninstall()
            left += self.workspace.close()
        return tuple(left)


def opened(options: Options, host_loop: asyncio.AbstractEventLoop | None) -> Core:
    """A core with its inventory; nothing is left behind when that cannot be had."""
    core = Core(options, settle(options), host_loop)
    try:
        if core.servers is not None:
            core.servers.start()
        core.inventory()
        check_profile(core)
        if options.watch:
            from .watch import Watcher

            core.watcher = Watcher(core.libraries)
    except BaseException:
        core.close()
        raise
    return core


def _merged(arguments: object, more: Mapping[str, Any]) -> object:
    if not more:
        return arguments
    given = cast("Mapping[str, Any]", arguments if isinstance(arguments, Mapping) else {})
    return {**given, **more}


def _client(config: Config) -> Any:
    """The client that the config's [models.<name>] make; None without any."""
    if not config.models:
        return None
    from ..host.models import client_of

    return client_of(config.models.values())


def _workspace(options: Options, settings: Settings) -> Workspace:
    read = [*(Path(root) for root in options.read), *settings.config.workspace.read]
    root = options.workspace if options.workspace is not None else settings.config.workspace.root
    if root is None:
        return Workspace.fresh(keep=options.keep, read_roots=read)
    path = Path(root).expanduser().absolute()
    path.mkdir(parents=True, exist_ok=True)
    return Workspace(path, read_roots=read)
