"""Arguments as a person types them: name=value, name:=JSON, name=@file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from ..schema.walk import follow
from .exits import Refused

_ALL = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_FORM = "write name=value, name:=JSON or name=@file"


def pairs(given: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were typed, each by what the schema says of its parameter. Refused says which is wrong.

    A parameter that takes text gets exactly what was typed (FH13). Another gets JSON when what was typed is JSON of a
    type it takes, and else the text, for the binder to judge.
    """
    values: dict[str, Any] = {}
    for item in given:
        name, mark, text = item.partition("=")
        forced = name.endswith(":")
        name = name.removesuffix(":")
        if not mark or not name:
            raise Refused(f"{item!r} is no argument: {_FORM}{_meant(item, schema, values)}")
        if name in values:
            raise Refused(f"{name} is given twice")
        if text.startswith("@"):
            text = read_text(
                text[1:], f"{name}=@{text[1:]}", f"to send text that begins with @, write {name}:='\"@...\"'"
            )
        values[name] = _json(name, text) if forced else _typed(text, schema, name)
    return values


def takes_stdin(given: Sequence[str], *more: str | None) -> bool:
    """Whether these arguments, or one of `more` (a file name or --args), are read from stdin; twice is refused."""
    uses = sum(item.partition("=")[2] == "@-" for item in given) + sum(one == "-" for one in more)
    if uses > 1:
        raise Refused("stdin can be read only once")
    return uses == 1


def read_text(place: str, what: str, hint: str = "") -> str:
    """A file as text, or stdin for `-`."""
    more = f" ({hint})" if hint else ""
    try:
        data = sys.stdin.buffer.read() if place == "-" else Path(place).expanduser().read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Refused(f"{what}: {place}: {reason}{more}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Refused(f"{what}: {place}: line {line} is not UTF-8 text{more}") from error


def read_object(text: str) -> dict[str, Any]:
    """--args as an object, when name=value arguments go on top of it."""
    value = _json("--args", text)
    if not isinstance(value, dict):
        raise Refused('--args must be a JSON object, as in \'{"name": "value"}\'')
    return cast("dict[str, Any]", value)


def _typed(text: str, schema: Mapping[str, Any], name: str) -> Any:
    properties = cast("Mapping[str, object]", schema.get("properties") or {})
    types = types_of(schema, properties.get(name))
    if "string" in types and types != _ALL:
        return text
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text
    return value if _type(value) & types else text


def types_of(root: Mapping[str, Any], node: object, depth: int = 8) -> frozenset[str]:
    """The JSON types a schema takes; all of them where it does not say."""
    found, _ = follow(root, node, ())
    if not isinstance(found, Mapping) or depth == 0:
        return _ALL
    schema = cast("Mapping[str, Any]", found)
    types = _ALL
    kind: object = schema.get("type")
    if isinstance(kind, str):
        types = frozenset({kind})
    elif isinstance(kind, list):
        types = frozenset(str(one) for one in cast("list[object]", kind))
    for key in ("anyOf", "oneOf"):
        members: object = schema.get(key)
        if isinstance(members, list) and members:
            types &= _union(types_of(root, one, depth - 1) for one in cast("list[object]", members))
    for one in cast("list[object]", schema.get("allOf") or []):
        types &= types_of(root, one, depth - 1)
    values: object = schema.get("enum")
    if isinstance(values, list):
        types &= _union(_type(one) for one in cast("list[object]", values))
    if "const" in schema:
        types &= _type(schema["const"])
    return types | {"integer"} if "number" in types else types


def _union(several: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*several)


def _type(value: object) -> frozenset[str]:
    """The JSON types a value has."""
    match value:
        case None:
            return frozenset({"null"})
        case bool():
            return frozenset({"boolean"})
        case int():
            return frozenset({"integer", "number"})
        case float():
            return frozenset({"number", "integer"}) if value.is_integer() else frozenset({"number"})
        case str():
            return frozenset({"string"})
        case list():
            return frozenset({"array"})
        case _:
            return frozenset({"object"})


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Refused(f"{name}: {text[:60]!r} is not JSON: {error.msg} ({place})") from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"{name}: this cannot be read as JSON: {error}") from error


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _meant(item: str, schema: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """What a value without a name was probably for: the first parameter that is still to be given."""
    properties: Any = schema.get("properties") or {}
    required: Any = schema.get("required") or ()
    free = [name for name in properties if name not in given]
    best = next((name for name in free if name in required), free[0] if free else None)
    return f"; did you mean {best}={item}?" if best is not None and item else ""
