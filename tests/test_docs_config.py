"""docs/config.md shows every key that a config file may hold, in examples that load."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler.config import load_text
from sutler.errors import ConfigError

PAGE = (Path(__file__).parents[1] / "docs" / "config.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PROBE = "zz_no_such_key"
INSIDE = {  # tables inside tables, with what has to stand around them
    "[[tools]].args": f"[[tools]]\nname='t'\nmodule='m'\nfunction='f'\nargs=[{{name='a', {PROBE}=1}}]",
    "[[tools]].annotations": f"[[tools]]\nname='t'\nmodule='m'\nfunction='f'\nannotations={{{PROBE}=1}}",
    "[[tools]].grade": f"[[tools]]\nname='t'\nmodule='m'\nfunction='f'\ngrade={{{PROBE}=1}}",
    "[profiles.x]": f"[profiles.x]\n{PROBE}=1",
    "[profiles.x].limits": f"[profiles.x.limits]\n{PROBE}=1",
    "[mcp_servers.x]": f"[mcp_servers.x]\ncommand='c'\n{PROBE}=1",
    "[mcp_servers.x].assume": f"[mcp_servers.x]\ncommand='c'\nassume={{{PROBE}=1}}",
    "[mcp_servers.x].oauth": f"[mcp_servers.x]\nurl='https://a.example'\noauth={{{PROBE}=1}}",
    "[mcp_servers.x].tools": f"[mcp_servers.x.tools.t]\n{PROBE}=1\n[mcp_servers.x]\ncommand='c'",
    "[models.x]": f"[models.x]\nbase_url='http://localhost'\n{PROBE}=1",
    "[[policy.rules]]": f"[[policy.rules]]\n{PROBE}=1",
    "[[policy.rules]].grade": f"[[policy.rules]]\ndecision='deny'\ngrade={{{PROBE}=1}}",
    "[[policy.rules]].annotations": f"[[policy.rules]]\ndecision='deny'\nannotations={{{PROBE}=1}}",
    "[[policy.rules]].arguments": f"[[policy.rules]]\ndecision='deny'\narguments={{x={{{PROBE}=1}}}}",
    "[[policy.tests]]": f"[[policy.tests]]\n{PROBE}=1",
    "[grades]": f"[grades]\n'a::b'={{{PROBE}=1}}",
}


def known(text: str) -> list[str]:
    """The keys that the checker says there are, where the probe's key is unknown."""
    with pytest.raises(ConfigError) as caught:
        load_text(text, Path("sutler.toml"))
    for problem in caught.value.problems:
        if PROBE in problem.key and problem.hint.startswith(("known", "the limits are")):
            return [re.sub(r"[\[\]]", "", key) for key in problem.hint.partition(": ")[2].split(", ")]
    return []


def tables() -> Iterator[tuple[str, list[str]]]:
    """Every table that the checker knows, with its keys."""
    top = known(f"{PROBE} = 1")
    yield "the file", top
    for name in top:
        for title in (f"[{name}]", f"[[{name}]]"):
            if keys := known(f"{title}\n{PROBE} = 1"):
                yield title, keys
    for title, text in INSIDE.items():
        yield title, known(text)


TABLES = list(tables())


def shown(value: Any) -> Iterator[str]:
    """Every key that an example uses, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from shown(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from shown(inner)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_each_example_loads(number: int) -> None:
    config = load_text(EXAMPLES[number], Path("/project/sutler.toml"), env={})
    assert config.trusted


def test_the_checker_was_asked_for_every_table() -> None:
    titles = {title for title, keys in TABLES if keys}
    assert titles >= {
        "the file",
        "[workspace]",
        "[libraries]",
        "[policy]",
        "[limits]",
        "[[tools]]",
        "[[virtual_tools]]",
    }
    assert titles >= set(INSIDE)


@pytest.mark.requirement("CFG-01")
@pytest.mark.parametrize(("title", "keys"), TABLES, ids=[title for title, _ in TABLES])
def test_every_key_is_in_an_example_and_in_the_text(title: str, keys: list[str]) -> None:
    used = {key for example in EXAMPLES for key in shown(tomllib.loads(example))}
    assert set(keys) <= used, f"{title}: no example shows {sorted(set(keys) - used)}"
    text = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    unsaid = [key for key in keys if not re.search(rf"`[^`\n]*\b{key}\b[^`\n]*`|^## \W*{key}\b", text, re.MULTILINE)]
    assert not unsaid, f"{title}: the text does not speak of {unsaid}"


def test_the_defaults_of_the_page_are_those_of_the_code() -> None:
    section = PAGE.partition("## [limits]")[2]
    rows = dict(re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", section, re.MULTILINE))
    held = load_text("", Path("sutler.toml")).limits.to_dict()
    assert {name: int(value.replace(",", "")) for name, value in rows.items()} == held
