"""Changing a file that somebody else owns: the change is shown, agreed to, and what was there is kept beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path
from secrets import token_hex

from ..mcp.hidden import masked
from .context import Cli, at_terminal
from .exits import CONFIG, DENIED, Refused
from .text import visible


def difference(path: Path, before: str, after: str, secrets: Iterable[str] = ()) -> str:
    """What changes, as a unified diff. Only the lines that change are in it: beside them may stand a token."""
    lines = unified_diff(_lines(before), _lines(after), str(path), str(path), lineterm="", n=0)
    return masked("\n".join(lines), secrets)


def agreed(cli: Cli, question: str, *, yes: bool) -> bool:
    """Whether the person says yes. Refused when there is nobody to ask."""
    if yes:
        return True
    if not at_terminal():
        raise Refused("there is nobody to ask; say --yes to make this change", code=DENIED, kind="denied")
    return said_yes(cli, question)


def said_yes(cli: Cli, question: str) -> bool:
    """Asks the person at the terminal until he says y or n; no answer at all is no."""
    from ..policy.handlers import console

    with console.turn, console.own_interrupt():
        while True:
            console.say(visible(f"{question} [y/n] "))
            typed = console.read_line()
            match typed.strip().lower() if typed is not None else None:
                case "y" | "yes":
                    return True
                case "n" | "no":
                    return False
                case None:
                    cli.out.say("")
                    return False
                case _:
                    pass


def write(path: Path, data: bytes, *, before: bytes | None) -> Path | None:
    """Replace a file at once, through links, with its mode kept; gives the copy made of what it held.

    before: the bytes that the change was made from, None for a file that was not there. Refused when it has changed.
    """
    target = Path(os.path.realpath(path))
    try:
        now = target.read_bytes() if target.exists() else None
        if now != before:
            raise Refused(f"{path} has just been changed by somebody else; nothing was written, try again", code=CONFIG)
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = None if before is None else _backup(target, before)
        mode = target.stat().st_mode & 0o777 if before is not None else 0o600
        draft = target.with_name(f".{target.name}.{token_hex(6)}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            draft.chmod(mode)
            draft.replace(target)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}; it is as it was", code=CONFIG) from error
    return backup


def _backup(target: Path, data: bytes) -> Path:
    """A copy under a name that nothing has, readable by its owner only: such files hold tokens."""
    number = 0
    while True:
        name = f"{target.name}.before-sutler" + (f".{number}" if number else "")
        try:
            handle = os.open(target.with_name(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        return target.with_name(name)


def _lines(text: str) -> Sequence[str]:
    return text.removesuffix("\n").replace("\r\n", "\n").split("\n") if text else []
