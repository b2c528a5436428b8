"""`sutler audit`: what was decided, called and changed here, and whether the log is as it was written (POL-07)."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, cast

import typer

from ..store import AuditCheck, AuditFilter, AuditRecord
from .context import Cli
from .exits import FAILED, OK, Refused
from .runs import read_store
from .text import lasting, one_line, when

Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="How many at most.")]
Kind = Annotated[
    str | None,
    typer.Option("--kind", metavar="KIND", help="call, run, decision or change, or a whole kind.", show_default=False),
]
ToolName = Annotated[
    str | None, typer.Option("--tool", metavar="NAME", help="Of this tool, or of all of a source.", show_default=False)
]
Run = Annotated[str | None, typer.Option("--run", metavar="ID", help="Of this run.", show_default=False)]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Since 30m, 12h or 7d ago, or a date and time.", show_default=False),
]
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_SHOWN = 100


def list_lines(
    cli: Cli, limit: Limit = 30, kind: Kind = None, tool: ToolName = None, run: Run = None, since: Since = None
) -> int:
    """List what was decided, called and changed in this project, newest first."""
    try:
        which = AuditFilter(kind=kind, tool=tool, run_id=run, since=None if since is None else _since(since))
    except ValueError as error:
        raise Refused(f"--kind: {error}") from None
    lines = read_store(cli, lambda store: store.audit(which, limit), [])
    if cli.out.as_json:
        cli.out.document({"lines": [_document(line) for line in lines], "store": str(cli.store_path())})
        return OK
    rows = [(str(line.id), when(line.at), line.kind, line.tool or line.run_id or "", _words(line)) for line in lines]
    cli.out.table(("line", "when", "what", "of", "how"), rows)
    if not lines:
        cli.out.say(f"there is no such line in the log ({cli.store_path()})")
    return OK


def show(
    cli: Cli, number: Annotated[int, typer.Argument(metavar="LINE", help="The number of a line.", show_default=False)]
) -> int:
    """Show one line of the log whole; a call's arguments while its record is kept."""
    lines = read_store(cli, lambda store: store.audit(AuditFilter(), 1, number=number), [])
    if not lines:
        raise Refused(f"there is no line {number} in the log of this project; `sutler audit` lists them")
    line = lines[0]
    if cli.out.as_json:
        cli.out.document(_document(line))
        return OK
    cli.out.line(f"{line.id}  {when(line.at)}  {line.kind}  {line.tool}".rstrip())
    if line.run_id is not None:
        cli.out.line(f"run {line.run_id}")
    for name, value in line.data.items():
        cli.out.line()
        cli.out.line(name)
        cli.out.value(value, full=True)
    cli.out.line()
    cli.out.line(f"hash {line.hash}")
    return OK


def verify(
    cli: Cli,
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="HASH", help="A hash that an earlier check gave.", show_default=False),
    ] = None,
) -> int:
    """Check that no line of the log, and no record that a line is of, was altered or taken out.

    Gives the hash of the last line. Who may write the file could write a whole new log: keep the hash elsewhere, and
    give it as --head later.
    """
    checked = read_store(cli, lambda store: store.verify_audit(head), AuditCheck())
    if cli.out.as_json:
        cli.out.document(
            {
                "intact": not checked.problems,
                "lines": checked.lines,
                "head": checked.head,
                "let_go": checked.let_go,
                "problems": list(checked.problems),
                "store": str(cli.store_path()),
            }
        )
    else:
        for problem in checked.problems:
            cli.out.line(problem)
        if not checked.problems:
            cli.out.line(f"{checked.lines} lines, as they were written; the last has the hash {checked.head}".rstrip())
    if checked.let_go:
        cli.out.say(f"{checked.let_go} records are no longer kept, as [store] says")
    return FAILED if checked.problems else OK


def _since(given: str) -> float:
    """Seconds since the epoch."""
    ago = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", given.strip())
    if ago is not None:
        return time.time() - float(ago.group(1)) * _SECONDS[ago.group(2)]
    try:
        return datetime.fromisoformat(given.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise Refused(f"--since {given!r}: write 30m, 12h or 7d, or a date such as 2030-01-31T12:00") from None


def _document(line: AuditRecord) -> dict[str, Any]:
    return {
        "line": line.id,
        "at": line.at,
        "kind": line.kind,
        "tool": line.tool,
        "run_id": line.run_id,
        "data": dict(line.data),
        "hash": line.hash,
    }


def _words(line: AuditRecord) -> str:
    """What is most worth knowing of a line, in one."""
    data: Mapping[str, Any] = line.data
    parts: list[str] = []
    if "outcome" in data:
        parts.append(f"{data['outcome']}, {lasting(data.get('duration', 0.0))}")
    decision = data.get("decision")
    if isinstance(decision, Mapping):
        said = cast("Mapping[str, Any]", decision)
        parts.append(f"{said['outcome']} by {said['by']}" if said["by"] else str(said["outcome"]))
    elif decision is not None:
        parts.append(f"{decision} by {data.get('by') or 'nobody'}")
    parts += [str(data[name]) for name in ("status", "what", "error", "reason") if data.get(name)]
    if not parts:
        parts = [f"{name} {value}" for name, value in data.items() if name != "arguments"]
    return one_line("; ".join(parts), _SHOWN)
