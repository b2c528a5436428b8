"""The tables of what the engine has, compared with the engine; and what each level adds."""

from __future__ import annotations

import ast
import builtins
import importlib
import itertools

import pydantic_monty as monty
import pytest

from sutler.lang import LEVELS, builtins_for, check, modules_for
from sutler.lang.levels import ENGINE_BUILTINS, MEMBERS, PARALLEL
from sutler.lang.messages import METHODS

from .support import Engine, said


def test_each_level_takes_all_that_the_one_below_takes() -> None:
    for lower, higher in itertools.pairwise(LEVELS):
        assert builtins_for(lower) < builtins_for(higher)
        assert modules_for(lower) < modules_for(higher)


def test_an_unknown_level_is_the_only_error() -> None:
    for ask in (builtins_for, modules_for, lambda level: check("1", {}, level=level)):
        with pytest.raises(ValueError, match=r"'prog'.*calls, program, full"):
            ask("prog")


def exists(engine: Engine, text: str) -> bool:
    try:
        engine.run(text, {})
    except monty.MontyError:
        return False
    return True


def test_the_builtins_of_the_levels_are_the_engines_own(engine: Engine) -> None:
    theirs = {name for name in dir(builtins) if not name.startswith("_") and exists(engine, name)}
    keywords = {"None", "True", "False"}
    assert theirs - keywords == ENGINE_BUILTINS
    assert builtins_for("full") - {PARALLEL} <= ENGINE_BUILTINS


def test_the_members_of_the_modules_are_the_engines_own(engine: Engine) -> None:
    for module, members in MEMBERS.items():
        public = [name for name in dir(importlib.import_module(module)) if not name.startswith("_")]
        theirs = {name for name in public if exists(engine, f"import {module}\n{module}.{name}")}
        assert theirs == members, module


@pytest.mark.parametrize("module", sorted(modules_for("full")))
def test_every_allowed_module_can_be_imported(module: str, engine: Engine) -> None:
    assert exists(engine, f"import {module}")


HOLDERS = {"pattern": "re.compile('a')", "moment": "datetime.datetime(2026, 1, 1)", "set": "{1}", "text": "'a'"}
HOLDERS |= {
    "int": "7",
    "float": "1.5",
    "type": "datetime.datetime",
    "int type": "int",
    "day": "datetime.date(2026, 1, 1)",
}


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_method_that_we_refuse_is_on_no_value_of_the_engine(method: str, engine: Engine) -> None:
    for holder in HOLDERS.values():
        for use in ("", "()"):
            try:
                engine.run(f"import re, datetime\nx = {holder}\nx.{method}{use}", {})
            except monty.MontyError as error:
                found = "has no attribute" not in str(error)
            else:
                found = True
            assert not found or use == "", f"{holder}.{method} exists"


PROGRAM_ONLY = {
    "def f():\n    return 1\nf()": "functions cannot be defined",
    "f = lambda x: x\nf(1)": "lambda is available only as key=",
    "while True:\n    break": "while is not available",
    "try:\n    x = 1\nexcept Exception:\n    x = 2": "try is not available",
    "raise ValueError('no')": "raise is not available",
    "assert True": "assert is not available",
    "(x := 3)": ":= is not available",
    "import json": "imports are not available",
    "from math import pi": "imports are not available",
    "1 | 2": "the operator | is not available",
    "1 & 2": "the operator & is not available",
    "1 ^ 2": "the operator ^ is not available",
    "1 << 2": "the operator << is not available",
    "x = 1\nx >>= 2": "the operator >> is not available",
    "~1": "the operator ~ is not available",
    "return 1": "return is not available",
    "x = b'a'": "b'a' is not plain data",
    "xs = [1]\nxs[0](1)": "only tools, builtins and methods can be called",
    "list(map(str, [1]))": "map is not available at this level",
    "t = '{}'\nt.format(1)": "format works only on a text written in place",
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", PROGRAM_ONLY)
def test_what_calls_lacks_is_named_with_a_rewrite_and_program_has_it(text: str) -> None:
    answer = said(text, level="calls")
    assert answer.startswith("line ")
    assert PROGRAM_ONLY[text] in answer
    assert "Write instead: " in answer
    if "xs[0]" not in text:
        assert said(text, level="program") == ""


MATCH = """
match [1, 2]:
    case 1:
        x = 2
    case [a, *b]:
        x = a
    case {"k": v, **r}:
        x = v
"""
WITH = """
class A:
    def __enter__(self):
        return 1
    def __exit__(self, *a):
        return None
with A() as x:
    x
"""
FULL_ONLY = {
    "class A:\n    pass": "classes are not available",
    MATCH: "match is not available",
    WITH: "with is not available",
    "import random": "module random is not available",
    "class A:\n    def f(self):\n        self._x = 1\n        return self._x": "classes",
    "getattr(1, 'real', None)": "getattr is not available",
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", FULL_ONLY)
def test_what_program_lacks_is_named_and_full_has_it(text: str, engine: Engine) -> None:
    assert FULL_ONLY[text] in said(text, level="program")
    assert said(text, level="full") == ""
    engine.run(text)


NEVER = {
    "eval('1')": "the expression itself",
    "exec('1')": "the lines themselves",
    "compile('1', '', 'eval')": "the lines themselves",
    "globals()": "a dict of your own",
    "locals()": "a dict of your own",
    "open('a.txt').read()": "a call of the tool",
    "await ping()": "Write instead: ping()",
    "async def f():\n    return 1": "def f(...):",
    "[x async for x in ping()]": "without async",
    "d = {'k': 1}\ndel d['k']": "Write instead: d.pop('k')",
    "xs = [1, 2]\ndel xs[0:1]": "Write instead: xs[0:1] = []",
    "x = 1\ndel x": "Write instead: x = None",
    "def f():\n    yield 1": "a list: out = []",
    "def f():\n    yield from [1]": "out.extend(values)",
    "from math import *": "from math import",
    "from . import x": "the code itself",
    "try:\n    x = 1\nexcept* ValueError:\n    x = 2": "except ValueError as e:",
    "import statistics\nstatistics.mean([1])": "sum(xs) / len(xs)",
    "import io": "'\\n'.join(lines)",
    "import heapq": "sorted(xs)[:n]",
    "import asyncio": "parallel([...])",
    "'a'.translate({})": "text.replace(old, new)",
    "from collections import OrderedDict": "it keeps its order",
    "import collections\ncollections.OrderedDict()": "it keeps its order",
    "import functools\nfunctools.wraps(1)": "the decorator without it",
    "import re\nre.compile('a', re.VERBOSE)": "the pattern on one line",
    "import re\nre.sub('a', lambda m: 'b', 'a')": "re.finditer",
    "import json\njson.dumps({}, default=str)": "json.dumps of plain data",
    "from datetime import datetime\ndatetime.today()": "datetime.now()",
    "from datetime import datetime\ndatetime.utcnow()": "datetime.now(timezone.utc)",
    "import itertools\nnext(x for x in itertools.count() if x > 3)": "a while loop with break",
    "raise SystemExit(1)": "raise RuntimeError('why')",
    "raise 'oops'": "raise RuntimeError('oops')",
    "exit()": "under if",
    "with ping() as p:\n    p": "Write instead: p = ping()",
    "try:\n    ping()\nexcept ConnectionError:\n    pass": "except RuntimeError",
    "try:\n    ping()\nexcept IOError:\n    pass": "OSError",
    "x = input()": "a parameter of the program",
    "isinstance(ping, str) or callable(1)": "isinstance(value, ...)",
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", NEVER)
def test_what_the_engine_lacks_is_refused_at_every_level_with_a_replacement(text: str) -> None:
    for level in ("program", "full"):
        assert NEVER[text] in said(text, level=level)
    assert said(text, level="calls") != ""


CLASSES = {
    "class A(Exception):\n    pass": "cannot inherit",
    "class A:\n    @property\n    def x(self):\n        return 1": "methods cannot be decorated",
    "class A:\n    def __repr__(self):\n        return ping()": "which __repr__ cannot wait for",
    "class A:\n    def __eq__(self, other):\n        return ping()": "which __eq__ cannot wait for",
}


@pytest.mark.parametrize("text", CLASSES)
def test_what_classes_of_the_engine_cannot_do_is_said(text: str) -> None:
    assert CLASSES[text] in said(text, level="full")


EVERYDAY = """
xs = [3, 1, 2]
part = xs[1:] + xs[::-1] + xs[-2:]
word = "many" if len(xs) > 2 else "few"
print(*xs, sep=", ")
total = sum(x * x for x in xs if x)
price = f"{total:>8.2f}|{word!r}|{total = }"
rows = sorted([{"n": 2}, {"n": 1}], key=lambda row: row["n"], reverse=True)
unique = {x % 2 for x in xs}
index = {str(x): x for x in xs}
inside = 0 < xs[0] <= 3 != 4
text = "{} and {name}".format(1, name="b")
for i, (a, b) in enumerate(zip(xs, part)):
    if a == b:
        continue
    if i > 5:
        break
else:
    word += "!"
first, *rest = xs
nested = {"a": [1, {"b": 2}]}["a"][1]["b"]
merged = {**index, "z": 0}
"""


@pytest.mark.requirement("PRG-06")
def test_everyday_idioms_are_accepted_at_every_level_and_run(engine: Engine) -> None:
    for level in LEVELS:
        verdict = check(EVERYDAY, {}, level=level)
        assert verdict.ok, [str(problem) for problem in verdict.errors]
        engine.run(verdict.text)


def test_every_kind_of_syntax_is_either_allowed_or_refused_by_default() -> None:
    """A construct that a later Python adds must not slip through: levels name what they take."""
    from sutler.lang.levels import NODES

    taken = set().union(*NODES.values())
    assert {"Await", "AsyncFunctionDef", "Delete", "Yield", "TryStar"} & taken == set()
    assert all(hasattr(ast, name) or name in ("TypeVar", "ParamSpec", "TypeVarTuple") for name in taken)
