"""Plain words for what is refused, each with what to write instead. No name of a syntax-tree class appears here."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from .levels import MEMBERS, modules_for

MAX_COMPARED = 100  # likeness of long names takes time that grows with the square of their length

_HOST = "files, network and processes of the host are reached only through tools"
_FRAMES = "the insides of running code cannot be reached"

NAMES: dict[str, tuple[str, str]] = {
    "eval": ("eval hides what a program does", "the expression itself; json.loads(text) for data"),
    "exec": ("exec hides what a program does", "the lines themselves"),
    "compile": ("compile hides what a program does", "the lines themselves"),
    "__import__": ("__import__ is not available", "import json (or another allowed module) as a line of its own"),
    "globals": ("globals() is not available", "the names themselves, or a dict of your own"),
    "locals": ("locals() is not available", "the names themselves, or a dict of your own"),
    "vars": ("vars() is not available", "the names themselves, or a dict of your own"),
    "dir": ("dir() is not available", "the names themselves; d.keys() for a dict"),
    "getattr": ("getattr is not available", "value.name, or d.get('name', default) for a dict"),
    "setattr": ("setattr is not available", "d['name'] = value"),
    "delattr": ("delattr is not available", "d.pop('name')"),
    "hasattr": ("hasattr is not available here", "'name' in d, or isinstance(value, dict)"),
    "open": ("open is not available: " + _HOST, "a call of the tool that reads or writes files"),
    "input": ("input() is not available: nobody is there to type", "a parameter of the program"),
    "breakpoint": ("breakpoint() is not available", "print(value)"),
    "help": ("help() is not available", "the call itself"),
    "exit": ("exit() is not available", "the rest of the program under if; the last line is the result"),
    "quit": ("quit() is not available", "the rest of the program under if; the last line is the result"),
    "super": ("super() is not available: there is no inheritance", "plain functions"),
    "classmethod": ("classmethod is not available", "a plain function"),
    "staticmethod": ("staticmethod is not available", "a plain function"),
    "property": ("property is not available", "a method, called as value.name()"),
    "object": ("object is not available", "None, or a dict"),
    "memoryview": ("memoryview is not available", "slices of the text or list itself"),
    "bytearray": ("bytearray is not available", "a list of numbers"),
    "callable": ("callable() is not available", "isinstance(value, ...) with the type that you expect"),
    "issubclass": ("issubclass() is not available", "isinstance(value, ...)"),
    "ascii": ("ascii() is not available", "repr(value)"),
    "map": ("map is not available at this level", "[f(x) for x in xs]"),
    "filter": ("filter is not available at this level", "[x for x in xs if condition]"),
    "next": ("next is not available at this level", "([x for x in xs if condition] or [None])[0]"),
    "iter": ("iter is not available at this level", "for x in xs:"),
    "type": ("type is not available at this level", "isinstance(value, str)"),
    "divmod": ("divmod is not available at this level", "(a // b, a % b)"),
    "frozenset": ("frozenset is not available at this level", "set(xs)"),
    "slice": ("slice is not available at this level", "xs[a:b]"),
    "pow": ("pow is not available at this level", "a ** b"),
    "bytes": ("bytes is not available at this level", "str"),
    "format": ("format is not available at this level", 'f"{value:>10}"'),
    "sort_by": ("sort_by is not part of the language", "sorted(rows, key=lambda row: row['name'])"),
    "true": ("true is written with a capital letter", "True"),
    "false": ("false is written with a capital letter", "False"),
    "null": ("null is written as None", "None"),
    "nil": ("nil is written as None", "None"),
    "undefined": ("undefined is written as None", "None"),
    "NaN": ("NaN is not a name", "float('nan')"),
    "Infinity": ("Infinity is not a name", "float('inf')"),
    "ConnectionError": ("ConnectionError is not available: a dead server is a RuntimeError", "except RuntimeError"),
    "IOError": ("IOError is an old name", "OSError"),
    "EnvironmentError": ("EnvironmentError is an old name", "OSError"),
    "EOFError": ("EOFError is not available", "Exception"),
    "UnicodeError": ("UnicodeError is not available", "ValueError"),
    "Warning": ("warnings are not available", "print(message)"),
    "ExceptionGroup": ("exception groups are not available", "one exception"),
    "BaseExceptionGroup": ("exception groups are not available", "one exception"),
}

MODULES: dict[str, str] = {
    "statistics": "sum(xs) / len(xs) for the mean, sorted(xs)[len(xs) // 2] for the median",
    "operator": "a lambda: key=lambda row: row['name']",
    "heapq": "sorted(xs)[:n]",
    "string": "the characters themselves: 'abc...'",
    "textwrap": "slices and ''.join(parts)",
    "random": "a fixed choice, or a tool",
    "time": "nothing: a program cannot wait; datetime.now() of module datetime for the time",
    "asyncio": "plain calls: a tool call gives its value at once; parallel([...]) for several",
    "typing": "the program without it: list[int], dict and X | None need no import",
    "dataclasses": "a dict, or collections.namedtuple",
    "enum": "plain strings",
    "copy": "list(x), dict(x), or json.loads(json.dumps(x)) for a deep copy",
    "csv": "line.split(',') for each line",
    "contextlib": "try and finally",
    "logging": "print(message)",
    "traceback": "except Exception as e: print(e)",
    "decimal": "round(x, 2), or whole numbers of cents",
    "fractions": "whole numbers and //",
    "uuid": "a counter",
    "glob": "the tool that finds files",
    "bisect": "sorted(xs) and a comprehension",
    "io": "a list of lines and '\\n'.join(lines)",
}
_OUTSIDE_NAMES = """
    os sys subprocess shutil pathlib socket requests httpx urllib http aiohttp ctypes threading
    multiprocessing importlib builtins inspect gc signal tempfile sqlite3 pickle marshal types code platform
"""
_OUTSIDE = frozenset(_OUTSIDE_NAMES.split())

MEMBER_WORDS: dict[str, str] = {
    "collections.OrderedDict": "a dict: it keeps its order",
    "collections.ChainMap": "{**defaults, **values}",
    "collections.abc": "list, dict or str",
    "functools.wraps": "the decorator without it",
    "functools.cmp_to_key": "key=lambda x: ...",
    "functools.cached_property": "a plain variable",
    "json.JSONEncoder": "json.dumps of plain lists, dicts, strings and numbers",
    "re.VERBOSE": "the pattern on one line",
    "re.X": "the pattern on one line",
    "re.subn": "re.sub(pattern, new, text), and len(re.findall(pattern, text)) for the count",
    "re.UNICODE": "the pattern alone: matching is Unicode already",
    "datetime.datetime.today": "datetime.now()",
    "datetime.UTC": "datetime.timezone.utc",
}

METHODS: dict[str, str] = {
    "translate": "text.replace(old, new) for each character",
    "maketrans": "text.replace(old, new) for each character",
    "bit_length": "len(bin(n)) - 2",
    "bit_count": "bin(n).count('1')",
    "to_bytes": "hex(n)",
    "from_bytes": "int(text, 16)",
    "is_integer": "x == int(x)",
    "as_integer_ratio": "round(x, digits)",
    "difference_update": "s = s - other",
    "intersection_update": "s = s & other",
    "symmetric_difference_update": "s = s ^ other",
    "subn": "pattern.sub(new, text)",
    "utcnow": "datetime.now(timezone.utc)",
    "utcfromtimestamp": "datetime(1970, 1, 1) + timedelta(seconds=s)",
    "fromtimestamp": "datetime(1970, 1, 1) + timedelta(seconds=s)",
    "timetuple": "(day.year, day.month, day.day)",
    "ctime": "day.isoformat()",
    "toordinal": "(day - date(1970, 1, 1)).days",
    "fromordinal": "date(1970, 1, 1) + timedelta(days=n)",
    "isocalendar": "day.strftime('%G-%V')",
}


def short(name: str) -> str:
    return name if len(name) <= 60 else name[:57] + "..."


def closest(name: str, among: Iterable[str], *, least: float = 0.6) -> str:
    """The name most like `name`, or an empty string when none is near. least: how like it must be, up to 1."""
    import difflib  # only a wrong program needs it

    if len(name) > MAX_COMPARED:
        return ""
    names = [one for one in islice(among, 5000) if one and len(one) <= MAX_COMPARED]
    found = difflib.get_close_matches(name, names, n=1, cutoff=least)
    if found:
        return found[0]
    plain = {one.lower().replace("_", ""): one for one in names}
    return plain.get(name.lower().replace("_", ""), "")


def by_ending(name: str, among: Iterable[str]) -> str:
    """The only name that ends in `_name`, as tool_wc does for wc, or an empty string."""
    found = [one for one in among if one.endswith(f"_{name}")]
    return found[0] if len(found) == 1 else ""


def module_words(name: str, level: str) -> tuple[str, str]:
    """Why module `name` cannot be imported at this level, and what to write instead."""
    if not modules_for(level):
        instead = (
            f"the tool that does it ({_HOST})" if name in _OUTSIDE else MODULES.get(name, "the program without it")
        )
        return "imports are not available at this level", instead
    if name in _OUTSIDE:
        return f"module {name} is not available: {_HOST}", "a call of the tool that does it"
    near = closest(name, modules_for(level))
    instead = MODULES.get(name) or (f"import {near}" if near else "plain Python, or a call of a tool")
    return f"module {name} is not available", instead


def import_for(name: str, level: str) -> str:
    """The import line that would make an unknown `name` known, or an empty string."""
    allowed = modules_for(level)
    if name == "datetime" and allowed:
        return "from datetime import datetime, timedelta"
    if name in allowed:
        return f"import {name}"
    for module in ("collections", "itertools", "functools", "datetime", "math"):
        if module in allowed and len(name) > 2 and name in MEMBERS[module]:
            return f"from {module} import {name}"
    return ""


def frame_words() -> tuple[str, str]:
    return _FRAMES, "the value that you need, passed along as an argument"


def outside_module(name: str) -> bool:
    return name in _OUTSIDE
