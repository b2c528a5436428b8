"""What tool libraries take from `lollms_client.lollms_artefact.data_files`: a table as Markdown."""

from __future__ import annotations

from typing import Any

__all__ = ["_dataframe_to_markdown"]


def _dataframe_to_markdown(df: Any) -> str:  # pyright: ignore[reportUnusedFunction]  # its name is what they import
    """A pandas DataFrame as a Markdown table; anything else as its text."""
    if not (hasattr(df, "columns") and hasattr(df, "itertuples")):
        return str(df)
    columns = [_cell(name) for name in df.columns]
    rows = [[_cell(value) for value in row] for row in df.itertuples(index=False, name=None)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows))


def _cell(value: Any) -> str:
    if value is None or value != value:  # NaN
        return ""
    return str(value).replace("|", "\\|").replace("\r", "").replace("\n", " ")
