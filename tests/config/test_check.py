"""What a sutler.toml may hold, and what is said of everything else."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sutler.config import Config, load_text
from sutler.errors import ConfigError, Problem
from sutler.limits import LIMIT_NAMES, Limits
from sutler.spec import Grade

FILE = Path("/somewhere/sutler.toml")


def read(text: str, **more: object) -> Config:
    return load_text(text, FILE, env={"HOST": "example.org", "EMPTY": ""}, **more)  # type: ignore[arg-type]


def problems(text: str) -> list[Problem]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return list(caught.value.problems)


def only(text: str) -> Problem:
    found = problems(text)
    assert len(found) == 1, found
    return found[0]


WHOLE = """
default_tools = false
[workspace]
root = "work"
read = ["../other", "/abs"]
[[tools]]
name = "add"
description = "Adds."
args = [{name = "a", type = "int", description = "first"}, {name = "b", type = "int", default = 1}]
returns = "int"
grade = {w = 0, d = 0}
annotations = {title = "Add", read_only = true, destructive = false, idempotent = true, open_world = false}
examples = [{intent = "add", code = "add(1)"}]
docs = "docs/add.md"
timeout = 5
isolation = "process"
module = "pkg.calc"
function = "add"
[libraries]
folders = ["tools", "~/tools"]
[host_tool_configs.mail]
autonomy_level = "strict"
server = "smtp.${HOST}"
ports = [25, {name = "${PORT:-none}"}]
[virtual_tools.speak]
input_schema = {properties = {text = {type = "string"}}}
grade_w = 1
effects_ceiling = 2
[grades]
"mail::send" = {w = 3, d = 2}
[policy]
level = "strict"
allow_network = true
[limits]
wall_seconds = 1.5
calls = 3
[profiles.small]
description = "Two tools."
tools = {plus = "add"}
level = "calls"
policy = "safe"
limits = {calls = 1}
"""


@pytest.mark.requirement("SRC-14", "CFG-01", "VIR-01")
def test_a_file_with_every_table_becomes_values() -> None:
    config = read(WHOLE)
    assert config.default_tools is False
    assert config.workspace.root == Path("/somewhere/work")
    assert config.workspace.read == (Path("/somewhere/../other"), Path("/abs"))
    (add,) = config.tools
    assert (add.name, add.description, add.returns, add.docs) == ("add", "Adds.", "int", "docs/add.md")
    assert (add.module, add.function, add.isolation, add.timeout) == ("pkg.calc", "add", "process", 5.0)
    assert add.grade == Grade(0, 0)
    assert (add.annotations.title, add.annotations.read_only, add.annotations.destructive) == ("Add", True, False)
    assert (add.annotations.idempotent, add.annotations.open_world) == (True, False)
    assert add.examples == ({"intent": "add", "code": "add(1)"},)
    assert add.where == "/somewhere/sutler.toml:6"
    assert add.schema == {
        "type": "object",
        "properties": {"a": {"type": "integer", "description": "first"}, "b": {"type": "integer", "default": 1}},
        "required": ["a"],
    }
    assert config.libraries == (Path("/somewhere/tools"), Path("~/tools").expanduser())
    assert config.host_tool_configs == {
        "mail": {"autonomy_level": "strict", "server": "smtp.example.org", "ports": [25, {"name": "none"}]}
    }
    (speak,) = config.virtual_tools
    assert (speak.name, speak.grade, speak.module) == ("speak", Grade(1, 2), None)
    assert speak.schema == {"type": "object", "properties": {"text": {"type": "string"}}}
    assert config.grades == {"mail::send": Grade(3, 2)}
    assert (config.policy.level, config.policy.allow_network) == ("strict", True)
    assert (config.limits.wall_seconds, config.limits.calls, config.limits.depth) == (1.5, 3, 4)
    small = config.profiles["small"]
    assert (small.tools, small.level, small.policy, small.limits) == ({"plus": "add"}, "calls", "safe", {"calls": 1})
    assert config.where["policy.level"] == f"{FILE}:{WHOLE.split(chr(10)).index('[policy]') + 2}"


def test_an_empty_file_is_every_default() -> None:
    config = read("")
    assert (config.tools, config.policy, config.limits) == ((), Config.empty().policy, Limits())
    assert config.given == frozenset()


@pytest.mark.requirement("CFG-01")
def test_all_problems_of_a_file_are_reported_at_once_in_its_order() -> None:
    text = """[polcy]
level = "strict"
[workspace]
rot = "x"
[[tools]]
name = 3
module = "m"
[limits]
calls = "many"
"""
    found = problems(text)
    assert [(one.line, one.key) for one in found] == [
        (1, "polcy"),
        (4, "workspace.rot"),
        (5, "tools[0]"),
        (6, "tools[0].name"),
        (9, "limits.calls"),
    ]
    assert all(one.file == str(FILE) for one in found)
    assert "did you mean `policy`?" in found[0].hint
    assert "did you mean `root`?" in found[1].hint


@pytest.mark.requirement("CFG-01")
@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ("default_tool = true", "default_tool", "`default_tools`"),
        ("[tool]\nx = 1", "tool", "`tools`"),
        ("[[virtual_tool]]\nname = 'x'", "virtual_tool", "`virtual_tools`"),
        ("[mcp_server.x]\ncommand = 'y'", "mcp_server", "mcp_servers"),
        ("[mcp]\nhost_config = []", "mcp.host_config", "`host_configs`"),
        ("[models.x]\nurl = 'y'", "models.x.url", "base_url"),
        ("[model.x]\nbase_url = 'y'", "model", "`models`"),
        ("[kit]\ndefault = 'x'", "kit", "[limits]"),
        ("[workspace]\nwrite = []", "workspace.write", "root, read"),
        ("[libraries]\npaths = []", "libraries.paths", "folders"),
        ("[policy]\nlevels = 'safe'", "policy.levels", "`level`"),
        ("[policy]\nallow-network = true", "policy.allow-network", "`allow_network`"),
        ("[limits]\nmemory = 5", "limits.memory", "`memory_mb`"),
        ("[limits]\nwall = 5", "limits.wall", "`wall_seconds`"),
        ("[profiles.x]\nlanguage = 'calls'", "profiles.x.language", "tools, level"),
        ("[profiles.x.limits]\ncall = 1", "profiles.x.limits.call", "call"),
        ("[libraries]\nfolders = []\ndefault_tools = true", "libraries.default_tools", "above the first table"),
        ("[grades]\n'a::b' = {w = 1, d = 1, e = 1}", 'grades."a::b".e', "w, d"),
    ],
)
def test_an_unknown_key_is_named_with_the_closest_right_one(text: str, key: str, hint: str) -> None:
    found = only(text)
    assert found.key == key
    assert found.line is not None
    assert key.split(".")[-1] in text.split("\n")[found.line - 1]
    assert "unknown" in found.message
    assert hint in found.hint


_TOOL = '[[tools]]\nname = "t"\nmodule = "m"\nfunction = "f"\n'


@pytest.mark.requirement("SRC-14")
@pytest.mark.parametrize(
    ("line", "key", "says"),
    [
        ("provider = 'python'", "provider", "unknown key in [[tools]]"),
        ("desc = 'x'", "desc", "`description`"),
        ("description = 3", "description", "must be a string, not an integer"),
        ("args = 'a'", "args", "must be an array, not a string"),
        ("args = ['a']", "args[0]", '{name = "a"}'),
        ("args = [{type = 'int'}]", "args[0]", "`name` is missing"),
        ("args = [{name = 'a', typ = 'int'}]", "args[0].typ", "`type`"),
        ("args = [{name = 'a', type = 'strin'}]", "args[0].type", "the types are str, int, float"),
        ("args = [{name = 'a', type = 'list[strin]'}]", "args[0].type", "unknown type"),
        ("args = [{name = 'a', type = 'int', default = 'x'}]", "args[0].default", "type int"),
        ("args = [{name = 'a', type = 'int', default = true}]", "args[0].default", "type int"),
        ("args = [{name = 'a', type = 'list[int]', default = [1, 'x']}]", "args[0].default", "list[int]"),
        ("args = [{name = 'a', default = 1979-05-27}]", "args[0].default", "not a date or time"),
        ("args = [{name = 'a'}, {name = 'a'}]", "args[1].name", "already declared on line 5"),
        ("args = []\ninput_schema = {}", "input_schema", "exclude each other"),
        ("input_schema = {type = 'array'}", "input_schema.type", 'must be "object"'),
        ("input_schema = {properties = []}", "input_schema.properties", "must be a table"),
        ("input_schema = {properties = {x = {maximum = inf}}}", "input_schema.properties.x.maximum", "JSON"),
        ("grade = {w = 1}", "grade", "d is missing"),
        ("grade = {w = 1, d = 4}", "grade.d", "from 0 to 3, not 4"),
        ("grade = {w = true, d = 0}", "grade.w", "not a boolean"),
        ("grade = 3", "grade", "must be a table"),
        ("grade_w = 1", "grade_w", "needs effects_ceiling"),
        ("effects_ceiling = 1", "effects_ceiling", "needs grade_w"),
        ("grade_w = 99\neffects_ceiling = 1", "grade_w", "from 0 to 3, not 99"),
        ("grade_w = 'high'\neffects_ceiling = 1", "grade_w", "not a string"),
        ("grade = {w = 1, d = 1}\ngrade_w = 1\neffects_ceiling = 1", "grade_w", "given twice"),
        ("annotations = {readOnlyHint = true}", "annotations.readOnlyHint", "`read_only`"),
        ("annotations = {read_only = 'yes'}", "annotations.read_only", "true or false"),
        ("examples = 'x'", "examples", "must be an array"),
        ("timeout = 0", "timeout", "more than 0"),
        ("timeout = inf", "timeout", "at most a year"),
        ("timeout = nan", "timeout", "at most a year"),
        ("timeout = true", "timeout", "number of seconds"),
        ("isolation = 'fork'", "isolation", "'thread', 'process'"),
        ("returns = ''", "returns", "must not be empty"),
    ],
)
def test_a_wrong_key_or_value_of_a_tool_is_an_error_with_its_line(line: str, key: str, says: str) -> None:
    found = only(_TOOL + line)
    assert found.key == f"tools[0].{key}"
    assert found.line in (5, 6, 7)
    assert says in str(found)


@pytest.mark.requirement("SRC-14")
@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("[tools]\nname = 'x'", "tools", "[[tools]]"),
        ("tools = ['x']", "tools[0]", "must be a table"),
        ("[[tools]]\nmodule = 'm'\nfunction = 'f'", "tools[0]", "`name` is missing"),
        ("[[tools]]\nname = 'x'\nfunction = 'f'", "tools[0]", "`module` is missing"),
        ("[[tools]]\nname = ' x'\nmodule = 'm'\nfunction = 'f'", "tools[0].name", "blanks"),
        ("[[tools]]\nname = 'x'\nmodule = 'a/b.py'\nfunction = 'f'", "tools[0].module", "not its file"),
        ("[[tools]]\nname = 'x'\nmodule = 'm'\nfunction = 'f()'", "tools[0].function", "name of a function"),
        (_TOOL + _TOOL, "tools[1].name", "already declared on line 2"),
    ],
)
def test_a_tool_without_what_it_needs_is_an_error(text: str, key: str, says: str) -> None:
    found = only(text)
    assert found.key == key
    assert says in str(found)


@pytest.mark.requirement("VIR-01", "SRC-14")
def test_both_forms_of_virtual_tools_give_the_same_values() -> None:
    body = 'description = "d"\nargs = [{name = "x", type = "str"}]\ngrade = {w = 1, d = 1}\n'
    (table,) = read(f"[virtual_tools.say]\n{body}").virtual_tools
    (array,) = read(f'[[virtual_tools]]\nname = "say"\n{body}').virtual_tools
    assert table == array
    assert table.schema["properties"] == {"x": {"type": "string"}}
    assert read("[virtual_tools.a]\n[virtual_tools.'b c']\nname = 'b c'").virtual_tools[1].name == "b c"


@pytest.mark.requirement("VIR-01")
@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("[[virtual_tools]]\nname = 'x'\nmodule = 'm'", "virtual_tools[0].module", "no code of its own"),
        ("[virtual_tools.x]\nfunction = 'f'", "virtual_tools.x.function", "no code of its own"),
        ("[virtual_tools.x]\nname = 'y'", "virtual_tools.x.name", "differs"),
        ("[virtual_tools]\nname = 'y'", "virtual_tools.name", "[virtual_tools.<name>]"),
        ("[virtual_tools.x]\nisolation = 'process'", "virtual_tools.x.isolation", "where its harness is"),
        ("[virtual_tools.x]\ndescr = 'y'", "virtual_tools.x.descr", "`description`"),
        ("[[virtual_tools]]\ndescription = 'y'", "virtual_tools[0]", "`name` is missing"),
        ("virtual_tools = 1", "virtual_tools", "must be an array"),
    ],
)
def test_a_virtual_tool_is_checked_like_a_tool(text: str, key: str, says: str) -> None:
    found = only(text)
    assert found.key == key
    assert says in str(found)


@pytest.mark.requirement("CFG-01")
@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("default_tools = 1", "default_tools", "true or false"),
        ("[workspace]\nroot = 3", "workspace.root", "must be a string"),
        ("[workspace]\nroot = ''", "workspace.root", "must not be empty"),
        ("[workspace]\nroot = '${HOME}/x'", "workspace.root", "variables are not put in here"),
        ("[workspace]\nroot = '~nobody-of-this-name/x'", "workspace.root", "no such user"),
        ("[workspace]\nread = 'x'", "workspace.read", "must be an array"),
        ("workspace = 1", "workspace", "must be a table, not an integer"),
        ("[libraries]\nfolders = [1]", "libraries.folders[0]", "must be a string"),
        ("[policy]\nlevel = 'full'", "policy.level", "'full_access'"),
        ("[policy]\nlevel = true", "policy.level", "not a boolean"),
        ("[policy]\nallow_network = 'yes'", "policy.allow_network", "true or false"),
        ("[limits]\ncalls = true", "limits.calls", "must be a number"),
        ("[limits]\ncalls = 0", "limits.calls", "more than 0"),
        ("[limits]\nwall_seconds = -1", "limits.wall_seconds", "more than 0"),
        ("[limits]\nwall_seconds = inf", "limits.wall_seconds", "no limit can be switched off"),
        ("[limits]\nwall_seconds = nan", "limits.wall_seconds", "finite"),
        ("[limits]\nwall_seconds = 1e300", "limits.wall_seconds", "at most"),
        ("[limits]\nmemory_mb = 1.5", "limits.memory_mb", "whole number"),
        ("[limits]\ndepth = 5", "limits.depth", "at most 4"),
        ("[grades]\nplain = {w = 1, d = 1}", "grades.plain", '"source::plain"'),
        ("[grades]\n'a::b' = {w = 1}", 'grades."a::b"', "d is missing"),
        ("[grades]\n'a::b' = 1", 'grades."a::b"', "must be a table"),
        ("profiles = 1", "profiles", "must be a table"),
        ("[profiles]\nx = 1", "profiles.x", "[profiles.<name>]"),
        ("[profiles.x]\ntools = 3", "profiles.x.tools", '"none"'),
        ("[profiles.x]\ntools = ['a', 'a']", "profiles.x.tools[1]", "twice"),
        ("[profiles.x]\ntools = [1]", "profiles.x.tools[0]", "must be a string"),
        ("[profiles.x]\ntools = {for = 'a'}", "profiles.x.tools.for", "cannot be called"),
        ("[profiles.x]\ntools = {a-b = 'a'}", "profiles.x.tools.a-b", "cannot be called"),
        ("[profiles.x]\nlevel = 'python'", "profiles.x.level", "'program'"),
        ("[profiles.x]\npolicy = 'none'", "profiles.x.policy", "'strict'"),
        ("[profiles.x.limits]\ncalls = inf", "profiles.x.limits.calls", "finite"),
        ("[host_tool_configs]\nx = 1", "host_tool_configs.x", "[host_tool_configs.<library>]"),
        ("[host_tool_configs.x]\nautonomy_level = 'ful'", "host_tool_configs.x.autonomy_level", "'full_access'"),
        ("[host_tool_configs.x]\nautonomy_level = '${HOST}'", "host_tool_configs.x.autonomy_level", "'example.org'"),
        ("[host_tool_configs.x]\na = '${NOT_SET}'", "host_tool_configs.x.a", "NOT_SET is not set"),
        ("[host_tool_configs.x.y]\na = ['b', '${NOT_SET}']", "host_tool_configs.x.y.a[1]", "NOT_SET is not set"),
        ("[host_tool_configs.x]\na = '${NOT_CLOSED'", "host_tool_configs.x.a", "never closed"),
        ("[host_tool_configs.x]\na = '${a b}'", "host_tool_configs.x.a", "not a variable"),
        ("[host_tool_configs.x]\na = '${A:-${B}}'", "host_tool_configs.x.a", "another variable"),
    ],
)
def test_a_value_of_the_wrong_type_or_range_is_an_error(text: str, key: str, says: str) -> None:
    found = only(text)
    assert found.key == key
    assert found.line == text.count("\n") + 1
    assert says in str(found)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${HOST}", "example.org"),
        ("a${HOST}b${HOST}", "aexample.orgbexample.org"),
        ("${EMPTY}", ""),
        ("${EMPTY:-x}", "x"),
        ("${NOT_SET:-}", ""),
        ("${NOT_SET:-a:-b}", "a:-b"),
        ("$${HOST}", "${HOST}"),
        ("$HOST $5 {x}", "$HOST $5 {x}"),
    ],
)
def test_variables_are_put_into_strings_of_host_tool_configs(text: str, value: str) -> None:
    assert read(f"[host_tool_configs.x]\nkey = '{text}'").host_tool_configs["x"]["key"] == value


@pytest.mark.requirement("LIB-05")
@pytest.mark.parametrize(
    ("value", "read_as"), [("true", True), ("false", False), ("'yes'", "yes"), ("1", 1), ("[1]", [1])]
)
def test_a_librarys_own_settings_such_as_its_load_flag_reach_it_as_written(value: str, read_as: object) -> None:
    config = read(f"[host_tool_configs.mail]\nENABLE_MAIL = {value}")
    assert config.host_tool_configs == {"mail": {"ENABLE_MAIL": read_as}}


def test_profile_tools_come_as_aliases_whatever_their_form() -> None:
    config = read(
        "[profiles.one]\ntools = 'a'\n[profiles.list]\ntools = ['a', 'b']\n[profiles.none]\n"
        "tools = 'none'\n[profiles.all]\n"
    )
    assert [config.profiles[name].tools for name in ("one", "list", "none", "all")] == [
        {"a": "a"},
        {"a": "a", "b": "b"},
        {},
        None,
    ]


@pytest.mark.requirement("PRG-10")
def test_secrets_of_a_config_are_known_for_masking_and_never_shown() -> None:
    config = load_text(
        "[host_tool_configs.mail]\npassword = 'hunter22'\nurl = 'https://u:${MAIL_TOKEN}@h'\nhost = 'h'",
        FILE,
        env={"MAIL_TOKEN": "tok-12345"},
    )
    assert config.secrets == {"hunter22", "tok-12345"}
    assert "hunter22" not in repr(config)
    assert "tok-12345" not in repr(config)


@pytest.mark.requirement("CFG-01")
@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a = 1\nb = hello", 2, "text stands in quotes"),
        ("a = 1\n[x", 2, "column 3"),
        ("a = 1\na = 2", 2, "overwrite"),
        ("a = [1,\n\n", 3, "not valid TOML"),
        ("a = 1979-13-45", 1, ""),
        ("a = " + "9" * 5000, None, "cannot be read"),
        ("a = " + "[" * 20_000, None, "nested too deeply"),
    ],
)
def test_broken_toml_names_file_line_column_and_what_is_wrong(text: str, line: int | None, says: str) -> None:
    found = only(text)
    assert found.file == str(FILE)
    assert found.line == line
    assert says in str(found)


def test_a_secret_on_a_broken_line_is_not_repeated_in_the_error() -> None:
    assert "hunter22" not in str(only("[host_tool_configs.x]\npassword = hunter22"))
    assert "hunter22" not in str(only("[host_tool_configs.x]\npassword = 'hunter22${'"))


@pytest.mark.parametrize("name", LIMIT_NAMES)
def test_no_limit_can_be_made_infinite(name: str) -> None:
    for value in (math.inf, -math.inf, math.nan, 0, -1, None, "5", True, 10**400):
        with pytest.raises(ConfigError) as caught:
            Limits().override({name: value})
        assert caught.value.problems[0].key == name


def test_limits_are_overridden_by_name_and_unknown_names_are_reported_together() -> None:
    assert Limits().override({"calls": 5, "wall_seconds": 0.5}) == Limits(calls=5, wall_seconds=0.5)
    with pytest.raises(ConfigError) as caught:
        Limits().override({"wall": 5, "timeout": 3, "calls": 1})
    assert [one.key for one in caught.value.problems] == ["wall", "timeout"]
    assert "`wall_seconds`" in caught.value.problems[0].hint
    assert "output_bytes" in caught.value.problems[1].hint


def test_tightened_limits_are_never_higher() -> None:
    assert Limits(calls=10).tighten({"calls": 5, "wall_seconds": 1_000}) == Limits(calls=5)


def test_the_store_keeps_what_the_file_says() -> None:
    held = load_text("[store]\nkeep_days = 7\naudit_days = 0.5", Path("sutler.toml")).store
    assert (held.keep_days, held.keep_runs, held.audit_days) == (7.0, 10_000, 0.5)
    for wrong in ("keep_days = 0", "keep_days = true", "keep_runs = 1.5", "keep_runs = 0", "audit_days = 1e9"):
        with pytest.raises(ConfigError, match=wrong.partition(" ")[0]):
            load_text(f"[store]\n{wrong}", Path("sutler.toml"))
