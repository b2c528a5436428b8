"""`sutler tools`: what there is to call, and why it is as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..ranking import best, ranked
from ..schema.stubs import signature
from .context import Cli
from .exits import OK
from .find import (
    at_each_level,
    find,
    grade_words,
    graded_where,
    is_shipped,
    library_line,
    library_of,
    row_of_policy,
    troubles,
)
from .text import columns, count, summary

if TYPE_CHECKING:
    from ..inventory import Inventory, Row
    from ..spec import Decision

Name = Annotated[str, typer.Argument(metavar="NAME", help="A tool, by any of its names.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="Also the tools that have lost their bare name to another.")]
Wait = Annotated[
    bool, typer.Option("--wait-servers", help="Wait up to 15 s for MCP servers that were never reached; else 2 s.")
]


def list_tools(cli: Cli, everything: All = False, wait_servers: Wait = False) -> int:
    """List the tools: name, source, grade, whether a call asks first, and what it does."""
    runtime = cli.open(waits=wait_servers)
    inventory = runtime.inventory()
    rows = sorted(inventory.rows if everything else inventory.tools.values(), key=is_shipped)  # stable: own ones first
    if cli.out.as_json:
        cli.out.document(
            {"tools": [_brief(row, runtime.core.policy.preview(row.spec)) for row in rows], **_beside(inventory)}
        )
        return OK
    policy = runtime.core.policy
    cli.out.table(
        ("tool", "source", "grade", "call", "what it does"),
        [
            (
                row.spec.name if inventory.tools.get(row.spec.name) is row else row.spec.qualified,
                row.spec.origin.source,
                grade_words(row.spec),
                policy.preview(row.spec).outcome,
                summary(row.spec.description),
            )
            for row in rows
        ],
    )
    if not rows:
        cli.out.say("there are no tools here: `sutler init` makes a folder for some")
    _tell_beside(cli, inventory)
    return OK


def show(cli: Cli, name: Name) -> int:
    """Show all there is to know of one tool: parameters, schema, grade, origin, documentation, notes."""
    runtime = cli.open()
    row = find(runtime.inventory(), name, cli.config())
    spec = row.spec
    decision = runtime.core.policy.preview(spec)
    graded = graded_where(spec, runtime.settings.config)
    library = library_of(row)
    if cli.out.as_json:
        cli.out.document(_whole(row, decision, graded, library))
        return OK
    out = cli.out
    out.line(signature(spec, row.program_name))
    out.line()
    out.value(spec.description, full=True)
    if spec.args:
        out.line()
        out.line("Parameters")
        described = [
            (f"{arg.name}: {arg.type}", f"{'required' if arg.required else 'optional'}  {summary(arg.description)}")
            for arg in spec.args
        ]
        for line in columns(described, "  "):
            out.line(line)
    facts = [
        ("name", spec.qualified),
        ("in programs", f"{row.program_name}, {row.qualified_program_name}"),
        ("grade", graded if spec.grade_from == "undeclared" else f"{spec.grade}, {graded}"),
        ("a call", f"{decision.outcome} ({decision.reason or decision.by})"),
        ("origin", f"{spec.origin.kind}, {spec.origin.where}" if spec.origin.where else spec.origin.kind),
        ("precedence", f"{spec.origin.precedence:g}"),
        ("timeout", f"{spec.timeout:g} s" if spec.timeout is not None else ""),
        ("runs in", f"a {spec.isolation} of its own" if spec.isolation == "process" else ""),
        ("hints", ", ".join(f"{key} = {value}" for key, value in spec.annotations.to_mcp().items())),
        ("filled by host", ", ".join(sorted(spec.hidden - {"**"}))),
        ("library", library_line(library) if library is not None else ""),
        ("digest", spec.digest),
    ]
    out.line()
    for line in columns([(key, value) for key, value in facts if value]):
        out.line(line)
    for title, value in (("Input schema", spec.input_schema), ("Output schema", spec.output_schema)):
        if value is not None:
            out.line()
            out.line(title)
            out.value(value, full=True)
    if spec.examples:
        out.line()
        out.line("Examples")
        for example in spec.examples:
            out.value(example, full=True)
    if spec.docs:
        out.line()
        out.line("Documentation")
        out.value(spec.docs, full=True)
    for note in spec.notes:
        out.note(note)
    return OK


def search(
    cli: Cli,
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="What it should do.", show_default=False)],
    wait_servers: Wait = False,
) -> int:
    """Find tools by words in their names, parameters and descriptions; the best match first."""
    runtime = cli.open(waits=wait_servers)
    found, left = best(ranked(runtime.inventory().tools.values(), words))
    if cli.out.as_json:
        policy = runtime.core.policy
        cli.out.document({"tools": [{"score": score, **_brief(row, policy.preview(row.spec))} for score, row in found]})
        return OK
    cli.out.table(
        ("tool", "source", "what it does"),
        [(row.spec.name, row.spec.origin.source, summary(row.spec.description)) for _, row in found],
    )
    if not found:
        cli.out.say(f"no tool has to do with {' '.join(words)!r}")
    if left:
        cli.out.say(f"and {left} weaker {'match' if left == 1 else 'matches'}")
    return OK


def why(cli: Cli, name: Name) -> int:
    """Explain a tool: who won its name and against whom, what programs call it, its grade, and what policy says."""
    runtime = cli.open()
    inventory = runtime.inventory()
    row = find(inventory, name, cli.config())
    trouble = troubles(inventory, name)  # another tool may have the name that a broken one was to have
    policy = runtime.core.policy
    spec = row.spec
    winner = inventory.tools[spec.name]
    losers = [one for one in inventory.shadowed if one.row.spec.name == spec.name]
    hidden = [one for one in inventory.duplicates if one.tool == spec.name]
    graded = graded_where(spec, runtime.settings.config)
    levels = at_each_level(spec, policy)
    here = policy.preview(spec)
    level = policy.level_of(spec.origin.source)
    if cli.out.as_json:
        cli.out.document(
            {
                "tool": spec.qualified,
                "winner": winner.spec.qualified,
                "shadowed": [
                    {
                        "tool": one.row.spec.qualified,
                        "in_programs": one.row.qualified_program_name,
                        "by": one.winner.spec.qualified,
                        "reason": one.reason,
                    }
                    for one in losers
                ],
                "duplicates": [str(one) for one in hidden],
                "in_programs": _names(row),
                "grade": _grade(row),
                "grade_from": spec.grade_from,
                "grade_where": graded,
                "policy": {
                    "row": row_of_policy(spec),
                    "level": level,
                    "decision": here.outcome,
                    "by": here.by,
                    "reason": here.reason,
                    "levels": {one: _decision(decision) for one, decision in levels.items()},
                },
                "trouble": trouble,
            }
        )
        return OK
    out = cli.out
    out.line(f"{spec.qualified} ({spec.origin.where or spec.origin.kind})")
    if winner is row:
        out.line(f"  has the bare name {spec.name}: precedence {spec.origin.precedence:g}")
    else:
        out.line(f"  has lost the bare name {spec.name} to {winner.spec.qualified}")
    for one in losers:
        out.line(f"  {one}")
    for one in hidden:
        out.line(f"  {one}")
    out.line(f"  in programs: {', '.join(_names(row))}")
    out.line(f"  grade {spec.grade}: {graded}")
    said = f" by {here.by}" if here.by.startswith(("rule ", "policy source ")) else ""
    out.line(f"  policy: {row_of_policy(spec)}; at level {level}, in force here: {here.outcome}{said}")
    for line in columns(
        [(one, f"{decision.outcome:7}  {_why_words(decision)}") for one, decision in levels.items()],
        "    ",
    ):
        out.line(line)
    for sentence in trouble:
        out.note(sentence)
    return OK


def _why_words(decision: Decision) -> str:
    if decision.by.startswith(("rule ", "policy source ")):
        return f"{decision.by}{f': {decision.reason}' if decision.reason else ''}"
    return decision.reason or "runs unasked"


def _names(row: Row) -> list[str]:
    """What programs call a tool; a shadowed one has only its qualified name."""
    return list(dict.fromkeys((row.program_name, row.qualified_program_name)))


def _grade(row: Row) -> dict[str, int]:
    return {"w": row.spec.grade.w, "d": row.spec.grade.d}


def _decision(decision: Decision) -> dict[str, str]:
    return {"outcome": decision.outcome, "by": decision.by, "reason": decision.reason}


def _brief(row: Row, decision: Decision) -> dict[str, Any]:
    spec = row.spec
    return {
        "name": spec.name,
        "source": spec.origin.source,
        "qualified": spec.qualified,
        "grade": _grade(row),
        "grade_from": spec.grade_from,
        "decision": decision.outcome,
        "description": spec.description,
    }


def _whole(row: Row, decision: Decision, graded: str, library: dict[str, Any] | None) -> dict[str, Any]:
    spec = row.spec
    origin = spec.origin
    return {
        **_brief(row, decision),
        "signature": signature(spec, row.program_name),
        "in_programs": _names(row),
        "input_schema": spec.input_schema,
        "output_schema": spec.output_schema,
        "annotations": spec.annotations.to_mcp(),
        "grade_where": graded,
        "reason": decision.reason or decision.by,
        "origin": {"kind": origin.kind, "trust": origin.trust, "precedence": origin.precedence, "where": origin.where},
        "library": library,
        "hidden": sorted(spec.hidden),
        "untyped": sorted(spec.untyped),
        "timeout": spec.timeout,
        "isolation": spec.isolation,
        "examples": list(spec.examples),
        "docs": spec.docs,
        "notes": list(spec.notes),
        "digest": spec.digest,
    }


def _beside(inventory: Inventory) -> dict[str, Any]:
    return {
        "shadowed": [str(one) for one in inventory.shadowed],
        "quarantined": [str(one) for one in inventory.quarantined],
        "unavailable": [{"where": where, "reason": reason} for where, reason in inventory.unavailable],
        "notes": list(inventory.notes),
    }


def _tell_beside(cli: Cli, inventory: Inventory) -> None:
    for item in inventory.quarantined:
        if item.held:
            cli.out.note(f"held: {item}")
    parts = [
        (len(inventory.shadowed), "shadowed"),
        (len(inventory.quarantined), "quarantined"),
        (len(inventory.unavailable), "unavailable"),
    ]
    said = [f"{number} {word}" for number, word in parts if number]
    if inventory.notes:
        said.append(count(len(inventory.notes), "note"))
    if said:
        cli.out.say(f"beside these: {', '.join(said)}; `sutler doctor` explains")
