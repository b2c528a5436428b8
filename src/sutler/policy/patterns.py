"""What a rule may say of one argument's value: equals, glob, regex, a range of numbers, inside or outside a folder.

In doubt a rule that asks or denies (`eager`) holds and one that allows does not: a value of another type, a text too
long to look at, a path that may be read in two ways. So `not` turns eagerness round, and `outside` is `not inside`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Any, cast

from .paths import Folders, Readings, readings

LONGEST = 100_000  # characters of a text that a pattern looks at; a longer one is in doubt
_MOST_FOLDERS = 4_096

Test = Callable[[Any, bool, "Place"], bool]  # a value, whether the rule is eager, where paths begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Of one value; all that is given must hold. Of several words any one will do. See docs/policy.md.

    equals: JSON scalars. glob: over the whole text, with * ? [...]. regex: found anywhere in the text; in the syntax of
    Rust's regex crate, whose time is in proportion to the text. Bounds are numbers. inside, outside: folders.
    negated: the value must not fit this pattern. ValueError, from the constructor, for a regex that cannot be used.
    """

    equals: tuple[str | int | float | bool, ...] = ()
    glob: tuple[str, ...] = ()
    regex: tuple[str, ...] = ()
    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None
    inside: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    negated: Pattern | None = None

    def __post_init__(self) -> None:
        for name in ("equals", "glob", "regex", "inside", "outside"):
            given: Any = getattr(self, name)
            some: tuple[Any, ...] = tuple(cast("list[Any]", given)) if isinstance(given, list | tuple) else (given,)
            object.__setattr__(self, name, some)
        for text in self.regex:
            compiled(text)

    @property
    def looks_at_files(self) -> bool:
        return bool(self.inside or self.outside) or (self.negated is not None and self.negated.looks_at_files)

    def tests(self) -> tuple[Test, ...]:
        """Its parts, each ready to be asked many times."""
        found: list[Test] = []
        if self.equals:
            found.append(_equals(self.equals))
        if self.glob:
            found.append(_texts([_glob(one) for one in self.glob]))
        if self.regex:
            found.append(_texts([compiled(one) for one in self.regex]))
        if (self.at_least, self.at_most, self.above, self.below) != (None,) * 4:
            found.append(self._in_range)
        if self.inside:
            found.append(_inside(self.inside))
        if self.outside:
            found.append(_not([_inside(self.outside)]))
        if self.negated is not None:
            found.append(_not(self.negated.tests()))
        return tuple(found)

    def _in_range(self, value: Any, eager: bool, place: Place) -> bool:
        del place
        number = _number(value, eager)
        if number is None or number != number:
            return eager
        return (
            (self.at_least is None or number >= self.at_least)
            and (self.at_most is None or number <= self.at_most)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )


class Place:
    """Where the paths of one call begin. What a text may mean is found out once, however many rules ask.

    known: what folders were found to be, kept from call to call: one that is swapped for a link later does not take the
    rule along. elsewhere: another folder that the tool may take relative paths from, such as its server's; "." is that
    of this process; "?" one that nobody here knows.
    """

    __slots__ = ("_elsewhere", "_known", "_meant", "root")

    def __init__(
        self,
        root: str,
        known: dict[tuple[tuple[str, ...], str], Folders] | None = None,
        *,
        elsewhere: str | None = None,
    ) -> None:
        self.root = root
        self._elsewhere = elsewhere
        self._known = {} if known is None else known
        self._meant: dict[str, Readings] = {}

    def readings(self, text: str) -> Readings:
        meant = self._meant.get(text)
        if meant is None:
            meant = readings(text, self.root)
            if self._elsewhere is not None:
                meant = meant.and_from(text, self._elsewhere)
            self._meant[text] = meant
        return meant

    def folders(self, named: tuple[str, ...]) -> Folders:
        key = (named, self.root)
        found = self._known.get(key)
        if found is None:
            if len(self._known) > _MOST_FOLDERS:
                self._known.clear()
            found = self._known[key] = Folders(named, self.root)
        return found


def compiled(regex: str) -> Callable[[str], bool]:
    """A regex as a function of a text. ValueError in plain words when it cannot be used."""
    import jsonschema_rs as rs  # its engine needs time in proportion to the text, whatever the regex

    options = rs.RegexOptions(size_limit=1_000_000, dfa_size_limit=1_000_000)
    try:
        return rs.validator_for({"pattern": regex}, pattern_options=options).is_valid
    except (rs.ValidationError, ValueError):
        pass
    try:
        re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"is no regular expression: {error}") from None
    raise ValueError("is a regular expression that is too large, or uses look-around or back-references")


def _glob(glob: str) -> Callable[[str], object]:
    fits = re.compile(translate(glob)).match
    fixed = re.match(r"[^*?\[]*", glob)
    prefix = fixed.group() if fixed is not None else ""
    if prefix == glob:
        return glob.__eq__
    if glob == f"{prefix}*":
        return lambda text: text.startswith(prefix)
    return lambda text: text.startswith(prefix) and fits(text)


def _texts(fits: list[Callable[[str], object]]) -> Test:
    def test(value: Any, eager: bool, place: Place) -> bool:
        del place
        text = text_of(value)
        if len(text) > LONGEST:
            return eager
        try:
            for fit in fits:
                if fit(text):
                    return True
        except UnicodeEncodeError:  # half a surrogate pair
            return eager
        return False

    return test


def _equals(wanted: tuple[str | int | float | bool, ...]) -> Test:
    texts = {text_of(one) for one in wanted}

    def test(value: Any, eager: bool, place: Place) -> bool:
        del place
        if eager:  # a tool may read "5" as 5
            return text_of(value) in texts or any(_same(value, one) for one in wanted)
        return any(_same(value, one) for one in wanted)

    return test


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON values are: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def text_of(value: Any) -> str:
    """A scalar as the text that a pattern is held against."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return str(value)
    except ValueError:  # an integer with more digits than Python writes out
        return hex(value)


def _number(value: Any, eager: bool) -> float | None:
    if isinstance(value, int | float) and (eager or not isinstance(value, bool)):
        return value
    if eager and isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None


def _inside(folders: tuple[str, ...]) -> Test:
    def test(value: Any, eager: bool, place: Place) -> bool:
        if not isinstance(value, str):
            return eager
        held = place.folders(folders)
        meant = place.readings(value)
        return held.may_hold(meant) if eager else held.surely_hold(meant)

    return test


def _not(tests: Sequence[Test]) -> Test:
    def test(value: Any, eager: bool, place: Place) -> bool:
        for one in tests:  # noqa: SIM110 - all() costs as much as a test
            if not one(value, not eager, place):
                return True
        return False

    return test


# ---------------------------------------------------------------------- which values of a call are meant

_MOST_VALUES = 10_000


def leaves(arguments: Mapping[str, Any], *, keys: bool) -> list[tuple[str, Any]] | None:
    """Every value of a call with the dotted name it has; the elements of a list have the list's own name.

    Nulls are nothing. keys: the keys of objects count as texts too. None when there are too many to look at.
    """
    found: list[tuple[str, Any]] = []
    waiting: list[tuple[str, Any]] = [*arguments.items()]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return found
        name, value = waiting.pop()
        if isinstance(value, Mapping):
            inner = cast("Mapping[Any, Any]", value)
            if keys:
                found.extend((name, str(key)) for key in inner)
            waiting.extend((f"{name}.{key}", one) for key, one in inner.items())
        elif isinstance(value, list | tuple | set | frozenset):
            waiting.extend((name, one) for one in cast("list[Any]", value))
        elif value is not None:
            found.append((name, value))
        if len(found) + len(waiting) > _MOST_VALUES:
            break
    return None


def names_it(wanted: str) -> Callable[[str], bool]:
    """Whether a dotted name is the wanted one (a glob over it), or stands below it."""
    fits = re.compile(translate(wanted)).match

    def test(name: str) -> bool:
        while True:
            if fits(name):
                return True
            name, dot, _ = name.rpartition(".")
            if not dot:
                return False

    return test
