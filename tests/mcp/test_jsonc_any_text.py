"""Any JSON with comments, however it is laid out: read right, and changed in one place alone."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.mcp.hosts.jsonc import Document, JsoncError

KEYS = st.sampled_from(["mcpServers", "sutler", "a", "b,}", "c // d", 'e"/*', "", "é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["//x", "/*y*/", ",]", "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
GAPS = st.sampled_from(["", " ", "\n", "\n  ", "\t", "// c }\n", "/* , */", "/* two\nlines */", "\r\n\t"])


def laid_out(draw: Any, value: Any) -> str:
    """The value as text, with gaps and comments wherever they may stand."""

    def gap() -> str:
        return draw(GAPS)

    if isinstance(value, dict):
        parts = [f"{gap()}{json.dumps(key)}{gap()}:{gap()}{laid_out(draw, item)}{gap()}" for key, item in value.items()]
        return "{" + ",".join(parts) + ("," + gap() if parts and draw(st.booleans()) else gap()) + "}"
    if isinstance(value, list):
        parts = [f"{gap()}{laid_out(draw, item)}{gap()}" for item in value]
        return "[" + ",".join(parts) + ("," if parts and draw(st.booleans()) else gap()) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def documents(draw: Any) -> tuple[dict[str, Any], str]:
    value = draw(OBJECTS)
    return value, f"{draw(GAPS)}{laid_out(draw, value)}{draw(GAPS)}"


@settings(deadline=None, max_examples=150)
@given(documents(), st.lists(KEYS, min_size=1, max_size=3), VALUES)
def test_a_member_is_set_and_nothing_else_changes(
    document: tuple[dict[str, Any], str], path: list[str], value: Any
) -> None:
    held, text = document
    assert Document(text).value == held
    wanted = json.loads(json.dumps(held))
    inner = wanted
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            try:
                Document(text).with_member(path, value)
            except JsoncError:
                return
            raise AssertionError("a place that is no object was written into")
    replaced = path[-1] in inner
    inner[path[-1]] = value
    changed = Document(text).with_member(path, value)
    assert Document(changed).value == wanted
    if not replaced:
        rest = iter(changed)  # a blank before a bracket that gets a line of its own may go
        assert all(char in rest for char in text if not char.isspace())


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet='{}[]",:/*\\ \n\tab1tnu', max_size=40))
def test_a_text_that_is_no_json_is_named_and_never_breaks(text: str) -> None:
    document = Document(text)
    try:
        value = document.value
    except JsoncError as error:
        assert error.line >= 1 and error.column >= 1
        return
    if isinstance(value, dict):
        for key in value:
            found = document.find([key])
            assert found is not None and json.loads(document.plain[found.start : found.end], strict=False) == value[key]
