"""Secrets in the text of a program do not stand in the copy that is kept (PRG-10)."""

from __future__ import annotations

import ast

import pytest

from sutler.policy.literals import hide_literals

pytestmark = pytest.mark.requirement("PRG-10", "POL-07")

TOOLS = {"login": (("user", "password"), frozenset({"password"})), "door": (("code",), frozenset({"code"}))}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('login("ada", password="tulips-7")', "login(\"ada\", password='***')"),
        ('login("ada", "tulips-7")', "login(\"ada\", '***')"),
        ("door('tulips-7')", "door('***')"),
        ('api_key = "tulips-7"\nsend(api_key)', "api_key = '***'\nsend(api_key)"),
        ('send({"token": "tulips-7", "to": "ada"})', 'send({"token": \'***\', "to": "ada"})'),
        ('é = "ü"; login(é, password="tülips-7")', "é = \"ü\"; login(é, password='***')"),
        ('login(user, password=f"tulips-{n}")', "login(user, password='***')"),
        ('login(user, password="tul" + "ips-7")', "login(user, password='***' + '***')"),
        ('x = [login(u, password="tulips-7") for u in us]', "x = [login(u, password='***') for u in us]"),
        ('secret: str = "tulips-7"', "secret: str = '***'"),
        ('x = {"headers": {"Authorization": ["tulips-7"]}}', 'x = {"headers": {"Authorization": [\'***\']}}'),
    ],
)
def test_a_literal_given_to_what_is_a_secrets_is_hidden(text: str, kept: str) -> None:
    assert hide_literals(text, TOOLS)[0] == kept


@pytest.mark.parametrize(
    "text",
    [
        'login("ada", password=password)',
        'max_tokens = "many"\nnote("the password is asked for later")',
        'password_length = "8"',
        'x = keys["password"]',
        'login("ada", password=',
        "",
    ],
)
def test_all_else_stays_as_it_is(text: str) -> None:
    assert hide_literals(text, TOOLS) == (text, frozenset())


def test_lines_stay_where_they_are() -> None:
    text = 'password = """tulips\nand\nroses"""; a = 1\nlogin("x", """7\n8""")\nb = 2'
    kept, values = hide_literals(text, TOOLS)
    assert "tulips" not in kept and "roses" not in kept and "8" not in kept
    assert kept.count("\n") == text.count("\n")
    assert [type(node) for node in ast.parse(kept).body] == [type(node) for node in ast.parse(text).body]
    assert [node.lineno for node in ast.parse(kept).body] == [node.lineno for node in ast.parse(text).body]
    assert values == {"tulips\nand\nroses"}
