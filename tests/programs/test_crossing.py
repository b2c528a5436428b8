"""What leaves a program is looked at inside the sandbox, before the host builds anything of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from sutler import SyncRuntime
from sutler.programs.crossing import GUARD, guarded

COLLIDING = "m = 2305843009213693951\nd = {i * m: 1 for i in range(60000)}\n"


@pytest.fixture(scope="module")
def rt() -> Iterator[SyncRuntime]:
    def echo(v: Any) -> Any:
        return v

    def add(a: int, b: int = 1) -> int:
        return a + b

    options: dict[str, Any] = {"config": False, "default_tools": False, "limits": {"compute_seconds": 9}}
    with SyncRuntime(tools=[echo, add], **options) as opened:
        yield opened


@pytest.mark.requirement("PRG-05")
@pytest.mark.parametrize(
    "way_out",
    ["d", "echo(d)", "echo([{'deep': (1, d)}])", "echo(*[d])", "echo(**{'v': d})", "len(d)", "set(d)", "return d"],
)
def test_keys_with_chosen_hashes_never_reach_the_host(rt: SyncRuntime, way_out: str) -> None:
    began = time.monotonic()
    run = rt.run(COLLIDING + way_out)
    assert time.monotonic() - began < 12
    if way_out == "len(d)":
        assert run.output == 60000 and "cannot leave" in run.variables["d"]
    else:
        assert run.status == "failed" and "cannot leave" in str(run.error)


@pytest.mark.parametrize("way_out", ["x", "echo(x)"])
def test_cyclic_and_endless_values_are_refused_by_name(rt: SyncRuntime, way_out: str) -> None:
    run = rt.run(f"x = [1]\nx.append(x)\n{way_out}")
    assert run.status == "failed" and "cyclic" in str(run.error)


def test_a_huge_integer_is_refused_before_anything_tries_to_print_it(rt: SyncRuntime) -> None:
    assert "4,300 digits" in str(rt.run("10 ** 5000").error)
    assert "4,300 digits" in str(rt.run("echo([10 ** 5000])").error)
    assert rt.run("10 ** 4000 > 1").output is True


@pytest.mark.requirement("PRG-01")
def test_ordinary_values_pass_as_they_are(rt: SyncRuntime) -> None:
    text = "x = {'a': [1, 2.5, None, True, 'z'], 'b': {3: 'c', (1, 2): 'd'}}\necho(x['a'])\nx"
    assert rt.run(text).output == {"a": [1, 2.5, None, True, "z"], "b": {"3": "c", "[1, 2]": "d"}}
    assert rt.run("range(3)").output == [0, 1, 2]
    assert rt.run("{i: i for i in range(5000)}").output["4999"] == 4999
    assert rt.run("import datetime\ndatetime.date(2026, 1, 2)").output == "2026-01-02"


def test_a_function_is_shown_by_its_name(rt: SyncRuntime) -> None:
    assert rt.run("def f():\n    return 1\nf").output.startswith("<function 'f'")


def test_lines_and_words_of_errors_are_the_authors(rt: SyncRuntime) -> None:
    run = rt.run("y = 3\nadd(y)\n[add(n)\n for n in ['x']]")
    assert run.error is not None and run.error.line in (3, 4)
    assert GUARD not in str(run.error) and GUARD not in (run.error.traceback or "")
    assert [entry.line for entry in run.trace] == [2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "add(1)  # a comment\n",
        "x = 2\nadd(x); add(x)",
        "x = 2\nadd(\n    x,\n    b=x,\n)",
        "echo(n for n in range(3))",
        "echo((n for n in range(3)))",
        "x = 'é'\nf'{echo(x)}é{echo(v=x)}'",
        "x = [1]\nx, x",
        "x = 1\nadd(add(add(x)))",
        "def f(n):\n    return add(n)\nf(2)",
    ],
)
def test_guarding_keeps_the_lines_and_the_meaning(rt: SyncRuntime, text: str) -> None:
    safe = guarded(text, {"add", "echo"})
    assert isinstance(safe, str)
    assert safe.count("\n") == text.count("\n")
    compile(safe, "<guarded>", "exec")
    assert rt.run(text).status == "completed"


def test_a_program_cannot_name_the_guard(rt: SyncRuntime) -> None:
    for text in (f"{GUARD} = 1", f"def {GUARD}(v, s=False):\n    return v", f"{GUARD}(1)", "__huge__ = 1"):
        for level in ("program", "full"):
            assert not rt.check(text, level=level).ok  # type: ignore[arg-type]


def test_a_result_that_cannot_be_given_to_a_program_is_an_error_it_can_catch() -> None:
    def half() -> str:
        return "a\ud800b"

    options: dict[str, Any] = {"config": False, "default_tools": False}
    with SyncRuntime(tools=[half], **options) as opened:
        run = opened.run("try:\n    half()\nexcept ValueError as error:\n    seen = str(error)\nseen")
        assert run.status == "completed" and "cannot be given" in run.output
        assert opened.call("half").output == "a\ud800b"
