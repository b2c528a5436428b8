"""Descriptions of tools and parameters from docstrings."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sutler.schema.docstrings import clean, first_paragraph, parameter_texts


def read(docstring: str, *names: str) -> tuple[str, dict[str, str]]:
    doc = clean(docstring)
    return first_paragraph(doc, names), parameter_texts(doc, names)


@pytest.mark.requirement("SCH-01")
@pytest.mark.parametrize(
    ("docstring", "description"),
    [
        (None, "No description provided."),
        ("", "No description provided."),
        ("   \n  ", "No description provided."),
        ("One line.", "One line."),
        ("\n    First line\n    goes on.\n\n    Second.\n    ", "First line\ngoes on."),
        ("Para one\n   \t \n   Para two", "Para one"),
        ("Line\r\n\r\nsecond", "Line"),
        ("Summary.\n    Args:\n        a: the a\n", "Summary."),
        ("Summary.\n    Returns:\n        b\n", "Summary."),
        ("Summary.\n    :param a: the a\n", "Summary."),
        ("Summary.\n    Parameters\n    ----------\n    a : int\n", "Summary."),
        ("Summary.\n    a: the a\n    b: the b\n", "Summary."),
        ("Args:\n    a: the a\n", "No description provided."),
        ("Note: this takes long.\nWarning: it does.", "Note: this takes long.\nWarning: it does."),
        ("Returns the weather.", "Returns the weather."),
        ("a: is first", "a: is first"),
    ],
)
def test_the_description_is_the_first_paragraph(docstring: str | None, description: str) -> None:
    assert first_paragraph(clean(docstring), ["a", "b"]) == description


GOOGLE = """First.

    Args:
        a (int): the a
            goes on: here
        b: the b, with: colons
        c (Dict[str, Tuple[int, int]], optional): the c
        *rest: others

    Keyword Args:
        k: the k

    Returns:
        a: a lie about a

    Example:
        b: a lie about b
    """
GOOGLE_TIGHT = "First.\n    Args:\n        a: the a goes on: here\n    Returns:\n        b: no\n"
NUMPY = """First.

    Parameters
    ----------
    a : int
        the a
        goes on: here
    b, c : str, optional
        both

    Other Parameters
    ----------------
    k : int
        the k

    Returns
    -------
    a : int
        a lie
    """
SPHINX = """First.

    :param int a: the a
        goes on: here
    :param b: the b
    :type b: str
    :keyword k: the k
    :returns: c: a lie
    :raises ValueError: a: never
    """
PLAIN = """First.

    a: the a
       goes on: here
    b - the b
    - c (int): the c
    * `k` : the k
    Note: prose is no parameter
    """


@pytest.mark.requirement("SCH-02")
@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        (GOOGLE, {"b": "the b, with: colons", "c": "the c", "k": "the k", "rest": "others"}),
        (GOOGLE_TIGHT, {}),
        (NUMPY, {"b": "both", "c": "both", "k": "the k"}),
        (SPHINX, {"b": "the b", "k": "the k"}),
        (PLAIN, {"b": "the b", "c": "the c", "k": "the k"}),
    ],
)
def test_every_style_is_read_with_its_continuation_lines(docstring: str, expected: dict[str, str]) -> None:
    description, texts = read(docstring, "a", "b", "c", "k", "rest")
    assert description == "First."
    assert texts == {"a": "the a goes on: here", **expected}


@pytest.mark.requirement("SCH-02")
@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("S.\n\nArgs:\na: not indented\nb: nor this\n", {"a": "not indented", "b": "nor this"}),
        ("S.\n\nArgs:\n    a - dashed\n    - b: bulleted\n", {"a": "dashed", "b": "bulleted"}),
        ("S.\n\nArgs:\n    `a`: marked\n    **b** (int): strong\n", {"a": "marked", "b": "strong"}),
        ("S.\n\nParameters:\n    a: one\n    b: two\n", {"a": "one", "b": "two"}),
        ("S.\n\n## Parameters\n\n- `a`: one\n- `b` \u2013 two\n", {"a": "one", "b": "two"}),
        ("S.\n\n1. a: one\n2) b: two\n", {"a": "one", "b": "two"}),
        ("S.\n\n:param a:\n    below\n", {"a": "below"}),
        ("S.\n\na: first\n\nExample:\n    a: later\n    b: only here\n", {"a": "first"}),
        ("S.\n\na: first\n\nReturns:\n    b: no\nb: yes\n", {"a": "first", "b": "yes"}),
        ("S.\n\n```\na: in code\n```\n>>> b: int = 3\n", {}),
        ("S.\n\nhttp: and a://b, a:b or (a): no\n", {}),
        ("S.\n\nArgs:\n    c: not a parameter\n", {}),
        ("S.\n\nNote: prose\nWarning: dangerous\n", {}),
        ("S.\n\n\u00e9: accent\n\u540d - name\n", {"\u00e9": "accent", "\u540d": "name"}),
    ],
)
def test_other_layouts_are_read_and_prose_is_not(docstring: str, expected: dict[str, str]) -> None:
    assert read(docstring, "a", "b", "\u00e9", "\u540d")[1] == expected


@pytest.mark.requirement("SCH-02")
def test_nothing_is_found_for_a_tool_without_parameters() -> None:
    assert read("Restarts.\n\nNote: takes long\nArgs:\n    x: y\n")[1] == {}


@pytest.mark.requirement("LIB-03")
def test_the_docstring_library_is_imported_only_for_sections() -> None:
    code = (
        "import sys\n"
        "from sutler.schema.from_source import describe, scan\n"
        'text = \'def tool_a(a):\\n    """First.\\n\\n    a: the a\\n    """\\n\'\n'
        "scan(text, file='t.py', stem='t'); describe(text, 'tool_a', file='t.py')\n"
        "print([name for name in ('griffe', 'pydantic', 'jsonschema_rs') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
