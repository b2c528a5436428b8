"""The manifest is enforced both ways: no unknown id, and no entry of a reached stage without a test."""

from __future__ import annotations

import pytest

from .conftest import MANIFEST, PROVED

REACHED = 3


def test_no_test_names_an_unknown_requirement(request: pytest.FixtureRequest) -> None:
    unknown = set(request.config.stash[PROVED]) - set(MANIFEST)
    assert not unknown, f"no such requirement in tests/requirements.toml: {sorted(unknown)}"


def test_every_requirement_of_a_reached_stage_has_a_test(request: pytest.FixtureRequest) -> None:
    if request.config.args != [str(p) for p in request.config.getini("testpaths")] and len(request.config.args) >= 1:
        whole = {str(request.config.rootpath / "tests"), "tests", str(request.config.rootpath)}
        if not whole & set(request.config.args):
            pytest.skip("only part of the suite was collected")
    wanted = {name for name, entry in MANIFEST.items() if entry["stage"] <= REACHED}
    missing = wanted - set(request.config.stash[PROVED])
    assert not missing, f"requirements without a test: {sorted(missing)}"
