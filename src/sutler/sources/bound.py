"""Calling a live function with arguments by name (SCH-07, RUN-02)."""

from __future__ import annotations

import copy
import inspect
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, cast

from ..errors import InvalidArguments
from ..schema.convert import converter

_MUTABLE = (list, dict, set, bytearray, deque)


class Bound:
    """A live function ready to be called with a dict of arguments by name (SCH-07).

    Positional-only parameters go by position. A default that is a list, dict, set or the like is copied for every call
    that leaves it out, so that what one call does to it is not there in the next (RUN-02).
    """

    __slots__ = ("_convert", "_mutable", "_positional", "fn")

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self._convert = converter(fn)
        self._positional: list[inspect.Parameter] = []
        self._mutable: dict[str, Any] = {}
        try:
            parameters = list(inspect.signature(fn).parameters.values())
        except (TypeError, ValueError):  # a callable written in C without a signature
            parameters = []
        for parameter in parameters:
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._positional.append(parameter)
            default: Any = parameter.default
            if isinstance(default, _MUTABLE):
                self._mutable[parameter.name] = cast("object", default)

    @property
    def plain(self) -> bool:
        """Whether the function takes its arguments as they are."""
        return self._convert is None and not self._mutable and not self._positional

    def __call__(self, arguments: Mapping[str, Any]) -> Any:
        given = dict(arguments)
        if self._convert is not None:
            given = dict(self._convert(given))
        for name, default in self._mutable.items():
            if name not in given:
                given[name] = copy.deepcopy(default)
        if not self._positional:
            return self.fn(**given)
        wanted = [index for index, parameter in enumerate(self._positional) if parameter.name in given]
        positional: list[Any] = []
        for parameter in self._positional[: max(wanted, default=-1) + 1]:
            if parameter.name not in given and parameter.default is parameter.empty:
                raise InvalidArguments(f"the argument `{parameter.name}` is missing")
            positional.append(given.pop(parameter.name, parameter.default))
        return self.fn(*positional, **given)
