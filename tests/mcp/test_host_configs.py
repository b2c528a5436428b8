"""Servers from the config files of other hosts: every dialect, every real file, and what is wrong with the rest."""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ToolUnavailable
from sutler.mcp.host_configs import HostFile, Surroundings, read_host_file, read_host_files
from sutler.mcp.hosts.dialects import DIALECTS, needs_trust, places, user_files
from sutler.mcp.hosts.entry import env_file, is_sutler
from sutler.mcp.hosts.install import with_server
from sutler.mcp.hosts.jsonc import Document, JsoncError
from sutler.mcp.manager import ServerManager
from sutler.mcp.source import McpToolSource
from sutler.policy.trust import TrustStore
from sutler.servers import ServerSpec

PAYLOADS = Path(__file__).parent.parent / "cases" / "payloads"
ENV = {"TOKEN": "s3cret-value-1", "EMPTY": "", "HOST": "example.org"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def around(home: Path, project: Path) -> Surroundings:
    return Surroundings(env=ENV, home=home, project=project)


def put(file: Path, content: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def only(file: HostFile) -> ServerSpec:
    assert file.problem == "" and len(file.servers) == 1, file
    return file.servers[0]


# ---------------------------------------------------------------------- dialects


@pytest.mark.requirement("MCP-02")
def test_claude_desktop_puts_no_variables_in(home: Path, around: Surroundings) -> None:
    entry = {"command": "npx", "args": ["-y", "pkg", "$HOME"], "env": {"KEY": "${NOT_A_VARIABLE}"}}
    file = put(home / ".config/Claude/claude_desktop_config.json", {"mcpServers": {"a b": entry}, "globalShortcut": 1})
    server = only(read_host_file(file, around))
    assert server.id == "claude_desktop_config.json/a b"
    assert (server.transport, server.command, server.args) == ("stdio", "npx", ("-y", "pkg", "$HOME"))
    assert server.env == {"KEY": "${NOT_A_VARIABLE}"} and server.unavailable == ""
    assert server.provenance == f"host:{file}" and server.where == f"{file}:1" and server.cwd == home


@pytest.mark.requirement("MCP-02")
def test_claude_code_files_of_project_and_person(home: Path, project: Path, around: Surroundings) -> None:
    file = put(
        project / ".mcp.json",
        {
            "mcpServers": {
                "api": {
                    "type": "http",
                    "url": "https://${HOST}/mcp",
                    "headers": {"Authorization": "Bearer ${TOKEN}", "X": "${EMPTY:-d}", "Y": "$TOKEN"},
                    "timeout": 90000,
                },
                "run": {"command": "./bin/run", "args": ["${NOPE:-x}"]},
                "unset": {"command": "x", "env": {"A": "${NOPE}"}},
                "events": {"type": "sse", "url": "https://x/events"},
                "socket": {"type": "ws", "url": "wss://x"},
            }
        },
    )
    api, run, unset, events, socket = read_host_file(file, around).servers
    assert (api.transport, api.url, api.timeout) == ("http", "https://example.org/mcp", 90.0)
    assert api.headers == {"Authorization": "Bearer s3cret-value-1", "X": "d", "Y": "$TOKEN"}
    assert (run.command, run.args, run.cwd) == (str(project / "bin/run"), ("x",), project)
    assert "env.A" in unset.unavailable and "NOPE is not set" in unset.unavailable and str(file) in unset.unavailable
    assert unset.env == {"A": ""}
    assert events.transport == "sse"
    assert "'ws'" in socket.unavailable

    own = put(
        home / ".claude.json",
        {
            "mcpServers": {"mine": {"command": "m"}, "both": {"command": "user"}},
            "projects": {
                str(project): {
                    "mcpServers": {"both": {"command": "local"}, "off": {"command": "o"}},
                    "disabledMcpServers": ["off"],
                },
                "/elsewhere": {"mcpServers": {"theirs": {"command": "t"}}},
            },
        },
    )
    read = read_host_file(own, around)
    servers = {server.id.partition("/")[2]: server for server in read.servers}
    assert set(servers) == {"mine", "both", "off"}
    assert servers["both"].command == "local" and servers["off"].enabled is False
    assert any("takes its place" in note for note in read.notes)


@pytest.mark.requirement("MCP-02")
def test_cursor_knows_places_by_name(home: Path, project: Path, around: Surroundings) -> None:
    put(project / ".env", "# c\nexport A='one two'\nB=\"x\\ny\"\nC=plain # note\nTOKEN=fromfile\nnot a line\n")
    file = put(
        project / ".cursor/mcp.json",
        {
            "mcpServers": {
                "s": {
                    "command": "node",
                    "args": ["${workspaceFolder}/s.js", "${userHome}${/}x", "${workspaceFolderBasename}"],
                    "env": {"TOKEN": "${env:TOKEN}"},
                    "envFile": "${workspaceFolder}/.env",
                },
                "odd": {"command": "node", "args": ["${selectedText}"]},
                "remote": {"url": "https://x/mcp", "headers": {"A": "${env:NOPE}"}},
            }
        },
    )
    s, odd, remote = read_host_file(file, around).servers
    assert s.args == (f"{project}/s.js", f"{home}{os.sep}x", project.name) and s.cwd == project
    assert s.env == {"A": "one two", "B": "x\ny", "C": "plain", "TOKEN": "s3cret-value-1"}
    assert "s3cret-value-1" in s.secrets
    assert "${selectedText}" in odd.unavailable and "NOPE" in remote.unavailable


@pytest.mark.requirement("MCP-02")
def test_vs_code_has_servers_and_inputs_in_json_with_comments(project: Path, around: Surroundings) -> None:
    file = put(
        project / ".vscode/mcp.json",
        """\
{
  // what we use
  "inputs": [{"id": "key", "type": "promptString", "password": true,}],
  "servers": {
    "plain": {"type": "stdio", "command": "node", "args": ["./s.js"], "dev": {"watch": "**"}}, /* a server */
    "asks": {"type": "http", "url": "https://x/mcp", "headers": {"Authorization": "Bearer ${input:key}"}},
    "pipe": {"type": "http", "url": "unix:///tmp/x.sock#/mcp"},
  },
}
""",
    )
    plain, asks, pipe = read_host_file(file, around).servers
    assert (plain.command, plain.args, plain.cwd) == ("node", ("./s.js",), project)
    assert plain.where == f"{file}:5" and plain.id == ".vscode/mcp.json/plain"
    assert any("dev" in note for note in plain.notes)
    assert "${input:key}" in asks.unavailable and "Authorization" in asks.unavailable
    assert "unix" in pipe.unavailable


@pytest.mark.requirement("MCP-02")
def test_windsurf_reads_tokens_from_files(home: Path, tmp_path: Path, around: Surroundings) -> None:
    token = put(tmp_path / "token.txt", "filetoken1\n")
    file = put(
        home / ".codeium/windsurf/mcp_config.json",
        {
            "mcpServers": {
                "a": {"serverUrl": "https://x/mcp", "headers": {"Authorization": f"Bearer ${{file:{token}}}"}},
                "b": {"serverUrl": "https://x/mcp", "headers": {"A": "${file:/no/such/file}"}},
                "c": {"command": "x", "disabled": True, "disabledTools": ["rm"], "args": ["${env:HOST}"]},
                "d": {"command": "x", "args": ["${HOST}"]},
            }
        },
    )
    a, b, c, d = read_host_file(file, around).servers
    assert a.headers == {"Authorization": "Bearer filetoken1"} and "filetoken1" in a.secrets
    assert "/no/such/file" in b.unavailable
    assert (c.enabled, c.deny, c.args) == (False, ("rm",), ("example.org",))
    assert "${HOST}" in d.unavailable


@pytest.mark.requirement("MCP-02")
def test_zed_has_two_shapes(home: Path, around: Surroundings) -> None:
    file = put(
        home / ".config/zed/settings.json",
        '{"theme": "One", // c\n "context_servers": {\n'
        '"new": {"source": "custom", "command": "n", "args": ["a"]},\n'
        '"old": {"command": {"path": "o", "args": ["b"], "env": {"E": "1"}}},\n'
        '"off": {"command": "x", "enabled": false},\n'
        '"web": {"url": "https://x/mcp"},}}',
    )
    new, old, off, web = read_host_file(file, around).servers
    assert (new.command, new.args, new.unavailable) == ("n", ("a",), "")
    assert (old.command, old.args, old.env) == ("o", ("b",), {"E": "1"})
    assert off.enabled is False and web.transport == "http"
    assert new.id == "zed/settings.json/new"


@pytest.mark.requirement("MCP-02")
def test_gemini_has_milliseconds_and_two_kinds_of_address(home: Path, around: Surroundings) -> None:
    file = put(
        home / ".gemini/settings.json",
        {
            "mcp": {"allowed": ["events", "http", "run"], "excluded": ["http"]},
            "mcpServers": {
                "events": {"url": "https://$HOST/sse", "timeout": 5000, "trust": True},
                "http": {"httpUrl": "https://x/mcp", "headers": {"A": "${TOKEN}"}},
                "run": {"command": "r", "includeTools": ["a", "b"], "excludeTools": ["b"], "cwd": "~"},
                "other": {"command": "o", "env": {"A": "$NOPE"}},
            },
        },
    )
    events, http, run, other = read_host_file(file, around).servers
    assert (events.transport, events.url, events.timeout) == ("sse", "https://example.org/sse", 5.0)
    assert (http.transport, http.enabled, http.headers) == ("http", False, {"A": "s3cret-value-1"})
    assert (run.allow, run.deny, run.enabled) == (("a", "b"), ("b",), True)
    assert other.enabled is False and "NOPE" in other.unavailable


@pytest.mark.requirement("MCP-02")
def test_codex_has_toml_seconds_and_variables_by_name(home: Path, around: Surroundings) -> None:
    file = put(
        home / ".codex/config.toml",
        """\
model = "x"
[mcp_servers.run]
command = "r"
args = ["${literal}"]
env_vars = ["A", { name = "B", source = "local" }]
startup_timeout_sec = 20
tool_timeout_sec = 45
enabled_tools = ["a"]
disabled_tools = ["b"]
required = true
[mcp_servers.web]
url = "https://x/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { X = "1" }
env_http_headers = { Y = "HOST" }
[mcp_servers.missing]
url = "https://x/mcp"
bearer_token_env_var = "NOPE"
enabled = false
""",
    )
    run, web, missing = read_host_file(file, around).servers
    assert (run.args, run.env_vars, run.connect_timeout, run.timeout) == (("${literal}",), ("A", "B"), 20.0, 45.0)
    assert (run.allow, run.deny, run.required, run.where) == (("a",), ("b",), True, f"{file}:2")
    assert web.headers == {"X": "1", "Y": "example.org", "Authorization": "Bearer s3cret-value-1"}
    assert "s3cret-value-1" in web.secrets
    assert "NOPE" in missing.unavailable and missing.enabled is False


# ---------------------------------------------------------------------- real files, bad files


def cases() -> Iterator[tuple[str, dict[str, str]]]:
    """Every real file, with what each server of it comes to: the start of its command, or of the reason."""
    yield "cfg-cursor-cwd.mcp.json", {"deso-mcp-final": "/opt/homebrew/bin/node"}
    yield "cfg-cursor-windows-cmd.mcp.json", {"codebase-memory-mcp": "C:/", "gitnexus": "C:\\"}
    yield "cfg-desktop-extra-keys.json", {"nexus-core": "python"}
    yield (
        "cfg-desktop-many-servers.json",
        {
            "brave-search": "npx",
            "filesystem": "npx",
            "github": "npx",
            "gdrive": "npx",
            "google-workspace-mcp": "docker",
        },
    )
    yield "cfg-http-header-default-var.mcp.json", {"context7": "https://mcp.context7.com/mcp"}
    yield "cfg-http-type.mcp.json", {"mcp-docs": "https://modelcontextprotocol.io/mcp"}
    yield "cfg-vscode-servers-envfile.mcp.json", {"nerdearla-mcp": "node"}


@pytest.mark.requirement("MCP-02")
@pytest.mark.parametrize(("name", "wanted"), list(cases()))
def test_every_real_file_gives_its_servers_or_a_named_reason(
    name: str, wanted: dict[str, str], around: Surroundings
) -> None:
    read = read_host_file(PAYLOADS / name, around)
    assert read.problem == ""
    servers = {server.id.rpartition("/")[2]: server for server in read.servers}
    assert set(servers) == set(wanted)
    for server_id, start in wanted.items():
        assert (servers[server_id].command or servers[server_id].url).startswith(start)
    reasons = {server_id: server.unavailable for server_id, server in servers.items() if server.unavailable}
    if "windows" in name and os.name != "nt":
        assert all("Windows" in reason for reason in reasons.values()) and len(reasons) == 2
    elif "envfile" in name:
        assert "envFile" in reasons["nerdearla-mcp"]
    else:
        assert reasons == {}


@pytest.mark.requirement("MCP-02")
def test_an_empty_default_in_a_header_sends_no_header(around: Surroundings) -> None:
    server = only(read_host_file(PAYLOADS / "cfg-http-header-default-var.mcp.json", around))
    assert server.headers == {} and any("Authorization" in note for note in server.notes)


@pytest.mark.requirement("MCP-02")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("# Not JSON\n", "line 1, column 1"),
        ('{"mcpServers": {"a": }}', "line 1"),
        ("", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b'{"a": "\xe9"}', "0xe9 on line 1 is not UTF-8"),
        ("[1, 2]", "no object"),
        ("null", "no object"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_read_says_where_and_gives_nothing(
    content: Any, said: str, project: Path, around: Surroundings
) -> None:
    read = read_host_file(put(project / "mcp.json", content), around)
    assert said in read.problem and str(project) in read.problem and read.servers == ()


@pytest.mark.requirement("MCP-02")
def test_files_that_are_none_are_told_apart(project: Path, around: Surroundings) -> None:
    assert "no such file" in read_host_file(project / "none.json", around).problem
    assert "no regular file" in read_host_file(project, around).problem
    fifo = project / "fifo.json"
    os.mkfifo(fifo)
    assert "no regular file" in read_host_file(fifo, around).problem
    assert "no TOML" in read_host_file(put(project / "c.toml", "a = "), around).problem
    empty = read_host_file(put(project / "e.json", {"mcpServers": {}}), around)
    assert empty.problem == "" and "names no servers" in empty.notes[0]


@pytest.mark.requirement("MCP-02")
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_the_encoding_of_a_file_does_not_matter(encoding: str, project: Path, around: Surroundings) -> None:
    text = json.dumps({"mcpServers": {"größe": {"command": "x"}}}, ensure_ascii=False)
    data = codecs.BOM_UTF16_BE + text.encode(encoding) if encoding == "utf-16-be" else text.encode(encoding)
    assert only(read_host_file(put(project / "mcp.json", data), around)).id.endswith("größe")


@pytest.mark.requirement("MCP-02")
@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("text", "no object"),
        ({}, "neither a command nor an address"),
        ({"command": ""}, "neither a command nor an address"),
        ({"command": 5, "args": "x", "env": []}, "env is no object"),
        ({"command": "x", "args": {"a": 1}}, "args is no list"),
        ({"command": "x", "args": [{"a": 1}]}, "args[0] is no text"),
        ({"type": "stdio", "url": "https://x"}, "no command"),
        ({"type": "http", "command": "x"}, "no address"),
        ({"url": "file:///etc/passwd"}, "http:// or https://"),
        ({"command": "x\0y"}, "NUL"),
        ({"command": "x", "env": {"A=B": "c"}}, "name of a variable"),
        ({"url": "https://x", "headers": {"A": "b\r\nC: d"}}, "line break"),
        ({"url": "https://x", "headers": {"A": "${B"}}, "does not put in"),
        ({"command": "x", "envFile": "/dev/zero"}, "envFile"),
        ({"command": "x", "includeTools": "a"}, "includeTools is no list"),
    ],
)
def test_a_server_that_cannot_be_started_says_why_and_the_others_stay(
    entry: Any, said: str, project: Path, around: Surroundings
) -> None:
    file = put(project / "mcp.json", {"mcpServers": {"bad": entry, "good": {"command": "x"}}})
    bad, good = read_host_file(file, around).servers
    assert said in bad.unavailable and str(file) in bad.unavailable
    assert good.unavailable == ""


@pytest.mark.requirement("MCP-02")
def test_numbers_become_text_and_null_is_left_out(project: Path, around: Surroundings) -> None:
    entry = {"command": "x", "args": [1, True], "env": {"PORT": 80, "ON": False, "NO": None}}
    server = only(read_host_file(put(project / "mcp.json", {"mcpServers": {"a": entry}}), around))
    assert server.args == ("1", "true") and server.env == {"PORT": "80", "ON": "false"}
    assert any("NO" in note for note in server.notes)


# ---------------------------------------------------------------------- many files, trust


@pytest.mark.requirement("MCP-02", "SRC-06")
def test_earlier_files_rank_higher_and_ids_stay_apart(project: Path, around: Surroundings) -> None:
    one = put(project / "a/mcp.json", {"mcpServers": {"s": {"command": "x"}}})
    two = put(project / "b/a/mcp.json", {"mcpServers": {"s": {"command": "y"}, "t": {"command": "z"}}})
    first, second, none = read_host_files([one, two, one, project / "none"], around)
    assert [server.precedence for server in (*first.servers, *second.servers)] == [4.0, 2.5, 2.5]
    assert [server.id for server in (*first.servers, *second.servers)] == [
        "a/mcp.json/s",
        "a/mcp.json/s#2",
        "a/mcp.json/t",
    ]
    assert any("#2" in note for note in second.notes) and none.problem


@pytest.mark.requirement("TRU-01", "MCP-02")
@pytest.mark.parametrize(
    "name", [".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json", "x.json"]
)
def test_a_projects_file_is_listed_and_not_started_before_it_is_trusted(
    name: str, project: Path, home: Path, tmp_path: Path
) -> None:
    key = "servers" if "vscode" in name else "mcpServers"
    file = put(project / name, {key: {"s": {"command": "x"}}})
    trust = TrustStore(tmp_path / "state")
    around = Surroundings(env=ENV, home=home, project=project, trust=trust)
    read = read_host_file(file, around)
    assert read.trusted is False
    assert "not trusted" in only(read).unavailable and f"sutler trust {file}" in only(read).unavailable
    trust.trust(file, file.read_text())
    assert only(read_host_file(file, around)).unavailable == ""
    put(file, {key: {"s": {"command": "rm"}}})
    assert "not trusted" in only(read_host_file(file, around)).unavailable


@pytest.mark.requirement("TRU-01", "MCP-02")
def test_nothing_of_a_projects_file_is_spawned_before_it_is_trusted(project: Path, home: Path, tmp_path: Path) -> None:
    proof = tmp_path / "started"
    entry = {"command": sys.executable, "args": ["-c", f"open({str(proof)!r}, 'w')"]}
    file = put(project / ".mcp.json", {"mcpServers": {"s": entry}})
    trust = TrustStore(tmp_path / "state")
    around = Surroundings(env=dict(os.environ), home=home, project=project, trust=trust)
    for trusted in (False, True):
        server = only(read_host_file(file, around))
        manager = ServerManager([server])
        try:
            manager.start()
            manager.wait(0.5 if trusted else 2)
            source = McpToolSource(manager, server)
            assert not source.available() and ("not trusted" in source.reason) is not trusted
            with pytest.raises(ToolUnavailable):
                manager.portal.submit(manager.call(server.id, "t", {}, timeout=20)).result(30)
            assert proof.exists() is trusted
        finally:
            assert manager.close() == ()
        trust.trust(file, file.read_text())


@pytest.mark.requirement("MCP-02")
@pytest.mark.parametrize(
    ("file", "entry"),
    [
        (".mcp.json", {"oauth": {"clientId": "c", "clientSecret": "${TOKEN}", "scopes": "a b", "callbackPort": 8080}}),
        (".cursor/mcp.json", {"auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "${env:TOKEN}", "scopes": ["a", "b"]}}),
        (".gemini/settings.json", {"oauth": {"clientId": "c", "clientSecret": "$TOKEN", "scopes": ["a", "b"]}}),
    ],
    ids=["claude code", "cursor", "gemini"],
)
def test_what_a_login_needs_is_read_in_each_dialect(
    project: Path, around: Surroundings, file: str, entry: dict[str, Any]
) -> None:
    put(project / file, {"mcpServers": {"s": {"url": "https://s.example/mcp", **entry}}})
    server = only(read_host_file(project / file, Surroundings(env=ENV, home=around.home, project=project)))
    assert server.oauth is not None
    assert (server.oauth.client_id, server.oauth.client_secret) == ("c", ENV["TOKEN"])
    assert server.oauth.scopes == ("a", "b")
    assert server.oauth.callback_port == (8080 if file == ".mcp.json" else 0)
    assert ENV["TOKEN"] in server.secrets and ENV["TOKEN"] not in repr(server)
    assert not any("oauth" in note or "auth" in note for note in server.notes)


@pytest.mark.requirement("TRU-01")
def test_a_persons_own_files_need_no_trust_and_a_projects_do_wherever_they_lie(home: Path, project: Path) -> None:
    for host in DIALECTS:
        for file in user_files(host, home, {}):
            assert not needs_trust(file, home=home, project=home, env={})
    assert needs_trust(project / ".mcp.json", home=home, project=None, env={})
    assert needs_trust(project / "deep/any.json", home=home, project=project, env={})
    assert not needs_trust(home / "my/servers.json", home=home, project=project, env={})


@pytest.mark.requirement("MCP-02")
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_every_host_has_a_place_on_every_platform(platform: str, home: Path, project: Path) -> None:
    found = list(places(home, project, {}, platform))
    assert {place.host for place in found} == set(DIALECTS) - {"other"}
    assert len({place.path for place in found}) == len(found)
    for place in found:
        if place.scope == "user":
            assert not place.path.is_relative_to(project)


@pytest.mark.requirement("MCP-02")
def test_sutler_never_starts_itself(project: Path, around: Surroundings) -> None:
    entries = {
        "a": {"command": "/usr/bin/sutler", "args": ["serve", "--config", "x"]},
        "b": {"command": "python", "args": ["-m", "sutler.cli", "serve"]},
        "c": {"command": "uvx", "args": ["sutler", "serve"]},
        "d": {"command": "sutler", "args": ["doctor"]},
        "e": {"command": "node", "args": ["serve"]},
    }
    servers = read_host_file(put(project / "mcp.json", {"mcpServers": entries}), around).servers
    assert [server.enabled for server in servers] == [False, False, False, True, True]
    assert is_sutler("C:\\x\\sutler.exe", ["serve"])


def test_an_env_file_is_read_as_shells_read_it(tmp_path: Path) -> None:
    file = put(tmp_path / ".env", "A=1\n export B = two words \nC='a # b'\nD=\"q\" # c\n#E=1\nF=\n1G=x\nH=a#b\n")
    assert env_file(file) == {"A": "1", "B": "two words", "C": "a # b", "D": "q", "F": "", "H": "a#b"}


# ---------------------------------------------------------------------- changing one place of a file


DOCUMENTS = [
    "",
    "{}",
    "{ }\n",
    '{"a": 1}',
    '{"mcpServers": {}}',
    '{\n  "a": 1 // one\n  // last\n}\n',
    '{\n\t"mcpServers": {\n\t\t"x": {"command": "y"},\n\t},\n}\n',
    '{\r\n    "mcpServers": {\r\n        "x": {}\r\n    },\r\n    "z": [1, 2]\r\n}\r\n',
    '// top\n{"mcpServers": {"x": {"command": "//no"}}, /* end */ "b": "}"}\n',
    '{\n  "mcpServers": { // c\n  }\n}',
    '{"mcpServers": {"sutler": {"command": "old", "args": []}, "z": 1}, "k": null}',
    '{\n  "mcpServers": {\n    "a": 1,\n    "sutler": {\n      "command": "old"\n    },\n    "z": 1\n  }\n}\n',
]


@pytest.mark.requirement("MCP-02")
@pytest.mark.parametrize("text", DOCUMENTS)
def test_one_member_is_set_and_every_other_byte_stays(text: str) -> None:
    value = {"command": "c", "args": ["a"]}
    before = Document(text).value if text else {}
    changed = Document(text).with_member(["mcpServers", "sutler"], value)
    wanted = {**before, "mcpServers": {**before.get("mcpServers", {}), "sutler": value}}
    assert Document(changed).value == wanted
    assert list(Document(changed).value) == list(wanted)
    for comment in ("// one", "// last", "// top", "/* end */", "// c", "//no"):
        assert text.count(comment) == changed.count(comment)
    assert ("\r\n" in text) == ("\r\n" in changed)
    if "old" not in text:
        assert _is_part_of(text, changed)
    assert Document(changed).with_member(["mcpServers", "sutler"], value) == changed


def _is_part_of(text: str, changed: str) -> bool:
    """Whether every character is still there, in its order, so that the change only put something in."""
    rest = iter(changed)
    return all(char in rest for char in text.rstrip())


@pytest.mark.requirement("MCP-02")
def test_a_place_that_is_no_object_is_named(tmp_path: Path) -> None:
    for text in ("[1]", '{"mcpServers": []}', '{"mcpServers":\n "x"}', "{", '{"a": 1} x'):
        with pytest.raises(JsoncError):
            Document(text).with_member(["mcpServers", "x"], {})


@pytest.mark.requirement("MCP-02")
@pytest.mark.parametrize(
    "text",
    [
        "",
        'model = "x"\n',
        'model = "x"  # c\n\n[mcp_servers.other]\ncommand = "o"',
        '[mcp_servers.sutler]\ncommand = "old"\nargs = []\n\n# about next\n[tui]\ntheme = "x"\n',
        'a = 1\r\n[mcp_servers.sutler] # c\r\ncommand = "old"\r\n',
    ],
)
def test_codex_toml_gets_one_table_and_keeps_the_rest(text: str) -> None:
    import tomllib

    before = tomllib.loads(text)
    changed = with_server(text, "codex", "sutler", "c\\d", ["serve", 'q"'])
    after = tomllib.loads(changed)
    assert after["mcp_servers"].pop("sutler") == {"command": "c\\d", "args": ["serve", 'q"']}
    (before.get("mcp_servers") or {}).pop("sutler", None)
    assert {**after, "mcp_servers": {}} == {**before, "mcp_servers": {}}
    assert after["mcp_servers"] == (before.get("mcp_servers") or {})
    assert "# about next" not in text or "# about next\n[tui]" in changed
    assert with_server(changed, "codex", "sutler", "c\\d", ["serve", 'q"']) == changed


@pytest.mark.requirement("MCP-02")
@pytest.mark.parametrize(
    "text",
    ["a =", "mcp_servers = 1", 'mcp_servers = { sutler = { command = "x" } }', "mcp_servers = { o = { a = 1 } }"],
)
def test_toml_that_cannot_be_changed_safely_is_left_alone(text: str) -> None:
    with pytest.raises(ValueError, match=r"TOML|table|hand"):
        with_server(text, "codex", "sutler", "c", [])


@pytest.mark.requirement("MCP-02")
def test_a_large_file_that_a_host_keeps_its_history_in_is_read(home: Path, around: Surroundings) -> None:
    history = [{"display": "x" * 50, "n": n} for n in range(20_000)]
    file = put(home / ".claude.json", {"history": history, "mcpServers": {"s": {"command": "x"}}})
    assert only(read_host_file(file, around)).where == f"{file}:1"
