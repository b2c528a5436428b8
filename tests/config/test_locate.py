"""Lines of keys, against texts whose lines are known and against everything tomllib reads."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sutler.config.locate import KeyPath, dotted, locate

TEXT = '''# a comment with [a.header] and key = 1
top = 1
"quoted key" = 2
a.b."c.d" = 3

[table]
text = """
[not.a.header]
nor = "a key"
""""
literal = \'\'\'
also = not
\'\'\'
list = [
  1, # ] a bracket in a comment
  [2, 3],
  {x = 1, y = {z = 2}},
]
after = "#[x]"

[[tools]]
name = "one"
args = [{name = "p", type = "str"},
        {name = "q"}]
[tools.annotations]
title = "t"

[[tools]]
name = "two"
[[tools.inner]]
deep = 1
[[tools.inner]]
deep = 2
[tools.inner.sub]
x = 1
["with \\"escape\\" \\u00e9"]
y = 1
'''


def _all_paths(value: Any, path: KeyPath = ()) -> list[KeyPath]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += _all_paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _all_paths(item, (*path, index))
    return found


@pytest.mark.requirement("CFG-01")
def test_every_key_of_a_text_with_every_form_is_found_on_its_line() -> None:
    lines = TEXT.split("\n")
    found = locate(TEXT)
    assert set(_all_paths(tomllib.loads(TEXT))) <= set(found)
    assert lines[found["top",] - 1] == "top = 1"
    assert lines[found["quoted key",] - 1] == '"quoted key" = 2'
    assert lines[found["a", "b", "c.d"] - 1].startswith("a.b")
    assert lines[found["table", "text"] - 1] == 'text = """'
    assert lines[found["table", "list", 1] - 1].strip() == "[2, 3],"
    assert lines[found["table", "list", 2, "y", "z"] - 1].strip().startswith("{x = 1")
    assert lines[found["table", "after"] - 1].startswith("after")
    assert lines[found["tools", 0, "args", 1, "name"] - 1].strip() == '{name = "q"}]'
    assert lines[found["tools", 0, "annotations", "title"] - 1] == 'title = "t"'
    assert lines[found["tools", 1, "name"] - 1] == 'name = "two"'
    assert lines[found["tools", 1, "inner", 1, "deep"] - 1] == "deep = 2"
    assert lines[found["tools", 1, "inner", 1, "sub", "x"] - 1] == "x = 1"
    assert lines[found['with "escape" é', "y"] - 1] == "y = 1"


def test_windows_line_ends_count_as_one_line() -> None:
    assert locate('a = 1\r\n\r\n[b]\r\nc = """x\r\ny"""\r\nd = 1\r\n') == {
        ("a",): 1,
        ("b",): 3,
        ("b", "c"): 4,
        ("b", "d"): 6,
    }


@pytest.mark.parametrize(
    "text",
    ["", "=", "[", "[[", "a", "a =", 'a = "', 'a = """', "a = [", "a = {b", "[a]]\nb = 1", "a = 1 b = 2", "\x00"],
)
def test_a_text_that_is_no_toml_gives_what_was_read_before_it_went_wrong(text: str) -> None:
    assert locate("first = 1\n" + text)["first",] == 1


def test_a_text_nested_ten_thousand_deep_does_not_raise() -> None:
    assert locate("first = 1\nx = " + "[" * 10_000)["first",] == 1


def test_a_path_is_shown_as_toml_writes_it() -> None:
    assert dotted(("tools", 0, "args", 12, "type")) == "tools[0].args[12].type"
    assert dotted(("grades", "a::b")) == 'grades."a::b"'
    assert dotted(("", 'q"\\')) == '""."q\\"\\\\"'


_NAMES = st.sampled_from(
    ["a", "b1", "key-2", "über", "with space", "dot.ted", 'q"uote', "", "[x]", "#", "=", "\t", "'"]
)
_VALUES = st.recursive(
    st.one_of(
        st.integers(-5, 5).map(str),
        st.sampled_from(
            [
                '"x"',
                "''",
                '"# [y] = \\" "',
                "1979-05-27 07:32:00",
                "1.5e3",
                "true",
                "inf",
                '"""\n[k]\nx = 1\n"""',
                "'''\n\"\n'''",
            ]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[\n" + ",\n# ] c\n".join(items) + "\n]"),
        st.dictionaries(_NAMES, inner.filter(lambda text: "\n" not in text), max_size=3).map(
            lambda table: "{ " + ", ".join(f"{_quoted(key)} = {item}" for key, item in table.items()) + " }"
        ),
    ),
    max_leaves=6,
)


def _quoted(key: str) -> str:
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'


@given(
    st.lists(
        st.tuples(
            st.booleans(), st.lists(_NAMES, min_size=1, max_size=2), st.dictionaries(_NAMES, _VALUES, max_size=4)
        ),
        max_size=6,
    )
)
def test_what_tomllib_reads_is_located_line_by_line(blocks: list[tuple[bool, list[str], dict[str, str]]]) -> None:
    out: list[str] = []
    keys: list[tuple[int, str]] = []
    for number, (array, header, table) in enumerate(blocks):
        # A number in front keeps headers apart, so that most texts are valid; arrays of tables share one name.
        names = ["shared"] if array else [f"t{number}", *header]
        name = ".".join(map(_quoted, names))
        out.append(f"[[{name}]]" if array else f"[{name}]")
        for key, value in table.items():
            keys.append((len("\n".join(out).split("\n")) + 1, key))
            out += f"{_quoted(key)} = {value}".split("\n")
    text = "\n".join(out)
    raw = tomllib.loads(text)
    found = locate(text)
    assert set(_all_paths(raw)) <= set(found)
    lines = text.split("\n")
    for path, line in found.items():
        if isinstance(path[-1], str) and path[-1] != "shared" and not path[-1].startswith("t"):
            assert _quoted(path[-1]) in lines[line - 1]
    for line, key in keys:
        assert any(at == line and path[-1] == key for path, at in found.items())
