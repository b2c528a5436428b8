"""Commands that only read, with every option that is known to change nothing of that. Any other command or option asks.

Kinds of value: text (any), number, file (read, ordinary, inside), path (a file or folder inside).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .words import NotUnderstood

Kind = str
LookAt = Callable[[Kind, str], None]  # checks one value; raises NotUnderstood

_NUMBER = re.compile(r"[+-]?\d+[A-Za-z]{0,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """flags: single letters without a value. valued: single letters with one, by kind. long: `--names`, None without a
    value. operands: the kind of each; or what looks at all of them and the options seen. counts: `-5` is an option.
    most: how many operands there may be."""

    flags: str = ""
    valued: Mapping[str, Kind] = field(default_factory=lambda: dict[str, Kind]())
    long: Mapping[str, Kind | None] = field(default_factory=lambda: dict[str, Kind | None]())
    operands: Kind | Callable[[Sequence[str], Sequence[tuple[str, str]], LookAt], None] = "file"
    counts: bool = False
    most: int | None = None


def look_at(command: Command, args: Sequence[str], look: LookAt) -> None:
    """Checks every word after the command's name. Raises NotUnderstood.

    Some programs take options after an operand for operands. So there an option may have no value, and counts as a path
    too: it means the same to both kinds.
    """
    operands: list[str] = []
    seen: list[tuple[str, str]] = []
    left = list(args)
    while left:
        word = left.pop(0)
        if word == "--":
            operands += left
            break
        if operands and word.startswith("-") and word != "-":
            look("path", word)
            flag = word in command.long if word.startswith("--") else all(one in command.flags for one in word[1:])
            if not flag or command.long.get(word) is not None:
                raise NotUnderstood(f"the option {word} stands after an operand")
        if word.startswith("--"):
            _long(command, word, left, seen, look)
        elif word.startswith("-") and word != "-":
            if command.counts and word[1:].isdecimal() and word.isascii():
                continue
            _short(command, word, left, seen, look)
        else:
            operands.append(word)
    if command.most is not None and len(operands) > command.most:
        raise NotUnderstood(f"it has more than {command.most} operands, and what the others do is not known")
    if callable(command.operands):
        command.operands(operands, seen, look)
    else:
        for operand in operands:
            check(command.operands, operand, look)


def check(kind: Kind, value: str, look: LookAt) -> None:
    if kind == "number" and _NUMBER.fullmatch(value) is None:
        raise NotUnderstood(f"{value!r} is no number")
    if kind in ("file", "path") and value != "-":
        look(kind, value)


def _long(command: Command, word: str, left: list[str], seen: list[tuple[str, str]], look: LookAt) -> None:
    name, given, value = word.partition("=")
    if name not in command.long:
        raise NotUnderstood(f"it has the option {name}, which is not known to be harmless")
    kind = command.long[name]
    if kind is None:
        if given:
            raise NotUnderstood(f"the option {name} takes no value")
        return
    if not given and kind.endswith("?"):
        return  # its value may be left out, and only = gives it
    if not given:
        if not left:
            raise NotUnderstood(f"the option {name} lacks its value")
        value = left.pop(0)
    check(kind.rstrip("?"), value, look)
    seen.append((name, value))


def _short(command: Command, word: str, left: list[str], seen: list[tuple[str, str]], look: LookAt) -> None:
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter in command.flags:
            seen.append((letter, ""))
            continue
        kind = command.valued.get(letter)
        if kind is None:
            raise NotUnderstood(f"it has the option -{letter}, which is not known to be harmless")
        if not letters:
            if not left:
                raise NotUnderstood(f"the option -{letter} lacks its value")
            letters = left.pop(0)
        check(kind, letters, look)
        seen.append((letter, letters))
        return


# ---------------------------------------------------------------------- commands with operands of their own


def _grep(operands: Sequence[str], seen: Sequence[tuple[str, str]], look: LookAt) -> None:
    names = {name for name, _ in seen}
    given = bool(names & {"e", "f", "--regexp", "--file"})
    files = operands if given else operands[1:]
    for file in files:
        check("path" if names & {"r", "--recursive"} else "file", file, look)


def _regex(end: str) -> str:
    """A regular expression up to `end`. Brackets are closed before it, so that all agree on where it ends."""
    return rf"(?:[^\\\[{end}]|\\.|\[(?!\^?\])[^\]\[\\{end}]+\])*"


_SED_ADDRESS = rf"(?:\d+|\$|/{_regex('/')}/)"
_SED_CHANGES = "".join(rf"|s\{end}{_regex(end)}\{end}(?:[^\\{end}]|\\.)*\{end}[gpiI0-9]*" for end in ("/", "|", "#"))
_SED = re.compile(rf"(?:{_SED_ADDRESS}(?:,{_SED_ADDRESS})?)?!?\s*(?:[pdq=]{_SED_CHANGES})?")


def _sed(operands: Sequence[str], seen: Sequence[tuple[str, str]], look: LookAt) -> None:
    scripts = [value for name, value in seen if name in ("e", "--expression")]
    files = operands
    if not scripts:
        scripts, files = list(operands[:1]), operands[1:]
    for script in scripts:
        if _SED.fullmatch(script) is None:
            raise NotUnderstood("its sed script is more than one plain p, d, q or s command")
    for file in files:
        check("file", file, look)


_AWK_VALUE = r'(?:\$(?:\d+|NF)|NF|NR|"[^"\\]*")'
_AWK = re.compile(
    rf"\s*(?:/{_regex('/')}/|(?:NR|NF|\$\d+)\s*(?:==|!=|<=|>=|<|>)\s*(?:\d+(?:\.\d+)?|\"[^\"\\]*\"))?\s*"
    rf"(?:\{{\s*print(?:\s+{_AWK_VALUE}(?:\s*,\s*{_AWK_VALUE})*)?\s*\}})?\s*"
)


def _awk(operands: Sequence[str], seen: Sequence[tuple[str, str]], look: LookAt) -> None:
    if not operands or _AWK.fullmatch(operands[0]) is None:
        raise NotUnderstood("its awk program is more than one plain print")
    for file in operands[1:]:
        if "=" in file:
            raise NotUnderstood(f"awk takes {file!r} as an assignment")
        check("file", file, look)


_FIND_TESTS = {
    "name": 1, "iname": 1, "path": 1, "ipath": 1, "wholename": 1, "regex": 1, "iregex": 1, "type": 1, "size": 1,
    "mtime": 1, "mmin": 1, "atime": 1, "amin": 1, "ctime": 1, "cmin": 1, "maxdepth": 1, "mindepth": 1, "perm": 1,
    "regextype": 1, "printf": 1, "empty": 0, "print": 0, "print0": 0, "ls": 0, "not": 0, "and": 0, "a": 0, "or": 0,
    "o": 0, "true": 0, "false": 0, "prune": 0, "quit": 0, "depth": 0, "mount": 0, "xdev": 0, "readable": 0,
}  # fmt: skip


def find(args: Sequence[str], look: LookAt) -> None:
    """find has no options but an expression: all of it must be tests and prints."""
    left = list(args)
    while left and not left[0].startswith("-") and left[0] not in ("(", ")", "!", ","):
        look("path", left.pop(0))
    while left:
        word = left.pop(0)
        if word in ("(", ")", "!", ","):
            continue
        if word == "-newer":
            look("path", left.pop(0) if left else "")
            continue
        wants = _FIND_TESTS.get(word[1:]) if word.startswith("-") else None
        if wants is None:
            raise NotUnderstood(f"find has {word}, which is not known to be harmless")
        del left[:wants]


def _date(operands: Sequence[str], seen: Sequence[tuple[str, str]], look: LookAt) -> None:
    for operand in operands:
        if not operand.startswith("+"):
            raise NotUnderstood("date would set the clock")
    if any("TZ" in value for _, value in seen):
        raise NotUnderstood("date would read the file of a time zone")


_TESTS = "-e -f -d -r -w -x -s -h -L -n -z = == != -eq -ne -lt -le -gt -ge -nt -ot ! ( ) -a -o ]"
_TEST_WORDS = frozenset(_TESTS.split())


def test(args: Sequence[str], look: LookAt) -> None:
    """test and [: every word that is no operator is taken for a path, which is stricter than it is."""
    for word in args:
        if word not in _TEST_WORDS and word:
            look("path", word)


def _any(args: Sequence[str], look: LookAt) -> None:
    """Words are only printed, or not looked at."""


_HASH = Command(flags="btz", long={"--binary": None, "--text": None, "--zero": None, "--tag": None})

SPECIAL: Mapping[str, Callable[[Sequence[str], LookAt], None]] = {
    "find": find,
    "test": test,
    "[": test,
    "echo": _any,
    "printf": _any,
    "true": _any,
    "false": _any,
}

COMMANDS: Mapping[str, Command] = {
    "ls": Command(
        flags="1AaBCcdFfGghiklmNnopQqRrSstUuvXx",
        valued={"I": "text", "w": "number", "T": "number"},
        long={
            "--all": None, "--almost-all": None, "--color": "text?", "--directory": None, "--full-time": None,
            "--group-directories-first": None, "--human-readable": None, "--inode": None, "--no-group": None,
            "--numeric-uid-gid": None, "--recursive": None, "--reverse": None, "--size": None, "--sort": "text",
            "--time": "text", "--time-style": "text", "--classify": "text?", "--ignore": "text", "--hide": "text",
        },
        operands="path",
    ),
    "cat": Command(
        flags="AbEensTtuv",
        long={"--number": None, "--number-nonblank": None, "--show-all": None, "--show-ends": None,
              "--show-nonprinting": None, "--show-tabs": None, "--squeeze-blank": None},
    ),
    "tac": Command(),
    "rev": Command(),
    "head": Command(
        flags="qvz", valued={"n": "number", "c": "number"}, counts=True,
        long={"--lines": "number", "--bytes": "number", "--quiet": None, "--verbose": None},
    ),
    "tail": Command(
        flags="qvz", valued={"n": "number", "c": "number"}, counts=True,
        long={"--lines": "number", "--bytes": "number", "--quiet": None, "--verbose": None},
    ),
    "wc": Command(
        flags="clmwL",
        long={"--bytes": None, "--chars": None, "--lines": None, "--words": None, "--max-line-length": None},
    ),
    "grep": Command(
        flags="EFGPHLbchIilnoqrsTuvwxyz", counts=True,
        valued={"A": "number", "B": "number", "C": "number", "m": "number", "e": "text", "f": "file"},
        long={
            "--after-context": "number", "--before-context": "number", "--context": "number", "--max-count": "number",
            "--regexp": "text", "--file": "file", "--include": "text", "--exclude": "text", "--exclude-dir": "text",
            "--color": "text?", "--count": None, "--extended-regexp": None, "--fixed-strings": None,
            "--basic-regexp": None, "--perl-regexp": None, "--ignore-case": None, "--invert-match": None,
            "--word-regexp": None, "--line-regexp": None, "--line-number": None, "--with-filename": None,
            "--no-filename": None, "--no-messages": None, "--only-matching": None, "--quiet": None, "--silent": None,
            "--recursive": None, "--files-with-matches": None, "--files-without-match": None, "--text": None,
        },
        operands=_grep,
    ),
    "sort": Command(
        flags="bdfgiMhnrRVcCmsuz", valued={"k": "text", "t": "text"},
        long={"--key": "text", "--field-separator": "text", "--numeric-sort": None, "--reverse": None, "--unique": None,
              "--ignore-case": None, "--version-sort": None, "--human-numeric-sort": None, "--stable": None,
              "--check": "text?", "--general-numeric-sort": None, "--month-sort": None},
    ),
    "uniq": Command(
        flags="cdDiuz", valued={"f": "number", "s": "number", "w": "number"}, most=1,
        long={"--count": None, "--repeated": None, "--unique": None, "--ignore-case": None},
    ),
    "cut": Command(
        flags="nsz", valued={"b": "text", "c": "text", "d": "text", "f": "text"},
        long={"--bytes": "text", "--characters": "text", "--delimiter": "text", "--fields": "text",
              "--complement": None, "--only-delimited": None, "--output-delimiter": "text"},
    ),
    "tr": Command(
        flags="cCdst", operands="text",
        long={"--complement": None, "--delete": None, "--squeeze-repeats": None, "--truncate-set1": None},
    ),
    "nl": Command(flags="p", valued=dict.fromkeys("bdfhilnsvw", "text")),
    "paste": Command(flags="sz", valued={"d": "text"}, long={"--delimiters": "text", "--serial": None}),
    "join": Command(flags="iz", valued=dict.fromkeys("aejotv12", "text"), most=2),
    "comm": Command(flags="123z", most=2),
    "diff": Command(
        flags="abBcdeEiNpqstTuwy", valued={"U": "number", "C": "number", "W": "number"}, most=2,
        long={"--brief": None, "--unified": "number?", "--side-by-side": None, "--ignore-case": None,
              "--ignore-all-space": None, "--ignore-blank-lines": None, "--color": "text?", "--text": None},
    ),
    "cmp": Command(flags="bls", valued={"n": "number", "i": "text"}, most=2),
    "fold": Command(flags="bs", valued={"w": "number"}),
    "fmt": Command(flags="cstu", valued={"w": "number"}),
    "expand": Command(flags="i", valued={"t": "text"}),
    "unexpand": Command(flags="a", valued={"t": "text"}),
    "column": Command(flags="t", valued={"s": "text"}),
    "od": Command(flags="abcdfilosvx", valued=dict.fromkeys("AtjNw", "text")),
    "base64": Command(flags="di", valued={"w": "number"}, most=1, long={"--decode": None, "--wrap": "number"}),
    "base32": Command(flags="di", valued={"w": "number"}, most=1),
    "cksum": Command(),
    "md5sum": _HASH,
    "sha1sum": _HASH,
    "sha224sum": _HASH,
    "sha256sum": _HASH,
    "sha384sum": _HASH,
    "sha512sum": _HASH,
    "b2sum": _HASH,
    "stat": Command(flags="t", valued={"c": "text"}, long={"--format": "text", "--printf": "text", "--terse": None},
                    operands="path"),
    "du": Command(
        flags="abchkmSsx", valued={"d": "number"}, operands="path",
        long={"--all": None, "--bytes": None, "--human-readable": None, "--summarize": None, "--total": None,
              "--max-depth": "number", "--apparent-size": None, "--exclude": "text"},
    ),
    "tree": Command(flags="aCDdFfghinpQqrstu", valued={"L": "number", "P": "text", "I": "text"}, operands="path",
                    long={"--dirsfirst": None, "--noreport": None}),
    "file": Command(flags="bi", long={"--brief": None, "--mime": None, "--mime-type": None}),
    "basename": Command(flags="az", valued={"s": "text"}, operands="text"),
    "dirname": Command(flags="z", operands="text"),
    "realpath": Command(flags="emqsz", operands="path"),
    "pwd": Command(flags="LP", most=0),
    "date": Command(flags="uR", valued={"d": "text", "I": "text"}, operands=_date,
                    long={"--date": "text", "--utc": None, "--iso-8601": "text?", "--rfc-3339": "text"}),
    "seq": Command(flags="w", valued={"s": "text", "f": "text"}, operands="number"),
    "sleep": Command(operands="number"),
    "sed": Command(flags="nErsz", valued={"e": "text"}, operands=_sed,
                   long={"--quiet": None, "--silent": None, "--expression": "text", "--regexp-extended": None}),
    "awk": Command(valued={"F": "text"}, operands=_awk),
}  # fmt: skip
