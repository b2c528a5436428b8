"""The words a person is asked with: the call as it will run, and nothing that could pass for something else."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..spec import ToolCall, ToolSpec
from .visible import name, one_line, opened, quoted, shortened

ONE_VALUE = 2_000  # characters of one argument that are shown
WHOLE = 20_000  # of a command or a piece of code, and of a call as a whole
_BESIDE = 200  # of an argument that stands beside it, in the label
_LABEL = 1_500  # of a label; where it would be longer the call is shown whole, so that nothing is out of sight
_COMMANDS = frozenset(("command", "cmd", "shell", "argv"))
_OPERATORS = frozenset("();<>|&")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a handler is asked (LCP-01): the text of the call, its label in one line, a command's words or None."""

    source: str
    label: str
    argv: list[str] | None = None


def question(call: ToolCall, level: str) -> Question:
    """One call as a person is shown it.

    source: the call with its effective arguments, as a program would write it; for a tool that names a parameter to
    `confirm_with`, that one's text. What else such a call was given stands in the label, if that has room for it.
    argv: that parameter's list, or the words of a shell command that is one plain command; else None.
    """
    named = call.spec.meta.get("confirm_with")
    if not isinstance(named, str) or named not in call.arguments:
        return Question(source=source_of(call), label=label_of(call.spec, level))
    value: Any = call.arguments[named]
    beside = {
        key: held for key, held in call.arguments.items() if key != named and not _is_default(call.spec, key, held)
    }
    label = label_of(call.spec, level, beside)
    if len(label) > _LABEL:
        return Question(source=source_of(call), label=label_of(call.spec, level))
    return Question(source=_text_of(value), label=label, argv=_argv_of(named, value))


def source_of(call: ToolCall) -> str:
    """The call with its effective arguments, as a program would write it."""
    parts = [f"{name(key)}={quoted(value, ONE_VALUE)}" for key, value in call.arguments.items()]
    called = name(call.spec.qualified)
    one = f"{called}({', '.join(parts)})"
    if len(one) <= 100 and "\n" not in one:
        return one
    return shortened(f"{called}(\n" + "".join(f"    {part},\n" for part in parts) + ")", WHOLE)


def label_of(spec: ToolSpec, level: str, beside: Mapping[str, Any] | None = None) -> str:
    label = f"[{level.upper()}] {name(spec.qualified)} {spec.grade}"
    if not beside:
        return label
    return f"{label}, with " + ", ".join(f"{name(key)}={quoted(value, _BESIDE)}" for key, value in beside.items())


def of_library(source: object, label: object, argv: object) -> Question:
    """The question of a library that asks by itself, made as safe to show as ours."""
    words = _words(argv) if isinstance(argv, list | tuple) else None
    return Question(source=opened(str(source), WHOLE), label=one_line(str(label), _BESIDE), argv=words)


def _text_of(value: Any) -> str:
    if isinstance(value, str):
        return opened(value, WHOLE)
    if isinstance(value, list):
        return opened(shlex.join(str(word) for word in cast("list[object]", value)), WHOLE)
    return quoted(value, WHOLE)


def _argv_of(named: str, value: Any) -> list[str] | None:
    if isinstance(value, list):
        return _words(value)
    if not isinstance(value, str) or _COMMANDS.isdisjoint(named.lower().split("_")):
        return None
    words = plain_command(value)
    return None if words is None else _words(words)


def _words(words: Any) -> list[str]:
    """The words of a command, each as safe to show as the text they come from."""
    return [opened(str(word), WHOLE) for word in words]


def plain_command(text: str) -> list[str] | None:
    """The words of a shell command, when it is one command and its words are what it says: no operator, substitution,
    variable or second line. None otherwise."""
    if any(char in text for char in "$`\n\r\0"):
        return None
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        tokens = list(lexer)
        words = shlex.split(text)
    except ValueError:  # a quote that is not closed
        return None
    return words if words and tokens == words and not any(_OPERATORS.issuperset(word) for word in words) else None


def _is_default(spec: ToolSpec, key: str, value: Any) -> bool:
    properties: Mapping[str, Any] = spec.input_schema.get("properties") or {}
    schema: Any = properties.get(key)
    return isinstance(schema, Mapping) and "default" in schema and cast("Mapping[str, Any]", schema)["default"] == value
