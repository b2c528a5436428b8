"""Images, speech, transcription, video and music (LCP-12)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

from ..errors import ModelError
from .bindings import MODALITIES, Bindings


class Media(Bindings):
    """What a client does with its `tti`, `tts`, `stt`, `ttv` and `ttm`."""

    def generate_image(
        self,
        prompt: str,
        negative_prompt: str = "",
        width: int | None = None,
        height: int | None = None,
        **options: Any,
    ) -> bytes:
        """An image, as the bytes of its file. width, height: pixels; None leaves the size to the model."""
        more = {"negative_prompt": negative_prompt or None, "width": width, "height": height, **options}
        return self._bytes("tti", self.ask("tti", "generate_image", prompt, options=more))

    def edit_image(
        self,
        images: Any,
        prompt: str,
        negative_prompt: str = "",
        mask: Any = None,
        width: int | None = None,
        height: int | None = None,
        **options: Any,
    ) -> bytes:
        """An image made from one, or several. images, mask: bytes, a path, or base64 text."""
        more = {"negative_prompt": negative_prompt or None, "mask": mask, "width": width, "height": height, **options}
        return self._bytes("tti", self.ask("tti", "edit_image", images, prompt, options=more))

    def generate_omni(self, prompt: str, **options: Any) -> Any:
        """Whatever the image binding's own generate_omni gives."""
        return self.ask("tti", "generate_omni", prompt, options=options)

    def generate_audio(self, text: str, voice: str | None = None, **options: Any) -> bytes:
        """A text spoken, as the bytes of an audio file."""
        return self._bytes("tts", self.ask("tts", "generate_audio", text, options={"voice": voice, **options}))

    def generate_speech(self, text: str, voice: str | None = None, **options: Any) -> bytes:
        """generate_audio under its other name."""
        return self._bytes(
            "tts", self.ask("tts", "generate_audio", text, what="generate_speech", options={"voice": voice, **options})
        )

    def transcribe_audio(self, audio_source: str | os.PathLike[str] | bytes, **options: Any) -> str:
        """What is said in an audio file, given by its path or its bytes."""
        answer = self.ask("stt", "transcribe_audio", audio_source, options=options)
        if not isinstance(answer, str):
            raise ModelError(f"the {MODALITIES['stt'].label} binding gave a {type(answer).__name__}, not a text")
        return answer

    def generate_video(self, prompt: str, **options: Any) -> bytes | Path:
        """A video: the bytes of its file, or its path, as the binding gives it."""
        return self._file("ttv", self.ask("ttv", "generate_video", prompt, options=options))

    def generate_music(self, prompt: str, **options: Any) -> bytes | Path:
        """Music: the bytes of an audio file, or its path, as the binding gives it."""
        return self._file("ttm", self.ask("ttm", "generate_music", prompt, options=options))

    def generate_song(self, prompt: str, **options: Any) -> bytes | Path:
        return self._file("ttm", self.ask("ttm", "generate_song", prompt, options=options))

    def generate_song_from_lyrics(self, prompt: str, lyrics: str, **options: Any) -> bytes | Path:
        return self._file("ttm", self.ask("ttm", "generate_song_from_lyrics", prompt, lyrics, options=options))

    def edit_music(self, *args: Any, **options: Any) -> bytes | Path:
        """What the binding's own edit_music makes of it."""
        return self._file("ttm", self.ask("ttm", "edit_music", *args, options=options))

    def ensure_tti(self) -> bool:
        """Whether there is an image binding; the other ensure_* say so of theirs."""
        return self.tti is not None

    def ensure_tts(self) -> bool:
        return self.tts is not None

    def ensure_ttv(self) -> bool:
        return self.ttv is not None

    def ensure_ttm(self) -> bool:
        return self.ttm is not None

    def _bytes(self, field: str, answer: Any) -> bytes:
        """The bytes of a file; a binding that gives a path means the file there."""
        given = self._file(field, answer)
        if isinstance(given, bytes):
            return given
        try:
            return given.read_bytes()
        except OSError as error:
            raise ModelError(f"the {MODALITIES[field].label} binding gave the path of a file: {error}") from error

    def _file(self, field: str, answer: Any) -> bytes | Path:
        if isinstance(answer, bytes | bytearray | memoryview):
            return bytes(cast("Any", answer))
        if isinstance(answer, str | Path) and str(answer).strip():
            return Path(answer)
        got = "nothing" if not answer else f"a {type(answer).__name__}"
        raise ModelError(f"the {MODALITIES[field].label} binding gave {got}, where bytes or a path are wanted")
