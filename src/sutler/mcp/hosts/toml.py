"""Writing the little TOML that config files are given: strings, lists, tables of strings, numbers and booleans."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def table(path: Sequence[str], keys: Mapping[str, Any], newline: str = "\n") -> str:
    """`[a.b]` with its keys, ending in a line break."""
    return newline.join([f"[{'.'.join(map(key, path))}]", *_rows(keys)]) + newline


def element(path: Sequence[str], keys: Mapping[str, Any]) -> str:
    """`[[a.b]]` with its keys, ending in a line break."""
    return "\n".join([f"[[{'.'.join(map(key, path))}]]", *_rows(keys)]) + "\n"


def value(given: Any) -> str:
    match given:
        case bool():
            return str(given).lower()
        case int() | float():
            return f"{given:g}" if isinstance(given, float) and given.is_integer() else str(given)
        case Mapping():
            pairs = cast("Mapping[str, Any]", given).items()
            if not pairs:
                return "{}"
            return f"{{ {', '.join(f'{key(name)} = {value(item)}' for name, item in pairs)} }}"
        case list() | tuple():
            return f"[{', '.join(map(value, cast('Sequence[Any]', given)))}]"
        case _:
            return string(str(given))


def _rows(keys: Mapping[str, Any]) -> Iterator[str]:
    """A line for each key; an array of tables has a line for each of them."""
    for name, item in keys.items():
        items = cast("Sequence[Any]", item) if isinstance(item, list) else ()
        if items and all(isinstance(one, Mapping) for one in items):
            yield f"{key(name)} = ["
            yield from (f"  {value(one)}," for one in items)
            yield "]"
        else:
            yield f"{key(name)} = {value(item)}"


def key(name: str) -> str:
    return name if _BARE.match(name) else string(name)


def string(text: str) -> str:
    """A string on one line; in single quotes where that spares escapes."""
    if "'" not in text and text.isprintable() and ("\\" in text or '"' in text):
        return f"'{text}'"
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    return char if char.isprintable() else f"\\U{ord(char):08x}"
