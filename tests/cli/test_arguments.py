"""Arguments as they are typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sutler.cli.arguments import pairs, read_object, takes_stdin, types_of
from sutler.cli.exits import Refused

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "flag": {"type": "boolean"},
        "rows": {"type": "array"},
        "table": {"$ref": "#/$defs/table"},
        "level": {"enum": [1, 2]},
        "any": {},
    },
    "required": ["text", "count"],
    "$defs": {"table": {"type": "object"}},
}


@pytest.mark.parametrize("typed", ["12345", "00123", "1e5", "true", "null", '{"a":1}', "[1]", "", "a=b", " x ", '"q"'])
@pytest.mark.parametrize("name", ["text", "maybe"])
def test_a_parameter_that_takes_text_gets_exactly_what_was_typed(name: str, typed: str) -> None:
    assert pairs([f"{name}={typed}"], SCHEMA) == {name: typed}


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("count=3", 3),
        ("count=3.0", 3.0),
        ("count=3.5", "3.5"),
        ("count=three", "three"),
        ("count=true", "true"),
        ("share=3", 3),
        ("share=NaN", "NaN"),
        ("share=-1e3", -1000.0),
        ("flag=true", True),
        ("flag=yes", "yes"),
        ("flag=1", "1"),
        ("rows=[1, 2]", [1, 2]),
        ("rows={}", "{}"),
        ('table={"a": 1}', {"a": 1}),
        ("table=[1]", "[1]"),
        ("level=2", 2),
        ("level=x", "x"),
        ("any=5", 5),
        ("any=x", "x"),
        ("unknown=[1]", [1]),
        ("unknown=00123", "00123"),
    ],
)
def test_another_parameter_gets_json_of_a_type_it_takes_and_else_the_text(given: str, value: object) -> None:
    found = pairs([given], SCHEMA)[given.partition("=")[0]]
    assert (type(found), found) == (type(value), value)


def test_colon_forces_json() -> None:
    assert pairs(["text:=5", "maybe:=null", 'any:={"a": [1]}'], SCHEMA) == {
        "text": 5,
        "maybe": None,
        "any": {"a": [1]},
    }


def test_at_reads_a_file_as_the_value(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes("\ufeff12345\n".encode())
    assert pairs([f"text=@{file}", f"count=@{file}"], SCHEMA) == {"text": "12345\n", "count": 12345}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["hello"], "'hello' is no argument: write name=value, name:=JSON or name=@file; did you mean text=hello?"),
        (["text=a", "7"], "did you mean count=7?"),
        (["=x"], "is no argument"),
        (["text=a", "text=b"], "text is given twice"),
        (["text:={"], "text: '{' is not JSON"),
        (["any:=Infinity"], "Infinity is not JSON"),
        (["any:=" + "[" * 100_000], "cannot be read as JSON"),
        (["text=@no/such/file"], "no/such/file: No such file or directory"),
        (["text=@no\0file"], "embedded null byte"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(given: list[str], words: str) -> None:
    with pytest.raises(Refused, match=r".") as caught:
        pairs(given, SCHEMA)
    assert words in str(caught.value)


def test_a_file_that_is_no_text_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(b"ok\n\xff\xfe")
    with pytest.raises(Refused, match="line 2 is not UTF-8") as caught:
        pairs([f"text=@{file}"], SCHEMA)
    assert "begins with @" in str(caught.value)


def test_args_must_be_an_object() -> None:
    assert read_object('{"a": 1}') == {"a": 1}
    with pytest.raises(Refused, match="must be a JSON object"):
        read_object("[1]")


def test_stdin_is_read_once_at_most() -> None:
    assert takes_stdin(["text=@-"], None)
    assert takes_stdin([], "-")
    assert not takes_stdin(["text=-", "any=@file"], "file")
    with pytest.raises(Refused, match="only once"):
        takes_stdin(["text=@-"], "-")


def test_the_types_of_a_schema_that_refers_to_itself_come_to_an_end() -> None:
    root: dict[str, Any] = {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]}}}
    assert "string" in types_of(root, {"$ref": "#/$defs/a"})
    assert types_of({}, {"$ref": "#/nowhere"}) == types_of({}, {})
    assert types_of({}, {"allOf": [{"type": "integer"}, {"minimum": 1}]}) == {"integer"}
    assert types_of({}, {"const": None}) == {"null"}
