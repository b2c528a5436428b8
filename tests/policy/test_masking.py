"""Secrets stay out of what is shown and stored: by name, by schema, by value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sutler.policy.masking import MASK, Masker, Secrets, is_secret_name, mask_arguments
from sutler.results import bounded

pytestmark = pytest.mark.requirement("PRG-10")


SECRET = """password Password passwd db_password dbPassword userpassword new_password password_1 passwordText PASSWORD
    pwd secret client_secret clientSecret secrets secret_key token access_token accessToken authtoken refresh-token
    id_token session_token X-Auth-Token github_token api_key apikey apiKey APIKEY x-api-key
    API-Key openai_api_key apikeys
    authorization Authorization proxy-authorization auth credential credentials private_key privatekey ssh_key
    access_key aws_secret_access_key signing_key passphrase cookie Cookie set-cookie cookies bearer otp
    password_hash"""
NO_SECRET = """max_tokens maxTokens tokens token_count tokenize tokenizer token_type token_limit next_token
    nextPageToken page_token pad_token eos_token continuation_token stop_tokens num_tokens input_tokens path
    key keys public_key
    primary_key sort_key keyboard monkey author authors authority password_length secret_name secret_id api_key_id
    cookie_policy credentials_file private_key_path compass secretary passage access api author_id url text value
    authorization_url is_passing bypass n x"""


@pytest.mark.parametrize("name", SECRET.split())
def test_names_of_secrets_are_known_in_every_spelling(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", [*NO_SECRET.split(), "", "_", "é", "123"])
def test_names_that_only_look_like_secrets_are_left_alone(name: str) -> None:
    assert not is_secret_name(name)


def test_a_secret_parameter_is_masked_and_the_callers_arguments_are_not_touched() -> None:
    args = {"user": "a", "password": "hunter22", "pin": 3}
    assert mask_arguments(args) == {"user": "a", "password": MASK, "pin": 3}
    assert args["password"] == "hunter22"


def test_secrets_inside_tables_and_lists_are_masked() -> None:
    args = {"headers": {"Authorization": "Bearer x", "Accept": "y"}, "list": [{"apiKey": ["a", "b"], "n": 1}]}
    assert mask_arguments(args) == {
        "headers": {"Authorization": MASK, "Accept": "y"},
        "list": [{"apiKey": MASK, "n": 1}],
    }


def test_flags_and_absent_values_of_secret_names_say_nothing_and_stay() -> None:
    args = {"password": None, "use_password": True, "token": False}
    assert mask_arguments(args) is args


@pytest.mark.parametrize("mark", [{"format": "password"}, {"writeOnly": True}, {"x-secret": True}])
def test_a_schema_marks_its_secrets_at_any_depth(mark: dict[str, Any]) -> None:
    schema = {
        "type": "object",
        "properties": {
            "code": {"type": "string", **mark},
            "inner": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/x"}]},
            "plain": {"type": "string"},
        },
        "$defs": {"x": {"properties": {"door": {"type": "string", **mark}}}},
    }
    args = {"code": "1", "plain": "2", "inner": {"door": "3", "other": "4"}}
    assert mask_arguments(args, schema) == {"code": MASK, "plain": "2", "inner": {"door": MASK, "other": "4"}}


def test_a_schema_that_holds_itself_or_is_no_schema_is_survived() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"format": "password"}, "b": 3}}
    schema["again"] = schema
    assert mask_arguments({"a": "x", "b": "y"}, schema) == {"a": MASK, "b": "y"}
    assert mask_arguments({"a": "x"}, {"properties": ["a"]}) == {"a": "x"}


def test_a_registered_value_is_masked_wherever_it_stands() -> None:
    masker = Masker(Secrets(["hunter22", "hunter"]))
    args = {"url": "https://me:hunter22@host", "deep": [{"k": ("a hunter", b"hunter22!")}], "hunter22": 1}
    assert masker.arguments(args) == {"url": "https://me:***@host", "deep": [{"k": ("a ***", b"***!")}], MASK: 1}
    assert masker.value("nothing of note") == "nothing of note"
    assert masker.value({"out": "hunter22"}) == {"out": MASK}
    assert masker.value("hunter22 hunter") == "*** ***"


def test_a_value_registered_later_counts_from_then_on() -> None:
    masker = Masker()
    assert masker.value("s3cret") == "s3cret"
    masker.secrets.register("s3cret")
    assert masker.value("s3cret") == MASK
    assert "s3cret" not in repr(masker.secrets)


def test_a_very_short_secret_is_masked_only_where_it_is_everything() -> None:
    masker = Masker(Secrets(["42", "", "  "]))
    assert masker.value(["42", "1423", 42, 142, "", "  "]) == [MASK, "1423", MASK, 142, "", "  "]
    assert masker.arguments({"n": 42}) == {"n": MASK}
    assert masker.value(10**5_000) == 10**5_000


def test_an_object_whose_repr_holds_a_secret_is_masked() -> None:
    class Holder:
        def __repr__(self) -> str:
            return "<Holder hunter22>"

    class Broken:
        def __repr__(self) -> str:
            raise ValueError

    masker = Masker(Secrets(["hunter22"]))
    broken = Broken()
    assert masker.value([Holder(), broken]) == [MASK, broken]


def test_what_holds_no_secret_comes_back_as_the_same_object() -> None:
    masker = Masker(Secrets(["hunter22"]))
    args = {"a": "x", "b": [1, {"c": (2, "y")}], "max_tokens": 3}
    assert masker.arguments(args) is args
    assert masker.value(args) is args
    assert masker.step(args, "z") == (args, "z", False)


def test_a_result_that_repeats_a_masked_argument_is_masked_and_the_step_cannot_be_replayed() -> None:
    masker = Masker()
    assert masker.step({"password": "hunter22"}, "logged in with hunter22") == (
        {"password": MASK},
        "logged in with ***",
        True,
    )
    assert masker.step({"credentials": {"user": "anna", "pin": 12345}}, [12345, "pin 12345"])[1] == [MASK, "pin ***"]
    assert masker.step({"q": "x"}, {"token": "a piece of text"}) == ({"q": "x"}, {"token": "a piece of text"}, False)
    masker.secrets.register("hunter22")
    assert masker.step({"q": "x"}, ["hunter22"]) == ({"q": "x"}, [MASK], True)


def test_values_that_hold_themselves_share_parts_or_are_very_deep_end() -> None:
    masker = Masker(Secrets(["hunter22"]))
    loop: list[Any] = ["hunter22"]
    loop.append(loop)
    assert masker.value(loop) == [MASK, MASK]
    shared: list[Any] = ["hunter22"]
    for _ in range(60):
        shared = [shared, shared]  # 2**60 paths
    assert masker.value(shared) is not shared
    deep: list[Any] = ["hunter22"]
    for _ in range(50_000):
        deep = [deep]
    assert "hunter22" not in str(bounded(masker.value(deep)))


_DATA = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(max_size=8), st.just("x hunter22 y"), st.just("hunter22")
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=20,
)


@given(st.dictionaries(st.one_of(st.text(max_size=6), st.sampled_from(["password", "apiKey"])), _DATA, max_size=5))
def test_no_registered_value_is_ever_left_and_masking_twice_changes_nothing(args: dict[str, Any]) -> None:
    masker = Masker(Secrets(["hunter22"]))
    shown = masker.arguments(args)
    assert "hunter22" not in repr(shown)
    assert masker.arguments(shown) == shown
    assert (shown is args) or ("hunter22" in repr(args)) or (MASK in repr(shown))
