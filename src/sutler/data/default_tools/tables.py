"""Reading data files as data, so that a program need not parse text."""

from __future__ import annotations

import csv
import itertools
import json
from typing import Any

from ._guard import file_to_read
from .files import WHOLE_FILE_BYTES, encoding_of, not_text


def read_json(path: str) -> Any:
    """The value in a JSON file."""
    found = file_to_read(path)
    size = found.stat().st_size
    if size > WHOLE_FILE_BYTES:
        raise ValueError(f"{path} holds {size:,} bytes; the most that is read at once is {WHOLE_FILE_BYTES:,}")
    try:
        return json.loads(found.read_bytes())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except UnicodeDecodeError as error:
        raise ValueError(not_text(path, size, error)) from None


def read_csv(path: str, delimiter: str = ",", start_row: int = 1, max_rows: int = 1_000) -> dict[str, Any]:
    """Rows of a CSV file as dicts of text under the names in its first line. Row 1 is the first after that line.

    A name that stands twice, or none, gets the column's number; fields beyond the names are under `_extra`.
    """
    if start_row < 1 or max_rows < 0:
        raise ValueError("start_row counts from 1 and max_rows cannot be negative")
    if len(delimiter) != 1:
        raise ValueError(f"delimiter is one character, not {delimiter!r}")
    found = file_to_read(path)
    rows: list[dict[str, Any]] = []
    try:
        with found.open(encoding=encoding_of(found, "utf-8"), newline="") as file:
            lines = (fields for fields in csv.reader(file, delimiter=delimiter) if fields)
            columns = column_names(next(lines, list[str]()))
            for fields in itertools.islice(lines, start_row - 1, None):
                if len(rows) == max_rows:
                    return {"columns": columns, "rows": rows, "truncated": True}
                row: dict[str, Any] = dict(itertools.zip_longest(columns, fields[: len(columns)], fillvalue=""))
                if len(fields) > len(columns):
                    row["_extra"] = fields[len(columns) :]
                rows.append(row)
    except UnicodeDecodeError as error:
        raise ValueError(not_text(path, found.stat().st_size, error)) from None
    except csv.Error as error:
        raise ValueError(f"{path} is not CSV: {error}") from None
    return {"columns": columns, "rows": rows, "truncated": False}


def column_names(fields: list[str]) -> list[str]:
    names: list[str] = []
    for number, field in enumerate(fields, start=1):
        name = field.strip() or f"column_{number}"
        names.append(f"{name}_{number}" if name in names else name)
    return names
