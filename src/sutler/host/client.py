"""The client of a host, as tools get it in `lollms_client_instance` and `tool_context.client` (LCP-12).

Its methods stand in the modules beside this one: text.py, structured.py, media.py, knowledge.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from .. import calling
from .aio import Aio
from .bindings import MODALITIES, in_use
from .knowledge import Knowledge
from .media import Media
from .structured import Structured

if TYPE_CHECKING:
    from ..config import Config


class Client(Structured, Media, Knowledge):
    """One object over a host's models. Every method blocks; `client.aio` has the same ones for coroutines.

    Each keyword takes a binding, or {alias: binding} of which the first is in use and the others are taken by a switch.
    A binding is an object with the methods of its modality, or a callable for its main one, sync or async:

    llm: text; generate_text(prompt, ...), and generate_from_messages, embed, tokenize... where it has them.
    tti: generate_image(prompt, ...) -> bytes, edit_image. tts: generate_audio(text, ...) -> bytes.
    stt: transcribe_audio(audio, ...) -> str. ttv: generate_video, ttm: generate_music, each bytes or a path.
    rag: query(text, ...), add_text, add_document. connection: send_message(text, ...). embedder: embed(text), where
    another model does that than `llm`. OpenAIServer is all of them that an OpenAI-compatible server offers.
    tools: a tools binding. None: `client.tools` is the runtime whose tool uses it.

    A method whose modality is None raises ModelError, which is a RuntimeError, and names the modality.
    """

    def __init__(
        self,
        *,
        llm: Any = None,
        tti: Any = None,
        tts: Any = None,
        stt: Any = None,
        ttv: Any = None,
        ttm: Any = None,
        rag: Any = None,
        connection: Any = None,
        embedder: Any = None,
        tools: Any = None,
    ) -> None:
        super().__init__(
            {
                "llm": llm,
                "tti": tti,
                "tts": tts,
                "stt": stt,
                "ttv": ttv,
                "ttm": ttm,
                "rag": rag,
                "connection": connection,
                "embedder": embedder,
            }
        )
        self._tools, self._tools_aliases = in_use(tools, "tools")
        self._runtimes: WeakSet[Any] = WeakSet()

    @classmethod
    def from_config(cls, config: str | os.PathLike[str] | Config) -> Client:
        """A client over the [models.<name>] tables of a sutler.toml. ConfigError names file and line.

        A runtime without a client of its own makes one like this from its config.
        """
        from pathlib import Path

        from ..config import Config, load, user_config_file
        from .models import bindings_of

        if not isinstance(config, Config):
            path = Path(config)
            config = load(path, start=path.parent, user_file=user_config_file())
        return cls(**bindings_of(config.models.values()))

    def __repr__(self) -> str:
        held = {field: getattr(self, field) for field in MODALITIES}
        shown = [f"{field}={type(binding).__name__}" for field, binding in held.items() if binding is not None]
        if self._tools is not None:
            shown.append(f"tools={type(self._tools).__name__}")
        return f"<{type(self).__name__}: {', '.join(shown) or 'no bindings'}>"

    # ------------------------------------------------------------------ tools

    @property
    def tools(self) -> Any:
        """The client's tools binding; without one the runtime whose call this is, else the one that has this client.

        None when there is none, or when several runtimes have this client and none of them is calling.
        """
        if self._tools is not None:
            return self._tools
        call = calling.caller()
        if call is not None:
            return call.owner.client_tools
        known = list(self._runtimes)
        return known[0].client_tools if len(known) == 1 else None

    def attach_runtime(self, runtime: Any) -> list[str]:
        """A runtime says that its tools get this client; it is told the keys that it must mask."""
        self._runtimes.add(runtime)
        return [key for binding in self.all_bindings() for key in _secrets(binding)]

    def detach_runtime(self, runtime: Any) -> None:
        self._runtimes.discard(runtime)

    # ------------------------------------------------------------------ switching

    def switch_model(self, alias: str) -> bool:
        """Takes the text model of this alias into use, for everybody who has this client. False when there is none.

        What is under way goes on with the model it began with. The other switch_* do the same for theirs.
        """
        return self.switch("llm", alias)

    def switch_tti(self, alias: str) -> bool:
        return self.switch("tti", alias)

    def switch_tts(self, alias: str) -> bool:
        return self.switch("tts", alias)

    def switch_stt(self, alias: str) -> bool:
        return self.switch("stt", alias)

    def switch_ttv(self, alias: str) -> bool:
        return self.switch("ttv", alias)

    def switch_ttm(self, alias: str) -> bool:
        return self.switch("ttm", alias)

    def switch_rag(self, alias: str) -> bool:
        return self.switch("rag", alias)

    def switch_connection(self, alias: str) -> bool:
        return self.switch("connection", alias)

    def switch_tools(self, alias: str) -> bool:
        """The same for the tools binding."""
        binding = self._tools_aliases.get(alias)
        if binding is None:
            return False
        self._tools = binding
        return True

    mount_tools = switch_tools

    # ------------------------------------------------------------------

    @property
    def aio(self) -> Aio:
        """This client for coroutines: `await client.aio.generate_text(...)`."""
        return Aio(self)

    def close(self) -> None:
        """Ends the bindings that can be closed, the tools binding too."""
        super().close()
        for binding in {id(one): one for one in (self._tools, *self._tools_aliases.values())}.values():
            end = getattr(binding, "close", None)
            if callable(end):
                end()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _secrets(binding: Any) -> Iterable[str]:
    held: Any = getattr(binding, "secrets", ())
    return cast("Iterable[str]", held) if isinstance(held, frozenset | set | tuple | list) else ()
