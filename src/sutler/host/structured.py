"""Text with a form: data by a schema, code, tags, decisions, and texts longer than a context (LCP-12).

All of it is asked in words over generate_text, so it works with any text binding. An answer that cannot be read is
asked for again with what was wrong of it, then ModelError says what came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from ..errors import ModelError, SchemaError
from . import answers
from .text import Text

T = TypeVar("T")
_TRIES = 3
_SHOWN = 200
_KEYWORDS = frozenset({"type", "properties", "$ref", "anyOf", "oneOf", "allOf", "enum", "$schema", "items", "const"})


class Structured(Text):
    """What a client makes of its text model's answers."""

    def generate_structured_content(
        self,
        prompt: str,
        schema: Mapping[str, Any] | str,
        images: Sequence[Any] | None = None,
        system_prompt: str | None = None,
        max_retries: int = _TRIES,
        **options: Any,
    ) -> Any:
        """Data that fits a schema: a JSON Schema (also as text), or a plain table {key: what it is}.

        ModelError when no answer of `max_retries` fits.
        """
        more = {"images": images, "system_prompt": system_prompt, **options}
        return self._structured("generate_structured_content", prompt, schema, more, max_retries)

    def _structured(
        self,
        what: str,
        prompt: str,
        schema: Mapping[str, Any] | str,
        options: Mapping[str, Any],
        tries: int = _TRIES,
    ) -> Any:
        self.need("llm", what)
        wanted = _schema(schema)
        text = json.dumps(wanted, ensure_ascii=False)
        ask = f"{prompt}\n\nAnswer with JSON alone, that fits this JSON Schema:\n{text}"
        return self._read(what, ask, _fitting(wanted), options, tries)

    def generate_code(
        self,
        prompt: str,
        images: Sequence[Any] | None = None,
        system_prompt: str | None = None,
        template: str | None = None,
        language: str = "python",
        **options: Any,
    ) -> str:
        """The code of an answer: its first code block."""
        self.need("llm", "generate_code")
        ask = f"{prompt}\n\nAnswer with one ```{language} code block that holds all of the code."
        if template:
            ask += f"\nFill in this template:\n```{language}\n{template}\n```"
        more = {"images": images, "system_prompt": system_prompt, **options}
        return self._read("generate_code", ask, _first_code, more)

    def generate_codes(
        self,
        prompt: str,
        images: Sequence[Any] | None = None,
        system_prompt: str | None = None,
        template: str | None = None,
        language: str = "python",
        **options: Any,
    ) -> list[dict[str, Any]]:
        """Every code block of an answer: index, file_name, content, type, is_complete."""
        self.need("llm", "generate_codes")
        ask = f"{prompt}\n\nAnswer with code blocks (```{language}), each with its file's name on the line before it."
        if template:
            ask += f"\nFill in this template:\n```{language}\n{template}\n```"
        more = {"images": images, "system_prompt": system_prompt, **options}
        return self._read("generate_codes", ask, _blocks, more)

    def update_code(self, original_code: str, instruction: str, language: str = "python", **options: Any) -> str:
        """The code with a change made to it, whole."""
        self.need("llm", "update_code")
        ask = (
            f"Change this code.\n```{language}\n{original_code}\n```\nThe change: {instruction}\n\n"
            f"Answer with one ```{language} code block that holds all of the changed code."
        )
        return self._read("update_code", ask, _first_code, options)

    def generate_with_tag(self, prompt: str, tag: str, images: Sequence[Any] | None = None, **options: Any) -> str:
        """What the model writes inside <tag>...</tag>."""

        def read(text: str) -> str:
            found = answers.tags(text if tag in ("think", "thinking") else answers.without_thinking(text))
            if tag not in found:
                raise ValueError(f"it has no <{tag}>...</{tag}>")
            return found[tag]

        self.need("llm", "generate_with_tag")
        ask = f"{prompt}\n\nWrite the answer inside <{tag}> and </{tag}>."
        return self._read("generate_with_tag", ask, read, {"images": images, **options})

    def generate_with_tags(self, prompt: str, images: Sequence[Any] | None = None, **options: Any) -> dict[str, str]:
        """What the model writes inside each tag that the prompt asks for."""
        self.need("llm", "generate_with_tags")
        return self._read("generate_with_tags", prompt, _some_tags, {"images": images, **options})

    def yes_no(
        self,
        question: str,
        context: str = "",
        system_prompt: str = "",
        return_explanation: bool = False,
        images: Sequence[Any] | None = None,
        **options: Any,
    ) -> Any:
        """True or False; {answer, explanation} when asked for."""
        schema = _object(answer={"type": "boolean"}, explanation={"type": "string"})
        ask = _in_context(f"Answer the question with true or false.\nQuestion: {question}", context)
        more = {"images": images, "system_prompt": system_prompt, **options}
        found = self._structured("yes_no", ask, schema, more)
        return found if return_explanation else found["answer"]

    def multichoice_question(
        self,
        question: str,
        possible_answers: Sequence[Any],
        context: str = "",
        return_explanation: bool = False,
        **options: Any,
    ) -> Any:
        """The number of the answer that is right, from 0; {index, explanation} when asked for."""
        self.need("llm", "multichoice_question")
        if not possible_answers:
            raise ModelError("multichoice_question: there is no answer to choose from")
        last = len(possible_answers) - 1
        schema = _object(index={"type": "integer", "minimum": 0, "maximum": last}, explanation={"type": "string"})
        ask = f"Choose the number of the right answer.\nQuestion: {question}\nAnswers:\n{_numbered(possible_answers)}"
        found = self._structured("multichoice_question", _in_context(ask, context), schema, options)
        return found if return_explanation else found["index"]

    def multichoice_ranking(
        self,
        question: str,
        possible_answers: Sequence[Any],
        context: str = "",
        return_explanation: bool = False,
        **options: Any,
    ) -> Any:
        """The numbers of the answers, from 0, the best first; {ranking, explanation} when asked for."""
        self.need("llm", "multichoice_ranking")
        count = len(possible_answers)
        numbers = {"type": "integer", "minimum": 0, "maximum": max(0, count - 1)}
        ranking = {"type": "array", "items": numbers, "minItems": count, "maxItems": count, "uniqueItems": True}
        ask = f"Rank all answers, the best first.\nQuestion: {question}\nAnswers:\n{_numbered(possible_answers)}"
        schema = _object(ranking=ranking, explanation={"type": "string"})
        found = self._structured("multichoice_ranking", _in_context(ask, context), schema, options)
        return found if return_explanation else found["ranking"]

    def long_context_processing(
        self,
        text_to_process: str,
        contextual_prompt: str,
        chunk_size_ratio: float = 0.5,
        overlap_ratio: float = 0.1,
        synthesis_prompt: str | None = None,
        **options: Any,
    ) -> str:
        """Works through a text of any length: piece by piece where it is longer than half the context, then as one.

        Pieces hold `chunk_size_ratio` of the context and repeat `overlap_ratio` of the piece before.
        """
        self.need("llm", "long_context_processing")
        if not (0 < chunk_size_ratio < 1 and 0 <= overlap_ratio < 1):
            raise ModelError("chunk_size_ratio lies between 0 and 1, overlap_ratio from 0 to below 1")
        room = max(64, int(self.get_ctx_size() * chunk_size_ratio))
        tokens = answers.pieces(text_to_process)
        if len(tokens) <= room:
            return self.generate_text(f"{contextual_prompt}\n\nText:\n{text_to_process}", **options)
        step = max(1, room - int(room * overlap_ratio))
        starts = range(0, max(1, len(tokens) - (room - step)), step)
        notes = [
            self.generate_text(
                f"{contextual_prompt}\n\nThis is part {number} of {len(starts)} of a long text. Note what matters."
                f"\n\nText:\n{''.join(tokens[start : start + room])}",
                **options,
            )
            for number, start in enumerate(starts, 1)
        ]
        together = "\n\n".join(notes)
        if len(answers.pieces(together)) < len(
            tokens
        ):  # else the notes do not get shorter, and would be noted for ever
            return self.long_context_processing(
                together, synthesis_prompt or contextual_prompt, chunk_size_ratio, overlap_ratio, **options
            )
        return self.generate_text(f"{synthesis_prompt or contextual_prompt}\n\nText:\n{together}", **options)

    # ------------------------------------------------------------------ reading texts

    def extract_code_blocks(self, text: str) -> list[dict[str, Any]]:
        """The code blocks of a text: index, file_name, content, type, is_complete."""
        self.need("llm", "extract_code_blocks")
        return answers.code_blocks(text)

    def extract_thinking_blocks(self, text: str) -> list[str]:
        """What stands in the thinking tags of a text."""
        self.need("llm", "extract_thinking_blocks")
        return answers.thinking_blocks(text)

    def remove_thinking_blocks(self, text: str) -> str:
        """The text without its thinking."""
        self.need("llm", "remove_thinking_blocks")
        return answers.without_thinking(text)

    # ------------------------------------------------------------------

    def _read(
        self, what: str, ask: str, read: Callable[[str], T], options: Mapping[str, Any], tries: int = _TRIES
    ) -> T:
        """The answer as `read` reads it; asked again, with the reason, when that raises ValueError."""
        again, text, reason = ask, "", ""
        for _ in range(max(1, tries)):
            text = self.generate_text(again, **options)
            try:
                return read(text)
            except ValueError as error:
                reason = str(error)
                again = f"{ask}\n\nYour last answer could not be used: {reason}. It was:\n{text[:2000]}"
        shown = " ".join(text.split())[:_SHOWN]
        raise ModelError(f"{what}: no answer of {max(1, tries)} could be used: {reason}; the last was {shown!r}")


def _schema(given: Mapping[str, Any] | str) -> Mapping[str, Any]:
    if isinstance(given, str):
        try:
            given = cast("Mapping[str, Any]", json.loads(given))
        except ValueError as error:
            raise ModelError(f"the schema is no JSON: {error}") from error
    if not isinstance(cast("object", given), Mapping):
        raise ModelError(f"a schema is a table, not a {type(given).__name__}")
    if _KEYWORDS & set(given):
        return given
    return _object(**{key: {"description": str(value)} for key, value in given.items()})


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _fitting(schema: Mapping[str, Any]) -> Callable[[str], Any]:
    from ..schema.explain import faults
    from ..schema.validate import Validator

    validator = Validator(schema, of_arguments=False)
    try:
        _ = validator.schema
    except SchemaError as error:
        raise ModelError(f"the schema cannot be used: {error}") from error

    def read(text: str) -> Any:
        value = answers.json_value(text)
        if not validator.fits(value):
            raise ValueError("; ".join(faults(validator, value)) or "it does not fit the schema")
        return value

    return read


def _blocks(text: str) -> list[dict[str, Any]]:
    found = answers.code_blocks(answers.without_thinking(text))
    if not found:
        raise ValueError("it has no code block")
    return found


def _first_code(text: str) -> str:
    first = _blocks(text)[0]
    if not first["is_complete"]:
        raise ValueError("its code block is cut off")
    return first["content"]


def _some_tags(text: str) -> dict[str, str]:
    found = answers.tags(answers.without_thinking(text))
    if not found:
        raise ValueError("it has no <tag>...</tag>")
    return found


def _numbered(possible: Sequence[Any]) -> str:
    return "\n".join(f"{number}. {answer}" for number, answer in enumerate(possible))


def _in_context(ask: str, context: str) -> str:
    return f"{ask}\nContext:\n{context}" if context else ask
