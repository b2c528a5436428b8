"""`sutler check`, `plan` and `run`: small programs that compose tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from uuid import uuid4

import typer

from ..config import Config, Profile
from ..errors import ConfigError, ToolNotFound
from ..programs.signatures import program_row
from .arguments import pairs, read_text, takes_stdin
from .context import Cli
from .documents import grade_document, problem_documents, shown_arguments
from .exits import FAILED, OK, Refused
from .find import find, troubles, withheld_words
from .interrupted import tell_interrupted
from .ran import Program, tell_run
from .waiting import Full, Trace
from .wording import problem_words

if TYPE_CHECKING:
    from ..inventory import Inventory
    from ..lang import Problem
    from ..runtime import SyncRuntime

Level = Literal["calls", "program", "full"]

File = Annotated[
    str | None,
    typer.Argument(metavar="FILE", help="A file with the program; - reads it from stdin.", show_default=False),
]
Code = Annotated[str | None, typer.Option("-c", metavar="TEXT", help="The program itself.", show_default=False)]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter, a name that the program finds set: name=value, name:=JSON, name=@file. Repeatable.",
        show_default=False,
    ),
]
Tools = Annotated[
    str | None, typer.Option("--tools", metavar="A,B", help="Only these tools may be called.", show_default=False)
]
ProfileName = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", help="A profile of the config, or one tool's name.", show_default=False),
]
LevelName = Annotated[
    Level | None,
    typer.Option("--level", help="How much of the language a program may use. [default: program]", show_default=False),
]

_NARROWED = "--tools"  # the name of the profile that --tools makes; no config can hold one of it


def check(
    cli: Cli,
    file: File = None,
    code: Code = None,
    param: Params = None,
    tools: Tools = None,
    profile: ProfileName = None,
    level: LevelName = None,
) -> int:
    """Check a program without running it: each error with its line and what to write instead."""
    program = _program(file, code)
    params = pairs(param or [], {})
    runtime = _open(cli, tools, profile)
    checked = runtime.check(program.text, level=level, params=list(params))
    if cli.out.as_json:
        cli.out.document(
            {
                "ok": checked.ok,
                "errors": problem_documents(checked.errors),
                "more": checked.more,
                "tools": sorted(checked.tools),
                "grade": grade_document(checked.grade),
            }
        )
    elif checked.ok:
        called = ", ".join(sorted(checked.tools)) or "none"
        cli.out.line(f"{program.name}: ok; tools: {called}; grade {checked.grade}")
    else:
        _print_problems(cli, program, checked.errors, checked.more)
        _explain(cli, runtime, checked.errors)
    return OK if checked.ok else FAILED


def plan(
    cli: Cli,
    file: File = None,
    code: Code = None,
    param: Params = None,
    tools: Tools = None,
    profile: ProfileName = None,
    level: LevelName = None,
) -> int:
    """Show what a program may call, where, and whether a call asks first, without running it."""
    program = _program(file, code)
    params = pairs(param or [], {})
    runtime = _open(cli, tools, profile)
    planned = runtime.plan(program.text, level=level, params=list(params))
    if cli.out.as_json:
        cli.out.document(
            {
                "ok": planned.ok,
                "errors": problem_documents(planned.errors),
                "more": planned.checked.more,
                "calls": [
                    {
                        "line": one.line,
                        "tool": one.tool,
                        "source": one.source,
                        "args": one.args,
                        "literal_args": dict(one.partly if one.args is None else one.args),
                        "in_loop": one.in_loop,
                        "decision": one.decision,
                    }
                    for one in planned.calls
                ],
                "grade": grade_document((planned.grade.w, planned.grade.d)),
            }
        )
        return OK if planned.ok else FAILED
    if not planned.ok:
        _print_problems(cli, program, planned.errors, planned.checked.more)
        _explain(cli, runtime, planned.errors)
        return FAILED
    cli.out.table(
        ("line", "tool", "arguments", "in a loop", "call"),
        [
            (
                str(one.line),
                f"{one.source}::{one.tool}",
                shown_arguments(one.partly, open_ended=True) if one.args is None else shown_arguments(one.args),
                "yes" if one.in_loop else "no",
                one.decision,
            )
            for one in planned.calls
        ],
    )
    cli.out.say(f"grade {planned.grade}" if planned.calls else f"the program calls no tool; grade {planned.grade}")
    return OK


def run(
    cli: Cli,
    file: File = None,
    code: Code = None,
    param: Params = None,
    tools: Tools = None,
    profile: ProfileName = None,
    level: LevelName = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Store the run at a call that needs approval; it goes on once you grant it.")
    ] = False,
    trace: Trace = False,
    full: Full = False,
) -> int:
    """Run a program. What it prints, then its output (the value of its last expression), go to standard output."""
    asks = not takes_stdin(param or [], file)
    program = _program(file, code)
    params = pairs(param or [], {})
    runtime = _open(cli, tools, profile, runs=True, asks=asks, approves=not wait)
    checked = runtime.check(program.text, level=level, params=list(params))
    assert cli.progress is not None
    run_id = uuid4().hex[:12]
    cli.progress.start()
    try:
        result = runtime.run(
            program.text, params=params, level=level, run_id=run_id, on_ask="wait" if wait else "reject"
        )
    except ValueError as error:
        raise Refused(str(error)) from error
    except KeyboardInterrupt:
        cli.hush()
        return tell_interrupted(cli, runtime, run_id, trace=trace, full=full)
    finally:
        cli.progress.stop()
    ended = tell_run(cli, program, result, checked.errors, checked.more, trace=trace, full=full)
    if result.error is not None and result.error.kind == "rejected":
        _explain(cli, runtime, checked.errors)
    return ended


# ---------------------------------------------------------------------- what was asked for


def _program(file: str | None, code: str | None) -> Program:
    if (file is None) == (code is None):
        raise Refused("name one program: a FILE, - for stdin, or -c TEXT")
    if code is not None:
        return Program(text=code, name="-c")
    assert file is not None
    name = "stdin" if file == "-" else str(Path(file))
    return Program(text=read_text(file, "the program"), name=name)


def _open(
    cli: Cli,
    tools: str | None,
    profile: str | None,
    *,
    runs: bool = False,
    asks: bool = False,
    approves: bool = True,
) -> SyncRuntime:
    """The runtime, narrowed to what --tools and --profile name. Refused when one of them is not there."""
    config = cli.config()
    if tools is None:
        runtime = _narrowed(cli, runs=runs, asks=asks, approves=approves, profile=profile)
        if profile is not None and profile not in config.profiles:
            _known_profile(runtime.inventory(), config, profile)
        return runtime
    base = config.profiles.get(profile) if profile is not None else None
    wanted = [name.strip() for name in tools.split(",") if name.strip()]
    if base is not None and base.tools is not None:
        unknown = [name for name in wanted if name not in base.tools]
        if unknown:
            known = ", ".join(base.tools) or "none"
            raise Refused(f"--tools: {', '.join(unknown)} is not in profile {base.name}, which has {known}")
        named = {name: base.tools[name] for name in wanted}
    else:
        named = {name: name for name in wanted}
    narrowed = replace(base or Profile(name=_NARROWED), name=_NARROWED, tools=named, where="--tools")
    config = replace(config, profiles={**config.profiles, _NARROWED: narrowed})
    runtime = _narrowed(cli, runs=runs, asks=asks, approves=approves, profile=_NARROWED, config=config)
    for name in named.values():
        find(runtime.inventory(), name, config)
    if profile is not None and base is None:
        _known_profile(runtime.inventory(), config, profile)
        raise Refused(f"--tools and --profile {profile} (the name of a tool) exclude each other")
    return runtime


def _narrowed(cli: Cli, **options: Any) -> SyncRuntime:
    """Open it. What was given on the command line and is not there is a wrong use, and no wrong config."""
    try:
        return cli.open(**options)
    except ConfigError as error:
        options_of = {"profile": "--profile", f"profiles.{_NARROWED}.tools": "--tools"}
        if not all(problem.key in options_of for problem in error.problems):
            raise
        said = [(options_of[one.key], one.message, one.hint) for one in error.problems]
        raise Refused("\n".join(f"{key}: {text}{f'; {hint}' if hint else ''}" for key, text, hint in said)) from error


def _known_profile(inventory: Inventory, config: Config, name: str) -> None:
    try:
        find(inventory, name, config)
    except ToolNotFound as error:
        known = [profile for profile in config.profiles if profile != _NARROWED]
        near = get_close_matches(name, [*known, *inventory.tools], n=1)
        hint = f"did you mean {near[0]}?" if near else f"the profiles are {', '.join(known) or 'none'}"
        raise Refused(f"--profile: there is no profile and no tool {name!r}; {hint}") from error


def _print_problems(cli: Cli, program: Program, problems: Sequence[Problem], more: int) -> None:
    for problem in problems:
        cli.out.line(problem_words(program.place(problem.line), problem))
    if more:
        cli.out.line(f"{program.name}: and {more} more")


def _explain(cli: Cli, runtime: SyncRuntime, problems: Sequence[Problem]) -> None:
    """What the checker cannot know of tools that are not there: why, and where to look."""
    missing = [problem for problem in problems if problem.called]
    inventory = runtime.inventory()
    for name in dict.fromkeys(problem.unknown for problem in missing):
        for sentence in troubles(inventory, name):
            cli.out.note(f"{name}: {sentence}")
        for sentence in _left_out(runtime, name):
            cli.out.note(sentence)
    if missing:
        hidden = withheld_words(cli.config())
        if hidden:
            cli.out.note(f"more tools may be in {hidden}")
    if any(not problem.rewrite for problem in missing):
        cli.out.note("`sutler tools` lists the tools, `sutler tools search WORDS` finds one")


def _left_out(runtime: SyncRuntime, name: str) -> list[str]:
    """A tool that there is, but not for this program."""
    profile = runtime.settings.profile
    if profile is None or profile.tools is None or program_row(runtime.inventory(), name) is None:
        return []
    what = "--tools does not name it" if profile.name == _NARROWED else f"profile {profile.name} leaves it out"
    return [f"{name} is a tool, but {what}"]
