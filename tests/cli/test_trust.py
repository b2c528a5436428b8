"""`sutler trust` and `sutler init`: what is found is data until somebody says yes to it (TRU-01)."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from sutler.config import load_text
from sutler.policy.trust import TrustStore

from .conftest import CONFIG, Project, Sutler

EVIL = CONFIG + '[policy]\nlevel = "full_access"\n[profiles.handy]\n'
PROOF = "open('imported', 'w').close()\ndef tool_proof():\n    return 1\n"


@pytest.fixture
def untrusted(project: Project) -> Project:
    project.library("proof.py", PROOF)
    TrustStore(project.home / "state").untrust(project.file)
    project.config(EVIL, trusted=False)
    return project


@pytest.mark.requirement("TRU-01")
def test_of_an_untrusted_file_nothing_is_imported_and_the_policy_is_not_loosened(
    untrusted: Project, sutler: Sutler
) -> None:
    done = sutler("call", "tool_proof")
    assert done.code == 2
    assert not (untrusted.root / "imported").exists()
    listed = sutler("tools", "--json").json["tools"]
    assert {tool["source"] for tool in listed} == {"default"}
    assert any(tool["decision"] == "ask" for tool in listed)  # at full_access none would


@pytest.mark.requirement("TRU-01")
def test_every_command_says_what_is_withheld_and_how_to_trust_it(untrusted: Project, sutler: Sutler) -> None:
    for argv in (("tools",), ("run", "-c", "1 + 1"), ("check", "-c", "1")):
        done = sutler(*argv)
        assert done.code == 0  # what is left works
        assert f"{untrusted.file} is not trusted" in done.err
        assert "sutler.toml:2: libraries.folders" in done.err
        assert "policy.level" in done.err
        assert "profile handy" in done.err
        assert "`sutler trust`" in done.err
    assert sutler("run", "-c", "1 + 1", "--json").json["output"] == 2


@pytest.mark.requirement("TRU-01")
def test_an_untrusted_file_may_still_tighten(project: Project, sutler: Sutler) -> None:
    project.config('[policy]\nlevel = "strict"\n[limits]\ncalls = 3\n', trusted=False)
    assert {tool["decision"] for tool in sutler("tools", "--json").json["tools"]} == {"ask"}
    assert "calls 3" in sutler("doctor").out


@pytest.mark.requirement("TRU-01")
def test_a_file_named_by_config_counts_as_trusted(untrusted: Project, sutler: Sutler) -> None:
    done = sutler("--config", "sutler.toml", "call", "tool_proof")
    assert (done.code, done.out) == (0, "1\n")
    assert "not trusted" not in done.err


@pytest.mark.requirement("TRU-01")
def test_trust_holds_for_this_text_alone_and_shows_what_is_new(untrusted: Project, sutler: Sutler) -> None:
    shown = sutler("trust", "--show")
    assert shown.code == 0
    assert '+level = "full_access"' in shown.out
    assert sutler("trust", "--yes").code == 0
    assert sutler("call", "tool_proof").code == 0
    assert "is trusted as it stands" in sutler("trust").out
    untrusted.config(EVIL.replace("handy", "other"), trusted=False)
    assert sutler("call", "tool_proof").code == 2
    difference = sutler("trust", "--show").out
    assert "-[profiles.handy]" in difference
    assert "+[profiles.other]" in difference
    assert '+level = "full_access"' not in difference  # it was trusted before


def test_without_a_terminal_trust_needs_yes(untrusted: Project, sutler: Sutler) -> None:
    done = sutler("trust")
    assert done.code == 5
    assert "--show" in done.err
    assert "--yes" in done.err
    document = sutler("trust", "--json").json
    assert (document["success"], document["kind"]) == (False, "denied")


def test_trust_in_json(untrusted: Project, sutler: Sutler) -> None:
    assert sutler("trust", "--show", "--json").json["trusted"] is False
    document = sutler("trust", "--yes", "--json").json
    assert (document["path"], document["trusted"]) == (str(untrusted.file), True)
    assert "+[policy]" in document["difference"]
    assert sutler("trust", "--remove", "--json").json["trusted"] is False
    assert sutler("call", "tool_proof").code == 2


def test_a_file_elsewhere_is_named_by_itself_or_by_its_folder(untrusted: Project, sutler: Sutler, monkeypatch) -> None:
    monkeypatch.chdir(untrusted.home.parent)
    assert sutler("trust").code == 2
    assert "sutler init" in sutler("trust").err
    assert sutler("trust", str(untrusted.root), "--yes").code == 0
    assert "is trusted as it stands" in sutler("trust", str(untrusted.file)).out
    assert sutler("trust", "no/such/place").code == 3
    assert sutler("trust", str(untrusted.file), "--remove", "--yes").code == 2


@pytest.mark.requirement("CFG-01")
def test_a_file_with_errors_is_not_trusted_and_all_its_errors_are_said(project: Project, sutler: Sutler) -> None:
    project.config('[policy]\nlevl = "safe"\n[limits]\ncalls = -1\n', trusted=False)
    done = sutler("trust", "--yes")
    assert done.code == 3
    assert f"error: {project.file}:2: policy.levl" in done.err
    assert "did you mean `level`?" in done.err
    assert f"error: {project.file}:4: limits.calls" in done.err
    assert not TrustStore(project.home / "state").trusted(project.file, project.file.read_text())


@pytest.mark.requirement("CFG-01")
def test_config_errors_come_all_at_once_with_file_line_key_and_the_closest(project: Project, sutler: Sutler) -> None:
    project.config('[policy]\nlevl = "safe"\n[limits]\ncalls = -1\n')
    done = sutler("tools", "--json")
    assert done.code == 3
    assert done.err.count("error: ") == 2
    first, second = done.json["problems"]
    assert (first["file"], first["line"], first["key"]) == (str(project.file), 2, "policy.levl")
    assert first["hint"] == "did you mean `level`?"
    assert (second["line"], second["key"]) == (4, "limits.calls")


# ---------------------------------------------------------------------- init


@pytest.mark.requirement("TRU-01")
def test_init_makes_a_project_that_works_at_once(project: Project, sutler: Sutler) -> None:
    done = sutler("init", "fresh")
    assert done.code == 0, done.err
    root = project.root / "fresh"
    assert sorted(path.name for path in root.rglob("*")) == ["sutler.toml", "text_stats.py", "tools"]
    called = project.process("call", "tool_count_words", "text=one fish two fish", "--json", cwd=root)
    assert called.json["output"] == {"one": 1, "fish": 2, "two": 1}
    assert called.err == ""


def test_init_overwrites_nothing(project: Project, sutler: Sutler) -> None:
    before = project.file.read_text()
    done = sutler("init")
    assert done.code == 2
    assert "nothing was written" in done.err
    assert project.file.read_text() == before
    assert not (project.root / "tools" / "text_stats.py").exists()


def test_init_leaves_a_library_of_its_name_as_it_is(project: Project, sutler: Sutler) -> None:
    mine = project.root / "other" / "tools" / "text_stats.py"
    mine.parent.mkdir(parents=True)
    mine.write_text("# mine\n")
    done = sutler("init", "other")
    assert done.code == 0
    assert "left as it is" in done.err
    assert mine.read_text() == "# mine\n"


def test_init_does_not_write_through_a_link(project: Project, sutler: Sutler) -> None:
    folder = project.root / "linked"
    folder.mkdir()
    (folder / "sutler.toml").symlink_to(project.root / "target.toml")
    assert sutler("init", "linked").code == 2
    assert not (project.root / "target.toml").exists()
    (project.root / "file").write_text("")
    assert sutler("init", "file").code == 2


def test_each_commented_line_of_the_sample_is_right_when_it_is_taken_in(project: Project, sutler: Sutler) -> None:
    sutler("init", "fresh")
    file = project.root / "fresh" / "sutler.toml"
    lines = [line.removeprefix("# ") for line in file.read_text(encoding="utf-8").splitlines()[2:]]
    text = "\n".join(lines)
    tomllib.loads(text)
    config = load_text(text, Path(file), env={})
    assert config.default_tools is False
    assert (config.tools[0].name, config.policy.allow_network) == ("word_lengths", True)
    assert config.profiles["words"].tools == {"tool_count_words": "tool_count_words"}
    assert config.given >= {"workspace.root", "workspace.read", "limits.call_seconds", "limits.wall_seconds"}
