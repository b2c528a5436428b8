"""A library in a worker process: the same loader, with the host's handlers and objects as proxies (LCP-16).

The host side turns what it would inject into plain marks (`outgoing`), the child turns marks into proxies. A proxy asks
by name: confirm_handler(source, script_label, argv), user_interaction_handler(request), emit_progress(text, fraction),
call_tool(name, arguments), and object(parameter, path, args, kwargs) for client and discussion, which the host answers
with `answer_for_object`. What cannot cross is refused with the parameter's name.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .. import calling
from ..errors import ToolUnavailable
from ..results import Read, read_value
from .aliases import install_aliases
from .loader import LibraryLoader
from .modules import PrivateModules

if TYPE_CHECKING:
    from ..workspace.worker_main import Host

ENTRY = f"{__name__}:worker_entry"
CODE_ENTRY = f"{__name__}:code_entry"
HANDLERS = ("confirm_handler", "user_interaction_handler")
OBJECTS = ("lollms_client_instance", "discussion_instance")
INJECTED = (*OBJECTS, "user_interaction_handler", "tool_context")
_MARK = "$sutler_host"


def worker_entry(payload: Mapping[str, Any], host: Host) -> Callable[[str, Mapping[str, Any]], Any]:
    """Serve one library in this process.

    payload: stem, directory, tools {name: [file, function]}, configs by stem, handlers (those the host has), aliases
    (whether the host has the names of lollms_client).
    The handle takes a tool's name and its arguments, marks included; `@configure` takes new configs and handlers,
    `@prompt` the file and name of a prompt provider.
    """
    _as_in_the_host(payload)
    handlers = {name: _handler(name, host) for name in HANDLERS if name in payload["handlers"]}
    loader = LibraryLoader(
        stem=payload["stem"],
        directory=Path(payload["directory"]),
        modules=PrivateModules(),
        configs=_configs(payload["configs"], host),
        autonomy_level=payload["autonomy_level"],
        **handlers,
    )
    runners = {
        name: loader.runner(Path(file), function, where=file) for name, (file, function) in payload["tools"].items()
    }
    loop = _Loop()
    calling.current.set(_Call(host))

    def handle(method: str, arguments: Mapping[str, Any]) -> Any:
        if method == "@configure":
            for name in HANDLERS:
                loader.swap(name, _handler(name, host) if name in arguments["handlers"] else None)
            return loader.configure(_configs(arguments["configs"], host))
        if method == "@prompt":
            value = loader.runner(Path(arguments["file"]), arguments["name"])()
            return loop.run(value) if inspect.isawaitable(value) else value
        if method not in runners:
            raise ToolUnavailable(f"library {payload['stem']} has no tool {method} in this worker process")
        # Only what the host injects is looked at: a mark in a model's own argument stays the plain dict that it is.
        given = {name: _incoming(value, host) if name in INJECTED else value for name, value in arguments.items()}
        value = runners[method](**given)
        return answer(loop.run(value) if inspect.isawaitable(value) else value)

    return handle


def code_entry(payload: Mapping[str, Any], host: Host) -> Callable[[str, Mapping[str, Any]], Any]:
    """Serve the tools of one text in this process. payload: prefix, text."""
    from .code import CodeToolSource

    _as_in_the_host(payload)
    source = CodeToolSource()
    source.register(payload["prefix"], payload["text"])
    specs = {spec.name: spec for spec in source.discover()}
    loop = _Loop()

    def handle(method: str, arguments: Mapping[str, Any]) -> Any:
        given = {name: _incoming(value, host) if name in INJECTED else value for name, value in arguments.items()}
        value = source.resolve(specs[method])(**given)
        return answer(loop.run(value) if inspect.isawaitable(value) else value)

    return handle


def _as_in_the_host(payload: Mapping[str, Any]) -> None:
    if payload.get("aliases"):
        install_aliases()


def answer(value: Any) -> dict[str, Any]:
    """A tool's value, read here, for the host (`answered`)."""
    read = read_value(value)
    return {"plain": read.plain, "notes": list(read.notes), "mapping": read.mapping}


def answered(reply: Mapping[str, Any]) -> Read:
    """What `answer` gave, in the host."""
    return Read(reply["plain"], tuple(reply["notes"]), reply["mapping"])


class _Loop:
    """One event loop for all async tools of the worker, made when the first comes: what they open stays usable."""

    def __init__(self) -> None:
        self._runner: Any = None

    def run(self, value: Awaitable[Any]) -> Any:
        import asyncio

        async def wait() -> Any:
            return await value

        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(wait())


# ---------------------------------------------------------------------- the host's side


def outgoing(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for a worker: what the host injected becomes marks. ToolUnavailable names what cannot cross."""
    sent = dict(arguments)
    for name in INJECTED:
        if name in sent:
            sent[name] = _outgoing(name, sent[name])
    return sent


def _outgoing(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "user_interaction_handler" and callable(value):
        return {_MARK: name}
    if name in OBJECTS:
        return {_MARK: "object", "parameter": name, "plain": _plain_attributes(value)}
    if callable(getattr(value, "emit_progress", None)) and callable(getattr(value, "call_tool", None)):
        return {
            _MARK: name,
            "workspace": str(getattr(value, "workspace", "")),
            "client": _outgoing(OBJECTS[0], getattr(value, "client", None)),
            "discussion": _outgoing(OBJECTS[1], getattr(value, "discussion", None)),
        }
    if _is_plain(value):
        return value
    raise ToolUnavailable(
        f"the parameter `{name}` holds a {type(value).__qualname__}, which cannot reach a worker process"
        " (give plain data, or run the library in a thread)"
    )


def answer_for_object(target: Any, path: list[str], args: list[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a proxy in the child asked of the client or the discussion: the call of a public method, at any depth."""
    for name in path:
        if name.startswith("_"):
            raise ToolUnavailable(f"a tool in a worker process may not reach the private name {name!r}")
        target = getattr(target, name)
    return target(*args, **kwargs)


def _plain_attributes(value: Any) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for kind in reversed(type(value).__mro__):  # what is plain there is no property: nothing of it runs
        held.update(vars(kind))
    held.update(getattr(value, "__dict__", {}))
    return {name: one for name, one in held.items() if not name.startswith("_") and _is_plain(one)}


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def outgoing_configs(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Configs as they go to a worker: handlers become marks; what else is not plain is refused with its key."""
    sent: dict[str, dict[str, Any]] = {}
    for stem, config in configs.items():
        sent[stem] = {}
        for key, value in config.items():
            if key in HANDLERS and callable(value):
                sent[stem][key] = {_MARK: key}
            elif _is_plain(value):
                sent[stem][key] = value
            else:
                raise ToolUnavailable(
                    f"host_tool_configs.{stem}.{key} holds a {type(value).__qualname__}, which cannot reach a worker"
                    " process (give plain data, or run the library in a thread)"
                )
    return sent


# ---------------------------------------------------------------------- the child's side


def _configs(configs: Mapping[str, Mapping[str, Any]], host: Host) -> dict[str, dict[str, Any]]:
    return {
        stem: {key: _incoming(value, host) if key in HANDLERS else value for key, value in config.items()}
        for stem, config in configs.items()
    }


def _incoming(value: Any, host: Host) -> Any:
    """The proxy for a mark; any other value is plain data of the host's and stays."""
    if not isinstance(value, dict):
        return value
    held = cast("dict[str, Any]", value)
    match held.get(_MARK):
        case None:
            return held
        case "tool_context":
            return WorkerContext(
                client=_incoming(held["client"], host),
                discussion=_incoming(held["discussion"], host),
                workspace=Path(held["workspace"]),
                emit_progress=_progress(host),
                call_tool=_tool_call(host),
            )
        case "object":
            return RemoteObject(host, held["parameter"], held["plain"])
        case name:
            return _handler(name, host)


def _progress(host: Host) -> Callable[..., Any]:
    def emit_progress(text: object, fraction: float | None = None) -> Any:
        return host.request("emit_progress", {"text": str(text), "fraction": fraction})

    return emit_progress


def _tool_call(host: Host) -> Callable[..., Any]:
    def call_tool(name: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> Any:
        result = host.request("call_tool", {"name": name, "arguments": {**(arguments or {}), **more}})
        return _Answer(cast("dict[str, Any]", result)) if isinstance(result, dict) else result

    return call_tool


class _Answer(dict[str, Any]):
    """The wrapper of a nested call, for tools of both kinds: an async one awaits it, and gets a plain dict."""

    def __await__(self) -> Generator[None, None, dict[str, Any]]:
        return dict(self)
        yield  # makes this a generator, as `await` wants


def _handler(name: str, host: Host) -> Callable[..., Any]:
    if name == "confirm_handler":

        def confirm(source: str, script_label: str = "", argv: list[Any] | None = None) -> tuple[str, str]:
            answer = host.request(name, {"source": source, "script_label": script_label, "argv": argv})
            return tuple(answer)

        return confirm

    def ask(request: Mapping[str, Any]) -> Any:
        return host.request(name, {"request": dict(request)})

    return ask


class _Call:
    """The present call, for what a library opens inside the worker: its person is the host's."""

    def __init__(self, host: Host) -> None:
        self.owner = self
        self.at_close: list[Callable[[], object]] = []  # never called: everything here ends with the process
        self.library_confirm = _handler("confirm_handler", host)

    def remaining(self) -> float:
        return math.inf  # the host ends the process when its time has passed


class WorkerContext(Mapping[str, Any]):
    """The host's `tool_context`, by attribute and as a mapping, in a worker process."""

    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"tool_context has no {name!r}; it has {', '.join(self)}")

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __len__(self) -> int:
        return len(self.__dict__)


class RemoteObject:
    """The host's client or discussion: plain attributes as at the begin of the call, methods called in the host."""

    def __init__(self, host: Host, parameter: str, plain: Mapping[str, Any], path: tuple[str, ...] = ()) -> None:
        self._host = host
        self._parameter = parameter
        self._path = path
        self.__dict__.update(plain)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{self._parameter} in a worker process has no private name {name!r}")
        return RemoteObject(self._host, self._parameter, {}, (*self._path, name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        path = [name for name in self._path if name != "aio"]
        answer = self._host.request(
            "object", {"parameter": self._parameter, "path": path, "args": list(args), "kwargs": kwargs}
        )
        return _given(answer) if len(path) < len(self._path) else answer


async def _given(answer: Any) -> Any:
    """For `await client.aio.method()`: the worker serves one call at a time, so nobody waits meanwhile."""
    return answer
