"""Unknown names with the closest match, names used too early, and names that may not be given away (PRG-06)."""

from __future__ import annotations

import pytest

from sutler.lang import check

from .support import TOOLS, checked, said

UNKNOWN = {
    "read_fil('a')": ("the closest tool is read_file", "read_file(path: str, limit: int = ...)"),
    "readFile('a')": ("the closest tool is read_file", "read_file("),
    "totl = 1\ntotal": ("the closest is totl", "totl"),
    "lenght([1])": ("there is no name lenght", "len"),
    "zzz": ("there is no name zzz", "zzz = ... on a line before, or pass it as a parameter"),
    "print(date)": ("date is not imported", "from datetime import date as the first line, or pass it as a parameter"),
    "json.loads('1')": ("json is not imported", "import json as the first line"),
    "Counter('a')": ("Counter is not imported", "from collections import Counter"),
    "sqrt(2)": ("sqrt is not imported", "from math import sqrt"),
    "x = true": ("true is written with a capital letter", "True"),
    "x = null": ("null is written as None", "None"),
    "os.system('ls')": ("module os is not available", "a call of the tool"),
    "__builtins__": ("__builtins__ cannot be reached", "without two underscores"),
    "__import__('os')": ("__import__ is not available", "import json"),
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", UNKNOWN)
def test_an_unknown_name_is_reported_with_its_line_and_what_comes_closest(text: str) -> None:
    message, rewrite = UNKNOWN[text]
    answer = said(text)
    assert answer.startswith(f"line {text.count(chr(10)) + 1}: ")
    assert message in answer
    assert rewrite in answer.split("Write instead: ")[1]


@pytest.mark.parametrize("name", ["text", "leng", "maxx", "prints", "types", "code", "rows"])
def test_a_name_that_is_only_read_is_never_taken_for_a_builtin_or_a_module(name: str) -> None:
    [problem] = checked(f"read_file({name})").errors
    assert (problem.unknown, problem.called) == (name, False)
    assert problem.message == f"there is no name {name}"
    assert problem.rewrite == f"{name} = ... on a line before, or pass it as a parameter"


def test_a_parameter_that_was_forgotten_may_be_one_that_the_program_sets_anew() -> None:
    assert said("text = text.strip()").endswith("before this one, or pass it as a parameter")


def test_a_called_name_that_nothing_is_like_lists_no_tools() -> None:
    [problem] = checked("frobnicate(1)").errors
    assert problem.message == "there is no tool or function frobnicate; of the 5 tools none is close"
    assert (problem.rewrite, problem.unknown, problem.called) == ("", "frobnicate", True)
    assert "there are no tools" in str(check("frobnicate(1)", {}).errors[0])


def test_a_tool_is_known_by_the_end_of_its_name() -> None:
    tools = {"tool_wc": TOOLS["ping"], "tool_frob": TOOLS["ping"]}
    assert "the closest tool is tool_wc" in str(check("wc('a')", tools).errors[0])
    assert check("print(wc)", tools).errors[0].message == "there is no name wc"


TOO_EARLY = {
    "x += 1": "x is used before",
    "x = x + 1": "x is used before",
    "print(y)\ny = 1": "y is used before",
    "for i in [1]:\n    n += i": "n is used before",
    "main()\ndef main():\n    return 1": "main is used before",
    "[z for z in zs]\nzs = [1]": "zs is used before",
    "n = 0\ndef f():\n    n += 1\n    return n\nf()": "n is read in f before it gets a value there",
    "def f():\n    print(m)\n    m = 1\nf()": "m is read in f before",
    "x: int\nx": "x is used before",
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", TOO_EARLY)
def test_a_name_used_before_it_has_a_value_is_reported(text: str) -> None:
    assert TOO_EARLY[text] in said(text)


FINE = [
    "for i in [1, 2]:\n    if i > 1:\n        print(last)\n    last = i",
    "while True:\n    try:\n        print(seen)\n        break\n    except NameError:\n        pass\n    seen = 1",
    "def f():\n    return later\nlater = 1\nf()",
    "def f():\n    return g()\ndef g():\n    return 1\nf()",
    "def f():\n    global made\n    made = 1\nf()\nmade",
    "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n        return n\n    return g()\nf()",
    "if False:\n    x = 1\nelse:\n    x = 2\nx",
    "try:\n    x = 1\nexcept Exception as e:\n    x = str(e)\nx",
    "[y for x in [1] if (y := x)]\ny",
    "[(a, b) for a in [1] for b in [a]]",
    "a, (b, *c) = 1, (2, 3)\na + b + len(c)",
    "def f(x: List[int], y: 'Later' = None) -> Dict:\n    z: Nothing = 1\n    return z\nf(1)",
    "f = lambda n, *a, k=1, **m: n + k + len(a) + len(m)\nf(1)",
    "def f(*args, **kwargs):\n    return args, kwargs\nf()",
    "from datetime import datetime as now\nnow.now()",
    "import math as m\nm.pi",
    "for _ in range(2):\n    pass\n_x = 1\n_x",
    "if __name__ == '__main__':\n    x = 1",
    "from __future__ import annotations\n1",
    "n = n + 1",
    "d = {}\nd['k'] = 1\nd['k'] += 1",
    "def f(n):\n    return n and f(n - 1)\nf(3)",
]


@pytest.mark.parametrize("text", FINE)
def test_names_that_have_a_value_in_time_are_accepted(text: str) -> None:
    assert said(text, params=["n"]) == ""


ENTERED = "class C:\n    def __enter__(self):\n        return 1\n    def __exit__(self, *a):\n        return None\n"
BINDINGS = [
    "{0} = 1",
    "{0} += 1",
    "{0}: int = 1",
    "a, {0} = 1, 2",
    "[a, *{0}] = [1, 2]",
    "({0} := 1)",
    "[1 for x in [1] if ({0} := x)]",
    "for {0} in [1]:\n    pass",
    "for a, {0} in [(1, 2)]:\n    pass",
    "[1 for {0} in [1]]",
    "{{1 for {0} in [1]}}",
    "{{1: 1 for {0} in [1]}}",
    "list(1 for {0} in [1])",
    "def {0}():\n    pass",
    "def f({0}):\n    pass",
    "def f(*{0}):\n    pass",
    "def f(*, {0}=1):\n    pass",
    "def f(**{0}):\n    pass",
    "def f({0}, /):\n    pass",
    "f = lambda {0}: 1",
    "f = lambda *{0}: 1",
    "import math as {0}",
    "from math import pi as {0}",
    "try:\n    pass\nexcept Exception as {0}:\n    pass",
    "def f():\n    global {0}",
    "def f():\n    {0} = 1\n    def g():\n        nonlocal {0}\n        {0} = 2",
    "class {0}:\n    pass",
    "class A:\n    def f(self):\n        {0} = 1",
    "match 1:\n    case {0}:\n        pass",
    "match 1:\n    case [*{0}]:\n        pass",
    "match 1:\n    case {{**{0}}}:\n        pass",
    "match 1:\n    case int() as {0}:\n        pass",
    ENTERED + "with C() as {0}:\n    pass",
]


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("form", BINDINGS)
@pytest.mark.parametrize(("name", "kind"), [("read_file", "tool"), ("len", "builtin"), ("parallel", "builtin")])
def test_no_form_of_binding_may_take_the_name_of_a_tool_or_a_builtin(form: str, name: str, kind: str) -> None:
    assert f"{name} is a {kind}, and its name cannot stand for anything else" in said(form.format(name), level="full")
    assert said(form.format("something"), level="full") == ("" if "+=" not in form else said(form.format("something")))


@pytest.mark.requirement("PRG-06")
def test_a_member_of_a_class_may_have_a_builtins_name_but_never_a_tools() -> None:
    assert said("class A:\n    id: int = 1\n    def format(self):\n        return 1", level="full") == ""
    assert "read_file is a tool" in said("class A:\n    def read_file(self):\n        return 1", level="full")
    assert "read_file is a tool" in said("class A:\n    read_file = 1", level="full")


def test_a_tool_named_like_a_builtin_is_no_tool_because_the_engine_would_never_ask_for_it() -> None:
    verdict = check("len([1])", {"len": TOOLS["save_file"]})
    assert verdict.ok
    assert verdict.tools == frozenset()


@pytest.mark.parametrize("name", ["read_file", "len", "parallel"])
def test_a_parameter_with_the_name_of_a_tool_or_builtin_is_refused(name: str) -> None:
    assert f"the parameter {name} has the name of" in said("1", params=[name])


@pytest.mark.parametrize("name", ["__x", "__builtins__", "__class__"])
def test_names_with_two_underscores_cannot_be_made(name: str) -> None:
    assert f"the name {name} begins with two underscores" in said(f"{name} = 1")


LOOKALIKES = {
    "\uff52ead_file('a')": "read_file",
    "\uff45val('1')": "eval",
    "\ufb01nd = 1": "find",
    "x = f'{\uff45val(1)}'": "eval",
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", LOOKALIKES)
def test_look_alike_letters_in_names_are_refused_with_the_plain_spelling(text: str) -> None:
    assert "look-alike letters" in said(text)
    assert said(text).endswith(f"Write instead: {LOOKALIKES[text]}")


@pytest.mark.parametrize(
    "text", ["n\u00fa = 1\nn\u00fa", "x = '\uff45val'", "x = f'\uff45val {1}'", "x = 1  # \uff45val"]
)
def test_letters_of_other_scripts_in_names_and_any_letters_in_text_are_fine(text: str) -> None:
    assert said(text) == ""


def test_the_same_unknown_name_is_reported_once() -> None:
    assert len(checked("zz(1)\nzz(2)\nprint(zz)").errors) == 1
