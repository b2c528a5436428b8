from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.results import bounded, preview


@pytest.mark.requirement("RUN-14")
def test_a_model_sees_a_short_output_whole() -> None:
    assert preview("text") == ("text", False)
    assert preview({"a": [1, "é"]}) == ('{"a": [1, "é"]}', False)
    assert preview("x" * 20_000) == ("x" * 20_000, False)
    assert preview(None) == ("null", False)
    assert preview(float("nan")) == ('"NaN"', False)


@pytest.mark.requirement("RUN-14")
def test_a_long_output_is_a_head_and_a_tail_and_how_much_is_missing() -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    seen, cut = preview(text, 1_000)
    assert cut
    assert len(seen) <= 1_000
    head, middle, tail = seen.partition("\n... ")[0], seen.split("... ")[1], seen.rpartition(" ...\n")[2]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) > len(tail) > 200
    assert int(middle.split()[0]) == len(text) - len(head) - len(tail)


@pytest.mark.requirement("RUN-14")
def test_a_long_structure_is_cut_as_json() -> None:
    seen, cut = preview({"rows": list(range(10_000))}, 500)
    assert cut
    assert seen.startswith('{"rows": [0, 1, 2')
    assert seen.endswith("9999]}")


def test_a_trace_keeps_small_values_and_a_copy_of_small_containers() -> None:
    for value in (None, True, 5, 1.5, "short"):
        assert bounded(value) is value
    rows = [{"a": 1}]
    kept = bounded(rows)
    assert kept == rows
    rows[0]["a"] = 2
    assert kept == [{"a": 1}]


def test_a_trace_cuts_long_values_and_says_by_how_much() -> None:
    assert "4540 characters left out" in bounded("x" * 5_000, 500)
    kept = bounded({"a": "x" * 5_000, "b": list(range(10_000)), "c": 1}, 500)
    assert "characters left out" in kept["a"]
    assert "left out" in json.dumps(kept)
    kept = bounded(list(range(10_000)), 100)
    assert kept[:3] == [0, 1, 2]
    assert kept[-1] == f"... {10_000 - len(kept) + 1} items left out ..."


VALUES = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=300), inner, max_size=20),
    max_leaves=60,
)


@pytest.mark.requirement("RUN-14")
@given(value=VALUES, limit=st.integers(50, 2_000))
@settings(max_examples=200, deadline=None)
def test_nothing_is_shown_much_beyond_its_limit(value: Any, limit: int) -> None:
    seen, cut = preview(value, limit)
    assert len(seen) <= limit
    assert cut or seen in (value, json.dumps(value, ensure_ascii=False))
    kept = bounded(value, limit)
    assert len(json.dumps(kept, ensure_ascii=False)) <= 3 * limit + 600
