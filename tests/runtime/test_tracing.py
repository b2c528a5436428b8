"""OpenTelemetry spans, with the real SDK and its exporter in memory (POL-07)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sutler import Runtime, SyncRuntime, tool

pytestmark = pytest.mark.requirement("POL-07")

SERVER = """
import json, os, sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, params = message["method"], message.get("params", {})
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        reply["result"] = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                           "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        hints = {"readOnlyHint": True, "openWorldHint": False}
        reply["result"] = {"tools": [{"name": name, "inputSchema": {"type": "object"}, "annotations": hints}
                                     for name in ("say", "leak", "fail")]}
    elif method == "tools/call" and params["name"] == "say":
        reply["result"] = {"content": [{"type": "text", "text": json.dumps(params.get("_meta", {}))}]}
    elif method == "tools/call" and params["name"] == "fail":
        text = "refused: " + os.environ["API_TOKEN"] + " at " + sys.argv[2]
        reply["result"] = {"content": [{"type": "text", "text": text}], "isError": True}
    elif method == "tools/call":
        sys.stderr.write("key " + os.environ["API_TOKEN"] + chr(10))
        sys.stderr.flush()
        reply["error"] = {"code": -32000, "message": "bad key " + os.environ["API_TOKEN"] + " " + sys.argv[2]}
    else:
        reply["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(reply), flush=True)
"""
TOKEN, ARGUMENT = "tok-4711-abcdefgh", "sk-0123456789abcdef0123"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The spans that have ended, with an SDK set up for this test alone."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def named(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [span for span in spans.get_finished_spans() if span.name == name]
    return found


def parent(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent is not None else None


def id_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@tool(read_only=True, open_world=False)
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@tool(destructive=True)
def wipe(name: str, password: str = "") -> str:
    """Removes."""
    raise ValueError(f"{name} is not there; {password}")


@tool(read_only=True)
async def later(n: int) -> int:
    """After a moment."""
    await asyncio.sleep(0)
    return n


def outer(tool_context: Any = None) -> Any:
    """Calls another tool."""
    with trace.get_tracer("the tool's own").start_as_current_span("own work"):
        return tool_context.call_tool("add", {"a": 1, "b": 2})["output"]


def test_a_call_is_a_span_under_what_is_current_with_the_names_of_the_conventions(spans: InMemorySpanExporter) -> None:
    with SyncRuntime(tools=[add, wipe], config=False) as rt:
        with trace.get_tracer("host").start_as_current_span("turn") as turn:
            rt.call("functions::add", {"a": 1, "b": 2})
        rt.call("wipe", {"name": "x", "password": "tulips-7"})
        rt.call("nothing")
    good, bad = named(spans, "execute_tool add"), named(spans, "execute_tool wipe")
    assert parent(good) == turn.get_span_context().span_id
    said = attributes(good)
    assert len(said.pop("gen_ai.tool.call.id")) > 5
    assert said == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.type": "function",
        "sutler.source": "functions",
        "sutler.source.kind": "function",
        "sutler.decision": "allow",
        "sutler.decision.by": "level safe",
    }
    assert (attributes(bad)["error.type"], bad.status.status_code.name) == ("tool_error", "ERROR")
    assert "x is not there" in str(bad.status.description)
    assert attributes(named(spans, "execute_tool nothing"))["error.type"] == "not_found"
    assert "tulips" not in bad.to_json()


def test_a_program_is_a_span_over_those_of_its_calls_also_of_those_at_once(spans: InMemorySpanExporter) -> None:
    with SyncRuntime(tools=[add, later], config=False) as rt:
        run = rt.run("add(1, 2)\nlater(1)\n[add(n, n) for n in range(3)]")
        assert run.status == "completed", run.error
    program = named(spans, "sutler.run")
    assert attributes(program) == {"sutler.run.id": run.run_id, "sutler.run.status": "completed"}
    calls = [span for span in spans.get_finished_spans() if span.name.startswith("execute_tool")]
    assert len(calls) == 5
    assert {parent(span) for span in calls} == {id_of(program)}
    assert {attributes(span)["sutler.run.id"] for span in calls} == {run.run_id}


def test_a_program_that_fails_says_so(spans: InMemorySpanExporter) -> None:
    with SyncRuntime(config=False) as rt:
        rt.run("1 / 0")
    assert attributes(named(spans, "sutler.run"))["error.type"] == "ZeroDivisionError"


def test_what_a_tool_does_and_calls_stands_under_its_span(spans: InMemorySpanExporter) -> None:
    with SyncRuntime(tools=[add, outer], config=False) as rt:
        assert rt.call("outer").output == 3
        assert rt.run("outer()").output == 3
    own = [span for span in spans.get_finished_spans() if span.name == "own work"]
    inner = [span for span in spans.get_finished_spans() if span.name == "execute_tool add"]
    outers = [span for span in spans.get_finished_spans() if span.name == "execute_tool outer"]
    assert [parent(span) for span in inner] == [id_of(span) for span in own]
    assert [parent(span) for span in own] == [id_of(span) for span in outers]
    assert [parent(span) for span in outers] == [None, id_of(named(spans, "sutler.run"))]


def test_in_coroutines_each_call_stands_under_its_own_task(spans: InMemorySpanExporter) -> None:
    async def turn(rt: Runtime, n: int) -> int:
        with trace.get_tracer("host").start_as_current_span(f"turn {n}"):
            await asyncio.gather(rt.call("later", {"n": n}), rt.call("add", {"a": n, "b": n}))
            return trace.get_current_span().get_span_context().span_id

    async def go() -> list[int]:
        async with Runtime(tools=[add, later], config=False) as rt:
            return await asyncio.gather(*(turn(rt, n) for n in range(4)))

    turns = asyncio.run(go())
    calls = [span for span in spans.get_finished_spans() if span.name.startswith("execute_tool")]
    assert len(calls) == 8
    assert sorted(parent(span) or 0 for span in calls) == sorted([*turns, *turns])


def test_a_call_in_a_worker_process_and_what_it_calls_back_are_one_trace(
    spans: InMemorySpanExporter, tmp_path: Path
) -> None:
    (tmp_path / "far.py").write_text(
        "from sutler import tool\n\n\n@tool(isolation='process')\ndef tool_far(tool_context=None):\n"
        "    return tool_context.call_tool('add', {'a': 2, 'b': 3})['output']\n"
    )
    with SyncRuntime(tools=[add], tool_folders=tmp_path, config=False) as rt:
        assert rt.call("tool_far").output == 5
    assert parent(named(spans, "execute_tool add")) == id_of(named(spans, "execute_tool tool_far"))


def test_a_person_is_asked_and_answers_within_the_span(spans: InMemorySpanExporter) -> None:
    with SyncRuntime(tools=[add], config=False, policy="strict", confirm_handler=lambda *_: ("allow", "")) as rt:
        rt.call("add", {"a": 1, "b": 2})
    span = named(spans, "execute_tool add")
    assert [event.name for event in span.events] == ["approval.asked", "approval.answered"]
    assert dict(span.events[1].attributes or {}) == {"decision": "allow"}


def test_a_program_that_waits_leaves_no_span_open(spans: InMemorySpanExporter) -> None:
    with SyncRuntime(tools=[add], config=False, policy="strict") as rt:
        run = rt.run("add(1, 2)", on_ask="wait")
        assert run.status == "waiting"
        assert [event.name for event in named(spans, "execute_tool add").events] == ["approval.waits"]
        assert attributes(named(spans, "sutler.run"))["sutler.run.status"] == "waiting"
        assert rt.resume(run.run_id).output == 3
    assert len([span for span in spans.get_finished_spans() if span.name == "execute_tool add"]) == 2


@pytest.mark.parametrize("asked", ["", "true"])
def test_arguments_stand_in_a_span_only_when_asked_for_and_masked(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", asked)

    def login(user: str, password: str) -> str:
        """Logs in."""
        return user

    with SyncRuntime(tools=[login], config=False) as rt:
        rt.call("login", {"user": "ada", "password": "tulips-7"})
    shown = attributes(named(spans, "execute_tool login")).get("gen_ai.tool.call.arguments")
    assert shown == ('{"user": "ada", "password": "***"}' if asked else None)


def test_a_host_whose_span_processor_fails_loses_no_call(spans: InMemorySpanExporter) -> None:
    class Broken(SimpleSpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            raise RuntimeError("the collector is gone")

    provider: Any = trace.get_tracer_provider()
    provider.add_span_processor(Broken(spans))
    with SyncRuntime(tools=[add], config=False) as rt:
        assert rt.call("add", {"a": 1, "b": 2}).output == 3


def test_without_an_sdk_the_api_is_not_even_imported() -> None:
    code = (
        "import sys\nfrom sutler import SyncRuntime\n"
        "with SyncRuntime(config=False) as rt:\n    rt.call('read_file', {'path': 'x'})\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def with_server(folder: Path) -> dict[str, Any]:
    (folder / "server.py").write_text(SERVER)
    (folder / "sutler.toml").write_text(
        f"[mcp_servers.up]\ncommand = {sys.executable!r}\n"
        f"args = [{str(folder / 'server.py')!r}, '--api-key', {ARGUMENT!r}]\n"
        f"[mcp_servers.up.env]\nAPI_TOKEN = {TOKEN!r}\n"
    )
    return {"config": folder / "sutler.toml", "default_tools": False, "store": folder / "runs.db"}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("SUTLER_CACHE_DIR", str(tmp_path / "cache"))
    return with_server(tmp_path)


def test_a_servers_request_carries_the_traceparent_of_the_call(
    spans: InMemorySpanExporter, server: dict[str, Any]
) -> None:
    with SyncRuntime(**server) as rt:
        rt.ready(20)
        direct = rt.call("say")
        inside = rt.run("say()")
    calls = [span for span in spans.get_finished_spans() if span.name == "execute_tool say"]
    assert attributes(calls[0])["gen_ai.tool.type"] == "extension"
    assert attributes(calls[0])["mcp.method.name"] == "tools/call"
    for said, span in zip((direct.output, inside.output), calls, strict=True):
        parts = json.loads(said)["traceparent"].split("-")
        assert span.context is not None
        assert int(parts[1], 16) == span.context.trace_id
        by_id = {id_of(one): one for one in spans.get_finished_spans()}
        assert parent(by_id[int(parts[2], 16)]) == id_of(span)  # the SDK's own span of the request
    assert parent(calls[1]) == id_of(named(spans, "sutler.run"))


def test_what_a_server_echoes_of_its_env_and_arguments_is_nowhere_to_be_read(
    spans: InMemorySpanExporter, server: dict[str, Any]
) -> None:
    with SyncRuntime(**server) as rt:
        rt.ready(20)
        leaked, failed = rt.call("leak"), rt.call("fail")
        in_program = rt.run("leak()")
        lines = rt.audit()
        assert rt.core.servers is not None
        states = rt.core.servers.manager.states()
    assert leaked.error is not None
    assert leaked.error.message.count("***") == 2
    said = [span.to_json() for span in spans.get_finished_spans()]
    seen = repr((leaked.to_dict(), failed.error, in_program.error, in_program.trace, lines, states, said))
    file = b"".join(part.read_bytes() for part in Path(server["store"]).parent.glob("runs.db*"))
    for secret in (TOKEN, ARGUMENT):
        assert secret not in seen
        assert secret.encode() not in file
