"""What a program's run is made of, as its driver and the runtime see it: a call, an end, a failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import SutlerError

FailureType = Literal["error", "limit", "crashed"]


@dataclass(frozen=True, slots=True)
class Call:
    """The program calls a name that the host answers. `line` is its line in the program, from 1."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    line: int


@dataclass(frozen=True, slots=True)
class Done:
    """The program ended; `output` is the value of its last expression, else None."""

    output: Any


class ProgramFailed(SutlerError):
    """The program ended with an exception (`error`), at a limit (`limit`), or its worker died (`crashed`)."""

    def __init__(
        self, kind: FailureType, type_: str, message: str, *, line: int | None, trace: str, limit: str = ""
    ) -> None:
        super().__init__(message or type_)
        self.kind: FailureType = kind
        self.type = type_
        self.line = line
        self.trace = trace
        self.limit = limit
