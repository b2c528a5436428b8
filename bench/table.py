"""A plain table, for figures."""

from __future__ import annotations

from collections.abc import Sequence


def show(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a Markdown table; floats with three digits that count."""
    cells = [list(heads), *[[_text(cell) for cell in row] for row in rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    print(f"\n### {title}\n")
    for number, row in enumerate(cells):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def _text(cell: object) -> str:
    return (
        f"{cell:.3g}"
        if isinstance(cell, float) and abs(cell) < 100
        else f"{cell:.0f}"
        if isinstance(cell, float)
        else str(cell)
    )
