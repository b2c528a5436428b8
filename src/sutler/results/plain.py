"""Any Python value as plain data: None, bool, int, float, str, list, dict with text keys (RUN-09, FS01).

| value                                   | becomes                                                             |
|-----------------------------------------|---------------------------------------------------------------------|
| datetime, date, time                    | ISO 8601 text; a timedelta its seconds                              |
| Decimal, UUID, Path, Fraction, complex  | text; so do IP addresses and regular expressions (their pattern)    |
| bytes, bytearray, memoryview            | `data:application/octet-stream;base64,...`                          |
| Enum                                    | its value                                                           |
| dataclass, NamedTuple, pydantic, attrs  | an object of its fields                                             |
| tuple, deque, range, views, generators  | a list; a set a sorted list                                         |
| numpy scalars and arrays, data frames   | numbers and lists; a frame a list of rows (none of them is imported)|
| an exception                            | `Type: message`                                                     |
| a key that is no text                   | its text                                                            |
| anything else                           | its repr, cut, with a note                                          |

NaN and the infinities stay floats: a program may compute with them; `json_text` says what they are in JSON.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Mapping, ValuesView
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, Final, cast

from ..errors import ToolError

MAX_DEPTH: Final = 100
MAX_VALUES: Final = 2_000_000
MAX_ITEMS: Final = 100_000  # taken from a generator, which may have no end
MAX_REPR: Final = 200

_kind = cast("Callable[[object], type[object]]", type)  # plain `type` is of an unknown type to the checker
_SCALARS: Final = frozenset((str, int, float, bool, type(None)))
_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_HUGE: Final = 1 << 14_000  # beyond it Python refuses to write an integer in decimal digits


def to_plain(value: Any, *, max_depth: int = MAX_DEPTH, path: str = "output") -> tuple[Any, tuple[str, ...]]:
    """The value as plain data, in fresh containers, and what was lost on the way, one sentence each.

    Raises ToolError naming the place (`output.rows[3]`) for a value that refers to itself, is nested deeper than
    `max_depth`, holds more than MAX_VALUES values, is a coroutine, or is a generator that fails.
    """
    if type(value) in _SCALARS:
        return value, ()
    work = _Work(max_depth)
    return work.plain(value, path, 0), tuple(work.notes)


def fresh(value: Any) -> Any:
    """The same JSON data in containers of its own, so that what is done to one is not done to the other."""
    kind = _kind(value)
    if kind is dict:
        return {key: item if type(item) in _SCALARS else fresh(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _SCALARS else fresh(item) for item in value]
    return value


def json_text(value: Any, *, indent: int | None = None) -> tuple[str, tuple[str, ...]]:
    """Strict JSON, and what was lost: NaN and the infinities become the text "NaN", "Infinity", "-Infinity" (FH22)."""
    notes: tuple[str, ...] = ()
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    except (TypeError, ValueError, RecursionError):
        plain, notes = to_plain(value, path="")
        found: list[str] = []
        text = json.dumps(_tagged(plain, "", found), ensure_ascii=False, allow_nan=False, indent=indent)
        notes = (*notes, *found[:5], *([f"and {len(found) - 5} more such numbers"] if len(found) > 5 else []))
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            # a lone surrogate has no UTF-8; as an escape it is legal JSON
            text = json.dumps(json.loads(text), indent=indent)
    return text, notes


class _Work:
    def __init__(self, max_depth: int) -> None:
        self.notes: list[str] = []
        self._max_depth = max_depth
        self._left = MAX_VALUES
        self._open: list[int] = []

    def plain(self, value: Any, path: str, depth: int) -> Any:
        kind = _kind(value)
        if kind in _SCALARS:
            return value
        if depth >= self._max_depth:
            raise ToolError(f"{_place(path)}: {self._too_deep(value)}")
        self._open.append(id(value))
        try:
            if kind is dict:
                return self._mapping(value, path, depth)
            if kind is list or kind is tuple:
                return self._list(value, path, depth)
            return self._other(value, path, depth)
        finally:
            self._open.pop()

    def _too_deep(self, value: Any) -> str:
        if id(value) in self._open:
            return "the value refers to itself"
        return f"the value is nested deeper than {self._max_depth} levels"

    def _count(self, values: int, path: str) -> None:
        self._left -= values
        if self._left < 0:
            raise ToolError(f"{_place(path)}: the result holds more than {MAX_VALUES} values")

    def _list(self, values: Iterable[Any], path: str, depth: int) -> list[Any]:
        found = list(values)
        self._count(len(found), path)
        for index, value in enumerate(found):
            if type(value) not in _SCALARS:
                found[index] = self.plain(value, f"{path}[{index}]", depth + 1)
        return found

    def _mapping(self, value: Mapping[Any, Any], path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._count(len(value), path)
        for key, item in value.items():
            name = key if type(key) is str else self._key(key, value, found, path)
            found[name] = item if type(item) in _SCALARS else self.plain(item, f"{path}.{name}", depth + 1)
        return found

    def _key(self, key: Any, whole: Mapping[Any, Any], found: Mapping[str, Any], path: str) -> str:
        plain = self.plain(key, f"{path}'s key", self._max_depth - 3) if type(key) not in _SCALARS else key
        tagged = _tagged(plain, "", [])
        name = tagged if isinstance(tagged, str) else json_text(tagged)[0]
        if name in found or (name in whole and name is not key):
            taken, name = name, f"{name} ({key.__class__.__name__})"
            self.notes.append(f"{path}: the keys {_repr(key)} and {taken!r} are the same as text; one became {name!r}")
        return name

    def _other(self, value: Any, path: str, depth: int) -> Any:
        try:
            for test, encode in _TABLE:
                if test(value):
                    return encode(self, value, path, depth)
        except ToolError:
            raise
        except Exception as error:
            self.notes.append(f"{path}: reading {value.__class__.__name__} failed ({_repr(error)})")
        text = _repr(value)
        self.notes.append(f"{path}: {value.__class__.__name__} has no plain form; this is its repr, {text}")
        return text


def _place(path: str) -> str:
    return path if len(path) <= 80 else f"{path[:80]}..."


def _repr(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"<{value.__class__.__name__}>"
    return text if len(text) <= MAX_REPR else f"{text[:MAX_REPR]}..."


def _is(*names: str) -> Callable[[Any], bool]:
    """A test by the names of a value's classes, so that no module is imported to ask."""
    wanted = frozenset(names)
    return lambda value: any(f"{kind.__module__}.{kind.__qualname__}" in wanted for kind in type(value).__mro__)


def _has(*attributes: str) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        # of the class: an object that answers to every name, as a mock does, has none of them there
        kind = _kind(value)
        return not isinstance(value, type) and all(hasattr(kind, name) for name in attributes)

    return test


def _of(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _text(_: _Work, value: Any, _path: str, _depth: int) -> str:
    return str.__str__(value) if isinstance(value, str) else str(value)


def _bytes(_: _Work, value: Any, _path: str, _depth: int) -> str:
    return f"data:application/octet-stream;base64,{base64.b64encode(bytes(value)).decode()}"


def _again(read: Callable[[Any], Any]) -> Callable[[_Work, Any, str, int], Any]:
    """Reads the value into something nearer to plain data, and goes on from there."""
    return lambda work, value, path, depth: work.plain(read(value), path, depth + 1)


def _set(work: _Work, value: Any, path: str, depth: int) -> list[Any]:
    found = work._list(value, path, depth)  # pyright: ignore[reportPrivateUsage]
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=lambda item: (item.__class__.__name__, _repr(item)))


def _lazy(work: _Work, value: Any, path: str, depth: int) -> list[Any]:
    """What a generator yields, MAX_ITEMS at most. It runs the tool's own code, so its failure is the tool's."""
    found: list[Any] = []
    try:
        found.extend(islice(value, MAX_ITEMS))
        more = next(value, _END) is not _END
    except (Exception, SystemExit) as error:
        raise ToolError(f"{path}: the generator failed after {len(found)} items: {_repr(error)}") from error
    if more:
        work.notes.append(f"{path}: only the first {MAX_ITEMS} items of a {value.__class__.__name__} were taken")
    return work._list(found, path, depth)  # pyright: ignore[reportPrivateUsage]


def _never_awaited(_: _Work, value: Any, path: str, _depth: int) -> Any:
    close = getattr(value, "close", None)
    if close is not None:
        close()
    raise ToolError(f"{path}: the tool returned {value.__class__.__name__}, which nobody awaits; await it in the tool")


def _whole(work: _Work, value: Any, path: str, _depth: int) -> Any:
    return float(value) if isinstance(value, float) else int(value)


def _fields(names: Callable[[Any], Iterable[str]]) -> Callable[[_Work, Any, str, int], Any]:
    return _again(lambda value: {name: getattr(value, name) for name in names(value)})


def _attrs(value: Any) -> Iterable[str]:
    return [one.name for one in value.__attrs_attrs__]


_END: Final = object()

# The first row whose test holds decides. Enum stands before str and int, which an Enum may also be.
_TABLE: Final[tuple[tuple[Callable[[Any], bool], Callable[[_Work, Any, str, int], Any]], ...]] = (
    (_is("enum.Enum"), _again(lambda value: value.value)),
    (_of(str), _text),
    (_has("dtype", "tolist"), _again(lambda value: value.tolist())),
    (_of(int, float), _whole),
    (_is("pandas.core.frame.DataFrame"), _again(lambda value: value.to_dict(orient="records"))),
    (_is("polars.dataframe.frame.DataFrame"), _again(lambda value: value.to_dicts())),
    (_of(bytes, bytearray, memoryview), _bytes),
    (_is("datetime.date", "datetime.time"), _again(lambda value: value.isoformat())),
    (_is("datetime.timedelta"), _again(lambda value: value.total_seconds())),
    (_is("decimal.Decimal", "uuid.UUID", "pathlib.PurePath", "pathlib._local.PurePath", "fractions.Fraction"), _text),
    (_is("ipaddress._IPAddressBase", "zoneinfo.ZoneInfo"), _text),
    (_of(complex), _text),
    (_is("re.Pattern"), _again(lambda value: value.pattern)),
    (_of(BaseException), _again(lambda value: f"{value.__class__.__name__}: {value}")),
    (_has("model_dump"), _again(lambda value: value.model_dump())),
    (_has("__dataclass_fields__"), _fields(lambda value: value.__dataclass_fields__)),
    (_has("__attrs_attrs__"), _fields(_attrs)),
    (_has("_fields", "_asdict"), _fields(lambda value: value._fields)),
    (_of(Mapping), _Work._mapping),  # pyright: ignore[reportPrivateUsage]
    (_of(AbstractSet), _set),
    (_is("collections.deque", "collections.UserList", "array.array"), _Work._list),  # pyright: ignore[reportPrivateUsage]
    (_of(list, tuple, range, ValuesView), _Work._list),  # pyright: ignore[reportPrivateUsage]
    (_has("__await__"), _never_awaited),
    (_has("__anext__"), _never_awaited),
    (_has("__iter__", "__next__"), _lazy),
)


def _tagged(value: Any, path: str, notes: list[str]) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        tag = _NOT_FINITE[repr(value)]
        notes.append(f"{path or 'the value'}: {tag} is no JSON number and is given as text")
        return tag
    if isinstance(value, int) and not -_HUGE < value < _HUGE:
        notes.append(f"{path or 'the value'}: an integer of {value.bit_length()} bits is given as hexadecimal text")
        return hex(value)
    if isinstance(value, dict):
        members = cast(dict[str, Any], value)
        return {key: _tagged(item, f"{path}.{key}" if path else key, notes) for key, item in members.items()}
    if isinstance(value, list):
        return [_tagged(item, f"{path}[{index}]", notes) for index, item in enumerate(cast(list[Any], value))]
    return value
