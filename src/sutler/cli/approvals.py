"""`sutler approvals`: what you have allowed for this project, and what waits for your word (POL-04)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidArguments, ToolNotFound
from ..policy.answers import SCOPES, Answer, Scope
from ..policy.approvals import reach
from ..policy.project import ProjectApprovals
from ..policy.standing import StandingApproval
from ..store import RunRecord
from .arguments import pairs
from .context import Cli
from .exits import CONFIG, OK, Refused
from .find import find
from .runs import read_store
from .text import first_line, one_line, when
from .waiting import Full, RunId, Trace, let_go_on, the_waiting, waiting_like, waiting_runs

if TYPE_CHECKING:
    from ..runtime import SyncRuntime

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw]?)")

ScopeName = Annotated[
    str | None,
    typer.Option(
        "--scope",
        metavar="SCOPE",
        help="How far it reaches: project or exact; for a run that waits also call (the default) or run.",
        show_default=False,
    ),
]
Expires = Annotated[
    str | None,
    typer.Option("--expires", metavar="TIME", help="For how long: 45m, 12h, 7d, 2w.", show_default=False),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is told to whoever called.")]


def list_approvals(cli: Cli) -> int:
    """List what is allowed in this project without asking, and the runs that wait for a person."""
    kept = ProjectApprovals(cli.project())
    held, waiting = kept.all, waiting_runs(cli)
    states = _states(cli, held)
    if cli.out.as_json:
        cli.out.document(
            {
                "approvals": [{**_document(one), "definition": state} for one, state in zip(held, states, strict=True)],
                "waiting": [
                    {"run_id": run.run_id, "since": run.ended, "program": run.program, "waiting": run.waiting}
                    for run in waiting
                ],
                "trouble": kept.trouble,
                "project": str(kept.project),
            }
        )
    else:
        if held:
            cli.out.table(
                ("id", "tool", "covers", "given", "ends", "definition"),
                [
                    (one.id, one.qualified, _covers(one), when(one.given), _ends(one), state)
                    for one, state in zip(held, states, strict=True)
                ],
            )
        if waiting:
            cli.out.table(
                ("run", "waits for", "since", "asked"),
                [
                    (run.run_id, _waits_for(run), "" if run.ended is None else when(run.ended), _asked(run))
                    for run in waiting
                ],
            )
        if not held and not waiting and kept.trouble is None:
            cli.out.say(f"nothing is allowed beforehand in {kept.project}, and no run waits")
    if kept.trouble is not None:
        cli.out.error(kept.trouble)
        return CONFIG
    return OK


def grant(
    cli: Cli,
    target: Annotated[
        str, typer.Argument(metavar="TOOL|RUN", help="A tool by any name, or a run that waits.", show_default=False)
    ],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="Of a tool: only a call with these arguments.", show_default=False),
    ] = None,
    scope: ScopeName = None,
    expires: Expires = None,
    reason: Reason = "",
    trace: Trace = False,
    full: Full = False,
) -> int:
    """Allow a tool in this project from now on, or the call that a run waits at, which then goes on.

    An approval is bound to the tool's definition as it is now: when that changes, it is asked about again.
    """
    seconds = None if expires is None else _seconds(expires)
    wanted = _scope(scope)
    runs = waiting_like(cli, target)
    if runs and not arguments:
        how = wanted or "call"
        if how == "call" and seconds is not None:
            raise Refused("--expires: this one call is made now; give it a --scope to allow more")
        answer = Answer("allow" if how == "call" else "always", reason, scope=how, expires=seconds)
        return let_go_on(cli, the_waiting(cli, target), answer, asks=False, trace=trace, full=full)
    if wanted not in (None, "project", "exact"):
        raise Refused(f"--scope {wanted}: a tool is allowed for the project, or with exact arguments (NAME=VALUE)")
    if (wanted == "exact") and not arguments:
        raise Refused("--scope exact: give the arguments, as NAME=VALUE")
    if wanted == "project" and arguments:
        raise Refused("--scope project covers any arguments; leave them out, or say --scope exact")
    try:
        return _grant_tool(cli, target, arguments or [], seconds, reason)
    except ToolNotFound:
        run = read_store(cli, lambda store: store.run(target), None)
        if run is None:
            raise
        raise Refused(f"run {run.run_id} does not wait for anybody: its status is {run.status}") from None


def reject(cli: Cli, run_id: RunId, reason: Reason = "", trace: Trace = False, full: Full = False) -> int:
    """Reject the call that a run waits at. The program goes on with an error that it can catch."""
    return let_go_on(cli, the_waiting(cli, run_id), "reject", asks=False, trace=trace, full=full, reason=reason)


def revoke(
    cli: Cli,
    approval: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="An approval, or how its id begins.", show_default=False)
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All of this project; also when what is kept is damaged.")
    ] = False,
) -> int:
    """Take approvals back: from the next call on the tool is asked about again."""
    if bool(approval) == everything:
        raise Refused("name approvals by their ids, or say --all; `sutler approvals` lists them")
    kept = ProjectApprovals(cli.project())
    gone: list[StandingApproval] = []
    if everything:
        gone = list(kept.all)
        kept.clear()
    for start in approval or []:
        found = [one for one in kept.all if one.id.startswith(start)]
        if len(found) != 1:
            what = f"{len(found)} approvals begin with" if found else "there is no approval"
            raise Refused(f"{what} {start!r}; `sutler approvals` lists them")
        kept.remove(found[0].id)
        gone.append(found[0])
    _audit(cli, [{"tool": one.qualified, "revoked": reach(one.scope)} for one in gone])
    if cli.out.as_json:
        cli.out.document({"revoked": [_document(one) for one in gone]})
    else:
        for one in gone:
            cli.out.line(f"{one.id} {one.qualified} is asked about again")
        if not gone:
            cli.out.line("there was nothing to revoke")
    return OK


def _grant_tool(cli: Cli, name: str, arguments: list[str], seconds: float | None, reason: str) -> int:
    from ..policy.prompts import label_of, source_of
    from ..spec import ToolCall

    runtime = cli.open()
    core = runtime.core
    row = find(runtime.inventory(), name, cli.config())
    spec = row.spec
    call = ToolCall(call_id="", spec=spec, arguments={})
    shown = ""
    if arguments:
        try:
            bound = core.tool(row).binder.bind(pairs(arguments, spec.input_schema))
        except InvalidArguments as error:
            raise Refused(str(error)) from error
        call = replace(call, arguments=bound.arguments)
        masked = core.recorder.masker.arguments(bound.arguments, spec.input_schema)
        shown = source_of(replace(call, arguments=masked))
    answer = Answer("always", scope="exact" if arguments else "project", expires=seconds)
    kept = core.approvals.keep(call, answer, shown=shown)
    core.audit("change.approval", tool=spec.qualified, durable=True, given=reach(kept.scope), reason=reason)
    level = core.policy.level_of(spec.origin.source)
    if cli.out.as_json:
        cli.out.document({"granted": _document(kept)})
        return OK
    cli.out.line(f"{kept.id} allows {shown or spec.qualified} in {cli.project()}{_until(kept)}")
    cli.out.say(label_of(spec, level))
    decision = core.policy.preview(spec)
    if decision.outcome in ("allow", "deny"):
        cli.out.note(f"policy says {decision.outcome} here ({decision.by}), so it makes no difference now")
    return OK


def _states(cli: Cli, held: tuple[StandingApproval, ...]) -> list[str]:
    """Whether each still covers the tool as it is now."""
    if not held:
        return []
    runtime: SyncRuntime = cli.open(quiet=True)
    known = runtime.inventory().qualified
    states: list[str] = []
    for one in held:
        row = known.get(one.qualified)
        if one.expired:
            states.append("expired")
        elif row is None:
            states.append("no such tool now")
        else:
            states.append("as approved" if row.spec.digest == one.digest else "changed since: asks")
    return states


def _audit(cli: Cli, changes: list[dict[str, Any]]) -> None:
    """A change of approvals is in the audit log, where there is one."""
    from ..store import SqliteStore

    path = cli.store_path()
    if not changes or not path.exists():
        return
    store = SqliteStore(path)
    try:
        for change in changes:
            store.event("change.approval", change)
    finally:
        store.close()


def _document(one: StandingApproval) -> dict[str, Any]:
    return {
        "id": one.id,
        "tool": one.qualified,
        "scope": one.scope,
        "arguments": one.shown or None,
        "given": one.given,
        "expires": one.expires,
    }


def _covers(one: StandingApproval) -> str:
    return one_line(one.shown, 80) if one.scope == "exact" else "any arguments"


def _ends(one: StandingApproval) -> str:
    return "when revoked" if one.expires is None else when(one.expires)


def _until(one: StandingApproval) -> str:
    return "" if one.expires is None else f" until {when(one.expires)}"


def _waits_for(run: RunRecord) -> str:
    return str(run.waiting["tool"]) if run.waiting is not None else "an approval"


def _asked(run: RunRecord) -> str:
    return first_line(str(run.waiting["source"]) if run.waiting is not None else run.program, 80)


def _scope(given: str | None) -> Scope | None:
    if given is None:
        return None
    for scope in SCOPES:
        if scope == given:
            return scope
    raise Refused(f"--scope {given}: the scopes are {', '.join(SCOPES)}")


def _seconds(text: str) -> float:
    found = _DURATION.fullmatch(text.strip())
    seconds = float(found[1]) * _UNITS[found[2] or "s"] if found is not None else 0.0
    if not 0 < seconds < 100 * 366 * 86400:
        raise Refused(f"--expires {text}: write a time from now, such as 45m, 12h, 7d or 2w")
    return seconds
