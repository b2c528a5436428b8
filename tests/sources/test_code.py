"""Tools registered as text."""

from __future__ import annotations

import asyncio
import sys
import traceback
from dataclasses import replace
from typing import Any

import pytest

from sutler.errors import SourceError, ToolUnavailable
from sutler.sources.base import ToolSource
from sutler.sources.code import CodeToolSource
from sutler.spec import Grade

FIBONACCI = '''
def tool_fibonacci(n: int) -> dict:
    """Computes the n-th Fibonacci number."""
    a, b = 0, 1
    for _ in range(int(n)):
        a, b = b, a + b
    return {"success": True, "output": str(a)}
'''


def call(source: CodeToolSource, name: str, **arguments: Any) -> Any:
    spec = next(spec for spec in source.discover() if spec.name == name)
    return source.resolve(spec)(**arguments)


def names(source: CodeToolSource) -> list[str]:
    return [spec.name for spec in source.discover()]


@pytest.mark.requirement("LCP-08", "GRD-01")
def test_every_top_level_tool_of_a_text_is_registered_and_counts_as_the_worst() -> None:
    source = CodeToolSource()
    assert source.register("fibonacci", FIBONACCI + "\ndef helper(): ...\nasync def tool_later(): return 1\n")
    assert isinstance(source, ToolSource)
    first, second = source.discover()
    assert (first.name, second.name) == ("tool_fibonacci", "tool_later")
    assert first.qualified == "code::tool_fibonacci"
    assert (first.origin.kind, first.origin.precedence) == ("code", 16)
    assert (first.grade, first.grade_from, first.read_only) == (Grade(3, 3), "undeclared", False)
    assert first.description == "Computes the n-th Fibonacci number."
    assert first.input_schema["properties"]["n"]["type"] == "integer"
    assert call(source, "tool_fibonacci", n=10) == {"success": True, "output": "55"}
    assert asyncio.run(call(source, "tool_later")) == 1


@pytest.mark.requirement("LCP-08", "GRD-01")
def test_a_text_cannot_declare_itself_harmless() -> None:
    source = CodeToolSource()
    source.register("p", "from sutler import tool\n@tool(read_only=True, timeout=3)\ndef tool_a(): ...\n")
    (spec,) = source.discover()
    assert (spec.grade, spec.read_only, spec.timeout) == (Grade(3, 3), False, 3)
    assert any("not taken" in note for note in spec.notes)


@pytest.mark.requirement("LCP-08", "LIB-03")
def test_a_text_runs_at_its_first_call_and_once() -> None:
    source = CodeToolSource()
    runs: list[int] = []
    sys.modules[__name__].__dict__["RUNS"] = runs
    source.register("p", f"import {__name__} as t\nt.RUNS.append(1)\ndef tool_a(): return len(t.RUNS)\n")
    assert runs == []
    assert [call(source, "tool_a"), call(source, "tool_a")] == [1, 1]


@pytest.mark.requirement("LCP-08")
def test_a_text_without_tools_registers_nothing() -> None:
    source = CodeToolSource()
    version = source.version
    assert source.register("p", "def helper(): ...\n") is False
    assert names(source) == []
    assert source.register("q", "") is False
    assert source.version >= version


@pytest.mark.requirement("LCP-08")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def tool_a():\n    return 1\ndef tool_b(:\n", "code text 'p', line 3: "),
        ("x = 1\nreturn x\n", "code text 'p', line 2: 'return' outside function"),
        ("def tool_a():\n\tx = 1\n        y = 2\n", "code text 'p', line 3: "),
        ("a = '\0'", "code text 'p'"),
        ("x = " + "(" * 5000, "code text 'p'"),
    ],
)
def test_a_text_that_does_not_compile_is_refused_with_its_line_and_changes_nothing(text: str, said: str) -> None:
    source = CodeToolSource()
    source.register("p", "def tool_a(): return 'old'\n")
    with pytest.raises(SourceError) as caught:
        source.register("p", text)
    assert str(caught.value).startswith(said)
    assert call(source, "tool_a") == "old"


@pytest.mark.requirement("LCP-08")
def test_a_later_text_replaces_tools_of_the_same_name_and_leaves_the_others() -> None:
    source = CodeToolSource()
    source.register("one", "def tool_a(): return 'a1'\ndef tool_b(): return 'b1'\n")
    before = source.version
    source.register("two", "def tool_a(): return 'a2'\n")
    assert source.version != before
    assert call(source, "tool_a") == "a2"
    assert call(source, "tool_b") == "b1"
    assert any("tool_a" in note and "replaced" in note for note in source.notes)
    assert source.unregister("one") == 1
    assert names(source) == ["tool_a"]
    assert source.unregister("one") == 0
    assert source.unregister("") == 0
    assert source.unregister("two") == 1


@pytest.mark.requirement("LCP-08")
def test_another_text_is_another_digest_and_is_never_run_for_the_old_one() -> None:
    source = CodeToolSource()
    source.register("p", "def tool_a():\n    return 1\n")
    (old,) = source.discover()
    source.register("p", "def tool_a():\n    return 2\n")
    (new,) = source.discover()
    assert old.digest != new.digest
    with pytest.raises(ToolUnavailable, match="replaced"):
        source.resolve(old)
    assert source.resolve(replace(new, timeout=1))() == 2
    source.unregister("p")
    with pytest.raises(ToolUnavailable, match="not registered"):
        source.resolve(new)


@pytest.mark.requirement("LIB-10")
def test_within_one_text_the_last_def_counts_and_the_earlier_is_listed() -> None:
    source = CodeToolSource()
    source.register("p", "def tool_a(): return 1\ndef tool_a(x: int): return x\n")
    assert call(source, "tool_a", x=5) == 5
    (hidden,) = source.duplicates
    assert (hidden.where.rpartition(":")[2], hidden.winner.rpartition(":")[2]) == ("1", "2")


@pytest.mark.requirement("RUN-04")
def test_a_text_that_fails_when_it_is_run_names_its_line_and_shows_it() -> None:
    source = CodeToolSource()
    source.register("my text", "import math\nX = math.nothing\ndef tool_a(): ...\n")
    for _ in range(2):
        with pytest.raises(
            ToolUnavailable, match=r"<code>/my_text\.\d+:2: cannot be imported: AttributeError"
        ) as caught:
            call(source, "tool_a")
        assert "X = math.nothing" in (caught.value.traceback or "")
    assert not [name for name in sys.modules if name.startswith("_sutler_code_") and name.endswith("my_text")]


@pytest.mark.requirement("LCP-08")
def test_dataclasses_and_tracebacks_work_in_a_text() -> None:
    source = CodeToolSource()
    source.register(
        "p",
        "from __future__ import annotations\nfrom dataclasses import dataclass, asdict\n"
        "@dataclass\nclass P:\n    x: int\n"
        "def tool_a(x: int):\n    if x < 0:\n        raise ValueError('negative')\n    return asdict(P(x))\n",
    )
    assert call(source, "tool_a", x=1) == {"x": 1}
    try:
        call(source, "tool_a", x=-1)
    except ValueError:
        assert "raise ValueError('negative')" in traceback.format_exc()
    else:
        pytest.fail("tool_a did not raise")


@pytest.mark.requirement("RUN-02")
def test_a_mutable_default_of_a_text_is_fresh_in_every_call() -> None:
    source = CodeToolSource()
    source.register("p", "def tool_a(acc: list = []):\n    acc.append(1)\n    return acc\n")
    assert [call(source, "tool_a"), call(source, "tool_a")] == [[1], [1]]


@pytest.mark.requirement("LCP-08")
def test_a_closed_source_leaves_no_module_and_a_thousand_registrations_leave_one() -> None:
    before = {name for name in sys.modules if name.startswith("_sutler_code_")}
    source = CodeToolSource()
    for number in range(1000):
        source.register("p", f"def tool_a(): return {number}\n")
        assert call(source, "tool_a") == number
    assert len({name for name in sys.modules if name.startswith("_sutler_code_")} - before) == 1
    assert len(source.notes) <= 100
    source.close()
    assert {name for name in sys.modules if name.startswith("_sutler_code_")} == before
    assert names(source) == []
