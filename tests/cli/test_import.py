"""`sutler import`, `sutler install`, and trust in a project's config of another host."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path

import pytest

from sutler.config import load_text
from sutler.policy.trust import TrustStore
from sutler.servers import OAuth

from .conftest import Project, Sutler, put

SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
SERVERS = {
    "mcpServers": {
        "hub": {
            "command": "npx",
            "args": ["-y", "hub", "--api-key=argsecret1"],
            "env": {"HUB_PAT": SECRET, "MODE": "x"},
        },
        "web": {"url": "https://host/mcp", "headers": {"Authorization": f"Bearer {SECRET}"}},
        "off": {"command": "o", "disabled": True},
    }
}


@pytest.mark.requirement("MCP-02")
def test_import_finds_what_is_here_starts_nothing_and_shows_no_secret(
    home: Path, project: Project, sutler: Sutler
) -> None:
    cursor = put(home / ".cursor/mcp.json", SERVERS)
    code = put(project.root / ".mcp.json", {"mcpServers": {"run": {"command": "touch", "args": ["started"]}}})
    put(home / ".gemini/settings.json", "{ broken")
    put(home / "config/zed/settings.json", {"theme": "x"})
    before = {file: file.read_bytes() for file in (cursor, code, project.file)}
    ended = sutler("import")
    assert ended.code == 0
    assert f"Cursor: {cursor}" in ended.out and f"Claude Code: {code} (not trusted)" in ended.out
    assert "npx -y hub --api-key=***" in ended.out and "env: HUB_PAT, MODE" in ended.out
    assert "headers: Authorization" in ended.out and "it is disabled there" in ended.out
    assert "cannot be read" in ended.out and "zed" not in ended.out
    assert f"sutler trust {code}" in ended.err
    assert SECRET not in ended.out + ended.err and "argsecret1" not in ended.out + ended.err
    assert not (project.root / "started").exists()
    assert before == {file: file.read_bytes() for file in before}


@pytest.mark.requirement("MCP-02")
def test_import_as_json_and_of_one_host_or_file(home: Path, project: Project, sutler: Sutler) -> None:
    put(home / ".cursor/mcp.json", SERVERS)
    own = put(home / "mine.json", {"servers": {"s": {"command": "x", "env": {"A": "${NOPE}"}}}})
    document = sutler("import", "cursor", "--json").json
    (file,) = document["files"]
    assert (file["host"], file["trusted"], [one["id"] for one in file["servers"]]) == (
        "cursor",
        True,
        [f".cursor/mcp.json/{n}" for n in SERVERS["mcpServers"]],
    )
    assert SECRET not in json.dumps(document)
    (file,) = sutler("import", str(own), "--json").json["files"]
    assert "${NOPE}" in file["servers"][0]["unavailable"]
    refused = sutler("import", "emacs")
    assert refused.code == 2 and "cursor" in refused.err
    assert sutler("import", "zed").code == 4
    assert sutler("import", "--yes").code == 2


@pytest.mark.requirement("MCP-02", "TRU-01")
def test_write_adds_the_files_to_the_config_and_keeps_its_trust(home: Path, project: Project, sutler: Sutler) -> None:
    put(home / ".cursor/mcp.json", SERVERS)
    put(project.root / ".mcp.json", {"mcpServers": {"run": {"command": "r"}}})
    before = project.file.read_text()
    refused = sutler("import", "--write")
    assert refused.code == 5 and project.file.read_text() == before and "+[mcp]" in refused.err
    ended = sutler("import", "--write", "--yes")
    assert ended.code == 0
    text = project.file.read_text()
    assert text.startswith(before)
    assert tomllib.loads(text)["mcp"]["host_configs"] == [".mcp.json", "~/.cursor/mcp.json"]
    assert TrustStore(home / "state").trusted(project.file, text)
    kept = [file for file in project.root.iterdir() if "before-sutler" in file.name]
    assert [file.read_text() for file in kept] == [before]
    again = sutler("import", "--write", "--yes")
    assert again.code == 0 and "already" in again.out and project.file.read_text() == text


@pytest.mark.requirement("TRU-01")
def test_write_does_not_trust_what_was_not_trusted(home: Path, project: Project, sutler: Sutler) -> None:
    put(home / ".cursor/mcp.json", SERVERS)
    project.config("[limits]\ncalls = 5\n", trusted=False)
    ended = sutler("import", "--write", "--yes")
    assert ended.code == 0 and "not trusted" in ended.err
    assert not TrustStore(home / "state").trusted(project.file, project.file.read_text())


@pytest.mark.requirement("MCP-02")
def test_copied_servers_carry_variables_in_the_place_of_secrets(home: Path, project: Project, sutler: Sutler) -> None:
    put(home / ".cursor/mcp.json", SERVERS)
    put(
        home / ".codeium/windsurf/mcp_config.json",
        {"mcpServers": {"two": {"command": "c", "env": {"HUB_PAT": "b" * 20 + "1"}}}},
    )
    oauth = {"clientId": "desk", "clientSecret": "c" * 20 + "1", "scopes": ["read"], "callbackPort": 8765}
    put(home / ".gemini/settings.json", {"mcpServers": {"board": {"httpUrl": "https://b.example", "oauth": oauth}}})
    put(project.root / ".mcp.json", {"mcpServers": {"run": {"command": "r"}}})
    ended = sutler("import", "--write", "--copy", "--yes")
    assert ended.code == 0
    text = project.file.read_text()
    assert "c" * 20 not in text + ended.out + ended.err
    for said in (text, ended.out, ended.err):
        assert SECRET not in said and "argsecret1" not in said and "b" * 20 not in said
    env = {
        "HUB_PAT": SECRET,
        "HUB_ARG_3": "argsecret1",
        "WEB_AUTHORIZATION": SECRET,
        "TWO_HUB_PAT": "other-1",
        "BOARD_CLIENT_SECRET": "c-1-of-old",
    }
    assert all(f"{name}:" in ended.err for name in env)
    servers = {server.id: server for server in load_text(text, project.file, env=env).mcp_servers}
    assert set(servers) == {"hub", "web", "two", "board"}
    expected = OAuth(client_id="desk", client_secret="c-1-of-old", scopes=("read",), callback_port=8765)
    assert servers["board"].oauth == expected
    hub = SERVERS["mcpServers"]["hub"]
    assert list(servers["hub"].args) == hub["args"] and servers["hub"].env == hub["env"]
    assert servers["web"].headers == SERVERS["mcpServers"]["web"]["headers"]
    assert servers["two"].env == {"HUB_PAT": "other-1"}


@pytest.mark.requirement("TRU-01", "MCP-02")
def test_a_projects_host_file_is_trusted_like_a_config_and_shown_without_secrets(
    home: Path, project: Project, sutler: Sutler
) -> None:
    file = put(project.root / ".mcp.json", SERVERS)
    shown = sutler("trust", str(file), "--show")
    assert shown.code == 0 and '"hub"' in shown.out and SECRET not in shown.out and "argsecret1" not in shown.out
    assert sutler("trust", str(file)).code == 5
    assert sutler("trust", str(file), "--yes").code == 0
    (read,) = sutler("import", "claude-code", "--json").json["files"]
    assert read["trusted"] is True and read["servers"][0]["unavailable"] == ""
    file.write_text(file.read_text().replace("npx", "rm"))
    (read,) = sutler("import", "claude-code", "--json").json["files"]
    assert read["trusted"] is False and "not trusted" in read["servers"][0]["unavailable"]
    put(file, "{ broken")
    broken = sutler("trust", str(file), "--yes")
    assert broken.code == 3 and "line 1" in broken.err


HOSTS = {
    "claude-code": ("project", ".mcp.json", "mcpServers"),
    "cursor": ("project", ".cursor/mcp.json", "mcpServers"),
    "vscode": ("project", ".vscode/mcp.json", "servers"),
    "gemini": ("project", ".gemini/settings.json", "mcpServers"),
    "claude-desktop": ("home", "config/Claude/claude_desktop_config.json", "mcpServers"),
    "codex": ("home", ".codex/config.toml", "mcp_servers"),
}


@pytest.mark.requirement("SRV-01")
@pytest.mark.parametrize("host", HOSTS)
def test_install_makes_a_file_that_the_host_starts_sutler_by(
    host: str, home: Path, project: Project, sutler: Sutler
) -> None:
    where, name, key = HOSTS[host]
    file = (project.root if where == "project" else home) / name
    assert sutler("install", host).code == 5 and not file.exists()
    shown = sutler("install", host, "--show")
    assert shown.code == 0 and "serve" in shown.out and not file.exists()
    assert sutler("install", host, "--yes", "--mode", "program").code == 0
    held = tomllib.loads(file.read_text()) if host == "codex" else json.loads(file.read_text())
    entry = held[key]["sutler"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-5:] == ["serve", "--config", str(project.file), "--mode", "program"]
    text = file.read_text()
    again = sutler("install", host, "--yes", "--mode", "program")
    assert again.code == 0 and "already" in again.out and file.read_text() == text


@pytest.mark.requirement("SRV-01", "MCP-02")
def test_install_changes_one_place_keeps_the_rest_and_a_copy_and_shows_no_token(
    home: Path, project: Project, sutler: Sutler
) -> None:
    text = (
        '{\r\n\t// mine\r\n\t"servers": {\r\n'
        f'\t\t"a": {{"command": "x", "env": {{"T": "{SECRET}"}}}}, // token\r\n\t}},\r\n'
        '\t"inputs": [],\r\n}\r\n'
    )
    real = home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_bytes(b"\xef\xbb\xbf" + text.encode())
    real.chmod(0o640)
    file = project.root / ".vscode" / "mcp.json"
    file.parent.mkdir()
    file.symlink_to(real)
    ended = sutler("install", "vscode", "--yes")
    assert ended.code == 0 and SECRET not in ended.out + ended.err
    assert file.is_symlink() and stat.S_IMODE(real.stat().st_mode) == 0o640
    data = real.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf") and b"// mine\r\n" in data and b"// token\r\n" in data
    assert data.count(b"\n") == data.count(b"\r\n")
    (backup,) = [one for one in real.parent.iterdir() if "before-sutler" in one.name]
    assert backup.read_bytes() == b"\xef\xbb\xbf" + text.encode() and stat.S_IMODE(backup.stat().st_mode) == 0o600
    (read,) = sutler("import", "vscode", "--json").json["files"]
    assert [one["enabled"] for one in read["servers"]] == [True, False]  # Sutler is not started by Sutler


@pytest.mark.requirement("SRV-01")
def test_install_refuses_what_it_cannot_do_right(home: Path, project: Project, sutler: Sutler, tmp_path: Path) -> None:
    file = put(project.root / ".mcp.json", '{"mcpServers": [1]}')
    ended = sutler("install", "claude-code", "--yes")
    assert ended.code == 3 and "no object" in ended.err and file.read_text() == '{"mcpServers": [1]}'
    put(file, "{")
    assert sutler("install", "claude-code", "--yes").code == 3
    assert sutler("install", "claude-desktop", "--scope", "project").code == 2
    assert sutler("install", "emacs").code == 2
    project.config("[limits]\ncalls = 5\n", trusted=False)
    ended = sutler("install", "cursor", "--yes")
    assert ended.code == 5 and "trust" in ended.err and not (project.root / ".cursor").exists()


@pytest.mark.requirement("SRV-01")
def test_install_without_a_config_serves_the_folder_and_never_the_home(
    home: Path, project: Project, sutler: Sutler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    monkeypatch.chdir(bare)
    document = sutler("install", "claude-code", "--yes", "--json").json
    assert document["written"] is True and document["command"][-3:] == ["serve", "--workspace", str(bare)]
    monkeypatch.chdir(home)
    assert sutler("install", "codex", "--yes").code == 2
    assert not (home / ".codex").exists()


@pytest.mark.requirement("SRV-01")
def test_the_two_commands_work_as_processes(project: Project) -> None:
    env = {"HOME": str(project.home), "XDG_CONFIG_HOME": str(project.home / "config")}
    put(project.home / ".cursor/mcp.json", SERVERS)
    ended = project.process("import", **env)
    assert ended.code == 0 and SECRET not in ended.out + ended.err and "web" in ended.out
    ended = project.process("install", "codex", "--yes", **env)
    assert ended.code == 0
    entry = tomllib.loads((project.home / ".codex/config.toml").read_text())["mcp_servers"]["sutler"]
    assert os.access(entry["command"], os.X_OK)
