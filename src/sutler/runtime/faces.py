"""The two faces of a runtime, for coroutines and for threads: the same surface, kept equal by a test."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, NoReturn

from ..config import Config
from ..errors import ClosedError
from ..inventory import Inventory
from ..lang import Checked
from ..policy.answers import Answer
from ..policy.gate import Policy
from ..policy.levels import Level
from ..policy.sources import PolicySource
from ..policy.standing import StandingApproval
from ..programs.plan import PlannedProgram
from ..results import preview
from ..results.view import MODEL_SEES
from ..spec import RunResult, ToolResult, ToolSpec
from ..store import AuditFilter, AuditRecord
from ..toolbox import Toolbox
from .core import Core, opened
from .events import EventHandler
from .library_faces import AsyncLibraries, LibraryFace, SyncLibraries
from .options import Options, PathLike, Settings
from .prompt_faces import AsyncPrompts, PromptFace, SyncPrompts
from .resume import PersonsAnswer

LanguageLevel = Literal["calls", "program", "full"]
OnAsk = Literal["reject", "wait"]


class Face(LibraryFace, PromptFace):
    """What both faces share: the keywords, and everything that neither runs a tool nor waits.

    workspace: the folder tools work in, made when missing; None takes the config's, else a fresh one, removed at close
        unless `keep`. read: further folders that shipped tools may read.
    tool_folders: plain-Python tool folders, first wins. tool_files: single files of tools, after them. load_flags:
        {flag: True} turns on libraries that stay off without. watch: what changes there is picked up at once. tools:
        functions. sources: further ToolSources.
    default_tools: whether the shipped tools are there (None: as the config says, else yes). shipped: the tool libraries
        that come with Sutler, True for all, or a list of their stems (None: as the config says, else none).
    config: a sutler.toml, which counts as trusted; None searches upward, and a file found so is data until trusted;
        False reads none. profile: a profile of the config, or one tool's name.
    limits: wall_seconds, compute_seconds, memory_mb, calls, call_seconds, output_bytes, depth; over the config's.
    policy: "strict", "safe", "full_access" or a Policy, whose rules come before the config's. policy_sources: objects
        that look at each call and may make the answer stricter (PolicySource).
    strict_arguments: an unknown argument is always an error.
    harness_resolver(name) -> callable | None: supplies virtual tools. mcp_servers: {id: {...}} with the keys of
        [mcp_servers.<id>], beside those of the config. host_tool_configs: by library stem.
    confirm_handler(source, label, argv) -> (decision, reason) and user_interaction_handler(request) -> str | None: the
        person. client, discussion: injected into tools that declare lollms_client_instance, discussion_instance.
    project: the folder whose standing approvals hold, kept in the state directory; None: none do.
    store: None keeps the last runs in memory; a path keeps them in SQLite. on_event: hears calls and runs go by.
    lazy_servers: an MCP server whose tools are remembered from before is started by its first call.
    share_loop: MCP sessions live on the loop that opens an async Runtime, so that a call from there changes no thread;
        for a host that never blocks its loop. Nothing to a SyncRuntime, which has none.
    A single folder or function may stand where a list of them may. Raises ConfigError when it is opened, with every
    problem found.
    """

    def __init__(
        self,
        *,
        workspace: PathLike | None = None,
        read: Sequence[PathLike] = (),
        keep: bool = False,
        tool_folders: PathLike | Sequence[PathLike] = (),
        tool_files: PathLike | Sequence[PathLike] = (),
        load_flags: Mapping[str, Any] | None = None,
        watch: bool = False,
        tools: Callable[..., Any] | Sequence[Callable[..., Any]] = (),
        sources: Sequence[Any] = (),
        default_tools: bool | None = None,
        shipped: bool | Sequence[str] | None = None,
        config: PathLike | Config | Literal[False] | None = None,
        profile: str | None = None,
        limits: Mapping[str, Any] | None = None,
        policy: Level | Policy | None = None,
        policy_sources: Sequence[PolicySource] = (),
        strict_arguments: bool = False,
        harness_resolver: Callable[[str], Callable[..., Any] | None] | None = None,
        mcp_servers: Mapping[str, Mapping[str, Any]] | None = None,
        host_tool_configs: Mapping[str, Mapping[str, Any]] | None = None,
        confirm_handler: Callable[..., Any] | None = None,
        user_interaction_handler: Callable[..., Any] | None = None,
        client: Any = None,
        discussion: Any = None,
        project: PathLike | None = None,
        store: Any = None,
        on_event: EventHandler | None = None,
        plugins: bool = True,
        lazy_servers: bool = False,
        share_loop: bool = False,
    ) -> None:
        self._options = Options(
            workspace=workspace,
            read=tuple(read),
            keep=keep,
            tool_folders=(tool_folders,) if isinstance(tool_folders, str | os.PathLike) else tuple(tool_folders),
            tool_files=(tool_files,) if isinstance(tool_files, str | os.PathLike) else tuple(tool_files),
            load_flags=load_flags,
            watch=watch,
            tools=(tools,) if callable(tools) else tuple(tools),
            sources=tuple(sources),
            default_tools=default_tools,
            shipped=shipped,
            config=config,
            profile=profile,
            limits=limits,
            policy=policy,
            policy_sources=policy_sources,
            strict_arguments=strict_arguments,
            harness_resolver=harness_resolver,
            mcp_servers=mcp_servers,
            host_tool_configs=host_tool_configs,
            confirm_handler=confirm_handler,
            user_interaction_handler=user_interaction_handler,
            client=client,
            discussion=discussion,
            project=project,
            store=store,
            on_event=on_event,
            plugins=plugins,
            lazy_servers=lazy_servers,
            share_loop=share_loop,
        )
        self._core: Core | None = None

    def __repr__(self) -> str:
        name = type(self).__name__
        if self._core is None:
            return f"<{name}, not open>"
        inventory = self._core.inventory()
        return f"<{name}: {len(inventory.tools)} tools, workspace {self._core.workspace.root}>"

    @property
    def core(self) -> Core:
        """The open runtime's insides. Raises ClosedError before open and after close."""
        if self._core is None:
            raise ClosedError("this runtime is not open: use it in a `with` (or `async with`) block, or call open()")
        return self._core

    @property
    def settings(self) -> Settings:
        """Keywords and config, settled."""
        return self.core.settings

    @property
    def workspace(self) -> Any:
        """The workspace: .root, .resolve(name), .contains(path)."""
        return self.core.workspace

    def inventory(self) -> Inventory:
        """Every tool, the shadowed, the quarantined and the unavailable: one immutable answer."""
        return self.core.inventory()

    def tools(self) -> list[ToolSpec]:
        """The tools by their bare names, one each; shadowed ones are in inventory()."""
        return [row.spec for row in self.core.program_inventory().tools.values()]

    def check(self, text: str, *, level: LanguageLevel | None = None, params: Sequence[str] = ()) -> Checked:
        """Whether a program would start: `.ok`, and `.errors` with line, plain words and what to write instead."""
        return self.core.runs.check(text, self._level(level), tuple(params))

    def plan(self, text: str, *, level: LanguageLevel | None = None, params: Sequence[str] = ()) -> PlannedProgram:
        """What a program would call, where, with which decision, and its grade. Nothing runs."""
        return self.core.runs.plan(text, self._level(level), tuple(params))

    def cancel(self, run_id: str) -> bool:
        """Ends a run that is going on, with its calls in flight; False when there is none of that id."""
        return self.core.runs.cancel(run_id)

    def register_tool_from_code(self, name: str, code: str) -> bool:
        """Registers every tool_* of a text (LCP section 8); it runs only when called. Whether any was found."""
        return self.core.code.register(name, code)

    def unregister_tools_by_prefix(self, prefix: str) -> int:
        """Takes tools of code text away; how many."""
        return self.core.code.unregister(prefix)

    def model_text(self, result: ToolResult, *, limit: int = MODEL_SEES) -> str:
        """What a model should see of a result: all of it, or head, tail and the handle for read_output."""
        shown = result.output if result.error is None else f"error: {result.error}"
        text, cut = preview(shown, limit)
        if cut and result.handle is not None:
            text += f"\n[whole output: handle {result.handle}]"
        return text

    def read_output(self, handle: str) -> Any:
        """The whole output behind a handle. KeyError when it is no longer kept."""
        return self.core.read_output(handle)

    def runs(self, limit: int = 50) -> list[Any]:
        """The recorded runs, newest first."""
        return self.core.recorder.runs(limit)

    def audit(
        self,
        limit: int = 100,
        *,
        kind: str | None = None,
        tool: str | None = None,
        run_id: str | None = None,
        since: float | None = None,
    ) -> list[AuditRecord]:
        """Lines of the audit log, newest first (POL-07).

        kind: `call`, `run`, `decision`, `change`, or a whole one such as `call.ended`. tool: source::tool, its bare
        name, or a source. since: seconds since the epoch.
        """
        return self.core.recorder.store.audit(AuditFilter(kind=kind, tool=tool, run_id=run_id, since=since), limit)

    def approvals(self) -> tuple[StandingApproval, ...]:
        """Every "always" that holds now: those of this runtime, then those of its project."""
        return self.core.approvals.all

    def revoke_approval(self, approval_id: str) -> bool:
        """Takes an "always" back, from the next call on; False when there is none of that id."""
        return self.core.asking.revoke(approval_id)

    def _level(self, level: LanguageLevel | None) -> str:
        profile = self.core.settings.profile
        return level or (profile.level if profile is not None else None) or "program"

    def _call_context(self, context: Mapping[str, Any] | None) -> Mapping[str, Any]:
        return context if context is not None else self.core.host_context


class Runtime(AsyncLibraries, AsyncPrompts, Face):
    """One tool runtime for coroutines. `async with Runtime(...) as rt`; keywords: see Face."""

    __doc__ = (__doc__ or "") + (Face.__doc__ or "")

    async def open(self) -> Runtime:
        """Reads the config, finds the tools. Async functions of the host will run on the present loop."""
        if self._core is None:
            loop = asyncio.get_running_loop()

            self._core = await asyncio.to_thread(opened, self._options, loop)
        return self

    async def close(self) -> tuple[str, ...]:
        """Ends runs, calls, threads and workers. Returns what did not end in time, in words."""
        core, self._core = self._core, None
        return await asyncio.to_thread(core.close) if core is not None else ()

    def __enter__(self) -> NoReturn:
        raise TypeError("Runtime is for coroutines: write `async with Runtime(...)`, or use SyncRuntime")

    def __exit__(self, *exc: object) -> None: ...

    async def __aenter__(self) -> Runtime:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def toolbox(self) -> AsyncToolbox:
        return AsyncToolbox(self.core.toolbox)

    async def ready(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109 - one surface with SyncRuntime
        """Waits until every source has answered or failed. True when all have."""
        return await asyncio.to_thread(self.core.ready, timeout)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        workspace: PathLike | None = None,
    ) -> ToolResult:
        """Calls one tool by any listed or qualified name; arguments as a dict or as JSON text.

        Never raises for what the call does: failures are in the result. context: host objects for this call, by the
        parameter that declares them (tool_context, lollms_client_instance, discussion_instance).
        workspace: an existing folder in which this call works, with all that it calls, instead of the runtime's own.
        """
        return await self.core.calls.call_async(name, arguments, self._call_context(context), workspace)

    async def run(
        self,
        text: str,
        *,
        params: Mapping[str, Any] | None = None,
        level: LanguageLevel | None = None,
        run_id: str | None = None,
        on_ask: OnAsk = "reject",
    ) -> RunResult:
        """Checks a program and runs it. Failures are in the result; cancelling the task cancels the run."""
        return await self.core.runs.run_async(
            text, params or {}, level=self._level(level), run_id=run_id, on_ask=on_ask
        )

    async def trust_tool(self, name: str) -> list[str]:
        """Accepts the definitions that are held under a name (source::tool, a tool's or a source's), as they are now.

        Returns how each differs from the one before. ToolNotFound when nothing is held under it (POL-06).
        """
        items = await asyncio.wrap_future(self.core.threads.submit(lambda: self.core.pins.accept(name)))
        return [item.difference for item in items]

    async def resume(self, run_id: str, answer: PersonsAnswer | Answer = "allow", *, reason: str = "") -> RunResult:
        """Lets a run go on that waits for a person (on_ask="wait"): its call runs, or is denied, and then the rest.

        answer: "allow", "reject", an Answer, or "ask": the call is decided anew, by policy, standing approvals and the
        confirm_handler as they are now, and waits on when that is nobody. Works in any process with the same
        store. SutlerError when the run does not wait, or cannot go on as things are.
        """
        return await asyncio.wrap_future(
            self.core.threads.submit(lambda: self.core.runs.resume(run_id, answer, reason))
        )


class AsyncToolbox:
    """The toolbox as coroutines use it: what asks a source is awaited, the rest is as in Toolbox."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    async def add_source(self, source: Any, precedence: float | None = None) -> None:
        await asyncio.to_thread(self._toolbox.add_source, source, precedence)

    async def format_description(self) -> str:
        return await asyncio.to_thread(self._toolbox.format_description)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._toolbox, name)


class SyncRuntime(SyncLibraries, SyncPrompts, Face):
    """The same runtime for threads, notebooks and hosts without a loop. `with SyncRuntime(...) as rt`."""

    __doc__ = (__doc__ or "") + (Face.__doc__ or "")

    def open(self) -> SyncRuntime:
        """Reads the config, finds the tools."""
        if self._core is None:
            self._core = opened(self._options, None)
        return self

    def close(self) -> tuple[str, ...]:
        """Ends runs, calls, threads and workers. Returns what did not end in time, in words."""
        core, self._core = self._core, None
        return core.close() if core is not None else ()

    def __enter__(self) -> SyncRuntime:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def toolbox(self) -> Toolbox:
        return self.core.toolbox

    def ready(self, timeout: float | None = None) -> bool:
        """Waits until every source has answered or failed. True when all have."""
        return self.core.ready(timeout)

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        workspace: PathLike | None = None,
    ) -> ToolResult:
        """As Runtime.call, blocking this thread. Inside a running loop it blocks that loop, and no other."""
        return self.core.calls.call(name, arguments, self._call_context(context), workspace)

    def run(
        self,
        text: str,
        *,
        params: Mapping[str, Any] | None = None,
        level: LanguageLevel | None = None,
        run_id: str | None = None,
        on_ask: OnAsk = "reject",
    ) -> RunResult:
        """As Runtime.run, blocking this thread."""
        return self.core.runs.run(text, params or {}, level=self._level(level), run_id=run_id, on_ask=on_ask)

    def trust_tool(self, name: str) -> list[str]:
        """As Runtime.trust_tool."""
        return [item.difference for item in self.core.pins.accept(name)]

    def resume(self, run_id: str, answer: PersonsAnswer | Answer = "allow", *, reason: str = "") -> RunResult:
        """As Runtime.resume, blocking this thread."""
        return self.core.runs.resume(run_id, answer, reason)
