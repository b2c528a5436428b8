"""The mending of values that do not fit their schema: the table of DESIGN "Binding arguments", and nothing beyond it.

| rule    | what came, where it does not fit                    | what it becomes                          |
|---------|-----------------------------------------------------|------------------------------------------|
| number  | text by the grammar of JSON numbers                 | that number                              |
| boolean | true false 1 0 yes no on off, in any case, or 1, 0  | that boolean                             |
| json    | text that begins with [ or { and is strict JSON     | that list or object                      |
| list    | a scalar, unless it is text that begins with [ or { | a list of it alone                       |
| null    | null for an optional parameter that takes no null   | nothing: the parameter is left out       |
| integer | a whole float within 2^53 where an integer is meant | that integer, though it fits as it is    |

A value that fits is never touched (but for the last row), and a change is kept only if the result fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from ..spec import Repair
from .argtext import strict_json
from .validate import Validator
from .walk import follow, is_list, readable

Where: TypeAlias = tuple[str | int, ...]

EXACT: Final = 2**53
BUDGET: Final = 100_000  # values looked at in one call; past it nothing more is mended
DEPTH: Final = 100

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_BOOLEANS: Final = {
    "true": True, "1": True, "yes": True, "on": True,
    "false": False, "0": False, "no": False, "off": False,
}  # fmt: skip
_JSON_TYPE: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


class Mender:
    """Mends the values of one call; `repairs` holds what it changed, in the order of the schema."""

    def __init__(self, validator: Validator) -> None:
        self.repairs: list[Repair] = []
        self._validator = validator
        self._root = validator.schema
        self._left = BUDGET

    def mend(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with every value mended that can be; the given ones are not changed."""
        return self._mend(arguments, self._root, (), (), self.repairs)

    def _mend(self, value: Any, schema: Any, where: Where, path: Where, log: list[Repair]) -> Any:
        """The value made to fit the schema at `where`, or as it is. Changes are added to the log."""
        schema, where = follow(self._root, schema, where)
        self._left -= 1
        if not isinstance(schema, Mapping) or self._left < 0 or len(path) > DEPTH:
            return value
        node = cast(Mapping[str, Any], schema)
        fits = self._validator.fits_at(where, value)
        if fits:
            return self._whole(value, node, where, path, log)
        if fits is None:
            return value
        if isinstance(value, dict):
            value = self._members(cast(dict[str, Any], value), node, where, path, log)
        elif isinstance(value, list):
            value = self._items(cast(list[Any], value), node, where, path, log)
        else:
            for rule, candidate in _conversions(value, _types(node)):
                trial = [Repair(path=readable(path), rule=rule, before=value, after=candidate)]
                changed = self._mend(candidate, node, where, path, trial) if rule in ("json", "list") else candidate
                if self._validator.fits_at(where, changed):
                    log.extend(trial)
                    return changed
        for keyword in ("allOf", "anyOf", "oneOf"):
            for index, branch in enumerate(node[keyword]) if is_list(node.get(keyword)) else ():
                trial: list[Repair] = []
                changed = self._mend(value, branch, (*where, keyword, index), path, trial)
                if trial and (keyword == "allOf" or self._validator.fits_at(where, changed)):
                    log.extend(trial)
                    value = changed
                    if keyword != "allOf":
                        return value
        return value

    def _members(
        self, value: dict[str, Any], node: Mapping[str, Any], where: Where, path: Where, log: list[Repair]
    ) -> dict[str, Any]:
        required: Any = node.get("required")
        changed: dict[str, Any] | None = None
        for name, place, schema in _properties(node, where, value):
            member = value[name]
            if member is None and not (is_list(required) and name in required):
                _, there = follow(self._root, schema, place)
                if self._validator.fits_at(there, None) is False:
                    changed = dict(value) if changed is None else changed
                    del changed[name]
                    log.append(Repair(path=readable((*path, name)), rule="null", before=None))
                    continue
            new = self._mend(member, schema, place, (*path, name), log)
            if new is not member:
                changed = dict(value) if changed is None else changed
                changed[name] = new
        return value if changed is None else changed

    def _items(
        self, value: list[Any], node: Mapping[str, Any], where: Where, path: Where, log: list[Repair]
    ) -> list[Any]:
        changed: list[Any] | None = None
        for index, item in enumerate(value):
            place, schema = _item(node, where, index)
            new = item if schema is None else self._mend(item, schema, place, (*path, index), log)
            if new is not item:
                changed = list(value) if changed is None else changed
                changed[index] = new
        return value if changed is None else changed

    def _whole(self, value: Any, node: Mapping[str, Any], where: Where, path: Where, log: list[Repair]) -> Any:
        """A value that fits, with whole floats turned into integers where an integer is meant."""
        if isinstance(value, float):
            if value.is_integer() and abs(value) <= EXACT and self._means_integer(node):
                log.append(Repair(path=readable(path), rule="integer", before=value, after=int(value)))
                return int(value)
            return value
        if not isinstance(value, (dict, list)) or not has_whole_float(value):
            return cast(Any, value)
        if isinstance(value, dict):
            value = self._members(cast(dict[str, Any], value), node, where, path, log)
        else:
            value = self._items(cast(list[Any], value), node, where, path, log)
        for keyword in ("allOf", "anyOf", "oneOf"):
            for index, branch in enumerate(node[keyword]) if is_list(node.get(keyword)) else ():
                branch, place = follow(self._root, branch, (*where, keyword, index))
                if isinstance(branch, Mapping) and self._validator.fits_at(place, value):
                    value = self._whole(value, cast(Mapping[str, Any], branch), place, path, log)
        return value

    def _means_integer(self, node: Mapping[str, Any], depth: int = 8) -> bool:
        """Whether numbers here are integers: some branch says integer and none says number."""
        kinds: set[str] = set()
        pending: list[tuple[Mapping[str, Any], int]] = [(node, depth)]
        while pending:
            one, left = pending.pop()
            kinds |= _types(one)
            for keyword in ("allOf", "anyOf", "oneOf"):
                for branch in one[keyword] if left and is_list(one.get(keyword)) else ():
                    branch, _ = follow(self._root, branch, ())
                    if isinstance(branch, Mapping):
                        pending.append((cast(Mapping[str, Any], branch), left - 1))
        return "integer" in kinds and "number" not in kinds


def has_whole_float(value: Any) -> bool:
    """Whether a float that is a whole number stands anywhere in plain data."""
    if isinstance(value, float):
        return value.is_integer()
    if isinstance(value, dict):
        return any(map(has_whole_float, cast(dict[str, Any], value).values()))
    return isinstance(value, list) and any(map(has_whole_float, cast(list[Any], value)))


def _conversions(value: Any, types: set[str]) -> Iterator[tuple[str, Any]]:
    """Every reading of a scalar that the table allows for these types, in the order of the table."""
    if isinstance(value, str):
        opens = value.lstrip()[:1]
        if types & {"integer", "number"} and (number := _number(value)) is not None:
            yield "number", number
        if "boolean" in types and value.lower() in _BOOLEANS:
            yield "boolean", _BOOLEANS[value.lower()]
        if opens in ("[", "{") and ("array" if opens == "[" else "object") in types:
            try:
                yield "json", strict_json(value)
            except ValueError:
                return
        if "array" in types and opens not in ("[", "{"):
            yield "list", [value]
    elif isinstance(value, (bool, int, float)):
        if "boolean" in types and type(value) is int and value in (0, 1):
            yield "boolean", bool(value)
        if "array" in types:
            yield "list", [value]


def _number(text: str) -> int | float | None:
    match = _NUMBER.match(text)
    if match is None:
        return None
    try:
        if match.group(1) is None and match.group(2) is None:
            return int(text)
        value = float(text)
        return int(value) if value.is_integer() and abs(value) <= EXACT else value
    except (ValueError, OverflowError):
        return None


def _types(node: Mapping[str, Any]) -> set[str]:
    """The JSON types a schema names itself, by `type` or by the values it lists."""
    kinds = node.get("type")
    if isinstance(kinds, str):
        return {kinds}
    if is_list(kinds):
        return set(cast(Sequence[str], kinds))
    listed: Any = node.get("enum")
    values = cast(Sequence[Any], listed) if is_list(listed) else [node["const"]] if "const" in node else []
    return {_JSON_TYPE.get(value.__class__, "null") for value in values}


def _properties(node: Mapping[str, Any], where: Where, value: Mapping[str, Any]) -> Iterator[tuple[str, Where, Any]]:
    """The members of an object that a schema speaks of: name, the place of their schema, and it."""
    properties = cast(Mapping[str, Any], node.get("properties") or {})
    for name in properties:
        if name in value:
            yield name, (*where, "properties", name), properties[name]
    if isinstance(node.get("additionalProperties"), Mapping) and "patternProperties" not in node:
        for name in value:
            if name not in properties:
                yield name, (*where, "additionalProperties"), node["additionalProperties"]


def _item(node: Mapping[str, Any], where: Where, index: int) -> tuple[Where, Any]:
    for keyword in ("prefixItems", "items"):
        listed: Any = node.get(keyword)
        if is_list(listed):
            if index < len(listed):
                return (*where, keyword, index), listed[index]
            if keyword == "items":
                return (*where, "additionalItems"), node.get("additionalItems")
        elif isinstance(listed, Mapping):
            return (*where, keyword), cast(Any, listed)
    return where, None
