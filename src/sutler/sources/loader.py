"""Loads a library when one of its tools is first called, once, and calls its hooks (RUN-03, RUN-04, LCP-06, SCH-07).

One `LibraryLoader` per library and runtime, used from any thread and any loop. Whoever calls first loads; whoever comes
meanwhile waits. A load that fails leaves nothing behind, so the next call tries again from the file as it is then.
"""

from __future__ import annotations

import importlib
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from ..errors import ToolUnavailable
from .bound import Bound
from .faults import load_failure
from .modules import created

Config = Mapping[str, Any]

# The loads under way in this context: an init that calls a tool of its own library must not wait for itself.
_under_way: ContextVar[frozenset[_Load]] = ContextVar("sutler_loads_under_way", default=frozenset())


class Package(Protocol):
    """What a loader asks of the modules of one directory."""

    def import_file(self, file: Path) -> ModuleType: ...
    def forget(self, names: Sequence[str]) -> None: ...
    def keep(self, name: str) -> None: ...
    def stale(self) -> list[str]: ...
    def edited(self) -> frozenset[str]: ...


class Modules(Protocol):
    def package(self, directory: Path) -> Package: ...


class _Interrupted(Exception):
    """The load was given up by Ctrl-C or by cancelling its call; those who wait try themselves."""


class _Load:
    """One attempt at one file. `module` is there as soon as it is imported, `what` says what is being done."""

    __slots__ = ("awaited", "created", "file", "future", "module", "version", "what")

    def __init__(self, file: Path, version: int) -> None:
        self.file = file
        self.version = version
        self.future: Future[ModuleType] = Future()
        self.future.set_running_or_notify_cancel()  # a waiter that is cancelled must not cancel the load
        self.module: ModuleType | None = None
        self.what = "import"
        self.awaited = False
        self.created: list[str] = []


class _Ready:
    __slots__ = ("functions", "module", "version")

    def __init__(self, module: ModuleType, version: int) -> None:
        self.module = module
        self.version = version
        self.functions: dict[str, Bound] = {}


class LibraryLoader:
    """The modules of one library in one runtime.

    stem: the library's name. configs: the host's configs by stem (LCP-05): a file takes the entry of its own stem, else
    the library's, else {}. It gets a copy of its containers, with the handlers and the autonomy_level added where
    absent. may_load(file) raises ToolUnavailable for a file that must not be imported any more.
    """

    def __init__(
        self,
        *,
        stem: str,
        directory: Path,
        modules: Modules,
        configs: Mapping[str, Config] | None = None,
        confirm_handler: Callable[..., Any] | None = None,
        user_interaction_handler: Callable[..., Any] | None = None,
        autonomy_level: str | None = None,
        may_load: Callable[[Path], None] | None = None,
    ) -> None:
        self.stem = stem
        self.directory = directory
        self._modules = modules
        self._configs = _copied(configs or {})
        self._level = autonomy_level
        self._may_load = may_load
        self._handlers = {"confirm_handler": confirm_handler, "user_interaction_handler": user_interaction_handler}
        self._lock = threading.Lock()
        self._ready: dict[Path, _Ready] = {}
        self._loads: dict[Path, _Load] = {}
        self._failed: set[Path] = set()
        self._version = 0

    # ------------------------------------------------------------------ what the host changes

    def config(self, file: Path) -> dict[str, Any]:
        """What init_tools_library of `file` is given."""
        entry = self._configs.get(file.stem, self._configs.get(self.stem, {}))
        given = _copied(entry)
        for name, handler in self._handlers.items():
            if handler is not None:
                given.setdefault(name, handler)
        if self._level is not None:
            given.setdefault("autonomy_level", self._level)
        return given

    def configure(self, configs: Mapping[str, Config]) -> bool:
        """New configs by stem. A file whose own changed runs its init again at its next call; True if there is any."""
        with self._lock:
            before = {file: self.config(file) for file in self._ready}
            self._configs = _copied(configs)
            changed = [file for file, old in before.items() if not same(old, self.config(file))]
            self._version += 1
            for file, ready in self._ready.items():
                if file not in changed and ready.version == self._version - 1:
                    ready.version = self._version
        return bool(changed)

    def edited(self) -> frozenset[str]:
        """Top names of the modules it has loaded from files that are others now; none before the first load."""
        return self._modules.package(self.directory).edited() if self._ready else frozenset()

    @property
    def handlers(self) -> list[str]:
        """The names of the handlers that the host has given."""
        return [name for name, handler in self._handlers.items() if handler is not None]

    def set_confirm_handler(self, handler: Callable[..., Any] | None) -> None:
        self.swap("confirm_handler", handler)

    def set_user_interaction_handler(self, handler: Callable[..., Any] | None) -> None:
        self.swap("user_interaction_handler", handler)

    def swap(self, name: str, handler: Callable[..., Any] | None) -> None:
        """Another handler, by its name, for what is loaded and what will be."""
        self._handlers[name] = handler
        for ready in list(self._ready.values()):
            setter = getattr(ready.module, f"set_{name}", None)
            if callable(setter):
                setter(handler)
            elif hasattr(ready.module, f"_{name.upper()}"):
                setattr(ready.module, f"_{name.upper()}", handler)

    def close(self) -> None:
        """Forget the modules of the files that were loaded; a later call imports them afresh."""
        with self._lock:
            ready, self._ready = list(self._ready.values()), {}
        if ready:
            self._modules.package(self.directory).forget([one.module.__name__ for one in ready])

    # ------------------------------------------------------------------ loading

    def load(self, file: Path) -> ModuleType:
        """The module of `file`, imported and initialized. ToolUnavailable names file, line and cause."""
        while True:
            ready = self._ready.get(file)
            if ready is not None and ready.version == self._version:
                return ready.module
            load, mine = self._claim(file)
            if not mine:
                if load in _under_way.get():
                    return _half_loaded(load)
                try:
                    return load.future.result()
                except _Interrupted:
                    continue
                except ToolUnavailable as error:
                    raise _again(error) from error.__cause__
            token = _under_way.set(_under_way.get() | {load})
            try:
                waiting = self._begin(load)
                if waiting is not None:
                    _run_to_end(waiting)
                return self._done(load)
            except BaseException as error:
                if _is_ctrl_c(error):
                    self._undo(load, _Interrupted())
                    raise
                raise self._failed_with(load, error) from error
            finally:
                _under_way.reset(token)

    async def aload(self, file: Path) -> ModuleType:
        """`load` for async tools: an async init is awaited right here, on the loop that the tools run on."""
        import asyncio

        while True:
            ready = self._ready.get(file)
            if ready is not None and ready.version == self._version:
                return ready.module
            load, mine = self._claim(file)
            if not mine:
                if load in _under_way.get():
                    return _half_loaded(load)
                try:
                    return await asyncio.wrap_future(load.future)
                except _Interrupted:
                    continue
                except ToolUnavailable as error:
                    raise _again(error) from error.__cause__
            token = _under_way.set(_under_way.get() | {load})
            try:
                waiting = self._begin(load)
                if waiting is not None:
                    load.awaited = True
                    await waiting
                return self._done(load)
            except BaseException as error:
                cancelled = load.awaited and isinstance(error, asyncio.CancelledError | GeneratorExit)
                if cancelled or _is_ctrl_c(error):
                    self._undo(load, _Interrupted())
                    raise
                raise self._failed_with(load, error) from error
            finally:
                _under_way.reset(token)

    def _claim(self, file: Path) -> tuple[_Load, bool]:
        with self._lock:
            load = self._loads.get(file)
            if load is not None:
                return load, False
            load = self._loads[file] = _Load(file, self._version)
            return load, True

    def _begin(self, load: _Load) -> Awaitable[Any] | None:
        """Import and run the hooks. What is returned has still to be awaited: an async init."""
        package = self._modules.package(self.directory)
        ready = self._ready.get(load.file)
        if ready is None and self._may_load is not None:
            self._may_load(load.file)
        if load.file in self._failed:
            importlib.invalidate_caches()  # what was missing may have been installed since
            stale = package.stale()
            package.forget(stale)
            if ready is not None and ready.module.__name__ in stale:
                ready = None
        if ready is not None:
            load.module = ready.module
        else:
            token = created.set(load.created)
            try:
                load.module = package.import_file(load.file)
            finally:
                created.reset(token)
        config = self.config(load.file)
        for name in ("confirm_handler", "user_interaction_handler"):
            setter = getattr(load.module, f"set_{name}", None)
            if callable(setter) and config.get(name) is not None:
                load.what = f"set_{name}"
                setter(config[name])
        init = getattr(load.module, "init_tools_library", None)
        if not callable(init):
            return None
        load.what = "init_tools_library"
        result = init(config) if _takes_one(init) else init()
        return result if inspect.isawaitable(result) else None

    def _done(self, load: _Load) -> ModuleType:
        module = load.module
        assert module is not None
        with self._lock:
            self._ready[load.file] = _Ready(module, load.version)
            self._failed.discard(load.file)
            self._loads.pop(load.file, None)
        self._modules.package(self.directory).keep(module.__name__)
        load.future.set_result(module)
        return module

    def _undo(self, load: _Load, outcome: Exception) -> None:
        """Leave nothing of the attempt behind, and wake those who wait with `outcome`."""
        self._modules.package(self.directory).forget(load.created)
        with self._lock:
            self._failed.add(load.file)
            self._loads.pop(load.file, None)
        load.future.set_exception(outcome)

    def _failed_with(self, load: _Load, error: BaseException) -> ToolUnavailable:
        failure = load_failure(load.file, load.what, error, self.directory)
        self._undo(load, failure)
        return failure

    # ------------------------------------------------------------------ calling

    def runner(self, file: Path, name: str, *, where: str = "", is_async: bool = False) -> Callable[..., Any]:
        """What runs the tool `name` of `file`: takes keyword arguments only, loads the library at its first call.

        A coroutine function when is_async. A sync one may still give an awaitable, when the tool itself does.
        """
        if is_async:

            async def call_async(**arguments: Any) -> Any:
                await self.aload(file)
                result = self._bound(file, name, where)(arguments)
                return await result if inspect.isawaitable(result) else result

            return _named(call_async, name)

        def call(**arguments: Any) -> Any:
            self.load(file)
            return self._bound(file, name, where)(arguments)

        return _named(call, name)

    def _bound(self, file: Path, name: str, where: str) -> Bound:
        ready = self._ready.get(file)
        load = self._loads.get(file)
        module = ready.module if ready is not None else load.module if load is not None else None
        fn = getattr(module, name, None)
        if not callable(fn):
            found = "did not define it" if fn is None else f"made it a {type(fn).__name__}, which cannot be called"
            raise ToolUnavailable(
                f"{name} is written at {where or file}, but importing {file} {found}"
                " (it may be defined only under a condition, or be replaced or deleted further down)"
            )
        bound = ready.functions.get(name) if ready is not None else None
        if bound is None or bound.fn is not fn:
            bound = Bound(fn)
            if ready is not None:
                ready.functions[name] = bound
        return bound


# ---------------------------------------------------------------------- helpers


def _named(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    call.__name__ = call.__qualname__ = name
    return call


def _is_ctrl_c(error: BaseException) -> bool:
    """Ctrl-C reaches only the main thread; elsewhere the library itself raised KeyboardInterrupt."""
    return isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def _half_loaded(load: _Load) -> ModuleType:
    if load.module is None:
        raise ToolUnavailable(f"{load.file}: the library calls its own tool while it is being imported")
    return load.module


def _again(error: ToolUnavailable) -> ToolUnavailable:
    """The same failure for another caller: one exception object must not be raised in two threads."""
    return ToolUnavailable(str(error), traceback=error.traceback)


def _takes_one(init: Callable[..., Any]) -> bool:
    try:
        inspect.signature(init).bind({})
    except TypeError:
        return False
    except ValueError:  # no signature to be read
        return True
    return True


def _run_to_end(waiting: Awaitable[Any]) -> None:
    """Await on a loop of its own; in a thread of its own when this one has a running loop."""
    import asyncio

    async def finish() -> None:
        await waiting

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(finish())
        return
    outcome: Future[None] = Future()

    def run(coroutine: Coroutine[Any, Any, None]) -> None:
        try:
            outcome.set_result(asyncio.run(coroutine))
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=copy_context().run, args=(run, finish()), name="sutler-init", daemon=True)
    thread.start()
    outcome.result()


def _copied(value: Any) -> Any:
    """Fresh dicts and lists all the way down; everything else (handlers, clients) as it is."""
    if isinstance(value, Mapping):
        return {key: _copied(held) for key, held in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if type(value) is list:
        return [_copied(held) for held in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def same(one: Any, other: Any) -> bool:
    """Whether two configs are equal."""
    try:
        return bool(one == other)
    except Exception:  # an exotic value that cannot be compared counts as changed
        return False
