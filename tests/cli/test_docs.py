"""docs/cli.md has every command and option of the command line, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from sutler.cli.app import SHARED, app
from sutler.cli.exits import BY_KIND

from .conftest import Sutler

DOCS = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
OPTION = re.compile(r"(?<![\w-])(--?[a-z][a-z-]*)")
COMMON = {"--config", "--workspace", "--policy", "--json", "--help", "-h"}


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if path:
        yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*path, name))


COMMANDS = dict(_commands(get_command(app)))


def _options(command: Any) -> set[str]:
    return {option for one in command.params for option in (*one.opts, *one.secondary_opts) if option.startswith("-")}


def _section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", DOCS, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/cli.md has no section `## {title}`"
    return found.group(1)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_each_command_has_a_section_with_each_of_its_options_and_no_other(path: tuple[str, ...]) -> None:
    section = _section(" ".join(("sutler", *path)))
    options = _options(COMMANDS[path]) - COMMON
    missing = {option for option in options if not re.search(rf"`{option}(?: [A-Z,=]+)?`", section)}
    assert not missing, f"not in the docs of {' '.join(path)}: {missing}"
    known = _options(COMMANDS[path]) | COMMON | {"--version"}
    others = set(OPTION.findall(section)) - known
    assert not others, f"the docs of {' '.join(path)} speak of {others}"


def test_the_docs_speak_of_no_command_that_does_not_exist() -> None:
    headings = {tuple(line.split()[2:]) for line in DOCS.splitlines() if line.startswith("## sutler ")}
    assert headings == set(COMMANDS)
    groups = {path[0] for path in COMMANDS if len(path) == 2}
    for words in re.findall(r"(?:^\$ |`)sutler((?: [a-z-]+)+)", DOCS, re.MULTILINE):
        name, *rest = words.split()
        if name.startswith("-"):
            continue
        assert (name,) in COMMANDS, f"sutler {name}"
        if name in groups and rest and not rest[0].startswith("-"):
            assert (name, rest[0]) in COMMANDS, f"sutler {name} {rest[0]}"


def test_the_common_options_are_documented_once_for_all() -> None:
    section = _section("For every command")
    names = {"config": "--config", "workspace": "--workspace", "policy": "--policy", "as_json": "--json"}
    assert set(names) == set(SHARED)
    for option in (*names.values(), "--help", "-h", "--version"):
        assert f"`{option}" in (section if option != "--version" else DOCS), option


def test_every_exit_code_is_documented() -> None:
    section = _section("Exit codes")
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)] == [0, 1, 2, 3, 4, 5, 6, 130, 141]
    assert set(BY_KIND.values()) <= {1, 2, 4, 5, 6}


@pytest.mark.parametrize("path", [(), *COMMANDS], ids=lambda path: " ".join(path) or "sutler")
def test_every_command_explains_itself_with_examples(sutler: Sutler, path: tuple[str, ...]) -> None:
    done = sutler(*path, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: {' '.join(('sutler', *path))} ")
    examples = done.out.partition("Examples:")[2]
    assert re.search(rf"^\s+sutler {' '.join(path)}", examples, re.MULTILINE)
    assert "--json" in done.out
    plain = done.out.partition("Examples:")[0]
    assert not re.search(r"[{}]|<str>|<list|<int", plain)
    assert not any(line.endswith("...") for line in plain.partition("Commands:")[2].splitlines())
