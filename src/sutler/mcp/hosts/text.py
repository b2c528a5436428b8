"""A host's file as text, whatever encoding its editor chose, and back again (MCP-02)."""

from __future__ import annotations

import codecs
from pathlib import Path

MOST_BYTES = 64_000_000  # one host keeps its whole history in the file that also holds its servers
SMALL = 1_000_000  # of a file that holds variables or one token

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def read(path: Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a config file. OSError as it comes; ValueError when it is no regular file or too large."""
    if not path.exists():
        raise FileNotFoundError(2, "there is no such file", str(path))
    if not path.is_file():
        raise ValueError("is no regular file")
    with path.open("rb") as opened:
        data = opened.read(most + 1)
    if len(data) > most:
        raise ValueError(f"is larger than {most:,} bytes")
    return data


def decode(data: bytes) -> tuple[str, bytes, str]:
    """The text, the byte order mark it had, and its encoding. ValueError says which byte fits none."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding), mark, encoding
    try:
        return data.decode(), b"", "utf-8"
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"byte 0x{data[error.start]:02x} on line {line} is not UTF-8") from None


def encode(text: str, mark: bytes, encoding: str) -> bytes:
    return mark + text.encode(encoding)
