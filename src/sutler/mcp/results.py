"""What a server answered, as the value a program gets (MCP-08, FH20, FH21).

| the answer                        | the value                                                        |
|-----------------------------------|------------------------------------------------------------------|
| structured content                | that, without its wrapper where the output schema is one         |
| one text                          | that text                                                        |
| several texts                     | a list of them                                                   |
| anything with other blocks in it  | the block, or the list of blocks, each with a `text` of its own  |
| nothing                           | None                                                             |

A wrapper is an object whose output schema has the one property `result`. Blocks of a value are MCP's own objects; an
image, sound or file that has no text of its own gets one that says what it is. The blocks as they came stand in the
result's `content`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, cast

from ..errors import SchemaError, ToolError
from ..results import Answer, json_text
from ..schema.validate import Validator
from ..schema.walk import readable
from ..servers import RemoteResult

_KNOWN: Final = frozenset(("text", "image", "audio", "resource", "resource_link"))
_SHOWN: Final = 3  # faults of structured content that are named
_LONG: Final = 300


class OutputSchema:
    """A tool's declared output: built at the first answer, kept for the next."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self._validator = Validator(schema, of_arguments=False)

    @property
    def wraps(self) -> bool:
        """Whether it is an object of the one property `result`, as servers wrap values that are no object."""
        schema: object = self.schema
        properties = cast("Mapping[str, Any]", schema).get("properties") if isinstance(schema, Mapping) else None
        return isinstance(properties, Mapping) and list(cast("Mapping[str, Any]", properties)) == ["result"]

    def faults(self, value: Any) -> str:
        """What of a value breaks the schema, in one line, or ""."""
        try:
            errors = self._validator.errors(value)
        except SchemaError as error:
            return f"its output schema cannot be used: {error}"
        except ValueError as error:
            return str(error)
        said = [f"{readable(tuple(error.instance_path)) or 'it'}: {error.message}" for error in errors[:_SHOWN]]
        more = f"; and {len(errors) - _SHOWN} more" if len(errors) > _SHOWN else ""
        return ("; ".join(said) + more)[:_LONG]


def to_value(result: RemoteResult, schema: OutputSchema | None = None) -> Answer:
    """The value, with its blocks and notes. ToolError when the server says that the call failed.

    schema: what the tool declares of its output. Content that breaks it is given all the same, with a note.
    """
    notes = list(result.notes)
    if result.is_error:
        _fail(result, notes)
    plain = _only_text(result.content)
    if result.has_structured:
        value = result.structured
        if schema is not None:
            if faults := schema.faults(value):
                notes.append(f"the structured content breaks what the tool declares ({faults}); its text is in content")
            if schema.wraps and isinstance(value, dict):
                wrapper = cast("dict[str, Any]", value)
                value = wrapper["result"] if list(wrapper) == ["result"] else wrapper
        for block in result.content:
            if _kind(block) != "text":
                notes.append(f"the answer also holds {describe(block)}, which is in content")
    else:
        if schema is not None:
            notes.append("the tool declares structured output and gave none; this is its content")
        value = _of_blocks(result.content, plain, notes)
    extra: dict[str, Any] = {} if plain else {"text": as_text(result.content)}
    return Answer(value=value, content=result.content, extra=extra, notes=notes, wire=result)


def as_text(content: Sequence[Mapping[str, Any]]) -> str:
    """All blocks as one text: bodies of texts and text files, one line for anything else."""
    return "\n".join(_text(block) for block in content)


def describe(block: Mapping[str, Any]) -> str:
    """A block that is no text in one line: what it is, its type, its size; never its bytes."""
    kind = _kind(block)
    match kind:
        case "image" | "audio":
            return _with_facts(f"an {kind}", block.get("mimeType"), block.get("data"))
        case "resource":
            inner = _inner(block)
            return _with_facts(f"the resource {_short(inner.get('uri'))}", inner.get("mimeType"), inner.get("blob"))
        case "resource_link":
            name = block.get("title") or block.get("name") or "a resource"
            return _with_facts(
                f"a link to {_short(name)}, {_short(block.get('uri'))}", block.get("mimeType"), block.get("size")
            )
        case _:
            return f"a block of the unknown type {_short(kind)!r}"


def _of_blocks(content: Sequence[Mapping[str, Any]], plain: bool, notes: list[str]) -> Any:
    if plain:
        texts = [_text(block) for block in content]
        return None if not texts else texts[0] if len(texts) == 1 else texts
    for block in content:
        if _kind(block) not in _KNOWN:
            notes.append(f"{describe(block)} is kept as it came")
    blocks = [{**block, "text": _text(block)} for block in content]
    return blocks[0] if len(blocks) == 1 else blocks


def _fail(result: RemoteResult, notes: list[str]) -> NoReturn:
    said = as_text(result.content).strip()
    if not said and result.has_structured and result.structured is not None:
        said = json_text(result.structured)[0]
    raise ToolError(
        said or "the server reported a failure without saying why",
        output=result.structured if result.has_structured else None,
        notes=notes,
        wire=result,
    )


def _only_text(content: Sequence[Mapping[str, Any]]) -> bool:
    for block in content:  # noqa: SIM110 - a generator would cost more than all the rest for the one block of most answers
        if block.get("type") != "text" or not isinstance(block.get("text"), str):
            return False
    return True


def _text(block: Mapping[str, Any]) -> str:
    own = _inner(block).get("text") if _kind(block) == "resource" else block.get("text")
    return own if isinstance(own, str) else f"[{describe(block)}]"


def _kind(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    return kind if isinstance(kind, str) else ""


def _inner(block: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = block.get("resource")
    return cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else {}


def _short(value: object) -> str:
    text = value if isinstance(value, str) and value else "?"
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."


def _with_facts(what: str, mime: object, size: object) -> str:
    """size: a number of bytes, or the base64 text that holds them."""
    if isinstance(size, str):
        size = len(size) * 3 // 4 - size[-2:].count("=")
    facts = [mime] if isinstance(mime, str) and mime else []
    if isinstance(size, int):
        facts.append(f"{size:,} bytes")
    return f"{what} ({', '.join(facts)})" if facts else what
