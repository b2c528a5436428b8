"""A model behind an OpenAI-compatible HTTP server, as a binding of every modality that the API has (LCP-12)."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ..errors import ModelError
from .answers import table_of
from .http import Http, as_json, shown_url

TIMEOUT = 120.0
_TYPES = ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))


class OpenAIServer:
    """One model of a server that speaks the OpenAI API: text, images, speech, transcription, embeddings.

    base_url: where the API begins, mostly ending in /v1. model: its name there; "" where the server has only one.
    api_key: sent as a bearer token to this server alone, never shown. timeout: seconds for one whole answer; the call
    of the tool that asks may have less. vision: whether the model reads images. ctx_size: the tokens of its context,
    where the server does not say. where: `file:line` of its table, for errors.
    Nothing is sent but what is asked for here: no variable of the environment changes a request, but for proxies.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str = "",
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        vision: bool = False,
        ctx_size: int | None = None,
        where: str = "",
    ) -> None:
        if not re.match(r"https?://[^/\s]", base_url):
            raise ModelError(
                f"base_url must be an http or https URL, such as http://localhost:8080/v1, not {base_url!r}"
            )
        self.model = model
        self.vision = vision
        self.ctx_size = ctx_size
        self.where = where
        self.url = shown_url(base_url)
        self.secrets = frozenset(one for one in (api_key,) if one)
        self._http = Http(base_url, key=api_key or "", timeout=timeout, who=self.__str__)

    def __str__(self) -> str:
        model = f"the model {self.model!r} at " if self.model else ""
        return f"{model}{self.url}" + (f" ({self.where})" if self.where else "")

    def __repr__(self) -> str:
        return f"<OpenAIServer {self}>"

    def close(self) -> None:
        """Ends the connections; the next request makes new ones."""
        self._http.close()

    # ------------------------------------------------------------------ text

    def generate_text(
        self, prompt: str, *, images: Sequence[Any] | None = None, system_prompt: str = "", **options: Any
    ) -> str:
        """The answer to one prompt. options: those of `chat`."""
        content: Any = prompt
        if images:
            content = [
                {"type": "text", "text": prompt},
                *({"type": "image_url", "image_url": _url(one)} for one in images),
            ]
        messages = [{"role": "system", "content": system_prompt}] if system_prompt else []
        return self.generate_from_messages([*messages, {"role": "user", "content": content}], **options)

    def generate_from_messages(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> str:
        """The answer to messages."""
        message = self.chat(messages, **options)
        text = message.get("content")
        if isinstance(text, str):
            return text
        why = message.get("refusal") or f"finish_reason is {message.get('finish_reason')!r}"
        raise self._http.wrong(f"gave no text: {why}")

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        n_predict: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        repeat_penalty: float | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] | None = None,
        reasoning_effort: str | None = None,
        response_format: Mapping[str, Any] | None = None,
        streaming_callback: Callable[..., object] | None = None,
    ) -> dict[str, Any]:
        """The message that answers: role, content, tool_calls, finish_reason, as the API has them.

        Options that are None are not sent. streaming_callback(text): told each piece, ends the answer by False.
        """
        body: dict[str, Any] = {
            "messages": list(messages),
            "tools": list(tools) if tools else None,
            "max_tokens": n_predict,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "repeat_penalty": repeat_penalty,
            "seed": seed,
            "stop": stop,
            "reasoning_effort": reasoning_effort,
            "response_format": response_format,
        }
        sent = self._body(body)
        if streaming_callback is not None and not tools:
            return self._streamed({**sent, "stream": True}, streaming_callback)
        content, _ = self._http.request("POST", "/chat/completions", json=sent)
        return self._message(as_json(self._http, content, "a chat completion"))

    def embed(self, text: str | Sequence[str]) -> Any:
        """The vector of a text, or one for each of a list."""
        texts = [text] if isinstance(text, str) else list(text)
        if not texts:
            return []
        content, _ = self._http.request("POST", "/embeddings", json=self._body({"input": texts}))
        answer = as_json(self._http, content, "embeddings")
        try:
            rows = sorted(answer["data"], key=lambda row: row.get("index", 0))
            vectors = [[float(number) for number in row["embedding"]] for row in rows]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self._http.wrong("answered embeddings in another form than the API's") from None
        if len(vectors) != len(texts):
            raise self._http.wrong(f"gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors[0] if isinstance(text, str) else vectors

    def list_models(self) -> list[str]:
        """The names of the models that the server offers."""
        return [str(one["id"]) for one in self._models() if one.get("id")]

    def get_ctx_size(self, model_name: str | None = None) -> int | None:
        """The tokens of a model's context: as given, else as the server says, else None."""
        wanted = model_name or self.model
        if self.ctx_size is not None and wanted == self.model:
            return self.ctx_size
        for one in self._models():
            if not wanted or one.get("id") == wanted:
                meta = table_of(one.get("meta"))
                said = one.get("max_model_len") or one.get("context_length") or meta.get("n_ctx_train")
                return said if isinstance(said, int) else None
        return None

    # ------------------------------------------------------------------ images

    def generate_image(
        self,
        prompt: str,
        *,
        negative_prompt: str | None = None,
        width: int | None = None,
        height: int | None = None,
        quality: str | None = None,
        seed: int | None = None,
    ) -> bytes:
        """An image, as the bytes of its file."""
        body = self._body(
            {
                "prompt": prompt,
                "n": 1,
                "negative_prompt": negative_prompt,
                "size": _size(width, height),
                "quality": quality,
                "seed": seed,
            }
        )
        try:
            content, _ = self._http.request("POST", "/images/generations", json={**body, "response_format": "b64_json"})
        except ModelError as error:  # newer models give base64 always, and refuse to be asked for it
            if "response_format" not in str(error):
                raise
            content, _ = self._http.request("POST", "/images/generations", json=body)
        return self._image(as_json(self._http, content, "an image"))

    def edit_image(
        self,
        images: Any,
        prompt: str,
        *,
        mask: Any = None,
        width: int | None = None,
        height: int | None = None,
    ) -> bytes:
        """An image made from one, or several."""
        given: Sequence[Any] = cast("Sequence[Any]", images) if isinstance(images, list | tuple) else [images]
        name = "image" if len(given) == 1 else "image[]"
        files = [(name, _file(_bytes(one), number)) for number, one in enumerate(given)]
        if mask is not None:
            files.append(("mask", _file(_bytes(mask), 0)))
        data = self._body({"prompt": prompt, "n": 1, "size": _size(width, height)})
        fields = {key: str(value) for key, value in data.items()}
        content, _ = self._http.request("POST", "/images/edits", data=fields, files=files)
        return self._image(as_json(self._http, content, "an edited image"))

    # ------------------------------------------------------------------ sound

    def generate_audio(
        self, text: str, *, voice: str = "alloy", response_format: str | None = None, speed: float | None = None
    ) -> bytes:
        """A text spoken, as the bytes of an audio file."""
        body = self._body({"input": text, "voice": voice, "response_format": response_format, "speed": speed})
        content, kind = self._http.request("POST", "/audio/speech", json=body)
        if not content or kind in ("application/json", "text/html"):
            raise self._http.wrong(f"answered speech with {kind or 'nothing'}, where audio is wanted")
        return content

    def transcribe_audio(
        self, audio_source: str | os.PathLike[str] | bytes, *, language: str | None = None, prompt: str | None = None
    ) -> str:
        """What is said in an audio file, given by its path or its bytes."""
        if isinstance(audio_source, bytes):
            name, sound = "audio.wav", audio_source
        else:
            name, sound = Path(audio_source).name, _read(audio_source)
        data = self._body({"language": language, "prompt": prompt})
        content, kind = self._http.request(
            "POST", "/audio/transcriptions", data=data, files=[("file", (name, sound, "application/octet-stream"))]
        )
        if kind == "text/plain":
            return content.decode("utf-8", "replace")
        answer = as_json(self._http, content, "a transcription")
        text = table_of(answer).get("text")
        if not isinstance(text, str):
            raise self._http.wrong("answered a transcription in another form than the API's")
        return text

    # ------------------------------------------------------------------

    def _body(self, given: Mapping[str, Any]) -> dict[str, Any]:
        named = {"model": self.model, **given} if self.model else given
        return {key: value for key, value in named.items() if value is not None}

    def _models(self) -> list[Mapping[str, Any]]:
        content, _ = self._http.request("GET", "/models")
        answer = as_json(self._http, content, "its models")
        held: Any = table_of(answer).get("data")
        if not isinstance(held, list):
            raise self._http.wrong("answered its models in another form than the API's")
        return [cast("Mapping[str, Any]", one) for one in cast("list[Any]", held) if isinstance(one, Mapping)]

    def _message(self, answer: Any) -> dict[str, Any]:
        try:
            choice = answer["choices"][0]
            message = dict(choice["message"])
        except (KeyError, IndexError, TypeError, ValueError):
            raise self._http.wrong("answered a chat completion in another form than the API's") from None
        message["finish_reason"] = choice.get("finish_reason")
        if isinstance(message.get("content"), list):  # in parts
            message["content"] = "".join(str(part.get("text", "")) for part in message["content"])
        return message

    def _streamed(self, body: Mapping[str, Any], callback: Callable[..., object]) -> dict[str, Any]:
        parts: list[str] = []
        reason: list[Any] = [None]

        def piece(data: str) -> bool:
            try:
                event = table_of(json.loads(data))
                choice = table_of((event.get("choices") or [None])[0])
            except (ValueError, RecursionError, TypeError, LookupError):
                raise self._http.wrong("sent an event of a stream in another form than the API's") from None
            if event.get("error"):
                raise self._http.wrong(f"failed in the middle of an answer: {event['error']}")
            text = table_of(choice.get("delta")).get("content")
            reason[0] = choice.get("finish_reason") or reason[0]
            if not isinstance(text, str) or not text:
                return True
            parts.append(text)
            return callback(text) is not False

        content, kind = self._http.request("POST", "/chat/completions", pieces=piece, json=body)
        if kind != "text/event-stream":  # a server that does not stream answers all at once
            message = self._message(as_json(self._http, content, "a chat completion"))
            if isinstance(message.get("content"), str):
                callback(message["content"])
            return message
        return {"role": "assistant", "content": "".join(parts), "finish_reason": reason[0]}

    def _image(self, answer: Any) -> bytes:
        try:
            held = dict(answer["data"][0])
            text, url = held.get("b64_json"), held.get("url")
            if text:
                return base64.b64decode(text, validate=True)
        except (KeyError, IndexError, TypeError, ValueError):
            raise self._http.wrong("answered an image in another form than the API's") from None
        if isinstance(url, str) and url.startswith("data:"):
            return _bytes(url)
        if isinstance(url, str) and url.startswith(("http://", "https://")):
            content, kind = self._http.request("GET", url)
            if not content or kind in ("text/html", "application/json"):
                raise self._http.wrong(f"gave the address of an image, where there is {kind or 'nothing'}")
            return content
        raise self._http.wrong("answered an image with neither its data nor its address")


def _size(width: int | None, height: int | None) -> str | None:
    if width is None and height is None:
        return None
    return f"{width or height}x{height or width}"


def _read(path: Any) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"the file cannot be read: {error}") from error


def _bytes(given: Any) -> bytes:
    """An image given by bytes, a path, a data URL or base64 text."""
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(cast("Any", given))
    text = given if isinstance(given, str) else ""
    if text.startswith("data:"):
        text = text.partition(",")[2]
    elif not text or (len(text) < 1000 and Path(text).is_file()):
        return _read(given)
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ModelError(f"neither a file nor base64 of an image: {text[:80]!r}") from None


def _kind(image: bytes) -> str:
    return next((kind for begin, kind in _TYPES if image.startswith(begin)), "png")


def _file(image: bytes, number: int) -> tuple[str, bytes, str]:
    kind = _kind(image)
    return f"image{number}.{kind}", image, f"image/{kind}"


def _url(given: Any) -> dict[str, str]:
    """An image for a prompt: its address, or its data."""
    if isinstance(given, str) and given.startswith(("http://", "https://", "data:")):
        return {"url": given}
    image = _bytes(given)
    return {"url": f"data:image/{_kind(image)};base64,{base64.b64encode(image).decode('ascii')}"}
