"""Which Python code is understood whole and harmless."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.data.python import allowed
from sutler.data.python.judge import reasons

from .conftest import Place
from .python_codes import HARMLESS, MUST_ASK


@pytest.mark.requirement("LCP-20")
@pytest.mark.parametrize("code", HARMLESS)
def test_harmless_code_is_understood_and_runs(place: Place, code: str) -> None:
    assert reasons(code) == []


@pytest.mark.requirement("LCP-20")
@pytest.mark.parametrize("code", MUST_ASK)
def test_other_code_is_not_and_the_reason_is_told_with_its_line(place: Place, code: str) -> None:
    found = reasons(code)
    assert found and any(MUST_ASK[code] in reason for reason in found), found
    assert found[0].startswith("line ")


def test_the_names_that_are_allowed_are_there() -> None:
    """What is not there any more, or never was, would make a hole look like a rule."""
    import importlib
    import sys

    newer = {"itertools.batched", "math.sumprod", "statistics.kde"}
    for module, members in allowed.MEMBERS.items():
        held = importlib.import_module(module)
        missing = {name for name in members if not hasattr(held, name) and f"{module}.{name}" not in newer}
        assert not missing, f"{module}: {missing}"
        modules = {name for name in members if getattr(held, name, None).__class__ is type(sys)}
        assert not modules, f"{module} hands out modules: {modules}"


def test_long_code_and_deep_code_ask() -> None:
    assert "longer" in reasons("1\n" * 200_000)[0]
    assert reasons("-" * 100_000 + "1") == ["it is nested too deeply to be read"]


@settings(max_examples=300, deadline=None)
@given(text=st.text(alphabet="abxyz_.()[]{}:=+'\"\n \t0123,@", max_size=60))
def test_any_text_is_judged_or_is_no_python(text: str) -> None:
    try:
        found = reasons(text)
    except (SyntaxError, ValueError):
        return
    assert isinstance(found, list)


@pytest.mark.requirement("LCP-20")
def test_what_is_written_through_a_hard_link_asks(place: Place) -> None:
    (place.root / "sutler.toml").write_text("")
    (place.root / "notes.md").hardlink_to(place.root / "sutler.toml")
    assert "hard link" in reasons("open('notes.md', 'w')")[0]
    assert reasons("open('notes.md')") == []
