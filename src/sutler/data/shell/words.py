"""A command's text as pipelines of words. What a shell would do more with than split it is refused, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Then = Literal["", "&&", "||", ";"]
_THEN: dict[str, Then] = {"&&": "&&", "||": "||", ";": ";"}
_REDIRECTIONS = (">", ">>", "<", "2>", "2>>", "2>&1")
_GLOB = "*?["
_OPERATOR = "|&;<>"
# Unquoted, a shell gives each of these a meaning of its own.
_REFUSED = {
    "$": "a variable or a substitution ($)",
    "`": "a substitution (`)",
    "(": "a subshell or a function",
    ")": "a subshell or a function",
    "{": "a group or a brace expansion",
    "}": "a group or a brace expansion",
}
_MOST = 8_000


class NotUnderstood(Exception):
    """Why a command is not run without asking. The text is a phrase: "it uses ..."."""


@dataclass(slots=True)
class Word:
    """One word. `pattern` is it as a glob, special characters that were quoted in brackets; None without wildcards."""

    text: str
    pattern: str | None = None


@dataclass(slots=True)
class Redirection:
    how: str
    target: Word | None


@dataclass(slots=True)
class Simple:
    """One program with its words and redirections."""

    words: list[Word] = field(default_factory=lambda: list[Word]())
    redirections: list[Redirection] = field(default_factory=lambda: list[Redirection]())


@dataclass(slots=True)
class Pipeline:
    then: Then
    commands: list[Simple]


def parse(text: str) -> list[Pipeline]:
    """The pipelines of a command line. Raises NotUnderstood."""
    text = text.strip(" \t\n")
    if not text:
        raise NotUnderstood("it is empty")
    if len(text) > _MOST:
        raise NotUnderstood(f"it is longer than {_MOST:,} characters")
    if "\n" in text:
        raise NotUnderstood("it has several lines")
    if not text.replace("\t", " ").isprintable():
        raise NotUnderstood("it holds characters that are not shown as they are")
    pipelines = [Pipeline("", [Simple()])]
    open_redirection: str | None = None
    for token in _tokens(text):
        current = pipelines[-1].commands[-1]
        if isinstance(token, Word):
            if open_redirection is None:
                current.words.append(token)
            else:
                current.redirections.append(Redirection(open_redirection, token))
                open_redirection = None
            continue
        if open_redirection is not None:
            raise NotUnderstood(f"a redirection ({open_redirection}) leads nowhere")
        if token == "2>&1":
            current.redirections.append(Redirection(token, None))
        elif token in _REDIRECTIONS:
            open_redirection = token
        elif token == "|" or token in _THEN:
            if not current.words:
                raise NotUnderstood(f"there is no command before {token}")
            if token == "|":
                pipelines[-1].commands.append(Simple())
            else:
                pipelines.append(Pipeline(_THEN[token], [Simple()]))
        else:
            raise NotUnderstood(_about(token))
    if open_redirection is not None:
        raise NotUnderstood(f"a redirection ({open_redirection}) leads nowhere")
    if not pipelines[-1].commands[-1].words:
        if pipelines[-1].then != ";" or len(pipelines[-1].commands) > 1 or pipelines[-1].commands[0].redirections:
            raise NotUnderstood("it ends in the middle")
        pipelines.pop()
    return pipelines


def _about(operator: str) -> str:
    if operator == "&":
        return "it starts something in the background (&)"
    if operator.startswith("<<"):
        return "it uses a here-document or a here-string (<<)"
    return f"it uses {operator}"


def _tokens(text: str) -> Iterator[Word | str]:
    at = 0
    while at < len(text):
        char = text[at]
        if char in " \t":
            at += 1
        elif char in _OPERATOR:
            end = at
            while end < len(text) and text[end] in _OPERATOR:
                end += 1
            yield text[at:end]
            at = end
        elif text.startswith("2>", at):
            end = at + 1
            while end < len(text) and text[end] in _OPERATOR:
                end += 1
            if text[at:end] == "2>&" and text[end : end + 1] == "1" and _ends(text, end + 1):
                end += 1
            yield text[at:end]
            at = end
        else:
            word, at = _word(text, at)
            yield word


def _ends(text: str, at: int) -> bool:
    return at >= len(text) or text[at] in " \t|&;"


def _word(text: str, at: int) -> tuple[Word, int]:
    start = at
    plain: list[str] = []
    pattern: list[str] = []
    wild = False

    def quoted(char: str) -> None:
        plain.append(char)
        pattern.append(f"[{char}]" if char in _GLOB else char)

    while at < len(text) and text[at] not in " \t" + _OPERATOR:
        char = text[at]
        if char == "'":
            end = text.find("'", at + 1)
            if end < 0:
                raise NotUnderstood("a quote (') is not closed")
            for inner in text[at + 1 : end]:
                quoted(inner)
            at = end + 1
        elif char == '"':
            at = _double(text, at + 1, quoted)
        elif char == "\\":
            if at + 1 >= len(text):
                raise NotUnderstood("it ends in a backslash")
            quoted(text[at + 1])
            at += 2
        elif char in _REFUSED:
            raise NotUnderstood(f"it uses {_REFUSED[char]}")
        elif at == start and char in "#~":
            raise NotUnderstood("it uses a comment (#)" if char == "#" else "it uses a home directory (~)")
        else:
            wild = wild or char in _GLOB
            plain.append(char)
            pattern.append(char)
            at += 1
    if at < len(text) and text[at] in "<>" and text[start:at].isdigit():
        raise NotUnderstood(f"it redirects a file by number ({text[start : at + 1]})")
    return Word("".join(plain), "".join(pattern) if wild else None), at


def _double(text: str, at: int, add: Callable[[str], None]) -> int:
    """Adds what stands in double quotes; where they end."""
    while at < len(text):
        char = text[at]
        if char == '"':
            return at + 1
        if char in "$`":
            raise NotUnderstood(f"it uses {_REFUSED[char]}")
        if char == "\\":
            following = text[at + 1 : at + 2]
            if following not in ('"', "\\"):
                raise NotUnderstood("it uses a backslash inside double quotes")
            add(following)
            at += 2
            continue
        add(char)
        at += 1
    raise NotUnderstood('a quote (") is not closed')
