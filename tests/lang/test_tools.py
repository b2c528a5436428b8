"""Tools are called by name, where the engine can wait for them, and nowhere else."""

from __future__ import annotations

import pydantic_monty as monty
import pytest

from sutler.lang import check

from .support import TOOLS, Engine, checked, said

VALUES = [
    "r = read_file",
    "x = [read_file]",
    "x = {'a': read_file}",
    "x = (read_file, 1)",
    "print(read_file)",
    "str(read_file)",
    "read_file.name",
    "read_file == 1",
    "def f():\n    return read_file\nf()",
    "def f(g=read_file):\n    return g\nf()",
    "f = lambda: read_file\nf()",
    "x = read_file if 1 else 2",
    "(read_file or 1)('a')",
    "[t for t in [read_file]]",
    "f'{read_file}'",
    "@read_file\ndef f():\n    pass",
    "try:\n    pass\nexcept read_file:\n    pass",
    "ping(*read_file)",
    "read_file[0]",
]


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", VALUES)
def test_a_tool_used_as_a_value_is_refused(text: str) -> None:
    assert "read_file is a tool: it can only be called by its own name" in said(text)


REWRITES = {
    "list(map(read_file, xs))": "[read_file(x) for x in xs]",
    "list(filter(read_file, xs))": "[x for x in xs if read_file(x)]",
    "sorted(xs, key=read_file)": "keyed = [(read_file(row), row) for row in xs], then [pair[1] for pair in",
    "xs.sort(key=read_file)": "keyed = [(read_file(row), row) for row in xs], then",
    "max(xs, key=read_file)": "then max(keyed, key=lambda pair: pair[0])[1]",
    "list(map(lambda x: read_file(x), xs))": "[read_file(x) for x in xs]",
    "list(filter(lambda x: read_file(x) == 'a', xs))": "[x for x in xs if read_file(x) == 'a']",
    "sorted(xs, key=lambda x: len(read_file(x)))": "keyed = [(len(read_file(x)), x) for x in xs], then",
    "g = lambda x: read_file(x)": "a def that returns read_file(x), or a loop that calls it",
    "any(save_file(x, 'a') for x in xs)": "results = [], then for x in xs: results.append(save_file(x, 'a'))",
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", REWRITES)
def test_what_the_engine_cannot_wait_in_is_refused_with_the_rewrite(text: str) -> None:
    assert REWRITES[text] in said(f"xs = ['a']\n{text}")


def written_out(text: str) -> str:
    """The program with the line that was refused replaced by what the check says to write."""
    rewrite = said(f"xs = ['b', 'a']\nr = {text}").split("Write instead: ")[1]
    *before, last = rewrite.split(", then ")
    return "\n".join(["xs = ['b', 'a']", *before, f"r = {last}", "r"])


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("list(map(read_file, xs))", ["text of b", "text of a"]),
        ("list(filter(lambda x: read_file(x) == 'text of a', xs))", ["a"]),
        ("sorted(xs, key=read_file)", ["a", "b"]),
        ("sorted(xs, key=lambda x: read_file(x))", ["a", "b"]),
        ("max(xs, key=read_file)", "b"),
        ("min(xs, key=lambda x: read_file(x))", "a"),
    ],
)
def test_the_rewrite_passes_the_check_and_does_what_was_meant(text: str, result: object, engine: Engine) -> None:
    program = written_out(text)
    verdict = checked(program)
    assert verdict.ok, program
    assert engine.run(verdict.text) == result


HELPER = "def size(path):\n    return len(read_file(path))\nxs = ['a']\n"
SAVER = "def keep(path):\n    return save_file(path, 'x')\nxs = ['a']\n"

INDIRECT = {
    HELPER + "sorted(xs, key=size)": "size calls the tool read_file, so it cannot be given to sorted",
    HELPER + "xs.sort(key=size)": "cannot be given to xs.sort",
    HELPER + "list(map(size, xs))": "cannot be given to map",
    HELPER + "import itertools\nlist(itertools.groupby(xs, size))": "cannot be given to itertools.groupby",
    HELPER + "from itertools import starmap\nlist(starmap(size, xs))": "cannot be given to starmap",
    HELPER + "from collections import defaultdict\ndefaultdict(size)": "cannot be given to defaultdict",
    HELPER + "def outer(p):\n    return size(p)\nlist(map(outer, xs))": "outer calls the tool read_file",
    HELPER + "sorted(xs, key=lambda x: size(x))": "a lambda cannot call size, which calls the tool read_file",
    HELPER + "read_file(size)": "size is a function, and a tool takes only data",
    "read_file(lambda: 1)": "a lambda is a function, and read_file takes only data",
    SAVER + "any(keep(x) for x in xs)": "keep calls save_file, which may change things",
    "save_file('a', 'b') if sum(save_file(x, 'c') for x in 'ab') else 1": "save_file may change things",
    "x: read_file('a') = 1": "read_file is a tool and cannot stand in an annotation",
    "def f(x: read_file) -> int:\n    return x": "cannot stand in an annotation",
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", INDIRECT)
def test_a_function_that_calls_tools_may_not_go_where_the_engine_cannot_wait(text: str) -> None:
    assert INDIRECT[text] in said(text)


WORKS = {
    HELPER + "[size(x) for x in xs]": [9],
    HELPER + "import functools\nfunctools.reduce(lambda a, b: a + b, [size(x) for x in xs])": 9,
    HELPER + "import functools\nfunctools.partial(size, 'a')()": 9,
    HELPER + "def twice(f, x):\n    return f(x) + f(x)\ntwice(size, 'a')": 18,
    HELPER + "import functools\n@functools.cache\ndef cached(p):\n    return size(p)\ncached('a') + cached('a')": 18,
    SAVER + "[keep(x) for x in xs]": [True],
    "sum(len(read_file(x)) for x in ['a', 'b'])": 18,
    "any(read_file(x) for x in ['a'])": True,
    "(lambda x=ping(): x)()": 1,
    "[save_file(x, 'a') for x in ['a'] if ping()]": [True],
    "list(x for x in find_files('*'))": ["a.py", "b.py"],
    "f\"{read_file('a')!r:>{ping()}}\"": "'text of a'",
    "def f():\n    def g():\n        return ping()\n    return g\nf()()": 1,
    "try:\n    x = ping()\nfinally:\n    y = ping()\nx + y": 2,
    "save_file(path='a', **{'text': 'b'})": True,
    "len(read_file(*['a']))": 9,
    "(ping)()": 1,
}


@pytest.mark.parametrize("text", WORKS)
def test_calls_that_the_engine_can_wait_for_are_accepted_and_run(text: str, engine: Engine) -> None:
    verdict = checked(text)
    assert verdict.ok, [str(problem) for problem in verdict.errors]
    assert engine.run(verdict.text) == WORKS[text]
    assert {name for name, _, _ in engine.asked} == verdict.tools


CLASS = "class A:\n    def {}:\n        return ping()\n"


@pytest.mark.parametrize(
    "text",
    [
        CLASS.format("m(self)") + "A().m()",
        CLASS.format("__call__(self)") + "A()()",
        "class A:\n    def __init__(self):\n        self.x = ping()\nA().x",
        "class A:\n    x = ping()\nA.x",
        CLASS.format("__enter__(self)") + "    def __exit__(self, *a):\n        ping()\nwith A() as x:\n    y = x\ny",
    ],
)
def test_methods_that_the_engine_can_wait_in_may_call_tools(text: str, engine: Engine) -> None:
    verdict = check(text, TOOLS, level="full")
    assert verdict.ok, [str(problem) for problem in verdict.errors]
    assert engine.run(verdict.text) == 1


@pytest.mark.parametrize("method", ["__repr__", "__str__", "__eq__", "__add__", "__hash__", "__iter__", "__contains__"])
def test_methods_that_it_cannot_wait_in_may_not(method: str, engine: Engine) -> None:
    args = "self" if method in ("__repr__", "__str__", "__hash__", "__iter__") else "self, other"
    use = {
        "__repr__": "repr(A())",
        "__str__": "str(A())",
        "__eq__": "A() == 1",
        "__add__": "A() + 1",
        "__hash__": "hash(A())",
        "__iter__": "list(A())",
        "__contains__": "1 in A()",
    }[method]
    text = CLASS.format(f"{method}({args})") + use
    assert f"which {method} cannot wait for" in said(text, level="full")
    with pytest.raises(monty.MontyRuntimeError, match="cannot suspend"):
        engine.run(text)


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", [text for text in INDIRECT if "sort" in text or "map(" in text])
def test_what_is_refused_as_a_callback_would_have_failed_in_the_engine(text: str, engine: Engine) -> None:
    with pytest.raises(monty.MontyRuntimeError, match="cannot suspend"):
        engine.run(text)


PARALLEL = {
    "parallel([ping(), read_file('a')])": "",
    "parallel([read_file(p) for p in ['a', 'b'] if p])": "",
    "parallel([])": "",
    "parallel([ping(), save_file('a', 'b')])": "save_file may change things, so it cannot run in parallel",
    "parallel([save_file(x, 'b') for x in 'ab'])": "save_file may change things",
    "parallel([ping(), 1])": "each element of parallel is one tool call, and 1 is none",
    "parallel([len('a')])": "each element of parallel is one tool call",
    "parallel([*[1]])": "each element of parallel is one tool call",
    "parallel([read_file(read_file('a'))])": "read_file is called inside another element of parallel",
    "parallel([read_file(x) for x in find_files('*') if ping()])": "is called inside another element of parallel",
    "def f():\n    return ping()\nparallel([read_file(str(f()))])": "f is called inside another element",
    "xs = [1]\nparallel(xs)": "parallel takes one list of tool calls, written in place",
    "parallel(ping(), ping())": "parallel takes one list of tool calls",
    "parallel(tools=[ping()])": "parallel takes one list of tool calls",
    "parallel(ping() for x in [1])": "parallel takes one list of tool calls",
    "p = parallel": "parallel can only be called",
    "list(map(parallel, []))": "parallel can only be called",
}


@pytest.mark.requirement("PRG-06")
@pytest.mark.parametrize("text", PARALLEL)
def test_parallel_takes_one_list_of_read_only_tool_calls(text: str) -> None:
    for level in ("calls", "program", "full"):
        if level != "calls" or ("def " not in text and "map" not in text):
            assert PARALLEL[text] in said(text, level=level)
            assert (said(text, level=level) == "") is (PARALLEL[text] == "")


def test_parallel_gives_its_results_in_order(engine: Engine) -> None:
    verdict = checked("parallel([read_file(p) for p in ['b', 'a']]) + parallel([ping()])")
    assert engine.run(verdict.text) == ["text of b", "text of a", 1]
