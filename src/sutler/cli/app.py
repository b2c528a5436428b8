"""The tree of commands: every name, option and example of the command line stands here or in the function it names."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ..policy.levels import Level
from . import (
    approvals,
    audit,
    call,
    doctor,
    importing,
    init,
    install,
    login,
    policy,
    program,
    runs,
    serve,
    tools,
    trusting,
    waiting,
)
from .context import Cli, Given
from .help import PlainCommand
from .report import report

Command = Callable[..., int]

SHARED: dict[str, Any] = {
    "config": Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="PATH", help="This sutler.toml, trusted; else the nearest upward.", show_default=False
        ),
    ],
    "workspace": Annotated[
        Path | None,
        typer.Option(
            "--workspace", metavar="DIR", help="The folder that tools work in; else the config's.", show_default=False
        ),
    ],
    "policy": Annotated[
        Level | None,
        typer.Option("--policy", help="What may run without asking; else the config's.", show_default=False),
    ],
    "as_json": Annotated[bool, typer.Option("--json", help="Answer with one JSON document on standard output.")],
}

EXAMPLES = """\
  sutler init
  sutler call tool_count_words text="one fish two fish"
  sutler run -c 'tool_count_words("one fish two fish")'"""

_SETTINGS = {"help_option_names": ["--help", "-h"], "max_content_width": 100}


def _typer(**more: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=_SETTINGS,
        **more,
    )


def _shown(examples: str) -> str:
    """Examples as a paragraph that help does not wrap."""
    return f"Examples:\n\n\b\n{examples}"


def _own(command: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a command beside the first, which is the Cli."""
    return list(inspect.signature(command).parameters.values())[1:]


def _signature(command: Callable[..., Any]) -> inspect.Signature:
    """What typer reads: the context, the command's own parameters, then those of every command."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("ctx", kind, annotation=typer.Context)]
    hints = get_type_hints(command, include_extras=True)
    parameters += [one.replace(kind=kind, annotation=hints[one.name]) for one in _own(command)]
    for name, hint in SHARED.items():
        parameters.append(inspect.Parameter(name, kind, annotation=hint, default=False if name == "as_json" else None))
    return inspect.Signature(parameters)


def _present(fn: Callable[..., None], signature: inspect.Signature) -> Callable[..., None]:
    fn.__signature__ = signature  # type: ignore[attr-defined]  # where inspect looks first
    fn.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    return fn


def _take(ctx: typer.Context, values: dict[str, Any]) -> Given:
    """The common options as they stand now: these over those further left on the line."""
    deeper = Given(**{name: values.pop(name) for name in SHARED})
    return (ctx.obj or Given()).over(deeper)


def carry_out(command: Command, given: Given, values: dict[str, Any]) -> int:
    """Runs one command, says what went wrong with it, and gives the exit code."""
    cli = Cli(given)
    try:
        code = command(cli, **values)
    except BaseException as error:
        cli.hush()
        code = report(error, cli.out)
    try:
        cli.close()
    except BaseException as error:
        closing = report(error, cli.out)
        code = code or closing
    return code


def _add(group: typer.Typer, name: str, command: Command, short: str, examples: str) -> None:
    """Hangs a command into the tree. short: what the list of commands says of it, in one line."""

    def run(ctx: typer.Context, **values: Any) -> None:
        given = _take(ctx, values)
        raise typer.Exit(carry_out(command, given, values))

    made = group.command(
        name, cls=PlainCommand, help=inspect.getdoc(command), short_help=short, epilog=_shown(examples)
    )
    made(_present(run, _signature(command)))


def _add_group(name: str, summary: str, bare: Command, examples: str) -> typer.Typer:
    """A command with commands of its own; alone it is `bare`."""

    def run(ctx: typer.Context, **values: Any) -> None:
        given = _take(ctx, values)
        ctx.obj = given
        if ctx.invoked_subcommand is None:
            raise typer.Exit(carry_out(bare, given, values))
        if any(values[one.name] != one.default for one in _own(bare)):
            raise typer.BadParameter(f"options of {ctx.invoked_subcommand} stand after it", ctx)

    group = _typer()
    group.callback(invoke_without_command=True, epilog=_shown(examples))(_present(run, _signature(bare)))
    app.add_typer(group, name=name, help=summary)
    return group


def _print_version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"sutler {__version__}")
        raise typer.Exit


def _root(
    cli: Cli,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> int:
    """Finds tools in many places, and calls one of them or runs a small program that composes many."""
    return 0


def _start(ctx: typer.Context, **values: Any) -> None:
    values.pop("version")
    ctx.obj = _take(ctx, values)
    if ctx.invoked_subcommand is None:
        typer.echo(SHORT)
        raise typer.Exit


SHORT = f"""\
Sutler finds tools in many places, and calls one of them or runs a small program that composes many.

{EXAMPLES}

`sutler --help` lists the commands, `sutler COMMAND --help` explains one, `sutler doctor` explains trouble."""

app = _typer()
app.callback(invoke_without_command=True, help=inspect.getdoc(_root), epilog=_shown(EXAMPLES))(
    _present(_start, _signature(_root))
)

_add(app, "init", init.init, "Start: write a sutler.toml and a tools/ folder.", "  sutler init\n  sutler init words")
_tools = _add_group(
    "tools",
    "Look at the tools: list, show, search, why. Alone: list.",
    tools.list_tools,
    "  sutler tools\n  sutler tools search count words\n  sutler tools why tool_count_words",
)
_add(_tools, "list", tools.list_tools, "One line a tool.", "  sutler tools list\n  sutler tools list --all --json")
_add(
    _tools,
    "show",
    tools.show,
    "All there is to know of one tool.",
    "  sutler tools show tool_count_words\n  sutler tools show text_stats::tool_count_words",
)
_add(_tools, "search", tools.search, "Find tools by words.", "  sutler tools search count words")
_add(_tools, "why", tools.why, "Why a tool has its name, grade and policy.", "  sutler tools why tool_count_words")
_add(
    app,
    "call",
    call.call,
    "Call one tool.",
    """\
  sutler call tool_count_words text="one fish two fish" top=3
  sutler call tool_count_words text=@notes.txt
  sutler call tool_count_words --args '{"text": "one fish"}' --json""",
)
_add(
    app,
    "check",
    program.check,
    "Say whether a program would start, and what is wrong.",
    "  sutler check program.py\n  sutler check -c 'tool_count_words(text)' --param text=hello",
)
_add(
    app,
    "plan",
    program.plan,
    "Show what a program may call, without running it.",
    "  sutler plan program.py\n  sutler plan program.py --json --policy strict",
)
_add(
    app,
    "run",
    program.run,
    "Run a program.",
    """\
  sutler run program.py
  sutler run -c 'tool_count_words(text, top=1)' --param text=@notes.txt
  sutler run - --tools tool_count_words --level calls --trace < program.py
  sutler run program.py --wait""",
)
_runs = _add_group(
    "runs",
    "What was run here: list, show, resume, cancel. Alone: list.",
    runs.list_runs,
    "  sutler runs\n  sutler runs show 4f1c",
)
_add(
    _runs,
    "list",
    runs.list_runs,
    "The runs of this project, newest first.",
    "  sutler runs list --limit 5 --status failed\n  sutler runs list --calls",
)
_add(
    _runs,
    "show",
    runs.show,
    "One run, or one call, as it went.",
    "  sutler runs show 4f1c0a9be210\n  sutler runs show 4f1c --json",
)
_audit = _add_group(
    "audit",
    "What was decided, called and changed: list, show, verify. Alone: list.",
    audit.list_lines,
    "  sutler audit\n  sutler audit --kind decision --since 7d\n  sutler audit verify",
)
_add(
    _audit,
    "list",
    audit.list_lines,
    "The lines of the log, newest first.",
    "  sutler audit list --tool tool_count_words\n  sutler audit list --kind change --json",
)
_add(_audit, "show", audit.show, "One line whole.", "  sutler audit show 12\n  sutler audit show 12 --json")
_add(
    _audit,
    "verify",
    audit.verify,
    "Whether the log is as it was written.",
    "  sutler audit verify\n  sutler audit verify --head 7d1f...",
)
_add(
    _runs,
    "resume",
    waiting.resume,
    "Let a run go on that waits for a person.",
    "  sutler runs resume 4f1c0a9be210",
)
_add(_runs, "cancel", waiting.cancel, "End a run that waits for a person.", "  sutler runs cancel 4f1c0a9be210")
_approvals = _add_group(
    "approvals",
    "What is allowed beforehand, and what waits for you.",
    approvals.list_approvals,
    "  sutler approvals\n  sutler approvals grant 4f1c0a9be210",
)
_add(
    _approvals,
    "list",
    approvals.list_approvals,
    "What is allowed beforehand, and what waits.",
    "  sutler approvals list --json",
)
_add(
    _approvals,
    "grant",
    approvals.grant,
    "Allow a tool in this project, or the call that a run waits at.",
    """\
  sutler approvals grant tool_count_words --expires 7d
  sutler approvals grant tool_count_words text=hello --scope exact
  sutler approvals grant 4f1c0a9be210""",
)
_add(
    _approvals,
    "reject",
    approvals.reject,
    "Reject the call that a run waits at.",
    "  sutler approvals reject 4f1c0a9be210 --reason 'not on a Friday'",
)
_add(
    _approvals,
    "revoke",
    approvals.revoke,
    "Take approvals back.",
    "  sutler approvals revoke 9b1f04aa\n  sutler approvals revoke --all",
)
_add(
    app,
    "serve",
    serve.serve,
    "Offer the tools to an MCP host.",
    """\
  sutler serve
  sutler serve --mode program --pin tool_count_words
  sutler serve --http --port 8765""",
)
_add(
    app,
    "install",
    install.install,
    "Have an MCP host start `sutler serve`.",
    "  sutler install claude-code\n  sutler install codex --show\n  sutler install vscode --scope user --yes",
)
_add(
    app,
    "import",
    importing.import_,
    "Take over the MCP servers that other hosts have.",
    "  sutler import\n  sutler import cursor vscode --write\n  sutler import ~/mcp.json --write --copy",
)
_add(
    app,
    "login",
    login.login,
    "Log in at an MCP server, with a browser.",
    "  sutler login docs\n  sutler login docs --no-browser\n  sutler login docs --forget",
)
_add(
    app,
    "trust",
    trusting.trust,
    "Say yes to a sutler.toml, or a changed tool.",
    "  sutler trust --show\n  sutler trust .mcp.json --yes\n  sutler trust github::create_issue",
)
_policy = _add_group(
    "policy",
    "Look at what may run unasked: explain, test. Alone: the rules in force.",
    policy.rules,
    "  sutler policy\n  sutler policy explain write_file path=/etc/hosts content=x\n  sutler policy test",
)
_add(
    _policy,
    "explain",
    policy.explain,
    "What decides a call, and why.",
    "  sutler policy explain tool_count_words text=hello\n  sutler policy explain write_file --json",
)
_add(
    _policy,
    "test",
    policy.test,
    "Try the cases of [[policy.tests]].",
    "  sutler policy test\n  sutler policy test --json",
)
_add(app, "doctor", doctor.doctor, "Explain any trouble; runs no tool.", "  sutler doctor\n  sutler doctor --json")
