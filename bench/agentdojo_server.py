"""One AgentDojo suite as an MCP server in plain JSON lines: `python agentdojo_server.py SUITE TURN FOLDER...`.

TURN is a file that names the user task whose world the tools act on; a new name in it makes that world anew. With the
suite `all` nothing is served: the tools, user tasks and injection tasks of every suite are printed as JSON.
The folders are what the packages were unpacked in. Of AgentDojo only suites and tools are imported, not its models.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

VERSION = "v1.2"
HINTS: dict[str, Any] = json.loads(Path(__file__).with_name("agentdojo_hints.json").read_text())


def suites(folders: list[str]) -> dict[str, Any]:
    sys.path[:0] = folders
    import agentdojo

    pipeline = "agentdojo.agent_pipeline"
    stand_ins: dict[str, dict[str, Any]] = {
        pipeline: {"__path__": [str(Path(agentdojo.__path__[0], "agent_pipeline"))]},
        f"{pipeline}.llms": {"__path__": []},
        f"{pipeline}.llms.google_llm": {"EMPTY_FUNCTION_NAME": "<empty>"},
    }
    for name, held in stand_ins.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(held)
    from agentdojo.task_suite.load_suites import get_suites

    return get_suites(VERSION)


def calls(task: Any, world: Any) -> list[tuple[str, Any]]:
    return [(one.function, one.args) for one in task.ground_truth(world)]


def describe(found: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for name, suite in found.items():
        world = suite.load_and_inject_default_environment({})

        def fresh(world: Any = world) -> Any:
            return world.model_copy(deep=True)

        told[name] = {
            "tools": [tool.name for tool in suite.tools],
            "user": {one.ID: calls(one, one.init_environment(fresh())) for one in suite.user_tasks.values()},
            "injected": {one.ID: calls(one, fresh()) for one in suite.injection_tasks.values()},
        }
    return told


class World:
    """The environment of the task that the turn file names."""

    def __init__(self, suite: Any, turn: Path) -> None:
        from agentdojo.functions_runtime import FunctionsRuntime

        self.suite, self.turn, self.task = suite, turn, None
        self.runtime = FunctionsRuntime(suite.tools)
        self.world: Any = None

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        wanted = self.turn.read_text()
        if wanted != self.task:
            world = self.suite.load_and_inject_default_environment({})
            task = self.suite.user_tasks.get(wanted)
            self.world, self.task = (task.init_environment(world) if task is not None else world), wanted
        value, error = self.runtime.run_function(self.world, name, arguments)
        return (error, True) if error else (str(value), False)


def listed(tool: Any) -> dict[str, Any]:
    hints = HINTS["hints"][HINTS["tools"][tool.name]]
    schema = tool.parameters.model_json_schema()
    return {"name": tool.name, "description": tool.description, "inputSchema": schema, "annotations": hints}


def serve(suite: Any, turn: Path) -> None:
    world = World(suite, turn)
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message["method"], message.get("params", {})
        if "id" not in message:
            continue
        if method == "initialize":
            info = {"name": "agentdojo", "version": "1"}
            result: Any = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
        elif method == "tools/list":
            result = {"tools": [listed(tool) for tool in suite.tools]}
        elif method == "tools/call":
            text, failed = world.call(params["name"], params.get("arguments") or {})
            result = {"content": [{"type": "text", "text": text}], "isError": failed}
        else:
            error = {"code": -32601, "message": f"no method {method}"}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    wanted, turn_file, *where = sys.argv[1:]
    every = suites(where)
    if wanted == "all":
        json.dump(describe(every), sys.stdout, default=str)
    else:
        serve(every[wanted], Path(turn_file))
