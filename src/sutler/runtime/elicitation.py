"""A server asks the person: its form becomes the questions that the host's user_interaction_handler knows (MCP-14)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from .core import Core
    from .ticket import Ticket


def ask_person(core: Core, ticket: Ticket | None, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """The person's answers to a server's form, by field; None when nobody can answer or the person cancels.

    request: `message` and `schema` (a flat form), or `message` and `url` (a page to open). Blocks its thread; while it
    waits no clock of the call runs.
    """
    handler = core.interactions.handler
    if handler is None:
        return None
    with ticket.paused() if ticket is not None else nullcontext():
        if getattr(handler, "takes_forms", False):  # a host that shows forms itself gets the form as it is
            return _settled(core, handler(dict(request)))
        if request.get("url"):
            prompt = f"Open {request['url']} and come back"
            answer = _settled(core, handler(_question(request, "select", prompt, options=["done", "cancel"])))
            return {} if answer == "done" else None
        schema = cast("Mapping[str, Any]", request.get("schema") or {})
        required = set(cast("list[str]", schema.get("required") or []))
        answers: dict[str, Any] = {}
        for name, field in cast("Mapping[str, Mapping[str, Any]]", schema.get("properties") or {}).items():
            answer = _settled(core, handler(_field_question(request, name, field)))
            if answer is None:
                return None
            if answer == "" and name not in required:
                continue
            answers[name] = _typed(field, answer)
        return answers


def _settled(core: Core, answer: Any) -> Any:
    return core.places.await_on_host(answer) if inspect.isawaitable(answer) else answer


def _field_question(request: Mapping[str, Any], name: str, field: Mapping[str, Any]) -> dict[str, Any]:
    prompt = str(field.get("description") or field.get("title") or name)
    options = _options(field)
    default = field.get("default")
    shown = None if default is None else str(default)
    return _question(request, "select" if options else "text", prompt, options=options, default=shown)


def _question(
    request: Mapping[str, Any], kind: str, prompt: str, *, options: list[str], default: str | None = None
) -> dict[str, Any]:
    return {
        "type": kind,
        "title": str(request.get("message") or ""),
        "prompt": prompt,
        "options": options,
        "default": default,
    }


def _options(field: Mapping[str, Any]) -> list[str]:
    if field.get("type") == "boolean":
        return ["yes", "no"]
    listed = field.get("enum")
    if isinstance(listed, list):
        return [str(one) for one in cast("list[Any]", listed)]
    choices = field.get("oneOf") or field.get("anyOf")
    if isinstance(choices, list):
        return [str(one["const"]) for one in cast("list[Any]", choices) if "const" in one]
    return []


def _typed(field: Mapping[str, Any], answer: Any) -> Any:
    """The text a person gave, as the form's type; what does not read as one goes as it is, and the server says so."""
    text = str(answer).strip()
    try:
        match field.get("type"):
            case "boolean":
                return text.lower() in ("yes", "true", "1", "on", "y")
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case "array":
                return [part.strip() for part in text.split(",") if part.strip()]
            case _:
                return answer
    except ValueError:
        return answer
