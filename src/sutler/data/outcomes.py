"""What the shipped libraries that run programs have in common: their settings, where they may read, what they tell."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sutler.errors import ConfigError, Problem
from sutler.workspace import current
from sutler.workspace.commands import Outcome

# What a host puts into every library's config, whatever the library is.
_HOSTS = frozenset({"autonomy_level", "confirm_handler", "user_interaction_handler"})
_LAST = 400


def settings_of(stem: str, config: Mapping[str, Any] | None, known: Mapping[str, type]) -> dict[str, Any]:
    """The library's own settings, checked. ConfigError names each key that is unknown or of another type."""
    given = {key: value for key, value in (config or {}).items() if key not in _HOSTS}
    problems = [
        Problem(
            message=f"unknown setting; there are {', '.join(sorted(known)) or 'none'}"
            if key not in known
            else f"must be of type {known[key].__name__}, not {value!r}",
            key=f"host_tool_configs.{stem}.{key}",
        )
        for key, value in given.items()
        if key not in known or not _fits(value, known[key])
    ]
    if problems:
        raise ConfigError(problems)
    return given


def _fits(value: object, wanted: type) -> bool:
    if isinstance(value, bool):
        return wanted is bool
    return isinstance(value, (int, float) if wanted is float else wanted)


def readable_roots() -> tuple[Path, ...]:
    """The workspace's root, then what else may be read."""
    workspace = current.get()
    return (Path.cwd().resolve(),) if workspace is None else (workspace.root, *workspace.read_roots)


def seconds_of(value: float, *, most: float) -> float:
    if not 0 < value <= most:
        raise ValueError(f"seconds must be more than 0 and at most {most:g}, not {value}")
    return float(value)


def told(outcome: Outcome, seconds: float, *, shut_in: str, hide: Sequence[str] = ()) -> dict[str, Any]:
    """The LCP result: output {exit_code, stdout, stderr}; shut_in says how far the programs were shut in."""
    stdout, stderr = hidden(outcome.stdout, hide), hidden(outcome.stderr, hide)
    output = {"exit_code": outcome.exit_code, "stdout": stdout, "stderr": stderr}
    answer: dict[str, Any] = {"success": True, "output": output, "shut_in": shut_in}
    if outcome.timed_out:
        return {**answer, "success": False, "error": f"it was stopped after {seconds:g} s"}
    if outcome.exit_code:
        return {**answer, "success": False, "error": f"{_how(outcome.exit_code)}{_last(stderr or stdout)}"}
    return answer


def hidden(text: str, secrets: Sequence[str]) -> str:
    """The text without secrets that stand in it as they are."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return text


def _how(code: int) -> str:
    if code > 128:
        try:
            return f"it was ended by {signal.Signals(code - 128).name}"
        except ValueError:
            pass
    return f"it ended with exit status {code}"


def _last(text: str) -> str:
    text = text.strip()
    return f": {text if len(text) <= _LAST else '...' + text[-_LAST:]}" if text else ""
