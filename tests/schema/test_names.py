from __future__ import annotations

import builtins
import keyword
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sutler.schema.names import (
    BUILTINS,
    MODULES,
    assign,
    assign_provider,
    assign_qualified,
    masks,
    parameter_names,
    program_name,
    provider_name,
    qualified_program_name,
    safe_parameter,
)
from tests.schema.specs import recorded_tools

PROVIDER = re.compile(r"^[A-Za-z0-9_-]{1,64}$")


@pytest.mark.requirement("SRC-09")
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("read_file", "read_file"),
        ("café", "café"),
        ("fetch-url", "fetch_url"),
        ("calendar.create", "calendar_create"),
        ("assets/list", "assets_list"),
        ("2fa-check", "t_2fa_check"),
        ("_private", "t_private"),
        ("__import__", "t_import__"),
        ("len", "len_"),
        ("list", "list_"),
        ("print", "print_"),
        ("import", "import_"),
        ("json", "json_"),
        ("parallel", "parallel_"),
        ("ValueError", "ValueError_"),
        ("", "t_"),
        ("\ufb01le", "file"),  # a ligature that Python reads as two letters
    ],
)
def test_a_program_calls_a_tool_by_its_own_name_or_a_folded_one(name: str, wanted: str) -> None:
    assert program_name(name) == wanted


@pytest.mark.requirement("SRC-09")
def test_what_a_name_would_hide_is_said() -> None:
    assert [masks(name) for name in ("len", "import", "json", "parallel", "read")] == [
        "the builtin",
        "the keyword",
        "the module",
        "the function",
        "",
    ]


def test_every_builtin_of_this_python_is_on_the_fixed_list() -> None:
    here = {name for name in dir(builtins) if not name.startswith("_") and not keyword.iskeyword(name)}
    assert here - BUILTINS <= {"PythonFinalizationError"}
    assert "json" in MODULES


@pytest.mark.requirement("SRC-09")
def test_a_real_name_beats_a_folded_one_and_the_other_keeps_its_hash_in_any_order() -> None:
    pairs = [("a", "fetch-url"), ("b", "fetch_url"), ("c", "calendar.create"), ("c", "calendar/create"), ("d", "len")]
    wanted = assign(pairs)
    assert wanted["b", "fetch_url"] == "fetch_url"
    assert re.fullmatch(r"fetch_url_[0-9a-f]{8}", wanted["a", "fetch-url"])
    assert wanted["d", "len"] == "len_"
    both = {wanted["c", "calendar.create"], wanted["c", "calendar/create"]}
    assert len(both) == 2
    assert all(re.fullmatch(r"calendar_create_[0-9a-f]{8}", name) for name in both)
    for seed in range(20):
        shuffled = random.Random(seed).sample(pairs, len(pairs))
        assert assign(shuffled) == wanted


@pytest.mark.requirement("SRC-09")
def test_of_two_tools_of_one_name_the_first_listed_keeps_it() -> None:
    found = assign([("b", "search"), ("a", "search")])
    assert found["b", "search"] == "search"
    assert found["a", "search"].startswith("search_")


def test_long_names_stay_within_64_characters_and_apart() -> None:
    source = "s" * 40
    pairs = [(source, f"get_user_profile_settings_for_account_v{n}") for n in (1, 2)]
    for names in (assign_qualified(pairs), assign([(source, "x" * 70 + str(n)) for n in (1, 2)])):
        assert len(set(names.values())) == 2
        assert all(len(name) <= 64 and name.isidentifier() for name in names.values())
    assert assign_qualified(pairs[:1])[pairs[0]] == assign_qualified(pairs[::-1])[pairs[0]]


@pytest.mark.requirement("SRC-09", "SRC-07")
def test_the_qualified_name_joins_source_and_tool_and_never_takes_a_bare_one() -> None:
    assert qualified_program_name("github", "len") == "github__len"
    assert qualified_program_name("/home/me/mcp.json/fs", "read-file") == "t_home_me_mcp_json_fs__read_file"
    clash = [("a", "b__c"), ("a__b", "c")]
    found = assign_qualified(clash)
    assert len(set(found.values())) == 2
    assert found == assign_qualified(clash[::-1])
    assert assign_qualified([("a", "b")], taken={"a__b"})["a", "b"] != "a__b"


def test_providers_get_names_they_take_and_the_two_calendars_stay_two_tools() -> None:
    pairs = [
        ("s", name) for name in ("calendar.create", "assets/list", "calendar_create", "2fa", "ok-name", "日本", "")
    ]
    found = assign_provider(pairs)
    assert len(set(found.values())) == len(pairs)
    assert all(PROVIDER.match(name) and not name[0].isdigit() for name in found.values())
    assert found["s", "calendar_create"] == "calendar_create"
    assert found["s", "ok-name"] == "ok-name"
    assert found == assign_provider(pairs[::-1])
    assert provider_name("a b") == "a_b"


def test_recorded_tools_all_get_names_that_providers_and_programs_take() -> None:
    pairs = [(where, tool["name"]) for where, tool in recorded_tools()]
    provider, program = assign_provider(pairs), assign(pairs)
    assert len(set(provider.values())) == len(set(program.values())) == len(set(pairs))
    assert all(PROVIDER.match(name) for name in provider.values())
    assert all(name.isidentifier() and not masks(name) for name in program.values())


def test_parameters_have_python_spellings_that_lead_back() -> None:
    found = parameter_names(["from", "in", "cik-A", "Notion-Version", "self", "class", "1x", "_ok"])
    assert found == {
        "from_": "from",
        "in_": "in",
        "cik_A": "cik-A",
        "Notion_Version": "Notion-Version",
        "self": "self",
        "class_": "class",
        "p_1x": "1x",
        "_ok": "_ok",
    }


def test_a_parameter_whose_spelling_is_taken_gets_another_in_any_order() -> None:
    for order in (["from", "from_"], ["from_", "from"]):
        found = parameter_names(order)
        assert found["from_"] == "from_"
        assert sorted(found.values()) == ["from", "from_"]
    assert safe_parameter("from", {"from_"}) in found
    assert len(parameter_names(["a-b", "a.b", "a b"])) == 3


@pytest.mark.requirement("SRC-09")
@given(pairs=st.lists(st.tuples(st.text(max_size=5), st.text(max_size=80)), max_size=12))
def test_any_inventory_gets_unique_legal_names(pairs: list[tuple[str, str]]) -> None:
    for found in (assign(pairs), assign_qualified(pairs)):
        assert found.keys() == set(pairs)
        assert len(set(found.values())) == len(found)
        for name in found.values():
            assert name.isidentifier()
            assert len(name) <= 64
            assert not name.startswith("_")
            assert not masks(name)
    provider = assign_provider(pairs)
    assert len(set(provider.values())) == len(provider)
    assert all(PROVIDER.match(name) for name in provider.values())


@given(names=st.lists(st.text(max_size=8), unique=True, max_size=8))
def test_any_parameters_get_unique_spellings(names: list[str]) -> None:
    found = parameter_names(names)
    assert list(found.values()) == names
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in found)
