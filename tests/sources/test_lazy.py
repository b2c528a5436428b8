"""Lazy specs: cheap to make, and ToolSpecs in every other way."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from sutler.sources.lazy import LAZY, LazyToolSpec, Pending, lazy_spec
from sutler.spec import Grade, Origin, ToolSpec

FOUND: Mapping[str, Any] = {
    "description": "Adds.",
    "input_schema": {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}},
    "output_schema": None,
    "hidden": frozenset({"**"}),
    "untyped": frozenset(),
    "docs": "Adds. Much more.",
    "notes": ("one",),
}
ORIGIN = Origin(source="lib", kind="library", precedence=15, where="lib.py:3")


class Described:
    """Counts how often the lazy half is asked for."""

    def __init__(self, seconds: float = 0) -> None:
        self.times = 0
        self.seconds = seconds

    def __call__(self) -> Mapping[str, Any]:
        self.times += 1
        time.sleep(self.seconds)
        return FOUND


def make(described: Described, **more: Any) -> LazyToolSpec:
    return lazy_spec({"name": "tool_add", "origin": ORIGIN, **more}, Pending(described))


def eager(**more: Any) -> ToolSpec:
    return ToolSpec(**{"name": "tool_add", "origin": ORIGIN, **FOUND, **more})


@pytest.mark.requirement("LIB-08")
def test_nothing_is_described_before_somebody_looks_and_then_once() -> None:
    described = Described()
    spec = make(described, grade=Grade(1, 0), grade_from="declared")
    assert (spec.name, spec.qualified, spec.grade, spec.read_only, spec.timeout) == (
        "tool_add",
        "lib::tool_add",
        Grade(1, 0),
        True,
        None,
    )
    assert spec.with_origin(source="lib#2", precedence=1).qualified == "lib#2::tool_add"
    assert spec.with_grade(Grade(3, 3)).grade == Grade(3, 3)
    assert described.times == 0
    assert spec.description == "Adds."
    assert [arg.name for arg in spec.args] == ["a"]
    assert spec.accepts_extra
    assert described.times == 1


@pytest.mark.requirement("LIB-08")
@pytest.mark.parametrize("name", LAZY)
def test_every_lazy_field_may_be_the_first_that_is_touched(name: str) -> None:
    described = Described()
    spec = make(described)
    assert getattr(spec, name) == FOUND[name]
    assert [getattr(spec, other) for other in LAZY] == [FOUND[other] for other in LAZY]
    assert described.times == 1


@pytest.mark.requirement("LIB-08")
def test_threads_that_look_at_once_describe_once_and_all_see_everything() -> None:
    described = Described(0.02)
    spec = make(described)
    seen: list[Any] = []
    threads = [
        threading.Thread(target=lambda name=name: seen.append(getattr(spec, name) == FOUND[name]))
        for name in (*LAZY, *LAZY)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 14
    assert described.times == 1


@pytest.mark.requirement("LIB-08")
def test_a_lazy_spec_is_the_tool_spec_it_stands_for() -> None:
    spec = make(Described())
    assert isinstance(spec, ToolSpec)
    assert spec == eager()
    assert eager() == spec
    assert spec.digest == eager().digest
    assert spec.args == eager().args
    assert spec != eager(description="Other.")
    assert eager(timeout=1.0) != spec
    assert spec != "tool_add"
    assert make(Described()) == make(Described())
    assert dataclasses.asdict(spec) == dataclasses.asdict(eager())
    assert repr(spec) == repr(eager())


@pytest.mark.requirement("LIB-08")
def test_copies_of_a_lazy_spec_are_whole() -> None:
    described = Described()
    spec = make(described)
    moved = spec.with_origin(source="other")
    assert moved == eager(origin=dataclasses.replace(ORIGIN, source="other"))
    assert moved.digest == spec.digest
    assert spec.with_grade(Grade(0, 0)) == eager(grade=Grade(0, 0), grade_from="override")
    assert spec.with_grade(Grade(0, 0)).digest == eager(grade=Grade(0, 0)).digest != spec.digest
    assert dataclasses.replace(spec, timeout=3.0) == eager(timeout=3.0)
    assert dataclasses.replace(spec, description="X").description == "X"
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert copy.deepcopy(spec) == spec
    assert copy.copy(make(described)).docs == "Adds. Much more."


@pytest.mark.requirement("LIB-08")
def test_a_lazy_spec_cannot_be_changed_and_shares_no_mutable_value_with_another() -> None:
    spec = make(Described())
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.description = "changed"  # type: ignore[misc]
    assert spec.meta is not make(Described()).meta
