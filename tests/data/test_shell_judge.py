"""Which shell commands are understood whole and harmless: a table, and commands made up at random."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sutler import workspace
from sutler.data.libraries.system_shell.system_shell import ENVIRONMENT
from sutler.data.shell.judge import SYSTEM_PATH, judge
from sutler.data.shell.table import COMMANDS, SPECIAL
from sutler.data.shell.words import NotUnderstood, parse
from sutler.workspace import Workspace
from sutler.workspace.command_child import run
from sutler.workspace.commands import Step

from .conftest import CANARY, HIDDEN, Place, make_place
from .shell_commands import HARMLESS, MUST_ASK


def outcome(steps: list[Step], seconds: float = 5) -> dict[str, object]:
    """Runs what was judged with nothing else in the way: the rules alone must hold."""
    job = {
        "steps": [asdict(step) for step in steps],
        "env": ENVIRONMENT,
        "seconds": seconds,
        "output_bytes": 100_000,
        "report": False,
    }
    return run(job)


@pytest.mark.requirement("LCP-20")
@pytest.mark.parametrize("command", HARMLESS)
def test_a_harmless_command_is_understood_and_does_what_a_shell_would(place: Place, command: str) -> None:
    before = place.outside_as_it_is()
    result = outcome(judge(command, place.root))
    assert HARMLESS[command] in str(result["stdout"]), result
    assert CANARY not in f"{result['stdout']}{result['stderr']}"
    assert place.outside_as_it_is() == before


@pytest.mark.requirement("LCP-20")
@pytest.mark.parametrize("command", MUST_ASK)
def test_any_other_command_is_not_and_the_reason_is_told(place: Place, command: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        judge(command, place.root)
    assert MUST_ASK[command] in str(caught.value)


def test_the_table_is_large() -> None:
    assert len(HARMLESS) + len(MUST_ASK) >= 250


@pytest.mark.parametrize("command", [one for one in HARMLESS if not one.startswith("ls -l")])  # dates differ
def test_what_runs_is_what_a_shell_would_run(
    place: Place, command: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The same command by bash in a twin of the place: the same output, the same files, the same exit code."""
    bash = shutil.which("bash", path=SYSTEM_PATH)
    if bash is None:
        pytest.skip("bash is not here to compare with")
    twin = make_place(tmp_path_factory.mktemp("twin"))
    ours = outcome(judge(command, place.root))
    theirs = subprocess.run([bash, "-c", command], cwd=twin.root, env=ENVIRONMENT, capture_output=True, text=True)
    assert str(ours["stdout"]).replace(str(place.root), "") == theirs.stdout.replace(str(twin.root), "")
    assert ours["exit_code"] == theirs.returncode
    written = [
        {file.name: file.read_bytes() for file in one.root.iterdir() if file.is_file() and not file.is_symlink()}
        for one in (place, twin)
    ]
    assert written[0] == written[1]


# ---------------------------------------------------------------------- made up at random

_OUTSIDE = (
    "../outside/secret.txt link_out link_dir link_dir/secret.txt link_up/outside/secret.txt zz_link.txt .. /"
    " /etc/passwd /proc/self/environ ~ ~/x sub/../../outside link_dir/* *.txt link* * */* ../* /etc/*"
    " -n --all names0 sums"
).split()
_INSIDE = 'a.txt b.txt data.csv sub sub/c.txt sub/deep . ./a.txt link_in nothing "a.txt" x.sh -'.split()
_OPTIONS = (
    "-l -a -R -L -H -r -n -c -f -e -i -o -s -z -T -d -x -v -w -E -P -t, -k1 -n5 -5 -la -rn -nr --all --recursive"
    " --output=../outside/w -o../outside/w --files0-from=names0 --file=../outside/secret.txt -f../outside/secret.txt"
    " --include=* --reference=../outside/secret.txt --check -c% --format=%n --color --color=always -exec -delete -name"
    " -newer -follow -print -- -w3 --lines 3 --dereference --version --help"
).split()
_PIECES = (
    "$(cat\u0020../outside/secret.txt) `cat\u0020link_out` $HOME ${PWD}/../outside/secret.txt {a,b} ; && || | & > >> <"
    " 2>&1 2>/dev/null >../outside/w >out.txt <link_out >link_out <a.txt # ! ( ) \\ ' \" \\\n \n \t '{print}' '1p'"
    " 's/a/b/'"
    " 's/h/x/w\u0020../outside/w'"
    " '{print\u0020>\"../outside/w\"}' id sh x.sh cd\u0020.. cd\u0020sub cd\u0020link_dir hello"
).split(" ")
_NAMES = [*COMMANDS, *SPECIAL, "cd", "id", "sh", "bash", "env", "xargs", "rm", "cp", "tee", "git"]


def _commands() -> st.SearchStrategy[str]:
    word = st.one_of(*(st.sampled_from(pool) for pool in (_INSIDE, _OUTSIDE, _OPTIONS, _PIECES)), st.text(max_size=4))
    simple = st.tuples(st.sampled_from(_NAMES), st.lists(word, max_size=5)).map(
        lambda pair: " ".join((pair[0], *pair[1]))
    )
    return st.lists(simple, min_size=1, max_size=3).flatmap(
        lambda parts: st.sampled_from([" | ", " && ", " ; ", " || ", ";", "|"]).map(lambda by: by.join(parts))
    )


def _likely() -> st.SearchStrategy[str]:
    """Commands of which many are understood: a known one, its own options, paths inside and out."""

    def of(name: str) -> st.SearchStrategy[str]:
        command = COMMANDS[name]
        own = [f"-{letter}" for letter in command.flags] or ["-"]
        option = st.one_of(
            st.sampled_from(own), st.sampled_from(sorted(command.long) or own), st.sampled_from(_OPTIONS)
        )
        path = st.one_of(st.sampled_from(_INSIDE), st.sampled_from(_INSIDE), st.sampled_from(_OUTSIDE))
        words = st.lists(st.one_of(path, path, option), max_size=4)
        return words.map(lambda held: " ".join((name, *held)))

    return st.sampled_from(sorted(COMMANDS)).flatmap(of)


@pytest.fixture(scope="module")
def lasting() -> Iterator[Place]:
    """One place for all the commands made up: what one of them may write is inside, and harmless to the next."""
    with tempfile.TemporaryDirectory() as base:
        made = make_place(Path(base).resolve())
        before = Path.cwd()
        os.chdir(made.root)
        token = workspace.current.set(Workspace(made.root))
        yield made
        workspace.current.reset(token)
        os.chdir(before)


@pytest.mark.requirement("LCP-20")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(command=st.one_of(_likely(), _likely(), _commands()))
def test_no_command_that_is_understood_touches_anything_outside_the_workspace(lasting: Place, command: str) -> None:
    before = lasting.outside_as_it_is()
    token = workspace.current.set(Workspace(lasting.root))  # hypothesis may run this in a context of its own
    try:
        steps = judge(command, lasting.root)
    except NotUnderstood:
        return
    finally:
        workspace.current.reset(token)
    result = outcome(steps, seconds=1)
    shown = f"{result['stdout']}{result['stderr']}"
    assert CANARY not in shown and HIDDEN not in shown, command
    assert lasting.outside_as_it_is() == before, command


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text_is_read_or_refused_in_plain_words(text: str) -> None:
    try:
        pipelines = parse(text)
    except NotUnderstood as reason:
        assert str(reason)
    else:
        assert pipelines and all(command.words for one in pipelines for command in one.commands)


@pytest.mark.requirement("LCP-20")
def test_what_is_written_through_a_hard_link_asks(place: Place) -> None:
    """It would be written into another file, such as one that decides which tools there are."""
    (place.root / "sutler.toml").write_text("")
    (place.root / "notes.md").hardlink_to(place.root / "sutler.toml")
    with pytest.raises(NotUnderstood, match="hard link"):
        judge("echo x > notes.md", place.root)
    judge("cat notes.md", place.root)
