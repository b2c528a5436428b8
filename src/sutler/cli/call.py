"""`sutler call`: one tool, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import pairs, read_object, read_text, takes_stdin
from .context import Cli
from .documents import call_document
from .exits import OK, of_failure
from .find import find
from .wording import failure_words, repair_words

if TYPE_CHECKING:
    from ..runtime import SyncRuntime
    from ..spec import ToolResult


def call(
    cli: Cli,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A tool, by any of its names.", show_default=False)],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=VALUE",
            help="Arguments: name=value, name:=JSON, name=@file (- is stdin).",
            show_default=False,
        ),
    ] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="All arguments as one JSON object; - reads stdin.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show a long output whole on a terminal.")] = False,
) -> int:
    """Call one tool. Its output goes to standard output; repairs, notes and what it printed to standard error."""
    typed = arguments or []
    runtime = cli.open(runs=True, asks=not takes_stdin(typed, args))
    row = find(runtime.inventory(), name, cli.config())
    given = _given(args, typed, row.spec.input_schema)
    result = _called(cli, runtime, row.spec.qualified, given)
    if cli.out.as_json:
        cli.out.document(call_document(row.spec.qualified, result))
    else:
        _tell(cli, result)
        if result.success or result.output not in (None, {}):
            cli.out.value(result.output, full=full)
    if result.error is None:
        return OK
    cli.out.error(failure_words(result.error, result.traceback))
    cli.tell_how_to_allow(str(result.error))
    return of_failure(result.error)


def _called(cli: Cli, runtime: SyncRuntime, name: str, given: dict[str, Any] | str) -> ToolResult:
    assert cli.progress is not None
    cli.progress.start()
    try:
        return runtime.call(name, given)
    finally:
        cli.progress.stop()


def _tell(cli: Cli, result: ToolResult) -> None:
    """What happened beside the output."""
    for repair in result.repairs:
        cli.out.note(repair_words(repair))
    for note in result.notes:
        cli.out.note(note)
    cli.out.printed(result.stdout)


def _given(args: str | None, arguments: list[str], schema: Any) -> dict[str, Any] | str:
    """The arguments as the binder gets them: the text of --args as it is, unless others go on top of it."""
    text = read_text("-", "--args") if args == "-" else args
    if text is None:
        return pairs(arguments, schema)
    return {**read_object(text), **pairs(arguments, schema)} if arguments else text
