"""The answer to a call as the server sent it, in the one shape that can be counted on: a list of objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from ..servers import RemoteResult


def to_result(raw: Mapping[str, Any], notes: list[str]) -> RemoteResult:
    """notes: what was odd about it so far; what is odd about its shape is added."""
    said = list(notes)
    content: Any = raw.get("content")
    if content is None and "structuredContent" not in raw:
        said.append("the answer has no content")
    if content is None:
        content = []
    elif not isinstance(content, list):
        said.append(f"the content of the answer is no list but {type(content).__name__}: it is taken as one block")
        content = [content]
    blocks: list[Mapping[str, Any]] = []
    for block in cast("list[Any]", content):
        if isinstance(block, dict):
            blocks.append(cast("dict[str, Any]", block))
        else:
            said.append(f"a block of the answer is no object but {type(block).__name__}: it is taken as text")
            blocks.append(
                {"type": "text", "text": block if isinstance(block, str) else json.dumps(block, ensure_ascii=False)}
            )
    meta: Any = raw.get("_meta")
    return RemoteResult(
        content=tuple(blocks),
        structured=raw.get("structuredContent"),
        has_structured="structuredContent" in raw,
        is_error=raw.get("isError") is True,
        meta=cast("dict[str, Any]", meta) if isinstance(meta, dict) else {},
        notes=tuple(said),
    )
