"""Rows into a SQLite database of the workspace, and tables out of it as Markdown."""

import sqlite3
from contextlib import closing

from sutler import resolve_safe_path, tool

TOOL_LIBRARY_NAME = "Facts database"
TOOL_LIBRARY_DESC = "Loads rows into SQLite and writes Markdown tables."
TOOL_LIBRARY_ICON = "🗄️"


@tool(read_only=False, destructive=False, idempotent=True, open_world=False)
def load_rows(database: str, table: str, rows: list[dict[str, str | int | float | bool | None]]) -> dict:
    """
    Loads rows into a table, replacing what it held; the columns are the keys of the first row.

    Args:
        database (str): The SQLite file, in the workspace.
        table (str): The table's name: letters, digits and underscores.
        rows (list): One dict a row, all with the same keys.
    """
    if not table.isidentifier():
        return {"success": False, "error": f"{table!r} is no table name: use letters, digits and underscores"}
    if not rows:
        return {"success": False, "error": "there are no rows to load"}
    columns = list(rows[0])
    names = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
    marks = ", ".join("?" for _ in columns)
    with closing(sqlite3.connect(resolve_safe_path(database))) as connection, connection:
        connection.execute(f'DROP TABLE IF EXISTS "{table}"')
        connection.execute(f'CREATE TABLE "{table}" ({names})')
        connection.executemany(
            f'INSERT INTO "{table}" VALUES ({marks})', [[row.get(column) for column in columns] for row in rows]
        )
    return {"success": True, "output": {"table": table, "rows": len(rows), "columns": columns}}


@tool(read_only=True, open_world=False)
def markdown_table(rows: list[dict], columns: list[str] | None = None) -> str:
    """
    Writes rows as a Markdown table.

    Args:
        rows (list): One dict a row.
        columns (list): Which keys to show, in order; all of the first row's when left out.
    """
    columns = columns or (list(rows[0]) if rows else [])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(row.get(column, "")) for column in columns) + " |" for row in rows]
    return "\n".join(lines)
