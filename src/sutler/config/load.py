"""From files to one Config: read, parse, check, trust, merge. All problems of all files come in one ConfigError."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import ConfigError, Problem
from ..policy.trust import TrustStore
from ..state import state_dir
from .check import Checker
from .find import find_config, read_config
from .keys import check_file
from .locate import locate
from .tighten import merge
from .values import Config

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def load(
    path: Path | None,
    *,
    start: Path,
    user_file: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Config:
    """The configuration in force in `start`: the project's file over the user's.

    path: a file named by the person; it counts as trusted. None: sutler.toml is searched from `start` upward, and of
    one that was never trusted only what tightens is in force (TRU-01). user_file: the user's own, need not exist.
    env: where variables come from, and SUTLER_STATE_DIR; os.environ when None.
    ConfigError holds every problem of both files, in file order.
    """
    env = os.environ if env is None else env
    problems: list[Problem] = []
    user = Config(folder=start.absolute())
    if user_file is not None and os.path.lexists(user_file):
        user = _gathered(problems, user_file.absolute(), None, env) or user
    found = path.expanduser().absolute() if path is not None else find_config(start)
    if found is None or (user_file is not None and _same(found, user_file)):
        if problems:
            raise ConfigError(problems)
        return user if found is not None else _without_file(user, start)
    project = _gathered(problems, found, None if path is not None else TrustStore(state_dir(env)), env)
    if project is None or problems:
        raise ConfigError(problems)
    return merge(user, project)


def load_text(text: str, file: Path, *, env: Mapping[str, str] | None = None, trusted: bool = True) -> Config:
    """A Config of one file's text. With trusted=False no variable is put in, and only what tightens is kept."""
    raw = parse_toml(text, file)
    env = os.environ if env is None else env
    cx = Checker(str(file), locate(text), file.parent, env if trusted else None)
    config = check_file(cx, raw)
    if cx.problems:
        # `sorted` is stable: problems on one line stay in the order they were found.
        raise ConfigError(sorted(cx.problems, key=lambda problem: problem.line or 0))
    return config if trusted else config.data_only()


def _gathered(problems: list[Problem], file: Path, trust: TrustStore | None, env: Mapping[str, str]) -> Config | None:
    try:
        text = read_config(file)
        return load_text(text, file, env=env, trusted=trust is None or trust.trusted(file, text))
    except ConfigError as error:
        problems.extend(error.problems)
        return None


def parse_toml(text: str, file: Path) -> dict[str, Any]:
    """The values of a file's text, unchecked. ConfigError says where it is no TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([_syntax_problem(str(error), text, file)]) from error
    except RecursionError as error:
        raise ConfigError([Problem(message="is nested too deeply", file=str(file))]) from error
    except ValueError as error:  # an integer of thousands of digits, a date that does not exist
        raise ConfigError([Problem(message=f"holds a value that cannot be read: {error}", file=str(file))]) from error


def _syntax_problem(message: str, text: str, file: Path) -> Problem:
    place = _PLACE.search(message)
    lines = text.split("\n")
    line, column = len(lines), len(lines[-1]) + 1
    if place is not None:
        message = message[: place.start()]
        if place.group(1):
            line, column = int(place.group(1)), int(place.group(2))
    hint = 'text stands in quotes: key = "text"' if message == "Invalid value" else ""
    what = message[:1].lower() + message[1:]
    return Problem(message=f"not valid TOML at column {column}: {what}", file=str(file), line=line, hint=hint)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _without_file(user: Config, start: Path) -> Config:
    return replace(user, file=None, folder=start.absolute())
