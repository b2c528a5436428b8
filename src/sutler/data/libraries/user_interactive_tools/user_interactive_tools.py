"""Asking the person who sits before the host: a text, a secret, a choice. An example of the interaction protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sutler import tool
from sutler.workspace import held

TOOL_LIBRARY_NAME = "Questions to the person"
TOOL_LIBRARY_DESC = "Asks the person for a text, a secret or a choice."
TOOL_LIBRARY_ICON = "🙋"

Handler = Callable[[dict[str, Any]], Any]
_USER_INTERACTION_HANDLER: Handler | None = None


def set_user_interaction_handler(handler: Handler | None) -> None:
    """The host's handler, from now on."""
    global _USER_INTERACTION_HANDLER
    _USER_INTERACTION_HANDLER = handler  # pyright: ignore[reportConstantRedefinition]  # hosts set it by this name


@tool(read_only=True, title="Ask for a text")
def tool_ask_text(
    prompt: str, title: str = "Question", default: str | None = None, user_interaction_handler: Handler | None = None
) -> dict[str, Any]:
    """
    Asks the person for a text and gives the answer. Use it for what only the person can know.

    Args:
        prompt (str): The question, in full sentences.
        title (str): A few words above it.
        default (str): What an empty answer means.
    """
    return ask("text", title, prompt, default=default, handler=user_interaction_handler)


@tool(read_only=True, title="Ask for a choice")
def tool_ask_choice(
    prompt: str,
    options: list[str],
    title: str = "Choice",
    default: str | None = None,
    user_interaction_handler: Handler | None = None,
) -> dict[str, Any]:
    """
    Has the person choose one of several options and gives the one that was chosen.

    Args:
        prompt (str): The question, in full sentences.
        options (list): The texts to choose from, each once.
        title (str): A few words above it.
        default (str): The option that is chosen already.
    """
    if not options or len(set(options)) != len(options):
        return failed("options must hold at least one text, and each only once")
    if default is not None and default not in options:
        return failed(f"the default {default!r} is none of the options: {', '.join(options)}")
    answered = ask("select", title, prompt, options=options, default=default, handler=user_interaction_handler)
    if answered["success"] and answered["output"] not in options:
        return failed(f"the answer is none of the options: {', '.join(options)}")
    return answered


@tool(read_only=False, destructive=False, idempotent=True, asks_itself=True, title="Ask for a secret")
def tool_ask_secret(
    name: str, prompt: str, title: str = "Secret", user_interaction_handler: Handler | None = None
) -> dict[str, Any]:
    """
    Asks the person for a password, key or token and keeps it for this session. Gives a handle, never the secret itself.

    Give the handle to tools that take one, such as the shell tool with `secrets`.

    Args:
        name (str): What it is to be called: letters, digits and _, such as github_token.
        prompt (str): What it is needed for, in full sentences.
        title (str): A few words above it.
    """
    try:
        held.check_name(name)
    except ValueError as error:
        return failed(str(error))
    answered = ask("secret", title, prompt, handler=user_interaction_handler)
    if answered["success"]:
        answered["output"] = {"handle": held.hold(name, answered["output"]), "kept": "until this session ends"}
    return answered


def ask(
    kind: str,
    title: str,
    prompt: str,
    *,
    options: list[str] | None = None,
    default: str | None = None,
    handler: Handler | None = None,
) -> dict[str, Any]:
    """The person's answer as `output`, or why there is none."""
    handler = handler or _USER_INTERACTION_HANDLER  # the one injected into this very call knows of its deadline
    if handler is None:
        return failed("there is nobody to ask: the host gave no user_interaction_handler")
    answer = handler({"type": kind, "title": title, "prompt": prompt, "options": options or [], "default": default})
    if answer is None or (kind == "secret" and not answer):
        return failed("there is no answer: the person gave none, or cannot be asked here")
    return {"success": True, "output": str(answer)}


def failed(why: str) -> dict[str, Any]:
    return {"success": False, "error": why}
