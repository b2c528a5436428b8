"""`sutler import` of a .lackpy/config.toml: what it takes, what it names, and what it leaves alone (SRC-04)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from sutler.config import load_text
from sutler.policy.trust import TrustStore
from sutler.spec import Grade

from ..terminal import python_at_terminal
from .conftest import CONFIG, Project, Sutler, put

SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
LACKPY = f"""
[profiles.p]
tools = ["shout"]

[[tools]]
name = "shout"
provider = "python"
module = "loud"
function = "shout"
description = '''Makes a "text"
loud.'''
args = [{{ name = "text", type = "str" }}, {{ name = "end", type = "Mark", default = "!", required = false }}]
returns = "str"
grade_w = 0
effects_ceiling = 0
examples = [{{ intent = "be loud", code = "shout('a')", tags = ["x"] }}]

[[virtual_tools]]
name = "ask"
description = "Asks."
grade_w = 1
effects_ceiling = 1

[mcp_servers.hub]
transport = "stdio"
command = "./bin/hub"
args = ["--api-key=argsecret1"]
env = {{ HUB_PAT = "{SECRET}", PLAIN = "${{KEPT}}" }}

[mcp_servers.hub.tools.search]
grade = {{ w = 1, d = 0 }}

[mcp_servers.web]
url = "https://host.example/mcp"
headers = {{ Authorization = "Bearer {SECRET}" }}

[mcp]
host_configs = ["$CONFIGS/more.json", "gone.json"]
"""


@pytest.fixture
def lackpy(home: Path, project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONFIGS", str(home / "configs"))
    put(home / "configs/more.json", {"mcpServers": {"m": {"command": "more"}}})
    put(project.root / "loud.py", "def shout(text, end='!'):\n    return text.upper() + end\n")
    return put(project.root / ".lackpy/config.toml", LACKPY)


@pytest.mark.requirement("SRC-04", "MCP-02")
def test_the_file_is_found_upward_and_shown_with_what_it_holds_and_no_secret(
    lackpy: Path, project: Project, sutler: Sutler, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = project.root / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    before = {file: file.read_bytes() for file in (lackpy, project.file)}
    ended = sutler("import")
    assert ended.code == 0 and f"lackpy: {lackpy}" in ended.out
    for said in ("tool shout  loud.shout", "virtual tool ask", "--api-key=***", "env: HUB_PAT, PLAIN", "more.json"):
        assert said in ended.out
    assert SECRET not in ended.out + ended.err and "argsecret1" not in ended.out + ended.err
    assert before == {file: file.read_bytes() for file in before}
    document = sutler("import", str(lackpy.parent), "--json").json
    assert document == sutler("import", "lackpy", "--json").json
    first = document["files"][0]
    assert [(tool["name"], tool["table"]) for tool in first["tools"]] == [("shout", "tools"), ("ask", "virtual_tools")]
    assert [server["id"] for server in first["servers"]] == ["hub", "web"] and SECRET not in json.dumps(document)


@pytest.mark.requirement("SRC-04", "MCP-02")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_its_tables_are_put_into_the_config_and_the_rest_of_that_stays(
    newline: str, lackpy: Path, home: Path, project: Project, sutler: Sutler
) -> None:
    before = "# mine" + newline + CONFIG.replace("\n", newline) + "[host_tool_configs.x]  # theirs" + newline
    before += 'key = "${UNSET_HERE}"' + newline
    project.file.write_bytes(before.encode())
    TrustStore(home / "state").trust(project.file, before)
    assert sutler("import", str(lackpy), "--write").code == 5 and project.file.read_bytes() == before.encode()
    ended = sutler("import", str(lackpy), "--write", "--yes")
    assert ended.code == 0
    text = project.file.read_bytes().decode()
    assert text.startswith(before) and text.count("\n") == text.count(newline)
    for said in (text, ended.out, ended.err):
        assert SECRET not in said and "argsecret1" not in said
    env = {"HUB_PAT": SECRET, "HUB_ARG_1": "argsecret1", "WEB_AUTHORIZATION": SECRET, "UNSET_HERE": ""}
    assert all(f"variable {name}:" in ended.err for name in env if name != "UNSET_HERE")
    config = load_text(text, project.file, env=env)
    (shout,), (ask,) = config.tools, config.virtual_tools
    assert (shout.module, shout.function, shout.description) == ("loud", "shout", 'Makes a "text"\nloud.')
    assert (shout.grade, ask.name, ask.grade) == (Grade(0, 0), "ask", Grade(1, 1))
    assert shout.schema["properties"] == {"text": {"type": "string"}, "end": {"default": "!"}}
    assert shout.examples == ({"intent": "be loud", "code": "shout('a')", "tags": ["x"]},)
    hub, web = config.mcp_servers
    assert (hub.command, hub.args, hub.cwd) == (
        str(project.root / "bin/hub"),
        ("--api-key=argsecret1",),
        project.root,
    )
    assert hub.env == {"HUB_PAT": SECRET, "PLAIN": "${KEPT}"} and hub.tools["search"].grade == Grade(1, 0)
    assert web.headers == {"Authorization": f"Bearer {SECRET}"}
    assert config.host_configs == (home / "configs/more.json",)
    assert TrustStore(home / "state").trusted(project.file, text)  # it was named, and the config was trusted
    again = sutler("import", str(lackpy), "--write", "--yes")
    assert again.code == 0 and "nothing to add" in again.out and project.file.read_bytes().decode() == text


@pytest.mark.requirement("SRC-04")
def test_a_tool_that_was_taken_over_runs(lackpy: Path, home: Path, project: Project, sutler: Sutler) -> None:
    put(lackpy, LACKPY.partition("[mcp_servers")[0])
    assert sutler("import", str(lackpy), "--write", "--yes").code == 0
    ended = sutler("call", "shout", "text=a")
    assert ended.code == 0 and "A!" in ended.out


@pytest.mark.requirement("SRC-04")
def test_with_copy_the_servers_of_its_host_configs_are_written_too(
    lackpy: Path, project: Project, sutler: Sutler
) -> None:
    assert sutler("import", "lackpy", "--write", "--copy", "--yes").code == 0
    raw = tomllib.loads(project.file.read_text())
    assert list(raw["mcp_servers"]) == ["hub", "web", "m"] and "mcp" not in raw


@pytest.mark.requirement("SRC-04")
def test_what_is_there_already_is_reported_and_not_overwritten(lackpy: Path, project: Project, sutler: Sutler) -> None:
    own = '[[tools]]\nname = "shout"\nmodule = "m"\nfunction = "f"\n\n[virtual_tools.other]  # mine\n\n'
    own += '[mcp_servers.hub]\ncommand = "own"\n'
    project.config(own)
    ended = sutler("import", "lackpy", "--write", "--yes")
    assert ended.code == 0
    for what in ("the tool 'shout'", "the server 'hub'"):
        assert f"{what} is not added: sutler.toml has it already" in ended.err
    text = project.file.read_text()
    assert text.startswith(own)
    raw = tomllib.loads(text)
    assert [tool["module"] for tool in raw["tools"]] == ["m"] and raw["mcp_servers"]["hub"] == {"command": "own"}
    assert list(raw["virtual_tools"]) == ["other", "ask"]  # in the form that the file has


@pytest.mark.requirement("SRC-04", "TRU-01")
def test_a_file_that_was_only_found_is_not_trusted_unasked(
    lackpy: Path, home: Path, project: Project, sutler: Sutler, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = sutler("import", "--write", "--yes")
    assert ended.code == 0 and "not trusted" in ended.err
    assert not TrustStore(home / "state").trusted(project.file, project.file.read_text())
    project.file.unlink()
    deep = project.root / "deep"
    deep.mkdir()
    monkeypatch.chdir(deep)
    assert sutler("import", "lackpy", "--write", "--yes").code == 0
    assert project.file.exists() and not (deep / "sutler.toml").exists()  # beside .lackpy, where its modules are


LEFT = [
    ('[inference]\norder = ["a"]', "1: inference: no such table"),
    ("[sandbox]\nenabled = true", "1: sandbox: programs always run in a sandbox"),
    ("mode = 1", "1: mode: no such key"),
    ("tools = 5", "1: tools: must be an array of tables"),
    ("virtual_tools = [5]", "1: virtual_tools[0]: must be a table"),
    ("[mcp]\nservers = []", "2: mcp.servers: no such key"),
    ("[mcp]\nhost_configs = 'x.json'", "2: mcp.host_configs: must be an array"),
    ("[mcp]\nhost_configs = ['$NOT_SET_AT_ALL/x']", "names a variable"),
    ("[mcp_servers.x]\ncommand = 'c'\nretries = 5", "3: mcp_servers.x.retries: it has no effect there"),
    ("[mcp_servers.x]\ncommand = 'c'\ntools.t.grade = {w = 1}", "mcp_servers.x.tools.t.grade: a grade needs both"),
    ("[mcp_servers.'a/b']\ncommand = 'c'", "it is written as 'a:b'"),
    ("[virtual_tools.v]\nmodule = 'm'", "2: virtual_tools.v.module: a virtual tool has no code"),
    ("[virtual_tools.v]\nprovider = 'p'", "2: virtual_tools.v.provider: a virtual tool is supplied by the host"),
]
TOOL = "[[tools]]\nname = 't'\nmodule = 'm'\nfunction = 'f'\n"
LEFT += [
    (TOOL + "provider = 'python'", "5: tools[0].provider: not needed"),
    (TOOL + "provider = 'other'", "5: tools[0].provider: 'other' is none that is known"),
    (TOOL + "effect_kind = 'w'", "5: tools[0].effect_kind: write `grade`"),
    (TOOL + "grade = {w = 0, d = 0}", "5: tools[0].grade: it has no effect there"),
    (TOOL + "grade_w = 99\neffects_ceiling = 1", "5: tools[0].grade_w: must be an integer from 0 to 3, not 99"),
    (TOOL + "grade_w = 1", "effects_ceiling is not given"),
    (TOOL + "args = ['x']", "5: tools[0].args[0]: must be a table"),
    (TOOL + "args = [{name = 'x', type = 'Path'}]", "unknown type `Path`"),
    (TOOL + "args = [{name = 'x', required = true}]", "5: tools[0].args[0].required: no such key"),
    (TOOL + TOOL, "stands twice"),
    ("[[tools]]\nname = 't'", "1: tools[0]: `module` is missing; so this tool is not taken"),
]


@pytest.mark.requirement("SRC-04")
@pytest.mark.parametrize(("text", "said"), LEFT)
def test_whatever_cannot_be_taken_as_it_stands_is_named_with_its_line_both_times(
    text: str, said: str, lackpy: Path, project: Project, sutler: Sutler
) -> None:
    put(lackpy, text)
    shown = sutler("import", "lackpy").out
    assert said in shown and "not taken: " in shown
    ended = sutler("import", "lackpy", "--write", "--yes")
    assert said in ended.err and "not taken: " in ended.err and "Traceback" not in ended.err
    load_text(project.file.read_text(), project.file, trusted=False)


@pytest.mark.requirement("SRC-04")
def test_a_half_grade_counts_as_it_does_there_and_a_wrong_one_not_at_all(
    lackpy: Path, project: Project, sutler: Sutler
) -> None:
    put(lackpy, TOOL + "grade_w = 1\n" + TOOL.replace("'t'", "'u'") + "grade_w = 99\neffects_ceiling = 0\n")
    assert sutler("import", "lackpy", "--write", "--yes").code == 0
    half, wrong = load_text(project.file.read_text(), project.file).tools
    assert (half.grade, wrong.grade) == (Grade(1, 3), None)


@pytest.mark.requirement("SRC-04")
def test_a_file_that_is_no_toml_is_said_to_be_that(lackpy: Path, project: Project, sutler: Sutler) -> None:
    put(lackpy, "[[tools]]\nname = shout\n")
    ended = sutler("import", "lackpy")
    assert ended.code == 0 and "cannot be read" in ended.out and ":2: not valid TOML" in ended.out
    before = project.file.read_bytes()
    ended = sutler("import", "lackpy", "--write", "--yes")
    assert ended.code == 4 and "not valid TOML" in ended.err and project.file.read_bytes() == before


@pytest.mark.requirement("SRC-04")
def test_a_config_that_cannot_be_added_to_is_left_as_it_is(lackpy: Path, project: Project, sutler: Sutler) -> None:
    text = 'tools = [{ name = "x", module = "m", function = "f" }]\n'
    project.config(text)
    ended = sutler("import", "lackpy", "--write", "--yes")
    assert ended.code == 3 and "write it as [[tools]] first" in ended.err and project.file.read_text() == text


@pytest.mark.requirement("SRC-04", "MCP-02")
def test_a_server_that_is_not_copied_is_named_with_the_reason(lackpy: Path, project: Project, sutler: Sutler) -> None:
    own = (
        "[mcp_servers.own]\ncommand = 'sutler'\nargs = ['serve']\n[mcp_servers.none]\n[mcp_servers.ok]\ncommand = 'c'\n"
    )
    put(lackpy, own)
    ended = sutler("import", "lackpy", "--write", "--copy", "--yes")
    assert ended.code == 0 and list(tomllib.loads(project.file.read_text())["mcp_servers"]) == ["ok"]
    assert "the server 'own' is not added: it is Sutler itself" in ended.err
    assert "the server 'none' is not added: it has neither a command nor an address" in ended.err


@pytest.mark.requirement("SRC-04", "TRU-01")
def test_whoever_saw_the_change_at_a_terminal_and_said_yes_need_not_trust_it_again(
    lackpy: Path, home: Path, project: Project
) -> None:
    arguments = ["-m", "sutler.cli", "import", "lackpy", "--write"]
    env = {**project.env, "HOME": str(home)}
    code, seen = python_at_terminal(arguments, [("Write this to", "y\n")], cwd=project.root, env=env)
    assert code == 0 and '+name = "shout"' in seen and SECRET not in seen
    text = project.file.read_text()
    assert "shout" in text and TrustStore(home / "state").trusted(project.file, text)
