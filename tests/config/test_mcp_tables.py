"""[mcp_servers.<id>] and [mcp] host_configs: what they may hold, and what is said of everything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sutler.config import Config, load, load_text
from sutler.config.edit import with_host_configs
from sutler.errors import ConfigError, Problem
from sutler.policy.trust import TrustStore
from sutler.spec import Grade

FILE = Path("/somewhere/sutler.toml")
ENV = {"TOKEN": "s3cret-value-1", "EMPTY": "", "HOST": "example.org"}


def read(text: str, **more: Any) -> Config:
    return load_text(text, FILE, env=ENV, **more)


def problems(text: str) -> list[Problem]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return list(caught.value.problems)


WHOLE = """
[mcp_servers.local]
command = "./bin/server"
args = ["--root", "${HOST}", "$${literal}"]
env = { API_TOKEN = "${TOKEN}", MODE = "strict" }
env_vars = ["PATH_TO_DATA"]
cwd = "place"
connect_timeout = 3
timeout = 90
enabled = true
required = true
allow = ["get", "list"]
deny = ["remove"]
era = "legacy"
concurrency = 2

[mcp_servers.local.assume]
open_world = false
destructive = true

[mcp_servers.local.tools.get]
grade = { w = 1, d = 0 }
description = "Gets."
timeout = 5
enabled = true
alias = "fetch"

[mcp_servers.remote]
url = "https://${HOST}/mcp"
headers = { Authorization = "Bearer ${TOKEN}", X-Mode = "${EMPTY:-plain}" }

[mcp_servers.old]
url = "http://127.0.0.1:9/sse"
transport = "sse"

[mcp]
host_configs = ["~/.cursor/mcp.json", ".mcp.json"]
"""


@pytest.mark.requirement("MCP-01", "MCP-02", "MCP-11", "CFG-01")
def test_a_file_with_every_key_becomes_servers() -> None:
    config = read(WHOLE)
    local, remote, old = config.mcp_servers
    assert (local.id, local.transport, local.command, local.cwd) == (
        "local",
        "stdio",
        "/somewhere/place/bin/server",
        Path("/somewhere/place"),
    )
    assert local.args == ("--root", "example.org", "${literal}")
    assert local.env == {"API_TOKEN": "s3cret-value-1", "MODE": "strict"} and local.env_vars == ("PATH_TO_DATA",)
    assert (local.connect_timeout, local.timeout, local.required, local.enabled) == (3.0, 90.0, True, True)
    assert (local.allow, local.deny, local.era, local.concurrency) == (("get", "list"), ("remove",), "legacy", 2)
    assert local.assume == {"open_world": False, "destructive": True}
    get = local.tools["get"]
    assert (get.grade, get.description, get.timeout, get.enabled, get.alias) == (
        Grade(1, 0),
        "Gets.",
        5.0,
        True,
        "fetch",
    )
    assert (remote.transport, remote.url) == ("http", "https://example.org/mcp")
    assert remote.headers == {"Authorization": "Bearer s3cret-value-1", "X-Mode": "plain"}
    assert (old.transport, old.url) == ("sse", "http://127.0.0.1:9/sse")
    assert all((one.provenance, one.precedence, one.unavailable) == ("own", 5.0, "") for one in config.mcp_servers)
    assert remote.where == f"{FILE}:{WHOLE.split(chr(10)).index('[mcp_servers.remote]') + 1}"
    assert config.host_configs == (Path("~/.cursor/mcp.json").expanduser(), Path("/somewhere/.mcp.json"))


@pytest.mark.requirement("MCP-11")
def test_a_server_without_a_cwd_starts_in_the_folder_of_the_file() -> None:
    (server,) = read("[mcp_servers.x]\ncommand = 'node'").mcp_servers
    assert (server.command, server.cwd, server.env, server.env_vars) == ("node", Path("/somewhere"), {}, ())


@pytest.mark.requirement("MCP-01", "CFG-01")
@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ("command='x'\nargz=[]", "mcp_servers.s.argz", "did you mean `args`?"),
        ("command='x'\nconect_timeout=1", "mcp_servers.s.conect_timeout", "`connect_timeout`"),
        ("command='x'\ntype='stdio'", "mcp_servers.s.type", "`transport`"),
        ("command='x'\ndisabled=true", "mcp_servers.s.disabled", "enabled = false"),
        ("serverUrl='http://x'", "mcp_servers.s.serverUrl", "`url`"),
        ("command='x'\nassume={readOnlyHint=true}", "mcp_servers.s.assume.readOnlyHint", "`read_only`"),
        ("command='x'\ntools.t.grad={w=1,d=1}", "mcp_servers.s.tools.t.grad", "`grade`"),
        ("command='x'\nera='old'", "mcp_servers.s.era", ""),
        ("command='x'\ntransport='pipe'", "mcp_servers.s.transport", ""),
    ],
)
def test_an_unknown_key_is_named_with_file_line_and_the_closest(text: str, key: str, hint: str) -> None:
    found = [problem for problem in problems(f"[mcp_servers.s]\n{text}") if problem.key == key]
    assert len(found) == 1
    assert (found[0].file, found[0].line) == (str(FILE), text.count("\n") + 2)
    assert hint in found[0].hint


@pytest.mark.requirement("MCP-01", "CFG-01")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "neither `command` nor `url`"),
        ("command='x'\nurl='http://x'", "exclude each other"),
        ("command='x'\nheaders={}", "goes with url only"),
        ("url='http://x'\nenv={}", "goes with command only"),
        ("url='http://x'\ntransport='stdio'", "`url` says 'http'"),
        ("url='ftp://x'", "http:// or https://"),
        ("url='http://x:99999'", "no address"),
        ("command=' '", "must not be empty"),
        ("command=5", "must be a string"),
        ("command='x'\nargs=[1]", "must be a string"),
        ("command='x'\nenv={'a b'='c'}", "environment variable"),
        ("command='x'\nenv_vars=['A=b']", "name of an environment variable"),
        ("url='http://x'\nheaders={'A\\nB'='c'}", "name of a header"),
        ("command='x'\nargs=['${TOKEN']", "never closed"),
        ("command='x'\nconcurrency=0", "from 1 to 1000"),
        ("command='x'\ntimeout=0", "more than 0"),
        ("command='x'\ntools.a.alias='c'\ntools.b.alias='c'", "already"),
        ("command='x'\nenabled='no'", "true or false"),
        ('command="a\\u0000b"', "NUL"),
    ],
)
def test_what_cannot_be_meant_is_said(text: str, said: str) -> None:
    assert any(said in problem.message for problem in problems(f"[mcp_servers.s]\n{text}"))


@pytest.mark.requirement("MCP-01")
@pytest.mark.parametrize("server", ["a::b", "a/b", " a", ""])
def test_an_id_that_would_blur_a_tools_identity_is_refused(server: str) -> None:
    assert problems(f"[mcp_servers.'{server}']\ncommand = 'x'")


@pytest.mark.requirement("CFG-01")
def test_servers_that_are_no_tables_are_named() -> None:
    assert "must be a table" in problems("mcp_servers = 1")[0].message
    assert "write [mcp_servers.<id>]" in problems("[mcp_servers]\ncommand = 'x'")[0].hint


@pytest.mark.requirement("MCP-01")
def test_an_unset_variable_makes_its_server_unavailable_and_no_other() -> None:
    bad, good = read(
        "[mcp_servers.bad]\nurl = 'https://x/mcp'\nheaders = { Authorization = 'Bearer ${NOPE}' }\n"
        "[mcp_servers.good]\ncommand = 'x'\n"
    ).mcp_servers
    assert "NOPE is not set" in bad.unavailable and f"{FILE}:3" in bad.unavailable
    assert "headers.Authorization" in bad.unavailable
    assert not any("${" in value for value in bad.headers.values())
    assert good.unavailable == ""


@pytest.mark.requirement("MCP-01")
def test_what_a_variable_brings_along_is_looked_at_too() -> None:
    config = load_text(
        "[mcp_servers.web]\nurl = 'https://x/mcp'\nheaders = { A = '${TOKEN}' }\n"
        "[mcp_servers.run]\ncommand = 'x'\nenv_vars = ['GONE', 'TOKEN']\n",
        FILE,
        env={"TOKEN": "ended-by-a-break\n"},
    )
    web, run = config.mcp_servers
    assert "line break" in web.unavailable and "headers.A" in web.unavailable
    assert run.unavailable == "" and len(run.notes) == 1 and "GONE" in run.notes[0]


@pytest.mark.requirement("MCP-02", "PRG-10")
def test_secrets_are_known_to_be_secret_and_never_printed() -> None:
    config = read(
        """
[mcp_servers.a]
command = "x"
args = ["--api-key", "argsecret1", "--token=argsecret2", "https://me:urlpass1@host/p", "plain"]
env = { GITHUB_PAT = "ghp_16C7e42F292c6912E7710c838347Ae178B4a", PASSWORD = "envsecret", MODE = "strict" }
[mcp_servers.b]
url = "https://host/mcp?api_key=querysecret"
headers = { Authorization = "Bearer headsecret", X-Custom = "customvalue", Accept = "text/plain" }
"""
    )
    a, b = config.mcp_servers
    assert a.secrets == {
        "argsecret1", "argsecret2", "urlpass1", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "envsecret"
    }  # fmt: skip
    assert b.secrets == {"querysecret", "headsecret", "Bearer headsecret", "customvalue"}
    assert config.secrets >= a.secrets | b.secrets
    shown = repr(config) + repr(a) + repr(b)
    assert not [secret for secret in a.secrets | b.secrets if secret in shown]


@pytest.mark.requirement("TRU-01", "MCP-02")
def test_an_untrusted_file_starts_no_server_and_reads_no_host_file(tmp_path: Path) -> None:
    file = tmp_path / "sutler.toml"
    file.write_text(WHOLE, encoding="utf-8")
    env = {**ENV, "SUTLER_STATE_DIR": str(tmp_path / "state")}
    config = load(None, start=tmp_path, env=env)
    assert (config.mcp_servers, config.host_configs, config.trusted) == ((), (), False)
    withheld = "\n".join(config.withheld)
    assert "server local" in withheld and "server remote" in withheld and "mcp.host_configs" in withheld
    assert "s3cret-value-1" not in repr(config)
    TrustStore(tmp_path / "state").trust(file, WHOLE)
    assert len(load(None, start=tmp_path, env=env).mcp_servers) == 3


@pytest.mark.requirement("MCP-01")
def test_a_projects_server_replaces_the_users_and_what_is_denied_stays_denied(tmp_path: Path) -> None:
    user, project = tmp_path / "config.toml", tmp_path / "sutler.toml"
    user.write_text(
        "[mcp_servers.both]\ncommand = 'mine'\ndeny = ['rm']\n[mcp_servers.own]\ncommand = 'o'\n"
        "[mcp]\nhost_configs = ['a.json']\n"
    )
    project.write_text("[mcp_servers.both]\ncommand = 'theirs'\ndeny = ['mv']\n")
    config = load(project, start=tmp_path, user_file=user, env={})
    servers = {server.id: server for server in config.mcp_servers}
    assert (servers["both"].command, servers["both"].deny) == ("theirs", ("rm", "mv"))
    assert servers["own"].command == "o" and config.host_configs == (tmp_path / "a.json",)


@pytest.mark.requirement("MCP-02")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[policy]\nlevel = 'safe'",
        "# only a comment\n",
        "[mcp]",
        "[mcp] # here\n[policy]\n",
        "[mcp]\nhost_configs = []\n",
        "mcp.host_configs = ['a.json']\n",
        "[mcp]\nhost_configs = ['a.json', \"b.json\"] # both\n[policy]\nlevel = 'safe'\n",
        "[mcp]\nhost_configs = ['a.json',]\n",
        "[mcp]\nhost_configs = [\n    'a.json', # first ]\n    'b.json' # last\n]\n",
        "[mcp]\r\nhost_configs = [\r\n  'a.json',\r\n]\r\n",
        "[mcp]\n'host_configs' = [\n'a]json']",
    ],
)
def test_files_are_added_and_every_other_byte_stays(text: str) -> None:
    added = ["~/x.json", "c:\\y.json", 'quote".json']
    before = load_text(text, FILE, env={})
    changed = with_host_configs(text, added)
    after = load_text(changed, FILE, env={})
    assert list(after.host_configs) == [
        *before.host_configs,
        *(Path("/somewhere", Path(one).expanduser()) for one in added),
    ]
    assert after.policy == before.policy
    assert ("\r\n" in text) == ("\r\n" in changed) and changed.count("#") == text.count("#")
    for line in text.split("\n"):
        if "host_configs" not in line and not line.rstrip().endswith(("']", "last")):
            assert line in changed.split("\n")


@pytest.mark.requirement("MCP-02")
def test_a_table_that_cannot_be_added_to_is_left_alone() -> None:
    with pytest.raises(ValueError, match="by hand"):
        with_host_configs("mcp = {}\n", ["x"])
