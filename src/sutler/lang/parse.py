"""From text to a syntax tree of bounded size, or one problem in plain words. Never raises on any text."""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from .model import Problem

T = TypeVar("T")

MAX_BYTES = 64 * 1024
MAX_DEPTH = (
    100  # the engine's own parser stops a little below 200; ours must fit into what the caller left of the stack
)

_ONE_AT_A_TIME = threading.Lock()  # warnings.catch_warnings changes process-wide state


@dataclass(frozen=True, slots=True)
class Source:
    """A program with plain newlines and no byte order mark; columns of the tree are bytes of UTF-8."""

    text: str
    lines: tuple[bytes, ...]
    tree: ast.Module

    def column(self, node: ast.AST) -> int:
        """The node's column in characters, from 1."""
        line = getattr(node, "lineno", 1)
        offset = getattr(node, "col_offset", 0)
        if not 0 < line <= len(self.lines):
            return 1
        return len(self.lines[line - 1][:offset].decode("utf-8", "replace")) + 1

    def segment(self, node: ast.AST, limit: int = 120) -> str:
        """The node's own text as one line, for messages; cut with `...`. Costs no more than `limit` allows."""
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)
        if not 0 < first <= last <= len(self.lines):
            return "..."
        pieces: list[bytes] = []
        for number in range(first, min(last, first + limit) + 1):
            line = self.lines[number - 1]
            pieces.append(line[start if number == first else 0 : end if number == last else None][: 4 * limit])
        text = " ".join(b" ".join(pieces).decode("utf-8", "replace").split())
        return text if len(text) <= limit else text[: limit - 3] + "..."

    def exact(self, node: ast.expr) -> str:
        """The node's own text, whole."""
        first, last = node.lineno, node.end_lineno or node.lineno
        lines = list(self.lines[first - 1 : last])
        if not lines:
            return ""
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"\n".join(lines).decode("utf-8", "replace")

    def problem(self, node: ast.AST, message: str, rewrite: str = "") -> Problem:
        return Problem(line=getattr(node, "lineno", 1), column=self.column(node), message=message, rewrite=rewrite)


def parse(text: str) -> Source | Problem:
    """The tree of `text`, or why there is none."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    refused = _unreadable(plain)
    if refused is not None:
        return refused
    try:
        tree = quietly(lambda: ast.parse(plain))
    except SyntaxError as error:
        return _syntax(plain, error)
    except (RecursionError, MemoryError):
        return too_deep(1)
    except (ValueError, OverflowError) as error:
        return Problem(line=1, column=1, message=f"the program cannot be read ({error})")
    line = _depth(tree)
    if line is not None:
        return too_deep(line)
    source = Source(plain, tuple(line.encode() for line in plain.split("\n")), tree)
    return (None if plain.isascii() else _confusable(source)) or source


def quietly(work: Callable[[], T]) -> T:
    """Run a parser or compiler without its warnings: they are about style, and would go to the host's stderr."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return patiently(work)


def patiently(work: Callable[[], T]) -> T:
    """Run a parser again that another thread's has put off: CPython counts the depth of both in one place, and says
    SystemError when it does not come out even."""
    for _ in range(_TRIES):
        try:
            return work()
        except SystemError:
            continue
    return work()


_TRIES = 50
_UNREADABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def _unreadable(text: str) -> Problem | None:
    match = _UNREADABLE.search(text)
    if match is not None:
        at, character = match.start(), match.group()
        if character == "\0":
            words = "a null byte"
        elif character >= "\ud800":
            words = "half a character (a lone surrogate)"
        else:
            words = "a control character"
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        instead = f"the line without it, or {ascii(character)[1:-1]} inside quotes"
        return Problem(line=line, column=column, message=f"the text holds {words}", rewrite=instead)
    size = len(text.encode())
    if size > MAX_BYTES:
        return Problem(
            line=1,
            column=1,
            message=f"the program is {size:,} bytes long and {MAX_BYTES:,} is the most",
            rewrite="a shorter program that gets its data from a tool or a parameter",
        )
    return None


def too_deep(line: int) -> Problem:
    return Problem(
        line=line,
        column=1,
        message="this is nested too deeply to be checked",
        rewrite="a few short lines with names for the parts; a list and ''.join(parts) or sum(parts) for a long chain",
    )


def _depth(tree: ast.AST) -> int | None:
    """The line where nesting passes MAX_DEPTH, found without recursion."""
    stack: list[tuple[ast.AST, int]] = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            return getattr(node, "lineno", 1)
        # The engine nests `a and b and c` where Python keeps one flat list.
        below = depth + (len(node.values) if isinstance(node, ast.BoolOp) else 1)
        line = getattr(node, "lineno", None)
        for child in ast.iter_child_nodes(node):
            if line is not None and not hasattr(child, "lineno") and not isinstance(child, ast.expr_context):
                child.lineno = line  # type: ignore[attr-defined]
            stack.append((child, below))
    return None


_FENCE = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)
_HINTS: tuple[tuple[str, str, str], ...] = (
    (r"^\s*(```|~~~)", "the lines with ``` are not part of the program", "the program alone, without ``` lines"),
    ("[\u201c\u201d\u2018\u2019]", "curly quotes are not quotes to Python", "plain quotes: \" or '"),
    (r"^\s*else\s+if\b", "there is no `else if`", "elif condition:"),
    (r"(\+\+|--)\s*($|[;)#])", "there is no ++ or --", "i += 1"),
    (r"&&|\|\|", "&& and || are written as words", "a and b, a or b"),
    (r"(^|[\s(])!(?!=)", "! is written as a word", "not x"),
    (r"^\s*(const|let|var)\s+\w+", "variables need no keyword", "name = value"),
    (r"^\s*function\b", "functions begin with def", "def name(a, b):"),
    (r"=>", "there is no =>", "def name(a): return ..."),
    (r"^\s*(def|class)\s+\w+\s*\[", "type parameters cannot be read here", "the definition without [...]"),
    (r"^\s*type\s+\w+\s*(\[.*\])?\s*=", "type aliases are not part of the language", "the program without this line"),
    (r"\b[tT][rR]?[\"']", "t-strings are not part of the language", 'an f-string: f"..."'),
    (r"^\s*[A-Za-z_]\w*\s*:=", "an assignment of its own uses =", "name = value"),
)


def _syntax(text: str, error: SyntaxError) -> Problem:
    lines = text.split("\n")
    number = min(max(error.lineno or 1, 1), len(lines))
    said = (error.msg or "this is not Python").rstrip(".")
    message, rewrite = said[0].lower() + said[1:] if said[1:2].islower() else said, ""
    said, _, meant = said.partition(". Did you mean ")
    message, rewrite = message.partition(". Did you mean ")[0], meant.rstrip("?")
    if "nested parentheses" in said or "too many levels" in said or "parser stack" in said:
        return too_deep(number)
    if "f-string" in said:
        message = f"this f-string cannot be read ({said})"
        rewrite = 'the value in a variable first, then f"{name}"; or other quotes inside the braces, and no backslash'
    elif "never closed" in said or "unexpected EOF" in said or "unterminated" in said:
        rewrite = (
            "the whole line with its closing bracket or quote"
            if "unterminated" not in said
            else ("text on one line in quotes that it does not contain, or in triple quotes")
        )
    elif "integer string conversion" in said:
        message, rewrite = "this number has too many digits", "a computation, for example 10 ** 5000"
    elif isinstance(error, IndentationError):
        rewrite = "four spaces for each level, and none for the outermost lines"
    else:
        shown = lines[number - 1][:200]  # some of the patterns are quadratic
        fence = _FENCE.search(text)
        hint = next((hint for hint in _HINTS if re.search(hint[0], shown)), None)
        if hint is not None:
            message, rewrite = hint[1:]
        elif fence is not None:
            number = text.count("\n", 0, fence.start()) + 1
            message, rewrite = _HINTS[0][1:]
        elif message == "invalid syntax":
            message = f"this line is not Python ({said}{_at(lines[number - 1], error)}): {' '.join(shown.split())[:80]}"
    column = min(max(error.offset or 1, 1), len(lines[number - 1]) + 1)
    return Problem(line=number, column=column, message=message, rewrite=rewrite)


def _at(line: str, error: SyntaxError) -> str:
    """Where in its line Python stopped."""
    rest = line[max((error.offset or 1) - 1, 0) :].strip()
    if not rest or rest.startswith("#"):
        return " at its end"
    found = re.match(r"\w+|\W", rest)
    return f" at {found.group()[:40]!r}" if found else ""


def _confusable(source: Source) -> Problem | None:
    """Python folds look-alike letters in names, so a name could read unlike what it does."""
    import io
    import tokenize  # like the others, needed only by programs that are not ASCII
    import unicodedata

    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source.text).readline))
    except (tokenize.TokenError, SyntaxError):
        tokens = []
    for token in tokens:
        names: list[str] = []
        if token.type == tokenize.NAME:
            names = [token.string]
        elif token.type == tokenize.STRING and "f" in token.string[:2].lower():
            for inside in re.findall(r"\{([^{}]*)", token.string):
                names += re.findall(r"\w+", re.sub(r"'[^']*'|\"[^\"]*\"", "", inside))
        for name in names:
            folded = unicodedata.normalize("NFKC", name)
            if folded != name and folded.isidentifier():
                line, column = token.start
                message = f"the name {name!r} is written with look-alike letters"
                return Problem(line=line, column=column + 1, message=message, rewrite=folded)
    return None
