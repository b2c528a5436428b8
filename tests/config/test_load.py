"""Finding, trusting and merging config files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sutler.config import Config, find_config, load, load_text, user_config_file
from sutler.errors import ConfigError
from sutler.limits import Limits
from sutler.policy.trust import TrustStore
from sutler.state import state_dir


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"SUTLER_STATE_DIR": str(tmp_path / "state")}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "deep" / "er").mkdir(parents=True)
    return folder


def write(folder: Path, text: str) -> Path:
    file = folder / "sutler.toml"
    file.write_text(text, encoding="utf-8")
    return file


def trust(file: Path, env: dict[str, str]) -> None:
    TrustStore(state_dir(env)).trust(file, file.read_text(encoding="utf-8"))


CODE = """
[workspace]
root = "/"
read = ["/etc"]
[[tools]]
name = "evil"
module = "evil"
function = "run"
[libraries]
folders = ["evil"]
[host_tool_configs.mail]
autonomy_level = "full_access"
key = "${NOT_SET}"
[virtual_tools.say]
[grades]
"mail::send" = {w = 0, d = 0}
[policy]
level = "full_access"
allow_network = true
[limits]
calls = 5
wall_seconds = 100000
[profiles.all]
policy = "full_access"
"""


def test_the_nearest_file_above_the_start_is_found(project: Path, env: dict[str, str]) -> None:
    outer = write(project, "[limits]\ncalls = 1")
    assert find_config(project / "deep" / "er") == outer
    inner = write(project / "deep", "[limits]\ncalls = 2")
    assert find_config(project / "deep" / "er") == inner
    assert load(None, start=project / "deep" / "er", env=env).limits.calls == 2


def test_a_folder_named_like_the_file_is_passed_over(project: Path) -> None:
    outer = write(project, "")
    (project / "deep" / "sutler.toml").mkdir()
    assert find_config(project / "deep") == outer


def test_without_any_file_every_default_holds(tmp_path: Path, env: dict[str, str]) -> None:
    config = load(None, start=tmp_path, user_file=tmp_path / "none.toml", env=env)
    assert (config.file, config.trusted, config.limits, config.tools) == (None, True, Limits(), ())
    assert config.workspace_root(tmp_path) == tmp_path
    assert user_config_file().name == "config.toml"


@pytest.mark.requirement("TRU-01")
def test_of_a_found_file_nothing_but_what_tightens_is_in_force(project: Path, env: dict[str, str]) -> None:
    file = write(project, CODE)
    config = load(None, start=project / "deep", env=env)
    assert not config.trusted
    assert (config.tools, config.virtual_tools, config.libraries) == ((), (), ())
    assert (config.host_tool_configs, config.grades, config.profiles) == ({}, {}, {})
    assert (config.workspace.root, config.workspace.read) == (None, ())
    assert (config.policy.level, config.policy.allow_network) == ("safe", False)
    assert config.limits == Limits(calls=5)
    assert config.workspace_root(project / "deep") == project / "deep"
    assert list(config.withheld) == [
        f"{file}:3: withheld: workspace.root",
        f"{file}:4: withheld: workspace.read",
        f"{file}:5: withheld: tool evil",
        f"{file}:10: withheld: libraries.folders",
        f"{file}:11: withheld: settings of mail",
        f"{file}:14: withheld: virtual tool say",
        f"{file}:16: withheld: grade of mail::send",
        f"{file}:18: withheld: policy.level",
        f"{file}:19: withheld: policy.allow_network",
        f"{file}:22: withheld: limits.wall_seconds",
        f"{file}:23: withheld: profile all",
    ]


@pytest.mark.requirement("TRU-01")
def test_an_untrusted_file_may_tighten(project: Path, env: dict[str, str]) -> None:
    write(project, "default_tools = false\n[policy]\nlevel = 'strict'\nallow_network = false\n[limits]\ncalls = 5")
    config = load(None, start=project, env=env)
    assert (config.policy.level, config.default_tools, config.limits.calls) == ("strict", False, 5)
    assert config.withheld == ()


@pytest.mark.requirement("TRU-01", "POL-06")
@pytest.mark.parametrize(
    ("users", "projects", "inforce"),
    [("remote", "none", "remote"), ("remote", "all", "all"), ("all", "remote", "all"), ("none", "remote", "remote")],
)
def test_an_untrusted_file_can_have_more_pinned_and_nothing_forgotten(
    project: Path, tmp_path: Path, env: dict[str, str], users: str, projects: str, inforce: str
) -> None:
    user = tmp_path / "user.toml"
    user.write_text(f'[policy]\npin = "{users}"\n[store]\nkeep_days = 50')
    write(project, f'[policy]\npin = "{projects}"\n[store]\nkeep_days = 0.01\naudit_days = 0.01')
    config = load(None, start=project, user_file=user, env=env)
    assert (config.policy.pin, config.store.keep_days, config.store.audit_days) == (inforce, 50.0, 365)
    assert sum("store." in one for one in config.withheld) == 2


@pytest.mark.requirement("TRU-01")
def test_an_untrusted_file_cannot_loosen_what_the_user_set(project: Path, tmp_path: Path, env: dict[str, str]) -> None:
    user = tmp_path / "config.toml"
    user.write_text("default_tools = false\n[policy]\nlevel = 'strict'\n[limits]\ncalls = 3\ncompute_seconds = 2")
    file = write(project, "default_tools = true\n[policy]\nlevel = 'safe'\n[limits]\ncalls = 5\nwall_seconds = 9")
    config = load(None, start=project, user_file=user, env=env)
    assert (config.policy.level, config.default_tools) == ("strict", False)
    assert config.limits == Limits(calls=3, compute_seconds=2, wall_seconds=9)
    trust(file, env)
    config = load(None, start=project, user_file=user, env=env)
    assert (config.policy.level, config.default_tools) == ("safe", True)
    assert config.limits == Limits(calls=5, compute_seconds=2, wall_seconds=9)


@pytest.mark.requirement("TRU-01")
def test_a_trusted_file_is_in_force_until_a_letter_of_it_changes(project: Path, env: dict[str, str]) -> None:
    file = write(project, CODE.replace('key = "${NOT_SET}"\n', ""))
    trust(file, env)
    config = load(None, start=project / "deep", env=env)
    assert config.trusted
    assert [tool.name for tool in config.tools] == ["evil"]
    assert config.policy.level == "full_access"
    assert config.folder == project
    file.write_text(file.read_text() + "# one more line\n")
    changed = load(None, start=project, env=env)
    assert not changed.trusted
    assert changed.tools == ()


@pytest.mark.requirement("TRU-01")
def test_a_file_named_by_the_person_counts_as_trusted(project: Path, env: dict[str, str]) -> None:
    file = write(project, CODE.replace('key = "${NOT_SET}"\n', ""))
    config = load(file, start=project, env=env)
    assert config.trusted
    assert config.tools[0].name == "evil"
    assert not Path(env["SUTLER_STATE_DIR"]).exists()


def test_an_untrusted_file_is_still_checked_whole(project: Path, env: dict[str, str]) -> None:
    write(project, "[limits]\ncals = 5")
    with pytest.raises(ConfigError, match=r"limits\.cals"):
        load(None, start=project, env=env)


@pytest.mark.requirement("TRU-01")
def test_withholding_twice_changes_nothing() -> None:
    config = load_text(CODE, Path("/p/sutler.toml"), env={}, trusted=False)
    assert config.data_only() is config
    assert load_text("[limits]\ncalls = 5", Path("/p/sutler.toml")).data_only().limits.calls == 5


@pytest.mark.requirement("TRU-01")
def test_the_users_own_settings_stay_in_force_beside_an_untrusted_project(
    project: Path, tmp_path: Path, env: dict[str, str]
) -> None:
    user = tmp_path / "config.toml"
    user.write_text("[libraries]\nfolders = ['mine']\n[policy]\nallow_network = true\n[virtual_tools.say]")
    write(project, CODE)
    config = load(None, start=project, user_file=user, env=env)
    assert config.libraries == (tmp_path / "mine",)
    assert config.policy.allow_network
    assert [tool.name for tool in config.virtual_tools] == ["say"]
    assert config.withheld


def test_a_project_goes_over_the_user_key_by_key_and_arrays_of_tables_are_joined(
    project: Path, tmp_path: Path, env: dict[str, str]
) -> None:
    user = tmp_path / "config.toml"
    tool = "[[tools]]\nname = '{}'\nmodule = 'm'\nfunction = 'f'\n"
    user.write_text(
        tool.format("user")
        + "[workspace]\nroot = 'r'\nread = ['a']\n[libraries]\nfolders = ['lib']\n"
        + "[host_tool_configs.x]\na = 1\nb = {c = 1, d = 1}\n"
        + "[grades]\n'a::b' = {w = 1, d = 1}\n'c::d' = {w = 1, d = 1}\n"
        + "[policy]\nlevel = 'strict'\n[limits]\ncalls = 1\nwall_seconds = 1\n"
        + "[profiles.p]\ntools = 'a'\nlevel = 'calls'\n[profiles.q]\n"
    )
    file = write(
        project,
        tool.format("project")
        + "[workspace]\nread = ['b']\n[host_tool_configs.x]\nb = {c = 2}\n[host_tool_configs.y]\n"
        + "[grades]\n'a::b' = {w = 2, d = 2}\n[policy]\nallow_network = true\n[limits]\ncalls = 2\n"
        + "[profiles.p]\nlevel = 'full'\n",
    )
    config = load(file, start=project, user_file=user, env=env)
    assert [one.name for one in config.tools] == ["user", "project"]
    assert config.workspace.root == tmp_path / "r"
    assert config.workspace.read == (project / "b",)
    assert config.libraries == (tmp_path / "lib",)
    assert config.host_tool_configs == {"x": {"a": 1, "b": {"c": 2, "d": 1}}, "y": {}}
    assert {name: grade.w for name, grade in config.grades.items()} == {"a::b": 2, "c::d": 1}
    assert (config.policy.level, config.policy.allow_network) == ("strict", True)
    assert (config.limits.calls, config.limits.wall_seconds) == (2, 1)
    assert set(config.profiles) == {"p", "q"}
    assert (config.profiles["p"].tools, config.profiles["p"].level) == ({"a": "a"}, "full")


@pytest.mark.parametrize("denier", ["user", "project"])
def test_a_deny_from_either_file_holds(project: Path, tmp_path: Path, env: dict[str, str], denier: str) -> None:
    user = tmp_path / "config.toml"
    user.write_text(f"[policy]\nallow_network = {str(denier != 'user').lower()}")
    file = write(project, f"[policy]\nallow_network = {str(denier != 'project').lower()}")
    assert load(file, start=project, user_file=user, env=env).policy.allow_network is False


@pytest.mark.requirement("CFG-01")
def test_problems_of_both_files_come_in_one_error(project: Path, tmp_path: Path, env: dict[str, str]) -> None:
    user = tmp_path / "config.toml"
    user.write_text("[limit]\ncalls = 1")
    file = write(project, "x = 1\ny = 2")
    with pytest.raises(ConfigError) as caught:
        load(file, start=project, user_file=user, env=env)
    assert [(one.file, one.line) for one in caught.value.problems] == [(str(user), 1), (str(file), 1), (str(file), 2)]
    with pytest.raises(ConfigError, match="limit"):
        load(None, start=tmp_path, user_file=user, env=env)


@pytest.mark.requirement("CFG-01")
def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path, env: dict[str, str]) -> None:
    cases = {"missing.toml": "no such file", ".": "is a folder"}
    (tmp_path / "utf16.toml").write_bytes("a = 1".encode("utf-16"))
    (tmp_path / "latin.toml").write_bytes(b"\n# caf\xe9")
    os.mkfifo(tmp_path / "pipe.toml")
    cases |= {"utf16.toml": "UTF-16", "latin.toml": "latin.toml:2: byte 0xe9", "pipe.toml": "no regular file"}
    for name, says in cases.items():
        with pytest.raises(ConfigError) as caught:
            load(tmp_path / name, start=tmp_path, env=env)
        assert says in str(caught.value)
        assert str(tmp_path) in str(caught.value)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path, env: dict[str, str]) -> None:
    file = tmp_path / "sutler.toml"
    file.write_bytes(b"\xef\xbb\xbf[limits]\r\ncalls = 7\r\n")
    assert load(file, start=tmp_path, env=env).limits.calls == 7


def test_an_empty_config_is_trusted_and_holds_nothing() -> None:
    config = Config.empty()
    assert (config.trusted, config.tools, config.default_tools) == (True, (), True)
