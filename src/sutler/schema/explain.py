"""Why arguments do not fit, in words a model can act on: where, what is wanted, what came (RUN-11, FH03)."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from .argtext import strict_json
from .stubs import type_text
from .validate import Validator
from .walk import lookup, readable

if TYPE_CHECKING:
    import jsonschema_rs

SHOWN: Final = 5  # faults named in one message
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 120
_SHORT.maxlist = _SHORT.maxdict = _SHORT.maxtuple = 6
_SHORT.maxlevel = 3


def short(value: Any) -> str:
    """A bounded repr."""
    return _SHORT.repr(value)


def faults(validator: Validator, arguments: Mapping[str, Any]) -> list[str]:
    """One sentence for each thing that does not fit, at most SHOWN; empty when all fits."""
    try:
        errors = [_deepest(error) for error in validator.errors(arguments)]
    except ValueError as error:
        return [f"the arguments are no plain data: {error}"]
    texts: list[str] = []
    seen: set[tuple[str | int, ...]] = set()
    for error in errors:
        place = tuple(error.instance_path)
        # one fault of a value is enough to mend it, but each missing parameter is a fault of its own
        if place not in seen or error.kind.name == "required":
            texts.append(_sentence(validator.schema, arguments, error))
        seen.add(place)
    if len(texts) > SHOWN:
        texts[SHOWN:] = [f"and {len(texts) - SHOWN} more"]
    return texts


def _deepest(error: jsonschema_rs.ValidationError, depth: int = 8) -> jsonschema_rs.ValidationError:
    """For a union that no branch of fits: the fault furthest inside the value, which is the one to mend."""
    branches: Sequence[Sequence[jsonschema_rs.ValidationError]] = getattr(error.kind, "context", None) or ()
    if not depth or not branches:
        return error
    found = error
    for branch in branches:
        # a branch whose every fault is inside the value was the one meant
        inner = [_deepest(one, depth - 1) for one in branch]
        if inner and all(len(one.instance_path) > len(error.instance_path) for one in inner):
            best = max(inner, key=lambda one: len(one.instance_path))
            if len(best.instance_path) > len(found.instance_path):
                found = best
    return found


def _sentence(root: Mapping[str, Any], arguments: Mapping[str, Any], error: jsonschema_rs.ValidationError) -> str:
    path, value = _reached(arguments, error)
    place = readable(path)
    at = f"{place}: " if place else ""
    kind = error.kind.name
    if kind == "required":
        missing = readable((*path, cast(Any, error.kind).property))
        return f"missing required parameter {missing!r}"
    if kind in ("additionalProperties", "unevaluatedProperties"):
        names = ", ".join(repr(name) for name in cast(Any, error.kind).unexpected[:SHOWN])
        return f"{at}unknown key {names}"
    if kind == "falseSchema":
        return f"{at}no value is allowed here, got {short(value)}"
    try:
        schema = lookup(root, error.schema_path[:-1])
    except (LookupError, ValueError):
        schema = True
    if kind == "enum" and isinstance(schema, Mapping):
        return f"{at}wanted one of {short(schema['enum'])}, got {short(value)}"
    if kind in ("type", "anyOf", "oneOf", "const"):
        return f"{at}wanted {type_text(root, schema)}, got {short(value)}{_broken(value)}"
    return f"{at}{error.message[:300]}, got {short(value)}"


def _reached(arguments: Any, error: jsonschema_rs.ValidationError) -> tuple[list[str | int], Any]:
    """Where the fault is, and the value there.

    The error's own path gives a key of digits as a number and leaves an empty key out, and its copy of the value shows
    NaN as null; so the value is looked up, and the copy serves where it cannot be found.
    """
    path: list[str | int] = []
    value: Any = arguments
    for part in error.instance_path:
        step = str(part) if isinstance(value, dict) else part
        try:
            value = lookup(value, (step,))
        except (LookupError, ValueError):
            return list(error.instance_path), error.instance
        path.append(step)
    return path, value


def _broken(value: Any) -> str:
    """Where text stops being JSON, when it begins like a list or an object."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return ""
    try:
        strict_json(value)
    except ValueError as error:
        where = getattr(error, "pos", None)
        at = f" at character {min(where + 1, len(value))} of {len(value)}" if isinstance(where, int) else ""
        return f" (text that is no JSON: {getattr(error, 'msg', error)}{at})"
    return ""
