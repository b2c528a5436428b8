"""`sutler policy`: the rules in force, why a call meets its decision, and the cases that try them (POL-03)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..closest import closest
from ..errors import ToolCallError
from ..policy.levels import LEVELS
from ..policy.prompts import source_of
from ..spec import Decision, ToolCall
from .arguments import pairs, read_object, read_text
from .context import Cli
from .exits import CONFIG, FAILED, OK, Refused
from .find import find, graded_where, row_of_policy
from .rule_words import about, decided, decision_document, rule_document
from .text import columns, count

if TYPE_CHECKING:
    from ..inventory import Inventory, Row
    from ..policy.gate import Explanation, Policy
    from ..policy.rules import Rule
    from ..runtime import SyncRuntime

InProgram = Annotated[bool, typer.Option("--in-program", help="As a program would call it; else as a direct call.")]


def rules(cli: Cli) -> int:
    """List the rules in force, in their order, with file and line; note those that match no tool."""
    runtime = cli.open()
    policy, inventory = runtime.core.policy, runtime.inventory()
    doubts = [doubt for rule in policy.rules for doubt in _doubts(rule, inventory)]
    guards = [guard.name for guard in policy.guards]
    if cli.out.as_json:
        cli.out.document(
            {
                "level": policy.level,
                "levels": dict(policy.sources),
                "rules": [rule_document(rule) for rule in policy.rules],
                "policy_sources": guards,
                "hidden": [{"tool": tool, "reason": reason} for tool, reason in inventory.hidden],
                "notes": doubts,
            }
        )
        return OK
    cli.out.table(
        ("rule", "decision", "about", "reason"),
        [(rule.where, rule.decision, about(rule), rule.reason) for rule in policy.rules],
    )
    if not policy.rules:
        cli.out.say("no rule is in force: write [[policy.rules]] in sutler.toml")
    levels = ", ".join(f"{level} for {source}" for source, level in policy.sources.items())
    cli.out.say(f"where no rule holds, level {policy.level} does{f'; {levels}' if levels else ''}")
    if guards:
        cli.out.say(f"then asked, and stricter at the most: {', '.join(guards)}")
    for tool, reason in inventory.hidden:
        cli.out.note(f"{tool} is hidden: {reason}")
    for doubt in doubts:
        cli.out.note(doubt)
    return OK


def explain(
    cli: Cli,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A tool, by any of its names.", show_default=False)],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="Arguments, as for `sutler call`.", show_default=False),
    ] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="All arguments as one JSON object; - reads stdin.")
    ] = None,
    in_program: InProgram = False,
) -> int:
    """Explain what decides a call, here and at each level; without arguments, any call of the tool. Nothing is run."""
    runtime = cli.open()
    row = find(runtime.inventory(), name, cli.config())
    policy = runtime.core.policy
    text = read_text("-", "--args") if args == "-" else args
    bound: Mapping[str, Any] | None = None
    if text is not None or arguments:
        given: Any = text if text is not None else {}
        if arguments:
            given = {**(read_object(text) if text is not None else {}), **pairs(arguments, row.spec.input_schema)}
        bound = runtime.core.tool(row).binder.bind(given).arguments
    shown = None if bound is None else runtime.core.recorder.masker.arguments(bound, row.spec.input_schema)
    via: Any = "run" if in_program else "direct"
    root = runtime.workspace.root
    found = policy.explain(row.spec, bound, via=via, root=root)
    levels = {
        level: replace(policy, level=level, sources={}).preview(row.spec, bound, via=via, root=root) for level in LEVELS
    }
    graded = graded_where(row.spec, runtime.settings.config)
    if cli.out.as_json:
        cli.out.document(_explained(row, shown, found, levels, graded, policy))
    else:
        _tell_explained(cli, runtime, row, shown, found, levels, graded)
    return OK


def test(cli: Cli) -> int:
    """Try the cases of [[policy.tests]]: ends with 1, naming line and rule, when policy says something else."""
    runtime = cli.open()
    config = cli.config()
    cases = config.policy.tests
    if not cases and not config.trusted and any(one.endswith("policy.tests") for one in config.withheld):
        raise Refused("the cases of a file that is not trusted are not tried", code=CONFIG, kind="config")
    tried = [(case, *_try(runtime, case)) for case in cases]
    failed = [one for one in tried if one[1].outcome != one[0].expect]
    if cli.out.as_json:
        cli.out.document(
            {
                "success": not failed,
                "tests": [
                    {
                        "where": case.where,
                        "call": call,
                        "level": case.level,
                        "via": case.via,
                        "expect": case.expect,
                        "passed": decision.outcome == case.expect,
                        **decision_document(decision),
                    }
                    for case, decision, call in tried
                ],
            }
        )
    else:
        for case, decision, call in failed:
            level = f" at level {case.level}" if case.level is not None else ""
            said = f"it is {decided(decision)}" if decision.by else decision.reason
            cli.out.line(f"{case.where}: {call}{level}: expected {case.expect}, and {said}")
        cli.out.line(f"{count(len(cases) - len(failed), 'test')} passed, {len(failed)} failed")
    return FAILED if failed else OK


def _try(runtime: SyncRuntime, case: Any) -> tuple[Decision, str]:
    """What policy says of a case, and the call in words. A call that cannot be made is a decision that fits none."""
    policy = runtime.core.policy
    if case.level is not None:
        policy = replace(policy, level=case.level, sources={})
    try:
        row = find(runtime.inventory(), case.call, runtime.settings.config)
        bound = runtime.core.tool(row).binder.bind(case.arguments)
    except ToolCallError as error:
        return Decision(outcome="depends", reason=str(error)), case.call
    run_id = "test" if case.via == "run" else None
    call = ToolCall(call_id="test", spec=row.spec, arguments=bound.arguments, run_id=run_id)
    return policy.decide(call, runtime.workspace.root), source_of(call)


def _doubts(rule: Rule, inventory: Inventory) -> list[str]:
    """What looks like a slip in a rule: it is of no tool, or names a parameter that none of its tools has."""
    specs = [row.spec for row in inventory.rows if rule.is_of(row.spec)]
    if not specs:
        return [f"{rule.where}: it matches no tool that is there now ({about(rule)})"]
    found: list[str] = []
    known = {arg.name for spec in specs for arg in spec.args}
    if any(spec.accepts_extra for spec in specs):
        return []
    for name in rule.arguments:
        head = name.partition(".")[0]
        if not set(head) & set("*?[") and head not in known:
            meant = closest(head, known)
            hint = f"; did you mean {meant!r}?" if meant else ""
            found.append(f"{rule.where}: no tool that it matches has a parameter {head!r}{hint}")
    return found


# ---------------------------------------------------------------------- explain


def _tell_explained(
    cli: Cli,
    runtime: SyncRuntime,
    row: Row,
    bound: Mapping[str, Any] | None,
    found: Explanation,
    levels: Mapping[str, Decision],
    graded: str,
) -> None:
    out, spec = cli.out, row.spec
    out.line(source_of(ToolCall(call_id="", spec=spec, arguments=bound)) if bound is not None else spec.qualified)
    level = runtime.core.policy.level_of(spec.origin.source)
    facts = [("decision", decided(found.decision))]
    if found.rule is not None:
        facts.append(("decides", _rule_line(found.rule)))
    facts += [("holds too", _rule_line(rule)) for rule in found.held if rule is not found.rule]
    facts += [("may hold", f"{_rule_line(rule)}: the arguments decide") for rule in found.perhaps]
    facts += [("said", decided(opinion)) for opinion in found.opinions]
    facts.append((f"level {level}", f"{decided(found.level)}; {row_of_policy(spec)}"))
    facts.append(("grade", graded if spec.grade_from == "undeclared" else f"{spec.grade}, {graded}"))
    origin = spec.origin
    facts.append(
        ("origin", ", ".join(filter(None, (origin.kind, f"trust {origin.trust}", origin.provenance, origin.where))))
    )
    for line in columns(facts, "  "):
        out.line(line)
    out.line("  at each level")
    for line in columns([(one, decided(decision)) for one, decision in levels.items()], "    "):
        out.line(line)


def _rule_line(rule: Rule) -> str:
    return f"{rule.where} {rule.decision}: {about(rule)}"


def _explained(
    row: Row,
    bound: Mapping[str, Any] | None,
    found: Explanation,
    levels: Mapping[str, Decision],
    graded: str,
    policy: Policy,
) -> dict[str, Any]:
    spec, origin = row.spec, row.spec.origin
    return {
        "tool": spec.qualified,
        "arguments": None if bound is None else dict(bound),
        "decision": decision_document(found.decision),
        "rule": None if found.rule is None else rule_document(found.rule),
        "holds": _documents(found.held),
        "may_hold": _documents(found.perhaps),
        "policy_sources": [decision_document(one) for one in found.opinions],
        "level": policy.level_of(origin.source),
        "level_says": decision_document(found.level),
        "levels": {level: decision_document(decision) for level, decision in levels.items()},
        "grade": {"w": spec.grade.w, "d": spec.grade.d},
        "grade_from": spec.grade_from,
        "grade_where": graded,
        "origin": {
            "source": origin.source,
            "kind": origin.kind,
            "trust": origin.trust,
            "provenance": origin.provenance,
            "where": origin.where,
        },
    }


def _documents(rules: Sequence[Rule]) -> list[dict[str, Any]]:
    return [rule_document(rule) for rule in rules]
