"""Puts a tool's own questions to the person at the terminal (LCP section 13): a text, a secret, a choice."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..interaction import Request, read_request
from ..visible import one_line
from . import console

_OPTION = 200  # characters of one option that are shown


class TerminalQuestions:
    """A user_interaction_handler. None: the person cancels (Ctrl-C, end of input), or there is no terminal."""

    def __init__(self, *, pause: Callable[[], AbstractContextManager[object]] = nullcontext) -> None:
        self._pause = pause

    def __call__(self, request: Mapping[str, Any]) -> str | None:
        asked = read_request(request)
        if not console.somebody_there():
            return None
        secret = asked["type"] == "secret"
        with console.turn, self._pause(), console.own_interrupt(echo=not secret):
            title = one_line(asked["title"], _OPTION) or "A tool asks"
            console.say(f"\n{console.titled(title)}")
            if asked["prompt"]:
                console.say(console.framed(console.shown(asked["prompt"])))
            if asked["type"] == "select":
                return _choice(asked)
            return _secret() if secret else _text(asked["default"])


def cli_interaction_handler(request: Mapping[str, Any]) -> str | None:
    """A user_interaction_handler for programs with a terminal; without one it gives None. A secret is not echoed."""
    return _ordinary(request)


_ordinary = TerminalQuestions()


def _text(default: str | None) -> str | None:
    shown = f" (Enter for {one_line(default, _OPTION)})" if default else ""
    typed = _typed(f"+- Answer{shown}: ")
    return default if typed == "" and default is not None else typed


def _secret() -> str | None:
    if sys.platform == "win32":
        import getpass

        try:
            return getpass.getpass("+- Answer, which is not shown: ", stream=sys.stderr)
        except (EOFError, KeyboardInterrupt):
            return None
    typed = _typed("+- Answer, which is not shown: ")
    if typed is not None:
        console.say("\n")  # the one that was typed is not shown either
    return typed


def _choice(asked: Request) -> str | None:
    """An option by its text, or by its number, until it is one."""
    options, default = asked["options"], asked["default"]
    for number, option in enumerate(options, start=1):
        console.say(console.framed(f"{number}. {one_line(option, _OPTION)}"))
    shown = f" (Enter for {options.index(default) + 1})" if default is not None else ""
    while True:
        typed = _typed(f"+- Which one, by number or text?{shown} ")
        if typed is None:
            return None
        if typed in options:
            return typed
        typed = typed.strip()
        if typed == "" and default is not None:
            return default
        if typed.isdecimal() and 1 <= int(typed) <= len(options):
            return options[int(typed) - 1]


def _typed(question: str) -> str | None:
    console.say(question)
    typed = console.read_line()
    if typed is None:
        console.say("\n")
    return typed
