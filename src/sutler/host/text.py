"""Text: generation, tools in the loop, embeddings, counting, and what models there are (LCP-12)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from ..errors import ModelError
from .answers import pieces, table_of
from .bindings import Bindings

Message = Mapping[str, Any]
Streaming = Callable[..., Any]


class Text(Bindings):
    """What a client does with its `llm`."""

    def generate_text(
        self,
        prompt: str,
        images: Sequence[Any] | None = None,
        system_prompt: str | None = "",
        n_predict: int | None = None,
        *,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        repeat_penalty: float | None = None,
        seed: int | None = None,
        streaming_callback: Streaming | None = None,
        **options: Any,
    ) -> str:
        """The model's answer to a prompt.

        images: paths, bytes, base64 texts or URLs. n_predict: tokens at the most. streaming_callback(text) is told each
        piece as it comes, and ends the answer by giving False. options: whatever else the binding takes.
        """
        return self._text(
            "generate_text",
            self.ask(
                "llm",
                "generate_text",
                prompt,
                options={
                    "images": list(images) if images else None,
                    "system_prompt": system_prompt or None,
                    "n_predict": n_predict,
                    "temperature": temperature,
                    "top_k": top_k,
                    "top_p": top_p,
                    "repeat_penalty": repeat_penalty,
                    "seed": seed,
                    "streaming_callback": streaming_callback,
                    **options,
                },
            ),
        )

    def generate(self, prompt: str, *args: Any, **options: Any) -> str:
        """generate_text under its other name."""
        return self.generate_text(prompt, *args, **options)

    def generate_from_messages(self, messages: Sequence[Message], n_predict: int | None = None, **options: Any) -> str:
        """The answer to messages of role system, user and assistant. A plain callable gets them as one prompt."""
        self.need("llm", "generate_from_messages")
        if self.offers("llm", "generate_from_messages"):
            more = {"n_predict": n_predict, **options}
            answer = self.ask("llm", "generate_from_messages", list(messages), options=more)
            return self._text("generate_from_messages", answer)
        system = "\n\n".join(_words(one) for one in messages if one.get("role") == "system")
        spoken = [one for one in messages if one.get("role") != "system"]
        if len(spoken) == 1:
            prompt = _words(spoken[0])
        else:
            prompt = "\n\n".join(f"{one.get('role', 'user')}: {_words(one)}" for one in spoken) + "\n\nassistant:"
        return self.generate_text(prompt, system_prompt=system, n_predict=n_predict, **options)

    def generate_with_tools(
        self,
        prompt: str,
        tools: Sequence[str | Mapping[str, Any]],
        system_prompt: str = "",
        temperature: float | None = None,
        n_predict: int | None = None,
        max_tool_rounds: int = 10,
        auto_execute: bool = True,
        **options: Any,
    ) -> dict[str, Any]:
        """Lets the model call tools, then answer: {response, tool_calls, tool_results, rounds}.

        tools: names of `client.tools`, or {name, description, input_schema} with or without a `callable`. Each call of
        one without a callable goes through `client.tools`, its gate and its limits. auto_execute=False gives the calls
        back unmade. The binding must be one that calls tools: OpenAIServer, or an object with `chat`.
        """
        self.need("llm", "generate_with_tools")
        offered = self._offered(tools)
        messages: list[dict[str, Any]] = [{"role": "system", "content": system_prompt}] if system_prompt else []
        messages.append({"role": "user", "content": prompt})
        done: dict[str, Any] = {"response": "", "tool_calls": [], "tool_results": [], "rounds": 0}
        schemas = [{"type": "function", "function": _function(tool)} for tool in offered.values()]
        while True:
            message = self.ask(
                "llm",
                "chat",
                messages,
                what="generate_with_tools",
                options={"tools": schemas or None, "n_predict": n_predict, "temperature": temperature, **options},
            )
            calls = _calls(message)
            if not calls or not auto_execute:
                done["response"] = message.get("content") or ""
                done["tool_calls"] += calls
                return done
            if done["rounds"] >= max_tool_rounds:
                raise ModelError(f"the model still calls tools after {max_tool_rounds} rounds (max_tool_rounds)")
            done["rounds"] += 1
            messages.append({**message, "role": "assistant"})
            for call in calls:
                result = self._tool_call(offered, call)
                done["tool_calls"].append(call)
                done["tool_results"].append(result)
                text = json.dumps(result, ensure_ascii=False, default=str)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})

    def embed(self, text: str | Sequence[str], **options: Any) -> Any:
        """The vector of a text; of a list of texts, one each. By `embedder` where there is one, else `llm`."""
        field = "llm" if self.embedder is None else "embedder"
        return self.ask(field, "embed", text, options=options)

    # ------------------------------------------------------------------ counting

    def tokenize(self, text: str) -> list[Any]:
        """The tokens of a text, as the binding cuts it; without that, pieces of text about as long as tokens are."""
        self.need("llm", "tokenize")
        return list(self.ask("llm", "tokenize", text)) if self.offers("llm", "tokenize") else list(pieces(text))

    def detokenize(self, tokens: Sequence[Any]) -> str:
        """The text that `tokenize` cut."""
        self.need("llm", "detokenize")
        if self.offers("llm", "tokenize"):
            return self.ask("llm", "detokenize", list(tokens))
        return "".join(map(str, tokens))

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has: counted by the binding where it can, else an estimate.

        The estimate counts a word with its blank as one token per seven letters, digits by threes, and every sign and
        letter outside ASCII as one. The OpenAI API has no way to count.
        """
        self.need("llm", "count_tokens")
        if self.offers("llm", "count_tokens"):
            return int(self.ask("llm", "count_tokens", text))
        return len(self.tokenize(text))

    def count_image_tokens(self, image: Any) -> int:
        """How many tokens an image takes, where the binding can tell."""
        return int(self.ask("llm", "count_image_tokens", image))

    # ------------------------------------------------------------------ what there is

    def list_models(self) -> list[Any]:
        """What the text binding can be asked for; [] without a binding."""
        return [] if self.llm is None else list(self.ask("llm", "list_models"))

    def get_ctx_size(self, model_name: str | None = None) -> int:
        """The tokens that the text model's context holds; 4096 where nobody says."""
        if self.llm is None or not self.offers("llm", "get_ctx_size"):
            return _CONTEXT
        return int(self.ask("llm", "get_ctx_size", options={"model_name": model_name}) or _CONTEXT)

    def has_vision_capability(self, binding: Any = None) -> bool:
        """Whether a text binding says that it reads images; without one, False."""
        asked = self.llm if binding is None else binding
        said = getattr(asked, "has_vision_capability", None)
        return bool(said()) if callable(said) else bool(getattr(asked, "vision", False))

    def find_available_vlm(self) -> Any:
        """A text binding that reads images: the one in use, else one that a switch may take; None without any."""
        known = [self.llm, *self._aliases["llm"].values()]
        return next((one for one in known if one is not None and self.has_vision_capability(one)), None)

    def cancel(self) -> None:
        """Has the text binding end what it does, where it can."""
        if self.llm is not None and self.offers("llm", "cancel"):
            self.ask("llm", "cancel")

    # ------------------------------------------------------------------

    def _text(self, what: str, answer: Any) -> str:
        if isinstance(answer, str):
            return answer
        if error := table_of(answer).get("error"):
            raise ModelError(f"{what}: the text binding failed: {error}")
        raise ModelError(f"{what}: the text binding gave a {type(answer).__name__}, not a text")

    def _offered(self, tools: Sequence[str | Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        """The tools by name. ModelError names one that `client.tools` has not."""
        offered: dict[str, Mapping[str, Any]] = {}
        listed: dict[str, Mapping[str, Any]] = {}
        runtime: Any = cast("Any", self).tools
        if any(isinstance(tool, str) for tool in tools) and runtime is not None:
            listed = {one["name"]: one for one in runtime.list_tools()}
        for tool in tools:
            if isinstance(tool, str):
                if tool not in listed:
                    raise ModelError(f"client.tools has no tool {tool!r}; it has {', '.join(listed) or 'none'}")
                tool = listed[tool]
            offered[str(tool["name"])] = tool
        return offered

    def _tool_call(self, offered: Mapping[str, Mapping[str, Any]], call: Mapping[str, Any]) -> Any:
        """What one call came to, as the LCP wrapper; what goes wrong is told to the model."""
        name, arguments = call["name"], call["parameters"]
        if name not in offered:
            return {"success": False, "error": f"there is no tool {name!r}; there are {', '.join(offered)}"}
        if not isinstance(arguments, Mapping):
            return {"success": False, "error": f"the arguments of {name} are no JSON object: {arguments!r}"}
        own = offered[name].get("callable")
        if not callable(own):
            runtime: Any = cast("Any", self).tools
            if runtime is None:
                return {"success": False, "error": f"{name} has no callable, and this client has no tools binding"}
            return runtime.execute_tool(name, dict(cast("Mapping[str, Any]", arguments)))
        try:
            return own(**arguments)
        except Exception as error:
            return {"success": False, "error": f"{type(error).__name__}: {error}"}


_CONTEXT = 4096


def _words(message: Message) -> str:
    """The text of a message, whose content may be in parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    parts = cast("Sequence[Mapping[str, Any]]", content)
    return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")


def _function(tool: Mapping[str, Any]) -> dict[str, Any]:
    schema: Any = tool.get("input_schema") or tool.get("parameters") or {"type": "object"}
    return {"name": tool["name"], "description": tool.get("description", ""), "parameters": schema}


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of an answer: id, name, parameters (a dict, or the text when it is no JSON)."""
    calls: list[dict[str, Any]] = []
    for number, call in enumerate(cast("Sequence[Mapping[str, Any]]", message.get("tool_calls") or ())):
        function = cast("Mapping[str, Any]", call.get("function") or {})
        arguments: Any = function.get("arguments") or "{}"
        if isinstance(arguments, str):
            with suppress(ValueError, RecursionError):
                arguments = json.loads(arguments)
        calls.append(
            {"id": call.get("id") or f"call_{number}", "name": str(function.get("name")), "parameters": arguments}
        )
    return calls
