"""`[[tools]]` and `[[virtual_tools]]`: every key and value checked, then a ToolTable (SRC-14, VIR-01)."""

from __future__ import annotations

from typing import Any, cast

from ..spec import Grade, ToolAnnotations
from ..tables import ArgTable, ToolTable, type_schema
from .check import (
    WRONG,
    Check,
    Checker,
    array,
    array_of,
    boolean,
    choice,
    kind_of,
    name,
    plain,
    seconds,
    string,
    table,
)
from .locate import KeyPath

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def tool_tables(cx: Checker, path: KeyPath, value: Any) -> Any:
    if isinstance(value, dict):
        return cx.wrong(path, "must be an array of tables", "write [[tools]], once for each tool")
    return _unique(cx, path, array(cx, path, value, tool_table), value)


def virtual_tables(cx: Checker, path: KeyPath, value: Any) -> Any:
    """Both forms: [[virtual_tools]] with a name in each, and [virtual_tools.<name>]."""
    if isinstance(value, dict):
        entries = cast(dict[str, Any], value).items()
        checked = [_named_virtual(cx, (*path, key), key, entry) for key, entry in entries]
        return [entry for entry in checked if entry is not WRONG]
    return _unique(cx, path, array(cx, path, value, virtual_table), value)


def grade(cx: Checker, path: KeyPath, value: Any) -> Any:
    """{w, d}, each 0..3, both needed."""
    found = table(cx, path, value, {"w": axis, "d": axis}, of="a grade")
    if not isinstance(value, dict):
        return WRONG
    missing = [axis for axis in ("w", "d") if axis not in value]
    if missing:
        return cx.wrong(path, f"a grade needs both w and d; {missing[0]} is missing", "write {w = 1, d = 1}, each 0..3")
    return Grade(found["w"], found["d"]) if len(found) == 2 else WRONG


def axis(cx: Checker, path: KeyPath, value: Any) -> Any:
    """One number of a grade."""
    if type(value) is int and 0 <= value <= 3:
        return value
    shown = value if isinstance(value, (int, float)) and not isinstance(value, bool) else kind_of(value)
    return cx.wrong(path, f"must be an integer from 0 to 3, not {shown}")


def _type_name(cx: Checker, path: KeyPath, value: Any) -> Any:
    if name(cx, path, value) is WRONG:
        return WRONG
    try:
        type_schema(value)
    except ValueError as error:
        return cx.wrong(path, str(error))
    return value


def _arg(cx: Checker, path: KeyPath, value: Any) -> Any:
    if isinstance(value, str):
        return cx.wrong(path, "must be a table, not a string", f'write {{name = "{value}"}}')
    keys: dict[str, Check] = {"name": name, "type": _type_name, "description": string, "default": plain}
    found = table(cx, path, value, keys, required=["name"], of="an argument")
    if "name" not in found:
        return WRONG
    has_default = "default" in found
    if has_default and not _fits(found["default"], type_schema(found.get("type", "Any"))):
        return cx.wrong((*path, "default"), f"does not fit the argument's type {found['type']}")
    return ArgTable(**found, has_default=has_default)


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    if "anyOf" in schema:
        return any(_fits(value, option) for option in schema["anyOf"])
    kind = schema.get("type")
    if kind is None:
        return True
    if (isinstance(value, bool) and kind != "boolean") or not isinstance(value, _PYTHON_TYPES.get(kind, ())):
        return False
    if isinstance(value, list):
        return all(_fits(item, schema.get("items", {})) for item in cast(list[Any], value))
    if isinstance(value, dict):
        inner = schema.get("additionalProperties", {})
        return all(_fits(item, inner) for item in cast(dict[str, Any], value).values())
    return True


def _args(cx: Checker, path: KeyPath, value: Any) -> Any:
    args = array(cx, path, value, _arg)
    return _unique(cx, path, args, value)


def _unique(cx: Checker, path: KeyPath, entries: list[Any], raw: Any) -> list[Any]:
    """Report every entry whose name an earlier one of the same array has."""
    if not isinstance(raw, list):
        return entries
    first: dict[str, KeyPath] = {}
    for index, entry in enumerate(cast(list[Any], raw)):
        key: object = cast(dict[str, Any], entry).get("name") if isinstance(entry, dict) else None
        if not isinstance(key, str):
            continue
        if key in first:
            cx.wrong((*path, index, "name"), f"{key!r} is already declared on line {cx.line(first[key])}")
        first.setdefault(key, (*path, index, "name"))
    return entries


def _input_schema(cx: Checker, path: KeyPath, value: Any) -> Any:
    if not isinstance(value, dict):
        return cx.wrong(path, f"must be a table that holds a JSON Schema, not {kind_of(value)}")
    schema = cast(dict[str, Any], value)
    if plain(cx, path, schema) is WRONG:
        return WRONG
    if schema.get("type", "object") != "object":
        return cx.wrong((*path, "type"), f'must be "object", not {schema["type"]!r}')
    if not isinstance(schema.get("properties", {}), dict):
        return cx.wrong((*path, "properties"), f"must be a table, not {kind_of(schema['properties'])}")
    return schema


def _annotations(cx: Checker, path: KeyPath, value: Any) -> Any:
    flags = ("read_only", "destructive", "idempotent", "open_world")
    keys: dict[str, Check] = {"title": string, **dict.fromkeys(flags, boolean)}
    return ToolAnnotations(**table(cx, path, value, keys, of="annotations"))


def _dotted_name(cx: Checker, path: KeyPath, value: Any) -> Any:
    if name(cx, path, value) is WRONG:
        return WRONG
    if not all(part.isidentifier() for part in value.split(".")):
        hint = "name the module, not its file" if value.endswith(".py") or "/" in value else ""
        return cx.wrong(path, f"must be a module's name such as package.module, not {value!r}", hint)
    return value


def _identifier(cx: Checker, path: KeyPath, value: Any) -> Any:
    if name(cx, path, value) is WRONG:
        return WRONG
    return value if value.isidentifier() else cx.wrong(path, f"must be the name of a function, not {value!r}")


_COMMON: dict[str, Check] = {
    "name": name,
    "description": string,
    "args": _args,
    "input_schema": _input_schema,
    "returns": name,
    "grade": grade,
    "grade_w": axis,
    "effects_ceiling": axis,
    "annotations": _annotations,
    "examples": array_of(plain),
    "docs": string,
    "timeout": seconds,
}
_TOOL: dict[str, Check] = {
    **_COMMON,
    "isolation": choice("thread", "process"),
    "module": _dotted_name,
    "function": _identifier,
}
TOOL_KEYS = frozenset(_TOOL)


def _no_code(cx: Checker, path: KeyPath, value: Any) -> Any:
    del value
    return cx.wrong(path, "a virtual tool has no code of its own", "use [[tools]] for a function of a module")


def _virtual_isolation(cx: Checker, path: KeyPath, value: Any) -> Any:
    if value == "process":
        return cx.wrong(path, "a virtual tool runs where its harness is, never in a process of its own")
    return choice("thread")(cx, path, value)


_VIRTUAL: dict[str, Check] = {
    **_COMMON,
    "isolation": _virtual_isolation,
    "module": _no_code,
    "function": _no_code,
}


def tool_table(cx: Checker, path: KeyPath, value: Any) -> Any:
    """One of [[tools]]."""
    return _built(
        cx, path, value, table(cx, path, value, _TOOL, required=["name", "module", "function"], of="[[tools]]")
    )


def virtual_table(cx: Checker, path: KeyPath, value: Any) -> Any:
    """One of [[virtual_tools]]."""
    return _built(cx, path, value, table(cx, path, value, _VIRTUAL, required=["name"], of="[[virtual_tools]]"))


def _named_virtual(cx: Checker, path: KeyPath, key: str, value: Any) -> Any:
    if not isinstance(value, dict):
        hint = "write [[virtual_tools]] or [virtual_tools.<name>]" if key in _VIRTUAL else ""
        return cx.wrong(path, f"must be the table of a virtual tool, not {kind_of(value)}", hint)
    entry = cast(dict[str, Any], value)
    if name(cx, path, key) is WRONG:
        return WRONG
    if entry.get("name", key) != key:
        return cx.wrong((*path, "name"), f"differs from the table's own name {key!r}", "leave `name` out")
    return _built(cx, path, value, table(cx, path, {"name": key, **entry}, _VIRTUAL, of="[virtual_tools.<name>]"))


def _built(cx: Checker, path: KeyPath, value: Any, found: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return WRONG
    if "args" in value and "input_schema" in value:
        cx.wrong((*path, "input_schema"), "args and input_schema exclude each other", "keep one of them")
    found_grade = _one_grade(cx, path, cast(dict[str, Any], value), found)
    if "name" not in found or found_grade is WRONG:
        return WRONG
    found["grade"] = found_grade
    for key in ("args", "examples"):
        found[key] = tuple(found.get(key, ()))
    return ToolTable(**found, where=cx.where(path))


def _one_grade(cx: Checker, path: KeyPath, raw: dict[str, Any], found: dict[str, Any]) -> Any:
    """The grade from either spelling. The two exclude each other, and the older one needs both its keys."""
    old = [key for key in ("grade_w", "effects_ceiling") if key in raw]
    w, d = found.pop("grade_w", None), found.pop("effects_ceiling", None)
    if not old:
        return found.get("grade")
    if "grade" in raw:
        return cx.wrong((*path, old[0]), "grade is given twice", "keep grade = {w, d}")
    if len(old) == 1:
        other = "effects_ceiling" if old[0] == "grade_w" else "grade_w"
        return cx.wrong((*path, old[0]), f"needs {other} beside it", "or write grade = {w = 1, d = 1}")
    return None if w is None or d is None else Grade(w, d)
