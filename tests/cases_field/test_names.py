"""FH09 to FH12: names that a provider or a program cannot write are still reached, always by the same other name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Serve, Upstream
from .test_schemas import obj

PROVIDER = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def provider_names(rt: Any) -> list[str]:
    return [one["function"]["name"] for one in rt.schemas("openai")]


@pytest.mark.requirement("SRC-09")
def test_fh09_dots_and_slashes_fold_to_names_of_their_own_that_come_back(serve: Serve) -> None:
    tools = {name: obj({}) for name in ("calendar.create", "assets/list", "calendar_create")}
    rt, up = serve(tools)
    names = provider_names(rt)
    assert len(set(names)) == 3 and all(PROVIDER.match(name) for name in names)
    again, _ = serve(dict(reversed(tools.items())))
    assert sorted(provider_names(again)) == sorted(names)
    for name in names:
        assert rt.call(name).success
        assert rt.run(f"{name}()").success, name
    for original in tools:
        assert rt.call(original).success and rt.call(f"up::{original}").success
    assert {name for name, _ in up.sent} == set(tools)
    assert [up.sent.count((name, {})) for name in tools] == [4, 4, 4]


@pytest.mark.requirement("SRC-09")
def test_fh10_names_that_are_too_long_keep_what_tells_them_apart(serve: Serve) -> None:
    stem = "get_user_profile_settings_for_account_" + "x" * 40
    tools = {f"{stem}_v1": obj({}), f"{stem}_v2": obj({})}
    rt, up = serve(tools, source="server-" + "y" * 33)
    names = provider_names(rt)
    assert len(set(names)) == 2 and all(PROVIDER.match(name) for name in names)
    for name in names:
        assert rt.call(name).success and rt.run(f"{name}()").success
    assert sorted(name for name, _ in up.sent) == sorted([*tools] * 2)
    again, _ = serve(dict(reversed(tools.items())), source="server-" + "y" * 33)
    assert sorted(provider_names(again)) == sorted(names)


def test_fh11_parameters_that_are_keywords_or_hyphenated_reach_the_tool_by_their_real_names(serve: Serve) -> None:
    text = {"type": "string"}
    rt, up = serve({"t": obj(dict.fromkeys(("from", "in", "cik-A", "Notion-Version", "self"), text), "from")})
    given = {"from": "a", "in": "b", "cik-A": "c", "Notion-Version": "d", "self": "e"}
    assert rt.call("t", given).output == given
    run = rt.run("t(from_='a', in_='b', cik_A='c', Notion_Version='d', self='e')")
    assert run.output == given, run.error
    assert rt.run("t(**{'from': 'a', 'cik-A': 'c'})").output == {"from": "a", "cik-A": "c"}
    assert all(sent in (given, {"from": "a", "cik-A": "c"}) for _, sent in up.sent)
    clash, _ = serve({"t": obj({"from": text, "from_": text})})
    assert clash.call("t", {"from": "a", "from_": "b"}).output == {"from": "a", "from_": "b"}
    assert clash.run("t(from_='b')").output == {"from_": "b"}
    assert clash.run("t(**{'from': 'a'})").output == {"from": "a"}


@pytest.mark.requirement("SRC-09", "SRC-07")
def test_fh12_names_that_a_program_cannot_write_have_one_that_it_can(serve: Serve) -> None:
    schema = obj({"u": {"type": "string"}})
    other = Upstream("second", {"fetch_url": schema}, {})
    rt, up = serve(dict.fromkeys(("fetch-url", "list", "print", "import", "2fa-check"), schema), other)
    names = {spec.name: name for name, spec in ((row.program_name, row.spec) for row in rows(rt))}
    assert len(set(names.values())) == 6 and all(name.isidentifier() for name in names.values())
    assert names["fetch_url"] == "fetch_url" and names["fetch-url"] != "fetch_url"
    for original, name in names.items():
        assert rt.run(f"{name}(u='a')").success, (original, name)
    assert [name for name, _ in up.sent] == [name for name in names if name != "fetch_url"]
    assert rt.run("r = fetch_url(u='a')\nr").success and len(other.sent) == 2
    assert rt.run("print(list((1, 2)))").stdout == "[1, 2]\n"
    hint = rt.run("fetch-url(u='a')")
    assert hint.error is not None and hint.error.kind == "rejected"
    assert names["fetch-url"] in hint.error.message or "fetch_url" in hint.error.message


def rows(rt: Any) -> list[Any]:
    return list(rt.core.program_inventory().tools.values())


def test_a_name_that_is_no_text_is_an_unknown_tool_too(runtime: Callable[..., Any]) -> None:
    for name in ("", " ", "a::b::c", "::", "é" * 200, "x\0y"):
        result = runtime().call(name)
        assert result.status_code == 404 and result.error is not None
