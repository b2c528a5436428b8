"""LollmsClient: the host's client under the document's name and with the document's keywords (LCP-12, LCP-10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..closest import closest
from ..errors import ModelError
from ..host import Client, OpenAIServer
from ..host.bindings import MODALITIES

_OPENAI = "https://api.openai.com/v1"
# How LCP hosts spell what OpenAIServer takes.
_SPELLED = {"host_address": "base_url", "model_name": "model", "service_key": "api_key"}
_TOOLS = ("lcp", "mcp")
_KEYWORDS = (*MODALITIES, "tools")


class LollmsClient(Client):
    """A client that is built by names, as LCP hosts do, beside the plain keywords of `sutler.host.Client`.

    tools_binding_name: "lcp" or "mcp"; `client.tools` is then an LCPBinding or an MCPBinding made with
    tools_binding_config, and the tools of the former are given this client.
    <llm|tti|tts|stt|embedder>_binding_name: "openai", any server that speaks its API; the config takes base_url, model,
    api_key, timeout, vision, ctx_size (also host_address, model_name, service_key). Every other binding is an object or
    a callable of the host's: llm=..., ttm=...
    ModelError names a binding that there is not, with the closest.
    """

    def __init__(
        self,
        llm_binding_name: str | None = None,
        *,
        tti_binding_name: str | None = None,
        tts_binding_name: str | None = None,
        stt_binding_name: str | None = None,
        embedder_binding_name: str | None = None,
        tools_binding_name: str | None = None,
        llm_binding_config: Mapping[str, Any] | None = None,
        tti_binding_config: Mapping[str, Any] | None = None,
        tts_binding_config: Mapping[str, Any] | None = None,
        stt_binding_config: Mapping[str, Any] | None = None,
        embedder_binding_config: Mapping[str, Any] | None = None,
        tools_binding_config: Mapping[str, Any] | None = None,
        **bindings: Any,
    ) -> None:
        named = {
            "llm": (llm_binding_name, llm_binding_config),
            "tti": (tti_binding_name, tti_binding_config),
            "tts": (tts_binding_name, tts_binding_config),
            "stt": (stt_binding_name, stt_binding_config),
            "embedder": (embedder_binding_name, embedder_binding_config),
        }
        for field, (name, config) in named.items():
            if name is not None:
                if bindings.get(field) is not None:
                    raise ModelError(f"{field} and {field}_binding_name exclude each other")
                bindings[field] = _server(field, name, config or {})
            elif config is not None:
                raise ModelError(f"{field}_binding_config is given without {field}_binding_name")
        if tools_binding_name is None and tools_binding_config is not None:
            raise ModelError("tools_binding_config is given without tools_binding_name: write 'lcp' or 'mcp'")
        for keyword in bindings:
            if keyword not in _KEYWORDS:
                raise _no_keyword(keyword)
        super().__init__(**bindings)
        if tools_binding_name is not None:
            self.update_tools_binding(tools_binding_name, tools_binding_config)

    def update_tools_binding(self, binding_name: str, config: Mapping[str, Any] | None = None) -> None:
        """Puts a tools binding, "lcp" or "mcp", in place of the one there is, which is closed."""
        made = self._tools_binding(binding_name, dict(config or {}))
        before, self._tools = self._tools, made
        if hasattr(before, "close"):
            before.close()

    def _tools_binding(self, name: str, config: dict[str, Any]) -> Any:
        match name.lower():
            case "lcp":
                from .binding import LCPBinding

                keywords: dict[str, Any] = {"client": self, **config}
                return LCPBinding(**keywords)
            case "mcp":
                from .mcp import MCPBinding

                return MCPBinding(**config)
            case _:
                raise ModelError(f"there is no tools binding {name!r}{_hint(name, _TOOLS)}")


def _no_keyword(keyword: str) -> Exception:
    """The error for a keyword that there is not: of a modality that has no binding of ours, or misspelt."""
    field = keyword.partition("_binding_")[0]
    if field != keyword and field in _KEYWORDS:
        return ModelError(f"there is no {keyword}: a {field} binding is given as an object or a callable, {field}=...")
    return TypeError(f"LollmsClient takes no {keyword!r}{_hint(keyword, _KEYWORDS)}")


def _server(field: str, name: str, config: Mapping[str, Any]) -> OpenAIServer:
    if name.lower() != "openai":
        raise ModelError(
            f"there is no {field} binding {name!r}{_hint(name, ('openai',))}, which is any server that speaks that API;"
            f" every other binding is given as an object or a callable: {field}=..."
        )
    given: dict[str, Any] = {_SPELLED.get(key, key): value for key, value in config.items()}
    known = ("base_url", "model", "api_key", "timeout", "vision", "ctx_size")
    for key in given:
        if key not in known:
            raise ModelError(f"{field}_binding_config: unknown key {key!r}{_hint(key, known)}")
    return OpenAIServer(given.pop("base_url", _OPENAI), **given)


def _hint(word: str, known: tuple[str, ...]) -> str:
    meant = closest(word, known)
    return f"; did you mean {meant!r}?" if meant else f"; there are: {', '.join(known)}"
