"""Files that do not parse still yield what can be read of them (LIB-07)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.schema.from_source import describe, scan

BROKEN = '''"""A library."""
import os
from typing import List, Optional
MAX = 3
TOOL_LIBRARY_NAME = "Broken"

class Point(TypedDict):
    x: int

def tool_good(a: int, b: str = "x, y", c: List[int] = [1, 2]) -> dict:
    """Works.

    Args:
        a (int): the a
    """
    return {}

def tool_body(y: str = "p, q", z: dict = {"a": 1, "b": [2, 3]}, *, k: Optional[int] = None):
    \'\'\'Broken inside.\'\'\'
    return (1 +

async def tool_waits(n: int):
    'Single quotes.'
    x = = 1

def tool_many(
    first: str,  # a comment, with a comma
    second: "tuple[int, str]" = (1, "a"),
):
    # a comment
    """Many lines."""
    print "old"

def tool_header(a: int, b: :, c="x, y"):
    """Bad header."""

def tool_cut(a: int
'''


def properties(text: str, name: str) -> dict[str, Any]:
    return describe(text, name, file="broken.py").input_schema["properties"]


@pytest.mark.requirement("LIB-07")
def test_a_broken_file_yields_its_tools_and_says_where_it_breaks() -> None:
    found = scan(BROKEN, file="broken.py", stem="broken")
    assert [(tool.name, tool.line, tool.is_async) for tool in found.tools] == [
        ("tool_good", 10, False), ("tool_body", 18, False), ("tool_waits", 22, True), ("tool_many", 26, False),
        ("tool_header", 34, False), ("tool_cut", 37, False),
    ]  # fmt: skip
    assert found.fallback is not None
    assert (found.fallback.file, found.fallback.line) == ("broken.py", 22)
    assert str(found.fallback).startswith("broken.py:22: ")
    assert found.attributes["TOOL_LIBRARY_NAME"] == "Broken"
    assert found.imports == {"os", "typing"}


@pytest.mark.requirement("LIB-07")
def test_commas_inside_defaults_and_types_make_no_phantom_parameters() -> None:
    assert list(properties(BROKEN, "tool_body")) == ["y", "z", "k"]
    assert properties(BROKEN, "tool_body")["z"]["default"] == {"a": 1, "b": [2, 3]}
    assert list(properties(BROKEN, "tool_many")) == ["first", "second"]
    assert properties(BROKEN, "tool_many")["second"]["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert list(properties(BROKEN, "tool_header")) == ["a", "c"]
    assert properties(BROKEN, "tool_waits") == {"n": {"type": "integer"}}


@pytest.mark.requirement("LIB-07")
@pytest.mark.parametrize(
    ("name", "description"),
    [("tool_good", "Works."), ("tool_body", "Broken inside."), ("tool_waits", "Single quotes."),
     ("tool_many", "Many lines."), ("tool_header", "Bad header."), ("tool_cut", "No description provided.")],
)  # fmt: skip
def test_docstrings_of_broken_functions_are_read(name: str, description: str) -> None:
    assert describe(BROKEN, name, file="broken.py").description == description


@pytest.mark.requirement("LIB-07")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<<<<<<< HEAD\ndef tool_a(x): pass\n=======\ndef tool_b(y): pass\n>>>>>>> x\n", ["tool_a", "tool_b"]),
        ("print 'two'\ndef tool_a(): pass\n", ["tool_a"]),
        ("def tool_a():\n    x = 'unclosed\n\ndef tool_b(): pass\n", ["tool_a", "tool_b"]),
        ('def tool_a():\n    """unclosed\n\ndef tool_b():\n    """closed"""\n', ["tool_a", "tool_b"]),
        ("x = 1\0\ndef tool_a(): pass\n", ["tool_a"]),
        ("def tool_a(): pass\n)\n", ["tool_a"]),
        ("type X = list[int]\ndef tool_a(x: X): pass\n?\n", ["tool_a"]),
        ("def tool_a[T](x: T, y: int): pass\n?\n", ["tool_a"]),
        ('TEXT = """\ncol zero def tool_no(): pass\n"""\ndef tool_a(): pass\n?\n', ["tool_a"]),
        ("def tool_a(: pass\ndef tool_a(x): pass\n", ["tool_a"]),
        ("@deco(\ndef tool_a(x): pass\n", ["tool_a"]),
        ("\r\n".join(["def tool_a(x):", "  return (", "def tool_b(y): pass"]), ["tool_a", "tool_b"]),
    ],
)
def test_every_kind_of_break_leaves_the_tools_readable(text: str, expected: list[str]) -> None:
    found = scan(text, file="broken.py", stem="broken")
    assert [tool.name for tool in found.tools] == expected
    assert found.fallback is not None
    for name in expected:
        describe(text, name, file="broken.py")


@pytest.mark.requirement("LIB-07")
def test_newer_syntax_than_this_python_has_is_read_as_far_as_it_goes() -> None:
    text = "type X = list[int]\ndef tool_a[T](x: X, y: int = 2): 'Doc.'\n?\n"
    assert properties(text, "tool_a") == {
        "x": {"type": "array", "items": {"type": "integer"}},
        "y": {"type": "integer", "default": 2},
    }


@pytest.mark.requirement("LIB-07")
@pytest.mark.parametrize("text", ["(" * 5000, "x = " + "-" * 100_000 + "1", "def tool_a(x=" + "[" * 3000, "\ud800 ?"])
def test_a_file_made_to_break_the_parser_breaks_nothing(text: str) -> None:
    assert scan(text, file="broken.py", stem="broken").fallback is not None


@pytest.mark.requirement("LIB-07")
@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(BROKEN)), st.text(alphabet="()[]{}:,'\"\\\n\t @=#\0x", max_size=6))
def test_a_file_broken_anywhere_never_raises_and_its_tools_can_be_described(where: int, what: str) -> None:
    text = BROKEN[:where] + what + BROKEN[where:]
    for tool in scan(text, file="broken.py", stem="broken").tools:
        described = describe(text, tool.name, file="broken.py")
        assert all(name.isidentifier() for name in described.input_schema["properties"])


@pytest.mark.requirement("LIB-07")
@settings(max_examples=100, deadline=None)
@given(st.text())
def test_no_text_at_all_makes_the_scan_raise(text: str) -> None:
    assert scan(text, file="any.py", stem="any").tools == ()
