"""From a command's text to the programs to run, if it is understood whole and harmless; else the reason to ask."""

from __future__ import annotations

import glob
import os
import shutil
import stat
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sutler.workspace.commands import Stage, Step

from ..default_tools._guard import has_other_names, in_repository, inside, protected
from .table import COMMANDS, SPECIAL, look_at
from .words import NotUnderstood, Pipeline, Redirection, Simple, Word, parse

SYSTEM_PATH = "/usr/bin:/bin"
_NULL = "/dev/null"
_MOST_MATCHES = 10_000
_MOST_PROGRAMS = 32
_OTHERS = ("busybox", "toybox")  # programs that are many, with options of their own
# The commonest, in plain words; every other command that is not in the table asks as well.
_WHY = {
    "sudo": "it becomes another user",
    "env": "it starts another program",
    "xargs": "it starts another program",
    "sh": "it starts a shell",
    "bash": "it starts a shell",
    "python": "it runs code",
    "python3": "it runs code",
    "rm": "it deletes",
    "rmdir": "it deletes",
    "git": "it runs what a repository's settings name",
    "pip": "it installs, from the network",
    "curl": "it reaches the network",
    "wget": "it reaches the network",
    "ssh": "it reaches the network",
}


def judge(text: str, cwd: Path) -> list[Step]:
    """The steps that the command means, started in `cwd`. Raises NotUnderstood with the reason to ask.

    Reads the workspace to see where paths lead, and nothing outside of it.
    """
    if sys.platform != "linux":
        raise NotUnderstood(f"what commands do is known for Linux only, not for {sys.platform}")
    here = inside_folder(".", cwd)
    steps: list[Step] = []
    after_cd = False
    pipelines = parse(text)
    if sum(len(pipeline.commands) for pipeline in pipelines) > _MOST_PROGRAMS:
        raise NotUnderstood(f"it starts more than {_MOST_PROGRAMS} programs")
    for pipeline in pipelines:
        if after_cd and pipeline.then == "||":
            raise NotUnderstood("something depends on cd failing")
        moved = _moved(pipeline, here)
        if moved is not None:
            here, after_cd = moved, True
            continue
        stages = tuple(_stage(command, here) for command in pipeline.commands)
        then = ";" if after_cd and pipeline.then == "&&" else pipeline.then  # cd has succeeded, by then
        steps.append(Step(stages=stages, cwd=str(here), then=then))
        after_cd = False
    return steps


def _moved(pipeline: Pipeline, here: Path) -> Path | None:
    """Where `cd` leads. It is followed here, so it may not depend on how another command ends."""
    simple = pipeline.commands[0]
    words = [word.text for word in simple.words]
    if words[0] != "cd":
        return None
    if len(pipeline.commands) > 1 or len(words) != 2 or simple.redirections or simple.words[1].pattern:
        raise NotUnderstood("cd is not alone with one folder")
    if pipeline.then in ("&&", "||"):
        raise NotUnderstood("cd depends on how another command ends")
    if words[1].startswith("-"):
        raise NotUnderstood("cd has an option")
    return inside_folder(words[1], here)


def _stage(command: Simple, here: Path) -> Stage:
    name, *arguments = command.words
    program = _program(name)
    args = [text for word in arguments for text in _expanded(word, here)]

    def look(kind: str, value: str) -> None:
        found = inside_path(value, here)
        if kind == "file" and found.exists() and not found.is_file():
            raise NotUnderstood(f"{value} is no ordinary file")

    special = SPECIAL.get(name.text)
    if special is not None:
        special(args, look)
    else:
        look_at(COMMANDS[name.text], args, look)
    return _redirected(Stage(argv=(name.text, *args), program=program), command.redirections, here)


def _program(name: Word) -> str:
    text = name.text
    if "=" in text:
        raise NotUnderstood("it sets a variable for a command")
    if text not in COMMANDS and text not in SPECIAL:
        why = _WHY.get(text)
        raise NotUnderstood(f"{text!r} is not among the commands known to be harmless{f': {why}' if why else ''}")
    found = shutil.which(text, path=SYSTEM_PATH)
    if found is None:
        raise NotUnderstood(f"{text} is in none of {SYSTEM_PATH}")
    if os.path.basename(os.path.realpath(found)) in _OTHERS:  # noqa: PTH119 - realpath takes and gives text
        raise NotUnderstood(f"{text} is not GNU's here, and what its options do is not known")
    return found


def _expanded(word: Word, here: Path) -> list[str]:
    """The word, or what its wildcards match, sorted; itself when they match nothing, as a shell does."""
    if word.pattern is None:
        return [word.text]
    folder = word.pattern.rpartition("/")[0]
    if any(char in folder for char in "*?["):
        raise NotUnderstood(f"{word.text} has wildcards in the name of a folder")
    if "/" in word.pattern:
        inside_folder(folder or "/", here)
    found = glob.glob(word.pattern, root_dir=here)  # noqa: PTH207 - names as written, relative to here
    if len(found) > _MOST_MATCHES:
        raise NotUnderstood(f"{word.text} matches more than {_MOST_MATCHES:,} files")
    for name in found:
        inside_path(name, here)
    return sorted(found) or [word.text]


def _redirected(stage: Stage, redirections: Sequence[Redirection], here: Path) -> Stage:
    for one in redirections:
        text = "" if one.target is None else one.target.text
        if one.target is not None and one.target.pattern is not None:
            raise NotUnderstood("it redirects to a pattern")
        if one.how == "2>&1" or (one.how == "2>" and text == _NULL):
            twice = stage.errors is not None
            stage = replace(stage, errors="out" if one.how == "2>&1" else "null")
        elif one.how == "<":
            twice = stage.stdin is not None
            stage = replace(stage, stdin=text if text == _NULL else _readable(text, here))
        elif one.how in (">", ">>"):
            if stage.errors == "out":
                raise NotUnderstood("it redirects 2>&1 before the file")
            twice = stage.stdout is not None
            stage = replace(stage, stdout=text if text == _NULL else _writable(text, here), append=one.how == ">>")
        else:
            raise NotUnderstood(f"it redirects with {one.how}")
        if twice:
            raise NotUnderstood("it redirects one thing twice")
    return stage


def inside_path(text: str, here: Path, *, write: bool = False) -> Path:
    """Where a path leads, after every link and `..`. NotUnderstood unless that lies in the workspace."""
    if not text:
        raise NotUnderstood("it has an empty path")
    try:
        # /proc/self is another place for the program than it is for us
        if text.startswith("~") or os.path.normpath(text).lstrip("/").startswith(("proc/", "dev/", "sys/")):
            raise PermissionError
        return inside(os.path.join(here, text), write=write)  # noqa: PTH118 - a Path would drop a slash at the end
    except (OSError, ValueError):
        raise NotUnderstood(f"{text} is outside the workspace") from None


def inside_folder(text: str, here: Path) -> Path:
    found = inside_path(text, here)
    if not found.is_dir():
        raise NotUnderstood(f"{text} is no folder")
    return found


def _readable(text: str, here: Path) -> str:
    found = inside_path(text, here)
    if not found.is_file():
        raise NotUnderstood(f"{text} is no ordinary file")
    return str(found)


def _writable(text: str, here: Path) -> str:
    """A file that may be written over: inside, no link, nobody's configuration, nothing of a repository's own."""
    found = inside_path(text, here, write=True)
    if protected(found) or in_repository(found):
        raise NotUnderstood(f"{text} decides what other programs run")
    if not found.parent.is_dir():
        raise NotUnderstood(f"the folder of {text} is not there")
    try:
        mode = os.lstat(os.path.join(here, text)).st_mode  # noqa: PTH118 - a Path would drop a slash at the end
    except FileNotFoundError:
        return str(found)
    if not stat.S_ISREG(mode):
        raise NotUnderstood(f"{text} is no ordinary file")
    if has_other_names(found):
        raise NotUnderstood(f"{text} is a hard link, so another file changes with it")
    return str(found)
