"""The tools of a server as a source: over a real manager and real server processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import ToolError, ToolUnavailable
from sutler.mcp.manager import ServerManager
from sutler.mcp.source import McpToolSource
from sutler.results import interpret
from sutler.schema.bind import Binder
from sutler.servers import ServerSpec, ToolOverride
from sutler.sources.base import ToolSource
from sutler.spec import Grade, ToolSpec
from sutler.toolbox import Toolbox

HERE = Path(__file__).parent
PAYLOADS = HERE.parent / "cases" / "payloads"
OBJECT = {"type": "object", "properties": {}}
Open = Callable[..., tuple[ServerManager, McpToolSource]]


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": OBJECT, **more}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """A server that lists these tools, connected, with the source over it."""
    managers: list[ServerManager] = []

    def start(offered: list[Any], answers: dict[str, Any] | None = None, **more: Any) -> tuple[ServerManager, Any]:
        listed, said = tmp_path / "tools.json", tmp_path / "answers.json"
        listed.write_text(json.dumps(offered), encoding="utf-8")
        said.write_text(json.dumps(answers or {}), encoding="utf-8")
        spec = ServerSpec(
            **{
                "id": "tiny",
                "command": sys.executable,
                "args": (str(HERE / "tiny_server.py"), str(listed), str(said)),
                "era": "legacy",
                "cwd": tmp_path,
                "where": "sutler.toml:3",
                **more,
            }
        )
        manager = ServerManager([spec])
        managers.append(manager)
        manager.start()
        assert manager.wait(20), manager.states()
        return manager, McpToolSource(manager, spec)

    yield start
    for manager in managers:
        assert manager.close() == ()


def call(manager: ServerManager, source: McpToolSource, spec: ToolSpec, **arguments: Any) -> Any:
    async def run() -> Any:
        return await source.resolve(spec)(**arguments)

    return manager.portal.submit(run()).result(10).value


def of(source: McpToolSource, name: str) -> ToolSpec:
    return next(spec for spec in source.discover() if spec.name == name)


@pytest.mark.requirement("MCP-06", "MCP-16", "SRC-02")
def test_a_servers_tool_becomes_a_whole_spec_and_is_called(opened: Open, tmp_path: Path) -> None:
    listed = tool(
        "get",
        title="Get it",
        description="Gets a thing.\n\nAt length.",
        inputSchema={
            "type": "object",
            "properties": {
                "id": {"type": "integer", "description": "Which"},
                "from": {"$ref": "#/$defs/F"},
                "either": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            },
            "required": ["id"],
            "$defs": {"F": {"type": "object"}},
        },
        outputSchema={"type": "object"},
        annotations={"readOnlyHint": True, "openWorldHint": False, "title": "Get"},
    )
    manager, source = opened([listed])
    assert isinstance(source, ToolSource) and source.available() and source.portal
    (spec,) = source.discover()
    assert (spec.qualified, spec.description, spec.docs) == ("tiny::get", listed["description"], listed["description"])
    assert spec.input_schema == listed["inputSchema"] and spec.output_schema == {"type": "object"}
    assert [(arg.name, arg.type, arg.required) for arg in spec.args] == [
        ("id", "int", True),
        ("from", "Any", False),
        ("either", "Any", False),
    ]
    assert (spec.grade, spec.grade_from) == (Grade(1, 0), "hints")
    assert (spec.annotations.title, spec.annotations.read_only, spec.annotations.destructive) == ("Get", True, None)
    assert (spec.origin.kind, spec.origin.trust, spec.origin.precedence, spec.origin.where) == (
        "mcp",
        "mcp",
        5.0,
        "sutler.toml:3",
    )
    assert spec.meta["provenance"] == "own"
    assert json.loads(call(manager, source, spec, id=1, **{"from": {}})) == {
        "tool": "get",
        "arguments": {"id": 1, "from": {}},
        "cwd": str(tmp_path),
    }


@pytest.mark.requirement("MCP-06", "SRC-10")
def test_what_cannot_be_offered_is_quarantined_with_its_reason_and_the_rest_stays(opened: Open) -> None:
    bad = [
        {"name": "no_schema", "description": "x"},
        {"name": "arguments", "arguments": [{"name": "a", "type": "string"}]},
        {"name": "true", "inputSchema": True},
        {"name": "required", "inputSchema": {"type": "object", "required": True}},
        {"name": "properties", "inputSchema": {"type": "object", "properties": []}},
        {"name": "nowhere", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}},
        {"name": "\u202egnp"},
        {"name": ""},
        {"name": 5, "inputSchema": OBJECT},
        {"inputSchema": OBJECT},
        "not a tool",
    ]
    manager, source = opened([tool("first"), *bad, tool("last"), tool("last", description="Another.")])
    box = Toolbox()
    box.add_source(source)
    inventory = box.inventory()
    assert set(inventory.tools) == {"first", "last"}
    reasons = {str(item.tool): item.reason for item in inventory.quarantined}
    assert "no inputSchema" in reasons["no_schema"] and "`arguments`" in reasons["arguments"]
    assert "true" in reasons["true"] and "required" in reasons["required"]
    assert "properties" in reasons["properties"] and "nowhere" in reasons["nowhere"]
    assert len(inventory.quarantined) == len(bad)
    assert [item.tool for item in inventory.duplicates] == ["last"]
    assert json.loads(call(manager, source, of(source, "first")))["tool"] == "first"


@pytest.mark.requirement("MCP-01")
def test_overrides_of_the_user_win_and_what_they_leave_out_is_told(opened: Open) -> None:
    hints = {"readOnlyHint": True, "openWorldHint": True}
    manager, source = opened(
        [tool(name, description=f"The {name}.", annotations=hints) for name in ("a", "b", "c", "d", "e")],
        allow=("a", "b", "c"),
        deny=("b", "delte"),
        timeout=7.0,
        tools={
            "a": ToolOverride(alias="alpha", grade=Grade(0, 0), description="Mine.", timeout=3.0),
            "c": ToolOverride(enabled=False),
            "d": ToolOverride(enabled=True),
        },
    )
    alpha, d = source.discover()
    assert (alpha.name, alpha.description, alpha.docs, alpha.timeout) == ("alpha", "Mine.", "The a.", 3.0)
    assert (alpha.grade, alpha.grade_from) == (Grade(0, 0), "override")
    assert (d.name, d.timeout, d.grade) == ("d", 7.0, Grade(2, 1))
    left_out = dict(source.missing)
    assert "deny" in left_out["b"] and "disabled" in left_out["c"] and "allow" in left_out["e"]
    assert any("'delte'" in note for note in source.notes)
    assert json.loads(call(manager, source, alpha))["tool"] == "a"
    box = Toolbox()
    box.add_source(source)
    with pytest.raises(Exception, match="deny"):
        box.inventory().find("b")


@pytest.mark.requirement("MCP-01")
def test_an_alias_does_not_take_the_name_of_another_tool(opened: Open) -> None:
    manager, source = opened([tool("a"), tool("b")], tools={"a": ToolOverride(alias="b")})
    assert sorted(spec.name for spec in source.discover()) == ["a", "b"]
    assert any("alias" in note for note in of(source, "a").notes)
    assert json.loads(call(manager, source, of(source, "b")))["tool"] == "b"


@pytest.mark.requirement("MCP-07", "GRD-01")
def test_assume_fills_hints_and_the_reason_is_kept(opened: Open) -> None:
    listed = [tool("read", annotations={"readOnlyHint": True}), tool("odd", annotations={"readOnlyHint": "yes"})]
    _, source = opened(listed, assume={"open_world": False})
    read, odd = source.discover()
    assert (read.grade, read.grade_from) == (Grade(1, 0), "hints")
    assert "assumed" in read.meta["grade_why"]
    assert odd.grade == Grade(3, 3) and odd.annotations.read_only is None
    assert any("readOnlyHint" in note for note in odd.notes)


@pytest.mark.requirement("MCP-08")
def test_answers_become_values_and_failures_are_raised(opened: Open) -> None:
    answers = {
        "wrapped": {"content": [{"type": "text", "text": "5"}], "structuredContent": {"result": 5}},
        "fails": {
            "isError": True,
            "content": [{"type": "text", "text": "auth failed"}],
            "structuredContent": {"code": 1},
        },
        "off": {"content": [{"type": "text", "text": "text"}], "structuredContent": {"result": "x"}},
    }
    output = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    manager, source = opened([tool(name, outputSchema=output) for name in answers], answers)
    assert call(manager, source, of(source, "wrapped")) == 5
    with pytest.raises(ToolError, match="auth failed") as caught:
        call(manager, source, of(source, "fails"))
    assert caught.value.output == {"code": 1}
    spec = of(source, "off")
    result, value = interpret(manager.portal.submit(source.resolve(spec)()).result(10), spec)
    assert value == "x" and result.content[0]["text"] == "text" and "breaks what the tool declares" in result.notes[0]


@pytest.mark.requirement("MCP-12")
def test_tools_are_reached_as_server_and_tool_whatever_their_names(opened: Open) -> None:
    names = ["assets/list", "calendar.create", "calendar_create", "fetch-url", "2fa-check", "print", "a::b"]
    manager, source = opened([tool(name) for name in names])
    box = Toolbox()
    box.add_source(source)
    inventory = box.inventory()
    for name in names:
        row = inventory.find(f"tiny::{name}")
        assert row.spec.name == name
        assert json.loads(call(manager, source, row.spec))["tool"] == name
        assert inventory.find(row.program_name) is row and row.program_name.isidentifier()
        assert inventory.find(f"mcp__tiny__{name}") is row
    assert len(inventory.program) == len(names)


@pytest.mark.requirement("MCP-15")
def test_a_source_that_cannot_be_had_says_why_and_keeps_quiet(tmp_path: Path) -> None:
    spec = ServerSpec(id="x", command="y", where="f.toml:1")
    for more, said in (
        ({}, "sutler[mcp]"),
        ({"enabled": False}, "disabled in f.toml:1"),
        ({"unavailable": "the environment variable T is not set"}, "variable T"),
    ):
        source = McpToolSource(None, ServerSpec(**{"id": "x", "command": "y", "where": "f.toml:1", **more}))
        assert not source.available() and said in source.reason and source.discover() == []
    box = Toolbox()
    box.add_source(McpToolSource(None, spec))
    assert box.inventory().unavailable[0][0] == "x"
    missing = ServerSpec(id="gone", command=str(tmp_path / "no-such-program"), era="legacy", cwd=tmp_path)
    manager = ServerManager([missing])
    try:
        manager.start()
        manager.wait(5)
        source = McpToolSource(manager, missing)
        assert not source.available() and "no-such-program" in source.reason
        spec = ToolSpec(name="t", origin=source_origin(source))
        with pytest.raises(ToolUnavailable):
            manager.portal.submit(source.resolve(spec)()).result(20)
    finally:
        assert manager.close() == ()


def source_origin(source: McpToolSource) -> Any:
    from sutler.spec import Origin

    return Origin(source=source.name, kind="mcp", trust="mcp")


@pytest.mark.requirement("MCP-15")
def test_neither_the_runtime_nor_a_source_without_a_manager_imports_the_mcp_package() -> None:
    program = (
        "import sys, sutler, sutler.config, sutler.servers, sutler.mcp.source, sutler.mcp.host_configs\n"
        "from sutler.mcp.source import McpToolSource\n"
        "McpToolSource(None, sutler.servers.ServerSpec(id='x', command='y')).discover()\n"
        "print([m for m in ('mcp', 'mcp_types', 'httpx2', 'anyio') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.requirement("MCP-06", "POL-04")
def test_the_digest_is_bound_to_the_server_and_not_to_a_token(opened: Open) -> None:
    def digest(**more: Any) -> str:
        spec = ServerSpec(**{"id": "s", "command": "run", "args": ("--token", "abcd1234"), **more})
        return McpToolSource(None, spec)._fingerprint  # pyright: ignore[reportPrivateUsage]

    assert digest(secrets=frozenset({"abcd1234"})) == digest(
        args=("--token", "wxyz9876"), secrets=frozenset({"wxyz9876"})
    )
    assert digest() != digest(command="other") and digest() != digest(args=())
    _, source = opened([tool("a")])
    (spec,) = source.discover()
    assert spec.meta["server"].startswith("stdio ") and spec.digest


PAYLOAD_FILES = {
    "bloompath-utf16.tools.json": 34,
    "docker-registry-okta.arguments.json": 108,
    "github-mcp-server.tools.json": 117,
    "npm-server-everything.tools.json": 13,
    "npm-server-filesystem.tools.json": 14,
    "npm-server-memory.tools.json": 9,
    "pypi-server-git.tools.json": 12,
    "pypi-server-time.tools.json": 2,
}


def payload(name: str) -> list[Any]:
    data = (PAYLOADS / name).read_bytes()
    held = json.loads(data.decode("utf-16" if data[:2] == b"\xff\xfe" else "utf-8"))
    return held if isinstance(held, list) else held.get("tools") or held["result"]["tools"]


@pytest.mark.requirement("MCP-06", "MCP-16")
@pytest.mark.parametrize(("name", "number"), PAYLOAD_FILES.items())
def test_every_tool_of_a_real_listing_is_offered_and_callable(opened: Open, name: str, number: int) -> None:
    listed = payload(name)
    manager, source = opened(listed)
    box = Toolbox()
    box.add_source(source)
    inventory = box.inventory()
    assert len(inventory.rows) == len(listed) == number
    assert inventory.quarantined == () and len(inventory.program) == number
    for row, definition in zip(inventory.rows, listed, strict=True):
        assert row.spec.name == definition["name"]
        assert row.spec.input_schema == definition["inputSchema"]
        assert [arg.name for arg in row.spec.args] == list(definition["inputSchema"].get("properties", {}))
        if not row.spec.input_schema.get("required"):
            Binder(row.spec).bind({})
    said = [call(manager, source, row.spec) for row in inventory.rows[:3]]
    assert [json.loads(one)["tool"] for one in said] == [one["name"] for one in listed[:3]]


@pytest.mark.requirement("MCP-07")
def test_the_grades_of_real_servers_are_those_of_the_table(opened: Open) -> None:
    _, source = opened(payload("npm-server-filesystem.tools.json"))
    grades = {spec.name: (spec.grade, spec.grade_from) for spec in source.discover()}
    assert grades["read_text_file"] == (Grade(1, 0), "hints")
    assert grades["write_file"] == (Grade(3, 3), "hints")
    assert grades["create_directory"] == (Grade(3, 2), "hints")


@pytest.mark.requirement("MCP-07")
def test_real_reads_without_the_open_world_hint_are_graded_once_that_is_assumed(opened: Open) -> None:
    listed = payload("github-mcp-server.tools.json")
    _, source = opened(listed)
    assert all(spec.grade == Grade(3, 3) for spec in source.discover())
    _, source = opened(listed, assume={"open_world": True})
    assert sum(spec.grade == Grade(2, 1) for spec in source.discover()) == 58


def test_a_running_loop_may_call_too(opened: Open) -> None:
    manager, source = opened([tool("a")])
    (spec,) = source.discover()

    async def here() -> Any:
        future = manager.portal.submit(source.resolve(spec)(x=1))
        return (await asyncio.wrap_future(future)).value

    assert json.loads(asyncio.run(here()))["arguments"] == {"x": 1}
