"""What a call or a run came to, as the result of tools/call (SRV-02).

A server's answer goes on as it came (`ToolResult.wire`). Of a tool of ours: text as it is, any other output as JSON
text and, where MCP can hold it, as structured content. What happened beside (repairs, notes, prints, the kind of a
failure) stands in `_meta` under `sutler/...`, which hosts keep from the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import pydantic_core
from mcp.shared.exceptions import MCPError

from ..results import bounded
from ..servers import RemoteError, RemoteResult
from ..spec import ToolResult
from .contract import OutputContract
from .strict import strict, strict_text

Wire = dict[str, Any]
_PRINTED: Final = 20_000  # characters of what a tool printed


def of_call(result: ToolResult, contract: OutputContract, *, modern: bool) -> Wire:
    """A CallToolResult as the wire has it. MCPError for what a server refused with an error of the protocol."""
    wire = cast("object", result.wire)
    if isinstance(wire, RemoteError):
        raise MCPError(code=wire.code, message=wire.message, data=wire.data)
    if isinstance(wire, RemoteResult):
        answer = _as_it_came(wire, contract, modern=modern)
    elif result.error is None:
        answer = _success(result, contract)
    else:
        answer = _failure(result)
    beside = _beside(result)
    if beside:
        held: Wire = answer.get("_meta", {})
        if notes := [*held.get("sutler/notes", ()), *beside.get("sutler/notes", ())]:
            beside["sutler/notes"] = notes
        answer["_meta"] = {**held, **beside}
    return answer


def error(text: str, kind: str) -> Wire:
    """A failed call, as the model is to see it."""
    return {"content": [_text(f"{kind}: {text}")], "isError": True, "_meta": {"sutler/kind": kind}, **_COMPLETE}


def _as_it_came(wire: RemoteResult, contract: OutputContract, *, modern: bool) -> Wire:
    answer: Wire = {"content": list(wire.content), "isError": wire.is_error, **_COMPLETE}
    notes: list[str] = []
    if wire.has_structured:
        structured: object = wire.structured
        if not _is_strict(structured):
            _, structured, notes = _strict(structured)
        if modern or isinstance(structured, dict):
            answer["structuredContent"] = structured
        elif contract.wraps:
            answer["structuredContent"] = {"result": structured}
    if wire.meta or notes:
        answer["_meta"] = {**wire.meta, **({"sutler/notes": notes} if notes else {})}
    return answer


def _success(result: ToolResult, contract: OutputContract) -> Wire:
    output, notes = result.output, list[str]()
    content: list[Wire] = []
    if isinstance(output, str):
        output = strict_text(output)
        content.append(_text(output))
    elif output is not None or not result.content:
        text, output, notes = _strict(output)
        content.append(_text(text))
    content += [dict(block) for block in result.content]
    if result.prompt_injection is not None:
        content.append(_text(_as_text(result.prompt_injection)))
    if result.extra:
        content.append(_text(_strict(dict(result.extra))[0]))
    answer: Wire = {"content": content, "isError": False, **_COMPLETE}
    has_structured, structured = contract.structured(output)
    if not has_structured:
        return answer
    fault = contract.fault(structured)
    if fault:
        # A client refuses a result that breaks its schema and shows nothing of it; of an error it shows the text.
        content.append(_text(f"the tool succeeded, but its output breaks the output schema that it declares: {fault}"))
        answer["isError"] = True
    else:
        answer["structuredContent"] = structured
    if notes:
        answer["_meta"] = {"sutler/notes": notes}
    return answer


def _failure(result: ToolResult) -> Wire:
    failed = result.error
    assert failed is not None
    answer = error(strict_text(failed.message), failed.kind)
    answer["content"] += [dict(block) for block in result.content]
    if result.output not in (None, {}):
        answer["content"].append(_text(_as_text(result.output)))
    if result.extra:
        answer["content"].append(_text(_strict(dict(result.extra))[0]))
    return answer


def _beside(result: ToolResult) -> Wire:
    """What happened beside the output."""
    beside: Wire = {}
    if result.error is not None:
        beside["sutler/kind"] = result.error.kind
        if result.error.retryable:
            beside["sutler/retryable"] = True
    if result.repairs:
        beside["sutler/repairs"] = _strict([repair.to_dict() for repair in result.repairs])[1]
    if result.notes:
        beside["sutler/notes"] = [strict_text(note) for note in result.notes]
    if result.stdout:
        beside["sutler/printed"] = strict_text(bounded(result.stdout, _PRINTED))
    if result.context_files:
        beside["sutler/context_files"] = [strict_text(file) for file in result.context_files]
    return beside


def _is_strict(value: Any) -> bool:
    """Whether data would go out as it is: a NaN would silently become null (FH22)."""
    try:
        text = pydantic_core.to_json(value, inf_nan_mode="constants")
    except ValueError:
        return False
    return b"NaN" not in text and b"Infinity" not in text


def _strict(value: Any) -> tuple[str, Any, list[str]]:
    text, data, notes = strict(value)
    return text, data, list(notes)


def _as_text(value: Any) -> str:
    return strict_text(value) if isinstance(value, str) else _strict(value)[0]


def _text(text: str) -> Wire:
    return {"type": "text", "text": text}


_COMPLETE: Final[Mapping[str, Any]] = {"resultType": "complete"}


def texts(sections: Sequence[str]) -> list[Wire]:
    return [_text("\n".join(section for section in sections if section))]
