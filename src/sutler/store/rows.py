"""Records as SQLite rows and back. Values are JSON text; what JSON cannot hold is kept as its repr, not replayable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from ..spec import Decision, Grade, Repair, RunError
from .records import Masks, RunRecord, StepRecord, masked_run, masked_step

_RUN_TEXT = (
    "run_id, program, params, level, status, output, error, stdout, variables, grade, started, ended, names, snapshot,"
    " replayable, waiting"
)
_STEP_TEXT = (
    "key, run_id, step, tool, source, digest, args, result, stdout, success, error, kind, duration, decision, repairs,"
    " line, writes, state, replayable, at"
)
RUN: Sequence[str] = _RUN_TEXT.split(", ")
STEP: Sequence[str] = _STEP_TEXT.split(", ")

_EXACT = (str, int, bool, type(None))

Row = tuple[str, tuple[Any, ...]]
"""One statement with its values."""


def _upsert(table: str, key: str, columns: Sequence[str]) -> str:
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns if column != key)
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT ({key}) DO UPDATE SET {changes}"


PUT_RUN = _upsert("runs", "run_id", RUN)
PUT_STEP = _upsert("steps", "key", STEP)
SELECT_RUNS = f"SELECT {_RUN_TEXT} FROM runs"
SELECT_STEPS = f"SELECT {_STEP_TEXT} FROM steps"


def run_row(run: RunRecord, masks: Masks | None) -> Row:
    kept = masked_run(run, masks)
    params, faithful = encode(kept.params)
    error = kept.error
    return PUT_RUN, (
        text(kept.run_id),
        text(kept.program),
        params,
        kept.level,
        kept.status,
        encode(kept.output)[0],
        None if error is None else encode({name: getattr(error, name) for name in RunError.__slots__})[0],
        text(kept.stdout),
        encode(kept.variables)[0],
        None if kept.grade is None else json.dumps([kept.grade.w, kept.grade.d]),
        kept.started,
        kept.ended,
        encode({name: list(owner) for name, owner in kept.names.items()})[0],
        kept.snapshot,
        int(kept.replayable and faithful),
        None if kept.waiting is None else encode(dict(kept.waiting))[0],
    )


def step_row(step: StepRecord, masks: Masks | None) -> Row:
    args, result, error, replayable = masked_step(step, masks)
    args_text, args_faithful = encode(dict(args))
    result_text, result_faithful = encode(result)
    decision = step.decision
    repairs = [repair.to_dict() for repair in step.repairs]
    if masks is not None and repairs:
        # A repair shows a value before and after: of a step that held a secret only the rule is kept.
        held = args is not step.args
        repairs = [{**repair, "from": "***", "to": "***"} for repair in repairs] if held else masks.value(repairs)
    return PUT_STEP, (
        step.key,
        None if step.run_id is None else text(step.run_id),
        step.step,
        text(step.tool),
        text(step.source),
        step.digest,
        args_text,
        result_text,
        text(step.stdout if masks is None else masks.value(step.stdout)),
        None if step.success is None else int(step.success),
        None if error is None else text(error),
        step.kind,
        step.duration,
        None
        if decision is None
        else encode({name: getattr(decision, name) for name in ("outcome", "reason", "by", "how")})[0],
        encode(repairs)[0] if repairs else "[]",
        step.line,
        int(step.writes),
        step.state,
        int(replayable and args_faithful and result_faithful),
        step.at,
    )


def read_run(row: tuple[Any, ...]) -> RunRecord:
    values = dict(zip(RUN, row, strict=True))
    error, grade = values["error"], values["grade"]
    for column in ("params", "variables"):
        values[column] = json.loads(values[column])
    values["output"] = json.loads(values["output"])
    values["error"] = None if error is None else RunError(**json.loads(error))
    values["grade"] = None if grade is None else Grade(*json.loads(grade))
    values["names"] = {name: tuple(owner) for name, owner in json.loads(values["names"]).items()}
    values["replayable"] = bool(values["replayable"])
    values["waiting"] = None if values["waiting"] is None else json.loads(values["waiting"])
    return RunRecord(**values)


def read_step(row: tuple[Any, ...]) -> StepRecord:
    values = dict(zip(STEP, row, strict=True))
    for column in ("args", "result", "repairs"):
        values[column] = json.loads(values[column])
    decision = values["decision"]
    values["decision"] = None if decision is None else Decision(**json.loads(decision))
    values["repairs"] = tuple(
        Repair(path=one["path"], rule=one["rule"], before=one["from"], after=one["to"]) for one in values["repairs"]
    )
    success = values["success"]
    values["success"] = None if success is None else bool(success)
    values["writes"], values["replayable"] = bool(values["writes"]), bool(values["replayable"])
    return StepRecord(**values)


def encode(value: Any) -> tuple[str, bool]:
    """(JSON text, whether reading it back gives the same value)."""
    if value is None:
        return "null", True
    try:
        return json.dumps(value, default=_other), _plain(value)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_other(value)), False


def _plain(value: Any) -> bool:
    """Whether a value is made of nothing but str, int, finite float, bool, None, list, and dict with str keys."""
    waiting: list[object] = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, bool | int | str | None):
            if type(one) not in _EXACT:
                return False
        elif isinstance(one, float):
            if type(one) is not float or one - one != 0:  # infinite, or not a number
                return False
        elif type(one) is dict:
            table = cast(dict[object, object], one)
            if not all(type(key) is str for key in table):
                return False
            waiting.extend(table.values())
        elif type(one) is list:
            waiting.extend(cast(list[object], one))
        else:
            return False
    return True


def _other(value: object) -> str:
    try:
        shown = repr(value)
    except Exception as error:
        shown = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return shown if len(shown) <= 10_000 else f"{shown[:10_000]}... (+{len(shown) - 10_000} characters)"


def text(value: str) -> str:
    """SQLite holds UTF-8: a lone surrogate is kept as its escape."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")
