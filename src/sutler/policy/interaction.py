"""user_interaction_handler(request) -> str | None (LCP section 13): what can be asked, and what is an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, cast, get_args

Kind = Literal["text", "secret", "select"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Request(TypedDict):
    """One question to the person. options: of a select. default: what an empty answer means, None for nothing."""

    type: Kind
    title: str
    prompt: str
    options: list[str]
    default: str | None


def read_request(given: object) -> Request:
    """A tool's request with every key there. ValueError or TypeError says why it cannot be asked."""
    if not isinstance(given, Mapping):
        raise TypeError(f"a request to the person is a dict with type, title and prompt, not {given!r}")
    request = cast("Mapping[str, Any]", given)
    kind = request.get("type", "text")
    if kind not in KINDS:
        raise ValueError(f"a request to the person has type {', '.join(KINDS)}, not {kind!r}")
    options = [str(option) for option in request.get("options") or ()]
    if kind == "select" and not options:
        raise ValueError("a request to the person of type select needs options")
    default = request.get("default")
    shown = None if default is None else str(default)
    if kind == "secret" or (kind == "select" and shown not in options):
        shown = None
    return Request(
        type=kind,
        title=str(request.get("title") or ""),
        prompt=str(request.get("prompt") or ""),
        options=options if kind == "select" else [],
        default=shown,
    )


def is_form(request: object) -> bool:
    """Whether it is a form or a link as MCP has them, for a host that shows such itself."""
    return isinstance(request, Mapping) and not {"schema", "url"}.isdisjoint(cast("Mapping[str, Any]", request))


def accepted(request: Request, answer: object) -> str | None:
    """A handler's answer, None for one that is none: a cancel, no text, or no option of a select."""
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        answer = str(answer)
    if not isinstance(answer, str):
        return None
    return None if request["type"] == "select" and answer not in request["options"] else answer
