"""How a command speaks: its answer on standard output, all else on standard error."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO, TextIO

from .text import count, tame, visible

_HEAD, _TAIL = 120, 40  # lines of a long output that a terminal shows
_LONG = 20_000  # characters


class Out:
    """as_json: the answer is one JSON document. own: the claimed standard output, else sys.stdout is used.

    A person is one who reads on a terminal: then tables are drawn, and what could harm the terminal is made visible.
    """

    def __init__(self, *, as_json: bool = False, own: BinaryIO | None = None) -> None:
        self.as_json = as_json
        self.answered = False
        self._errors = sys.stderr
        self._stream: TextIO = sys.stdout
        if own is not None:
            encoding = "utf-8" if as_json else getattr(sys.stdout, "encoding", None) or "utf-8"
            self._stream = io.TextIOWrapper(own, encoding=encoding, errors="backslashreplace", newline="\n")
        self.person = self._stream.isatty()

    def fileno(self) -> int:
        """The descriptor of the answer, for a face that speaks a protocol there instead."""
        self._stream.flush()
        return self._stream.fileno()

    def line(self, text: str = "") -> None:
        """A line of our own words, which may quote a tool's, as part of the answer."""
        self._write(f"{visible(text)}\n")

    def value(self, value: Any, *, full: bool = False) -> None:
        """A tool's or program's value: text as it is, else JSON. A terminal gets head and tail of a long one."""
        if value is None:
            return
        if isinstance(value, str):
            text = value
        else:
            from ..results import json_text

            text = json_text(value, indent=2)[0]
        if self.person:
            text = tame(text if full else _shortened(text))
        self._write(text if text.endswith("\n") or not text else f"{text}\n")

    def document(self, document: Any) -> None:
        """The one JSON document of --json."""
        from ..results import json_text

        self.answered = True
        self._write(f"{json_text(document, indent=2 if self.person else None)[0]}\n")

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]], *, aside: bool = False) -> None:
        """Rows for a person as a table; for a program one line each, fields apart by tabs. aside: on standard error."""
        stream = self._errors if aside else self._stream
        if stream.isatty():
            text = _drawn(headers, rows, stream)
        else:
            text = "".join("\t".join(_field(cell) for cell in row) + "\n" for row in rows)
        stream.write(text)
        stream.flush()

    def say(self, text: str) -> None:
        """One line or more beside the answer."""
        self._errors.write(f"{visible(text)}\n")
        self._errors.flush()

    def note(self, text: str) -> None:
        self.say(f"note: {text}")

    def error(self, text: str) -> None:
        self.say(f"error: {text}")

    def printed(self, text: str) -> None:
        """What a tool printed while it ran: shown beside the answer."""
        if text:
            self.say(tame(text).removesuffix("\n"))

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _drawn(headers: Sequence[str], rows: Sequence[Sequence[str]], stream: TextIO) -> str:
    """A table as rich draws it for this stream's terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, header in enumerate(headers):
        table.add_column(header, overflow="fold", no_wrap=number == 0 and len(headers) > 2)
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    console = Console(file=stream, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def _field(cell: str) -> str:
    return visible(cell).replace("\t", " ").replace("\n", " ")


def _shortened(text: str) -> str:
    lines = text.splitlines()
    if len(text) <= _LONG and len(lines) <= _HEAD + _TAIL + 10:
        return text
    if len(lines) > _HEAD + _TAIL + 10:
        left = len(lines) - _HEAD - _TAIL
        text = "\n".join([*lines[:_HEAD], f"... {count(left, 'line')} left out; --full shows all ...", *lines[-_TAIL:]])
    if len(text) <= _LONG:
        return text
    head, tail = _LONG * 2 // 3, _LONG // 3
    return f"{text[:head]}\n... {len(text) - head - tail:,} characters left out; --full shows all ...\n{text[-tail:]}"
