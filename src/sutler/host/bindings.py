"""The bindings of a client: which there are, which is in use, and how one is asked (LCP-12)."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from .. import calling
from ..errors import ModelError


@dataclass(frozen=True, slots=True)
class Modality:
    """label: what an error calls it. main: the method that a binding which is a plain callable stands for.

    kind: what [models.<name>] calls it, "" where no server of ours offers it.
    """

    label: str
    main: str
    kind: str = ""


MODALITIES: Mapping[str, Modality] = {
    "llm": Modality("LLM (text)", "generate_text", "text"),
    "tti": Modality("TTI (image)", "generate_image", "image"),
    "tts": Modality("TTS (speech)", "generate_audio", "speech"),
    "stt": Modality("STT (transcription)", "transcribe_audio", "transcription"),
    "ttv": Modality("TTV (video)", "generate_video"),
    "ttm": Modality("TTM (music)", "generate_music"),
    "rag": Modality("RAG", "query"),
    "connection": Modality("connection", "send_message"),
    "embedder": Modality("embedding", "embed", "embedding"),
}


class Bindings:
    """Holds one binding in use for each modality, None when there is none, and those that a switch may take instead."""

    llm: Any
    tti: Any
    tts: Any
    stt: Any
    ttv: Any
    ttm: Any
    rag: Any
    connection: Any
    embedder: Any

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._aliases: dict[str, Mapping[str, Any]] = {}
        for field in MODALITIES:
            binding, self._aliases[field] = in_use(given.get(field), field)
            setattr(self, field, binding)
        self._loop: Any = None
        self._lock = threading.Lock()

    def switch(self, field: str, alias: str) -> bool:
        """Takes the binding of this alias into use, for everybody who has this client. False when there is none."""
        binding = self._aliases[field].get(alias)
        if binding is None:
            return False
        setattr(self, field, binding)
        return True

    def alias(self, field: str, alias: str) -> Any:
        """The binding of this alias. ModelError names those there are."""
        binding = self._aliases[field].get(alias)
        if binding is None:
            known = ", ".join(self._aliases[field]) or "none"
            raise ModelError(f"no {MODALITIES[field].label} binding goes by {alias!r}; there are: {known}")
        return binding

    def need(self, field: str, what: str) -> Any:
        """The binding in use. ModelError, a RuntimeError, names the modality when there is none."""
        binding = getattr(self, field)
        if binding is not None:
            return binding
        kind = MODALITIES[field].kind
        table = f", or a [models.<name>] table of kind {kind!r} in sutler.toml" if kind else ""
        raise ModelError(
            f"{MODALITIES[field].label} binding not initialized: {what} needs one; give the client {field}=...{table}"
        )

    def ask(
        self,
        field: str,
        method: str,
        *args: Any,
        options: Mapping[str, Any] | None = None,
        what: str = "",
        binding: Any = None,
    ) -> Any:
        """What the binding's `method` gives. Options that are None are left to the binding.

        A callable stands for the main method of its modality. ModelError says what a binding has not, or does not take.
        """
        what = what or method
        binding = self.need(field, what) if binding is None else binding
        given = {name: value for name, value in (options or {}).items() if value is not None}
        target = getattr(binding, method, None)
        if not callable(target) and callable(binding) and method == MODALITIES[field].main:
            target = binding
        if not callable(target):
            raise ModelError(
                f"the {MODALITIES[field].label} binding has no {method}, which {what} needs: {_name(binding)}"
            )
        if problem := _does_not_take(target, args, given):
            raise ModelError(
                f"{what}: the {MODALITIES[field].label} binding {_name(binding)} takes no such call: {problem}"
            )
        value = target(*args, **given)
        return self._settled(value) if inspect.isawaitable(value) else value

    def offers(self, field: str, method: str) -> bool:
        """Whether the binding in use has this method of its own."""
        return callable(getattr(getattr(self, field), method, None))

    def _settled(self, value: Awaitable[Any]) -> Any:
        """Waits for an async binding: on its host's loop when a tool asks, else on a loop of the client's own."""
        call = calling.caller()
        try:
            if call is not None:
                return call.owner.await_on_host(value)
            from ..workspace.loops import LoopThread

            with self._lock:
                if self._loop is None:
                    self._loop = LoopThread("sutler-client")
            return self._loop.submit(lambda: value).result()
        except BaseException:
            if inspect.iscoroutine(value):
                value.close()  # it may never have begun
            raise

    def close(self) -> None:
        """Ends what the client itself holds, and its bindings that can be closed."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()
        for binding in self.all_bindings():
            end = getattr(binding, "close", None)
            if callable(end) and not inspect.iscoroutinefunction(end):
                end()

    def all_bindings(self) -> list[Any]:
        """Each binding once, those not in use included."""
        found = {id(one): one for aliases in self._aliases.values() for one in aliases.values()}
        found |= {id(one): one for field in MODALITIES if (one := getattr(self, field)) is not None}
        return list(found.values())


def in_use(given: Any, field: str) -> tuple[Any, Mapping[str, Any]]:
    """A keyword of a client: one binding, or {alias: binding} of which the first is in use."""
    if not isinstance(given, Mapping):
        return given, {}
    aliases = dict(cast("Mapping[str, Any]", given))
    if wrong := [alias for alias, binding in aliases.items() if binding is None]:
        raise ModelError(f"{field}: the binding of {wrong[0]!r} is None")
    return next(iter(aliases.values()), None), aliases


def _does_not_take(target: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):  # no signature to be read
        return ""
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        return str(error)
    return ""


def _name(binding: Any) -> str:
    return getattr(binding, "__qualname__", None) or type(binding).__qualname__
