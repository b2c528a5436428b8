"""What a docstring says of a tool and of its parameters (SCH-01, SCH-02).

Google, NumPy and Sphinx sections are read by griffe; plain `name: text` and `name - text` lines here, and only for
names that are parameters, so prose never becomes one. griffe is imported only when there is a section to read.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator
from typing import Literal

NO_DESCRIPTION = "No description provided."

Style = Literal["google", "numpy", "sphinx"]
PARAMETER_HEADERS = (
    "args", "arguments", "params", "parameters", "keyword args", "keyword arguments", "other parameters",
    "other args", "other arguments",
)  # fmt: skip
OTHER_HEADERS = (
    "returns", "return", "yields", "yield", "receives", "raises", "exceptions", "warns", "warnings", "warning",
    "examples", "example", "note", "notes", "attributes", "references", "see also", "todo", "usage", "side effects",
)  # fmt: skip
_HEADER = re.compile(r"^[ \t]*(?:#+[ \t]*)?(\*{0,2})([A-Za-z][A-Za-z ]*?)\1:?\1[ \t]*$")
_SPHINX = re.compile(
    r"^[ \t]*:(?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?)\b[^:\n]*:", re.MULTILINE
)
_UNDERLINE = re.compile(r"^[ \t]*[-=~]{3,}[ \t]*$")
_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?:[-*+\u2022][ \t]+|\d+[.)][ \t]+)?"
    r"(?P<mark>[`*\"']{0,3})(?P<name>\*{0,2}\w+)(?P=mark)"
    r"[ \t]*(?:\((?P<type>(?:[^()]|\([^()]*\))*)\))?"
    r"(?:[ \t]*:|[ \t]+[-\u2013\u2014])(?:[ \t]+(?P<text>.*)|[ \t]*)$"
)


def clean(docstring: str | None) -> str:
    """A docstring without its indentation, with plain newlines."""
    if not docstring:
        return ""
    return inspect.cleandoc(docstring.replace("\r\n", "\n").replace("\r", "\n")).strip()


def first_paragraph(doc: str, names: Collection[str] = ()) -> str:
    """The text before the first blank line, section or parameter line of a cleaned docstring."""
    lines = doc.split("\n")
    taken: list[str] = []
    for index, line in enumerate(lines):
        following = lines[index + 1] if index + 1 < len(lines) else ""
        if not line.strip() or _SPHINX.match(line) or _section(line, following):
            break
        if index and _parameter_line(line, names):
            break
        taken.append(line.rstrip())
    return "\n".join(taken) or NO_DESCRIPTION


def parameter_texts(doc: str, names: Collection[str]) -> dict[str, str]:
    """The description of each parameter in `names` that a cleaned docstring describes, on one line each."""
    return read_parameters(doc, names)[0]


def read_parameters(doc: str, names: Collection[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The same, and what else its sections of parameters describe: names that no parameter has."""
    if not doc or not names:
        return {}, ()
    found: dict[str, str] = {}
    strangers: dict[str, None] = {}
    for style in _styles(doc):
        for name, text in _sections(doc, style):
            name = name.lstrip("*")
            if name not in names:
                strangers[name] = None
            elif text:
                found.setdefault(name, text)
    for name, text in _plain_lines(doc, names):
        if text:
            found.setdefault(name, text)
    return found, tuple(name for name in strangers if name.isidentifier())


def _styles(doc: str) -> Iterator[Style]:
    """The styles a docstring has sections of, most telling first."""
    lines = doc.split("\n")
    headers = [
        (line.strip(), bool(_UNDERLINE.match(following)))
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
        if line.strip().rstrip(":").lower() in PARAMETER_HEADERS
    ]
    if any(underlined for _, underlined in headers):
        yield "numpy"
    if _SPHINX.search(doc):
        yield "sphinx"
    if any(title.endswith(":") for title, _ in headers):
        yield "google"


def _sections(doc: str, style: Style) -> Iterator[tuple[str, str]]:
    import griffe

    text = _spaced(doc) if style == "google" else doc
    docstring = griffe.Docstring(text, lineno=1)
    try:
        if style == "numpy":
            sections = griffe.parse_numpy(docstring, warnings=False)
        elif style == "sphinx":
            sections = griffe.parse_sphinx(docstring, warnings=False)
        else:
            sections = griffe.parse_google(docstring, warnings=False)
    except Exception:  # a docstring that breaks the parser still has its plain lines
        return
    for section in sections:
        if isinstance(section, griffe.DocstringSectionParameters | griffe.DocstringSectionOtherParameters):
            for parameter in section.value:
                yield parameter.name, _joined(parameter.description)


def _spaced(doc: str) -> str:
    """A blank line before each Google header, which the parser wants and people leave out."""
    lines: list[str] = []
    for line in doc.split("\n"):
        if lines and lines[-1].strip() and not line[:1].isspace() and _section(line, ""):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def _plain_lines(doc: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """`name: text` lines outside of sections about other things, with the deeper lines that follow."""
    lines = [(line, following) for line, following in zip(doc.split("\n"), [*doc.split("\n")[1:], ""], strict=True)]
    elsewhere: _Elsewhere | None = None
    fenced = False
    index = 0
    while index < len(lines):
        line, following = lines[index]
        index += 1
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if section := _section(line, following):
            elsewhere = None if section in PARAMETER_HEADERS else _Elsewhere(line)
            continue
        if elsewhere and elsewhere.ends_before(line):
            elsewhere = None
        found = None if elsewhere or fenced else _parameter_line(line, names)
        if not found:
            continue
        text = [found["text"] or ""]
        while index < len(lines) and lines[index][0].strip() and _indent(lines[index][0]) > len(found["indent"]):
            if _parameter_line(lines[index][0], names):
                break
            text.append(lines[index][0])
            index += 1
        yield found["name"].lstrip("*"), _joined("\n".join(text))


class _Elsewhere:
    """A section about something else than parameters; one with a colon ends where its indented block does."""

    def __init__(self, header: str) -> None:
        self._depth = _indent(header) if header.rstrip().endswith(":") else -1
        self._deeper = False

    def ends_before(self, line: str) -> bool:
        if not line.strip() or self._depth < 0:
            return False
        if _indent(line) > self._depth:
            self._deeper = True
        return self._deeper and _indent(line) <= self._depth


def _parameter_line(line: str, names: Collection[str]) -> re.Match[str] | None:
    found = _LINE.match(line)
    return found if found and found["name"].lstrip("*") in names else None


def _section(line: str, following: str) -> str:
    """The section a line opens, in lower case, or nothing. NumPy's are underlined, Google's end in a colon."""
    title = _HEADER.match(line)
    if title is None:
        return ""
    name = title[2].strip().lower()
    if name not in PARAMETER_HEADERS and name not in OTHER_HEADERS:
        return ""
    marked = ":" in line or "#" in line or _UNDERLINE.match(following) or title[1]
    return name if marked else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(text: str) -> str:
    return " ".join(text.split())
